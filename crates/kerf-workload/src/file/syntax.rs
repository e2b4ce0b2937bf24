//! From text to a tree, collecting several syntax errors.
//!
//! The TOML parser stops at the first error. The statement with the error is then blanked and the
//! rest parsed again, which finds errors in other statements; what the file means is judged only
//! when it has no syntax errors, since a blanked statement would be missing everywhere.

use std::ops::Range;

use super::reader::Reader;
use super::tree::Node;

/// After this many syntax errors the rest is not worth reading.
const MOST: usize = 20;

const OVERFLOW: &str = "integer number overflowed";

/// The document's tree, or `None` after reporting what is wrong with its syntax.
pub(super) fn parse(reader: &mut Reader<'_>) -> Option<Node> {
    let mut text = reader.text().to_owned();
    let mut reported = None;
    for _ in 0..MOST {
        let error = match toml_edit::Document::parse(text.as_str()) {
            Ok(document) if !reader.has_mistakes() => return Some(Node::root(document.as_table())),
            Ok(_) => return None,
            Err(error) => error,
        };
        let span = error.span().unwrap_or_default();
        let again = reported.replace(span.start) == Some(span.start);
        if !again {
            report(reader, error.message(), span.clone());
        }
        let mut statement = statement_around(&text, span.start);
        // An error right at the start of a statement is most often one of the statement before,
        // whose bracket is still open.
        let ahead = text.get(statement.start..span.start).unwrap_or_default();
        if !again && ahead.trim().is_empty() && statement.start > 0 {
            let before = statement_around(&text, statement.start - 1);
            if !text[before.clone()].trim().is_empty() {
                statement = before;
            }
        }
        if text[statement.clone()].trim().is_empty() {
            return None;
        }
        text = blank(&text, statement);
    }
    None
}

fn report(reader: &mut Reader<'_>, message: &str, span: Range<usize>) {
    let (what, expected) = match message.split_once(", expected ") {
        Some((what, expected)) if !expected.is_empty() => (what, expected),
        _ if message == "duplicate key" => (message, "each key once"),
        _ if message == OVERFLOW => (message, "a 64-bit integer"),
        _ => (message, "TOML"),
    };
    let help = match (what, reader.text().get(span.clone())) {
        ("duplicate key", Some("launch")) => Some("write `[[launch]]`, with two brackets"),
        ("duplicate key", Some("buffer")) => Some("write `[[buffer]]`, with two brackets"),
        (OVERFLOW, _) => Some("write larger integers as strings"),
        ("missing comma between array elements", _) => Some("or close the list with `]` before"),
        _ => None,
    };
    reader.mistake(span, what, expected, help.map(Into::into));
}

/// The lines from the last start of a statement at or before `offset` to the next one.
fn statement_around(text: &str, offset: usize) -> Range<usize> {
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if starts_statement(line) {
            if at > offset {
                return start..at;
            }
            start = at;
        }
        at += line.len();
    }
    start..text.len()
}

/// Whether a line looks like a table header or `key = value`.
fn starts_statement(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with('[') {
        return line.trim_start_matches('[').starts_with(is_key);
    }
    let rest = line.trim_start_matches(|c: char| is_key(c) || c == '.' || c == '"');
    rest.len() < line.len() && rest.trim_start().starts_with('=')
}

fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Replaces all but the line ends by spaces, so that offsets stay what they are.
fn blank(text: &str, range: Range<usize>) -> String {
    let (before, rest) = text.split_at(range.start);
    let (inside, after) = rest.split_at(range.len());
    let keep = |b: u8| if b == b'\n' { '\n' } else { ' ' };
    let blanked: String = inside.bytes().map(keep).collect();
    format!("{before}{blanked}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements() {
        let text = "a = 1\nb = [\n  \"x\n]\n[[t]]\nc = 2\n";
        assert_eq!(&text[statement_around(text, 0)], "a = 1\n");
        assert_eq!(&text[statement_around(text, 16)], "b = [\n  \"x\n]\n");
        assert_eq!(&text[statement_around(text, text.len())], "c = 2\n");
        assert!(!starts_statement("[1, 2],") || starts_statement("[1]"));
        assert!(!starts_statement("  { kernel = 1 }"));
        assert!(!starts_statement("= 3"));
    }

    #[test]
    fn blanks_keep_offsets() {
        assert_eq!(blank("ab\nπc\nde", 1..6), "a \n   \nde");
    }
}

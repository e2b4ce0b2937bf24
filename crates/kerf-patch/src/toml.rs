//! The workload file beside a patched source: types of buffers, defaults of launch parameters.
use kerf_num::Format;
use kerf_workload::Workload;
use std::collections::BTreeMap;

/// The file with other types for some buffers and other defaults for launch parameters. Gives also what it could not
/// change.
pub fn patched(
    text: &str,
    w: &Workload,
    held: &[(String, Format)],
    launch: &BTreeMap<String, i64>,
) -> (String, Vec<String>) {
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    let mut notes = Vec::new();
    for (name, format) in held {
        let Some(b) = w.buffers.iter().find(|b| b.name == *name) else {
            continue;
        };
        let part = table(text, b.span.clone());
        match value(&text[part.clone()], "type") {
            Some((from, to)) => {
                let old = &text[part.start + from..part.start + to];
                let new = old
                    .replace("f64", &format.to_string())
                    .replace("f32", &format.to_string());
                edits.push((part.start + from, part.start + to, new));
            }
            None => notes.push(format!(
                "{}: give buffer {name} the type {format}",
                w.path.display()
            )),
        }
    }
    for (name, v) in launch {
        match default(text, name) {
            Some((from, to)) => edits.push((from, to, v.to_string())),
            None => notes.push(format!(
                "{}: the default of {name} is to be {v}",
                w.path.display()
            )),
        }
    }
    edits.sort();
    let mut out = String::new();
    let mut at = 0;
    for (from, to, new) in edits {
        if from < at {
            continue;
        }
        out.push_str(&text[at..from]);
        out.push_str(&new);
        at = to;
    }
    out.push_str(&text[at..]);
    (out, notes)
}

/// The table that a place is in: from its header to the next one.
fn table(text: &str, span: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let at = span.start.min(text.len());
    let line = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let head = text[line..].starts_with("[[");
    let from = match head {
        true => line,
        false => text[..at].rfind("[[buffer]]").unwrap_or(line),
    };
    let rest = &text[from..];
    let end = rest.match_indices("\n[").map(|m| m.0).find(|n| *n > 0);
    from..from + end.unwrap_or(rest.len())
}

/// The value of a key at the beginning of a line.
fn value(part: &str, key: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for l in part.split_inclusive('\n') {
        let (name, rest) = l.split_once('=').unwrap_or((l, ""));
        if name.trim() == key {
            let from = at + name.len() + 1 + (rest.len() - rest.trim_start().len());
            let value = rest.trim_start();
            let end = value.find('#').unwrap_or(value.len());
            return Some((from, from + value[..end].trim_end().len()));
        }
        at += l.len();
    }
    None
}

/// The number of a launch parameter in `default = { bx = 128 }`.
fn default(text: &str, name: &str) -> Option<(usize, usize)> {
    let space = text.find("[launch_space]")?;
    let rest = &text[space..];
    let end = rest[1..].find("\n[").map_or(rest.len(), |n| n + 1);
    let part = &rest[..end];
    let (from, to) = value(part, "default")?;
    let table = &part[from..to];
    let mut at = 0;
    while let Some(k) = table[at..].find(name) {
        let k = at + k;
        let before = table[..k]
            .chars()
            .next_back()
            .is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let after = table[k + name.len()..].trim_start();
        if before && after.starts_with('=') {
            let number = after[1..].trim_start();
            let digits = number.len()
                - number
                    .trim_start_matches(|c: char| c.is_ascii_digit() || c == '-')
                    .len();
            let start = space + from + (table.len() - number.len());
            return Some((start, start + digits));
        }
        at = k + name.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_types_are_found() {
        let text = "[[buffer]]\nname = \"a\"\ntype = \"f64x4\" # four\nlen = 4\n\n[launch_space]\nbx = [32, 64]\ndefault = { bx = 64, by = 2 }\n\n[accept]\n";
        let (from, to) = default(text, "by").expect("by");
        assert_eq!(&text[from..to], "2");
        assert!(default(text, "y").is_none());
        let t = table(text, 3..5);
        let (from, to) = value(&text[t.clone()], "type").expect("type");
        assert_eq!(&text[t.start + from..t.start + to], "\"f64x4\"");
    }
}

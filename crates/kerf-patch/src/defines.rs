//! Macros that the plan gives another value: the numbers of their `#define` lines.
use crate::source::Source;
use std::collections::BTreeMap;

/// Where the number of `#define NAME number` stands in a text.
fn number(text: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let rest = line.trim_start().strip_prefix('#').map(str::trim_start);
        let rest = rest.and_then(|r| r.strip_prefix("define"));
        let rest = rest.and_then(|r| r.trim_start().strip_prefix(name));
        let Some(rest) = rest.filter(|r| r.starts_with([' ', '\t'])) else {
            continue;
        };
        let value = rest.trim_start();
        let length = value
            .bytes()
            .take_while(|c| c.is_ascii_digit() || *c == b'-')
            .count();
        let after = value[length..].trim_start();
        let ends = after.is_empty() || after.starts_with("//") || after.starts_with("/*");
        if length > 0 && ends {
            let from = start + line.len() - value.len();
            return Some(from..from + length);
        }
    }
    None
}

/// Gives macros other values in the texts of a patch; says what has no line to change.
pub fn define(
    values: &BTreeMap<String, i64>,
    sources: &BTreeMap<usize, Source>,
    texts: &mut BTreeMap<usize, String>,
) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, value) in values {
        let mut done = false;
        for (k, s) in sources {
            let text = texts.get(k).unwrap_or(&s.text);
            let Some(place) = number(text, name) else {
                continue;
            };
            let mut text = text.clone();
            text.replace_range(place, &value.to_string());
            texts.insert(*k, text);
            done = true;
        }
        if !done {
            notes.push(format!("compile with -D{name}={value}"));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_define() {
        let text = "#define TILES 4\n#ifndef TILE\n# define\tTILE  16 // 16 x 16\n#endif\n";
        let place = number(text, "TILE").expect("a number");
        assert_eq!(&text[place], "16");
        for none in [
            "#define TILE (16)\n",
            "#define TILE 4 + 4\n",
            "int TILE = 4;\n",
            "#define TILE",
        ] {
            assert_eq!(number(none, "TILE"), None, "{none}");
        }
    }
}

//! Macros that the plan gives another value: the numbers of their `#define` lines.
use crate::source::SourceFile;
use kerf_clang::compile::defines::redefined;
use std::collections::BTreeMap;

/// Gives macros other values in the texts of a patch; says what has no line to change.
pub fn define(
    values: &BTreeMap<String, i64>,
    sources: &BTreeMap<usize, SourceFile>,
    texts: &mut BTreeMap<usize, String>,
) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, value) in values {
        let mut done = false;
        for (k, s) in sources {
            let text = texts.get(k).unwrap_or(&s.text);
            if let Some(text) = redefined(text, name, *value) {
                texts.insert(*k, text);
                done = true;
            }
        }
        if !done {
            notes.push(format!("compile with -D{name}={value}"));
        }
    }
    notes
}

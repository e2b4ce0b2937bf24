//! A table with a fixed set of keys.

use std::ops::Range;

use super::reader::Reader;
use super::tree::{Entry, Kind, Node};
use crate::suggest::nearest;

/// A table whose unknown keys have been reported.
pub(super) struct Section<'n> {
    entries: &'n [Entry],
    pub(super) span: Range<usize>,
    name: &'static str,
    /// Keys that unknown ones were probably meant to be; they are not reported as missing too.
    meant: Vec<&'static str>,
}

impl<'n> Section<'n> {
    /// Reads `node` as a table that may have the keys of `known`; something else is reported and
    /// read as an empty table.
    pub(super) fn new(
        reader: &mut Reader<'_>,
        name: &'static str,
        node: &'n Node,
        known: &[&'static str],
    ) -> Section<'n> {
        let entries: &[Entry] = match &node.kind {
            Kind::Table(entries) => entries,
            _ => {
                reader.wrong_kind(node, name, "a table");
                &[]
            }
        };
        let mut meant = Vec::new();
        for entry in entries {
            if known.contains(&entry.key.as_str()) {
                continue;
            }
            let near = nearest(&entry.key, known.iter().copied());
            meant.extend(near.and_then(|n| known.iter().find(|k| **k == n)));
            let listed: Vec<String> = known.iter().map(|k| format!("`{k}`")).collect();
            reader.mistake(
                entry.key_span.clone(),
                format!("unknown key `{}` in {name}", entry.key),
                format!("one of {}", listed.join(", ")),
                near.map(|n| format!("did you mean `{n}`?")),
            );
        }
        Section {
            entries,
            span: node.span.clone(),
            name,
            meant,
        }
    }

    /// Whether an unknown key was probably meant to be this one.
    pub(super) fn misspells(&self, key: &str) -> bool {
        self.meant.contains(&key)
    }

    pub(super) fn get(&self, key: &str) -> Option<&'n Node> {
        let found = self.entries.iter().find(|e| e.key == key);
        found.map(|e| &e.node)
    }

    /// Where the key itself stands.
    pub(super) fn key_span(&self, key: &str) -> Range<usize> {
        let found = self.entries.iter().find(|e| e.key == key);
        found.map_or_else(|| self.span.clone(), |e| e.key_span.clone())
    }

    /// The value of a key that has to be there.
    pub(super) fn require(
        &self,
        reader: &mut Reader<'_>,
        key: &str,
        example: &str,
    ) -> Option<&'n Node> {
        let found = self.get(key);
        if found.is_none() && !self.misspells(key) {
            reader.mistake(
                self.span.clone(),
                format!("{} without `{key}`", self.name),
                format!("`{example}`"),
                None,
            );
        }
        found
    }
}

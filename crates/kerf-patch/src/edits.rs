//! Changes of source files, and the unified diff that they make.
use crate::ast::TextRange;
use crate::source::SourceFile;
use similar::TextDiff;
use std::collections::BTreeMap;
use std::path::Path;

/// A place where something changes: bytes from, to; the order among insertions at one place.
type Place = (usize, usize, i32);

/// Changes by file. Two that disagree are told, not merged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Edits {
    files: BTreeMap<usize, BTreeMap<Place, String>>,
}

/// Two changes of one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// File.
    pub file: usize,
    /// Byte.
    pub offset: usize,
}

impl Edits {
    /// Replaces bytes by a text; the same again does nothing.
    pub fn replace(&mut self, range: TextRange, text: &str) -> Result<(), Clash> {
        self.put(range.file, (range.from, range.to, i32::MAX), text)
    }

    /// Puts a text before what is at a place: of several, the one with the larger rank comes first.
    pub fn before(&mut self, file: usize, at: usize, rank: usize, text: &str) -> Result<(), Clash> {
        self.put(file, (at, at, i32::MAX - 1 - rank as i32), text)
    }

    /// Puts a text after what ends at a place: of several, the one with the smaller rank comes first.
    pub fn after(&mut self, file: usize, at: usize, rank: usize, text: &str) -> Result<(), Clash> {
        self.put(file, (at, at, i32::MIN + rank as i32), text)
    }

    /// Puts texts around a range; of several, the one with the larger rank is outside.
    pub fn wrap(
        &mut self,
        range: TextRange,
        rank: usize,
        open: &str,
        close: &str,
    ) -> Result<(), Clash> {
        self.before(range.file, range.from, rank, open)?;
        self.after(range.file, range.to, rank, close)
    }

    fn put(&mut self, file: usize, place: Place, text: &str) -> Result<(), Clash> {
        let mine = self.files.entry(file).or_default();
        let offset = place.0;
        match mine.get(&place) {
            Some(same) if same == text => return Ok(()),
            Some(_) => return Err(Clash { file, offset }),
            None => {}
        }
        if mine.keys().any(|p| p.0 < place.1 && place.0 < p.1) {
            return Err(Clash { file, offset });
        }
        mine.insert(place, text.to_owned());
        Ok(())
    }

    /// Nothing changes?
    pub fn is_empty(&self) -> bool {
        self.files.values().all(BTreeMap::is_empty)
    }

    /// Files that change.
    pub fn files(&self) -> impl Iterator<Item = usize> {
        self.files.iter().filter(|f| !f.1.is_empty()).map(|f| *f.0)
    }

    /// The text of a file with its changes.
    pub fn apply(&self, file: usize, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 64);
        let mut at = 0;
        let Some(mine) = self.files.get(&file) else {
            return text.to_owned();
        };
        let mut all: Vec<(&Place, &String)> = mine.iter().collect();
        // What goes after something stands before what goes in front of the next.
        all.sort_by_key(|((from, to, rank), _)| (*from, *rank, *to));
        for ((from, to, _), new) in all {
            out.push_str(text.get(at..*from).unwrap_or_default());
            out.push_str(new);
            at = (*to).max(at);
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }
}

/// The unified diff of two texts; empty where they are the same.
pub fn diff(name: &Path, old: &str, new: &str) -> String {
    let name = name.display().to_string();
    let name = name.trim_start_matches('/');
    // Lines end at `\n` alone, as for patch(1): the line splitter of `similar` takes a lone `\r` for an end too.
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
    TextDiff::configure()
        .newline_terminated(true)
        .diff_slices(&lines(old), &lines(new))
        .unified_diff()
        .header(&format!("a/{name}"), &format!("b/{name}"))
        .to_string()
}

/// Sources as they are after the changes.
pub fn patched(edits: &Edits, sources: &BTreeMap<usize, SourceFile>) -> BTreeMap<usize, String> {
    let touched = edits.files().filter_map(|f| {
        let s = sources.get(&f)?;
        Some((f, edits.apply(f, &s.text)))
    });
    let mut all: BTreeMap<usize, String> = touched.collect();
    for (f, s) in sources.iter().filter(|s| s.1.text != s.1.was) {
        all.entry(*f).or_insert_with(|| s.text.clone());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_put_together_in_order() {
        let text = "double a = b * c;";
        let range = |from, to| TextRange { file: 0, from, to };
        let mut e = Edits::default();
        e.replace(range(0, 6), "float").expect("free");
        e.before(0, 11, 0, "(float)").expect("free");
        e.after(0, 16, 0, "f").expect("free");
        e.wrap(range(11, 16), 1, "(", ")").expect("free");
        assert_eq!(e.apply(0, text), "float a = ((float)b * cf);");
        assert_eq!(e.replace(range(0, 6), "float"), Ok(()));
        let clash = |offset| Err(Clash { file: 0, offset });
        assert_eq!(e.replace(range(0, 6), "half"), clash(0));
        assert_eq!(e.replace(range(3, 8), "x"), clash(3));
    }

    #[test]
    fn a_diff_is_what_patch_takes() {
        let old: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let new = old
            .replace("line 3\n", "line three\n")
            .replace("line 18\n", "a\nb\n");
        let d = diff(Path::new("/x/k.cu"), &old, &new);
        let hunks: Vec<&str> = d.lines().filter(|l| l.starts_with("@@")).collect();
        assert_eq!(hunks, ["@@ -1,6 +1,6 @@", "@@ -15,6 +15,7 @@"]);
        assert!(d.starts_with("--- a/x/k.cu\n+++ b/x/k.cu\n"));
        assert_eq!(diff(Path::new("k"), &old, &old), "");
        assert!(diff(Path::new("k"), "a", "b").contains("\\ No newline at end of file"));
    }
}

//! Launch parameters that are macros of the source: each of their values makes a program of its own.
//!
//! A macro is what `macros` of `[launch_space]` names, what `flags` define, and what a line of the source defines or asks
//! for (`#ifndef TILE`). It is defined for the compiler with the parameter's value, in place of what `flags` say. Where a line
//! defines it as a number in any case (`#define TILE 16`, `constexpr int TILE = 16;`), the compiler sees another number there.
use crate::workload::Workload;
use kerf_clang::compile::defines;
use std::collections::BTreeMap;
use std::path::Path;

/// Values of launch parameters.
pub type Params = BTreeMap<String, i64>;

/// Which launch parameters are macros.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Macros {
    /// The compiler can be told another value.
    pub free: Vec<String>,
    /// Those of them that lines of the source define as numbers, whatever the compiler is told.
    pub written: Vec<String>,
    /// The source defines them as something else.
    pub fixed: Vec<String>,
}

impl Macros {
    /// The values of those that the compiler can be told, among those of launch parameters.
    pub fn values(&self, params: &Params) -> Params {
        let mine = params.iter().filter(|(n, _)| self.free.contains(n));
        mine.map(|(n, v)| (n.clone(), *v)).collect()
    }
}

fn word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The name that a `-D` at a position of the flags defines.
fn defined(flags: &[String], i: usize) -> Option<&str> {
    let given = match i > 0 && flags[i - 1] == "-D" {
        true => Some(flags[i].as_str()),
        false => flags[i].strip_prefix("-D").filter(|g| !g.is_empty()),
    };
    given.and_then(|g| g.split('=').next())
}

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Not,
    /// Asked for, or defined where nobody else did.
    Asked,
    /// Defined by a line that asks nobody.
    Defined,
}

/// What the lines of a source do with a name.
fn seen(name: &str, source: &str) -> Seen {
    let (mut out, mut before) = (Seen::Not, String::new());
    for line in source.lines() {
        let Some(l) = line.trim_start().strip_prefix('#') else {
            continue;
        };
        let words: Vec<&str> = l.split(|c| !word(c)).filter(|w| !w.is_empty()).collect();
        match words.first() {
            Some(&"define") if words.get(1) == Some(&name) => {
                let not = before.starts_with("ifndef") || before.contains('!');
                let asks = not && before.split(|c| !word(c)).any(|w| w == name);
                if !asks && !before.starts_with("else") {
                    return Seen::Defined;
                }
                out = Seen::Asked;
            }
            Some(&("ifdef" | "ifndef" | "if" | "elif")) if words[1..].contains(&name) => {
                out = Seen::Asked;
            }
            _ => {}
        }
        before = l.trim_start().to_owned();
    }
    out
}

/// The text of a source, where it is not compiled yet; empty if it cannot be read, which whoever compiles it says.
pub(crate) fn text(source: Option<&Path>) -> String {
    let source = source.filter(|s| !is_compiled(s));
    let read = source.and_then(|s| std::fs::read(s).ok());
    read.map_or_else(String::new, |b| String::from_utf8_lossy(&b).into_owned())
}

/// Is it bitcode, IR or PTX, which macros do not reach?
pub fn is_compiled(source: &Path) -> bool {
    let ending = source.extension().and_then(|e| e.to_str());
    matches!(ending, Some("bc" | "ll" | "ptx"))
}

/// Names that a source defines as one number each, and uses.
pub fn numbers(source: &Path) -> Vec<(String, i64)> {
    let text = text(Some(source));
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    for w in text.split(|c| !word(c)) {
        *used.entry(w).or_default() += 1;
    }
    let mine = defines::names(&text).into_iter().filter(|n| used[*n] > 1);
    mine.filter_map(|n| Some((n.to_owned(), own(&text, &[], n)?)))
        .collect()
}

/// The number that a flag, or else a source, defines a name as.
pub(crate) fn own(text: &str, flags: &[String], name: &str) -> Option<i64> {
    let flagged = (0..flags.len()).rfind(|i| defined(flags, *i) == Some(name));
    if let Some(i) = flagged {
        return flags[i].split_once('=')?.1.parse().ok();
    }
    let mut all = defines::numbers(text, name)?.into_iter();
    let first = &text[all.next()?];
    let one = all.all(|place| &text[place] == first);
    one.then(|| first.parse().ok()).flatten()
}

impl Workload {
    /// Its launch parameters that are macros.
    pub fn macros(&self) -> Macros {
        let text = text(Some(&self.source));
        let mut out = Macros::default();
        for (name, _) in &self.launch_space.params {
            let flagged =
                (0..self.flags.len()).any(|i| defined(&self.flags, i) == Some(name.as_str()));
            let named = self.launch_space.macros.contains(name);
            match seen(name, &text) {
                Seen::Defined if defines::numbers(&text, name).is_some() => {
                    out.free.push(name.clone());
                    out.written.push(name.clone());
                }
                Seen::Defined => out.fixed.push(name.clone()),
                // A constant; another name is no macro, and a local variable may have it.
                Seen::Not if !named && !flagged && defines::numbers(&text, name).is_some() => {
                    out.free.push(name.clone());
                    out.written.push(name.clone());
                }
                Seen::Not if !flagged && !named => {}
                _ => out.free.push(name.clone()),
            }
        }
        out
    }

    /// Its macros that have other values than the file's own among those of launch parameters.
    pub fn changed_macros(&self, params: &Params) -> Params {
        let own = self.launch_space.default_params();
        let mut values = self.macros().values(params);
        values.retain(|n, v| own.get(n) != Some(v));
        values
    }

    /// Compiler flags for launch parameters at some values; those that are left out have their own.
    pub fn flags_at(&self, params: &Params) -> Vec<String> {
        let macros = self.macros();
        let mut values = macros.values(&self.launch_space.default_params());
        values.extend(macros.values(params));
        let mut flags: Vec<String> = Vec::new();
        let mut skip = false;
        for (i, f) in self.flags.iter().enumerate() {
            if std::mem::take(&mut skip) {
                continue;
            }
            let lone = f == "-D" && i + 1 < self.flags.len();
            let name = defined(&self.flags, if lone { i + 1 } else { i });
            match name.is_some_and(|n| values.contains_key(n)) {
                true => skip = lone,
                false => flags.push(f.clone()),
            }
        }
        let text = match macros.written.is_empty() {
            true => String::new(),
            false => text(Some(&self.source)),
        };
        for (n, v) in &values {
            match macros.written.contains(n) {
                false => flags.push(format!("-D{n}={v}")),
                true if defines::redefined(&text, n, *v).as_ref() == Some(&text) => {}
                true => flags.push(format!("{}{n}={v}", defines::REDEFINE)),
            }
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_a_macro_is() {
        for (source, what) in [
            ("int bx = blockIdx.x; // TILE", Seen::Not),
            ("#ifndef TILE\n#define TILE 16\n#endif", Seen::Asked),
            (
                "#if !defined(TILE)\n  #  define TILE 16\n#endif",
                Seen::Asked,
            ),
            ("#define TILE 16", Seen::Defined),
            ("#ifdef FAST\n#define TILE 16\n#endif", Seen::Defined),
            ("#if TILE > 8\n#endif", Seen::Asked),
            ("#define TILES 3\n#include \"TILE.h\"", Seen::Not),
        ] {
            assert_eq!(seen("TILE", source), what, "{source}");
        }
    }

    #[test]
    fn flags_name_macros() {
        let flags: Vec<String> = ["-DA=1", "-D", "B", "-O2", "-D"].map(String::from).to_vec();
        let all: Vec<Option<&str>> = (0..5).map(|i| defined(&flags, i)).collect();
        assert_eq!(all, [Some("A"), None, Some("B"), None, None]);
    }

    #[test]
    fn a_macro_has_a_value_of_its_own() {
        let flags = ["-DA=1", "-D", "B=2", "-DA=3", "-DC"].map(String::from);
        let source = "#define B 7\n#ifndef D\n#define D 8 // x\n#endif\n#ifdef E\n#define F 1\n#else\n#define F 2\n#endif\n";
        let of = |name| own(source, &flags, name);
        let all: Vec<Option<i64>> = ["A", "B", "C", "D", "E", "F"].map(of).to_vec();
        assert_eq!(all, [Some(3), Some(2), None, Some(8), None, None]);
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("k.cu");
        let uses = "#define TILE 16\n#define IDLE 3\n#define HALF 0.5f\nconstexpr int R = 2;\nint a[TILE + R]; float h = HALF;\n";
        std::fs::write(&path, uses).expect("a file");
        let all = [("TILE".to_owned(), 16), ("R".to_owned(), 2)];
        assert_eq!(numbers(&path), all);
    }
}

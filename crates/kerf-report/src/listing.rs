//! A program's IR as lines that know their place in the source.
//!
//! Read off the printed module: debug records are left away, and each instruction's location is followed
//! through what was inlined to the innermost place in a file that is shown.
use kerf_llvm::Module;
use serde::Serialize;
use std::collections::BTreeMap;

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IrLine {
    /// Text.
    pub text: String,
    /// Source file, by position, and line.
    pub at: Option<(usize, u32)>,
}

/// `key: !12` in a metadata node.
fn node(text: &str, key: &str) -> Option<usize> {
    let at = text.find(&format!("{key}: !"))? + key.len() + 3;
    let digits: String = text[at..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// Locations by node.
struct Places<'t> {
    nodes: BTreeMap<usize, &'t str>,
    files: &'t [String],
}

impl<'t> Places<'t> {
    fn new(text: &'t str, files: &'t [String]) -> Places<'t> {
        let all = text.lines().filter_map(|l| {
            let (n, rest) = l.strip_prefix('!')?.split_once(" = ")?;
            Some((n.parse().ok()?, rest))
        });
        Places {
            nodes: all.collect(),
            files,
        }
    }

    /// The file that a scope is in, by position among those shown.
    fn file(&self, scope: usize) -> Option<usize> {
        let f = self.nodes.get(&node(self.nodes.get(&scope)?, "file")?)?;
        let name = f.split("filename: \"").nth(1)?.split('"').next()?;
        self.files.iter().position(|f| f == name)
    }

    fn place(&self, mut location: usize) -> Option<(usize, u32)> {
        // A chain of inlined calls has an end; a damaged one has none.
        for _ in 0..64 {
            let text = self.nodes.get(&location)?;
            let line: u32 = text
                .split("line: ")
                .nth(1)?
                .split([',', ')'])
                .next()?
                .parse()
                .ok()?;
            match node(text, "scope").and_then(|s| self.file(s)) {
                Some(f) if line > 0 => return Some((f, line)),
                _ => location = node(text, "inlinedAt")?,
            }
        }
        None
    }
}

/// The kernels of a module, and what they call, one after the other. `files` are the source files that are
/// shown, as the compiler named them.
pub fn listing(m: &Module, files: &[String]) -> Vec<IrLine> {
    of_text(&m.print(), files)
}

fn of_text(text: &str, files: &[String]) -> Vec<IrLine> {
    let places = Places::new(text, files);
    let mut out = Vec::new();
    let mut inside = false;
    for l in text.lines() {
        inside |= l.starts_with("define ");
        if !inside || l.trim_start().starts_with("#dbg_") {
            continue;
        }
        let (code, tail) = match l.find(", !dbg !").or_else(|| l.find(" !dbg !")) {
            Some(at) => (&l[..at], &l[at..]),
            None => (l, ""),
        };
        let digits = tail.trim_start_matches([',', ' ']).strip_prefix("!dbg !");
        let digits = digits.map(|d| {
            d.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        });
        let open = if l.starts_with("define ") { " {" } else { "" };
        let header = open == " {" && !code.ends_with('{');
        out.push(IrLine {
            text: if header {
                format!("{code}{open}")
            } else {
                code.to_owned()
            },
            at: match open {
                "" => digits.and_then(|d| places.place(d.parse().ok()?)),
                _ => None,
            },
        });
        if l == "}" {
            inside = false;
            out.push(IrLine {
                text: String::new(),
                at: None,
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inlined_code_is_where_the_shown_file_has_it() {
        let text = r#"
declare double @g()
define ptx_kernel void @k(ptr %p) !dbg !3 {
entry:
    #dbg_value(ptr %p, !9, !DIExpression(), !4)
  %a = load double, ptr %p, align 8, !dbg !4
  %b = call double @g(), !dbg !5
  ret void
}
!1 = !DIFile(filename: "k.cu", directory: "/x")
!2 = !DIFile(filename: "math.h", directory: "/y")
!3 = distinct !DISubprogram(name: "k", file: !1, line: 3)
!4 = !DILocation(line: 7, column: 2, scope: !3)
!5 = !DILocation(line: 99, column: 2, scope: !6, inlinedAt: !8)
!6 = distinct !DISubprogram(name: "h", file: !2, line: 90)
!8 = !DILocation(line: 8, column: 2, scope: !3)
"#;
        let all = of_text(text, &["k.cu".to_owned()]);
        let at = |part: &str| all.iter().find(|l| l.text.contains(part)).map(|l| l.at);
        assert_eq!(at("load"), Some(Some((0, 7))));
        assert_eq!(at("call"), Some(Some((0, 8))));
        assert_eq!(at("ret"), Some(None));
        assert_eq!(at("dbg"), None);
        assert!(all.iter().any(|l| l.text.ends_with("@k(ptr %p) {")));
    }
}

//! Source files as text: places as lines and columns, and the tokens between two places.
use crate::ast::{Spot, TextRange};
use std::path::{Path, PathBuf};

/// A file.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Whole path.
    pub path: PathBuf,
    /// Text.
    pub text: String,
    /// Text of the file itself, which copies of functions may have been put into since.
    pub was: String,
    starts: Vec<usize>,
}

/// A piece of text that is one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// First byte.
    pub from: usize,
    /// Byte after the last.
    pub to: usize,
}

impl Token {
    /// Its bytes in a file.
    pub fn in_file(self, file: usize) -> TextRange {
        let Token { from, to } = self;
        TextRange { file, from, to }
    }
}

impl SourceFile {
    /// From a text.
    pub fn new(path: &Path, text: String) -> SourceFile {
        let mut starts = vec![0];
        starts.extend(
            text.bytes()
                .enumerate()
                .filter(|b| b.1 == b'\n')
                .map(|b| b.0 + 1),
        );
        SourceFile {
            path: path.to_owned(),
            was: text.clone(),
            text,
            starts,
        }
    }

    /// Line and column, from 1.
    pub fn position(&self, offset: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|s| *s <= offset);
        let start = self.starts[line.saturating_sub(1)];
        (line as u32, (offset - start + 1) as u32)
    }

    /// First byte of a line, counted from 1.
    pub fn line_start(&self, line: u32) -> usize {
        let k = (line as usize).saturating_sub(1).min(self.starts.len() - 1);
        self.starts[k]
    }

    /// Blanks at the beginning of the line of a place.
    pub fn indent(&self, offset: usize) -> &str {
        let start = self.line_start(self.position(offset).0);
        let rest = &self.text[start..];
        let n = rest
            .bytes()
            .take_while(|b| *b == b' ' || *b == b'\t')
            .count();
        &rest[..n]
    }

    /// The bytes of a range.
    pub fn slice(&self, from: usize, to: usize) -> &str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// The token at a spot.
    pub fn at(&self, s: Spot) -> &str {
        self.slice(s.offset, s.offset + s.len)
    }

    /// The end of blanks and comments that begin at a place.
    pub fn skip_space(&self, mut at: usize) -> usize {
        let b = self.text.as_bytes();
        loop {
            match (b.get(at), b.get(at + 1)) {
                (Some(c), _) if c.is_ascii_whitespace() => at += 1,
                (Some(b'\\'), Some(b'\n')) => at += 2,
                (Some(b'/'), Some(b'/')) => {
                    at += self.text[at..].find('\n').unwrap_or(self.text.len() - at);
                }
                (Some(b'/'), Some(b'*')) => {
                    at += self.text[at..]
                        .find("*/")
                        .map_or(self.text.len() - at, |n| n + 2);
                }
                _ => return at,
            }
        }
    }

    /// The next token from a place on, before `to`.
    pub fn token(&self, from: usize, to: usize) -> Option<Token> {
        let from = self.skip_space(from);
        let b = self.text.as_bytes();
        if from >= to {
            return None;
        }
        let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80;
        let mut end = from + 1;
        if word(b[from]) {
            let number = b[from].is_ascii_digit();
            while end < b.len()
                && (word(b[end])
                    || number && b[end] == b'.'
                    || number && matches!(b[end], b'+' | b'-') && matches!(b[end - 1], b'e' | b'E'))
            {
                end += 1;
            }
        } else if b[from] == b'"' || b[from] == b'\'' {
            while end < b.len() && b[end] != b[from] {
                end += 1 + usize::from(b[end] == b'\\');
            }
            end = (end + 1).min(b.len());
        }
        Some(Token { from, to: end })
    }

    /// All tokens of a range.
    pub fn tokens(&self, from: usize, to: usize) -> Vec<Token> {
        let mut out = Vec::new();
        let mut at = from;
        while let Some(t) = self.token(at, to) {
            at = t.to;
            out.push(t);
        }
        out
    }

    /// Text of a token.
    pub fn word(&self, t: Token) -> &str {
        self.slice(t.from, t.to)
    }
}

/// Words before a type that are not the type.
const QUALIFIERS: [&str; 34] = [
    "const",
    "volatile",
    "static",
    "extern",
    "inline",
    "register",
    "constexpr",
    "mutable",
    "thread_local",
    "restrict",
    "__restrict__",
    "__restrict",
    "__shared__",
    "__device__",
    "__constant__",
    "__global__",
    "__host__",
    "__forceinline__",
    "__noinline__",
    "__inline__",
    "__inline",
    "__managed__",
    "__grid_constant__",
    "__global",
    "__local",
    "__private",
    "__constant",
    "__kernel",
    "kernel",
    "global",
    "local",
    "private",
    "struct",
    "typename",
];

/// Words before a type that are followed by something in parentheses.
const WITH_PARENTHESES: [&str; 5] = [
    "__align__",
    "alignas",
    "__attribute__",
    "__launch_bounds__",
    "__declspec",
];

/// The words of a type in a declaration, `double` or whatever stands for it, between two places.
pub fn type_token(s: &SourceFile, from: usize, to: usize) -> Option<Token> {
    let all = s.tokens(from, to);
    let mut k = 0;
    while k < all.len() {
        let word = s.word(all[k]);
        if WITH_PARENTHESES.contains(&word) {
            let mut depth = 0;
            loop {
                k += 1;
                match all.get(k).map(|t| s.word(*t)) {
                    Some("(") => depth += 1,
                    Some(")") if depth == 1 => break,
                    Some(")") => depth -= 1,
                    None => return None,
                    _ => {}
                }
            }
            k += 1;
            continue;
        }
        let first = word.bytes().next().unwrap_or(b' ');
        if QUALIFIERS.contains(&word) || !(first.is_ascii_alphabetic() || first == b'_') {
            k += 1;
            continue;
        }
        let mut token = all[k];
        // A name with its namespaces is one.
        while let (Some(a), Some(b), Some(c)) = (all.get(k + 1), all.get(k + 2), all.get(k + 3)) {
            if (s.word(*a), s.word(*b)) != (":", ":") {
                break;
            }
            token.to = c.to;
            k += 3;
        }
        return Some(token);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> SourceFile {
        SourceFile::new(Path::new("/k.cu"), text.to_owned())
    }

    #[test]
    fn the_word_that_is_the_type() {
        for (text, want) in [
            ("const REAL *__restrict__ p", "REAL"),
            ("static __shared__ double /* c */ tile", "double"),
            ("__align__(16) const volatile float x", "float"),
            ("typename ns::detail::T x", "ns::detail::T"),
            (
                "__device__ __attribute__((always_inline)) inline real f",
                "real",
            ),
        ] {
            let s = source(text);
            let t = type_token(&s, 0, text.len() - 1).expect(text);
            assert_eq!(s.word(t), want, "{text}");
        }
    }

    #[test]
    fn tokens_and_places() {
        let s = source("a = 1.5e-3 + \"x // y\"; // c\n  b /* d */ += 'q';\n");
        let words: Vec<&str> = s
            .tokens(0, s.text.len())
            .iter()
            .map(|t| s.word(*t))
            .collect();
        assert_eq!(
            words,
            [
                "a",
                "=",
                "1.5e-3",
                "+",
                "\"x // y\"",
                ";",
                "b",
                "+",
                "=",
                "'q'",
                ";"
            ]
        );
        assert_eq!(s.position(s.text.find("b /*").expect("b")), (2, 3));
        assert_eq!(s.indent(40), "  ");
    }
}

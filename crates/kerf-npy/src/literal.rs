//! The part of Python's literal syntax that headers use.

use std::iter::Peekable;
use std::str::CharIndices;

/// A Python literal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Str(String),
    Int(i64),
    Bool(bool),
    None,
    /// A list or a tuple.
    Sequence(Vec<Literal>),
    Dict(Vec<(String, Literal)>),
}

/// Why a text is no literal.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum LiteralError {
    #[error("nested too deeply")]
    TooDeep,
    #[error("unexpected `{0}`")]
    Unexpected(String),
    #[error("unexpected `{}` after the end", .0.escape_debug())]
    AfterEnd(char),
    #[error("ends early")]
    EndsEarly,
    #[error("string without end")]
    OpenString,
    #[error("no `,` or `{0}`")]
    NoComma(char),
    #[error("key that is no string")]
    Key,
    #[error("no `:` after a key")]
    NoColon,
    #[error("bad integer `{0}`")]
    Integer(String),
}

const MAX_DEPTH: usize = 16;

pub(crate) fn parse(text: &str) -> Result<Literal, LiteralError> {
    let mut parser = Parser {
        text,
        chars: text.char_indices().peekable(),
    };
    let value = parser.value(0)?;
    match parser.next_char() {
        None => Ok(value),
        Some(c) => Err(LiteralError::AfterEnd(c)),
    }
}

struct Parser<'t> {
    text: &'t str,
    chars: Peekable<CharIndices<'t>>,
}

impl Parser<'_> {
    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        while self
            .chars
            .next_if(|(_, c)| c.is_whitespace() || *c == '\0')
            .is_some()
        {}
        self.chars.peek().map(|(_, c)| *c)
    }

    fn next_char(&mut self) -> Option<char> {
        self.peek();
        self.chars.next().map(|(_, c)| c)
    }

    fn accept(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.chars.next();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Literal, LiteralError> {
        if depth > MAX_DEPTH {
            return Err(LiteralError::TooDeep);
        }
        match self.peek() {
            Some('\'' | '"') => self.string().map(Literal::Str),
            Some('(') => self.sequence(')', depth),
            Some('[') => self.sequence(']', depth),
            Some('{') => self.dict(depth),
            Some(c) if c.is_ascii_digit() || c == '-' => self.integer(),
            Some(c) if c.is_ascii_alphabetic() => self.word(),
            Some(c) => Err(LiteralError::Unexpected(c.escape_debug().to_string())),
            None => Err(LiteralError::EndsEarly),
        }
    }

    fn string(&mut self) -> Result<String, LiteralError> {
        let quote = self.next_char();
        let mut text = String::new();
        while let Some((_, c)) = self.chars.next() {
            if Some(c) == quote {
                return Ok(text);
            }
            // An escape stands for itself; only names of fields could have one.
            let c = match c {
                '\\' => self.chars.next().map_or(c, |(_, c)| c),
                c => c,
            };
            text.push(c);
        }
        Err(LiteralError::OpenString)
    }

    fn sequence(&mut self, close: char, depth: usize) -> Result<Literal, LiteralError> {
        self.next_char();
        let mut items = Vec::new();
        while !self.accept(close) {
            items.push(self.value(depth + 1)?);
            if !self.accept(',') && self.peek() != Some(close) {
                return Err(LiteralError::NoComma(close));
            }
        }
        Ok(Literal::Sequence(items))
    }

    fn dict(&mut self, depth: usize) -> Result<Literal, LiteralError> {
        self.next_char();
        let mut entries = Vec::new();
        while !self.accept('}') {
            let Literal::Str(key) = self.value(depth + 1)? else {
                return Err(LiteralError::Key);
            };
            if !self.accept(':') {
                return Err(LiteralError::NoColon);
            }
            entries.push((key, self.value(depth + 1)?));
            if !self.accept(',') && self.peek() != Some('}') {
                return Err(LiteralError::NoComma('}'));
            }
        }
        Ok(Literal::Dict(entries))
    }

    /// The longest run of characters that `part` accepts.
    fn run(&mut self, part: impl Fn(char) -> bool) -> &str {
        self.peek();
        let start = self.chars.peek().map_or(self.text.len(), |(i, _)| *i);
        while self.chars.next_if(|(_, c)| part(*c)).is_some() {}
        let end = self.chars.peek().map_or(self.text.len(), |(i, _)| *i);
        self.text.get(start..end).unwrap_or_default()
    }

    fn integer(&mut self) -> Result<Literal, LiteralError> {
        let digits = self.run(|c| c.is_ascii_digit() || c == '-');
        let value = digits.parse().map(Literal::Int);
        let value = value.map_err(|_| LiteralError::Integer(digits.to_owned()));
        // Python 2 wrote long integers with an L.
        self.accept('L');
        value
    }

    fn word(&mut self) -> Result<Literal, LiteralError> {
        match self.run(|c| c.is_ascii_alphanumeric()) {
            "True" => Ok(Literal::Bool(true)),
            "False" => Ok(Literal::Bool(false)),
            "None" => Ok(Literal::None),
            other => Err(LiteralError::Unexpected(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_header() {
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4L), }    \n";
        let Literal::Dict(entries) = parse(text).unwrap() else {
            panic!("not a dictionary")
        };
        assert_eq!(entries[0], ("descr".into(), Literal::Str("<f8".into())));
        assert_eq!(entries[1], ("fortran_order".into(), Literal::Bool(false)));
        let shape = Literal::Sequence(vec![Literal::Int(3), Literal::Int(4)]);
        assert_eq!(entries[2], ("shape".into(), shape));
    }

    #[test]
    fn refused() {
        for bad in [
            "",
            "{",
            "{'a'}",
            "{'a': }",
            "{1: 2}",
            "(1",
            "(1 2)",
            "'abc",
            "os.exit()",
            "1 2",
            "99999999999999999999",
            "--1",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse(&"(".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn never_panics(text in "[{}()\\[\\]',: 0-9a-zA-Z\\\\-]{0,80}|.{0,40}") {
            let _ = parse(&text);
        }
    }
}

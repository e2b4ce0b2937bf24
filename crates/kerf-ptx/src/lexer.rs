//! Tokens of PTX: of a template as LLVM IR spells it, where `$0` is an operand and `$$` a dollar sign, and of a file,
//! where a dollar sign is a letter.
use super::refusal::{Lifted, Refusal, refuse};

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// Operand of the asm statement, `$3`.
    Arg(usize),
    /// Name, opcode with modifiers, special register or directive: all that has no blank in it.
    Word(String),
    /// Integer literal, its low 64 bits.
    Int(u64),
    /// `0hXXXX`.
    F16(u16),
    /// `0fXXXXXXXX`.
    F32(u32),
    /// `0dXXXXXXXXXXXXXXXX`, or a decimal literal, which PTX reads as f64.
    F64(u64),
    /// String of a `.pragma` or `.file`.
    Text(String),
    /// Any other character.
    Punct(char),
}

fn starts_word(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '%' | '.')
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

/// Where a token begins: line and column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Place {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

struct Lexer {
    text: Vec<char>,
    at: usize,
    /// Is it a template of an asm statement?
    template: bool,
    /// Up to where lines were counted, the line there, and where it begins.
    counted: usize,
    line: u32,
    line_start: usize,
}

impl Lexer {
    fn new(text: &str, template: bool) -> Lexer {
        Lexer {
            text: text.chars().collect(),
            at: 0,
            template,
            counted: 0,
            line: 1,
            line_start: 0,
        }
    }

    /// Where the next character is.
    fn place(&mut self) -> Place {
        for i in self.counted..self.at.min(self.text.len()) {
            if self.text[i] == '\n' {
                self.line += 1;
                self.line_start = i + 1;
            }
        }
        self.counted = self.at;
        Place {
            line: self.line,
            column: (self.at - self.line_start) as u32 + 1,
        }
    }
}

/// Splits the text of a file into tokens, each with its place; the place of what is no token, and why.
pub(super) fn file_tokens(text: &str) -> Result<Vec<(Token, Place)>, (Place, Refusal)> {
    let mut l = Lexer::new(text, false);
    let mut out = Vec::new();
    loop {
        let blank = l.skip_blank();
        let place = l.place();
        match blank.and_then(|()| l.next()) {
            Ok(Some(t)) => out.push((t, place)),
            Ok(None) => return Ok(out),
            Err(why) => return Err((place, why)),
        }
    }
}

/// Splits a template into tokens.
pub(super) fn tokens(template: &str) -> Lifted<Vec<Token>> {
    let mut l = Lexer::new(template, true);
    let mut out = Vec::new();
    while let Some(t) = l.next()? {
        out.push(t);
    }
    Ok(out)
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Lifted<Option<Token>> {
        self.skip_blank()?;
        let Some(c) = self.peek(0) else {
            return Ok(None);
        };
        let token = match c {
            '$' if self.template && self.peek(1) != Some('$') => self.argument()?,
            '$' => self.word(),
            '"' => self.string()?,
            _ if starts_word(c) => self.word(),
            _ if c.is_ascii_digit() => self.number()?,
            _ => {
                self.at += 1;
                Token::Punct(c)
            }
        };
        Ok(Some(token))
    }

    fn skip_blank(&mut self) -> Lifted<()> {
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('/')) => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                ('/', Some('*')) => {
                    self.at += 2;
                    while (self.peek(0), self.peek(1)) != (Some('*'), Some('/')) {
                        if self.peek(0).is_none() {
                            return refuse("a comment has no end");
                        }
                        self.at += 1;
                    }
                    self.at += 2;
                }
                _ if c.is_whitespace() => self.at += 1,
                _ => break,
            }
        }
        Ok(())
    }

    fn digits(&mut self) -> String {
        let mut s = String::new();
        while let Some(c) = self.peek(0).filter(char::is_ascii_digit) {
            s.push(c);
            self.at += 1;
        }
        s
    }

    /// `$3` or `${3}`; operand modifiers as in `${3:x}` mean nothing to NVPTX.
    fn argument(&mut self) -> Lifted<Token> {
        self.at += 1;
        let braced = self.peek(0) == Some('{');
        self.at += usize::from(braced);
        let number = self.digits().parse();
        let closed = !braced || self.peek(0) == Some('}');
        self.at += usize::from(braced);
        match number {
            Ok(n) if closed => Ok(Token::Arg(n)),
            _ => refuse("an operand reference is not a plain `$n`"),
        }
    }

    fn word(&mut self) -> Token {
        let mut s = String::new();
        while let Some(c) = self.peek(0) {
            if c == '$' && !self.template {
                s.push('$');
                self.at += 1;
            } else if c == '$' && self.peek(1) == Some('$') {
                s.push('$');
                self.at += 2;
            } else if c == ':' && self.peek(1) == Some(':') {
                // A qualified modifier such as `.L1::no_allocate`; a label has one colon.
                s.push_str("::");
                self.at += 2;
            } else if in_word(c) || (c == '%' && s.is_empty()) {
                s.push(c);
                self.at += 1;
            } else {
                break;
            }
        }
        Token::Word(s)
    }

    fn string(&mut self) -> Lifted<Token> {
        self.at += 1;
        let mut s = String::new();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == '"' {
                return Ok(Token::Text(s));
            }
            s.push(c);
        }
        refuse("a string has no end")
    }

    fn number(&mut self) -> Lifted<Token> {
        let mut s = String::new();
        while let Some(c) = self.peek(0) {
            let based = s.len() > 1 && s.starts_with('0') && !s.starts_with("0.");
            let exponent = !based && s.ends_with(['e', 'E']) && matches!(c, '+' | '-');
            if !in_word(c) && !exponent {
                break;
            }
            s.push(c);
            self.at += 1;
        }
        match literal(&s) {
            Some(t) => Ok(t),
            None => refuse(format!("`{s}` is not a number of PTX")),
        }
    }
}

/// Hexadecimal digits of a floating-point literal, of which PTX wants exactly `n`.
fn bits(s: &str, n: usize) -> Option<u64> {
    (s.len() == n).then(|| u64::from_str_radix(s, 16).ok())?
}

fn literal(s: &str) -> Option<Token> {
    let tail = s.get(2..).unwrap_or("");
    let unsigned = |t: &str, radix| {
        u64::from_str_radix(t.strip_suffix(['u', 'U']).unwrap_or(t), radix)
            .ok()
            .map(Token::Int)
    };
    match s.as_bytes() {
        [b'0', b'f' | b'F', ..] => bits(tail, 8).map(|b| Token::F32(b as u32)),
        [b'0', b'd' | b'D', ..] => bits(tail, 16).map(Token::F64),
        [b'0', b'h' | b'H', ..] => bits(tail, 4).map(|b| Token::F16(b as u16)),
        [b'0', b'x' | b'X', ..] => unsigned(tail, 16),
        [b'0', b'b' | b'B', ..] => unsigned(tail, 2),
        _ if s.contains(['.', 'e', 'E']) => s.parse().ok().map(|v: f64| Token::F64(v.to_bits())),
        [b'0', b'0'..=b'9', ..] => unsigned(&s[1..], 8),
        _ => unsigned(s, 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(s: &str) -> Token {
        Token::Word(s.into())
    }

    #[test]
    fn splits_a_statement() {
        assert_eq!(
            tokens("add.f16 $0,${1}; // sum\n").unwrap(),
            [
                word("add.f16"),
                Token::Arg(0),
                Token::Punct(','),
                Token::Arg(1),
                Token::Punct(';')
            ]
        );
    }

    #[test]
    fn keeps_dollars_percents_and_qualified_modifiers_in_words() {
        assert_eq!(
            tokens("__$$temp3 %tid.x").unwrap(),
            [word("__$temp3"), word("%tid.x")]
        );
        assert_eq!(tokens("$$L__BB").unwrap(), [word("$L__BB")]);
        assert_eq!(
            tokens("ld.L1::no_allocate.u8").unwrap(),
            [word("ld.L1::no_allocate.u8")]
        );
        assert_eq!(tokens("L1: ").unwrap(), [word("L1"), Token::Punct(':')]);
    }

    #[test]
    fn reads_numbers() {
        let all = "0x80008000U 12 017 0b101 0f3F800000 0d3FF0000000000000 0h3C00 1.5 1e-3 0X1F 0";
        assert_eq!(
            tokens(all).unwrap(),
            [
                Token::Int(0x8000_8000),
                Token::Int(12),
                Token::Int(15),
                Token::Int(5),
                Token::F32(0x3F80_0000),
                Token::F64(1f64.to_bits()),
                Token::F16(0x3C00),
                Token::F64(1.5f64.to_bits()),
                Token::F64(1e-3f64.to_bits()),
                Token::Int(31),
                Token::Int(0),
            ]
        );
    }

    #[test]
    fn refuses_what_is_no_token() {
        for bad in ["0f12", "12abc", "$x", "${1:r}", "/* ", "\"", "0x", "$"] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
    }
}

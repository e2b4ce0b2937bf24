//! Words of an expression.

use std::ops::Range;

use super::{ExprError, MAX_LEN};
use crate::number::Number;

/// A word with its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind<'t>,
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind<'t> {
    Number(Number),
    Name(&'t str),
    /// An operator or punctuation.
    Sign(&'static str),
    End,
}

/// Longest first, so that `<=` is not read as `<` and `=`.
const SIGNS: [&str; 20] = [
    "..=", "..", "<=", ">=", "==", "!=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "(",
    ")", ",", "~",
];

pub(super) fn words(text: &str) -> Result<Vec<Token<'_>>, ExprError> {
    if text.len() > MAX_LEN {
        return Err(ExprError {
            span: 0..text.len(),
            what: format!("expression of {} bytes", text.len()),
            expected: format!("at most {MAX_LEN} bytes"),
            help: None,
        });
    }
    let mut list = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let rest = &text[at..];
        let (kind, len) = if first.is_ascii_digit() {
            number(rest, at)?
        } else if is_name(first) {
            let len = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            (Kind::Name(&rest[..len]), len)
        } else if let Some(sign) = SIGNS.into_iter().find(|s| rest.starts_with(s)) {
            (Kind::Sign(sign), sign.len())
        } else {
            return Err(stray(first, at));
        };
        list.push(Token {
            kind,
            span: at..at + len,
        });
        at += len;
    }
    list.push(Token {
        kind: Kind::End,
        span: text.len()..text.len(),
    });
    Ok(list)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn stray(c: char, at: usize) -> ExprError {
    let help = match c {
        '^' => Some("powers are `pow(a, b)`"),
        '=' => Some("equality is `==`"),
        '&' => Some("logical and is `&&`"),
        '|' => Some("logical or is `||`"),
        '.' => Some("write a digit before the point: `0.5`"),
        '?' => Some("a choice is `select(condition, a, b)`"),
        '[' | ']' => Some("expressions have no elements; only parentheses group"),
        _ => None,
    };
    ExprError {
        span: at..at + c.len_utf8(),
        what: format!("unexpected `{}`", c.escape_debug()),
        expected: "a number, a name or an operator".into(),
        help: help.map(Into::into),
    }
}

/// Reads the number at the start of `rest`, which begins with a digit.
fn number(rest: &str, at: usize) -> Result<(Kind<'static>, usize), ExprError> {
    let hex = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
    let (len, float) = match hex {
        Some(digits) => {
            let is_digit = |c: char| c.is_ascii_hexdigit() || c == '_';
            let len = digits.find(|c| !is_digit(c)).unwrap_or(digits.len());
            (2 + len, false)
        }
        None => decimal(rest),
    };
    let error = |len: usize, what: String, help: Option<String>| ExprError {
        span: at..at + len,
        what,
        expected: "a number such as 1024, 0x400, 0.5 or 1e-6".into(),
        help,
    };
    let text = &rest[..len];
    if let Some(next) = rest[len..].chars().next().filter(|&c| is_name(c)) {
        let tail = rest[len..]
            .find(|c| !is_name(c))
            .unwrap_or(rest.len() - len);
        let help = (!next.is_ascii_digit() && hex.is_none())
            .then(|| format!("for a product write `{text} * {}`", &rest[len..len + tail]));
        let whole = &rest[..len + tail];
        return Err(error(
            whole.len(),
            format!("malformed number `{whole}`"),
            help,
        ));
    }
    let digits = text.replace('_', "");
    let value = if float {
        digits
            .parse()
            .ok()
            .filter(|v: &f64| v.is_finite())
            .map(Number::Float)
    } else if hex.is_some() {
        i128::from_str_radix(&digits[2..], 16).ok().map(Number::Int)
    } else {
        digits.parse().ok().map(Number::Int)
    };
    match value {
        Some(value) => Ok((Kind::Number(value), len)),
        None => Err(error(
            len,
            format!("number `{text}` is malformed or too large"),
            None,
        )),
    }
}

/// Length of a decimal number, and whether it is a float.
fn decimal(rest: &str) -> (usize, bool) {
    let bytes = rest.as_bytes();
    let digits = |from: usize| {
        let part = bytes.get(from..).unwrap_or_default();
        let is_digit = |b: &u8| b.is_ascii_digit() || *b == b'_';
        from + part.iter().take_while(|b| is_digit(b)).count()
    };
    let mut end = digits(0);
    let mut float = false;
    // Two points are a range, `0..n`, and not a float.
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
        float = true;
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = end + 1 + sign;
        if bytes.get(exponent).is_some_and(u8::is_ascii_digit) {
            float = true;
            end = digits(exponent);
        }
    }
    (end, float)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<Kind<'_>> {
        words(text).unwrap().into_iter().map(|t| t.kind).collect()
    }

    #[test]
    fn numbers_in_every_spelling() {
        use Kind::{End, Name, Sign};
        let int = |v| Kind::Number(Number::Int(v));
        let float = |v| Kind::Number(Number::Float(v));
        assert_eq!(numbers("1_000"), [int(1000), End]);
        assert_eq!(numbers("0x_fF"), [int(255), End]);
        assert_eq!(numbers("18446744073709551615"), [int(u64::MAX.into()), End]);
        assert_eq!(numbers("1."), [float(1.0), End]);
        assert_eq!(numbers("2.5e-3"), [float(0.0025), End]);
        assert_eq!(numbers("1e6"), [float(1e6), End]);
        assert_eq!(numbers("0..n"), [int(0), Sign(".."), Name("n"), End]);
        assert_eq!(numbers("1.0..=2"), [float(1.0), Sign("..="), int(2), End]);
    }

    #[test]
    fn malformed_words() {
        let bad = |text: &str| words(text).unwrap_err();
        assert_eq!(
            bad("3n").help.as_deref(),
            Some("for a product write `3 * n`")
        );
        assert_eq!(bad("n ^ 2").span, 2..3);
        assert!(bad("1e999").what.contains("too large"));
        assert!(bad(&"9".repeat(60)).what.contains("too large"));
        assert!(bad("0x").what.contains("malformed"));
        assert!(bad("é").what.contains("unexpected"));
        assert!(bad(&"1+".repeat(MAX_LEN)).what.contains("bytes"));
    }
}

//! Ranges of loops: `a..b`, `a..=b`, each with an optional `step s`.

use super::lex::{Kind, words};
use super::parse::Parser;
use super::{Expr, ExprError};

/// The parts of a loop's range, each with its offset in the range's text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RangeParts {
    pub(crate) from: (usize, Expr),
    pub(crate) to: (usize, Expr),
    pub(crate) inclusive: bool,
    pub(crate) step: Option<(usize, Expr)>,
}

pub(crate) fn parse_range(text: &str) -> Result<RangeParts, ExprError> {
    let tokens = words(text)?;
    let mut parser = Parser::new(text, &tokens);
    let part = |parser: &mut Parser<'_>| {
        let start = parser.peek().span.start;
        parser.expression().map(|e| (start, e))
    };
    let from = part(&mut parser)?;
    let inclusive = parser.accept("..=");
    if !inclusive && !parser.accept("..") {
        let mut error = parser.unexpected("a range `a..b` or `a..=b`");
        if parser.peek().kind == Kind::End {
            error.span = 0..text.len();
            error.what = "no range".into();
            error.help = Some(format!("to count from zero write `0..{}`", text.trim()));
        }
        return Err(error);
    }
    let to = part(&mut parser)?;
    let mut step = None;
    if parser.peek().kind == Kind::Name("step") {
        parser.advance();
        step = Some(part(&mut parser)?);
    }
    match parser.peek().kind {
        Kind::End => Ok(RangeParts {
            from,
            to,
            inclusive,
            step,
        }),
        _ => Err(parser.unexpected("`step` or the end of the range")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        let r = parse_range(" 0..n-1").unwrap();
        assert_eq!((r.from.0, r.from.1.text()), (1, "0"));
        assert_eq!((r.to.0, r.to.1.text()), (4, "n-1"));
        assert_eq!(r.to.1.names()[0].span, 0..1);
        assert!(!r.inclusive && r.step.is_none());

        let r = parse_range("n - 1 ..= step step -2").unwrap();
        assert_eq!(r.from.1.text(), "n - 1");
        assert_eq!(r.to.1.text(), "step");
        assert!(r.inclusive);
        assert_eq!(r.step.unwrap().1.text(), "-2");
    }

    #[test]
    fn not_ranges() {
        let error = |text: &str| parse_range(text).unwrap_err();
        assert_eq!(
            error("n").help.as_deref(),
            Some("to count from zero write `0..n`")
        );
        assert_eq!(error("0..").what, "expression ends early");
        assert_eq!(error("0..n by 2").what, "unexpected `by`");
        assert_eq!(error("0..n..2").what, "unexpected `..`");
        assert_eq!(error("0 n").what, "unexpected `n`");
    }
}

//! Expressions of workload files.
//!
//! An expression is compiled once to postfix code and evaluated on a stack, so that neither a long
//! nor a deep text can exhaust the machine's stack, and filling a buffer stays reasonably fast.

mod eval;
mod lex;
mod parse;
mod range;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::path::Path;

use thiserror::Error;

pub(crate) use range::parse_range;

use crate::mistakes::Mistake;
use crate::number::Number;

/// Parentheses, calls and signs may nest this deep.
pub const MAX_DEPTH: usize = 64;

/// Longest text of an expression in bytes.
pub const MAX_LEN: usize = 1 << 16;

/// A compiled expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// Boxed because steps and arguments hold several.
    inner: Box<Inner>,
}

#[derive(Debug, Clone, PartialEq)]
struct Inner {
    text: String,
    code: Vec<PostfixOp>,
    /// Where in the text each operation comes from, for messages.
    spans: Vec<Range<usize>>,
    names: Vec<NameUse>,
    origin: ExprOrigin,
}

/// One use of a name in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameUse {
    /// The name.
    pub name: String,
    /// Where it is in the expression's text.
    pub span: Range<usize>,
}

/// What is wrong with an expression, or went wrong in evaluating it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what}; expected {expected}")]
pub struct ExprError {
    /// The part of the expression's text.
    pub span: Range<usize>,
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub expected: String,
    /// A suggestion.
    pub help: Option<String>,
}

/// Where an expression stands in its workload file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExprOrigin {
    /// Bytes of the TOML value that holds it.
    pub span: Range<usize>,
    /// Line of the value, from 1; 0 if the expression is from no file.
    pub line: usize,
    /// Column of the value.
    pub column: usize,
    /// Distance from the value's start to the expression's first byte, where the value shows the
    /// expression as it is: on one line and without escapes.
    pub inside: Option<usize>,
}

/// An operation of the compiled form. Targets are indices of operations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PostfixOp {
    /// Pushes a number.
    Push(Number),
    /// Pushes the value of the name use with this index.
    Name(usize),
    /// The negative of the top.
    Neg,
    /// 1 if the top is false, else 0.
    Not,
    /// Turns the top into 1 or 0.
    Truth,
    /// Pops the right operand, then the left one, and pushes the result.
    Binary(Binary),
    /// A function of the top.
    Unary(Unary),
    /// Continues elsewhere, further on.
    Jump(usize),
    /// Pops; jumps if it was false.
    Unless(usize),
    /// Pops; if it was false, pushes 0 and jumps.
    And(usize),
    /// Pops; if it was true, pushes 1 and jumps.
    Or(usize),
}

/// An operation or function of two operands. Comparisons give 1 or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Less,
    LessEq,
    Greater,
    GreaterEq,
    Eq,
    NotEq,
    Min,
    Max,
    Pow,
    CeilDiv,
}

/// A function of one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Unary {
    Abs,
    Sqrt,
    Exp,
    Log,
    Log2,
    Sin,
    Cos,
    Floor,
    Ceil,
}

impl Expr {
    /// Compiles an expression.
    pub fn parse(text: &str) -> Result<Expr, ExprError> {
        parse::parse(text)
    }

    /// An expression that is just a number.
    pub fn literal(value: Number) -> Expr {
        let text = value.to_string();
        let span = 0..text.len();
        Expr {
            inner: Box::new(Inner {
                text,
                code: vec![PostfixOp::Push(value)],
                spans: Vec::from([span]),
                names: Vec::new(),
                origin: ExprOrigin::default(),
            }),
        }
    }

    /// The same expression, placed in a file.
    pub fn at(mut self, origin: ExprOrigin) -> Expr {
        self.inner.origin = origin;
        self
    }

    /// The text it was written as.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// Where it stands in its file.
    pub fn origin(&self) -> &ExprOrigin {
        &self.inner.origin
    }

    /// Every use of a name, in the order of the text.
    pub fn names(&self) -> &[NameUse] {
        &self.inner.names
    }

    /// The number, if the expression is nothing but one.
    pub fn as_literal(&self) -> Option<Number> {
        match self.inner.code[..] {
            [PostfixOp::Push(value)] => Some(value),
            _ => None,
        }
    }

    /// The compiled form, whose semantics `eval.rs` defines.
    pub fn operations(&self) -> &[PostfixOp] {
        &self.inner.code
    }

    /// How many operations an evaluation takes at most.
    pub(crate) fn cost(&self) -> usize {
        self.inner.code.len()
    }

    /// Evaluates with a value for each name.
    pub fn eval(
        &self,
        mut lookup: impl FnMut(&str) -> Option<Number>,
    ) -> Result<Number, ExprError> {
        let get = |slot: usize| self.inner.names.get(slot).and_then(|n| lookup(&n.name));
        eval::run(&self.inner, &mut Vec::new(), get)
    }

    /// Evaluates with a value for each use of a name, in the order of [`names`](Self::names).
    /// `stack` is scratch space that repeated calls share.
    pub fn eval_uses(
        &self,
        values: &[Number],
        stack: &mut Vec<Number>,
    ) -> Result<Number, ExprError> {
        eval::run(&self.inner, stack, |slot| values.get(slot).copied())
    }
}

impl ExprOrigin {
    /// A mistake in an expression that stands here, shown at the part that is wrong if the file
    /// shows the text as it is.
    pub(crate) fn mistake(&self, file: &Path, text: &str, error: ExprError) -> Mistake {
        let (span, column) = match self.inside {
            Some(inside) => {
                let start = self.span.start + inside;
                let before = text.get(..error.span.start).unwrap_or_default();
                let column = self.column + inside + before.chars().count();
                (start + error.span.start..start + error.span.end, column)
            }
            None => (self.span.clone(), self.column),
        };
        Mistake {
            file: file.to_owned(),
            line: self.line,
            column,
            span,
            what: error.what,
            expected: error.expected,
            help: error.help,
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.text)
    }
}

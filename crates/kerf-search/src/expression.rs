//! Expressions as tuning files have them: the part of Python that lists of values and conditions are written in.
//!
//! Numbers, strings, `True` and `False`, lists, one-loop comprehensions, `range`, `list`, `min`, `max`, `abs`, `len`,
//! `int`, `float`, arithmetic with Python's `//` and `%`, comparisons in chains, `in`, `and`, `or`, `not`, `a if b else c`.
mod parse;

use std::cmp::Ordering;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpressionValue {
    /// A whole number.
    Int(i64),
    /// Another number.
    Real(f64),
    /// True or false.
    Bool(bool),
    /// Text.
    Text(String),
    /// Several.
    List(Vec<ExpressionValue>),
}

/// Why an expression cannot be read or has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// Not of the part of Python that is read.
    #[error("at character {at} of `{text}`: {why}")]
    Syntax {
        /// Which character, from 1.
        at: usize,
        /// The expression.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// A name that is none.
    #[error(
        "`{0}` is no parameter; help: it is spelled otherwise, or missing in the list of parameters"
    )]
    Name(String),
    /// No value.
    #[error("{0}")]
    Value(String),
}

/// Elements that a list may have; a range beyond it is a mistake.
const LONGEST: i64 = 1 << 20;

impl ExpressionValue {
    /// As a number, where it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            ExpressionValue::Int(i) => Some(*i as f64),
            ExpressionValue::Real(x) => Some(*x),
            ExpressionValue::Bool(b) => Some(f64::from(*b)),
            _ => None,
        }
    }
    /// Whether Python takes it for true.
    pub fn truth(&self) -> bool {
        match self {
            ExpressionValue::Text(s) => !s.is_empty(),
            ExpressionValue::List(l) => !l.is_empty(),
            other => other.number() != Some(0.0),
        }
    }
    /// As the level of a variable is named: as in JSON, text without quotes.
    pub fn name(&self) -> String {
        match self {
            ExpressionValue::Text(s) => s.clone(),
            other => other.json().to_string(),
        }
    }
    /// As JSON.
    pub fn json(&self) -> serde_json::Value {
        match self {
            ExpressionValue::Int(i) => (*i).into(),
            ExpressionValue::Real(x) => (*x).into(),
            ExpressionValue::Bool(b) => (*b).into(),
            ExpressionValue::Text(s) => s.clone().into(),
            ExpressionValue::List(l) => l.iter().map(ExpressionValue::json).collect(),
        }
    }
    /// From JSON; none for `null` and objects.
    pub fn from_json(v: &serde_json::Value) -> Option<ExpressionValue> {
        use serde_json::Value as J;
        Some(match v {
            J::Bool(b) => ExpressionValue::Bool(*b),
            J::Number(n) => match n.as_i64() {
                Some(i) => ExpressionValue::Int(i),
                None => ExpressionValue::Real(n.as_f64()?),
            },
            J::String(s) => ExpressionValue::Text(s.clone()),
            J::Array(a) => ExpressionValue::List(
                a.iter()
                    .map(ExpressionValue::from_json)
                    .collect::<Option<_>>()?,
            ),
            J::Null | J::Object(_) => return None,
        })
    }
    fn kind(&self) -> &'static str {
        match self {
            ExpressionValue::Int(_) | ExpressionValue::Real(_) => "a number",
            ExpressionValue::Bool(_) => "a truth value",
            ExpressionValue::Text(_) => "text",
            ExpressionValue::List(_) => "a list",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Add,
    Subtract,
    Multiply,
    Divide,
    Floor,
    Remainder,
    Power,
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Other,
    In,
    NotIn,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Value(ExpressionValue),
    /// A name, by its number in [`Expression::names`].
    Name(usize),
    /// The variable of a comprehension, by depth.
    Own(usize),
    Negate(Box<Node>),
    Not(Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Choice(Box<Node>, Box<Node>, Box<Node>),
    Binary(Op, Box<Node>, Box<Node>),
    /// A chain of comparisons.
    Chain(Box<Node>, Vec<(Op, Node)>),
    List(Vec<Node>),
    Call(String, Vec<Node>),
    /// Element, list, condition.
    Each(Box<Node>, Box<Node>, Option<Box<Node>>),
}

/// An expression, read once.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: String,
    names: Vec<String>,
    node: Node,
}

impl Expression {
    /// Reads one.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        let (node, names) = parse::parse(text)?;
        Ok(Expression {
            text: text.to_owned(),
            names,
            node,
        })
    }
    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// The names in it, each once.
    pub fn names(&self) -> &[String] {
        &self.names
    }
    /// Its value; `of` gives that of each name, by its number in [`Expression::names`].
    pub fn value<'v>(
        &self,
        of: &dyn Fn(usize) -> Option<&'v ExpressionValue>,
    ) -> Result<ExpressionValue, ExpressionError> {
        let run = Run {
            names: &self.names,
            of,
        };
        run.value(&self.node, &mut Vec::new())
    }
    /// Its value without any names.
    pub fn constant(&self) -> Result<ExpressionValue, ExpressionError> {
        self.value(&|_| None)
    }
}

struct Run<'r, 'v> {
    names: &'r [String],
    of: &'r dyn Fn(usize) -> Option<&'v ExpressionValue>,
}

fn wrong(why: impl Into<String>) -> ExpressionError {
    ExpressionError::Value(why.into())
}

fn number(v: &ExpressionValue) -> Result<f64, ExpressionError> {
    let n = v.number();
    n.ok_or_else(|| wrong(format!("{} where a number belongs", v.kind())))
}

/// Both as whole numbers, if both are.
fn whole(a: &ExpressionValue, b: &ExpressionValue) -> Option<(i64, i64)> {
    let one = |v: &ExpressionValue| match v {
        ExpressionValue::Int(i) => Some(*i),
        ExpressionValue::Bool(b) => Some(i64::from(*b)),
        _ => None,
    };
    Some((one(a)?, one(b)?))
}

fn arithmetic(
    op: Op,
    a: &ExpressionValue,
    b: &ExpressionValue,
) -> Result<ExpressionValue, ExpressionError> {
    match (op, a, b) {
        (Op::Add, ExpressionValue::List(x), ExpressionValue::List(y)) => {
            return Ok(ExpressionValue::List(x.iter().chain(y).cloned().collect()));
        }
        (Op::Add, ExpressionValue::Text(x), ExpressionValue::Text(y)) => {
            return Ok(ExpressionValue::Text(format!("{x}{y}")));
        }
        _ => {}
    }
    if let Some((x, y)) = whole(a, b) {
        let exact = match op {
            Op::Add => x.checked_add(y),
            Op::Subtract => x.checked_sub(y),
            Op::Multiply => x.checked_mul(y),
            Op::Floor | Op::Remainder if y == 0 => return Err(wrong("division by 0")),
            // Towards minus infinity, as in Python.
            Op::Floor => x.checked_div(y).map(|q| {
                let uneven = x % y != 0 && (x < 0) != (y < 0);
                q - i64::from(uneven)
            }),
            Op::Remainder => x.checked_rem(y).map(|r| {
                let other = r != 0 && (r < 0) != (y < 0);
                if other { r + y } else { r }
            }),
            Op::Power if y >= 0 => u32::try_from(y).ok().and_then(|y| x.checked_pow(y)),
            _ => None,
        };
        if let Some(exact) = exact {
            return Ok(ExpressionValue::Int(exact));
        }
    }
    let (x, y) = (number(a)?, number(b)?);
    let divides = matches!(op, Op::Divide | Op::Floor | Op::Remainder);
    if divides && y == 0.0 {
        return Err(wrong("division by 0"));
    }
    let out = match op {
        Op::Add => x + y,
        Op::Subtract => x - y,
        Op::Multiply => x * y,
        Op::Divide => x / y,
        Op::Floor => (x / y).floor(),
        Op::Remainder => x - y * (x / y).floor(),
        _ => x.powf(y),
    };
    match out.is_finite() {
        true => Ok(ExpressionValue::Real(out)),
        false => Err(wrong("a number beyond all bounds")),
    }
}

fn order(a: &ExpressionValue, b: &ExpressionValue) -> Option<Ordering> {
    match (a, b) {
        (ExpressionValue::Text(x), ExpressionValue::Text(y)) => Some(x.cmp(y)),
        (ExpressionValue::List(x), ExpressionValue::List(y)) if x == y => Some(Ordering::Equal),
        _ => match whole(a, b) {
            Some((x, y)) => Some(x.cmp(&y)),
            None => a.number()?.partial_cmp(&b.number()?),
        },
    }
}

fn compare(op: Op, a: &ExpressionValue, b: &ExpressionValue) -> Result<bool, ExpressionError> {
    let by = order(a, b);
    Ok(match op {
        Op::Equal => by == Some(Ordering::Equal),
        Op::Other => by != Some(Ordering::Equal),
        Op::In | Op::NotIn => {
            let ExpressionValue::List(all) = b else {
                return Err(wrong(format!("`in` {} where a list belongs", b.kind())));
            };
            let found = all.iter().any(|x| order(a, x) == Some(Ordering::Equal));
            found == (op == Op::In)
        }
        _ => {
            let by =
                by.ok_or_else(|| wrong(format!("{} and {} have no order", a.kind(), b.kind())))?;
            match op {
                Op::Less => by == Ordering::Less,
                Op::AtMost => by != Ordering::Greater,
                Op::More => by == Ordering::Greater,
                _ => by != Ordering::Less,
            }
        }
    })
}

fn call(name: &str, args: &[ExpressionValue]) -> Result<ExpressionValue, ExpressionError> {
    let int = |v: &ExpressionValue| match v {
        ExpressionValue::Int(i) => Ok(*i),
        other => Err(wrong(format!(
            "{} where a whole number belongs",
            other.kind()
        ))),
    };
    match (name, args) {
        ("range", [_] | [_, _] | [_, _, _]) => {
            let all: Vec<i64> = args.iter().map(int).collect::<Result<_, _>>()?;
            let (from, to, step) = match all[..] {
                [to] => (0, to, 1),
                [from, to] => (from, to, 1),
                [from, to, step, ..] => (from, to, step),
                [] => (0, 0, 1),
            };
            if step == 0 {
                return Err(wrong("a range in steps of 0"));
            }
            let mut out = Vec::new();
            let mut at = from;
            while (step > 0 && at < to) || (step < 0 && at > to) {
                if out.len() as i64 >= LONGEST {
                    return Err(wrong(format!("a range of over {LONGEST} numbers")));
                }
                out.push(ExpressionValue::Int(at));
                at = at.saturating_add(step);
            }
            Ok(ExpressionValue::List(out))
        }
        ("list", [ExpressionValue::List(l)]) => Ok(ExpressionValue::List(l.clone())),
        ("len", [ExpressionValue::List(l)]) => Ok(ExpressionValue::Int(l.len() as i64)),
        ("abs", [ExpressionValue::Int(i)]) => Ok(ExpressionValue::Int(i.saturating_abs())),
        ("abs", [v]) => Ok(ExpressionValue::Real(number(v)?.abs())),
        ("int", [v]) => Ok(ExpressionValue::Int(number(v)? as i64)),
        ("float", [v]) => Ok(ExpressionValue::Real(number(v)?)),
        ("min" | "max", all) => {
            let all = match all {
                [ExpressionValue::List(l)] => l,
                other => other,
            };
            let mut best: Option<&ExpressionValue> = None;
            for v in all {
                number(v)?;
                let better = if name == "min" { Op::Less } else { Op::More };
                if best.is_none_or(|b| compare(better, v, b).unwrap_or(false)) {
                    best = Some(v);
                }
            }
            best.cloned()
                .ok_or_else(|| wrong(format!("{name} of nothing")))
        }
        _ => Err(wrong(format!("`{name}` cannot be called so"))),
    }
}

impl Run<'_, '_> {
    fn value(
        &self,
        n: &Node,
        own: &mut Vec<ExpressionValue>,
    ) -> Result<ExpressionValue, ExpressionError> {
        Ok(match n {
            Node::Value(v) => v.clone(),
            Node::Name(i) => {
                let name =
                    || ExpressionError::Name(self.names.get(*i).cloned().unwrap_or_default());
                (self.of)(*i).cloned().ok_or_else(name)?
            }
            Node::Own(i) => own.get(*i).cloned().unwrap_or(ExpressionValue::Int(0)),
            Node::Negate(a) => {
                arithmetic(Op::Subtract, &ExpressionValue::Int(0), &self.value(a, own)?)?
            }
            Node::Not(a) => ExpressionValue::Bool(!self.value(a, own)?.truth()),
            Node::And(a, b) => match self.value(a, own)? {
                v if v.truth() => self.value(b, own)?,
                v => v,
            },
            Node::Or(a, b) => match self.value(a, own)? {
                v if v.truth() => v,
                _ => self.value(b, own)?,
            },
            Node::Choice(yes, if_, no) => match self.value(if_, own)?.truth() {
                true => self.value(yes, own)?,
                false => self.value(no, own)?,
            },
            Node::Binary(op, a, b) => arithmetic(*op, &self.value(a, own)?, &self.value(b, own)?)?,
            Node::Chain(first, rest) => {
                let mut a = self.value(first, own)?;
                for (op, b) in rest {
                    let b = self.value(b, own)?;
                    if !compare(*op, &a, &b)? {
                        return Ok(ExpressionValue::Bool(false));
                    }
                    a = b;
                }
                ExpressionValue::Bool(true)
            }
            Node::List(all) => ExpressionValue::List(
                all.iter()
                    .map(|x| self.value(x, own))
                    .collect::<Result<_, _>>()?,
            ),
            Node::Call(name, args) => {
                let args: Vec<ExpressionValue> = args
                    .iter()
                    .map(|x| self.value(x, own))
                    .collect::<Result<_, _>>()?;
                call(name, &args)?
            }
            Node::Each(element, list, condition) => {
                let ExpressionValue::List(all) = self.value(list, own)? else {
                    return Err(wrong("`for ... in` something that is no list"));
                };
                let mut out = Vec::new();
                for v in all {
                    own.push(v);
                    let kept = match condition {
                        Some(c) => self.value(c, own)?.truth(),
                        None => true,
                    };
                    if kept {
                        out.push(self.value(element, own)?);
                    }
                    own.pop();
                }
                ExpressionValue::List(out)
            }
        })
    }
}

#[cfg(test)]
mod tests;

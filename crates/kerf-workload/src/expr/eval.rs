//! Running postfix code.
//!
//! Values are the same on every machine and device: `exp log log2 sin cos pow` are those of
//! [`kerf_num::portable`], everything else is exact or correctly rounded.

use super::{Binary, ExprError, Inner, PostfixOp, Unary};
use crate::number::Number::{self, Float, Int};
use kerf_num::portable;

/// Why an operation has no value. Kept small: evaluation passes it along for every operation.
#[derive(Clone, Copy)]
enum Fault {
    Unknown,
    Overflow,
    DivisionByZero,
    FloatCeilDiv,
    NotWhole(f64),
}

pub(super) fn run(
    expr: &Inner,
    stack: &mut Vec<Number>,
    mut get: impl FnMut(usize) -> Option<Number>,
) -> Result<Number, ExprError> {
    stack.clear();
    let mut at = 0;
    while let Some(op) = expr.code.get(at) {
        let mut pop = || stack.pop().unwrap_or(Int(0));
        let result = match *op {
            PostfixOp::Push(value) => Ok(value),
            PostfixOp::Name(slot) => get(slot).ok_or(Fault::Unknown),
            PostfixOp::Neg => negate(pop()),
            PostfixOp::Not => Ok(Number::from(!pop().is_true())),
            PostfixOp::Truth => Ok(Number::from(pop().is_true())),
            PostfixOp::Binary(op) => {
                let right = pop();
                binary(op, pop(), right)
            }
            PostfixOp::Unary(op) => unary(op, pop()),
            // Jumps only lead forward, so this ends.
            PostfixOp::Jump(to) => {
                at = to.max(at + 1);
                continue;
            }
            PostfixOp::Unless(to) => {
                at = if pop().is_true() {
                    at + 1
                } else {
                    to.max(at + 1)
                };
                continue;
            }
            PostfixOp::And(to) | PostfixOp::Or(to) => {
                let truth = pop().is_true();
                at += 1;
                if truth == matches!(op, PostfixOp::Or(_)) {
                    stack.push(Number::from(truth));
                    at = to.max(at);
                }
                continue;
            }
        };
        match result {
            Ok(value) => stack.push(value),
            Err(fault) => return Err(locate(expr, at, fault)),
        }
        at += 1;
    }
    // Compiled code always leaves exactly one value.
    Ok(stack.pop().unwrap_or(Int(0)))
}

#[cold]
fn locate(expr: &Inner, at: usize, fault: Fault) -> ExprError {
    const FITTING: &str = "a result that fits 128-bit integers";
    let (what, expected, help) = match fault {
        Fault::Unknown => {
            let slot = match expr.code.get(at) {
                Some(PostfixOp::Name(slot)) => *slot,
                _ => usize::MAX,
            };
            let name = expr.names.get(slot).map_or("", |n| &n.name);
            (
                format!("unknown name `{name}`"),
                "a name with a value here",
                None,
            )
        }
        Fault::Overflow => ("integer overflow".into(), FITTING, None),
        Fault::DivisionByZero => ("division by zero".into(), "a divisor other than 0", None),
        Fault::FloatCeilDiv => (
            "`ceil_div` of a float".into(),
            "integers",
            Some("for floats write `ceil(a / b)`".into()),
        ),
        Fault::NotWhole(v) => (format!("{v:e} has no integer value"), FITTING, None),
    };
    ExprError {
        span: expr.spans.get(at).cloned().unwrap_or_default(),
        what,
        expected: expected.into(),
        help,
    }
}

fn negate(value: Number) -> Result<Number, Fault> {
    match value {
        Int(v) => v.checked_neg().map(Int).ok_or(Fault::Overflow),
        Float(v) => Ok(Float(-v)),
    }
}

#[inline]
fn binary(op: Binary, a: Number, b: Number) -> Result<Number, Fault> {
    match (a, b) {
        (Int(a), Int(b)) => integers(op, a, b),
        _ if op == Binary::CeilDiv => Err(Fault::FloatCeilDiv),
        _ => Ok(floats(op, a.as_f64(), b.as_f64())),
    }
}

fn integers(op: Binary, a: i128, b: i128) -> Result<Number, Fault> {
    let divided = |q: Option<i128>| match b {
        0 => Err(Fault::DivisionByZero),
        _ => q.ok_or(Fault::Overflow),
    };
    let value = match op {
        Binary::Add => a.checked_add(b).ok_or(Fault::Overflow)?,
        Binary::Sub => a.checked_sub(b).ok_or(Fault::Overflow)?,
        // Of 64-bit numbers, nearly all there are, these need no check and are much faster.
        Binary::Mul | Binary::Div | Binary::Rem => match (i64::try_from(a), i64::try_from(b), op) {
            (Ok(x), Ok(y), Binary::Mul) => i128::from(x) * i128::from(y),
            (Ok(x), Ok(y), Binary::Div) if y > 0 => i128::from(x / y),
            (Ok(x), Ok(y), Binary::Rem) if y > 0 => i128::from(x % y),
            (_, _, Binary::Mul) => a.checked_mul(b).ok_or(Fault::Overflow)?,
            (_, _, Binary::Div) => divided(a.checked_div(b))?,
            _ => divided(a.checked_rem(b))?,
        },
        Binary::CeilDiv => {
            let q = divided(a.checked_div(b))?;
            let rest = a - q * b;
            q + i128::from(rest != 0 && (rest < 0) == (b < 0))
        }
        Binary::Pow => return power(a, b),
        Binary::Min => a.min(b),
        Binary::Max => a.max(b),
        Binary::Less => i128::from(a < b),
        Binary::LessEq => i128::from(a <= b),
        Binary::Greater => i128::from(a > b),
        Binary::GreaterEq => i128::from(a >= b),
        Binary::Eq => i128::from(a == b),
        Binary::NotEq => i128::from(a != b),
    };
    Ok(Int(value))
}

fn power(a: i128, b: i128) -> Result<Number, Fault> {
    match (a, u32::try_from(b)) {
        (_, Ok(b)) => a.checked_pow(b).map(Int).ok_or(Fault::Overflow),
        _ if b < 0 => Ok(Float(portable::pow(a as f64, b as f64))),
        (0 | 1, _) => Ok(Int(a)),
        (-1, _) => Ok(Int(if b % 2 == 0 { 1 } else { -1 })),
        _ => Err(Fault::Overflow),
    }
}

fn floats(op: Binary, a: f64, b: f64) -> Number {
    match op {
        Binary::Add => Float(a + b),
        Binary::Sub => Float(a - b),
        Binary::Mul => Float(a * b),
        // `ceil_div` of floats is refused before it gets here.
        Binary::Div | Binary::CeilDiv => Float(a / b),
        Binary::Rem => Float(a % b),
        Binary::Pow => Float(portable::pow(a, b)),
        // Written out: which zero the library's functions give depends on the machine.
        Binary::Min => Float(if a < b || b.is_nan() { a } else { b }),
        Binary::Max => Float(if a > b || b.is_nan() { a } else { b }),
        Binary::Less => Number::from(a < b),
        Binary::LessEq => Number::from(a <= b),
        Binary::Greater => Number::from(a > b),
        Binary::GreaterEq => Number::from(a >= b),
        Binary::Eq => Number::from(a == b),
        Binary::NotEq => Number::from(a != b),
    }
}

fn unary(op: Unary, a: Number) -> Result<Number, Fault> {
    let x = a.as_f64();
    Ok(match (op, a) {
        (Unary::Abs, Int(v)) => Int(v.checked_abs().ok_or(Fault::Overflow)?),
        (Unary::Abs, Float(v)) => Float(v.abs()),
        (Unary::Floor | Unary::Ceil, Int(_)) => a,
        (Unary::Floor, Float(v)) => whole(v.floor())?,
        (Unary::Ceil, Float(v)) => whole(v.ceil())?,
        (Unary::Sqrt, _) => Float(x.sqrt()),
        (Unary::Exp, _) => Float(portable::exp(x)),
        (Unary::Log, _) => Float(portable::log(x)),
        (Unary::Log2, _) => Float(portable::log2(x)),
        (Unary::Sin, _) => Float(portable::sin(x)),
        (Unary::Cos, _) => Float(portable::cos(x)),
    })
}

fn whole(v: f64) -> Result<Number, Fault> {
    Float(v).as_integral().map(Int).ok_or(Fault::NotWhole(v))
}

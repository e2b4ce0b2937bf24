//! Expressions as the device evaluates them: as in `device/expression.h`.
use super::HostReason;
use kerf_workload::expr::{Binary, Expr, PostfixOp, Unary};
use kerf_workload::generate::recipe::NameValue;
use kerf_workload::number::Number;

/// Values that an evaluation holds at a time, at most.
const STACK: usize = 32;
/// Bytes of an operation.
pub(super) const OPERATION_BYTES: usize = 24;

/// Operations by their number in device code.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
enum Code {
    PushInteger,
    PushFloat,
    Index,
    Random,
    Negate,
    Not,
    Truth,
    Jump,
    Unless,
    And,
    Or,
    Abs,
    Sqrt,
    Floor,
    Ceil,
    Exp,
    Log,
    Log2,
    Sin,
    Cos,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    CeilDivide,
    Power,
    Min,
    Max,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

/// The operations of an expression, or why the host has to evaluate it.
pub(super) fn operations(expr: &Expr, names: &[NameValue]) -> Result<Vec<u8>, HostReason> {
    let list = expr.operations();
    if depth(list) > STACK {
        return Err(HostReason::DeepExpression);
    }
    let mut bytes = Vec::with_capacity(list.len() * OPERATION_BYTES);
    for op in list {
        let (code, target, value) = operation(*op, names)?;
        bytes.extend((code as u32).to_le_bytes());
        bytes.extend(target.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    Ok(bytes)
}

/// Values on the stack, at most. Both branches of a `select` leave one value, and so do both ways through `and` and `or`:
/// one walk over all operations has the depth at each, if what a jump skips is taken to leave nothing.
fn depth(list: &[PostfixOp]) -> usize {
    let (mut depth, mut most) = (0usize, 0);
    for op in list {
        match op {
            PostfixOp::Push(_) | PostfixOp::Name(_) => depth += 1,
            PostfixOp::Binary(_)
            | PostfixOp::Unless(_)
            | PostfixOp::And(_)
            | PostfixOp::Or(_)
            | PostfixOp::Jump(_) => {
                depth = depth.saturating_sub(1);
            }
            PostfixOp::Neg | PostfixOp::Not | PostfixOp::Truth | PostfixOp::Unary(_) => {}
        }
        most = most.max(depth);
    }
    most
}

/// Code, target and value of an operation.
fn operation(op: PostfixOp, names: &[NameValue]) -> Result<(Code, u32, u128), HostReason> {
    let plain = |code| Ok((code, 0, 0));
    // Expressions are at most 65,536 bytes long, so that targets fit.
    let jump = |code, target: usize| Ok((code, target as u32, 0));
    match op {
        PostfixOp::Push(value) => Ok(push(value)),
        PostfixOp::Name(slot) => match names.get(slot) {
            None => Err(HostReason::UnknownName),
            Some(NameValue::Index) => plain(Code::Index),
            Some(NameValue::Random) => jump(Code::Random, slot),
            Some(NameValue::Size(value)) => Ok(push(*value)),
        },
        PostfixOp::Neg => plain(Code::Negate),
        PostfixOp::Not => plain(Code::Not),
        PostfixOp::Truth => plain(Code::Truth),
        PostfixOp::Binary(op) => plain(binary(op)),
        PostfixOp::Unary(op) => plain(unary(op)),
        PostfixOp::Jump(target) => jump(Code::Jump, target),
        PostfixOp::Unless(target) => jump(Code::Unless, target),
        PostfixOp::And(target) => jump(Code::And, target),
        PostfixOp::Or(target) => jump(Code::Or, target),
    }
}

fn push(value: Number) -> (Code, u32, u128) {
    match value {
        Number::Int(v) => (Code::PushInteger, 0, v as u128),
        Number::Float(v) => (Code::PushFloat, 0, v.to_bits().into()),
    }
}

fn binary(op: Binary) -> Code {
    match op {
        Binary::Add => Code::Add,
        Binary::Sub => Code::Subtract,
        Binary::Mul => Code::Multiply,
        Binary::Div => Code::Divide,
        Binary::Rem => Code::Remainder,
        Binary::CeilDiv => Code::CeilDivide,
        Binary::Pow => Code::Power,
        Binary::Min => Code::Min,
        Binary::Max => Code::Max,
        Binary::Less => Code::Less,
        Binary::LessEq => Code::LessEqual,
        Binary::Greater => Code::Greater,
        Binary::GreaterEq => Code::GreaterEqual,
        Binary::Eq => Code::Equal,
        Binary::NotEq => Code::NotEqual,
    }
}

fn unary(op: Unary) -> Code {
    match op {
        Unary::Abs => Code::Abs,
        Unary::Sqrt => Code::Sqrt,
        Unary::Floor => Code::Floor,
        Unary::Ceil => Code::Ceil,
        Unary::Exp => Code::Exp,
        Unary::Log => Code::Log,
        Unary::Log2 => Code::Log2,
        Unary::Sin => Code::Sin,
        Unary::Cos => Code::Cos,
    }
}

//! Pure floating-point operations: those whose result depends on their operands alone, so that algebra may rewrite
//! them.
use crate::sites::float_shape;
use kerf_llvm::{Opcode, Value};
use kerf_num::Format;

/// A pure operation of one scalar format.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PureOperation {
    /// x + y
    Add,
    /// x - y
    Sub,
    /// x * y
    Mul,
    /// x / y
    Div,
    /// -x
    Neg,
    /// x * y + z, rounded once
    Fma,
    /// |x|
    Abs,
    /// Square root.
    Sqrt,
    /// 1 / sqrt(x)
    Rsqrt,
    /// Cube root.
    Cbrt,
    /// 1 / cbrt(x)
    Rcbrt,
    /// e^x
    Exp,
    /// 2^x
    Exp2,
    /// 10^x
    Exp10,
    /// Natural logarithm.
    Log,
    /// Logarithm to base 2.
    Log2,
    /// Logarithm to base 10.
    Log10,
    /// x^y
    Pow,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// sqrt(x*x + y*y) without overflow between.
    Hypot,
    /// 1 / hypot(x, y)
    Rhypot,
}

use PureOperation::*;

/// Operations with their names, and how many operands they take. Functions have libdevice's name in f64.
const NAMES: [(PureOperation, &str, usize); 23] = [
    (Add, "add", 2),
    (Sub, "sub", 2),
    (Mul, "mul", 2),
    (Div, "div", 2),
    (Neg, "neg", 1),
    (Fma, "fma", 3),
    (Abs, "fabs", 1),
    (Sqrt, "sqrt", 1),
    (Rsqrt, "rsqrt", 1),
    (Cbrt, "cbrt", 1),
    (Rcbrt, "rcbrt", 1),
    (Exp, "exp", 1),
    (Exp2, "exp2", 1),
    (Exp10, "exp10", 1),
    (Log, "log", 1),
    (Log2, "log2", 1),
    (Log10, "log10", 1),
    (Pow, "pow", 2),
    (Sin, "sin", 1),
    (Cos, "cos", 1),
    (Tan, "tan", 1),
    (Hypot, "hypot", 2),
    (Rhypot, "rhypot", 2),
];

impl PureOperation {
    /// All of them.
    pub fn all() -> impl Iterator<Item = PureOperation> {
        NAMES.iter().map(|n| n.0)
    }
    /// Its name in plans, and in device profiles.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }
    /// How many operands it takes.
    pub fn arity(self) -> usize {
        NAMES[self as usize].2
    }
    /// The operation of a name.
    pub fn named(name: &str) -> Option<PureOperation> {
        NAMES.iter().find(|n| n.1 == name).map(|n| n.0)
    }
    /// Is it a function of libdevice, rather than an instruction?
    pub fn is_function(self) -> bool {
        !matches!(self, Add | Sub | Mul | Div | Neg | Fma)
    }
    /// libdevice's name of a function, in f64 or f32.
    pub fn library_name(self, format: Format) -> String {
        let end = if format == Format::F32 { "f" } else { "" };
        format!("__nv_{}{end}", self.name())
    }
}

/// What an operation is applied to.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Argument {
    /// An operand of the instruction, by its number.
    Operand(u32),
    /// A number that the instruction stands for by itself: the 1 of a reciprocal, the exponent of `powi`.
    Constant(f64),
}

/// A pure operation as an instruction of a prepared module has it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecognisedOperation {
    /// The operation.
    pub operation: PureOperation,
    /// f64 or f32.
    pub format: Format,
    /// What it is applied to.
    pub arguments: Vec<Argument>,
}

fn numbered(operation: PureOperation) -> (PureOperation, Vec<Argument>) {
    let all = (0..operation.arity() as u32).map(Argument::Operand);
    (operation, all.collect())
}

fn library_call(i: Value, name: &str) -> Option<(PureOperation, Vec<Argument>)> {
    let reciprocal = || vec![Argument::Constant(1.0), Argument::Operand(0)];
    Some(match name {
        "fsqrt_rn" | "dsqrt_rn" => numbered(Sqrt),
        "frcp_rn" | "drcp_rn" => (Div, reciprocal()),
        "fdiv_rn" | "ddiv_rn" => numbered(Div),
        "fmul_rn" | "dmul_rn" | "fadd_rn" | "dadd_rn" | "fmaf_rn" | "fma_rn" => return None,
        "powi" | "powif" => {
            // An integer's bits, as LLVM keeps them, of 32.
            let n = i.operand(1).const_int()? as u32 as i32;
            // Those that become products; `powi` of others is faster than `pow`.
            let short = matches!(n, 1..=6 | 8 | 12 | -3..=-1 | -6);
            let n = short.then(|| Argument::Constant(f64::from(n)))?;
            (Pow, vec![Argument::Operand(0), n])
        }
        _ => {
            let base = match i.ty().format()? {
                Format::F32 => name.strip_suffix('f')?,
                _ => name,
            };
            numbered(PureOperation::named(base).filter(|p| p.is_function())?)
        }
    })
}

fn call(i: Value) -> Option<(PureOperation, Vec<Argument>)> {
    let name = i.callee_name()?;
    if let Some(n) = name.strip_prefix("__nv_") {
        return library_call(i, n);
    }
    let n = name.strip_prefix("llvm.")?;
    Some(match n.split('.').next()? {
        "fma" => numbered(Fma),
        "sqrt" => numbered(Sqrt),
        "fabs" => numbered(Abs),
        _ => match n.strip_prefix("nvvm.")? {
            "sqrt.rn.d" | "sqrt.rn.f" => numbered(Sqrt),
            "div.rn.d" | "div.rn.f" => numbered(Div),
            "rcp.rn.d" | "rcp.rn.f" => (Div, vec![Argument::Constant(1.0), Argument::Operand(0)]),
            _ => return None,
        },
    })
}

/// The pure operation on scalars of f64 or f32 that an instruction is; none for everything else. Additions,
/// multiplications and multiply-adds by functions that fix their rounding (`__dadd_rn`) are left as their author
/// wrote them.
pub fn recognise(i: Value) -> Option<RecognisedOperation> {
    let (format, _) = float_shape(i.ty()).filter(|_| !i.ty().is_vector())?;
    if !matches!(format, Format::F64 | Format::F32) {
        return None;
    }
    let (operation, arguments) = match i.opcode()? {
        Opcode::LLVMFAdd => numbered(Add),
        Opcode::LLVMFSub => numbered(Sub),
        Opcode::LLVMFMul => numbered(Mul),
        Opcode::LLVMFDiv => numbered(Div),
        Opcode::LLVMFNeg => numbered(Neg),
        Opcode::LLVMCall => call(i)?,
        _ => return None,
    };
    Some(RecognisedOperation {
        operation,
        format,
        arguments,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_the_enum_and_read_back() {
        for (k, p) in PureOperation::all().enumerate() {
            assert_eq!(p as usize, k, "{p:?}");
            assert_eq!(PureOperation::named(p.name()), Some(p));
        }
        assert_eq!(Rsqrt.library_name(Format::F32), "__nv_rsqrtf");
        assert_eq!(Exp.library_name(Format::F64), "__nv_exp");
        assert!(!Fma.is_function() && Abs.is_function());
    }
}

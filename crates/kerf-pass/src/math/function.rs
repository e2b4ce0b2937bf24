//! Which math function an instruction of a prepared module computes, and of what.
use kerf_ir::sites::float_shape;
use kerf_llvm::{Opcode, Value};
use kerf_num::Format;

/// A function that has variants.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    Sin,
    Cos,
    Tan,
    Tanh,
    Exp,
    Exp2,
    Exp10,
    Log,
    Log2,
    Log10,
    Sqrt,
    Rsqrt,
    Reciprocal,
    Divide,
    Pow,
    Hypot,
    SinCos,
}

use Function::*;

/// Functions by the name that libdevice gives them in f64.
const NAMES: [(&str, Function); 17] = [
    ("sin", Sin),
    ("cos", Cos),
    ("tan", Tan),
    ("tanh", Tanh),
    ("exp", Exp),
    ("exp2", Exp2),
    ("exp10", Exp10),
    ("log", Log),
    ("log2", Log2),
    ("log10", Log10),
    ("sqrt", Sqrt),
    ("rsqrt", Rsqrt),
    ("rcp", Reciprocal),
    ("div", Divide),
    ("pow", Pow),
    ("hypot", Hypot),
    ("sincos", SinCos),
];

impl Function {
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|n| n.1 == self).map_or("", |n| n.0)
    }

    pub(super) fn named(name: &str) -> Option<Function> {
        NAMES.iter().find(|n| n.0 == name).map(|n| n.1)
    }
}

/// A function of libdevice, named without the prefix.
fn library(name: &str) -> Option<Function> {
    match name {
        "fdiv_rn" | "ddiv_rn" | "fast_fdividef" => return Some(Divide),
        "frcp_rn" | "drcp_rn" => return Some(Reciprocal),
        "fsqrt_rn" | "dsqrt_rn" => return Some(Sqrt),
        "frsqrt_rn" => return Some(Rsqrt),
        "div" | "rcp" | "divf" | "rcpf" => return None,
        _ => {}
    }
    let base = name.strip_prefix("fast_").unwrap_or(name);
    Function::named(base).or_else(|| Function::named(base.strip_suffix('f')?))
}

fn call(name: &str) -> Option<Function> {
    if let Some(n) = name.strip_prefix("__nv_") {
        return library(n);
    }
    match name.strip_prefix("llvm.nvvm.") {
        Some("div.rn.f" | "div.rn.d" | "div.full") => Some(Divide),
        Some("rcp.rn.f" | "rcp.rn.d") => Some(Reciprocal),
        Some("sqrt.rn.f" | "sqrt.rn.d") => Some(Sqrt),
        Some(_) => None,
        None => name.starts_with("llvm.sqrt.").then_some(Sqrt),
    }
}

/// What an instruction computes in f32 or f64, and its arguments; none where that has no variants.
pub(super) fn computed_by(i: Value) -> Option<(Function, Vec<Value>)> {
    let (function, args) = match i.opcode()? {
        Opcode::LLVMFDiv => (Divide, i.operands()),
        Opcode::LLVMCall => (call(&i.callee_name()?)?, i.args()),
        _ => return None,
    };
    let (format, _) = float_shape(args.first()?.ty())?;
    if !matches!(format, Format::F32 | Format::F64) {
        return None;
    }
    let one = |v: Value| v.const_real() == Some(1.0);
    Some(match function {
        Divide if one(args[0]) => (Reciprocal, vec![args[1]]),
        f => (f, args),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, function) in [
            ("__nv_expf", Some(Exp)),
            ("__nv_exp", Some(Exp)),
            ("__nv_exp2f", Some(Exp2)),
            ("__nv_fast_log10f", Some(Log10)),
            ("__nv_fast_fdividef", Some(Divide)),
            ("__nv_sincosf", Some(SinCos)),
            ("__nv_sincospif", None),
            ("__nv_erff", None),
            ("__nv_expm1f", None),
            ("llvm.sqrt.f32", Some(Sqrt)),
            ("llvm.sqrt.v4f32", Some(Sqrt)),
            ("llvm.nvvm.rcp.rn.d", Some(Reciprocal)),
            ("llvm.nvvm.rcp.rz.d", None),
            ("llvm.nvvm.ex2.approx.f32", None),
        ] {
            assert_eq!(call(name), function, "{name}");
        }
    }
}

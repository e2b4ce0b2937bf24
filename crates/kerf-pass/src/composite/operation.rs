//! What a site's instruction is on double words, and which sites have no such thing.
use crate::format_refusal::FormatRefusal;
use crate::site_format::SiteFormat;
use kerf_ir::sites::{float_shape, math_name};
use kerf_llvm::{Opcode, Value};
use kerf_num::Format;

/// What is done with double words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// A function of the library on all operands.
    Call(&'static str),
    /// One divided by the operand.
    Reciprocal,
    Negate,
    Select,
    Phi,
    Compare,
    /// From another floating-point format.
    Convert,
    FromInteger {
        signed: bool,
    },
    ToInteger {
        signed: bool,
    },
}

/// The library's function for a math call.
fn function(callee: &str) -> Result<Operation, FormatRefusal> {
    let short = math_name(callee).unwrap_or_default();
    let name = match short.as_str() {
        "dadd_rn" | "fadd_rn" | "add.rn.d" | "add.rn.f" => "add",
        "dsub_rn" | "fsub_rn" => "sub",
        "dmul_rn" | "fmul_rn" | "mul.rn.d" | "mul.rn.f" => "mul",
        "ddiv_rn" | "fdiv_rn" | "div.rn.d" | "div.rn.f" => "div",
        "drcp_rn" | "frcp_rn" | "rcp.rn.d" | "rcp.rn.f" => return Ok(Operation::Reciprocal),
        "fma" | "fmuladd" | "fma_rn" | "fmaf_rn" | "fma.rn.d" | "fma.rn.f" => "fma",
        "sqrt" | "dsqrt_rn" | "fsqrt_rn" | "sqrt.rn.d" | "sqrt.rn.f" => "sqrt",
        "rsqrt" | "frsqrt_rn" => "rsqrt",
        "fabs" => "abs",
        "fmin" | "minnum" | "minimumnum" => "min",
        "fmax" | "maxnum" | "maximumnum" => "max",
        "trunc" => "trunc",
        "exp" => "exp",
        "exp2" => "exp2",
        "exp10" => "exp10",
        "log" => "log",
        "log2" => "log2",
        "log10" => "log10",
        "sin" => "sin",
        "cos" => "cos",
        "tan" => "tan",
        "pow" => "pow",
        _ => return Err(FormatRefusal::NoPairAlgorithm(callee.to_owned())),
    };
    Ok(Operation::Call(name))
}

/// What an instruction becomes, or why nothing.
pub(super) fn classify(i: Value) -> Result<Operation, FormatRefusal> {
    use Opcode::*;
    Ok(match i.opcode() {
        Some(LLVMFAdd) => Operation::Call("add"),
        Some(LLVMFSub) => Operation::Call("sub"),
        Some(LLVMFMul) => Operation::Call("mul"),
        Some(LLVMFDiv) => Operation::Call("div"),
        Some(LLVMFNeg) => Operation::Negate,
        Some(LLVMFCmp) => Operation::Compare,
        Some(LLVMSelect) => Operation::Select,
        Some(LLVMPHI) => Operation::Phi,
        Some(LLVMFPExt | LLVMFPTrunc) => Operation::Convert,
        Some(LLVMSIToFP) => Operation::FromInteger { signed: true },
        Some(LLVMUIToFP) => Operation::FromInteger { signed: false },
        Some(LLVMFPToSI) => Operation::ToInteger { signed: true },
        Some(LLVMFPToUI) => Operation::ToInteger { signed: false },
        Some(LLVMFRem) => return Err(FormatRefusal::NoPairAlgorithm("frem".into())),
        Some(LLVMLoad | LLVMStore | LLVMAtomicRMW) => return Err(FormatRefusal::Memory),
        Some(LLVMCall) => match i.callee_name() {
            Some(n) => function(&n)?,
            None => return Err(FormatRefusal::UnknownCallee),
        },
        _ => return Err(FormatRefusal::NoComputation),
    })
}

/// Whether an instruction can be computed in a pair format; the reason if not.
pub fn check(i: Value, to: SiteFormat) -> Result<(), FormatRefusal> {
    let operation = classify(i)?;
    let scalar_float = |v: Value| matches!(float_shape(v.ty()), Some((_, 1)) if v.ty().is_float());
    let floats: Vec<Value> = match operation {
        Operation::Compare | Operation::ToInteger { .. } => i.operands(),
        Operation::Select | Operation::Phi | Operation::FromInteger { .. } => vec![i],
        Operation::Call(_) | Operation::Reciprocal if i.opcode() == Some(Opcode::LLVMCall) => {
            let mut all = i.args();
            all.push(i);
            all
        }
        _ => vec![i, i.operand(0)],
    };
    if let Some(v) = floats.iter().find(|v| v.ty().is_vector()) {
        return Err(FormatRefusal::Vector {
            vector: v.ty().print(),
        });
    }
    if !floats.iter().all(|v| scalar_float(*v)) {
        return Err(FormatRefusal::NotNumbers);
    }
    let own = match operation {
        Operation::Compare | Operation::ToInteger { .. } => i.operand(0).ty(),
        _ => i.ty(),
    };
    if let Some(own @ (Format::F16 | Format::Bf16)) = own.format() {
        return Err(FormatRefusal::NoPairOf { own });
    }
    let bits = match operation {
        Operation::FromInteger { .. } => i.operand(0).ty().int_bits(),
        Operation::ToInteger { .. } => i.ty().int_bits(),
        _ => 0,
    };
    if bits > 64 {
        return Err(FormatRefusal::WideInteger { bits });
    }
    let published = [
        "add", "sub", "mul", "div", "fma", "exp", "abs", "min", "max",
    ];
    match operation {
        Operation::Call(function) if to.is_cmp() && !published.contains(&function) => {
            Err(FormatRefusal::NoFormula { function })
        }
        _ => Ok(()),
    }
}

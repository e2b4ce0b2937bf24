//! What a site's instruction is in another machine format, narrower or wider, and which sites have no such thing.
use super::functions;
use crate::carry;
use crate::engine::known;
use crate::format_refusal::FormatRefusal;
use crate::format_types::format_of;
use crate::site_format::SiteFormat;
use kerf_ir::sites::classify;
use kerf_llvm::{Opcode, Value};
use kerf_num::Format;

/// What is done in the format.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operation {
    /// The same instruction on two operands.
    Binary(Opcode),
    /// The remainder, which is exact in every format.
    Remainder,
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
    Load,
    Store,
    /// One divided by the operand.
    Reciprocal,
    /// A function of LLVM that is overloaded on the format, rounded once.
    Intrinsic(&'static str),
    /// A function of LLVM on f32 whose result, rounded, is the one in any narrower format.
    Wide(&'static str),
    /// A function of LLVM with a number first, and other things: a class, a type of integer.
    OfNumber(&'static str),
    /// A function of libdevice, by its name in f32 without the prefix.
    Library(String),
    /// A function of NVVM in f32.
    Nvvm(String),
    /// A shuffle of 32 bits, which moves the bits of a smaller number: the function of NVVM.
    Lane(String),
    /// Moves values without looking at them.
    Move,
}

/// Functions of LLVM, by the part of the name that tells them apart.
fn intrinsic(name: &str) -> Option<Operation> {
    Some(match name {
        "fma" | "fmuladd" => Operation::Intrinsic("llvm.fma"),
        "fabs" => Operation::Intrinsic("llvm.fabs"),
        "copysign" => Operation::Intrinsic("llvm.copysign"),
        "minnum" => Operation::Intrinsic("llvm.minnum"),
        "maxnum" => Operation::Intrinsic("llvm.maxnum"),
        "minimumnum" => Operation::Intrinsic("llvm.minimumnum"),
        "maximumnum" => Operation::Intrinsic("llvm.maximumnum"),
        "minimum" => Operation::Intrinsic("llvm.minimum"),
        "maximum" => Operation::Intrinsic("llvm.maximum"),
        "sqrt" => Operation::Wide("llvm.sqrt"),
        "floor" => Operation::Wide("llvm.floor"),
        "ceil" => Operation::Wide("llvm.ceil"),
        "trunc" => Operation::Wide("llvm.trunc"),
        "rint" => Operation::Wide("llvm.rint"),
        "nearbyint" => Operation::Wide("llvm.nearbyint"),
        "round" => Operation::Wide("llvm.round"),
        "roundeven" => Operation::Wide("llvm.roundeven"),
        "is" => Operation::OfNumber("llvm.is.fpclass"),
        "fptosi" => Operation::OfNumber("llvm.fptosi.sat"),
        "fptoui" => Operation::OfNumber("llvm.fptoui.sat"),
        _ => return None,
    })
}

/// A function of NVVM: operation, rounding, format.
fn nvvm(name: &str, to: SiteFormat) -> Result<Operation, FormatRefusal> {
    let none = || FormatRefusal::NoVersion {
        function: format!("llvm.nvvm.{name}"),
        format: to,
    };
    if let Some(kind) = name
        .strip_suffix(".f32")
        .filter(|n| n.starts_with("shfl.sync."))
    {
        return Ok(Operation::Lane(format!("{kind}.i32")));
    }
    let parts: Vec<&str> = name.split('.').collect();
    let (op, last) = (parts[0], parts[parts.len() - 1]);
    if parts.contains(&"ftz") || !matches!(last, "d" | "f") {
        return Err(none());
    }
    match (op, &parts[1..parts.len() - 1]) {
        ("add", ["rn"]) => Ok(Operation::Binary(Opcode::LLVMFAdd)),
        ("sub", ["rn"]) => Ok(Operation::Binary(Opcode::LLVMFSub)),
        ("mul", ["rn"]) => Ok(Operation::Binary(Opcode::LLVMFMul)),
        ("div", ["rn"]) => Ok(Operation::Binary(Opcode::LLVMFDiv)),
        ("rcp", ["rn"]) => Ok(Operation::Reciprocal),
        ("fma", ["rn"]) => Ok(Operation::Intrinsic("llvm.fma")),
        ("sqrt", ["rn"]) => Ok(Operation::Wide("llvm.sqrt")),
        ("add" | "sub" | "mul" | "div" | "rcp" | "fma" | "sqrt", ["rz" | "rm" | "rp"]) => {
            match to {
                SiteFormat::F32 => Ok(Operation::Nvvm(format!("{}f", &name[..name.len() - 1]))),
                _ => Err(FormatRefusal::DirectedRounding(to)),
            }
        }
        ("fabs", []) => Ok(Operation::Intrinsic("llvm.fabs")),
        ("fmin", []) => Ok(Operation::Intrinsic("llvm.minnum")),
        ("fmax", []) => Ok(Operation::Intrinsic("llvm.maxnum")),
        ("floor", []) => Ok(Operation::Wide("llvm.floor")),
        ("ceil", []) => Ok(Operation::Wide("llvm.ceil")),
        ("trunc", []) => Ok(Operation::Wide("llvm.trunc")),
        ("round", []) => Ok(Operation::Wide("llvm.roundeven")),
        ("saturate", []) => Ok(Operation::Nvvm("saturate.f".into())),
        // An approximation in f32 is computed there and rounded.
        (_, ["approx"]) if last == "f" => Ok(Operation::Nvvm(name.to_owned())),
        _ => Err(none()),
    }
}

/// A function of libdevice, named without the prefix.
fn library(name: &str, to: SiteFormat) -> Result<Operation, FormatRefusal> {
    let none = || FormatRefusal::NoVersion {
        function: format!("__nv_{name}"),
        format: SiteFormat::F32,
    };
    let small = to != SiteFormat::F32;
    match functions::mode(name) {
        Some(("int2double" | "int2float" | "ll2double" | "ll2float", "rn")) => {
            return Ok(Operation::FromInteger { signed: true });
        }
        Some(("uint2double" | "uint2float" | "ull2double" | "ull2float", "rn")) => {
            return Ok(Operation::FromInteger { signed: false });
        }
        Some(("double2float", "rn")) => return Ok(Operation::Convert),
        Some((base, mode))
            if small
                && mode != "rn"
                && !base.starts_with("double2")
                && !base.starts_with("float2") =>
        {
            return Err(FormatRefusal::DirectedRounding(to));
        }
        _ => {}
    }
    let single = functions::single(name).ok_or_else(none)?;
    Ok(match functions::operation(&single) {
        // One operation needs no way round by f32, and fma would be rounded twice on it.
        Some(op) if small => match intrinsic(op.trim_start_matches("llvm.")) {
            Some(o) => o,
            None => Operation::Library(single),
        },
        Some("llvm.fma") => Operation::Intrinsic("llvm.fma"),
        _ => Operation::Library(single),
    })
}

fn call(i: Value, to: SiteFormat) -> Result<Operation, FormatRefusal> {
    let Some(name) = i.callee_name() else {
        return Err(match i.callee().is_inline_asm() {
            true => FormatRefusal::InlinePtx,
            false => FormatRefusal::UnknownCallee,
        });
    };
    if let Some(n) = name.strip_prefix("__nv_") {
        return library(n, to);
    }
    if let Some(n) = name.strip_prefix("llvm.nvvm.") {
        return nvvm(n, to);
    }
    if let Some(n) = name.strip_prefix("llvm.") {
        let short = n.split('.').next().unwrap_or_default();
        return intrinsic(short).ok_or(FormatRefusal::NoVersion {
            function: name,
            format: to,
        });
    }
    Err(FormatRefusal::OwnFunction(kerf_llvm::demangle(&name)))
}

/// What an instruction becomes in a format, or why nothing.
pub(super) fn in_format(i: Value, to: SiteFormat) -> Result<Operation, FormatRefusal> {
    use Opcode::*;
    if carry::moved(i).is_some() {
        return Ok(Operation::Move);
    }
    Ok(match i.opcode() {
        Some(op @ (LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv)) => Operation::Binary(op),
        Some(LLVMFRem) => Operation::Remainder,
        Some(LLVMFNeg) => Operation::Negate,
        Some(LLVMFCmp) => Operation::Compare,
        Some(LLVMSelect) => Operation::Select,
        Some(LLVMPHI) => Operation::Phi,
        Some(LLVMFPExt | LLVMFPTrunc) => Operation::Convert,
        Some(LLVMSIToFP) => Operation::FromInteger { signed: true },
        Some(LLVMUIToFP) => Operation::FromInteger { signed: false },
        Some(LLVMFPToSI) => Operation::ToInteger { signed: true },
        Some(LLVMFPToUI) => Operation::ToInteger { signed: false },
        Some(LLVMLoad) => Operation::Load,
        Some(LLVMStore) => Operation::Store,
        Some(LLVMAtomicRMW) => return Err(FormatRefusal::Atomic),
        Some(LLVMCall) => call(i, to)?,
        _ => return Err(FormatRefusal::NoComputation),
    })
}

/// What an instruction of f32 becomes in f64. The
/// operands are exact there, and the result is rounded once, to the wide format.
fn in_wider_format(i: Value, to: SiteFormat) -> Result<Operation, FormatRefusal> {
    let none = || FormatRefusal::NoVersion {
        function: i.callee_name().unwrap_or_else(|| "it".into()),
        format: to,
    };
    match in_format(i, to)? {
        Operation::Load | Operation::Store => Err(FormatRefusal::Memory),
        Operation::Library(single) if to == SiteFormat::F64 => {
            functions::double(&single).ok_or_else(none)?;
            Ok(Operation::Library(single))
        }
        // A function in f32 rounds in f32, and 32 bits of a shuffle hold no f64.
        Operation::OfNumber(_) | Operation::Nvvm(_) | Operation::Lane(_) | Operation::Remainder
            if to == SiteFormat::F64 =>
        {
            Err(none())
        }
        Operation::Lane(_) => Err(none()),
        other => Ok(other),
    }
}

/// What an instruction becomes in a machine format, or why nothing: in narrower ones, and f32 in f64.
fn between_formats(i: Value, to: SiteFormat) -> Result<Operation, FormatRefusal> {
    let Some((_, own, _)) = classify(i) else {
        return Err(FormatRefusal::NoComputation);
    };
    match (own, to) {
        _ if to.word().bytes() < own.bytes() => in_format(i, to),
        (Format::F32, SiteFormat::F64) => in_wider_format(i, to),
        _ => Err(FormatRefusal::NoWider { own }),
    }
}

/// Whether an instruction can be computed in another machine format; the reason if not.
pub fn check(i: Value, to: SiteFormat) -> Result<(), FormatRefusal> {
    let operation = between_formats(i, to)?;
    let strange = |v: &Value| format_of(*v).is_some() && v.is_constant() && !known(*v);
    if i.operands().iter().any(strange) {
        return Err(FormatRefusal::LinkerConstant);
    }
    if matches!(operation, Operation::Load | Operation::Store) && i.is_volatile() {
        return Err(FormatRefusal::Volatile);
    }
    let integer = match operation {
        Operation::FromInteger { .. } => i.operand(0).ty(),
        Operation::ToInteger { .. } => i.ty(),
        _ => return Ok(()),
    };
    let bits = integer.element().int_bits();
    if bits > 64 {
        return Err(FormatRefusal::WideInteger { bits });
    }
    Ok(())
}

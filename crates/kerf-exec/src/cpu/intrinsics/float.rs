//! Floating-point arithmetic: IEEE operations in every rounding mode, min and max, subnormal flushing.
//!
//! Rounding to nearest is the IR's own; directed modes of f32, and `fma` of the small formats, which no backend rounds
//! once, are in [`directed`](super::directed), directed modes of f64 are functions of the runtime.
use super::calls::pure_runtime;
use crate::cpu::flush::flush;
use crate::cpu::{approx, sfu};
use kerf_llvm::{Builder, Module, Opcode, RealPred, Type, Value};
use kerf_num::Format;

fn shape(t: Type) -> (Format, u32) {
    (t.element().format().unwrap_or(Format::F64), t.lanes())
}

/// Applies a scalar function to each lane.
fn per_lane(b: &Builder, ty: Type, args: &[Value], f: &dyn Fn(&[Value]) -> Value) -> Value {
    if !ty.is_vector() {
        return f(args);
    }
    let mut out = ty.poison();
    for l in 0..ty.lanes() {
        let a: Vec<Value> = args
            .iter()
            .map(|v| {
                if v.ty().is_vector() {
                    b.lane(*v, l)
                } else {
                    *v
                }
            })
            .collect();
        out = b.set_lane(out, f(&a), l);
    }
    out
}

/// PTX's min and max: a NaN loses against a number, and -0 is less than +0. Written out, because
/// LLVM 22's x86 lowering of `minimumnum` gives NaN where one operand is known to be a number.
fn extreme(b: &Builder, x: Value, y: Value, least: bool) -> Value {
    let t = x.ty();
    let width = 8 * t.element().format().map_or(8, |f| f.bytes() as u32);
    let bits = if t.is_vector() {
        b.int_ty(width).vector(t.lanes())
    } else {
        b.int_ty(width)
    };
    let first = b.fcmp(
        if least {
            RealPred::LLVMRealOLT
        } else {
            RealPred::LLVMRealOGT
        },
        x,
        y,
    );
    let r = b.select(first, x, y);
    let r = b.select(b.fcmp(RealPred::LLVMRealUNO, y, y), x, r);
    // Equal values have equal bits, but for zeros: the sign bits then decide.
    let (p, q) = (b.bitcast(x, bits), b.bitcast(y, bits));
    let zero = b.bitcast(if least { b.or(p, q) } else { b.and(p, q) }, t);
    b.select(b.fcmp(RealPred::LLVMRealOEQ, x, y), zero, r)
}

/// Rounding mode suffix to the runtime's function suffix.
pub(super) fn directed(mode: &str) -> Option<&'static str> {
    match mode {
        "rz" => Some("rz"),
        "rm" => Some("rm"),
        "rp" => Some("rp"),
        _ => None,
    }
}

/// `add.rn.ftz.f` and its family.
pub(super) fn arithmetic(m: &Module, b: &Builder, i: Value, n: &str) -> Option<Value> {
    let parts: Vec<&str> = n.split('.').collect();
    let (op, mode) = (*parts.first()?, *parts.get(1)?);
    if !matches!(op, "add" | "sub" | "mul" | "div" | "fma" | "sqrt" | "rcp")
        || !matches!(mode, "rn" | "rz" | "rm" | "rp")
    {
        return None;
    }
    if parts.iter().any(|p| matches!(*p, "sat" | "relu" | "oob")) {
        return None;
    }
    let ftz = parts.contains(&"ftz");
    let t = i.ty();
    let mut a = i.args();
    if ftz {
        a = a.iter().map(|v| flush(b, *v)).collect();
    }
    if op == "rcp" {
        a.insert(0, t.real(1.0));
    }
    let r = if mode == "rn" {
        match op {
            "add" => b.bin(Opcode::LLVMFAdd, a[0], a[1]),
            "sub" => b.bin(Opcode::LLVMFSub, a[0], a[1]),
            "mul" => b.bin(Opcode::LLVMFMul, a[0], a[1]),
            "div" | "rcp" => b.bin(Opcode::LLVMFDiv, a[0], a[1]),
            "sqrt" => b.intrinsic("llvm.sqrt", &[t], &[a[0]]),
            _ => match shape(t).0 {
                Format::F16 | Format::Bf16 => {
                    per_lane(b, t, &a, &|x| super::directed::small_fma(b, x))
                }
                _ => b.intrinsic("llvm.fma", &[t], &a),
            },
        }
    } else {
        let f = match t.format()? {
            Format::F64 => "f64",
            Format::F32 => "f32",
            _ => return None,
        };
        let base = if op == "rcp" { "div" } else { op };
        let mode = directed(mode)?;
        let inline = match f {
            "f32" => super::directed::arithmetic(b, base, mode, &a),
            _ => None,
        };
        let call = || pure_runtime(m, &format!("kerf_{base}_{mode}_{f}"), t, &a, b);
        inline.unwrap_or_else(call)
    };
    Some(if ftz { flush(b, r) } else { r })
}

/// `fabs`, `fmin.ftz.nan.f` and other functions whose results are exact; the rest is in
/// [`approx`].
pub(super) fn simple_float(b: &Builder, i: Value, n: &str) -> Option<Value> {
    let t = i.ty();
    let mut a = i.args();
    let ftz = n.contains(".ftz");
    if ftz {
        a = a.iter().map(|v| flush(b, *v)).collect();
    }
    let base = n.split('.').next()?;
    let nan = n.contains(".nan");
    let r = match base {
        "fabs" => b.intrinsic("llvm.fabs", &[t], &[a[0]]),
        "floor" => b.intrinsic("llvm.floor", &[t], &[a[0]]),
        "ceil" => b.intrinsic("llvm.ceil", &[t], &[a[0]]),
        "trunc" => b.intrinsic("llvm.trunc", &[t], &[a[0]]),
        "round" => b.intrinsic("llvm.roundeven", &[t], &[a[0]]),
        "fmin" | "fmax" if !n.contains("xorsign") => {
            let r = extreme(b, a[0], a[1], base == "fmin");
            if nan {
                let bad = b.fcmp(RealPred::LLVMRealUNO, a[0], a[1]);
                b.select(bad, b.bin(Opcode::LLVMFAdd, a[0], a[1]), r)
            } else {
                r
            }
        }
        // NaN saturates to +0.
        "saturate" => extreme(b, extreme(b, a[0], t.zero(), false), t.real(1.0), true),
        "neg" => b.fneg(a[0]),
        _ => return approx::lower(b, i, n),
    };
    Some(if ftz && matches!(base, "fmin" | "fmax" | "saturate") {
        flush(b, r)
    } else {
        r
    })
}

/// Functions of LLVM itself, where x86 lacks them or the backend answers differently.
pub(super) fn generic(b: &Builder, i: Value, n: &str) -> Option<Value> {
    let t = i.ty();
    let a = i.args();
    let base = n.strip_prefix("llvm.")?.split('.').next()?;
    Some(match base {
        "minnum" | "minimumnum" => extreme(b, a[0], a[1], true),
        "maxnum" | "maximumnum" => extreme(b, a[0], a[1], false),
        "fma" | "fmuladd" if matches!(shape(t).0, Format::F16 | Format::Bf16) => {
            per_lane(b, t, &a, &|x| super::directed::small_fma(b, x))
        }
        "tanh" if shape(t).0 != Format::F64 => per_lane(b, t, &a, &|x| {
            let (own, single) = (x[0].ty(), b.float_ty(Format::F32));
            if own == single {
                return sfu::tanh(b, x[0]);
            }
            let wide = b.cast(Opcode::LLVMFPExt, x[0], single);
            b.cast(Opcode::LLVMFPTrunc, sfu::tanh(b, wide), own)
        }),
        "convert" if n.contains("from.fp16") => {
            let h = b.bitcast(a[0], b.float_ty(Format::F16));
            if t.format() == Some(Format::F16) {
                h
            } else {
                b.cast(Opcode::LLVMFPExt, h, t)
            }
        }
        "convert" => {
            let h = b.cast(Opcode::LLVMFPTrunc, a[0], b.float_ty(Format::F16));
            b.bitcast(h, t)
        }
        _ => return None,
    })
}

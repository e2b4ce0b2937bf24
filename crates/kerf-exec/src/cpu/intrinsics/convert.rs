//! Conversions between formats and integers, and between a double and its halves.
use super::calls::pure_runtime;
use super::float::directed;
use crate::cpu::flush::flush;
use kerf_llvm::{Builder, IntPred, Module, Opcode, RealPred, Type, Value};
use kerf_num::Format;

/// The GPU's conversion to an integer: saturating, NaN to the value the H200 gives.
pub(super) fn to_int(b: &Builder, v: Value, ty: Type, signed: bool) -> Value {
    let bits = ty.element().int_bits();
    let fmt = v.ty().element().format().unwrap_or(Format::F64);
    let name = if signed {
        "llvm.fptosi.sat"
    } else {
        "llvm.fptoui.sat"
    };
    let r = b.intrinsic(name, &[ty, v.ty()], &[v]);
    // f64, and any conversion to 64 bits, gives 100..0 for NaN; the saturating intrinsic gives 0.
    if bits >= 32 && (fmt == Format::F64 || bits == 64) {
        let nan = b.fcmp(RealPred::LLVMRealUNO, v, v);
        let top = 1u64 << (bits - 1);
        let top = if ty.is_vector() {
            (0..ty.lanes()).fold(ty.poison(), |acc, l| {
                b.set_lane(acc, ty.element().int(top), l)
            })
        } else {
            ty.int(top)
        };
        return b.select(nan, top, r);
    }
    r
}

/// An integer rounded once to bf16, as sm_90 does it; x86 would go by way of f32 and round twice.
/// None for any other format.
pub(super) fn to_bf16(b: &Builder, i: Value, signed: bool) -> Option<Value> {
    let t = i.ty();
    if t.is_vector() || t.format() != Some(Format::Bf16) {
        return None;
    }
    let (i64t, f64t) = (b.int_ty(64), b.float_ty(Format::F64));
    let x = i.operand(0);
    let (wide, op) = if signed {
        (b.sext_or_trunc(x, i64t), Opcode::LLVMSIToFP)
    } else {
        (b.zext_or_trunc(x, i64t), Opcode::LLVMUIToFP)
    };
    // What does not fit f64 keeps its upper 53 bits, the last one saying whether any is missing.
    let low = b.and(wide, b.i64(0xfff));
    let kept = b.bin(Opcode::LLVMSub, wide, low);
    let some = b.icmp(IntPred::LLVMIntNE, low, b.i64(0));
    let odd = b.or(kept, b.select(some, b.i64(0x800), b.i64(0)));
    let shift = b.i64(53);
    let top = if signed {
        let t = b.bin(Opcode::LLVMAShr, wide, shift);
        // 0 and -1: small.
        b.add(t, b.i64(1))
    } else {
        b.lshr(wide, shift)
    };
    let most = b.i64(u64::from(signed));
    let large = b.icmp(IntPred::LLVMIntUGT, top, most);
    let exact = b.cast(op, b.select(large, odd, wide), f64t);
    Some(b.cast(Opcode::LLVMFPTrunc, exact, t))
}

fn round_to(b: &Builder, v: Value, mode: &str) -> Value {
    let name = match mode {
        "rn" => "llvm.roundeven",
        "rz" => "llvm.trunc",
        "rm" => "llvm.floor",
        _ => "llvm.ceil",
    };
    b.intrinsic(name, &[v.ty()], &[v])
}

/// `d2i.rz`, `f2ull.rn.ftz`, `ll2d.rn`, `d2f.rm` and their family.
pub(super) fn conversion(m: &Module, b: &Builder, i: Value, n: &str) -> Option<Value> {
    let mut parts = n.split('.');
    let (what, mode) = (parts.next()?, parts.next()?);
    let ftz = n.ends_with(".ftz");
    let (from, to) = what.split_once('2')?;
    let mut v = *i.args().first()?;
    let t = i.ty();
    match (from, to) {
        ("d" | "f", "i" | "ui" | "ll" | "ull") => {
            if !matches!(mode, "rn" | "rz" | "rm" | "rp") {
                return None;
            }
            if ftz {
                v = flush(b, v);
            }
            Some(to_int(b, round_to(b, v, mode), t, !to.starts_with('u')))
        }
        ("i" | "ui" | "ll" | "ull", "d" | "f") => {
            let signed = !from.starts_with('u');
            if mode == "rn" || (to == "d" && from.len() <= 2 && from != "ll") {
                let op = if signed {
                    Opcode::LLVMSIToFP
                } else {
                    Opcode::LLVMUIToFP
                };
                return Some(b.cast(op, v, t));
            }
            let i64t = b.int_ty(64);
            let wide = if signed {
                b.sext_or_trunc(v, i64t)
            } else {
                b.zext_or_trunc(v, i64t)
            };
            let s = if signed { "i64" } else { "u64" };
            let f = if to == "d" { "f64" } else { "f32" };
            Some(pure_runtime(
                m,
                &format!("kerf_{s}_to_{f}_{}", directed(mode)?),
                t,
                &[wide],
                b,
            ))
        }
        ("d", "f") => {
            let r = match directed(mode) {
                None => b.cast(Opcode::LLVMFPTrunc, v, t),
                Some(d) => super::directed::narrow(b, d, v),
            };
            Some(if ftz { flush(b, r) } else { r })
        }
        ("f", "h") => {
            let h = b.cast(
                Opcode::LLVMFPTrunc,
                if ftz { flush(b, v) } else { v },
                b.float_ty(Format::F16),
            );
            Some(b.bitcast(h, t))
        }
        _ => None,
    }
}

/// A double as two words, and bits under another type.
pub(super) fn halves(b: &Builder, i: Value, n: &str) -> Option<Value> {
    let (i32t, i64t) = (b.int_ty(32), b.int_ty(64));
    let a = i.args();
    Some(match n {
        "d2i.lo" => b.zext_or_trunc(b.bitcast(a[0], i64t), i32t),
        "d2i.hi" => {
            let w = b.bitcast(a[0], i64t);
            b.zext_or_trunc(b.lshr(w, b.i64(32)), i32t)
        }
        "lohi.i2d" => {
            let hi = b.shl(b.zext_or_trunc(a[1], i64t), b.i64(32));
            b.bitcast(b.or(hi, b.zext_or_trunc(a[0], i64t)), i.ty())
        }
        "bitcast.d2ll" | "bitcast.ll2d" | "bitcast.f2i" | "bitcast.i2f" => b.bitcast(a[0], i.ty()),
        _ => return None,
    })
}

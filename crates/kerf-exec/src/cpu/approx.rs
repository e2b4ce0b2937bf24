//! Special-function-unit operations.
//!
//! The f64 seeds (`rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`) are exact: tables read off an H200
//! (see [`super::seeds`]), which look only at the upper 20 mantissa bits. `rsqrt.approx.f64` is the
//! sequence that ptxas emits for it: seed, then one refinement. The f32 operations are those of [`super::sfu`]
//! with the instructions that ptxas puts around them for sm_90. The forms in f16 and bf16 are *modelled*:
//! computed in f32 and rounded; the executor says so in its output.
use super::flush::flush;
use super::{sfu, table_names};
use kerf_llvm::{Builder, IntPred, Opcode, RealPred, Type, Value};
use kerf_num::Format;

struct Words {
    hi: Value,
    exponent: Value,
    mantissa: Value,
    sign: Value,
}

fn words(b: &Builder, x: Value) -> Words {
    let i32t = b.int_ty(32);
    let w = b.bitcast(x, b.int_ty(64));
    let hi = b.zext_or_trunc(b.lshr(w, b.i64(32)), i32t);
    Words {
        hi,
        exponent: b.and(b.lshr(hi, b.i32(20)), b.i32(0x7ff)),
        mantissa: b.and(hi, b.i32(0xfffff)),
        sign: b.and(hi, b.i32(0x8000_0000)),
    }
}

fn from_high(b: &Builder, hi: Value) -> Value {
    let w = b.shl(b.zext_or_trunc(hi, b.int_ty(64)), b.i64(32));
    b.bitcast(w, b.float_ty(Format::F64))
}

fn lookup(b: &Builder, table: &str, index: Value) -> Value {
    let i64t = b.int_ty(64);
    let index = b.zext_or_trunc(index, i64t);
    let p = b.index(b.int_ty(32), b.external(table), index);
    let v = b.load(b.int_ty(32), p);
    v.mark("invariant.load");
    v
}

/// `rcp.approx.ftz.f64`.
pub fn rcp_f64(b: &Builder, x: Value) -> Value {
    let w = words(b, x);
    let t = lookup(b, table_names::RCP_SEEDS, w.mantissa);
    let shift = b.sub(b.i32(1023), w.exponent);
    let high = b.add(t, b.shl(shift, b.i32(20)));
    // The result's exponent field; at or below zero it flushes.
    let e = b.add(b.lshr(t, b.i32(20)), shift);
    let under = b.icmp(IntPred::LLVMIntSLE, e, b.i32(0));
    let high = b.select(under, b.i32(0), high);
    let r = from_high(b, b.or(high, w.sign));
    let small = b.icmp(IntPred::LLVMIntEQ, w.exponent, b.i32(0));
    let infinite = from_high(b, b.or(w.sign, b.i32(0x7ff0_0000)));
    let r = b.select(small, infinite, r);
    let big = b.icmp(IntPred::LLVMIntEQ, w.exponent, b.i32(0x7ff));
    let nan = b.fcmp(RealPred::LLVMRealUNO, x, x);
    let r = b.select(big, from_high(b, w.sign), r);
    b.select(nan, from_high(b, b.i32(0x7fff_ffff)), r)
}

/// `rsqrt.approx.ftz.f64` for positive normal arguments; others must be replaced by the caller.
fn rsqrt_seed(b: &Builder, x: Value) -> Value {
    let w = words(b, x);
    let odd = b.and(b.sub(w.exponent, b.i32(1023)), b.i32(1));
    // Two tables in one: the odd exponents' half comes second.
    let index = b.or(w.mantissa, b.shl(odd, b.i32(20)));
    let t = lookup(b, table_names::RSQRT_SEEDS, index);
    let half = b.bin(
        Opcode::LLVMAShr,
        b.sub(b.sub(w.exponent, b.i32(1023)), odd),
        b.i32(1),
    );
    from_high(b, b.sub(t, b.shl(half, b.i32(20))))
}

fn rsqrt_special(b: &Builder, x: Value, r: Value, flush_subnormals: bool) -> Value {
    let f64t = x.ty();
    let w = words(b, x);
    let zero = if flush_subnormals {
        b.icmp(IntPred::LLVMIntEQ, w.exponent, b.i32(0))
    } else {
        b.fcmp(RealPred::LLVMRealOEQ, x, f64t.zero())
    };
    let negative = b.fcmp(RealPred::LLVMRealOLT, x, f64t.zero());
    let infinite = b.fcmp(RealPred::LLVMRealOEQ, x, f64t.real(f64::INFINITY));
    let nan = b.fcmp(RealPred::LLVMRealUNO, x, x);
    let r = b.select(infinite, f64t.zero(), r);
    let r = b.select(b.or(negative, nan), f64t.real(f64::NAN), r);
    b.select(zero, from_high(b, b.or(w.sign, b.i32(0x7ff0_0000))), r)
}

/// `rsqrt.approx.f64` as ptxas expands it for sm_90.
fn rsqrt_f64(b: &Builder, x: Value) -> Value {
    let f64t = x.ty();
    let w = words(b, x);
    let _ = w.hi;
    let subnormal = b.icmp(IntPred::LLVMIntEQ, w.exponent, b.i32(0));
    let scaled = b.bin(Opcode::LLVMFMul, x, f64t.real(18014398509481984.0));
    let v = b.select(subnormal, scaled, x);
    let y = rsqrt_seed(b, v);
    let yy = b.bin(Opcode::LLVMFMul, y, y);
    let e = b.intrinsic("llvm.fma", &[f64t], &[v, b.fneg(yy), f64t.real(1.0)]);
    let c = b.intrinsic("llvm.fma", &[f64t], &[e, f64t.real(0.375), f64t.real(0.5)]);
    let ye = b.bin(Opcode::LLVMFMul, y, e);
    let r = b.intrinsic("llvm.fma", &[f64t], &[c, ye, y]);
    let r = b.select(
        subnormal,
        b.bin(Opcode::LLVMFMul, r, f64t.real(134217728.0)),
        r,
    );
    rsqrt_special(b, x, r, false)
}

fn mul(b: &Builder, x: Value, y: Value) -> Value {
    b.bin(Opcode::LLVMFMul, x, y)
}

/// Is an f32 subnormal or zero? Such numbers are scaled before the unit sees them, unless they are flushed.
fn tiny(b: &Builder, x: Value) -> Value {
    let t = x.ty();
    let size = b.intrinsic("llvm.fabs", &[t], &[x]);
    b.fcmp(RealPred::LLVMRealOLT, size, t.real(2f64.powi(-126)))
}

/// `x` times a power of two under a condition.
fn scaled(b: &Builder, when: Value, x: Value, power: i32) -> Value {
    b.select(when, mul(b, x, x.ty().real(2f64.powi(power))), x)
}

/// The instructions around one of the unit, as ptxas writes them for sm_90.
fn with_subnormals(b: &Builder, op: &str, x: Value) -> Option<Value> {
    let t = x.ty();
    let small = tiny(b, x);
    Some(match op {
        "rsqrt" => scaled(b, small, sfu::rsqrt(b, scaled(b, small, x, 24)), 12),
        "sqrt" => scaled(b, small, sfu::sqrt(b, scaled(b, small, x, 24)), -12),
        "lg2" => {
            let r = sfu::lg2(b, scaled(b, small, x, 24));
            b.select(small, b.bin(Opcode::LLVMFAdd, r, t.real(-24.0)), r)
        }
        "ex2" => {
            let low = b.fcmp(RealPred::LLVMRealOLT, x, t.real(-126.0));
            let r = sfu::ex2(b, scaled(b, low, x, -1));
            b.select(low, mul(b, r, r), r)
        }
        _ => return None,
    })
}

/// `div.approx` and `div.full`: a product with the reciprocal, scaled where that would not be normal.
fn quotient(b: &Builder, x: Value, y: Value, full: bool, ftz: bool) -> Value {
    let t = x.ty();
    let (mut x, mut y) = (x, y);
    if full {
        let size = b.intrinsic("llvm.fabs", &[t], &[y]);
        let huge = b.fcmp(RealPred::LLVMRealOGT, size, t.real(2f64.powi(126)));
        (x, y) = (scaled(b, huge, x, -2), scaled(b, huge, y, -2));
        if ftz {
            x = flush(b, x);
        }
    }
    if !ftz {
        let small = tiny(b, y);
        (x, y) = (scaled(b, small, x, 24), scaled(b, small, y, 24));
    }
    mul(b, sfu::rcp(b, y), x)
}

fn narrow(b: &Builder, v: Value, t: Type) -> Value {
    b.cast(Opcode::LLVMFPTrunc, v, t)
}

/// Lowers an `.approx` or `.full` operation; none where the name is unknown.
pub(super) fn lower(b: &Builder, i: Value, n: &str) -> Option<Value> {
    let t = i.ty();
    let op = n.split('.').next()?;
    if !n.contains(".approx") && !n.contains(".full") {
        return None;
    }
    let a = i.args();
    if t.format() == Some(Format::F64) {
        return match (op, n.contains(".ftz")) {
            ("rcp", _) => Some(rcp_f64(b, a[0])),
            ("rsqrt", true) => Some(rsqrt_special(b, a[0], rsqrt_seed(b, a[0]), true)),
            ("rsqrt", false) => Some(rsqrt_f64(b, a[0])),
            _ => None,
        };
    }
    let ftz = n.contains(".ftz");
    // f16 and bf16 forms work in f32 and round once more.
    let f32t = b.float_ty(Format::F32);
    let wide = t.format() != Some(Format::F32);
    if wide && t.is_vector() {
        return None;
    }
    let a: Vec<Value> = a
        .iter()
        .map(|v| {
            if wide {
                b.cast(Opcode::LLVMFPExt, *v, f32t)
            } else {
                *v
            }
        })
        .map(|v| if ftz { flush(b, v) } else { v })
        .collect();
    let r = match (op, ftz) {
        ("rcp", _) => sfu::rcp(b, a[0]),
        ("div", _) => quotient(b, a[0], a[1], n.contains(".full"), ftz),
        ("sqrt", true) => sfu::sqrt(b, a[0]),
        ("rsqrt", true) => sfu::rsqrt(b, a[0]),
        ("ex2", true) => sfu::ex2(b, a[0]),
        ("lg2", true) => sfu::lg2(b, a[0]),
        ("sin", _) => sfu::sine(b, a[0], false),
        ("cos", _) => sfu::sine(b, a[0], true),
        ("tanh", _) => sfu::tanh(b, a[0]),
        _ => with_subnormals(b, op, a[0])?,
    };
    let r = if ftz { flush(b, r) } else { r };
    Some(if wide { narrow(b, r, t) } else { r })
}

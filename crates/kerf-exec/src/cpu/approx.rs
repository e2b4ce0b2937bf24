//! Special-function-unit operations.
//!
//! The f64 seeds (`rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`) are exact: tables read off an H200
//! (see [`super::seeds`]), which look only at the upper 20 mantissa bits. `rsqrt.approx.f64` is the
//! sequence that ptxas emits for it: seed, then one refinement. The f32 operations are *modelled*:
//! computed in f64 and rounded once to f32, so within one ulp or so of the hardware's answer and
//! inside the documented bounds; the executor says so in its output.
use super::intrinsics::flush;
use super::seeds;
use kerf_ir::llvm::{Builder, IntPred, Module, Opcode, RealPred, Type, Value};
use kerf_num::Format;

fn table(b: &Builder, address: usize) -> Value {
    b.cast(Opcode::LLVMIntToPtr, b.i64(address as u64), b.ptr_ty(0))
}

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

fn lookup(b: &Builder, address: usize, index: Value) -> Value {
    let i64t = b.int_ty(64);
    let p = b.index(
        b.int_ty(32),
        table(b, address),
        b.zext_or_trunc(index, i64t),
    );
    let v = b.load(b.int_ty(32), p);
    v.mark("invariant.load");
    v
}

/// `rcp.approx.ftz.f64`.
pub fn rcp_f64(b: &Builder, x: Value) -> Value {
    let w = words(b, x);
    let t = lookup(b, seeds::rcp().as_ptr() as usize, w.mantissa);
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
    let t = lookup(b, seeds::rsqrt().as_ptr() as usize, index);
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

/// Horner's rule with fma.
fn polynomial(b: &Builder, x: Value, coefficients: &[f64]) -> Value {
    let t = x.ty();
    let mut it = coefficients.iter().rev();
    let first = it.next().copied().unwrap_or(0.0);
    it.fold(t.real(first), |acc, c| {
        b.intrinsic("llvm.fma", &[t], &[acc, x, t.real(*c)])
    })
}

/// 2^x for f64 `x`, relative error under 1e-11, straight-line so that it vectorises.
fn exp2_straight(b: &Builder, x: Value) -> Value {
    let t = x.ty();
    let hi = b.select(
        b.fcmp(RealPred::LLVMRealOLT, x, t.real(300.0)),
        x,
        t.real(300.0),
    );
    let x = b.select(
        b.fcmp(RealPred::LLVMRealOGT, hi, t.real(-300.0)),
        hi,
        t.real(-300.0),
    );
    let n = b.intrinsic("llvm.roundeven", &[t], &[x]);
    let f = b.bin(Opcode::LLVMFSub, x, n);
    let mut c = [1.0; 11];
    for k in 1..c.len() {
        c[k] = c[k - 1] * std::f64::consts::LN_2 / k as f64;
    }
    let p = polynomial(b, f, &c);
    let i = b.intrinsic("llvm.fptosi.sat", &[b.int_ty(64), t], &[n]);
    let scale = b.shl(b.add(i, b.i64(1023)), b.i64(52));
    b.bin(Opcode::LLVMFMul, p, b.bitcast(scale, t))
}

/// log2(x) for positive normal f64 `x`, absolute error under 1e-12 near 1, straight-line.
fn log2_straight(b: &Builder, x: Value) -> Value {
    let t = x.ty();
    let i64t = b.int_ty(64);
    // Bring the mantissa into [sqrt(1/2), sqrt(2)).
    let bits = b.bitcast(x, i64t);
    let shifted = b.sub(bits, b.i64(0x3fe6_a09e_667f_3bcd));
    let e = b.bin(Opcode::LLVMAShr, shifted, b.i64(52));
    let m = b.bitcast(b.sub(bits, b.shl(e, b.i64(52))), t);
    let one = t.real(1.0);
    let s = b.bin(
        Opcode::LLVMFDiv,
        b.bin(Opcode::LLVMFSub, m, one),
        b.bin(Opcode::LLVMFAdd, m, one),
    );
    let s2 = b.bin(Opcode::LLVMFMul, s, s);
    let k = 2.0 / std::f64::consts::LN_2;
    let c: Vec<f64> = (0..9).map(|j| k / f64::from(2 * j + 1)).collect();
    let p = b.bin(Opcode::LLVMFMul, s, polynomial(b, s2, &c));
    b.bin(Opcode::LLVMFAdd, b.cast(Opcode::LLVMSIToFP, e, t), p)
}

fn widen(b: &Builder, v: Value) -> Value {
    b.cast(Opcode::LLVMFPExt, v, b.float_ty(Format::F64))
}

fn narrow(b: &Builder, v: Value, t: Type) -> Value {
    b.cast(Opcode::LLVMFPTrunc, v, t)
}

fn lg2(b: &Builder, x: Value, t: Type) -> Value {
    let v = widen(b, x);
    let f64t = v.ty();
    let r = narrow(b, log2_straight(b, v), t);
    let zero = b.fcmp(RealPred::LLVMRealOEQ, x, t.zero());
    let bad = b.fcmp(RealPred::LLVMRealULT, v, f64t.zero());
    let infinite = b.fcmp(RealPred::LLVMRealOEQ, v, f64t.real(f64::INFINITY));
    let r = b.select(infinite, x, r);
    let r = b.select(bad, t.real(f64::NAN), r);
    b.select(zero, t.real(f64::NEG_INFINITY), r)
}

fn ex2(b: &Builder, x: Value, t: Type) -> Value {
    let r = narrow(b, exp2_straight(b, widen(b, x)), t);
    let nan = b.fcmp(RealPred::LLVMRealUNO, x, x);
    b.select(nan, x, r)
}

fn call(m: &Module, b: &Builder, name: &str, x: Value) -> Value {
    let f = m.declare(name, x.ty().function(&[x.ty()]));
    let c = b.call(f, &[x]);
    f.mark_pure();
    c
}

/// Lowers an `.approx` or `.full` operation; none where the name is unknown.
pub(super) fn lower(m: &Module, b: &Builder, i: Value, n: &str) -> Option<Value> {
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
    let one = f32t.real(1.0);
    let r = match op {
        "rcp" => b.bin(Opcode::LLVMFDiv, one, a[0]),
        "div" => {
            // Defined for |y| up to 2^126; beyond, the hardware flushes the reciprocal to zero.
            let y = b.intrinsic("llvm.fabs", &[f32t], &[a[1]]);
            let huge = b.fcmp(RealPred::LLVMRealOGT, y, f32t.real(2f64.powi(126)));
            let finite = b.fcmp(RealPred::LLVMRealOLT, y, f32t.real(f64::INFINITY));
            let q = b.bin(Opcode::LLVMFDiv, a[0], a[1]);
            let z = b.bin(Opcode::LLVMFMul, a[0], f32t.zero());
            if n.contains(".full") {
                q
            } else {
                b.select(b.and(huge, finite), z, q)
            }
        }
        "sqrt" => b.intrinsic("llvm.sqrt", &[f32t], &[a[0]]),
        "rsqrt" => {
            let v = widen(b, a[0]);
            let s = b.intrinsic("llvm.sqrt", &[v.ty()], &[v]);
            narrow(b, b.bin(Opcode::LLVMFDiv, v.ty().real(1.0), s), f32t)
        }
        "ex2" => ex2(b, a[0], f32t),
        "lg2" => lg2(b, a[0], f32t),
        "sin" => call(m, b, "kerf_sin_f32", a[0]),
        "cos" => call(m, b, "kerf_cos_f32", a[0]),
        "tanh" => call(m, b, "kerf_tanh_f32", a[0]),
        _ => return None,
    };
    let r = if ftz { flush(b, r) } else { r };
    Some(if wide { narrow(b, r, t) } else { r })
}

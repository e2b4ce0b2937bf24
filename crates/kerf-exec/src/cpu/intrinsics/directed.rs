//! Sums and products of f32 rounded towards zero or an infinity, and `fma` of the small formats, in the code itself: in
//! f64 a product is exact, a sum is one with its error, and both say which of two neighbours the value lies between.
use kerf_llvm::{Builder, IntPred, Opcode, RealPred, Value};
use kerf_num::Format;

/// A value as the f64 nearest to it and what is left, in which only signs are used.
struct Exact {
    value: Value,
    rest: Value,
    /// It is a sum of zero whose terms have other signs.
    cancelled: Option<Value>,
}

fn sum(b: &Builder, x: Value, y: Value) -> Exact {
    let (add, sub) = (Opcode::LLVMFAdd, Opcode::LLVMFSub);
    let s = b.bin(add, x, y);
    let t = b.bin(sub, s, x);
    let rest = b.bin(add, b.bin(sub, x, b.bin(sub, s, t)), b.bin(sub, y, t));
    let i64t = b.int_ty(64);
    let signs = b.xor(b.bitcast(x, i64t), b.bitcast(y, i64t));
    let differ = b.icmp(IntPred::LLVMIntSLT, signs, b.i64(0));
    let zero = b.fcmp(RealPred::LLVMRealOEQ, s, s.ty().zero());
    Exact {
        value: s,
        rest,
        cancelled: Some(b.and(zero, differ)),
    }
}

fn alone(value: Value) -> Exact {
    Exact {
        value,
        rest: value.ty().zero(),
        cancelled: None,
    }
}

/// The value as f32, rounded by a mode.
fn round(b: &Builder, mode: &str, v: &Exact) -> Value {
    use RealPred::{LLVMRealOEQ as EQ, LLVMRealOGT as GT, LLVMRealOLT as LT};
    let (f32t, f64t, i32t) = (b.float_ty(Format::F32), v.value.ty(), b.int_ty(32));
    let near = b.cast(Opcode::LLVMFPTrunc, v.value, f32t);
    let wide = b.cast(Opcode::LLVMFPExt, near, f64t);
    let same = b.fcmp(EQ, wide, v.value);
    // The nearest one lies above the value, or below it.
    let above = b.or(
        b.fcmp(GT, wide, v.value),
        b.and(same, b.fcmp(LT, v.rest, f64t.zero())),
    );
    let below = b.or(
        b.fcmp(LT, wide, v.value),
        b.and(same, b.fcmp(GT, v.rest, f64t.zero())),
    );
    let w = b.bitcast(near, i32t);
    let (less, more) = (b.sub(w, b.i32(1)), b.add(w, b.i32(1)));
    let positive = b.fcmp(GT, near, f32t.zero());
    let negative = b.fcmp(LT, near, f32t.zero());
    let step = |up: bool| {
        let (away, back) = if up {
            (positive, negative)
        } else {
            (negative, positive)
        };
        let least = b.i32(if up { 1 } else { 0x8000_0001 });
        b.select(away, more, b.select(back, less, least))
    };
    let r = match mode {
        "rm" => {
            let r = b.select(above, step(false), w);
            match v.cancelled {
                Some(c) => b.select(c, b.i32(0x8000_0000), r),
                None => r,
            }
        }
        "rp" => b.select(below, step(true), w),
        _ => {
            let outside = b.or(b.and(positive, above), b.and(negative, below));
            b.select(outside, less, w)
        }
    };
    b.bitcast(r, f32t)
}

/// `fma` of half or bfloat, rounded once (the backend's own expansion rounds twice): to f32 with the last digit set where
/// digits are lost, from which any narrower format rounds correctly.
pub(super) fn small_fma(b: &Builder, a: &[Value]) -> Value {
    use RealPred::{LLVMRealONE as NE, LLVMRealUNO as UNORDERED};
    let (t, f64t, i32t) = (a[0].ty(), b.float_ty(Format::F64), b.int_ty(32));
    let a: Vec<Value> = a
        .iter()
        .map(|v| b.cast(Opcode::LLVMFPExt, *v, f64t))
        .collect();
    let exact = sum(b, b.bin(Opcode::LLVMFMul, a[0], a[1]), a[2]);
    let cut = round(b, "rz", &exact);
    let lost = b.or(
        b.fcmp(NE, b.cast(Opcode::LLVMFPExt, cut, f64t), exact.value),
        b.fcmp(NE, exact.rest, f64t.zero()),
    );
    let odd = b.or(b.bitcast(cut, i32t), b.zext_or_trunc(lost, i32t));
    let i16t = b.int_ty(16);
    let bits = if t.format() == Some(Format::Bf16) {
        let even = b.and(b.lshr(odd, b.i32(16)), b.i32(1));
        let up = b.add(b.add(odd, b.i32(0x7fff)), even);
        b.zext_or_trunc(b.lshr(up, b.i32(16)), i16t)
    } else {
        let r = b.cast(
            Opcode::LLVMFPTrunc,
            b.bitcast(odd, b.float_ty(Format::F32)),
            t,
        );
        b.bitcast(r, i16t)
    };
    let nan = b.fcmp(UNORDERED, exact.value, exact.value);
    // The NaN without a payload: the backend's own conversions, of which some keep it, then agree.
    let quiet = match t.format() {
        Some(Format::Bf16) => 0x7fc0,
        _ => 0x7e00,
    };
    let bits = b.select(nan, i16t.int(quiet), bits);
    b.bitcast(bits, t)
}

/// An f64 as f32.
pub(super) fn narrow(b: &Builder, mode: &str, v: Value) -> Value {
    round(b, mode, &alone(v))
}

/// A sum, difference, product or fma of f32.
pub(super) fn arithmetic(b: &Builder, op: &str, mode: &str, a: &[Value]) -> Option<Value> {
    let f64t = b.float_ty(Format::F64);
    let a: Vec<Value> = a
        .iter()
        .map(|v| b.cast(Opcode::LLVMFPExt, *v, f64t))
        .collect();
    let product = || b.bin(Opcode::LLVMFMul, a[0], a[1]);
    let exact = match op {
        "add" => sum(b, a[0], a[1]),
        "sub" => sum(b, a[0], b.fneg(a[1])),
        "mul" => alone(product()),
        "fma" => sum(b, product(), a[2]),
        _ => return None,
    };
    Some(round(b, mode, &exact))
}

//! Instructions of each variant.
//!
//! In f32 they are the sequences of Li et al., "SFU-Driven Transparent Approximation Acceleration on GPUs"
//! (2016), table 1, and what CUDA's own intrinsics do for functions that the table lacks. In f64 they begin
//! as those of table 2 and go on with Newton steps. Only the steps of the function itself flush subnormals.
use super::function::Function::{self, *};
use super::variant::MathVariant;
use kerf_llvm::{Builder, Opcode, RealPred, Value};
use kerf_num::Format;

/// 2^-1022, the smallest normal f64.
const SMALLEST: f64 = f64::MIN_POSITIVE;

fn mul(b: &Builder, x: Value, y: Value) -> Value {
    b.bin(Opcode::LLVMFMul, x, y)
}

fn fma(b: &Builder, x: Value, y: Value, z: Value) -> Value {
    b.intrinsic("llvm.fma", &[x.ty()], &[x, y, z])
}

/// An f32 instruction of the special-function unit.
fn unit(b: &Builder, op: &str, ftz: bool, args: &[Value]) -> Value {
    let ftz = if ftz { ".ftz" } else { "" };
    match op {
        "ex2" => b.intrinsic(&format!("llvm.nvvm.ex2.approx{ftz}"), &[args[0].ty()], args),
        _ => b.intrinsic(&format!("llvm.nvvm.{op}.approx{ftz}.f"), &[], args),
    }
}

/// The reciprocal; NVVM names only the form that flushes.
fn reciprocal(b: &Builder, x: Value, ftz: bool) -> Value {
    match ftz {
        true => unit(b, "rcp", true, &[x]),
        false => unit(b, "div", false, &[x.ty().real(1.0), x]),
    }
}

fn single(b: &Builder, f: Function, v: MathVariant, a: &[Value]) -> Value {
    let t = b.float_ty(Format::F32);
    let ftz = v.ftz();
    let unit = |op: &str, args: &[Value]| unit(b, op, ftz, args);
    let scaled = |x: Value, c: f64| mul(b, x, t.real(c));
    if matches!(v, MathVariant::Full | MathVariant::FullFtz) {
        let name = if ftz {
            "llvm.nvvm.div.full.ftz"
        } else {
            "llvm.nvvm.div.full"
        };
        let args = match f {
            Reciprocal => vec![t.real(1.0), a[0]],
            _ => a.to_vec(),
        };
        return b.intrinsic(name, &[], &args);
    }
    use std::f64::consts::{LN_2, LOG2_10, LOG2_E, LOG10_2};
    match f {
        Sin => unit("sin", a),
        Cos => unit("cos", a),
        Tan => unit("div", &[unit("sin", a), unit("cos", a)]),
        Tanh => b.intrinsic("llvm.tanh", &[t], a),
        Exp => unit("ex2", &[scaled(a[0], LOG2_E)]),
        Exp2 => unit("ex2", a),
        Exp10 => unit("ex2", &[scaled(a[0], LOG2_10)]),
        Log => scaled(unit("lg2", a), LN_2),
        Log2 => unit("lg2", a),
        Log10 => scaled(unit("lg2", a), LOG10_2),
        Sqrt => unit("sqrt", a),
        Rsqrt => unit("rsqrt", a),
        Reciprocal => reciprocal(b, a[0], ftz),
        Divide => unit("div", a),
        Pow => unit("ex2", &[mul(b, a[1], unit("lg2", &a[..1]))]),
        Hypot => unit("sqrt", &[fma(b, a[0], a[0], mul(b, a[1], a[1]))]),
        SinCos => {
            b.store(unit("sin", &a[..1]), a[1]);
            b.store(unit("cos", &a[..1]), a[2])
        }
    }
}

/// Keeps the seed where the first step's residual says that it is no approximation to improve: zero,
/// infinity, NaN, and what the seed flushes.
fn guarded(b: &Builder, residual: Value, seed: Value, refined: Value) -> Value {
    let t = seed.ty();
    let size = b.intrinsic("llvm.fabs", &[t], &[residual]);
    let good = b.fcmp(RealPred::LLVMRealOLT, size, t.real(1.0));
    b.select(good, refined, seed)
}

fn reciprocal64(b: &Builder, x: Value, steps: u32) -> Value {
    let t = x.ty();
    let seed = b.intrinsic("llvm.nvvm.rcp.approx.ftz.d", &[], &[x]);
    let minus = b.fneg(x);
    let mut y = seed;
    let mut first = None;
    for _ in 0..steps {
        let e = fma(b, minus, y, t.real(1.0));
        y = fma(b, y, e, y);
        first = first.or(Some(e));
    }
    first.map_or(y, |e| guarded(b, e, seed, y))
}

/// The inverse square root, without regard to special arguments, after the seed.
fn rsqrt64(b: &Builder, x: Value, steps: u32) -> (Value, Option<(Value, Value)>) {
    let t = x.ty();
    let seed = b.intrinsic("llvm.nvvm.rsqrt.approx.ftz.d", &[], &[x]);
    let mut y = seed;
    let mut first = None;
    for _ in 0..steps {
        let xy = mul(b, x, y);
        let e = fma(b, b.fneg(xy), y, t.real(1.0));
        y = fma(b, mul(b, y, t.real(0.5)), e, y);
        first = first.or(Some((e, seed)));
    }
    (y, first)
}

fn sqrt64(b: &Builder, x: Value, steps: u32) -> Value {
    let t = x.ty();
    let (y, _) = rsqrt64(b, x, steps);
    if steps == 0 {
        // As published: zero and infinity come out right on this way.
        return b.intrinsic("llvm.nvvm.rcp.approx.ftz.d", &[], &[y]);
    }
    let root = mul(b, x, y);
    let size = b.intrinsic("llvm.fabs", &[t], &[x]);
    let small = b.fcmp(RealPred::LLVMRealOLT, size, t.real(SMALLEST));
    let root = b.select(small, mul(b, x, t.zero()), root);
    let infinite = b.fcmp(RealPred::LLVMRealOEQ, x, t.real(f64::INFINITY));
    b.select(infinite, x, root)
}

fn double(b: &Builder, f: Function, steps: u32, a: &[Value]) -> Option<Value> {
    Some(match f {
        Reciprocal => reciprocal64(b, a[0], steps),
        Divide => mul(b, a[0], reciprocal64(b, a[1], steps)),
        Rsqrt => match rsqrt64(b, a[0], steps) {
            (y, None) => y,
            (y, Some((e, seed))) => guarded(b, e, seed, y),
        },
        Sqrt => sqrt64(b, a[0], steps),
        _ => return None,
    })
}

/// The value of a function in a variant; `SinCos` gives what nobody uses. None where there is no such.
pub(super) fn scalar(b: &Builder, f: Function, v: MathVariant, args: &[Value]) -> Option<Value> {
    match (args[0].ty().format()?, v.steps()) {
        (Format::F32, None) => Some(single(b, f, v, args)),
        (Format::F64, Some(n)) => double(b, f, n, args),
        _ => None,
    }
}

//! Subnormal f32 numbers, as operations with `.ftz` have them.
use kerf_llvm::{Builder, RealPred, Value};
use kerf_num::Format;

/// Flushes subnormal f32 values to zero of their sign.
pub(super) fn flush(b: &Builder, v: Value) -> Value {
    let t = v.ty();
    if t.format() != Some(Format::F32) {
        return v;
    }
    let a = b.intrinsic("llvm.fabs", &[t], &[v]);
    let tiny = b.fcmp(
        RealPred::LLVMRealOLT,
        a,
        t.real(f64::from(f32::MIN_POSITIVE)),
    );
    let zero = b.intrinsic("llvm.copysign", &[t], &[t.zero(), v]);
    b.select(tiny, zero, v)
}

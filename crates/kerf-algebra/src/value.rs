//! Operations on numbers of any precision, by MPFR: each result is rounded correctly.
use kerf_ir::pure_operation::PureOperation;
use rug::Float;
use rug::ops::{NegAssign, Pow};

/// The result of an operation, at a precision in bits.
pub(crate) fn evaluated(o: PureOperation, x: &[Float], bits: u32) -> Option<Float> {
    use PureOperation::*;
    let new = |v: &Float| Float::with_val(bits, v);
    Some(match (o, x) {
        (Add, [a, b]) => Float::with_val(bits, a + b),
        (Sub, [a, b]) => Float::with_val(bits, a - b),
        (Mul, [a, b]) => Float::with_val(bits, a * b),
        (Div, [a, b]) => Float::with_val(bits, a / b),
        (Neg, [a]) => {
            let mut r = new(a);
            r.neg_assign();
            r
        }
        (Fma, [a, b, c]) => Float::with_val(bits, a.mul_add_ref(b, c)),
        (Abs, [a]) => Float::with_val(bits, a.abs_ref()),
        (Sqrt, [a]) => Float::with_val(bits, a.sqrt_ref()),
        (Rsqrt, [a]) => Float::with_val(bits, a.recip_sqrt_ref()),
        (Cbrt, [a]) => Float::with_val(bits, a.cbrt_ref()),
        (Rcbrt, [a]) => {
            let wide = Float::with_val(2 * bits, a.cbrt_ref());
            Float::with_val(bits, wide.recip_ref())
        }
        (Exp, [a]) => Float::with_val(bits, a.exp_ref()),
        (Exp2, [a]) => Float::with_val(bits, a.exp2_ref()),
        (Exp10, [a]) => Float::with_val(bits, a.exp10_ref()),
        (Log, [a]) => Float::with_val(bits, a.ln_ref()),
        (Log2, [a]) => Float::with_val(bits, a.log2_ref()),
        (Log10, [a]) => Float::with_val(bits, a.log10_ref()),
        (Pow, [a, b]) => Float::with_val(bits, a.pow(b)),
        (Sin, [a]) => Float::with_val(bits, a.sin_ref()),
        (Cos, [a]) => Float::with_val(bits, a.cos_ref()),
        (Tan, [a]) => Float::with_val(bits, a.tan_ref()),
        (Hypot, [a, b]) => Float::with_val(bits, a.hypot_ref(b)),
        (Rhypot, [a, b]) => {
            let wide = Float::with_val(2 * bits, a.hypot_ref(b));
            Float::with_val(bits, wide.recip_ref())
        }
        _ => return None,
    })
}

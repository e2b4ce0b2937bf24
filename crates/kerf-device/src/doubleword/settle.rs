//! The error of one result, by MPFR.
use rug::Float;

/// Enough for products of three pairs of any exponents to be exact.
const BITS: u32 = 8000;

/// What was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Mul,
    Div,
    Sqrt,
    Fma,
    Convert,
}

impl Operation {
    /// Operands that it has.
    pub(super) fn operands(self) -> usize {
        match self {
            Operation::Sqrt | Operation::Convert => 1,
            Operation::Fma => 3,
            _ => 2,
        }
    }
}

/// Error of the result `w[6] + w[7]` of the operands before it, times `2^scale`, relative to the exact
/// result; for fma to `5|xy| + 3|xy + z|`. Infinite where the result is no number.
pub(super) fn error(op: Operation, w: &[f64; 9], scale: i32) -> f64 {
    let pair = |k: usize| Float::with_val(BITS, w[2 * k]) + w[2 * k + 1];
    if !(w[6].is_finite() && w[7].is_finite()) {
        return f64::INFINITY;
    }
    let (x, y, z, r) = (pair(0), pair(1), pair(2), pair(3));
    let (want, size) = match op {
        Operation::Add => same(x + y),
        Operation::Mul => same(x * y),
        Operation::Div => same(x / y),
        Operation::Sqrt => same(x.sqrt()),
        Operation::Convert => same(x),
        Operation::Fma => {
            let product = x * y;
            let sum = Float::with_val(BITS, &product + &z);
            let size = product.abs() * 5 + Float::with_val(BITS, sum.abs_ref()) * 3;
            (sum, size)
        }
    };
    let error = (r - want).abs();
    if error.is_zero() {
        return 0.0;
    }
    ((error / size.abs()) << scale).to_f64()
}

fn same(v: Float) -> (Float, Float) {
    (v.clone(), v)
}

/// A word as a hexadecimal float, exact: `-0x1.8p-3`.
pub(super) fn hex(v: f64) -> String {
    if v == 0.0 || !v.is_finite() {
        return format!("{v:?}");
    }
    let bits = v.to_bits();
    let sign = if v < 0.0 { "-" } else { "" };
    let (field, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    match field {
        0 => format!("{sign}0x0{point}{digits}p-1022"),
        e => format!("{sign}0x1{point}{digits}p{}", e as i64 - 1023),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal() {
        assert_eq!(hex(1.0), "0x1p0");
        assert_eq!(hex(-0.1875), "-0x1.8p-3");
        assert_eq!(hex(0.1), "0x1.999999999999ap-4");
        assert_eq!(hex(f64::from_bits(1)), "0x0.0000000000001p-1022");
        assert_eq!(hex(0.0), "0.0");
    }

    #[test]
    fn errors_of_known_results() {
        // 1 + 2^-60 with nothing kept of the small part.
        let w = [1.0, 0.0, 2f64.powi(-60), 0.0, 0.0, 0.0, 1.0, 0.0, 0.0];
        let e = error(Operation::Add, &w, 60);
        assert!((e - 1.0).abs() < 1e-15, "{e}");
        let w = [6.0, 0.0, 3.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0];
        assert_eq!(error(Operation::Div, &w, 106), 0.0);
        let w = [6.0, 0.0, 3.0, 0.0, 0.0, 0.0, f64::NAN, 0.0, 0.0];
        assert_eq!(error(Operation::Div, &w, 106), f64::INFINITY);
        // 2*3 + 4 as 11: off by 1 of 5*6 + 3*10.
        let w = [2.0, 0.0, 3.0, 0.0, 4.0, 0.0, 11.0, 0.0, 0.0];
        assert_eq!(error(Operation::Fma, &w, 0), 1.0 / 60.0);
    }
}

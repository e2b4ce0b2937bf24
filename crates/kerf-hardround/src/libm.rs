//! What a library's result is worth: the correctly rounded one by MPFR, and the distance from the exact value.
use crate::format::BINARY64;
use crate::function::ElementaryFunction;
use rug::Float;
use rug::float::Round;
use std::cmp::Ordering;

/// Bits that are tried first: enough for all but few arguments.
const FIRST: u32 = 140;
/// Exponents beyond these overflow or underflow in any case.
const FAR: i32 = 1 << 20;

/// One result that was judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedResult {
    /// What the library gave.
    pub got: f64,
    /// The value rounded to nearest, ties to even.
    pub right: f64,
    /// Distance from the exact value in units of its last place; infinite where one is not a number.
    pub ulps: f64,
}

impl JudgedResult {
    /// Whether the result is the rounded value. Zeros count as equal, and so do NaN.
    pub fn is_right(&self) -> bool {
        self.got == self.right || (self.got.is_nan() && self.right.is_nan())
    }
}

/// The value rounded to nearest, and something on either side of it that is near the exact one.
fn rounded(f: ElementaryFunction, x: f64) -> (f64, Float) {
    let mut bits = FIRST;
    loop {
        let enclose = |round| {
            let mut y = Float::with_val(bits, x);
            let order = f.apply(&mut y, round);
            (y, order)
        };
        let (low, order) = enclose(Round::Down);
        let (high, _) = enclose(Round::Up);
        let far = low.get_exp().is_some_and(|e| e.abs() > FAR);
        if low.is_nan() || order == Ordering::Equal || far || low.to_f64() == high.to_f64() {
            return (low.to_f64(), low);
        }
        bits *= 2;
    }
}

/// Judges a result.
pub fn judge(f: ElementaryFunction, x: f64, got: f64) -> JudgedResult {
    let (right, exact) = rounded(f, x);
    let ulps = match (got.is_finite(), right.is_finite()) {
        (true, true) => {
            let exponent = exact.get_exp().map_or(BINARY64.lowest, |e| e - 1);
            let ulp = BINARY64.ulp(exponent.clamp(-1100, BINARY64.highest));
            let mut away = Float::with_val(exact.prec(), got);
            away -= &exact;
            (away.abs() >> ulp).to_f64()
        }
        _ if got == right || (got.is_nan() && right.is_nan()) => 0.0,
        _ => f64::INFINITY,
    };
    JudgedResult { got, right, ulps }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::parse;

    #[test]
    fn correct_rounding_and_distances() {
        let j = judge(ElementaryFunction::Exp, 1.0, std::f64::consts::E);
        assert!(j.is_right() && j.ulps < 0.5, "{j:?}");
        let off = judge(ElementaryFunction::Exp, 1.0, std::f64::consts::E.next_up());
        assert!(!off.is_right() && (0.5..1.5).contains(&off.ulps), "{off:?}");
        // Exact, overflow, underflow, and outside the domain.
        assert_eq!(judge(ElementaryFunction::Sqrt, 9.0, 3.0).ulps, 0.0);
        assert!(judge(ElementaryFunction::Exp, 800.0, f64::INFINITY).is_right());
        assert_eq!(
            judge(ElementaryFunction::Exp, 800.0, 1.0).ulps,
            f64::INFINITY
        );
        assert!(judge(ElementaryFunction::Exp, -800.0, 0.0).is_right());
        assert!(judge(ElementaryFunction::Log, -1.0, f64::NAN).is_right());
        assert_eq!(
            judge(ElementaryFunction::Log, -1.0, 0.0).ulps,
            f64::INFINITY
        );
        // Subnormal results have one unit.
        let tiny = judge(ElementaryFunction::Exp, -744.0, f64::from_bits(3));
        assert!(
            (0.5..2.5).contains(&tiny.ulps) || tiny.is_right(),
            "{tiny:?}"
        );
        // The hardest argument of exp on [1, 2): both neighbours are half a unit away.
        let x = parse("0x1.d6336a88077aap+0").unwrap();
        let (right, _) = rounded(ElementaryFunction::Exp, x);
        let j = judge(ElementaryFunction::Exp, x, right);
        assert!(j.is_right() && j.ulps <= 0.5, "{j:?}");
    }
}

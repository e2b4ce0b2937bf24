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

/// Bits after which a value that is not exact is taken for its neighbour: far more than any argument of binary64 needs.
const MOST: u32 = 1 << 14;
/// MPFR's exponent of the smallest normal number of binary64.
const NORMAL: i32 = -1021;

/// And one below which all that is not zero rounds alike.
const NEGLIGIBLE: i32 = -1080;

/// The rounding modes of IEEE 754 that C has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundingMode {
    /// To nearest, ties to even.
    Nearest,
    /// Toward zero.
    TowardZero,
    /// Toward plus infinity.
    Upward,
    /// Toward minus infinity.
    Downward,
}

impl RoundingMode {
    /// All of them.
    pub const ALL: [RoundingMode; 4] = [
        RoundingMode::Nearest,
        RoundingMode::TowardZero,
        RoundingMode::Upward,
        RoundingMode::Downward,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            RoundingMode::Nearest => "nearest",
            RoundingMode::TowardZero => "toward zero",
            RoundingMode::Upward => "upward",
            RoundingMode::Downward => "downward",
        }
    }

    fn mpfr(self) -> Round {
        match self {
            RoundingMode::Nearest => Round::Nearest,
            RoundingMode::TowardZero => Round::Zero,
            RoundingMode::Upward => Round::Up,
            RoundingMode::Downward => Round::Down,
        }
    }
}

/// The value rounded to binary64 in a mode. MPFR rounds normal results itself; subnormal ones have fewer bits, and are
/// enclosed until both ends round to the same number.
pub fn rounded_in(f: ElementaryFunction, x: f64, mode: RoundingMode) -> f64 {
    let round = mode.mpfr();
    let mut y = Float::with_val(BINARY64.precision, x);
    f.apply(&mut y, round);
    // Far below the smallest number, and so after an underflow of MPFR's, only the sign counts.
    if y.get_exp()
        .is_none_or(|e| !(NEGLIGIBLE..NORMAL).contains(&e))
    {
        return y.to_f64_round(round);
    }
    let mut bits = FIRST;
    loop {
        let end = |towards| {
            let mut y = Float::with_val(bits, x);
            f.apply(&mut y, towards);
            y.to_f64_round(round)
        };
        let low = end(Round::Down);
        if low == end(Round::Up) || bits > MOST {
            return low;
        }
        bits *= 2;
    }
}

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

    #[test]
    fn rounding_modes() {
        use RoundingMode::*;
        let each = |f, x| RoundingMode::ALL.map(|m| rounded_in(f, x, m));
        let below = 1f64.next_down();
        assert_eq!(
            each(ElementaryFunction::Tanh, 1e300),
            [1.0, below, 1.0, below]
        );
        assert_eq!(
            each(ElementaryFunction::Tanh, -1e300),
            [-1.0, -below, -below, -1.0]
        );
        assert_eq!(
            each(ElementaryFunction::Exp, 1e300),
            [f64::INFINITY, f64::MAX, f64::INFINITY, f64::MAX]
        );
        let tiny = f64::from_bits(1);
        assert_eq!(each(ElementaryFunction::Exp, -1e300), [0.0, 0.0, tiny, 0.0]);
        assert_eq!(each(ElementaryFunction::Sin, tiny), [tiny, 0.0, tiny, 0.0]);
        assert_eq!(each(ElementaryFunction::Sqrt, 9.0), [3.0; 4]);
        for x in [0.1, -740.5, 1.75, 600.25] {
            let [nearest, zero, up, down] = each(ElementaryFunction::Exp, x);
            assert_eq!(up, down.next_up(), "{x}");
            assert_eq!(zero, down, "{x}");
            assert!([up, down].contains(&nearest), "{x}");
            assert_eq!(nearest, judge(ElementaryFunction::Exp, x, 0.0).right, "{x}");
        }
        assert!(rounded_in(ElementaryFunction::Log, -1.0, Nearest).is_nan());
        assert_eq!(
            rounded_in(ElementaryFunction::Exp, f64::NEG_INFINITY, Upward),
            0.0
        );
    }
}

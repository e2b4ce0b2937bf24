//! The functions that can be made, with values by MPFR and enclosures of their Taylor coefficients.
use crate::constant_power::FixedExponent;
use crate::{bessel, gamma, normal_quantile};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::interval::MpfrInterval;
use rug::Float;
use rug::float::Round;
use serde::{Serialize, Serializer};

/// A function of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetFunction {
    /// One that the search for hard-to-round cases knows.
    Elementary(ElementaryFunction),
    /// The distribution function of the standard normal distribution: erfc(-x / sqrt(2)) / 2.
    NormalDistribution,
    /// The Bessel function of the first kind of order 0.
    BesselJ0,
    /// The Bessel function of the first kind of order 1.
    BesselJ1,
    /// The Bessel function of the second kind of order 0.
    BesselY0,
    /// The Bessel function of the second kind of order 1.
    BesselY1,
    /// The gamma function, of positive numbers.
    Gamma,
    /// The logarithm of the gamma function, of positive numbers.
    LogGamma,
    /// The inverse of the distribution function of the standard normal distribution.
    NormalQuantile,
    /// pow with a fixed second argument; it has no name of its own.
    ConstantPower(FixedExponent),
}

use ElementaryFunction::*;
use TargetFunction::*;

/// Functions by their name in CUDA's math library.
pub const TARGETS: [(&str, TargetFunction); 37] = [
    ("exp", Elementary(Exp)),
    ("exp2", Elementary(Exp2)),
    ("exp10", Elementary(Exp10)),
    ("expm1", Elementary(Expm1)),
    ("log", Elementary(Log)),
    ("log2", Elementary(Log2)),
    ("log10", Elementary(Log10)),
    ("log1p", Elementary(Log1p)),
    ("sin", Elementary(Sin)),
    ("cos", Elementary(Cos)),
    ("tan", Elementary(Tan)),
    ("asin", Elementary(Asin)),
    ("acos", Elementary(Acos)),
    ("atan", Elementary(Atan)),
    ("sinh", Elementary(Sinh)),
    ("cosh", Elementary(Cosh)),
    ("tanh", Elementary(Tanh)),
    ("asinh", Elementary(Asinh)),
    ("acosh", Elementary(Acosh)),
    ("atanh", Elementary(Atanh)),
    ("sinpi", Elementary(Sinpi)),
    ("cospi", Elementary(Cospi)),
    ("tanpi", Elementary(Tanpi)),
    ("sqrt", Elementary(Sqrt)),
    ("rsqrt", Elementary(Rsqrt)),
    ("cbrt", Elementary(Cbrt)),
    ("rcbrt", Elementary(Rootn(-3))),
    ("erf", Elementary(Erf)),
    ("erfc", Elementary(Erfc)),
    ("normcdf", NormalDistribution),
    ("j0", BesselJ0),
    ("j1", BesselJ1),
    ("y0", BesselY0),
    ("y1", BesselY1),
    ("tgamma", Gamma),
    ("lgamma", LogGamma),
    ("normcdfinv", NormalQuantile),
];

impl Serialize for TargetFunction {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

/// 1 / sqrt(2), enclosed.
fn inverse_root_of_two(precision: u32) -> MpfrInterval {
    MpfrInterval::int(2, precision).falling(|a, r| a.recip_sqrt_round(r))
}

impl TargetFunction {
    /// The function of a name.
    pub fn find(name: &str) -> Option<TargetFunction> {
        TARGETS.iter().find(|t| t.0 == name).map(|t| t.1)
    }
    /// Its name in CUDA's math library, in f64.
    pub fn name(self) -> &'static str {
        let named = TARGETS.iter().find(|t| t.1 == self);
        named.map_or("pow", |t| t.0)
    }
    /// Whether x is in the domain.
    pub fn is_defined_at(self, x: f64) -> bool {
        match self {
            Elementary(f) => f.has(x),
            BesselY0 | BesselY1 | Gamma | LogGamma => x > 0.0,
            NormalQuantile => x > 0.0 && x < 1.0,
            ConstantPower(c) => x > 0.0 || c.is_of_all_numbers(),
            _ => true,
        }
    }
    /// The domain in words.
    pub fn domain(self) -> &'static str {
        match self {
            Elementary(f) => f.domain(),
            BesselY0 | BesselY1 | Gamma | LogGamma | ConstantPower(_) => "x > 0",
            NormalQuantile => "0 < x < 1",
            _ => "all numbers",
        }
    }
    /// Whether f(-x) = -f(x), or f(-x) = f(x); none where neither holds.
    pub fn is_odd(self) -> Option<bool> {
        match self {
            Elementary(Rootn(-3)) => Some(true),
            Elementary(f) => f.odd(),
            BesselJ0 => Some(false),
            BesselJ1 => Some(true),
            NormalDistribution | BesselY0 | BesselY1 | ConstantPower(_) => None,
            Gamma | LogGamma | NormalQuantile => None,
        }
    }
    /// Whether f(x) / x has a limit other than 0 at 0.
    pub fn has_simple_zero_at_0(self) -> bool {
        match self {
            Elementary(f) => {
                matches!(
                    f,
                    Expm1
                        | Log1p
                        | Log2p1
                        | Log10p1
                        | Sin
                        | Tan
                        | Asin
                        | Atan
                        | Sinh
                        | Tanh
                        | Asinh
                ) || matches!(f, Atanh | Sinpi | Tanpi | Erf)
            }
            BesselJ1 => true,
            _ => false,
        }
    }
    /// The value at x, rounded to `precision` bits, with an error of a few units of the last of them.
    pub fn value(self, x: &Float, precision: u32) -> Float {
        match self {
            Elementary(f) => {
                let mut y = Float::with_val(precision.max(x.prec()), x);
                f.apply(&mut y, Round::Nearest);
                Float::with_val(precision, y)
            }
            NormalDistribution => {
                // The error of the division is multiplied by x times the slope of log erfc, about x^2.
                let more = precision + 64;
                let root = Float::with_val(more, 2).sqrt();
                let scaled = Float::with_val(more, -x) / root;
                Float::with_val(precision, scaled.erfc() / 2)
            }
            BesselJ0 => Float::with_val(precision.max(x.prec()), x).j0(),
            BesselJ1 => Float::with_val(precision.max(x.prec()), x).j1(),
            BesselY0 => Float::with_val(precision.max(x.prec()), x).y0(),
            BesselY1 => Float::with_val(precision.max(x.prec()), x).y1(),
            ConstantPower(c) => c.power(x, precision),
            Gamma => Float::with_val(precision.max(x.prec()), x).gamma(),
            LogGamma => Float::with_val(precision.max(x.prec()), x).ln_gamma(),
            NormalQuantile => normal_quantile::value(x, precision),
        }
    }
    /// Enclosures of f, f'/1!, ..., f^(n)/n! over an interval that does not straddle zero; none where that fails. `n`
    /// is at most [`LARGEST_ORDER`].
    pub fn taylor(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let all = match self {
            Elementary(f) => f.taylor(x, n.min(LARGEST_ORDER))?,
            NormalDistribution => {
                let scale = inverse_root_of_two(x.precision()).neg();
                let inner = Erfc.taylor(&x.mul(&scale), n.min(LARGEST_ORDER))?;
                let mut power = MpfrInterval::int(1, x.precision()).shift(-1);
                let mut next = |c: MpfrInterval| {
                    let scaled = c.mul(&power);
                    power = power.mul(&scale);
                    scaled
                };
                inner.into_iter().map(&mut next).collect()
            }
            BesselJ0 => bessel::first_kind(x, n.min(LARGEST_ORDER), 0),
            BesselJ1 => bessel::first_kind(x, n.min(LARGEST_ORDER), 1),
            BesselY0 => bessel::second_kind(x, n.min(LARGEST_ORDER), 0)?,
            BesselY1 => bessel::second_kind(x, n.min(LARGEST_ORDER), 1)?,
            Gamma => gamma::gamma(x, n.min(LARGEST_ORDER))?,
            LogGamma => gamma::logarithm(x, n.min(LARGEST_ORDER))?,
            NormalQuantile => normal_quantile::taylor(x, n.min(LARGEST_ORDER))?,
            ConstantPower(c) => c.taylor(x, n.min(LARGEST_ORDER))?,
        };
        all.iter().all(MpfrInterval::is_sound).then_some(all)
    }
}

/// [`TargetFunction::taylor`] has no more coefficients than this.
pub const LARGEST_ORDER: usize = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for (name, f) in TARGETS {
            assert_eq!(TargetFunction::find(name), Some(f));
            assert_eq!(f.name(), name);
        }
    }

    /// The Taylor polynomial at 1.25 has the function's value at 1.25 + 2^-7, up to a remainder of 2^-7 to the 11.
    #[test]
    fn taylor_coefficients_have_the_functions_values() {
        for (name, f) in TARGETS {
            let at = if matches!(name, "asin" | "acos" | "atanh" | "normcdfinv") {
                0.25
            } else {
                1.25
            };
            let x = Float::with_val(160, at);
            let c = f.taylor(&MpfrInterval::point(&x, 160), LARGEST_ORDER);
            let c = c.unwrap_or_else(|| panic!("{name} has coefficients"));
            let h = MpfrInterval::int(1, 160).shift(-7);
            let sum = c
                .iter()
                .rev()
                .skip(1)
                .fold(MpfrInterval::int(0, 160), |s, c| s.mul(&h).add(c));
            let exact = f.value(&Float::with_val(160, at + 1.0 / 128.0), 160);
            let off = Float::with_val(160, &sum.lo - &exact).abs().to_f64();
            assert!(off < 1e-15, "{name}: {off}");
        }
    }
}

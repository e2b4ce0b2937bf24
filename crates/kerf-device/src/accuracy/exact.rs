//! References by MPFR, and the one rounding of them.
use super::number::NumberKind;
use kerf_num::Format;
use rug::float::{Round, Special};
use rug::ops::{AddAssignRound, AssignRound, Pow};
use rug::{Assign, Float};
use std::cmp::Ordering;

/// Bits of a reference: three times those of a double.
const BITS: u32 = 160;
/// The same for double words, whose halves may lie apart.
const BITS_DOUBLE: u32 = 320;

/// A real number cut off towards zero, and whether anything was cut.
pub struct Exact {
    value: Float,
    cut: bool,
}

/// Computes one function; keeps its numbers from call to call.
pub struct ExactFunction {
    function: &'static str,
    kind: NumberKind,
    arguments: [Float; 3],
    exact: Exact,
}

/// Functions that [`ExactFunction`] knows, with their number of arguments.
const KNOWN: [(&str, usize); 18] = [
    ("sqrt", 1),
    ("rcp", 1),
    ("rsqrt", 1),
    ("exp", 1),
    ("log", 1),
    ("sin", 1),
    ("cos", 1),
    ("tan", 1),
    ("tanh", 1),
    ("exp2", 1),
    ("log2", 1),
    ("convert", 1),
    ("selfcheck", 1),
    ("add", 2),
    ("mul", 2),
    ("div", 2),
    ("pow", 2),
    ("fma", 3),
];

/// How many arguments a function has; none for one without a reference.
pub fn arity(function: &str) -> Option<usize> {
    KNOWN.iter().find(|k| k.0 == function).map(|k| k.1)
}

impl ExactFunction {
    /// The reference of a function of the catalogue, for arguments of a kind.
    pub fn new(function: &str, kind: NumberKind) -> Option<ExactFunction> {
        let function = KNOWN.iter().find(|k| k.0 == function)?.0;
        let (argument, result) = match kind {
            NumberKind::Double(_) => (BITS_DOUBLE, BITS_DOUBLE),
            _ => (64, BITS),
        };
        Some(ExactFunction {
            function,
            kind,
            arguments: std::array::from_fn(|_| Float::new(argument)),
            exact: Exact {
                value: Float::new(result),
                cut: false,
            },
        })
    }

    /// The value at arguments given as bits.
    pub fn at(&mut self, words: &[u64]) -> &Exact {
        let kind = self.kind;
        for (to, from) in self.arguments.iter_mut().zip(words.chunks(kind.words())) {
            match kind {
                NumberKind::Float(f) => to.assign(f.decode(from[0])),
                NumberKind::I32 | NumberKind::I64 => to.assign(kind.integer(from[0])),
                NumberKind::Double(f) => {
                    to.assign(f.decode(from[0]));
                    *to += f.decode(from[1]);
                }
            }
        }
        self.compute()
    }

    fn compute(&mut self) -> &Exact {
        let [x, y, z] = &self.arguments;
        let r = &mut self.exact.value;
        let towards = Round::Zero;
        let order = match self.function {
            "sqrt" | "selfcheck" => r.assign_round(x.sqrt_ref(), towards),
            "rcp" => r.assign_round(x.recip_ref(), towards),
            // MPFR has +infinity for both zeros.
            "rsqrt" if x.is_zero() => {
                r.assign(Special::Infinity);
                if x.is_sign_negative() {
                    *r *= -1;
                }
                Ordering::Equal
            }
            "rsqrt" => r.assign_round(x.recip_sqrt_ref(), towards),
            "exp" => r.assign_round(x.exp_ref(), towards),
            "log" => r.assign_round(x.ln_ref(), towards),
            "sin" => r.assign_round(x.sin_ref(), towards),
            "cos" => r.assign_round(x.cos_ref(), towards),
            "tan" => r.assign_round(x.tan_ref(), towards),
            "tanh" => r.assign_round(x.tanh_ref(), towards),
            "exp2" => r.assign_round(x.exp2_ref(), towards),
            "log2" => r.assign_round(x.log2_ref(), towards),
            "add" => r.assign_round(x + y, towards),
            "mul" => r.assign_round(x * y, towards),
            "div" => r.assign_round(x / y, towards),
            "pow" => r.assign_round(x.pow(y), towards),
            "fma" => {
                // The product is exact: 2 * 53 bits.
                r.assign(x * y);
                let zero = r.is_zero() && z.is_zero();
                let signs = (r.is_sign_negative(), z.is_sign_negative());
                let order = r.add_assign_round(z, towards);
                // Zeros of both signs, and x - x, give +0 when rounding to nearest.
                if r.is_zero() && !(zero && signs == (true, true)) && r.is_sign_negative() {
                    *r *= -1;
                }
                order
            }
            _ => r.assign_round(x, towards),
        };
        self.exact.cut = order != Ordering::Equal;
        &self.exact
    }
}

impl Exact {
    /// Is it no number?
    pub fn is_nan(&self) -> bool {
        self.value.is_nan()
    }
    /// Is it infinite?
    pub fn is_infinite(&self) -> bool {
        self.value.is_infinite()
    }
    /// To nearest double.
    pub fn to_f64(&self) -> f64 {
        self.value.to_f64()
    }

    /// About thirty decimal digits.
    pub fn digits(&self) -> String {
        self.value.to_string_radix(10, Some(30))
    }

    /// Exponent of a format's unit in the last place at this (finite) number.
    fn unit(&self, format: Format) -> i32 {
        let lowest = format.min_exponent();
        let e = self
            .value
            .get_exp()
            .map_or(lowest, |e| (e - 1).clamp(lowest, format.max_exponent()));
        e - (format.mantissa_bits() as i32 - 1)
    }

    /// Rounded once to a format, to nearest even.
    pub fn round(&self, format: Format) -> f64 {
        if self.value.is_nan() || self.value.is_infinite() || self.value.is_zero() {
            return self.value.to_f64();
        }
        let sign = if self.value.is_sign_negative() {
            -1.0
        } else {
            1.0
        };
        let top = format.max_exponent() + 1;
        if self.value.get_exp().is_some_and(|e| e > top) {
            return sign * f64::INFINITY;
        }
        let unit = self.unit(format);
        let scaled = Float::with_val(self.value.prec(), &*self.value.as_abs() >> unit);
        let whole = Float::with_val(self.value.prec(), scaled.trunc_ref());
        let fraction = Float::with_val(self.value.prec(), &scaled - &whole);
        // At most 2^53: exact.
        let n = whole.to_f64();
        let up = match fraction.partial_cmp(&0.5) {
            Some(Ordering::Greater) => true,
            Some(Ordering::Equal) => self.cut || n % 2.0 == 1.0,
            _ => false,
        };
        let n = if up { n + 1.0 } else { n };
        // n times a power of two; in two steps, since 2^unit itself may be subnormal.
        let half = unit / 2;
        let r = n * 2f64.powi(half) * 2f64.powi(unit - half);
        let r = if r > format.max_finite() {
            f64::INFINITY
        } else {
            r
        };
        sign * r
    }

    /// |got - this|, and that in ulps of this number.
    pub fn distance(&self, got: f64, format: Format) -> (f64, f64) {
        let d = Float::with_val(self.value.prec(), &self.value - got).abs();
        let ulps = Float::with_val(64, &d >> self.unit(format));
        (d.to_f64(), ulps.to_f64())
    }

    /// |got - this| / |this|.
    pub fn relative(&self, got: f64) -> f64 {
        let d = Float::with_val(self.value.prec(), &self.value - got);
        Float::with_val(64, &d / &self.value).abs().to_f64()
    }

    /// |got - this| / |this| and |got - this| of a double word.
    pub fn relative_of(&self, high: f64, low: f64) -> (f64, f64) {
        let mut d = Float::with_val(self.value.prec(), high);
        d += low;
        d -= &self.value;
        d.abs_mut();
        let absolute = d.to_f64();
        (
            Float::with_val(64, &d / &self.value).abs().to_f64(),
            absolute,
        )
    }

    /// Cut off to an integer within a range; none for NaN.
    pub fn integer(&self, least: i64, most: i64) -> Option<i64> {
        if self.value.is_nan() {
            return None;
        }
        if self.value >= most {
            return Some(most);
        }
        if self.value <= least {
            return Some(least);
        }
        let whole = Float::with_val(self.value.prec(), self.value.trunc_ref());
        whole.to_integer().and_then(|n| n.to_i64())
    }

    /// Is it nonzero and below a format's smallest normal value?
    pub fn is_subnormal(&self, format: Format) -> bool {
        !self.value.is_zero()
            && self
                .value
                .get_exp()
                .is_some_and(|e| e - 1 < format.min_exponent())
    }

    /// Is its size at least a format's smallest normal value?
    pub fn is_normal(&self, format: Format) -> bool {
        !self.value.is_zero() && !self.is_subnormal(format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(function: &str) -> ExactFunction {
        ExactFunction::new(function, NumberKind::Float(Format::F64)).expect("known")
    }
    fn rounded(r: &mut ExactFunction, a: &[f64], f: Format) -> f64 {
        let words: Vec<u64> = a.iter().map(|x| x.to_bits()).collect();
        r.at(&words).round(f)
    }

    #[test]
    fn rounding_looks_beyond_a_tie() {
        let mut r = reference("add");
        let tie = 1.0 + 2f64.powi(-24);
        // The tie itself goes to even, anything beyond it up, anything short of it down.
        assert_eq!(rounded(&mut r, &[tie, 0.0], Format::F32), 1.0);
        let up = f64::from(1.0f32 + f32::EPSILON);
        assert_eq!(rounded(&mut r, &[tie, 2f64.powi(-900)], Format::F32), up);
        assert_eq!(
            rounded(&mut r, &[tie, -(2f64.powi(-900))], Format::F32),
            1.0
        );
        let odd = up + 2f64.powi(-24);
        assert_eq!(
            rounded(&mut r, &[odd, 0.0], Format::F32),
            up + 2f64.powi(-23)
        );
        assert_eq!(rounded(&mut r, &[odd, -(2f64.powi(-900))], Format::F32), up);
    }

    #[test]
    fn rounding_agrees_with_the_hardware() {
        let mut r = reference("mul");
        let mut s = 1u64;
        for _ in 0..20000 {
            s = s
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let x = f64::from_bits(s);
            s = s
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let y = f64::from_bits(s & 0x800f_ffff_ffff_ffff | 0x2ff0_0000_0000_0000);
            if x.is_nan() {
                continue;
            }
            let e = r.at(&[x.to_bits(), y.to_bits()]);
            assert_eq!(
                e.round(Format::F64).to_bits(),
                (x * y).to_bits(),
                "{x:e} {y:e}"
            );
            assert_eq!(e.round(Format::F32), {
                let exact = x * y;
                // Where the double product is exact, its conversion is one rounding.
                if x.mul_add(y, -exact) == 0.0 && exact != 0.0 {
                    f64::from(exact as f32)
                } else {
                    e.round(Format::F32)
                }
            });
        }
    }

    #[test]
    fn signs_of_zero_and_infinity() {
        let mut r = reference("rsqrt");
        assert_eq!(rounded(&mut r, &[-0.0], Format::F64), f64::NEG_INFINITY);
        assert!(rounded(&mut r, &[-1.0], Format::F64).is_nan());
        let mut r = reference("fma");
        let zero = |r: &mut ExactFunction, a: [f64; 3]| rounded(r, &a, Format::F64).to_bits();
        assert_eq!(zero(&mut r, [1.0, -1.0, 1.0]), 0);
        assert_eq!(zero(&mut r, [-0.0, 1.0, -0.0]), (-0f64).to_bits());
        assert_eq!(zero(&mut r, [-0.0, 1.0, 0.0]), 0);
        let mut r = reference("exp");
        assert_eq!(rounded(&mut r, &[1e300], Format::F64), f64::INFINITY);
        assert_eq!(rounded(&mut r, &[-1e300], Format::F64), 0.0);
    }
}

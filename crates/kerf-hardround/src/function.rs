//! The functions: names, domains, symmetries, and values by MPFR.
use rug::Float;
use rug::float::Round;
use rug::ops::PowAssignRound;
use std::cmp::Ordering;

/// Largest exponent of `x^n`, and of roots.
pub const LARGEST_POWER: i32 = 64;

/// A function of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum ElementaryFunction {
    Exp,
    Exp2,
    Exp10,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Cbrt,
    Sqrt,
    Rsqrt,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Erfc,
    /// 2^x - 1.
    Exp2m1,
    /// 10^x - 1.
    Exp10m1,
    /// log2(1 + x).
    Log2p1,
    /// log10(1 + x).
    Log10p1,
    /// sin(pi x).
    Sinpi,
    /// cos(pi x).
    Cospi,
    /// tan(pi x).
    Tanpi,
    /// asin(x) / pi.
    Asinpi,
    /// acos(x) / pi.
    Acospi,
    /// atan(x) / pi.
    Atanpi,
    /// x to an integer power other than 0 and 1.
    Power(i32),
    /// x to the power 1/n, for an integer n other than 0, 1 and -1.
    Rootn(i32),
}

use ElementaryFunction::*;

/// All functions but the powers and roots.
pub const FUNCTIONS: [(&str, ElementaryFunction); 35] = [
    ("exp", Exp),
    ("exp2", Exp2),
    ("exp10", Exp10),
    ("expm1", Expm1),
    ("log", Log),
    ("log2", Log2),
    ("log10", Log10),
    ("log1p", Log1p),
    ("sin", Sin),
    ("cos", Cos),
    ("tan", Tan),
    ("asin", Asin),
    ("acos", Acos),
    ("atan", Atan),
    ("sinh", Sinh),
    ("cosh", Cosh),
    ("tanh", Tanh),
    ("cbrt", Cbrt),
    ("sqrt", Sqrt),
    ("rsqrt", Rsqrt),
    ("asinh", Asinh),
    ("acosh", Acosh),
    ("atanh", Atanh),
    ("erf", Erf),
    ("erfc", Erfc),
    ("exp2m1", Exp2m1),
    ("exp10m1", Exp10m1),
    ("log2p1", Log2p1),
    ("log10p1", Log10p1),
    ("sinpi", Sinpi),
    ("cospi", Cospi),
    ("tanpi", Tanpi),
    ("asinpi", Asinpi),
    ("acospi", Acospi),
    ("atanpi", Atanpi),
];

/// At arguments beyond 2 to this, exponentials leave every format.
const FAR: i32 = 12;
/// Beyond these, 1 - |tanh|, 1 + expm1 and the like, and 1 - |erf| are below 2^-257: however many bits are asked for, all
/// arguments have them.
const TANH_LIMIT: f64 = 90.0;
const EXPM1_LIMIT: f64 = -180.0;
const EXP2M1_LIMIT: f64 = -260.0;
const EXP10M1_LIMIT: f64 = -80.0;
const ERF_LIMIT: f64 = 13.5;
/// Beyond this, erfc is below 2^-1300.
const ERFC_LIMIT: f64 = 30.0;

impl ElementaryFunction {
    /// By name: `exp`, ..., `x^3`, `pown:-2`, `rootn:5`.
    pub fn find(name: &str) -> Option<ElementaryFunction> {
        if let Some((_, f)) = FUNCTIONS.into_iter().find(|(n, _)| *n == name) {
            return Some(f);
        }
        if let Some(n) = name.strip_prefix("rootn:") {
            let n: i32 = n.parse().ok()?;
            return (2..=LARGEST_POWER).contains(&n.abs()).then_some(Rootn(n));
        }
        let n = name.strip_prefix("x^").or(name.strip_prefix("pown:"))?;
        let n: i32 = n.parse().ok()?;
        (n != 0 && n != 1 && n.abs() <= LARGEST_POWER).then_some(Power(n))
    }

    /// The name.
    pub fn name(self) -> String {
        match self {
            Power(n) => return format!("x^{n}"),
            Rootn(n) => return format!("rootn:{n}"),
            _ => {}
        }
        let named = FUNCTIONS.into_iter().find(|(_, f)| *f == self);
        named.map_or(String::new(), |(n, _)| n.to_owned())
    }

    /// Whether x is in the domain. The poles of the tangents are.
    pub fn has(self, x: f64) -> bool {
        match self {
            Log | Log2 | Log10 | Rsqrt => x > 0.0,
            Sqrt => x >= 0.0,
            Log1p | Log2p1 | Log10p1 => x > -1.0,
            Asin | Acos | Asinpi | Acospi => x.abs() <= 1.0,
            Acosh => x >= 1.0,
            Atanh => x.abs() < 1.0,
            Power(n) => n > 0 || x != 0.0,
            Rootn(n) => (n > 0 || x != 0.0) && (n % 2 != 0 || x >= 0.0),
            _ => true,
        }
    }

    /// Whether f(-x) is -f(x), or f(x): then one sign tells the other. None where it is neither.
    pub fn odd(self) -> Option<bool> {
        match self {
            Sin | Tan | Asin | Atan | Sinh | Tanh | Cbrt => Some(true),
            Asinh | Atanh | Erf | Sinpi | Tanpi | Asinpi | Atanpi => Some(true),
            Cos | Cosh | Cospi => Some(false),
            Power(n) => Some(n % 2 != 0),
            Rootn(n) if n % 2 != 0 => Some(true),
            _ => None,
        }
    }

    /// The domain in words.
    pub fn domain(self) -> &'static str {
        match self {
            Log | Log2 | Log10 | Rsqrt => "x > 0",
            Sqrt => "x >= 0",
            Log1p | Log2p1 | Log10p1 => "x > -1",
            Asin | Acos | Asinpi | Acospi => "-1 <= x <= 1",
            Acosh => "x >= 1",
            Atanh => "-1 < x < 1",
            Rootn(n) if n % 2 == 0 && n < 0 => "x > 0",
            Rootn(n) if n % 2 == 0 => "x >= 0",
            Power(n) | Rootn(n) if n < 0 => "x other than 0",
            _ => "all numbers",
        }
    }

    /// Whether the result overflows or underflows every format at arguments this large in magnitude, or
    /// does not differ from its limit: a reason not to evaluate. Gives what it is.
    pub fn beyond(self, x: f64) -> Option<&'static str> {
        let at_limit = match self {
            Tanh => x.abs() >= TANH_LIMIT,
            Expm1 => x <= EXPM1_LIMIT,
            Exp2m1 => x <= EXP2M1_LIMIT,
            Exp10m1 => x <= EXP10M1_LIMIT,
            Erf => x.abs() >= ERF_LIMIT,
            Erfc => x <= -ERF_LIMIT,
            _ => false,
        };
        if at_limit {
            return Some("limit");
        }
        if self == Erfc && x >= ERFC_LIMIT {
            return Some("underflow");
        }
        if x.abs() < 2f64.powi(FAR) {
            return None;
        }
        match (self, x > 0.0) {
            (Exp | Exp2 | Exp10, true) | (Sinh | Cosh, _) => Some("overflow"),
            (Expm1 | Exp2m1 | Exp10m1, true) => Some("overflow"),
            (Exp | Exp2 | Exp10, false) => Some("underflow"),
            _ => None,
        }
    }

    /// Bits by which results next to a limit, at arguments up to x, differ from it at least.
    pub fn limit_bits(self, x: f64) -> u32 {
        let size = x.abs();
        let bits = match self {
            Tanh => 3.0 * size.min(TANH_LIMIT),
            Expm1 if x < 0.0 => 1.5 * size.min(-EXPM1_LIMIT),
            Exp2m1 if x < 0.0 => size.min(-EXP2M1_LIMIT) + 2.0,
            Exp10m1 if x < 0.0 => 3.4 * size.min(-EXP10M1_LIMIT),
            Erf => 1.5 * size.min(ERF_LIMIT).powi(2) + 8.0,
            Erfc if x < 0.0 => 1.5 * size.min(ERF_LIMIT).powi(2) + 8.0,
            _ => 0.0,
        };
        bits as u32
    }

    /// Replaces x by the function's value, rounded to x's precision; the order of that to the exact one.
    pub fn apply(self, x: &mut Float, round: Round) -> Ordering {
        match self {
            Exp => x.exp_round(round),
            Exp2 => x.exp2_round(round),
            Exp10 => x.exp10_round(round),
            Expm1 => x.exp_m1_round(round),
            Log => x.ln_round(round),
            Log2 => x.log2_round(round),
            Log10 => x.log10_round(round),
            Log1p => x.ln_1p_round(round),
            Sin => x.sin_round(round),
            Cos => x.cos_round(round),
            Tan => x.tan_round(round),
            Asin => x.asin_round(round),
            Acos => x.acos_round(round),
            Atan => x.atan_round(round),
            Sinh => x.sinh_round(round),
            Cosh => x.cosh_round(round),
            Tanh => x.tanh_round(round),
            Cbrt => x.cbrt_round(round),
            Sqrt => x.sqrt_round(round),
            Rsqrt => x.recip_sqrt_round(round),
            Asinh => x.asinh_round(round),
            Acosh => x.acosh_round(round),
            Atanh => x.atanh_round(round),
            Erf => x.erf_round(round),
            Erfc => x.erfc_round(round),
            Exp2m1 => x.exp2_m1_round(round),
            Exp10m1 => x.exp10_m1_round(round),
            Log2p1 => x.log2_1p_round(round),
            Log10p1 => x.log10_1p_round(round),
            Sinpi => x.sin_pi_round(round),
            Cospi => x.cos_pi_round(round),
            Tanpi => x.tan_pi_round(round),
            Asinpi => x.asin_pi_round(round),
            Acospi => x.acos_pi_round(round),
            Atanpi => x.atan_pi_round(round),
            Power(n) => x.pow_assign_round(n, round),
            Rootn(n) => x.root_i_round(n, round),
        }
    }
}

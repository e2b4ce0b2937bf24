//! Why a site cannot be computed by a math variant.
use crate::site_format::SiteFormat;

/// Why a site cannot be computed by a math variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MathRefusal {
    /// Another function, or another operation.
    #[error(
        "only sin, cos, tan, tanh, exp, exp2, exp10, log, log2, log10, sqrt, rsqrt, 1/x, x/y, pow, hypot and sincos in f32 or f64 have variants"
    )]
    NoVariants,
    /// The site gets a pair format.
    #[error("double words ({0}) have no variants")]
    Pair(SiteFormat),
    /// The site works on vectors, and gets another format too.
    #[error("a site on vectors keeps its format or its variant")]
    Vector,
    /// A reciprocal for another operation than a division.
    #[error("only a division can be by a reciprocal")]
    NotDivision,
    /// The division is in no loop, so that a reciprocal would be used once.
    #[error("it is in no loop, and its divisor is neither a constant nor an argument")]
    NoLoop,
    /// The reciprocal would have to be taken in each iteration.
    #[error("its divisor changes in the loop")]
    DivisorChanges,
    /// A variant of f32 for a site in f64.
    #[error(
        "the special-function unit has no {function} in f64; newton0 to newton2 are its variants, or f32 as its format"
    )]
    SingleOnly {
        /// The function.
        function: &'static str,
    },
    /// A variant of f64 for a narrower site.
    #[error("Newton steps are for f64; approx and approx.ftz are for f32")]
    DoubleOnly,
    /// Newton steps for a function without a seed in f64.
    #[error("the special-function unit has no {function} in f64")]
    NoSeed {
        /// The function.
        function: &'static str,
    },
    /// `tanh.approx` that flushes subnormal numbers.
    #[error("tanh.approx has no form that flushes")]
    TanhFlush,
    /// `div.full` for another operation than a division.
    #[error("div.full is a division")]
    FullDivision,
}

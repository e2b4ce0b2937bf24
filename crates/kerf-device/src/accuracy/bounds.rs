//! Bounds that NVIDIA documents, by operation.
//!
//! Figures are those of the PTX ISA manual (instructions) and of the mathematical functions appendix
//! of the CUDA programming guide (functions and intrinsics). Double words have the bounds that are
//! proven for their algorithms.
use super::records::BoundMeasure::{self, Absolute, Relative, Steps, StepsBeyondExponent};
use crate::profile::Publication;
use std::f64::consts::PI;

/// Key of the PTX ISA manual in a profile's sources.
pub const PTX: &str = "ptx-isa";
/// Key of the CUDA programming guide in a profile's sources.
pub const GUIDE: &str = "cuda-guide";

/// Key of the paper on double-word arithmetic.
pub const DOUBLEWORD: &str = "joldes-2017";
/// Key of the paper on the double-word square root.
pub const DOUBLEWORD_ROOT: &str = "lefevre-2023";

/// The publications behind these keys.
pub fn publications() -> Vec<(&'static str, Publication)> {
    let of = |title: &str, url: Option<&str>| Publication {
        title: title.into(),
        url: url.map(Into::into),
    };
    vec![
        (
            PTX,
            of(
                "NVIDIA, PTX ISA, floating-point instructions",
                Some("https://docs.nvidia.com/cuda/parallel-thread-execution/"),
            ),
        ),
        (
            GUIDE,
            of(
                "NVIDIA, CUDA C++ Programming Guide, mathematical functions",
                Some("https://docs.nvidia.com/cuda/cuda-c-programming-guide/"),
            ),
        ),
        (
            DOUBLEWORD,
            of(
                "Joldes, Muller, Popescu, Tight and rigorous error bounds for basic building blocks of double-word arithmetic, ACM TOMS 44(2), 2017",
                None,
            ),
        ),
        (
            DOUBLEWORD_ROOT,
            of(
                "Lefevre, Louvet, Muller, Picot, Rideau, Accurate calculation of Euclidean norms using double-word arithmetic, ACM TOMS 49(1), 2023",
                None,
            ),
        ),
    ]
}

/// Where a bound holds, by the size of one argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Domain {
    /// Everywhere.
    All,
    /// `a <= |x| <= b`.
    Within(f64, f64),
    /// `a < |x| < b`.
    Between(f64, f64),
    /// `|x| <= a` or `b <= |x|`.
    Outside(f64, f64),
    /// `|x| < a` or `b < |x|`.
    Beyond(f64, f64),
}

impl Domain {
    /// Does it hold an argument?
    pub fn holds(self, x: f64) -> bool {
        let x = x.abs();
        match self {
            Domain::All => true,
            Domain::Within(a, b) => a <= x && x <= b,
            Domain::Between(a, b) => a < x && x < b,
            Domain::Outside(a, b) => x <= a || b <= x,
            Domain::Beyond(a, b) => x < a || b < x,
        }
    }
    /// Values at which the answer may change.
    pub fn edges(self) -> Vec<f64> {
        match self {
            Domain::All => Vec::new(),
            Domain::Within(a, b)
            | Domain::Between(a, b)
            | Domain::Outside(a, b)
            | Domain::Beyond(a, b) => vec![a, b],
        }
    }
}

/// One documented bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Documented {
    /// In words.
    pub words: &'static str,
    /// [`PTX`] or [`GUIDE`].
    pub published: &'static str,
    /// What it limits.
    pub measure: BoundMeasure,
    /// The limit.
    pub limit: f64,
    /// Where it holds.
    pub domain: Domain,
    /// Which argument the domain speaks of.
    pub argument: usize,
}

fn bound(
    words: &'static str,
    published: &'static str,
    measure: BoundMeasure,
    limit: f64,
    domain: Domain,
) -> Documented {
    Documented {
        words,
        published,
        measure,
        limit,
        domain,
        argument: 0,
    }
}

fn ulps(n: u32) -> Vec<Documented> {
    let words = ["correctly rounded", "1 ulp", "2 ulp", "3 ulp", "4 ulp"];
    let words = words.get(n as usize).copied().unwrap_or("ulp");
    vec![bound(words, GUIDE, Steps, f64::from(n), Domain::All)]
}

/// A bound on the relative error of double words: a u^2 + b u^3 with u = 2^-p.
fn proven(words: &'static str, published: &'static str, a: f64, b: f64, p: i32) -> Vec<Documented> {
    let u = 2f64.powi(-p);
    let limit = a * u * u + b * u * u * u;
    vec![bound(words, published, Relative, limit, Domain::All)]
}

/// The bounds of an operation.
pub fn documented(key: &str) -> Vec<Documented> {
    let families = [rounded, doublewords, functions, approximations];
    let mut found = families.into_iter().map(|family| family(key));
    found.find(|bounds| !bounds.is_empty()).unwrap_or_default()
}

/// Arithmetic, roots, quotients and conversions, which are correctly rounded.
fn rounded(key: &str) -> Vec<Documented> {
    match key {
        "sqrt.f32" | "rcp.f32" | "div.f32" | "sqrt.f64" | "rcp.f64" | "div.f64" => ulps(0),
        "add.f16" | "mul.f16" | "fma.f16" | "add.bf16" | "mul.bf16" | "fma.bf16" | "add.f16x2"
        | "mul.f16x2" | "fma.f16x2" | "add.bf16x2" | "mul.bf16x2" | "fma.bf16x2" | "add.f32"
        | "mul.f32" | "fma.f32" | "add.f64" | "mul.f64" | "fma.f64" => {
            vec![bound("correctly rounded", PTX, Steps, 0.0, Domain::All)]
        }
        _ if key.starts_with("convert.") => {
            vec![bound("correctly rounded", PTX, Steps, 0.0, Domain::All)]
        }
        _ => Vec::new(),
    }
}

/// Arithmetic in double words.
fn doublewords(key: &str) -> Vec<Documented> {
    match key {
        "add.dw32" => proven("3u^2 + 13u^3", DOUBLEWORD, 3.0, 13.0, 24),
        "add.dw64" => proven("3u^2 + 13u^3", DOUBLEWORD, 3.0, 13.0, 53),
        "mul.dw32" => proven("5u^2", DOUBLEWORD, 5.0, 0.0, 24),
        "mul.dw64" => proven("5u^2", DOUBLEWORD, 5.0, 0.0, 53),
        "div.dw32" => proven("15u^2 + 56u^3", DOUBLEWORD, 15.0, 56.0, 24),
        "div.dw64" => proven("15u^2 + 56u^3", DOUBLEWORD, 15.0, 56.0, 53),
        "sqrt.dw32" => proven("25/8 u^2", DOUBLEWORD_ROOT, 3.125, 0.0, 24),
        "sqrt.dw64" => proven("25/8 u^2", DOUBLEWORD_ROOT, 3.125, 0.0, 53),
        _ => Vec::new(),
    }
}

/// Functions of libdevice.
fn functions(key: &str) -> Vec<Documented> {
    match key {
        "log.f32" | "log2.f32" => ulps(1),
        "exp.f32" | "exp2.f32" | "sin.f32" | "cos.f32" | "tanh.f32" => ulps(2),
        "tan.f32" | "pow.f32" => ulps(4),
        "exp.f64" | "log.f64" | "exp2.f64" | "log2.f64" | "rsqrt.f64" => ulps(1),
        "pow.f64" | "sin.f64" | "cos.f64" => ulps(2),
        _ => Vec::new(),
    }
}

/// The special-function unit's sine and cosine: the manual's bounds, and the guide's own.
fn wave(words: &'static str, limit: f64) -> Vec<Documented> {
    use Domain::Within;
    vec![
        bound(
            "2^-20.5 absolute for |x| <= 2 pi",
            PTX,
            Absolute,
            2f64.powf(-20.5),
            Within(0.0, 2.0 * PI),
        ),
        bound(
            "2^-14.7 absolute for |x| <= 100 pi",
            PTX,
            Absolute,
            2f64.powf(-14.7),
            Within(0.0, 100.0 * PI),
        ),
        bound(words, GUIDE, Absolute, 2f64.powf(limit), Within(0.0, PI)),
    ]
}

/// The special-function unit's quotient.
fn quotient() -> Documented {
    Documented {
        argument: 1,
        ..bound(
            "2 ulp for 2^-126 <= |y| <= 2^126",
            PTX,
            Steps,
            2.0,
            Domain::Within(2f64.powi(-126), 2f64.powi(126)),
        )
    }
}

/// The special-function unit's logarithms.
fn logarithms(key: &str) -> Vec<Documented> {
    use Domain::{Between, Beyond, Outside, Within};
    match key {
        "log2.f32.sfu" => vec![
            bound(
                "2^-22 absolute for 0.5 < x < 2",
                PTX,
                Absolute,
                2f64.powi(-22),
                Between(0.5, 2.0),
            ),
            bound(
                "2^-22 relative outside (0.5, 2)",
                PTX,
                Relative,
                2f64.powi(-22),
                Outside(0.5, 2.0),
            ),
        ],
        "log.f32.sfu" => vec![
            bound(
                "2^-21.41 absolute for 0.5 <= x <= 2 (__logf)",
                GUIDE,
                Absolute,
                2f64.powf(-21.41),
                Within(0.5, 2.0),
            ),
            bound(
                "3 ulp outside [0.5, 2] (__logf)",
                GUIDE,
                Steps,
                3.0,
                Beyond(0.5, 2.0),
            ),
        ],
        _ => Vec::new(),
    }
}

/// Operations of the special-function unit.
fn approximations(key: &str) -> Vec<Documented> {
    let relative = |words, limit| bound(words, PTX, Relative, limit, Domain::All);
    match key {
        "rcp.f32.sfu" => vec![bound("1 ulp", PTX, Steps, 1.0, Domain::All)],
        "div.f32.sfu" => vec![quotient()],
        "sqrt.f32.sfu" => vec![relative("2^-23 relative", 2f64.powi(-23))],
        "rsqrt.f32.sfu" => vec![
            relative("2^-22.9 relative", 2f64.powf(-22.9)),
            bound("2 ulp (rsqrtf)", GUIDE, Steps, 2.0, Domain::All),
        ],
        "sin.f32.sfu" => wave("2^-21.41 absolute for |x| <= pi (__sinf)", -21.41),
        "cos.f32.sfu" => wave("2^-21.19 absolute for |x| <= pi (__cosf)", -21.19),
        "log2.f32.sfu" | "log.f32.sfu" => logarithms(key),
        "exp2.f32.sfu" => vec![bound("2 ulp", PTX, Steps, 2.0, Domain::All)],
        "exp.f32.sfu" => vec![bound(
            "2 + floor(|1.173 x|) ulp (__expf); seen is the excess over the floor",
            GUIDE,
            StepsBeyondExponent,
            2.0,
            Domain::All,
        )],
        "tanh.f32.sfu" => vec![relative("2^-11 relative", 2f64.powi(-11))],
        "exp2.f16.sfu" => vec![relative("2^-9.9 relative", 2f64.powf(-9.9))],
        "exp2.bf16.sfu" => vec![relative("2^-7 relative", 2f64.powi(-7))],
        _ => Vec::new(),
    }
}

/// Where the headline figures of an operation are taken; its error map covers everything.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Headline {
    /// The domain.
    pub domain: Domain,
    /// Which argument it speaks of.
    pub argument: usize,
    /// The restriction, in words.
    pub words: Option<&'static str>,
}

/// The headline domain of an operation.
pub fn headline(key: &str) -> Headline {
    let within = |argument, a, b, words| Headline {
        domain: Domain::Within(a, b),
        argument,
        words: Some(words),
    };
    match key {
        // Beyond, the instruction reduces its argument with too few bits of pi, and errors are
        // those of another angle.
        "sin.f32.sfu" | "cos.f32.sfu" | "tan.f32.sfu" => {
            within(0, 0.0, 2.0 * PI, "overall figures are for |x| <= 2 pi")
        }
        // The reciprocal of what is larger is flushed to zero, whatever the quotient.
        "div.f32.sfu" => within(
            1,
            2f64.powi(-126),
            2f64.powi(126),
            "overall figures are for 2^-126 <= |y| <= 2^126",
        ),
        "div.f64.sfu" => within(
            1,
            2f64.powi(-1022),
            2f64.powi(1022),
            "overall figures are for 2^-1022 <= |y| <= 2^1022",
        ),
        _ => Headline {
            domain: Domain::All,
            argument: 0,
            words: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_fits_a_kernel_and_names_an_operation() {
        let keys = crate::operation::catalogue();
        let mut n = 0;
        let known = publications();
        for o in &keys {
            let bounds = documented(&o.key);
            for b in &bounds {
                assert!(known.iter().any(|k| k.0 == b.published), "{}", b.published);
            }
            assert!(bounds.len() <= super::super::records::BOUNDS, "{}", o.key);
            n += usize::from(!bounds.is_empty());
        }
        // Every arm above names operations of the catalogue.
        let functions = 6 + 2 + 5 + 2 + 5 + 3 + 13;
        assert_eq!(n, functions + 18 + 28 + 8);
    }
}

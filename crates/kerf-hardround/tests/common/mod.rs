//! Random numbers and ranges for the tests.
#![allow(dead_code)] // Each test uses some of it.
use kerf_hardround::format::{BinadeGrid, BinaryFormat};
use kerf_hardround::function::{ElementaryFunction, FUNCTIONS};
use kerf_hardround::leaf::{FoundCases, PieceMethod};

/// A counter-based generator (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// The hard arguments of a range; pieces where all are hard are not listed one by one.
pub fn listed(found: &FoundCases, g: &BinadeGrid) -> Vec<f64> {
    let mut all: Vec<f64> = found.cases.iter().map(|c| c.x).collect();
    let pieces = found.pieces.iter();
    for p in pieces.filter(|p| p.method == PieceMethod::AllHard) {
        all.extend((p.first..p.first + p.length).map(|m| g.value(m)));
    }
    all.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    all
}

/// All functions, and some powers and roots.
pub fn functions() -> Vec<ElementaryFunction> {
    let named = FUNCTIONS.into_iter().map(|(_, f)| f);
    named
        .chain([-3, -1, 2, 3, 5, 10].map(ElementaryFunction::Power))
        .chain([-5, -2, 4, 7].map(ElementaryFunction::Rootn))
        .collect()
}

/// Binades of arguments that make sense for a function: exponents of the leading bit.
fn exponents(f: ElementaryFunction) -> (i32, i32) {
    use ElementaryFunction::*;
    match f {
        Asin | Acos | Asinpi | Acospi | Atanh => (-30, -1),
        Log1p | Log2p1 | Log10p1 | Atan | Atanpi => (-30, 30),
        Exp | Exp2 | Expm1 | Exp2m1 => (-30, 8),
        Exp10 | Exp10m1 | Sinh | Cosh => (-30, 7),
        Sin | Cos | Tan | Sinpi | Cospi | Tanpi => (-30, 12),
        Tanh => (-30, 3),
        Erf => (-30, 2),
        Erfc => (-30, 4),
        Acosh => (0, 1000),
        Power(_) => (-20, 20),
        _ => (-1000, 1000),
    }
}

/// A random range of `length` arguments in one binade of the function's domain; often near the ends of the
/// binade or of the domain.
pub fn range(
    f: ElementaryFunction,
    format: BinaryFormat,
    length: u64,
    r: &mut Random,
) -> BinadeGrid {
    let (low, high) = exponents(f);
    let top = 1u64 << format.precision;
    let e = match r.below(4) {
        // Around 1, where logarithms have their zero and arcs their edge.
        0 => -1 + r.below(2) as i32,
        _ => low + r.below((high - low + 1) as u64) as i32,
    };
    let e = e.clamp(low, high);
    let negative = f.has(-1.5 * 2f64.powi(e)) && r.below(2) == 0;
    let length = length.min(top / 2);
    let first = match r.below(4) {
        0 => top / 2,
        1 => top - length,
        _ => top / 2 + r.below(top / 2 - length + 1),
    };
    BinadeGrid {
        negative,
        exponent: e - (format.precision as i32 - 1),
        first,
        end: first + length,
    }
}

//! Several numbers at once, for sums that are the same but for their numbers: the machine adds them in one go.
//!
//! Each lane goes through the operations that a single number would, in the same order, so that no result depends on
//! what is in the other lanes.
use std::array::from_fn;
use std::ops::{Add, Mul, Sub};

/// How many numbers.
pub const LANES: usize = 8;

/// The numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct F64Lanes(pub [f64; LANES]);

impl F64Lanes {
    /// Nothing in any lane.
    pub const ZERO: F64Lanes = F64Lanes([0.0; LANES]);

    /// The same in all lanes.
    #[inline(always)]
    pub fn all(x: f64) -> F64Lanes {
        F64Lanes([x; LANES])
    }

    /// A number for each lane.
    #[inline(always)]
    pub fn each(f: impl FnMut(usize) -> f64) -> F64Lanes {
        F64Lanes(from_fn(f))
    }

    /// Adds a product.
    #[inline(always)]
    pub fn add_product(&mut self, a: &F64Lanes, b: &F64Lanes) {
        for (s, (a, b)) in self.0.iter_mut().zip(a.0.iter().zip(&b.0)) {
            *s += a * b;
        }
    }

    /// Adds a multiple.
    #[inline(always)]
    pub fn add_scaled(&mut self, a: &F64Lanes, by: f64) {
        for (s, a) in self.0.iter_mut().zip(&a.0) {
            *s += a * by;
        }
    }
}

impl Add for F64Lanes {
    type Output = F64Lanes;
    #[inline(always)]
    fn add(self, b: F64Lanes) -> F64Lanes {
        F64Lanes(from_fn(|i| self.0[i] + b.0[i]))
    }
}

impl Sub for F64Lanes {
    type Output = F64Lanes;
    #[inline(always)]
    fn sub(self, b: F64Lanes) -> F64Lanes {
        F64Lanes(from_fn(|i| self.0[i] - b.0[i]))
    }
}

impl Mul for F64Lanes {
    type Output = F64Lanes;
    #[inline(always)]
    fn mul(self, b: F64Lanes) -> F64Lanes {
        F64Lanes(from_fn(|i| self.0[i] * b.0[i]))
    }
}

/// A number for each level of each variable, one after the other.
#[derive(Debug, Clone, Default)]
pub struct LevelRows {
    first: Vec<usize>,
    /// How many there are.
    pub count: usize,
}

impl LevelRows {
    /// By the number of levels of each variable.
    pub fn new(levels: impl Iterator<Item = usize>) -> LevelRows {
        let mut rows = LevelRows::default();
        for n in levels {
            rows.first.push(rows.count);
            rows.count += n;
        }
        rows
    }

    /// The number of a variable's level.
    #[inline(always)]
    pub fn at(&self, variable: usize, level: u8) -> usize {
        self.first[variable] + usize::from(level)
    }
}

/// How many variables differ.
pub fn distance(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).map(|(x, y)| usize::from(x != y)).sum()
}

/// What a function of as many assignments as there are lanes gives for each of any number.
pub fn each_of<A: AsRef<[u8]>>(all: &[A], f: impl Fn([&[u8]; LANES]) -> F64Lanes) -> Vec<f64> {
    let mut out = Vec::with_capacity(all.len());
    for some in all.chunks(LANES) {
        let batch = from_fn(|k| some[k.min(some.len() - 1)].as_ref());
        out.extend_from_slice(&f(batch).0[..some.len()]);
    }
    out
}

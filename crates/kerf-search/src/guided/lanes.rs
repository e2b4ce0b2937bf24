//! Several numbers at once, for sums that are the same but for their numbers: the machine adds them in one go.
//!
//! Each lane goes through the operations that a single number would, in the same order, so that no result depends on
//! what is in the other lanes.
use std::array::from_fn;
use std::num::NonZero;
use std::ops::{Add, Mul, Sub};
use std::sync::OnceLock;

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

/// Assignments by as many as there are lanes; the last one again where fewer are left.
pub fn batches<'a>(all: &'a [&'a [u8]]) -> impl Iterator<Item = [&'a [u8]; LANES]> {
    let batch = |some: &'a [&'a [u8]]| from_fn(|k| some[k.min(some.len() - 1)]);
    all.chunks(LANES).map(batch)
}

/// A function of each of some, on as many threads as the machine has, no fewer than `least` on each.
pub fn spread<T: Sync, R: Send>(all: &[T], least: usize, f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    static THREADS: OnceLock<usize> = OnceLock::new();
    let threads =
        *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get));
    let each = all.len().div_ceil(threads).max(least).max(1);
    let some = |part: &[T]| -> Vec<R> { part.iter().map(&f).collect() };
    let (mine, others) = all.split_at(each.min(all.len()));
    if others.is_empty() {
        return some(mine);
    }
    std::thread::scope(|scope| {
        let others = others.chunks(each);
        let others: Vec<_> = others.map(|p| (p, scope.spawn(|| some(p)))).collect();
        let mut out = some(mine);
        for (part, thread) in others {
            // What a thread did not come to the end of is made up for here.
            out.extend(thread.join().unwrap_or_else(|_| some(part)));
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_keep_the_order() {
        let all: Vec<usize> = (0..100).collect();
        for least in [1, 7, 1000] {
            let twice = spread(&all, least, |x| 2 * x);
            assert_eq!(twice, all.iter().map(|x| 2 * x).collect::<Vec<_>>());
        }
        assert!(spread(&[0; 0], 1, |x| *x).is_empty());
    }

    #[test]
    fn what_is_left_of_a_batch_is_the_last_one() {
        let all: Vec<Vec<u8>> = (0..LANES as u8 + 2).map(|i| vec![i]).collect();
        let all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        let firsts: Vec<Vec<u8>> = batches(&all).map(|b| b.map(|a| a[0]).to_vec()).collect();
        assert_eq!(firsts[0], (0..LANES as u8).collect::<Vec<_>>());
        assert_eq!(firsts[1][..3], [8, 9, 9]);
    }
}

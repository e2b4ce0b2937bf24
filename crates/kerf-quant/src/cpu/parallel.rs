//! Work in parts whose number does not depend on the number of threads, so that sums have the same bits.
use rayon::prelude::*;

/// Parts that samples are divided into where their contributions are added up.
pub const PARTS: usize = 16;

/// Elements of one part of simple work.
pub const ELEMENTS: usize = 1 << 14;

/// Samples in each part.
pub fn part(rows: usize) -> usize {
    rows.div_ceil(PARTS).max(1)
}

/// Adds sums of parts to a gradient, in the order of the parts.
pub fn add_all(to: &mut [f32], sums: &[Vec<f32>]) {
    to.par_chunks_mut(ELEMENTS / 8)
        .enumerate()
        .for_each(|(i, to)| {
            for s in sums {
                let s = &s[i * (ELEMENTS / 8)..];
                to.iter_mut().zip(s).for_each(|(t, v)| *t += v);
            }
        });
}

/// Each element from one.
pub fn map(x: &[f32], y: &mut [f32], f: impl Fn(&[f32], &mut [f32]) + Sync) {
    let parts = x.par_chunks(ELEMENTS);
    y.par_chunks_mut(ELEMENTS)
        .zip(parts)
        .for_each(|(y, x)| f(x, y));
}

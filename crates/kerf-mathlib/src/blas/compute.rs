//! The product of two packed matrices.
//!
//! Every element is one chain of fused multiply-adds in the order of the inner dimension, so that its bits do not depend on how the
//! product is cut into tiles, on threads or on the processor.
use super::matrix::Dense;
use super::scalar::BlasNumber;
use rayon::prelude::*;

/// Rows of a tile.
const ROWS: usize = 8;
/// Columns of a tile.
const COLUMNS: usize = 4;

/// The rows of a matrix in strips of [`ROWS`], each with its columns one after the other; zeros fill the last one.
fn strips<T: BlasNumber>(a: &Dense<T>) -> Vec<[T; ROWS]> {
    let mut out = Vec::with_capacity(a.rows.div_ceil(ROWS) * a.columns);
    for first in (0..a.rows).step_by(ROWS) {
        for k in 0..a.columns {
            let row = |r: usize| match first + r < a.rows {
                true => a.at(first + r, k),
                false => T::ZERO,
            };
            out.push(std::array::from_fn(row));
        }
    }
    out
}

/// One tile: a strip of rows times some columns.
#[inline(always)]
fn tile<T: BlasNumber>(strip: &[[T; ROWS]], columns: &[&[T]; COLUMNS]) -> [[T; ROWS]; COLUMNS] {
    let mut sums = [[T::ZERO; ROWS]; COLUMNS];
    for (k, a) in strip.iter().enumerate() {
        for (sum, column) in sums.iter_mut().zip(columns) {
            let b = column[k];
            for (s, a) in sum.iter_mut().zip(a) {
                *s = a.fused(b, *s);
            }
        }
    }
    sums
}

/// The columns of a product that `b` has, whose last ones may repeat.
#[inline(always)]
fn panel<T: BlasNumber>(strips: &[[T; ROWS]], rows: usize, b: &[&[T]; COLUMNS], out: &mut [T]) {
    let inner = b[0].len();
    for (s, strip) in strips.chunks(inner).enumerate() {
        let sums = tile(strip, b);
        let first = s * ROWS;
        let count = ROWS.min(rows - first);
        for (column, sum) in out.chunks_mut(rows).zip(&sums) {
            column[first..first + count].copy_from_slice(&sum[..count]);
        }
    }
}

/// [`panel`] with the processor's own fused multiply-add.
///
/// # Safety
/// The processor has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn panel_fma<T: BlasNumber>(
    strips: &[[T; ROWS]],
    rows: usize,
    b: &[&[T]; COLUMNS],
    out: &mut [T],
) {
    panel(strips, rows, b, out);
}

/// `A B`.
pub fn multiply<T: BlasNumber>(a: &Dense<T>, b: &Dense<T>) -> Dense<T> {
    let (rows, columns, inner) = (a.rows, b.columns, a.columns);
    let mut data = vec![T::ZERO; rows * columns];
    if rows == 0 || columns == 0 || inner == 0 {
        return Dense {
            rows,
            columns,
            data,
        };
    }
    let strips = strips(a);
    #[cfg(target_arch = "x86_64")]
    let has_fma = std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    let one = |(p, out): (usize, &mut [T])| {
        let column = |c: usize| {
            let j = (p * COLUMNS + c).min(columns - 1);
            &b.data[j * inner..][..inner]
        };
        let chosen: [&[T]; COLUMNS] = std::array::from_fn(column);
        #[cfg(target_arch = "x86_64")]
        if has_fma {
            // SAFETY: the processor was asked.
            unsafe { panel_fma(&strips, rows, &chosen, out) };
            return;
        }
        panel(&strips, rows, &chosen, out);
    };
    // Threads are not worth their start for a small product.
    if rows * columns * inner < 1 << 16 {
        data.chunks_mut(rows * COLUMNS).enumerate().for_each(one);
    } else {
        data.par_chunks_mut(rows * COLUMNS)
            .enumerate()
            .for_each(one);
    }
    Dense {
        rows,
        columns,
        data,
    }
}

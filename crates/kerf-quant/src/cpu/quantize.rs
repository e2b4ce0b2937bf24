//! Quantization of whole tensors, in parallel, and what was seen of them.
use super::parallel::ELEMENTS;
use crate::decision::{Decision, Histogram, PointGradient};
use crate::points::QuantizationPoint;
use crate::quantizer::{self, Grids};
use rayon::prelude::*;

/// A tensor at a point: what it spanned, and its quantized form unless it was left as it is.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub spans: Vec<(f32, f32)>,
    pub histogram: Option<Histogram>,
    pub quantized: Option<(Vec<f32>, Vec<Grids>)>,
}

/// Lowest and highest value of a tensor, or of each channel.
fn spans(x: &[f32], channels: Option<usize>) -> Vec<(f32, f32)> {
    match channels {
        Some(n) if n > 0 && !x.is_empty() => x
            .par_chunks(x.len() / n)
            .with_min_len(8)
            .map(quantizer::min_max)
            .collect(),
        _ => {
            let parts: Vec<(f32, f32)> = x.par_chunks(ELEMENTS).map(quantizer::min_max).collect();
            let wider = |a: (f32, f32), b: &(f32, f32)| match a.0.is_nan() || b.0.is_nan() {
                true => (f32::NAN, f32::NAN),
                false => (a.0.min(b.0), a.1.max(b.1)),
            };
            let first = parts.first().copied().unwrap_or_default();
            vec![parts.iter().fold(first, wider)]
        }
    }
}

fn histogram(x: &[f32], lo: f32, hi: f32, parts: usize) -> Histogram {
    let of = |x: &[f32]| Histogram::from_values(x, lo, hi, parts);
    // Whole numbers far below 2^53: sums in any order are exact.
    let add = |mut a: Histogram, b: Histogram| {
        a.counts
            .iter_mut()
            .zip(&b.counts)
            .for_each(|(a, b)| *a += b);
        a
    };
    let all = x.par_chunks(16 * ELEMENTS).map(of).reduce_with(add);
    all.unwrap_or_else(|| Histogram::from_values(&[], lo, hi, parts))
}

/// Quantizes a tensor. Spans are found where the range or a report needs them.
pub fn look(
    x: &[f32],
    p: &QuantizationPoint,
    d: &Decision,
    report: bool,
    parts: Option<usize>,
) -> Seen {
    let observed =
        matches!(d.range, crate::decision::GridRange::Observed { .. }) && d.steps.is_some();
    let seen = match observed || report {
        true => spans(x, p.channels),
        false => Vec::new(),
    };
    let parts = parts.filter(|_| !p.is_weight() && seen.first().is_some_and(|s| s.0.is_finite()));
    let histogram = parts.map(|n| histogram(x, seen[0].0, seen[0].1, n));
    let quantized = quantizer::grids(d, &seen).map(|grids| {
        let mut y = vec![0.0; x.len()];
        each(x, &mut y, &grids, |x, y, g, at| {
            quantizer::forward(x, y, g, d, at)
        });
        (y, grids)
    });
    Seen {
        spans: seen,
        histogram,
        quantized,
    }
}

/// Calls for pieces of a tensor with the grid and the number of the first element.
fn each(
    x: &[f32],
    y: &mut [f32],
    grids: &[Grids],
    f: impl Fn(&[f32], &mut [f32], &Grids, usize) + Sync,
) {
    if let [g] = grids {
        let pieces = y.par_chunks_mut(ELEMENTS).zip(x.par_chunks(ELEMENTS));
        pieces
            .enumerate()
            .for_each(|(i, (y, x))| f(x, y, g, i * ELEMENTS));
    } else {
        let part = x.len().div_ceil(grids.len()).max(1);
        let pieces = y.par_chunks_mut(part).zip(x.par_chunks(part)).zip(grids);
        let pieces = pieces.enumerate().with_min_len(8);
        pieces.for_each(|(i, ((y, x), g))| f(x, y, g, i * part));
    }
}

/// Turns the gradient of a tensor's quantized form into that of the tensor; gives the point's sums if wanted.
pub fn through(
    x: &[f32],
    grad: &mut [f32],
    grids: &[Grids],
    d: &Decision,
    sums: bool,
) -> Option<PointGradient> {
    if !sums {
        each(x, grad, grids, |x, g, grid, at| {
            quantizer::backward(x, g, grid, d, at, None)
        });
        return None;
    }
    let part = match grids {
        [_] => ELEMENTS,
        _ => x.len().div_ceil(grids.len()).max(1),
    };
    let pieces = grad
        .par_chunks_mut(part)
        .zip(x.par_chunks(part))
        .enumerate();
    let all: Vec<PointGradient> = pieces
        .map(|(i, (g, x))| {
            let mut own = PointGradient::default();
            let grid = if grids.len() == 1 {
                &grids[0]
            } else {
                &grids[i]
            };
            quantizer::backward(x, g, grid, d, i * part, Some(&mut own));
            own
        })
        .collect();
    Some(
        all.iter()
            .fold(PointGradient::default(), |a, b| PointGradient {
                above: a.above + b.above,
                below: a.below + b.below,
                step: a.step + b.step,
                blend: a.blend + b.blend,
            }),
    )
}

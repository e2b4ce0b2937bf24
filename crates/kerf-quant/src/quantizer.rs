//! The quantizer: ranges to grids, values to grids and back, gradients through them.
//!
//! Every backend gives the bits of this file. Formulas are in [`crate::decision`]; they follow Dao (2021), section
//! 4.3, but for rounding: half to even, as ONNX and PyTorch do, where the print rounds half up. What a NaN or an
//! infinity in a tensor does: a NaN stays one; an infinity ends at the end of a fixed range, and makes an observed
//! range, and with it the whole tensor, NaN, which training reports as a loss that is no number.
use crate::decision::{Decision, GridRange, Noise, PointGradient, Scheme};
use crate::seed;
use kerf_num::wide;

/// Bits from which on nothing is done: `f32` itself has 24.
pub const PASS_BITS: f64 = 24.0;

/// Steps between the lowest and highest of `2^bits` values, rounded to a whole number where bits are a fraction.
/// `None` from [`PASS_BITS`] on.
pub fn steps(bits: f64) -> Option<f32> {
    (bits < PASS_BITS).then(|| (bits.exp2().round() - 1.0).max(1.0) as f32)
}

/// The values that a tensor can take: whole multiples of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantizationGrid {
    /// Between neighbours.
    pub step: f32,
    /// `1 / step`, rounded: places are found by a product, as engines do.
    pub inverse: f32,
    /// The lowest multiple, 0 or less.
    pub low: f32,
    /// The highest, 0 or more.
    pub high: f32,
}

/// Adding this to a number below 2^22 rounds it to a whole one, half to even, in the default rounding mode.
const ROUND: f32 = 12_582_912.0;

/// Up to this many steps [`ROUND`] works.
const FAST_STEPS: f32 = 2_097_152.0;

impl QuantizationGrid {
    /// The grid of a range.
    pub fn new(lo: f32, hi: f32, steps: f32, scheme: Scheme) -> QuantizationGrid {
        // `min` and `max` would hide a NaN.
        let lo = if lo > 0.0 { 0.0 } else { lo };
        let hi = if hi < 0.0 { 0.0 } else { hi };
        let half = (steps / 2.0).floor().max(1.0);
        let reach = if -lo > hi { -lo } else { hi };
        let reach = if lo.is_nan() { lo } else { reach };
        let span = match scheme {
            Scheme::Affine => (hi - lo) / steps,
            Scheme::Symmetric => reach / half,
            Scheme::Printed => 2.0 * reach / steps,
        };
        let step = match span {
            0.0 if lo == hi => 1.0,
            s if s < f32::MIN_POSITIVE => f32::MIN_POSITIVE,
            s => s,
        };
        let (low, high) = match scheme {
            Scheme::Affine => {
                let zero = (-lo / step).round_ties_even();
                // A range that is no number has no zero point.
                let zero = if zero.is_finite() {
                    zero.min(steps)
                } else {
                    0.0
                };
                (-zero, steps - zero)
            }
            Scheme::Symmetric => (-half, half),
            Scheme::Printed => (
                -((steps + 1.0) / 2.0).floor().max(1.0),
                (steps / 2.0).floor(),
            ),
        };
        QuantizationGrid {
            step,
            inverse: 1.0 / step,
            low,
            high,
        }
    }
    /// The unsigned integer that stands for zero.
    pub fn zero_point(&self) -> i32 {
        -self.low as i32
    }
    /// The multiple that a value is nearest to, also outside of the grid, but not farther than one step.
    pub fn place(&self, x: f32) -> f32 {
        (x * self.inverse)
            .clamp(self.low - 1.0, self.high + 1.0)
            .round_ties_even()
    }
    /// The nearest value of the grid.
    pub fn value(&self, x: f32) -> f32 {
        self.place(x).clamp(self.low, self.high) * self.step
    }
    /// Whether a gradient goes through.
    pub fn inside(&self, x: f32) -> bool {
        let r = self.place(x);
        r >= self.low && r <= self.high
    }
    /// Ends of the grid.
    pub fn ends(&self) -> (f32, f32) {
        (self.low * self.step, self.high * self.step)
    }
}

wide! {
    /// Lowest and highest value; NaN if there is one. Zeros for nothing.
    pub fn min_max(x: &[f32]) -> (f32, f32) {
        let Some(first) = x.first() else { return (0.0, 0.0) };
        let mut lo = [*first; 8];
        let mut hi = [*first; 8];
        let mut odd = [false; 8];
        let mut rest = x.chunks_exact(8);
        for c in rest.by_ref() {
            (0..8).for_each(|i| {
                lo[i] = if c[i] < lo[i] { c[i] } else { lo[i] };
                hi[i] = if c[i] > hi[i] { c[i] } else { hi[i] };
                odd[i] |= c[i].is_nan();
            });
        }
        for v in rest.remainder() {
            lo[0] = if *v < lo[0] { *v } else { lo[0] };
            hi[0] = if *v > hi[0] { *v } else { hi[0] };
            odd[0] |= v.is_nan();
        }
        if odd.contains(&true) {
            return (f32::NAN, f32::NAN);
        }
        let lo = lo.iter().fold(lo[0], |a, b| a.min(*b));
        (lo, hi.iter().fold(hi[0], |a, b| a.max(*b)))
    }
}

wide! {
    fn round_fast(x: &[f32], y: &mut [f32], step: f32, inverse: f32, low: f32, high: f32) {
        for (y, x) in y.iter_mut().zip(x) {
            let r = ((x * inverse).clamp(low - 1.0, high + 1.0) + ROUND) - ROUND;
            *y = r.clamp(low, high) * step;
        }
    }
}

wide! {
    fn through_fast(x: &[f32], g: &mut [f32], inverse: f32, low: f32, high: f32) {
        for (g, x) in g.iter_mut().zip(x) {
            let r = ((x * inverse).clamp(low - 1.0, high + 1.0) + ROUND) - ROUND;
            *g = if (r >= low) & (r <= high) { *g } else { 0.0 };
        }
    }
}

/// Ranges of a decision for what a tensor, or each channel of it, was seen to span.
pub fn ranges(d: &Decision, seen: &[(f32, f32)]) -> Vec<(f32, f32)> {
    match &d.range {
        GridRange::Observed { shrink } => {
            let lower = |&(lo, hi): &(f32, f32)| (lo, hi - shrink * hi);
            seen.iter().map(lower).collect()
        }
        GridRange::Fixed { lo, hi } => lo.iter().copied().zip(hi.iter().copied()).collect(),
    }
}

/// A grid, and the second one of a blend with its part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grids {
    /// The grid.
    pub first: QuantizationGrid,
    /// The one blended in, and its part.
    pub second: Option<(QuantizationGrid, f32)>,
}

/// Grids of a decision, one, or one for each channel. `None` if it leaves the tensor as it is.
pub fn grids(d: &Decision, seen: &[(f32, f32)]) -> Option<Vec<Grids>> {
    let steps = d.steps?;
    let make = |(lo, hi)| Grids {
        first: QuantizationGrid::new(lo, hi, steps, d.scheme),
        second: d
            .blend
            .map(|(s, w)| (QuantizationGrid::new(lo, hi, s, d.scheme), w)),
    };
    Some(ranges(d, seen).into_iter().map(make).collect())
}

/// One element by a grid, with the noise of a decision. `u` is in [0, 1).
fn element(x: f32, g: &QuantizationGrid, noise: Noise, u: f32) -> f32 {
    match noise {
        Noise::None => g.value(x),
        Noise::Rounding => {
            let r = (x * g.inverse).clamp(g.low - 1.0, g.high + 1.0);
            (r + u).floor().clamp(g.low, g.high) * g.step
        }
        Noise::Portion(p) if u < p => g.value(x),
        Noise::Portion(_) => x,
    }
}

/// Quantizes elements, the first of which is number `at` of its tensor.
pub fn forward(x: &[f32], y: &mut [f32], g: &Grids, d: &Decision, at: usize) {
    let first = &g.first;
    if g.second.is_none() && d.noise == Noise::None && first.high - first.low < FAST_STEPS {
        round_fast(x, y, first.step, first.inverse, first.low, first.high);
        return;
    }
    for (i, (y, x)) in y.iter_mut().zip(x).enumerate() {
        let u = match d.noise {
            Noise::None => 0.0,
            _ => seed::unit(d.seed, (at + i) as u64),
        };
        let a = element(*x, first, d.noise, u);
        *y = match &g.second {
            None => a,
            Some((second, w)) => (1.0 - w) * a + w * element(*x, second, d.noise, u),
        };
    }
}

/// Makes the gradient of quantized elements that of the elements, and adds up the gradients of the point where
/// they are wanted.
pub fn backward(
    x: &[f32],
    grad: &mut [f32],
    g: &Grids,
    d: &Decision,
    at: usize,
    sums: Option<&mut PointGradient>,
) {
    let first = &g.first;
    if let Some(sums) = sums {
        add_up(x, grad, g, d, at, sums);
    }
    let plain = g.second.is_none() && !matches!(d.noise, Noise::Portion(_));
    if plain && first.high - first.low < FAST_STEPS {
        through_fast(x, grad, first.inverse, first.low, first.high);
        return;
    }
    for (i, (grad, x)) in grad.iter_mut().zip(x).enumerate() {
        if !quantized(d, at + i) {
            continue;
        }
        let a = f32::from(u8::from(first.inside(*x)));
        *grad *= match &g.second {
            None => a,
            Some((s, w)) => (1.0 - w) * a + w * f32::from(u8::from(s.inside(*x))),
        };
    }
}

fn quantized(d: &Decision, element: usize) -> bool {
    match d.noise {
        Noise::Portion(p) => seed::unit(d.seed, element as u64) < p,
        _ => true,
    }
}

fn add_up(x: &[f32], grad: &[f32], g: &Grids, d: &Decision, at: usize, sums: &mut PointGradient) {
    let first = &g.first;
    for (i, (grad, x)) in grad.iter().zip(x).enumerate() {
        if !quantized(d, at + i) {
            continue;
        }
        let gradient = f64::from(*grad);
        let r = first.place(*x);
        if r > first.high {
            sums.above += gradient;
        } else if r < first.low {
            sums.below += gradient;
        } else {
            sums.step += gradient * f64::from(r - x * first.inverse);
        }
        if let Some((second, _)) = &g.second {
            sums.blend += gradient * f64::from(second.value(*x) - first.value(*x));
        }
    }
}

/// Lowest and highest value of a tensor, or of each of its channels.
pub fn spans(x: &[f32], channels: Option<usize>) -> Vec<(f32, f32)> {
    match channels {
        Some(n) if n > 0 && !x.is_empty() => x.chunks(x.len() / n).map(min_max).collect(),
        _ => vec![min_max(x)],
    }
}

/// Quantizes a whole tensor: the reference that backends are compared with. Gives what it spanned too.
pub fn fake_quantize(
    x: &[f32],
    channels: Option<usize>,
    d: &Decision,
) -> (Vec<f32>, Vec<(f32, f32)>) {
    let seen = spans(x, channels);
    let Some(grids) = grids(d, &seen) else {
        return (x.to_vec(), seen);
    };
    let mut y = vec![0.0; x.len()];
    let part = x.len().div_ceil(grids.len()).max(1);
    let parts = x.chunks(part).zip(y.chunks_mut(part));
    for (c, ((x, y), g)) in parts.zip(&grids).enumerate() {
        forward(x, y, g, d, c * part);
    }
    (y, seen)
}

#[cfg(test)]
mod tests;

//! Weights of one convolution or matrix: integers, scales, and what batch normalisation makes of them.
use super::ExportError;
use crate::decision::{Decision, GridRange};
use crate::points::QuantizationPoint;
use crate::quantizer::{QuantizationGrid, min_max};
use crate::tensor::Tensor;

/// Largest bias as an integer; ONNX Runtime adds it to sums of products, so some room is left.
const BIAS: f64 = (1u64 << 30) as f64;

/// Weights as `value * scale` for each output channel, and a bias.
pub(super) struct Folded {
    /// Real values, or integers of a grid.
    values: Vec<f32>,
    scale: Vec<f32>,
    /// Values in an output channel.
    each: usize,
    pub(super) bias: Option<Vec<f32>>,
    quantized: bool,
}

/// What an integer convolution takes.
pub(super) struct Integers {
    pub(super) weight: Vec<i8>,
    pub(super) scale: Vec<f32>,
    pub(super) bias: Option<Vec<i32>>,
    pub(super) bias_scale: Vec<f32>,
}

impl Folded {
    pub(super) fn new(weight: &Tensor, bias: Option<Vec<f32>>) -> Folded {
        let channels = weight.shape[0];
        Folded {
            values: weight.data.clone(),
            scale: vec![1.0; channels],
            each: weight.data.len() / channels.max(1),
            bias,
            quantized: false,
        }
    }

    /// Puts the values on the grid of a decision; the scale is the grid's step.
    pub(super) fn quantize(
        &mut self,
        weight: &Tensor,
        point: &QuantizationPoint,
        d: &Decision,
    ) -> Result<(), ExportError> {
        let Some(steps) = d.steps else { return Ok(()) };
        if steps > 255.0 {
            let point = point.name.clone();
            return Err(ExportError::Precision { point, steps });
        }
        let channels = self.scale.len();
        let rows: Vec<&[f32]> = weight.data.chunks_exact(self.each).collect();
        let ranges: Vec<(f32, f32)> = match &d.range {
            GridRange::Fixed { lo, hi } if lo.len() == channels => {
                lo.iter().copied().zip(hi.iter().copied()).collect()
            }
            GridRange::Fixed { lo, hi } if lo.len() == 1 => vec![(lo[0], hi[0]); channels],
            GridRange::Fixed { .. } => return Err(ExportError::Range(point.name.clone())),
            GridRange::Observed { shrink } => {
                let lower = |(lo, hi): (f32, f32)| (lo, hi - shrink * hi);
                match point.channels {
                    Some(_) => rows.iter().map(|r| lower(min_max(r))).collect(),
                    None => vec![lower(min_max(&weight.data)); channels],
                }
            }
        };
        let mut values = Vec::with_capacity(self.values.len());
        for ((row, (lo, hi)), scale) in rows.iter().zip(ranges).zip(&mut self.scale) {
            let g = QuantizationGrid::new(lo, hi, steps, d.scheme);
            values.extend(row.iter().map(|x| g.place(*x).clamp(g.low, g.high)));
            *scale = g.step;
        }
        self.values = values;
        self.quantized = true;
        Ok(())
    }

    /// Folds `weight * (x - mean) / sqrt(var + eps) + bias` in. A negative factor changes the sign of values, so that
    /// scales stay positive.
    pub(super) fn normalise(
        &mut self,
        weight: &[f32],
        bias: &[f32],
        mean: &[f32],
        var: &[f32],
        eps: f32,
    ) {
        let mut out = Vec::with_capacity(weight.len());
        for c in 0..weight.len() {
            let factor = f64::from(weight[c]) / (f64::from(var[c]) + f64::from(eps)).sqrt();
            if factor < 0.0 {
                let row = &mut self.values[c * self.each..][..self.each];
                row.iter_mut().for_each(|v| *v = -*v);
            }
            self.scale[c] = (f64::from(self.scale[c]) * factor.abs()) as f32;
            let before = self.bias.as_ref().map_or(0.0, |b| f64::from(b[c]));
            out.push((f64::from(bias[c]) + (before - f64::from(mean[c])) * factor) as f32);
        }
        self.bias = Some(out);
    }

    /// Values times scales.
    pub(super) fn reals(&self) -> Vec<f32> {
        let rows = self.values.chunks_exact(self.each).zip(&self.scale);
        rows.flat_map(|(r, s)| r.iter().map(move |v| v * s))
            .collect()
    }

    /// As integers, for an input of this step. `None` if the weights were not quantized, or do not fit signed bytes.
    pub(super) fn integers(&self, input: Option<f32>) -> Option<Integers> {
        let input = f64::from(input?);
        let fits = self.values.iter().all(|v| (-128.0..=127.0).contains(v));
        if !self.quantized || !fits {
            return None;
        }
        let mut scale = Vec::new();
        let mut weight = Vec::with_capacity(self.values.len());
        for (c, row) in self.values.chunks_exact(self.each).enumerate() {
            // A channel that normalisation all but switches off has a scale too small for its bias: its weights
            // are then put on a coarser grid, which changes the result by less than 2^-30 of the bias.
            let bias = self.bias.as_ref().map_or(0.0, |b| f64::from(b[c]).abs());
            let own = f64::from(self.scale[c]);
            let need = (bias / (input * BIAS)).max(f64::from(f32::MIN_POSITIVE));
            let s = own.max(need);
            weight.extend(
                row.iter()
                    .map(|v| (f64::from(*v) * own / s).round_ties_even() as i8),
            );
            scale.push(s as f32);
        }
        let bias_scale: Vec<f32> = scale
            .iter()
            .map(|s| (f64::from(*s) * input) as f32)
            .collect();
        let bias_scale: Vec<f32> = bias_scale
            .iter()
            .map(|s| s.max(f32::MIN_POSITIVE))
            .collect();
        let bias = self.bias.as_ref().map(|b| {
            let one =
                |(b, s): (&f32, &f32)| (f64::from(*b) / f64::from(*s)).round_ties_even() as i32;
            b.iter().zip(&bias_scale).map(one).collect()
        });
        Some(Integers {
            weight,
            scale,
            bias,
            bias_scale,
        })
    }
}

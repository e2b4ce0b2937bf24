//! Fake quantization on the device, with the bits of [`crate::quantizer`].
//!
//! The usual case (whole tensor or each channel) is one fused operation of libtorch each way; grids of observed ranges
//! are computed on the device. Weights that are alike share the computation of their grids.
mod told;
mod written;

use super::parameters::Parameters;
use crate::decision::{Decision, GridRange, Noise, Scheme};
use crate::graph::{Graph, GraphValue, Op};
use crate::points::{QuantizationPoint, QuantizedTensor};
use crate::quantizer::QuantizationGrid;
use tch::{Device, Kind, TchError, Tensor};

/// A histogram is made of at most so many elements: counts in `f32` are exact up to 2^24.
const SAMPLE: i64 = 1 << 22;

/// What is to be told of the points after a step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Want {
    pub(super) statistics: bool,
    pub(super) histogram: Option<usize>,
    pub(super) gradients: bool,
}

/// What was seen at a point.
#[derive(Default)]
struct Seen {
    min: Option<Tensor>,
    max: Option<Tensor>,
    histogram: Option<(Tensor, Tensor, Tensor)>,
    /// Of the last backward pass: above, below, step, blend.
    gradient: Option<Tensor>,
    /// What the gradients are taken from.
    trace: Option<Trace>,
}

struct Trace {
    y: Tensor,
    above: Tensor,
    below: Tensor,
    inside: Tensor,
    offset: Tensor,
    other: Option<Tensor>,
}

pub(super) struct Quantizer {
    device: Device,
    want: Want,
    seen: Vec<Seen>,
    /// For each point: whether its values cannot be negative.
    positive: Vec<bool>,
    nodes: Vec<String>,
    /// Numbers on the device: division by a number of the host is a multiplication by its inverse on GPUs.
    constants: Vec<(u32, Tensor)>,
    /// Steps of weights whose grids were made together.
    weight_steps: Vec<Option<Tensor>>,
    enabled: Tensor,
    no_offset: Tensor,
}

/// The same values in an order that lies one after the other, where images are channels last.
fn dense(x: &Tensor) -> Result<Tensor, TchError> {
    match x.dim() {
        4 => x.f_permute([0, 2, 3, 1]),
        _ => Ok(x.shallow_clone()),
    }
}

/// One number for each index of the first dimension, so shaped that it goes with the tensor.
fn along(v: &Tensor, x: &Tensor) -> Result<Tensor, TchError> {
    if v.numel() == 1 {
        return v.f_squeeze();
    }
    let mut shape = vec![1i64; x.dim()];
    shape[0] = -1;
    v.f_view(&shape[..])
}

/// A step that can be divided by: the smallest normal number or more, and 1 where there is no range.
fn at_least(step: &Tensor) -> Result<Tensor, TchError> {
    let none = step.f_eq(0.0)?;
    let some = step.f_clamp_min(f64::from(f32::MIN_POSITIVE))?;
    some.f_masked_fill(&none, 1.0)
}

/// Dimensions but the first.
fn rest(x: &Tensor) -> Vec<i64> {
    (1..x.dim() as i64).collect()
}

impl Quantizer {
    pub(super) fn new(graph: &Graph, points: &[QuantizationPoint], device: Device) -> Quantizer {
        let positive = |p: &QuantizationPoint| match p.subject {
            QuantizedTensor::Activation(GraphValue::Node(i)) => {
                matches!(graph.nodes[i].op, Op::Relu | Op::Relu6 | Op::Sigmoid)
            }
            _ => false,
        };
        Quantizer {
            device,
            want: Want::default(),
            seen: Vec::new(),
            positive: points.iter().map(positive).collect(),
            nodes: graph.nodes.iter().map(|n| n.name.clone()).collect(),
            constants: Vec::new(),
            weight_steps: Vec::new(),
            enabled: Tensor::ones([1], (Kind::Int64, device)),
            no_offset: Tensor::zeros([1], (Kind::Int, device)),
        }
    }

    fn constant(&mut self, v: f32) -> Result<Tensor, TchError> {
        if let Some((_, t)) = self.constants.iter().find(|(b, _)| *b == v.to_bits()) {
            return Ok(t.shallow_clone());
        }
        let t = Tensor::f_from_slice(&[v])?.f_squeeze()?.f_to(self.device)?;
        self.constants.push((v.to_bits(), t.shallow_clone()));
        Ok(t)
    }

    /// Forgets the last step; grids of weights that are alike are made at once.
    pub(super) fn begin(
        &mut self,
        points: &[QuantizationPoint],
        decisions: &[Decision],
        want: Want,
        parameters: &Parameters,
    ) -> Result<(), TchError> {
        self.want = want;
        self.seen = points.iter().map(|_| Seen::default()).collect();
        self.weight_steps = points.iter().map(|_| None).collect();
        tch::no_grad(|| self.weights(points, decisions, parameters))
    }

    fn weights(
        &mut self,
        points: &[QuantizationPoint],
        decisions: &[Decision],
        parameters: &Parameters,
    ) -> Result<(), TchError> {
        let mut groups: Vec<(u32, Vec<usize>)> = Vec::new();
        for (i, (p, d)) in points.iter().zip(decisions).enumerate() {
            let plain = matches!(d.range, GridRange::Observed { shrink } if shrink == 0.0);
            let alike = p.is_weight() && plain && d.scheme == Scheme::Symmetric;
            let alike = alike && d.noise == Noise::None && self.fused(p, d);
            let (Some(steps), true) = (d.steps, alike) else {
                continue;
            };
            let half = (steps / 2.0).floor().max(1.0).to_bits();
            match groups.iter_mut().find(|(h, _)| *h == half) {
                Some((_, all)) => all.push(i),
                None => groups.push((half, vec![i])),
            }
        }
        for (half, members) in groups {
            let (mut reach, mut sizes) = (Vec::new(), Vec::new());
            for &i in &members {
                let QuantizedTensor::Weight(node) = points[i].subject else {
                    continue;
                };
                let w = parameters
                    .get(&self.nodes[node], "weight")?
                    .f_detach()?
                    .f_abs()?;
                let top = match points[i].channels {
                    Some(_) => w.f_amax(&rest(&w)[..], false)?,
                    None => dense(&w)?.f_max()?.f_view([1])?,
                };
                sizes.push(top.numel() as i64);
                reach.push(top);
            }
            let half = self.constant(f32::from_bits(half))?;
            let step = Tensor::f_cat(&reach, 0)?.f_div(&half)?;
            // Where everything is zero any step gives zero.
            let step = step.f_clamp_min(f64::from(f32::MIN_POSITIVE))?;
            for (&i, s) in members.iter().zip(step.f_split_with_sizes(&sizes[..], 0)?) {
                self.weight_steps[i] = Some(s);
            }
        }
        Ok(())
    }

    /// Whether one operation of libtorch does most of it. Nobody asks for gradients of weights' ranges.
    fn fused(&self, p: &QuantizationPoint, d: &Decision) -> bool {
        let noise = d.noise == Noise::None || p.channels.is_none();
        noise && d.blend.is_none() && (!self.want.gradients || p.is_weight())
    }

    /// The tensor on its grid.
    pub(super) fn apply(
        &mut self,
        at: usize,
        point: &QuantizationPoint,
        d: &Decision,
        x: &Tensor,
    ) -> Result<Tensor, TchError> {
        tch::no_grad(|| self.look(at, point, x))?;
        let Some(steps) = d.steps else {
            return Ok(x.shallow_clone());
        };
        if !self.fused(point, d) {
            return self.slow(at, point, d, &x.f_to_kind(Kind::Float)?, steps);
        }
        if let Some(step) = &self.weight_steps[at] {
            let half = (steps / 2.0).floor().max(1.0) as i64;
            return match point.channels {
                Some(_) => {
                    let zero = step.f_zeros_like()?;
                    x.f_fake_quantize_per_channel_affine(step, &zero, 0, -half, half)
                }
                None => self.whole(x, step, &self.no_offset, -half, half, Noise::None),
            };
        }
        match (&d.range, point.channels) {
            (GridRange::Fixed { lo, hi }, None) if lo.len() == 1 => {
                let g = QuantizationGrid::new(lo[0], hi[0], steps, d.scheme);
                let (zero, low, high) = offset(&g, d.scheme);
                if d.noise == Noise::None {
                    return x.f_fake_quantize_per_tensor_affine(f64::from(g.step), zero, low, high);
                }
                let step = self.constant(g.step)?;
                let zero = Tensor::f_full([1], zero, (Kind::Int, self.device))?;
                self.whole(x, &step, &zero, low, high, d.noise)
            }
            (GridRange::Fixed { lo, hi }, Some(_)) if d.scheme == Scheme::Symmetric => {
                let grids = lo
                    .iter()
                    .zip(hi)
                    .map(|(l, h)| QuantizationGrid::new(*l, *h, steps, d.scheme));
                let steps_host: Vec<f32> = grids.map(|g| g.step).collect();
                let step = Tensor::f_from_slice(&steps_host)?.f_to(self.device)?;
                let half = (steps / 2.0).floor().max(1.0) as i64;
                let zero = step.f_zeros_like()?;
                x.f_fake_quantize_per_channel_affine(&step, &zero, 0, -half, half)
            }
            (GridRange::Observed { shrink }, None) => {
                let shrink = *shrink;
                let (step, zero, low, high) =
                    tch::no_grad(|| self.observed(at, x, shrink, steps, d.scheme))?;
                self.whole(x, &step, &zero, low, high, d.noise)
            }
            _ => self.slow(at, point, d, &x.f_to_kind(Kind::Float)?, steps),
        }
    }

    /// A whole tensor on one grid.
    fn whole(
        &self,
        x: &Tensor,
        step: &Tensor,
        zero: &Tensor,
        low: i64,
        high: i64,
        noise: Noise,
    ) -> Result<Tensor, TchError> {
        let (step, zero) = (step.f_view([1])?, zero.f_view([1])?);
        // Rounding up with the probability of the fraction is rounding to nearest after a shift by at most half a step.
        let moved = match noise {
            Noise::Rounding => {
                let by = x.f_detach()?.f_to_kind(Kind::Float)?.f_rand_like()?;
                Some(x.f_add(&by.f_sub_scalar(0.5)?.f_mul(&step)?)?)
            }
            _ => None,
        };
        let from = moved.as_ref().unwrap_or(x);
        let (y, _) = from.f_internal_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
            &step,
            &zero,
            &self.enabled,
            low,
            high,
        )?;
        match noise {
            Noise::Portion(p) => {
                let chosen = x.f_detach()?.f_rand_like()?.f_lt(f64::from(p))?;
                y.f_where_self(&chosen, x)
            }
            _ => Ok(y),
        }
    }

    /// Lowest and highest value of a whole tensor, the highest lowered.
    fn span(
        &mut self,
        at: usize,
        x: &Tensor,
        shrink: f32,
    ) -> Result<(Option<Tensor>, Tensor), TchError> {
        let (lo, hi) = match (&self.seen[at].min, &self.seen[at].max) {
            (Some(lo), Some(hi)) => (Some(lo.shallow_clone()), hi.shallow_clone()),
            _ if self.positive[at] => (None, dense(x)?.f_max()?),
            _ => {
                let (lo, hi) = dense(x)?.f_aminmax(None, false)?;
                (Some(lo), hi)
            }
        };
        // Half precision in, grids in f32.
        let lo = match lo.filter(|_| !self.positive[at]) {
            Some(lo) => Some(lo.f_to_kind(Kind::Float)?),
            None => None,
        };
        let hi = hi.f_to_kind(Kind::Float)?;
        let hi = match shrink {
            0.0 => hi,
            s => hi.f_sub(&hi.f_mul_scalar(f64::from(s))?)?,
        };
        Ok((lo, hi))
    }

    /// Step, zero point and ends of the grid of an observed range.
    fn observed(
        &mut self,
        at: usize,
        x: &Tensor,
        shrink: f32,
        steps: f32,
        scheme: Scheme,
    ) -> Result<(Tensor, Tensor, i64, i64), TchError> {
        let (lo, hi) = self.span(at, x, shrink)?;
        let smallest = f64::from(f32::MIN_POSITIVE);
        let none = self.no_offset.shallow_clone();
        let half = (steps / 2.0).floor();
        match scheme {
            Scheme::Affine => {
                let all = self.constant(steps)?;
                let Some(lo) = lo else {
                    // Nothing is negative: the grid begins at zero.
                    let step = hi.f_div(&all)?.f_clamp_min(smallest)?;
                    return Ok((step, none, 0, steps as i64));
                };
                let (lo, hi) = (lo.f_clamp_max(0.0)?, hi.f_clamp_min(0.0)?);
                let step = hi.f_sub(&lo)?.f_div(&all)?.f_clamp_min(smallest)?;
                let zero = lo
                    .f_neg()?
                    .f_div(&step)?
                    .f_round()?
                    .f_clamp_max(f64::from(steps))?;
                Ok((step, zero.f_to_kind(Kind::Int)?, 0, steps as i64))
            }
            Scheme::Symmetric | Scheme::Printed => {
                let reach = match lo {
                    Some(lo) => lo.f_neg()?.f_maximum(&hi)?.f_clamp_min(0.0)?,
                    None => hi,
                };
                if scheme == Scheme::Symmetric {
                    let half = half.max(1.0);
                    let step = reach.f_div(&self.constant(half)?)?.f_clamp_min(smallest)?;
                    return Ok((step, none, -half as i64, half as i64));
                }
                let step = reach.f_mul_scalar(2.0)?.f_div(&self.constant(steps)?)?;
                let low = -((steps + 1.0) / 2.0).floor().max(1.0);
                Ok((step.f_clamp_min(smallest)?, none, low as i64, half as i64))
            }
        }
    }
}

/// Zero point and ends as libtorch takes them: zero has to be among the integers.
fn offset(g: &QuantizationGrid, scheme: Scheme) -> (i64, i64, i64) {
    match scheme {
        Scheme::Affine => (-g.low as i64, 0, (g.high - g.low) as i64),
        _ => (0, g.low as i64, g.high as i64),
    }
}

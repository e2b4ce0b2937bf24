//! The way forward: every node's result, and what the way back needs.
use super::conv::Conv;
use super::norm::{self, Moments};
use super::pool::{self, PoolingSizes};
use super::quantize::{self, Seen};
use super::text::{self, Attention};
use super::{CpuBackend, elementwise};
use crate::backend::{Batch, BatchInput};
use crate::decision::Decision;
use crate::graph::{GraphValue, Op};
use crate::points::QuantizedTensor;
use crate::seed;

/// What is wanted of a pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// Training, with the seed of what drops out.
    pub train: Option<u64>,
    /// What points look like.
    pub report: bool,
    /// Histograms of so many parts.
    pub histogram: Option<usize>,
}

/// What a node keeps for the way back.
#[derive(Debug, Clone, Default)]
pub enum Saved {
    #[default]
    Nothing,
    Moments(Moments),
    Places(Vec<u32>),
    Mask(Vec<f32>),
    Probabilities(Vec<f32>),
}

/// A pass.
#[derive(Debug, Default)]
pub struct Forward {
    /// Results of the nodes so far.
    pub results: Vec<Vec<f32>>,
    pub saved: Vec<Saved>,
    /// For each point.
    pub seen: Vec<Seen>,
    /// New values of running means and variances.
    pub running: Vec<(usize, Vec<f32>)>,
}

const NOTHING: &[f32] = &[];

impl CpuBackend {
    pub(super) fn raw<'a>(&self, f: &'a Forward, batch: &'a Batch, v: GraphValue) -> &'a [f32] {
        match (v, &batch.input) {
            (GraphValue::Node(i), _) => &f.results[i],
            (GraphValue::Input, BatchInput::Reals(x)) => x,
            // Images have been made reals before.
            (GraphValue::Input, BatchInput::Tokens(_) | BatchInput::Images(_)) => NOTHING,
        }
    }
    /// What a node reads: the value, or its quantized form.
    pub(super) fn reading<'a>(
        &self,
        f: &'a Forward,
        batch: &'a Batch,
        node: usize,
        k: usize,
    ) -> &'a [f32] {
        let quantized = self.reads[node][k].and_then(|p| f.seen[p].quantized.as_ref());
        match quantized {
            Some((y, _)) => y,
            None => self.raw(f, batch, self.graph.nodes[node].inputs[k]),
        }
    }
    /// A node's weight: as it is, or quantized.
    pub(super) fn weight<'a>(&'a self, f: &'a Forward, node: usize) -> &'a [f32] {
        let quantized = self.weights[node].and_then(|p| f.seen[p].quantized.as_ref());
        match (quantized, self.slots[node].weight) {
            (Some((y, _)), _) => y,
            (None, Some(s)) => &self.values[s],
            (None, None) => NOTHING,
        }
    }
    pub(super) fn bias(&self, node: usize) -> Option<&[f32]> {
        self.slots[node].bias.map(|s| self.values[s].as_slice())
    }
    pub(super) fn dims(&self, v: GraphValue) -> [usize; 3] {
        match *self.graph.shape(v) {
            [c, h, w] => [c, h, w],
            _ => [1, 1, self.graph.shape(v).iter().product()],
        }
    }
    pub(super) fn conv(&self, node: usize) -> Option<Conv> {
        let n = &self.graph.nodes[node];
        match n.op {
            Op::Conv2d {
                kernel,
                stride,
                padding,
                groups,
                ..
            } => Some(Conv {
                input: self.dims(n.inputs[0]),
                output: self.dims(GraphValue::Node(node)),
                kernel,
                stride,
                padding,
                groups,
            }),
            _ => None,
        }
    }
    pub(super) fn pool(&self, node: usize) -> Option<PoolingSizes> {
        let n = &self.graph.nodes[node];
        let (kernel, stride, padding) = match n.op {
            Op::MaxPool {
                kernel,
                stride,
                padding,
            } => (kernel, stride, padding),
            Op::AvgPool { kernel, stride } => (kernel, stride, 0),
            _ => return None,
        };
        Some(PoolingSizes {
            input: self.dims(n.inputs[0]),
            output: self.dims(GraphValue::Node(node)),
            kernel,
            stride,
            padding,
        })
    }
    pub(super) fn attention(&self, node: usize) -> Option<Attention> {
        match (
            &self.graph.nodes[node].op,
            self.graph.shape(GraphValue::Node(node)),
        ) {
            (Op::Attention { heads, causal }, [length, features]) => Some(Attention {
                length: *length,
                features: *features,
                heads: *heads,
                causal: *causal,
            }),
            _ => None,
        }
    }
    /// For a product: which input has a value for each element, and how many share one of the other.
    pub(super) fn product(&self, node: usize) -> (usize, usize) {
        let size = |k: usize| {
            self.dims(self.graph.nodes[node].inputs[k])
                .iter()
                .product::<usize>()
        };
        match (size(0), size(1)) {
            (a, b) if a >= b => (0, a / b.max(1)),
            (a, b) => (1, b / a.max(1)),
        }
    }

    pub(super) fn forward(
        &self,
        batch: &Batch,
        decisions: &[Decision],
        wanted: &Wanted,
    ) -> Forward {
        let mut f = Forward {
            seen: vec![Seen::default(); self.points.len()],
            ..Forward::default()
        };
        for (i, (p, d)) in self.points.iter().zip(decisions).enumerate() {
            if let QuantizedTensor::Weight(node) = p.subject {
                let w = self.slots[node].weight.map_or(NOTHING, |s| &self.values[s]);
                f.seen[i] = quantize::look(w, p, d, wanted.report, None);
            }
        }
        self.look(&mut f, batch, GraphValue::Input, decisions, wanted);
        for i in 0..self.graph.nodes.len() {
            let (y, saved) = self.node(&mut f, batch, i, wanted);
            f.results.push(y);
            f.saved.push(saved);
            self.look(&mut f, batch, GraphValue::Node(i), decisions, wanted);
        }
        f
    }

    fn look(
        &self,
        f: &mut Forward,
        batch: &Batch,
        v: GraphValue,
        decisions: &[Decision],
        wanted: &Wanted,
    ) {
        for (i, p) in self.points.iter().enumerate() {
            if p.subject == QuantizedTensor::Activation(v) {
                let x = self.raw(f, batch, v);
                let seen = quantize::look(x, p, &decisions[i], wanted.report, wanted.histogram);
                f.seen[i] = seen;
            }
        }
    }

    fn node(&self, f: &mut Forward, batch: &Batch, i: usize, wanted: &Wanted) -> (Vec<f32>, Saved) {
        let n = &self.graph.nodes[i];
        let shape = self.graph.shape(GraphValue::Node(i));
        let mut y = vec![0.0; batch.rows * shape.iter().product::<usize>()];
        let x = self.reading(f, batch, i, 0);
        let inputs = self.graph.shape(n.inputs[0]);
        let features = inputs.last().copied().unwrap_or(1);
        let mut saved = Saved::Nothing;
        match &n.op {
            Op::Conv2d { .. } => {
                if let Some(c) = self.conv(i) {
                    c.forward(x, self.weight(f, i), self.bias(i), &mut y);
                }
            }
            Op::Linear { .. } => text::linear(x, self.weight(f, i), self.bias(i), features, &mut y),
            Op::BatchNorm { eps, momentum } => {
                let (m, running) = self.batch_norm(x, i, (*eps, *momentum), wanted, &mut y);
                f.running.extend(running);
                saved = Saved::Moments(m);
            }
            Op::LayerNorm { eps } => {
                let bias = self.bias(i).unwrap_or(NOTHING);
                let m = norm::layer_forward(x, self.weight(f, i), bias, *eps, &mut y);
                saved = Saved::Moments(m);
            }
            Op::Mul => {
                let (full, spread) = self.product(i);
                let (a, b) = (
                    self.reading(f, batch, i, full),
                    self.reading(f, batch, i, 1 - full),
                );
                elementwise::mul(a, b, spread, &mut y);
            }
            Op::Add => elementwise::add(x, self.reading(f, batch, i, 1), &mut y),
            Op::MaxPool { .. } => {
                if let Some(p) = self.pool(i) {
                    saved = Saved::Places(p.max(x, &mut y));
                }
            }
            Op::AvgPool { .. } => {
                if let Some(p) = self.pool(i) {
                    p.mean(x, &mut y);
                }
            }
            Op::GlobalAvgPool => pool::global(x, inputs[1] * inputs[2], &mut y),
            Op::Dropout { p } | Op::DropSample { p } => match wanted.train {
                Some(s) if *p > 0.0 => {
                    let unit = match n.op {
                        Op::Dropout { .. } => 1,
                        _ => y.len() / batch.rows,
                    };
                    let mask =
                        elementwise::dropout_mask(y.len(), *p, unit, seed::derive(s, &n.name));
                    elementwise::mul(x, &mask, 1, &mut y);
                    saved = Saved::Mask(mask);
                }
                _ => y.copy_from_slice(x),
            },
            Op::Embedding { features } => {
                if let BatchInput::Tokens(t) = &batch.input {
                    text::embed(t, self.weight(f, i), *features, &mut y);
                }
            }
            Op::Position => {
                let w = self.weight(f, i);
                for (y, x) in y.chunks_exact_mut(w.len()).zip(x.chunks_exact(w.len())) {
                    elementwise::add(x, w, y);
                }
            }
            Op::Attention { .. } => {
                if let Some(a) = self.attention(i) {
                    saved = Saved::Probabilities(a.forward(x, &mut y));
                }
            }
            Op::Relu | Op::Relu6 | Op::Silu | Op::Sigmoid | Op::Gelu | Op::Flatten => {
                elementwise::forward(&n.op, x, &mut y);
            }
        }
        (y, saved)
    }

    /// Normalises by the batch in training, by what was seen then otherwise; gives the moments, and new values of the
    /// running ones.
    fn batch_norm(
        &self,
        x: &[f32],
        i: usize,
        (eps, momentum): (f32, f32),
        wanted: &Wanted,
        y: &mut [f32],
    ) -> (Moments, Vec<(usize, Vec<f32>)>) {
        let [channels, h, w] = self.dims(self.graph.nodes[i].inputs[0]);
        let slots = self.slots[i];
        let value = |s: Option<usize>| s.map_or(NOTHING, |s| self.values[s].as_slice());
        let (mean, var) = match wanted.train {
            Some(_) => norm::batch_moments(x, channels, h * w),
            None => (value(slots.mean).to_vec(), value(slots.var).to_vec()),
        };
        let inverse = var.iter().map(|v| 1.0 / (v + eps).sqrt()).collect();
        let m = Moments { mean, inverse };
        let bias = value(slots.bias);
        norm::batch_apply(x, &m, value(slots.weight), bias, h * w, y);
        let (Some(_), Some(a), Some(b), Some(c)) =
            (wanted.train, slots.mean, slots.var, slots.count)
        else {
            return (m, Vec::new());
        };
        let count = (x.len() / channels.max(1)) as f32;
        // The running variance is the unbiased one, as in PyTorch.
        let unbiased = count / (count - 1.0).max(1.0);
        let blend = |old: &f32, new: f32| (1.0 - momentum) * old + momentum * new;
        let mean = self.values[a].iter().zip(&m.mean);
        let mean = mean.map(|(o, n)| blend(o, *n)).collect();
        let var = self.values[b].iter().zip(&var);
        let var = var.map(|(o, n)| blend(o, n * unbiased)).collect();
        let batches = vec![self.values[c][0] + 1.0];
        (m, vec![(a, mean), (b, var), (c, batches)])
    }
}

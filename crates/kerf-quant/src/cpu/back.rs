//! The way back: gradients of all parameters, straight through quantization.
use super::pass::{Forward, Saved};
use super::{CpuBackend, elementwise, norm, pool, quantize, text};
use crate::backend::{Batch, BatchInput, StepPlan};
use crate::decision::{Decision, PointGradient, PointReport};
use crate::graph::{GraphValue, Op};
use crate::points::QuantizedTensor;

/// Gradients that are being collected.
struct Collected {
    /// Of node results.
    values: Vec<Option<Vec<f32>>>,
    /// Of quantized forms of activations.
    points: Vec<Option<Vec<f32>>>,
    /// Of parameters.
    params: Vec<Option<Vec<f32>>>,
    /// Sums of points.
    sums: Vec<Option<PointGradient>>,
}

impl Collected {
    /// Notes the gradient of a parameter.
    fn save(&mut self, slot: Option<usize>, g: Option<Vec<f32>>) {
        if let (Some(s), Some(g)) = (slot, g) {
            self.params[s] = Some(g);
        }
    }
}

fn put(to: &mut Option<Vec<f32>>, g: Vec<f32>) {
    match to {
        Some(old) => elementwise::accumulate(old, &g),
        None => *to = Some(g),
    }
}

impl CpuBackend {
    /// Gradients of parameters and what is told of points. `logits` is the gradient of the result.
    pub(super) fn backward(
        &self,
        batch: &Batch,
        plan: &StepPlan,
        f: &mut Forward,
        logits: Vec<f32>,
    ) -> (Vec<Option<Vec<f32>>>, Vec<PointReport>) {
        let n = self.graph.nodes.len();
        let mut c = Collected {
            values: vec![None; n],
            points: vec![None; self.points.len()],
            params: vec![None; self.specs.len()],
            sums: vec![None; self.points.len()],
        };
        c.values[n - 1] = Some(logits);
        let sums = plan.gradients && plan.report;
        for i in (0..n).rev() {
            self.through(batch, f, GraphValue::Node(i), plan.decisions, sums, &mut c);
            if let Some(g) = c.values[i].take() {
                self.node_back(batch, f, i, g, sums, &mut c);
            }
            // Later nodes have read it; nothing needs it any more.
            f.saved[i] = Saved::Nothing;
        }
        self.through(batch, f, GraphValue::Input, plan.decisions, sums, &mut c);
        for (i, p) in self.points.iter().enumerate() {
            let QuantizedTensor::Weight(node) = p.subject else {
                continue;
            };
            let slot = self.slots[node].weight;
            if let (Some(s), Some((_, grids))) = (slot, &f.seen[i].quantized)
                && let Some(g) = &mut c.params[s]
            {
                c.sums[i] = quantize::through(&self.values[s], g, grids, &plan.decisions[i], sums);
            }
        }
        let reports = match plan.report {
            false => Vec::new(),
            true => f
                .seen
                .iter_mut()
                .zip(&c.sums)
                .map(|(s, g)| report(s, *g))
                .collect(),
        };
        (c.params, reports)
    }

    /// Adds gradients of quantized forms of a value to that of the value.
    fn through(
        &self,
        batch: &Batch,
        f: &Forward,
        v: GraphValue,
        d: &[Decision],
        sums: bool,
        c: &mut Collected,
    ) {
        for (p, point) in self.points.iter().enumerate() {
            if point.subject != QuantizedTensor::Activation(v) {
                continue;
            }
            let (Some(mut g), Some((_, grids))) = (c.points[p].take(), &f.seen[p].quantized) else {
                continue;
            };
            let x = self.raw(f, batch, v);
            c.sums[p] = quantize::through(x, &mut g, grids, &d[p], sums);
            if let GraphValue::Node(i) = v {
                put(&mut c.values[i], g);
            }
        }
    }

    /// Whether the gradient of what a node reads is needed.
    fn needed(&self, i: usize, k: usize, sums: bool) -> bool {
        self.graph.nodes[i].inputs[k] != GraphValue::Input || sums && self.reads[i][k].is_some()
    }

    fn deliver(&self, f: &Forward, i: usize, k: usize, g: Vec<f32>, c: &mut Collected) {
        match (self.reads[i][k], self.graph.nodes[i].inputs[k]) {
            (Some(p), _) if f.seen[p].quantized.is_some() => put(&mut c.points[p], g),
            (_, GraphValue::Node(j)) => put(&mut c.values[j], g),
            (_, GraphValue::Input) => {}
        }
    }

    /// Zeros of the size of a parameter.
    fn zeros(&self, slot: Option<usize>) -> Option<Vec<f32>> {
        slot.map(|s| vec![0.0; self.values[s].len()])
    }

    fn node_back(
        &self,
        batch: &Batch,
        f: &Forward,
        i: usize,
        mut g: Vec<f32>,
        sums: bool,
        c: &mut Collected,
    ) {
        let n = &self.graph.nodes[i];
        let x = self.reading(f, batch, i, 0);
        let inputs = self.graph.shape(n.inputs[0]);
        let needed = self.needed(i, 0, sums);
        let slots = self.slots[i];
        match (&n.op, &f.saved[i]) {
            (Op::Conv2d { .. } | Op::Linear { .. }, _) => {
                g = self.weighted_back(f, i, (x, &g), needed, c);
            }
            (Op::BatchNorm { .. }, Saved::Moments(m)) => {
                let w = self.weight(f, i);
                let (gw, gb) = norm::batch_back(x, m, w, inputs[1] * inputs[2], &mut g);
                c.save(slots.weight, Some(gw));
                c.save(slots.bias, Some(gb));
            }
            (Op::LayerNorm { .. }, Saved::Moments(m)) => {
                let (gw, gb) = norm::layer_back(x, m, self.weight(f, i), &mut g);
                c.save(slots.weight, Some(gw));
                c.save(slots.bias, Some(gb));
            }
            (Op::Mul, _) => {
                let (full, spread) = self.product(i);
                let (a, b) = (
                    self.reading(f, batch, i, full),
                    self.reading(f, batch, i, 1 - full),
                );
                let (ga, gb) = elementwise::mul_back(a, b, spread, &g);
                self.deliver(f, i, full, ga, c);
                self.deliver(f, i, 1 - full, gb, c);
                return;
            }
            (Op::Add, _) => {
                self.deliver(f, i, 0, g.clone(), c);
                self.deliver(f, i, 1, g, c);
                return;
            }
            (Op::MaxPool { .. }, Saved::Places(_))
            | (Op::AvgPool { .. } | Op::GlobalAvgPool, _)
            | (Op::Attention { .. }, Saved::Probabilities(_)) => {
                g = self.spread_back(f, i, (x, &g));
            }
            (Op::Dropout { .. } | Op::DropSample { .. }, Saved::Mask(mask)) => {
                let copy = g.clone();
                elementwise::mul(&copy, mask, 1, &mut g);
            }
            (Op::Embedding { features }, _) => {
                let mut gw = self.zeros(slots.weight).unwrap_or_default();
                if let BatchInput::Tokens(t) = &batch.input {
                    text::embed_back(t, &g, *features, &mut gw);
                }
                c.save(slots.weight, Some(gw));
                return;
            }
            (Op::Position, _) => {
                let mut gw = self.zeros(slots.weight).unwrap_or_default();
                for row in g.chunks_exact(gw.len().max(1)) {
                    elementwise::accumulate(&mut gw, row);
                }
                c.save(slots.weight, Some(gw));
            }
            (op, _) => elementwise::backward(op, x, &mut g),
        }
        if needed {
            self.deliver(f, i, 0, g, c);
        }
    }

    /// Convolutions and matrices: gradients of their parameters, and of what they read where that is needed.
    fn weighted_back(
        &self,
        f: &Forward,
        i: usize,
        (x, g): (&[f32], &[f32]),
        needed: bool,
        c: &mut Collected,
    ) -> Vec<f32> {
        let slots = self.slots[i];
        let mut gx = match needed {
            true => vec![0.0; x.len()],
            false => Vec::new(),
        };
        let mut gw = self.zeros(slots.weight).unwrap_or_default();
        let mut gb = self.zeros(slots.bias);
        let out = needed.then_some(gx.as_mut_slice());
        let (w, bias) = (self.weight(f, i), gb.as_deref_mut());
        if let Op::Linear { .. } = self.graph.nodes[i].op {
            let inputs = self.graph.shape(self.graph.nodes[i].inputs[0]);
            let features = inputs.last().copied().unwrap_or(1);
            text::linear_back(x, w, g, features, &mut gw, bias, out);
        } else if let Some(conv) = self.conv(i) {
            conv.backward(x, w, g, &mut gw, bias, out);
        }
        c.save(slots.weight, Some(gw));
        c.save(slots.bias, gb);
        gx
    }

    /// Pools and attention, which have no parameters and read several values for each result.
    fn spread_back(&self, f: &Forward, i: usize, (x, g): (&[f32], &[f32])) -> Vec<f32> {
        let inputs = self.graph.shape(self.graph.nodes[i].inputs[0]);
        let mut gx = vec![0.0; x.len()];
        match (&self.graph.nodes[i].op, &f.saved[i]) {
            (Op::MaxPool { .. }, Saved::Places(at)) => {
                if let Some(p) = self.pool(i) {
                    p.max_back(at, g, &mut gx);
                }
            }
            (Op::AvgPool { .. }, _) => {
                if let Some(p) = self.pool(i) {
                    p.mean_back(g, &mut gx);
                }
            }
            (Op::Attention { .. }, Saved::Probabilities(all)) => {
                if let Some(a) = self.attention(i) {
                    a.backward(x, all, g, &mut gx);
                }
            }
            _ => pool::global_back(g, inputs[1] * inputs[2], &mut gx),
        }
        gx
    }
}

fn report(s: &mut quantize::Seen, gradient: Option<PointGradient>) -> PointReport {
    let (min, max) = s.spans.iter().copied().unzip();
    PointReport {
        min,
        max,
        histogram: s.histogram.take(),
        gradient,
    }
}

//! mix in a form that works. The idea of the chapter (section 4.4.4): train at high precision while the network is not
//! yet stable, and come down to the target's bits as the changes become small, each activation tensor by itself, by a
//! divergence of its distributions. The printed divergence, between b and T bits of the same tensor, carries no signal
//! (see `mix_printed`). Here the divergence is between the tensor now and one update ago, both at the target's bins:
//!
//! ```text
//! moved = D(P_now || P_before)                    how far the distribution went in tau + eta steps
//! noise = mean over the eta steps of D(P_i || P_now)    how far single batches are apart
//! b     = T + (b - T) * (1 - beta * min(1, noise / moved))
//! ```
//!
//! A tensor that moves more than its batches differ keeps its bits; one that is still loses a part beta of those above
//! the target at each update. Within half a bit it is at the target. So that every training ends at the target, b is
//! never above the line from 32 at the start to T at three quarters of the steps.
use super::{
    ActivationPoint, At, HistogramWindow, MethodEntry, MethodNeeds, RangeChoice, RangeMethod, pack,
    unpack,
};
use crate::decision::Histogram;
use crate::histogram::divergence;
use serde::{Deserialize, Serialize};

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "mix",
    what: "32 bits at first, fewer as each tensor's distribution comes to rest",
    source: "Dao 2021, section 4.4.4, in a working form",
    make: |n, points| Box::new(Mix::new(n.beta, points)),
};

/// Bits at the start.
const START: f64 = 32.0;

/// Part of the training by whose end every tensor is at the target.
const DOWN_BY: f64 = 0.75;

/// Probability in place of none.
const FLOOR: f64 = 1e-9;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Tensor {
    /// Bits above the target.
    above: Option<f64>,
    before: Option<Histogram>,
}

pub(super) struct Mix {
    beta: f64,
    tensors: Vec<Tensor>,
}

impl Mix {
    pub(super) fn new(beta: f64, points: usize) -> Mix {
        Mix {
            beta,
            tensors: vec![Tensor::default(); points],
        }
    }
    /// Bits for this step.
    pub(super) fn bits(&self, at: &At, place: &ActivationPoint) -> f64 {
        let line = (START - place.bits) * (1.0 - at.progress() / DOWN_BY);
        let above = self.tensors[place.index]
            .above
            .unwrap_or(START - place.bits);
        let above = above.min(line);
        if above < 0.5 {
            place.bits
        } else {
            place.bits + above
        }
    }
}

/// D(P || Q) of two histograms over the range of both, in `2^bits` parts.
fn between(p: &Histogram, q: &Histogram, bits: f64) -> f64 {
    let (lo, hi) = (p.lo.min(q.lo), p.hi.max(q.hi));
    let parts = (bits.exp2().round() as usize).clamp(4, 4096);
    let of = |h: &Histogram| h.spread(lo, hi, parts).probabilities();
    divergence(&of(p), &of(q), FLOOR)
}

impl RangeMethod for Mix {
    fn needs(&self) -> MethodNeeds {
        MethodNeeds {
            histograms: true,
            ..MethodNeeds::default()
        }
    }
    fn choose(&mut self, at: &At, place: &ActivationPoint) -> RangeChoice {
        RangeChoice::at(self.bits(at, place))
    }
    fn window(&mut self, _: &At, place: &ActivationPoint, w: &HistogramWindow) {
        let beta = self.beta;
        let t = &mut self.tensors[place.index];
        let before = t.before.replace(w.mean.clone());
        let Some(before) = before else { return };
        let moved = between(&w.mean, &before, place.bits);
        let apart = w.each.iter().map(|h| between(h, &w.mean, place.bits));
        let noise = apart.sum::<f64>() / w.each.len().max(1) as f64;
        let still = if moved > noise { noise / moved } else { 1.0 };
        let above = t.above.unwrap_or(START - place.bits);
        t.above = Some(above * (1.0 - beta * still));
    }
    fn save(&self) -> serde_json::Value {
        pack(&self.tensors)
    }
    fn load(&mut self, saved: &serde_json::Value) -> bool {
        unpack(&mut self.tensors, saved)
    }
}

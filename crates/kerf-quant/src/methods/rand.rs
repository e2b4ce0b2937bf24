//! rand: noise on the scale (Dao 2021, eq. 4.6): `MAX_new = MAX - random(0, p * MAX)`, drawn anew in each step. p is of
//! each tensor: the largest for which no more than a threshold of the values (0.001 % or 0.005 %) lies in
//! [(1 - p) MAX, MAX], by the averaged histogram. Section 4.4.3 renews it every epoch, section 4.4.5 every tau + eta
//! steps; the latter is done here. Until the first histogram p is 0, which is MAX.
use super::{
    ActivationPoint, At, HistogramWindow, MethodEntry, MethodNeeds, RangeChoice, RangeMethod, pack,
    unpack,
};
use crate::decision::GridRange;
use crate::seed;

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "rand",
    what: "the highest value lowered at random, by each tensor's tail",
    source: "Dao 2021, section 4.4.3",
    make: |n, points| Box::new(Rand::new(n.threshold, points)),
};

pub(super) struct Rand {
    threshold: f64,
    p: Vec<f64>,
}

impl Rand {
    pub(super) fn new(threshold: f64, points: usize) -> Rand {
        Rand {
            threshold,
            p: vec![0.0; points],
        }
    }
    /// The range for this step.
    pub(super) fn range(&self, at: &At, place: &ActivationPoint) -> GridRange {
        let own = seed::step(seed::derive(at.seed, "rand"), place.index as u64);
        let draw = f64::from(seed::unit(own, at.step));
        GridRange::Observed {
            shrink: (draw * self.p[place.index]) as f32,
        }
    }
}

impl RangeMethod for Rand {
    fn needs(&self) -> MethodNeeds {
        MethodNeeds {
            histograms: true,
            ..MethodNeeds::default()
        }
    }
    fn choose(&mut self, at: &At, place: &ActivationPoint) -> RangeChoice {
        RangeChoice {
            range: Some(self.range(at, place)),
            ..RangeChoice::at(place.bits)
        }
    }
    fn window(&mut self, _: &At, place: &ActivationPoint, w: &HistogramWindow) {
        let max = f64::from(w.mean.hi);
        self.p[place.index] = match max > 0.0 {
            true => (1.0 - w.mean.tail(self.threshold) / max).clamp(0.0, 1.0),
            // Nothing is positive: there is no maximum to lower.
            false => 0.0,
        };
    }
    fn save(&self) -> serde_json::Value {
        pack(&self.p)
    }
    fn load(&mut self, saved: &serde_json::Value) -> bool {
        unpack(&mut self.p, saved)
    }
}

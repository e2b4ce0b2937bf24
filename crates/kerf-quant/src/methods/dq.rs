//! DQ, differentiable quantization: step d and upper end m are learned, bits follow (Uhlich et al., 2020, their third
//! parametrisation): b = log2((m - lo) / d + 1), dy/dd = round(x / d) - x / d inside the range and dy/dm = 1 above it.
//! Both are held as logarithms, a step changes each by 0.05 at most, and a penalty on b above the bits asked for
//! widens d. Begins at the first batch's range, two bits above those asked for; evaluation is at the bits asked for with
//! the learned range. The lower end is that of the tensor, averaged.
use super::{
    ActivationPoint, At, MethodEntry, MethodNeeds, RangeChoice, RangeMethod, pack, unpack,
};
use crate::decision::{GridRange, PointReport};
use serde::{Deserialize, Serialize};

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "dq",
    what: "step and upper end learned, bits follow",
    source: "Uhlich et al. 2020",
    make: |n, points| {
        Box::new(Dq {
            pull: n.pull,
            learned: vec![None; points],
        })
    },
};

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Learned {
    step: f64,
    lo: f64,
    hi: f64,
}

impl Learned {
    fn bits(&self) -> f64 {
        ((self.hi - self.lo) / self.step + 1.0).log2()
    }
}

struct Dq {
    pull: f64,
    learned: Vec<Option<Learned>>,
}

impl RangeMethod for Dq {
    fn needs(&self) -> MethodNeeds {
        MethodNeeds::learning()
    }
    fn choose(&mut self, _: &At, place: &ActivationPoint) -> RangeChoice {
        match &self.learned[place.index] {
            None => RangeChoice::at(place.bits + 2.0),
            Some(l) => RangeChoice {
                range: Some(GridRange::Fixed {
                    lo: vec![l.lo as f32],
                    hi: vec![l.hi as f32],
                }),
                ..RangeChoice::at(l.bits())
            },
        }
    }
    fn learn(&mut self, at: &At, place: &ActivationPoint, r: &PointReport) {
        let (Some(min), Some(max)) = (r.min.first(), r.max.first()) else {
            return;
        };
        let (min, max) = (f64::from(*min).min(0.0), f64::from(*max).max(0.0));
        match (&mut self.learned[place.index], r.gradient) {
            (slot @ None, _) if max > min => {
                let step = (max - min) / ((place.bits + 2.0).exp2() - 1.0);
                *slot = Some(Learned {
                    step,
                    lo: min,
                    hi: max,
                });
            }
            (Some(l), Some(g)) => {
                let rate = f64::from(at.rate);
                let bits = l.bits();
                let over = (bits - place.bits).max(0.0);
                // d b / d log(step) is -1 / ln 2, nearly.
                let step = rate * (g.step * l.step - self.pull * over / std::f64::consts::LN_2);
                let hi = rate * g.above * l.hi;
                l.step *= (-step.clamp(-0.05, 0.05)).exp();
                l.hi *= (-hi.clamp(-0.05, 0.05)).exp();
                l.lo = 0.99 * l.lo + 0.01 * min;
                let most = (l.hi - l.lo) / 3.0;
                let least = (l.hi - l.lo) / ((place.bits + 2.0).exp2() - 1.0);
                l.step = l.step.clamp(least, most);
            }
            _ => {}
        }
    }
    fn save(&self) -> serde_json::Value {
        pack(&self.learned)
    }
    fn load(&mut self, saved: &serde_json::Value) -> bool {
        unpack(&mut self.learned, saved)
    }
}

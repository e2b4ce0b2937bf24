//! rand+mix: the ranges of `rand` at the bits of `mix` (Dao 2021, section 4.5).
use super::mix::Mix;
use super::rand::Rand;
use super::{
    ActivationPoint, At, HistogramWindow, MethodEntry, MethodNeeds, RangeChoice, RangeMethod,
};

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "rand+mix",
    what: "ranges of rand at the bits of mix",
    source: "Dao 2021, section 4.5",
    make: |n, points| {
        Box::new(RandMix {
            rand: Rand::new(n.threshold, points),
            mix: Mix::new(n.beta, points),
        })
    },
};

struct RandMix {
    rand: Rand,
    mix: Mix,
}

impl RangeMethod for RandMix {
    fn needs(&self) -> MethodNeeds {
        MethodNeeds {
            histograms: true,
            ..MethodNeeds::default()
        }
    }
    fn choose(&mut self, at: &At, place: &ActivationPoint) -> RangeChoice {
        RangeChoice {
            range: Some(self.rand.range(at, place)),
            ..RangeChoice::at(self.mix.bits(at, place))
        }
    }
    fn window(&mut self, at: &At, place: &ActivationPoint, w: &HistogramWindow) {
        self.rand.window(at, place, w);
        self.mix.window(at, place, w);
    }
    fn save(&self) -> serde_json::Value {
        serde_json::json!([self.rand.save(), self.mix.save()])
    }
    fn load(&mut self, saved: &serde_json::Value) -> bool {
        self.rand.load(&saved[0]) && self.mix.load(&saved[1])
    }
}

//! rand+mix: the ranges of `rand` at the bits of `mix` (Dao 2021, section 4.5).
use super::mix::Mix;
use super::rand::Rand;
use super::{At, Choice, Entry, Method, Needs, Place, Window};

pub(super) const ENTRY: Entry = Entry {
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

impl Method for RandMix {
    fn needs(&self) -> Needs {
        Needs {
            histograms: true,
            ..Needs::default()
        }
    }
    fn choose(&mut self, at: &At, place: &Place) -> Choice {
        Choice {
            range: Some(self.rand.range(at, place)),
            ..Choice::at(self.mix.bits(at, place))
        }
    }
    fn window(&mut self, at: &At, place: &Place, w: &Window) {
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

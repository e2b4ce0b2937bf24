//! FracBits: bits are real numbers, learned with the network (Yang and Jin, 2021): at b bits the result is the blend
//! `(ceil(b) - b) * q_floor(b) + (b - floor(b)) * q_ceil(b)`, so that dy/db = q_ceil - q_floor, and a penalty pulls b to
//! the bits asked for. Begins two bits above them and never goes below; evaluation is at the bits asked for. One step
//! changes b by a tenth at most. Written from the publication's formulas alone.
use super::{
    ActivationPoint, At, MethodEntry, MethodNeeds, RangeChoice, RangeMethod, pack, unpack,
};
use crate::decision::PointReport;

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "fracbits",
    what: "bits learned as real numbers, blended between whole ones",
    source: "Yang and Jin 2021",
    make: |n, points| {
        Box::new(FracBits {
            pull: n.pull,
            bits: vec![None; points],
        })
    },
};

/// Bits above the target at the start.
const ABOVE: f64 = 2.0;

struct FracBits {
    pull: f64,
    bits: Vec<Option<f64>>,
}

impl RangeMethod for FracBits {
    fn needs(&self) -> MethodNeeds {
        MethodNeeds::learning()
    }
    fn choose(&mut self, _: &At, place: &ActivationPoint) -> RangeChoice {
        let b = *self.bits[place.index].get_or_insert(place.bits + ABOVE);
        let part = b - b.floor();
        RangeChoice {
            blend: (part > 0.0).then_some(part),
            ..RangeChoice::at(b.floor())
        }
    }
    fn learn(&mut self, at: &At, place: &ActivationPoint, r: &PointReport) {
        let (Some(b), Some(g)) = (self.bits[place.index].as_mut(), r.gradient) else {
            return;
        };
        let slope = g.blend + self.pull * (*b - place.bits);
        let change = (f64::from(at.rate) * slope).clamp(-0.1, 0.1);
        *b = (*b - change).clamp(place.bits, place.bits + ABOVE);
    }
    fn save(&self) -> serde_json::Value {
        pack(&self.bits)
    }
    fn load(&mut self, saved: &serde_json::Value) -> bool {
        unpack(&mut self.bits, saved)
    }
}

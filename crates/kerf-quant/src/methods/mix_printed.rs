//! mix as printed (Dao 2021, eq. 4.8 to 4.13): b begins at 32 and follows `b = b - beta * dD(P_T || P_b)/db` with
//!
//! ```text
//! dD/db  = - sum_x P_T(x) / (P_b(x) ln 2) * dP_b/dx * dx/db            (4.11)
//! dx/db  = - (2^(b-1) - ln 2) / 2^(b-1)  below MAX, 0 at it             (4.12, reading its `llog(2)` as log 2)
//! dP_b/dx = (P_b(x + eps) - P_b(x)) / eps, neighbouring parts            (4.13)
//! ```
//!
//! P_b is the averaged histogram quantized to b bits, P_T to the target. Values are in units of MAX, beta and the number
//! of parts are not printed. Kept as it is to be looked at, not to be used: D is flat from 32 down to about 12 bits,
//! 4.12 is no derivative of 4.1 (that is x/MAX * 2^b ln 2), and the sign of 4.11 and 4.12 together raises b for a density
//! that falls with x, as activations have. b is held between the target and 32, so that it stays at 32 in practice. `mix`
//! is a form that works.
use super::{
    ActivationPoint, At, HistogramWindow, MethodEntry, MethodNeeds, RangeChoice, RangeMethod, pack,
    unpack,
};
use crate::decision::Histogram;

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "mix-printed",
    what: "bits by the gradient of a divergence, as printed; stays at 32",
    source: "Dao 2021, eq. 4.8 to 4.13",
    make: |n, points| {
        Box::new(MixPrinted {
            beta: n.beta,
            bits: vec![32.0; points],
        })
    },
};

struct MixPrinted {
    beta: f64,
    bits: Vec<f64>,
}

/// Probabilities after quantization to this many bits over the range: what falls to one grid value is in one part.
pub(super) fn quantized(h: &Histogram, bits: f64) -> Vec<f64> {
    let p = h.probabilities();
    let steps = bits.exp2() - 1.0;
    let parts = p.len();
    if steps >= parts as f64 {
        return p;
    }
    let mut q = vec![0.0; parts];
    for (i, v) in p.iter().enumerate() {
        let place = ((i as f64 + 0.5) / parts as f64 * steps).round() / steps;
        q[((place * parts as f64) as usize).min(parts - 1)] += v;
    }
    q
}

/// Equation 4.11 with 4.12 and 4.13, as printed.
pub(super) fn gradient(h: &Histogram, bits: f64, target: f64) -> f64 {
    let (pb, pt) = (quantized(h, bits), quantized(h, target));
    let half = (bits - 1.0).exp2();
    let dx = -(half - std::f64::consts::LN_2) / half;
    let eps = 1.0 / pb.len() as f64;
    // The last part is MAX, where dx/db is 0. Where P_b is 0 the printed term is not defined, and left out.
    let terms = (0..pb.len() - 1).filter(|i| pb[*i] > 0.0).map(|i| {
        let slope = (pb[i + 1] - pb[i]) / eps;
        pt[i] / (pb[i] * std::f64::consts::LN_2) * slope * dx
    });
    -terms.sum::<f64>()
}

impl RangeMethod for MixPrinted {
    fn needs(&self) -> MethodNeeds {
        MethodNeeds {
            histograms: true,
            ..MethodNeeds::default()
        }
    }
    fn choose(&mut self, _: &At, place: &ActivationPoint) -> RangeChoice {
        RangeChoice::at(self.bits[place.index].max(place.bits))
    }
    fn window(&mut self, _: &At, place: &ActivationPoint, w: &HistogramWindow) {
        let b = &mut self.bits[place.index];
        let change = self.beta * gradient(&w.mean, *b, place.bits);
        if change.is_finite() {
            *b = (*b - change).clamp(place.bits, 32.0);
        }
    }
    fn save(&self) -> serde_json::Value {
        pack(&self.bits)
    }
    fn load(&mut self, saved: &serde_json::Value) -> bool {
        unpack(&mut self.bits, saved)
    }
}

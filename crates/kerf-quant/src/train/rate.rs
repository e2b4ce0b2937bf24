//! How the learning rate changes over a training.
use serde::{Deserialize, Serialize};

/// A schedule of the learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Schedule {
    /// Always the same.
    Constant,
    /// From the highest to zero along half a cosine (Loshchilov and Hutter, 2017), after a linear rise.
    Cosine {
        /// Part of the training that rises.
        warmup: f64,
    },
    /// Up along half a cosine from a 25th, down to a 10,000th of that (Smith and Topin, 2018; PyTorch's numbers).
    OneCycle {
        /// Part of the training that rises.
        rise: f64,
    },
    /// Times `factor` after every so many epochs.
    Step {
        /// Epochs.
        every: u64,
        /// Factor.
        factor: f64,
    },
}

fn between(from: f64, to: f64, part: f64) -> f64 {
    to + (from - to) * 0.5 * (1.0 + (std::f64::consts::PI * part).cos())
}

impl Schedule {
    /// The rate of a step, from 0 on.
    pub fn rate(&self, highest: f32, step: u64, steps: u64, per_epoch: u64) -> f32 {
        let top = f64::from(highest);
        let (at, all) = (step as f64, steps.max(1) as f64);
        let rate = match *self {
            Schedule::Constant => top,
            Schedule::Cosine { warmup } => {
                let rise = (warmup * all).floor();
                match at < rise {
                    true => top * (at + 1.0) / rise,
                    false => between(top, 0.0, (at - rise) / (all - rise).max(1.0)),
                }
            }
            Schedule::OneCycle { rise } => {
                let peak = (rise * all).max(1.0);
                match at < peak {
                    true => between(top / 25.0, top, at / peak),
                    false => between(top, top / 25e4, (at - peak) / (all - peak).max(1.0)),
                }
            }
            Schedule::Step { every, factor } => {
                let times = step / per_epoch.max(1) / every.max(1);
                top * factor.powi(times.min(1000) as i32)
            }
        };
        rate as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_where_they_should_be() {
        let at = |s: Schedule, step| s.rate(0.5, step, 100, 10);
        let c = Schedule::Cosine { warmup: 0.1 };
        assert_eq!((at(c, 0), at(c, 9), at(c, 10)), (0.05, 0.5, 0.5));
        assert!((at(c, 55) - 0.25).abs() < 1e-6 && at(c, 99) < 1e-3);
        let o = Schedule::OneCycle { rise: 0.3 };
        assert!((at(o, 0) - 0.02).abs() < 1e-6 && (at(o, 30) - 0.5).abs() < 1e-6);
        assert!(at(o, 99) < 1e-3);
        let s = Schedule::Step {
            every: 3,
            factor: 0.1,
        };
        assert_eq!(at(s, 29), 0.5);
        assert!((at(s, 30) - 0.05).abs() < 1e-7 && (at(s, 99) - 0.0005).abs() < 1e-7);
        assert_eq!(at(Schedule::Constant, 50), 0.5);
    }
}

//! Support vector regression with an epsilon-insensitive loss and Gaussian kernels (Vapnik 1995; Smola and
//! Schoelkopf 2004), small enough to need no library.
//!
//! The bias is part of the kernel (a constant is added to it), so the dual has bounds only and is solved one
//! coordinate at a time, each exactly. The order is fixed: the same data give the same model.
use serde::{Deserialize, Serialize};

/// Hyperparameters of a regression.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SvrSettings {
    /// Bound of each dual weight: how much one example can contribute.
    pub c: f64,
    /// Errors below this cost nothing.
    pub epsilon: f64,
    /// Kernels are exp(-gamma d^2), in features scaled to a standard deviation of 1.
    pub gamma: f64,
}

/// A trained regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Svr {
    /// Hyperparameters.
    pub settings: SvrSettings,
    /// Means of the features.
    pub mean: Vec<f64>,
    /// Their standard deviations.
    pub spread: Vec<f64>,
    /// Support vectors, scaled.
    pub support: Vec<Vec<f64>>,
    /// Their weights.
    pub weight: Vec<f64>,
}

/// Passes of coordinate descent, at most.
const MAX_PASSES: usize = 2000;

/// Change of a weight in a pass below which it has converged.
const TOLERANCE: f64 = 1e-9;

/// Features are clamped to this many standard deviations from their mean: nothing is known far from all examples.
const CLAMP: f64 = 3.0;

fn kernel(gamma: f64, a: &[f64], b: &[f64]) -> f64 {
    let d: f64 = a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum();
    (-gamma * d / a.len().max(1) as f64).exp() + 1.0
}

impl Svr {
    /// Trains on examples (features, value).
    pub fn train(examples: &[(Vec<f64>, f64)], settings: SvrSettings) -> Svr {
        let n = examples.len();
        let width = examples.first().map_or(0, |e| e.0.len());
        let over = n.max(1) as f64;
        let of = |k: usize| examples.iter().map(move |e| e.0[k]);
        let mean: Vec<f64> = (0..width).map(|k| of(k).sum::<f64>() / over).collect();
        let spread: Vec<f64> = (0..width)
            .map(|k| {
                let v = of(k).map(|x| (x - mean[k]).powi(2)).sum::<f64>() / over;
                if v > 1e-18 { v.sqrt() } else { 1.0 }
            })
            .collect();
        let mut s = Svr {
            settings,
            mean,
            spread,
            support: Vec::new(),
            weight: Vec::new(),
        };
        let x: Vec<Vec<f64>> = examples.iter().map(|e| s.scaled(&e.0)).collect();
        let gram: Vec<Vec<f64>> = x
            .iter()
            .map(|a| x.iter().map(|b| kernel(settings.gamma, a, b)).collect())
            .collect();
        // Minimise b'Kb / 2 - y'b + epsilon |b| with every |b_i| <= c; `out` is Kb.
        let (mut b, mut out) = (vec![0.0; n], vec![0.0; n]);
        for _ in 0..MAX_PASSES {
            let mut moved: f64 = 0.0;
            for i in 0..n {
                let k = gram[i][i];
                let pull = examples[i].1 - (out[i] - k * b[i]);
                let soft = (pull.abs() - settings.epsilon).max(0.0) * pull.signum();
                let new = (soft / k).clamp(-settings.c, settings.c);
                let step = new - b[i];
                if step != 0.0 {
                    out.iter_mut()
                        .zip(&gram[i])
                        .for_each(|(o, g)| *o += step * g);
                    b[i] = new;
                    moved = moved.max(step.abs());
                }
            }
            if moved < TOLERANCE {
                break;
            }
        }
        for (x, w) in x.into_iter().zip(b).filter(|(_, w)| *w != 0.0) {
            s.support.push(x);
            s.weight.push(w);
        }
        s
    }

    fn scaled(&self, features: &[f64]) -> Vec<f64> {
        let each = features.iter().zip(&self.mean).zip(&self.spread);
        each.map(|((x, m), s)| ((x - m) / s).clamp(-CLAMP, CLAMP))
            .collect()
    }

    /// The predicted value of new features.
    pub fn value(&self, features: &[f64]) -> f64 {
        let x = self.scaled(features);
        let each = self.support.iter().zip(&self.weight);
        each.map(|(s, w)| w * kernel(self.settings.gamma, s, &x))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learns_a_curve_within_epsilon() {
        let f = |x: f64| 0.3 * x.sin() + 0.1;
        let examples: Vec<(Vec<f64>, f64)> = (0..60)
            .map(|i| f64::from(i) * 0.1)
            .map(|x| (vec![x], f(x)))
            .collect();
        let settings = SvrSettings {
            c: 10.0,
            epsilon: 0.01,
            gamma: 2.0,
        };
        let s = Svr::train(&examples, settings);
        for i in 0..59 {
            let x = f64::from(i) * 0.1 + 0.05;
            assert!(
                (s.value(&[x]) - f(x)).abs() < 0.03,
                "{x}: {}",
                s.value(&[x])
            );
        }
        assert!(s.support.len() < examples.len(), "no example is left out");
        assert_eq!(s, Svr::train(&examples, settings));
    }

    #[test]
    fn one_wild_example_pulls_no_harder_than_its_bound() {
        let mut examples: Vec<(Vec<f64>, f64)> =
            (0..40).map(|i| (vec![f64::from(i)], 0.0)).collect();
        examples[20].1 = 1000.0;
        let settings = SvrSettings {
            c: 0.05,
            epsilon: 0.01,
            gamma: 0.5,
        };
        let s = Svr::train(&examples, settings);
        assert!(s.value(&[5.0]).abs() < 0.2);
    }
}

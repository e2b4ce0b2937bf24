//! Intervals of confidence: over seeds, and for one test set.
use serde::{Deserialize, Serialize};

/// A figure with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// The figure.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard deviation over seeds; none for one.
    pub deviation: Option<f64>,
    /// Where the interval is from.
    pub how: String,
}

/// 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Of the mean of several runs, by Student's t: training's chance. `None` for fewer than two.
pub fn over_seeds(values: &[f64]) -> Option<ConfidenceInterval> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let square = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
    let deviation = (square / (n - 1) as f64).sqrt();
    let t = T.get(n - 2).copied().unwrap_or(1.96);
    let half = t * deviation / (n as f64).sqrt();
    Some(ConfidenceInterval {
        mean,
        low: mean - half,
        high: mean + half,
        deviation: Some(deviation),
        how: format!("Student's t over {n} seeds, 95 %"),
    })
}

/// Of a part of `count` trials (Wilson, 1927): chance of the test set, not of training.
pub fn of_part(hits: u64, count: u64) -> ConfidenceInterval {
    const Z: f64 = 1.959_964;
    let n = count.max(1) as f64;
    let p = hits as f64 / n;
    let centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    ConfidenceInterval {
        mean: p,
        low: centre - half,
        high: centre + half,
        deviation: None,
        how: format!("Wilson's over {count} predictions of one seed, 95 %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_intervals() {
        let i = over_seeds(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        // sd 1.29099, half 3.182 * sd / 2.
        assert!((i.high - (2.5 + 2.054)).abs() < 1e-3 && (i.low - (2.5 - 2.054)).abs() < 1e-3);
        assert!(over_seeds(&[1.0]).is_none());
        let w = of_part(9450, 10_000);
        assert!((w.high - w.low - 0.00894).abs() < 2e-4, "{w:?}");
        assert!(of_part(0, 0).high <= 1.0);
    }
}

//! Predicted time of an application: each kernel's score against its own, by its part of the run time.
//!
//! Operations and bytes overlap in part, so they add up by their squares, as in predictions of single launches.
//! Without bytes, memory held in narrower formats would be all loss: conversions, and nothing saved.
use crate::prediction::TimePredictor;
use crate::score::StaticScore;
use kerf_search::Assignment;

/// The prediction.
pub(super) struct Weighted<'s> {
    score: StaticScore<'s>,
    parts: Vec<f64>,
    base: Vec<f64>,
}

fn costs(score: &StaticScore, a: &[u8]) -> Vec<f64> {
    let operations = score.by_kernel(a);
    match score.memory_by_kernel(a) {
        Some(memory) => {
            let both = operations.iter().zip(memory);
            both.map(|(o, m)| o.hypot(m)).collect()
        }
        None => operations,
    }
}

impl<'s> Weighted<'s> {
    /// `parts` of the run time by kernel; as many groups as the search has.
    pub fn new(score: StaticScore<'s>, parts: Vec<f64>, groups: usize) -> Weighted<'s> {
        let base = costs(&score, &vec![0; groups]);
        Weighted { score, parts, base }
    }
}

impl TimePredictor for Weighted<'_> {
    fn predict(&self, a: &Assignment) -> Option<f64> {
        let now = costs(&self.score, a);
        let rest = 1.0 - self.parts.iter().sum::<f64>();
        let mine = self.parts.iter().zip(now.iter().zip(&self.base));
        Some(
            rest + mine
                .map(|(p, (n, b))| if *b > 0.0 { p * n / b } else { *p })
                .sum::<f64>(),
        )
    }
    fn describe(&self) -> String {
        format!(
            "{}, with bytes, kernels by their part of the run time",
            self.score.describe()
        )
    }
}

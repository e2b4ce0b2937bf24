//! Whether a quantized network is accepted: its loss of accuracy against the network without quantization, decided by
//! the function that decides on the outputs of kernels ([`kerf_num::metrics::judge_measured`]).
use crate::backend::BatchScore;
use kerf_num::Metric;
use kerf_num::metrics::{Bound, ComparedCounts, Judgement, NanPairs, judge_measured};

/// Accuracy lost between two evaluations on the same samples, in percentage points; negative where it rose.
pub fn drop_points(unquantized: &BatchScore, quantized: &BatchScore) -> f64 {
    match unquantized.count == quantized.count && quantized.count > 0 {
        // One rounding: five of a thousand samples are a drop of 0.5 points, and not of more.
        true => {
            let lost = unquantized.correct as f64 - quantized.correct as f64;
            100.0 * lost / quantized.count as f64
        }
        false => 100.0 * (unquantized.accuracy() - quantized.accuracy()),
    }
}

/// Decides on a quantized network by its drop of accuracy.
///
/// Samples count as compared where both losses are finite. A loss that is not finite comes from logits that are not: its
/// hits mean nothing, and no drop excuses it. No samples, or other samples than those of the reference, accept nothing.
pub fn judge_drop(
    unquantized: &BatchScore,
    quantized: &BatchScore,
    max_drop_points: f64,
) -> Judgement {
    let finite = unquantized.loss.is_finite() && quantized.loss.is_finite();
    let same = unquantized.count == quantized.count;
    let samples = quantized.count as usize;
    let counts = ComparedCounts {
        values: samples,
        compared: if finite && same { samples } else { 0 },
        not_finite_mismatches: if finite { 0 } else { samples },
        ..ComparedCounts::default()
    };
    let bound = Bound {
        metric: Metric::MaxAbs,
        quantile: 1.0,
        tolerance: max_drop_points,
    };
    judge_measured(counts, Some(&bound), NanPairs::Rejected, |_| {
        drop_points(unquantized, quantized)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_num::metrics::Rejection;

    fn score(correct: u64, count: u64, loss: f64) -> BatchScore {
        BatchScore {
            loss,
            correct,
            count,
        }
    }

    #[test]
    fn a_drop_within_the_bound_is_accepted_and_a_larger_one_is_not() {
        let (before, after) = (score(990, 1000, 0.1), score(985, 1000, 0.2));
        assert!(judge_drop(&before, &after, 0.5).accepted());
        assert_eq!(
            judge_drop(&before, &after, 0.4).rejection,
            Some(Rejection::BeyondTolerance)
        );
        assert!(judge_drop(&after, &before, 0.0).accepted());
    }

    #[test]
    fn no_samples_other_samples_and_losses_that_are_not_finite_accept_nothing() {
        let good = score(990, 1000, 0.1);
        let rejection = |a: &BatchScore, b: &BatchScore| judge_drop(a, b, 100.0).rejection;
        let none = score(0, 0, 0.0);
        assert_eq!(rejection(&none, &none), Some(Rejection::NothingCompared));
        assert_eq!(
            rejection(&good, &score(500, 500, 0.1)),
            Some(Rejection::NothingCompared)
        );
        for loss in [f64::NAN, f64::INFINITY] {
            assert_eq!(
                rejection(&good, &score(990, 1000, loss)),
                Some(Rejection::NotFiniteMismatch)
            );
        }
        assert!(!judge_drop(&good, &good, f64::NAN).accepted());
    }
}

//! How sure trials make one: the bound of Clopper and Pearson, and intervals of measured ratios.
use kerf_num::random::SplitMix64;

/// Logarithm of the probability of exactly `k` of `n` at probability `p`.
fn log_exactly(k: u64, n: u64, p: f64) -> f64 {
    let choose: f64 = (0..k)
        .map(|i| ((n - i) as f64).ln() - ((i + 1) as f64).ln())
        .sum();
    let part = |count: u64, log: f64| if count == 0 { 0.0 } else { count as f64 * log };
    choose + part(k, p.ln()) + part(n - k, (-p).ln_1p())
}

/// The lower bound, at this confidence, of the probability that a trial passes, when `k` of `n` did. One
/// sided: the true probability is above it with probability `confidence` or more, whatever it is.
pub fn lower_bound(k: u64, n: u64, confidence: f64) -> f64 {
    if k == 0 || n == 0 {
        return 0.0;
    }
    // The p at which k or more of n are as improbable as the confidence leaves over.
    let at_least = |p: f64| (k..=n).map(|i| log_exactly(i, n, p).exp()).sum::<f64>();
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        match at_least(middle) > 1.0 - confidence {
            true => high = middle,
            false => low = middle,
        }
    }
    low
}

/// Resamples of an interval.
const RESAMPLES: usize = 2000;

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n % 2 {
        1 => values[n / 2],
        _ => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}

/// The ratio of two medians with its 95 % interval, by a bootstrap over pairs that were measured in turn.
/// The same samples give the same interval. None if there are no pairs, or times that are none.
pub fn ratio_of_medians(a: &[f64], b: &[f64]) -> Option<(f64, f64, f64)> {
    let n = a.len().min(b.len());
    if n == 0 || a.iter().chain(b).any(|t| !(t.is_finite() && *t > 0.0)) {
        return None;
    }
    let ratio = |pick: &mut dyn FnMut(usize) -> usize| {
        let at: Vec<usize> = (0..n).map(pick).collect();
        let of = |all: &[f64]| median(&mut at.iter().map(|i| all[*i]).collect::<Vec<_>>());
        of(a) / of(b)
    };
    let value = ratio(&mut |i| i);
    // SplitMix64: resampling needs no better one.
    let mut random = SplitMix64::new(0x6b65_7266);
    let mut next = move |_: usize| (random.bits() % n as u64) as usize;
    let mut all: Vec<f64> = (0..RESAMPLES).map(|_| ratio(&mut next)).collect();
    all.sort_by(f64::total_cmp);
    let at = |q: f64| all[((RESAMPLES - 1) as f64 * q).round() as usize];
    Some((value, at(0.025).min(value), at(0.975).max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bounds() {
        // All pass: the n-th root of what the confidence leaves over.
        for n in [1, 5, 10, 59, 300] {
            let expected = 0.05f64.powf(1.0 / n as f64);
            assert!((lower_bound(n, n, 0.95) - expected).abs() < 1e-12, "{n}");
        }
        // Tables of the binomial distribution: one of ten fails, 95 %, one sided.
        assert!((lower_bound(9, 10, 0.95) - 0.6058).abs() < 5e-5);
        assert!((lower_bound(1, 10, 0.95) - 0.0051).abs() < 5e-5);
        assert_eq!(lower_bound(0, 10, 0.95), 0.0);
        assert_eq!(lower_bound(0, 0, 0.95), 0.0);
    }

    #[test]
    fn ratios_have_intervals_that_cover_them() {
        let base: Vec<f64> = (0..15)
            .map(|i| 1.0 + 0.01 * f64::from(i * 7 % 15))
            .collect();
        let plan: Vec<f64> = base.iter().map(|t| 0.5 * t).collect();
        let (r, low, high) = ratio_of_medians(&plan, &base).expect("pairs");
        assert_eq!((r, low, high), (0.5, 0.5, 0.5), "paired noise cancels");
        let other: Vec<f64> = (0..15)
            .map(|i| 1.0 + 0.01 * f64::from(i * 4 % 15))
            .collect();
        let (r, low, high) = ratio_of_medians(&other, &base).expect("pairs");
        assert!(
            low < 1.0 && 1.0 < high && low <= r && r <= high,
            "{low} {r} {high}"
        );
        assert!(high - low < 0.15, "{low} {high}");
        assert_eq!(
            ratio_of_medians(&other, &base),
            ratio_of_medians(&other, &base)
        );
        assert_eq!(ratio_of_medians(&[], &base), None);
        assert_eq!(ratio_of_medians(&[0.0], &[1.0]), None);
    }

    #[test]
    fn more_confidence_is_a_lower_bound() {
        let b = |c| lower_bound(18, 20, c);
        assert!(b(0.5) > b(0.9) && b(0.9) > b(0.99));
        assert!(lower_bound(40, 40, 0.95) > lower_bound(20, 20, 0.95));
    }
}

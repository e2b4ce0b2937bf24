//! How sure passing some trials makes one: the bound of Clopper and Pearson.

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
    fn more_confidence_is_a_lower_bound() {
        let b = |c| lower_bound(18, 20, c);
        assert!(b(0.5) > b(0.9) && b(0.9) > b(0.99));
        assert!(lower_bound(40, 40, 0.95) > lower_bound(20, 20, 0.95));
    }
}

//! Exact quantiles of the relative error.
//!
//! What holds: the quantile `q` of `n` errors is one of them, the smallest that
//! at least `ceil(q n)` of them do not exceed (the nearest-rank definition).

use super::report::or_nan;
use serde::{Deserialize, Serialize};

/// One quantile of the relative error.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// The share of the elements, from 0 to 1.
    pub q: f64,
    /// The relative error that this share does not exceed.
    #[serde(deserialize_with = "or_nan")]
    pub rel: f64,
}

/// The quantiles of `errors` at `ascending` shares. Reorders `errors`. Of no errors at all, every quantile is 0.
pub(super) fn quantiles(errors: &mut [f64], ascending: &[f64]) -> Vec<Quantile> {
    let mut out = Vec::with_capacity(ascending.len());
    // Everything before `settled` is already at most everything after it.
    let mut settled = 0;
    for &q in ascending {
        let rel = match nearest_rank(q, errors.len()) {
            None => 0.0,
            Some(rank) => {
                if rank >= settled {
                    let rest = &mut errors[settled..];
                    rest.select_nth_unstable_by(rank - settled, f64::total_cmp);
                    settled = rank + 1;
                }
                errors[rank]
            }
        };
        out.push(Quantile { q, rel });
    }
    out
}

/// Zero-based position of the quantile `q` among `count` values in ascending order; none of no values.
pub fn nearest_rank(q: f64, count: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    // A product that should be whole may come out a few ulps above it.
    let position = (q * count as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil();
    Some((position as usize).saturating_sub(1).min(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank_by_hand() {
        let mut errors = vec![5.0, 1.0, 4.0, 2.0, 3.0, 10.0, 6.0, 9.0, 8.0, 7.0];
        let found = quantiles(&mut errors, &[0.0, 0.5, 0.9, 0.91, 1.0]);
        let pairs: Vec<_> = found.iter().map(|x| (x.q, x.rel)).collect();
        assert_eq!(
            pairs,
            [
                (0.0, 1.0),
                (0.5, 5.0),
                (0.9, 9.0),
                (0.91, 10.0),
                (1.0, 10.0)
            ]
        );
    }

    #[test]
    fn ranks_at_whole_products() {
        // 0.07 * 100 is a little above 7 in f64.
        assert_eq!(nearest_rank(0.07, 100), Some(6));
        assert_eq!(nearest_rank(0.999, 1000), Some(998));
        assert_eq!(nearest_rank(0.999, 1001), Some(999));
        assert_eq!(nearest_rank(0.5, 0), None);
        assert_eq!(nearest_rank(1.0, 3), Some(2));
    }

    #[test]
    fn no_errors_give_zero() {
        assert_eq!(quantiles(&mut [], &[0.5]), [Quantile { q: 0.5, rel: 0.0 }]);
    }
}

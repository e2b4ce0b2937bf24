//! Histograms of activations: made, averaged, compared.
use crate::decision::Histogram;

impl Histogram {
    /// Counts values from `lo` to `hi` in equal parts. Values outside and what is no number are left out.
    pub fn from_values(x: &[f32], lo: f32, hi: f32, parts: usize) -> Histogram {
        let mut counts = vec![0u32; parts];
        // Nothing to divide where all values are one.
        let scale = if hi > lo {
            parts as f32 / (hi - lo)
        } else {
            0.0
        };
        let last = parts.saturating_sub(1);
        for v in x.iter().filter(|v| **v >= lo && **v <= hi) {
            let at = ((v - lo) * scale) as usize;
            counts[at.min(last)] += 1;
        }
        Histogram {
            lo,
            hi,
            counts: counts.into_iter().map(f64::from).collect(),
        }
    }
    /// How many values.
    pub fn total(&self) -> f64 {
        self.counts.iter().sum()
    }
    /// Width of a part.
    pub fn width(&self) -> f64 {
        (f64::from(self.hi) - f64::from(self.lo)) / self.counts.len().max(1) as f64
    }
    /// The same counts over other parts, values spread evenly within each old part.
    pub fn spread(&self, lo: f32, hi: f32, parts: usize) -> Histogram {
        let mut counts = vec![0.0; parts];
        let width = (f64::from(hi) - f64::from(lo)) / parts as f64;
        let old = self.width();
        for (i, n) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0.0) {
            let from = f64::from(self.lo) + old * i as f64;
            let index = |v: f64| {
                ((v - f64::from(lo)) / width)
                    .floor()
                    .clamp(0.0, (parts - 1) as f64)
            };
            if width <= 0.0 || old <= 0.0 {
                let at = if width > 0.0 { index(from) as usize } else { 0 };
                counts[at] += n;
                continue;
            }
            let (first, last) = (index(from) as usize, index(from + old) as usize);
            for (j, c) in counts.iter_mut().enumerate().take(last + 1).skip(first) {
                let a = if j == first {
                    from
                } else {
                    f64::from(lo) + width * j as f64
                };
                let b = match j == last {
                    true => from + old,
                    false => f64::from(lo) + width * (j + 1) as f64,
                };
                *c += n * ((b - a) / old).max(0.0);
            }
        }
        Histogram { lo, hi, counts }
    }
    /// The mean of several, over the range of all of them.
    pub fn mean(of: &[Histogram]) -> Option<Histogram> {
        let first = of.first()?;
        let lo = of.iter().fold(first.lo, |a, h| a.min(h.lo));
        let hi = of.iter().fold(first.hi, |a, h| a.max(h.hi));
        let parts = first.counts.len();
        let mut sum = vec![0.0; parts];
        for h in of {
            let same = h.spread(lo, hi, parts);
            sum.iter_mut().zip(&same.counts).for_each(|(s, c)| *s += c);
        }
        sum.iter_mut().for_each(|s| *s /= of.len() as f64);
        Some(Histogram {
            lo,
            hi,
            counts: sum,
        })
    }
    /// The lowest value such that at most this part of all values is above it: the start of a part whose tail,
    /// itself included, is no heavier. The highest value if there is none.
    pub fn tail(&self, part: f64) -> f64 {
        let most = part * self.total();
        let mut above = 0.0;
        let mut start = f64::from(self.hi);
        for (i, n) in self.counts.iter().enumerate().rev() {
            above += n;
            if above > most {
                break;
            }
            start = f64::from(self.lo) + self.width() * i as f64;
        }
        start
    }
    /// Probabilities.
    pub fn probabilities(&self) -> Vec<f64> {
        let total = self.total().max(f64::MIN_POSITIVE);
        self.counts.iter().map(|n| n / total).collect()
    }
}

/// Kullback-Leibler divergence D(P || Q) in bits (Dao, eq. 4.7), with `floor` in place of smaller probabilities of
/// Q, so that it is finite.
pub fn divergence(p: &[f64], q: &[f64], floor: f64) -> f64 {
    let pairs = p.iter().zip(q).filter(|(p, _)| **p > 0.0);
    pairs.map(|(p, q)| p * (p / q.max(floor)).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_where_they_belong() {
        let h = Histogram::from_values(&[0.0, 0.24, 0.25, 0.99, 1.0, f32::NAN, 2.0], 0.0, 1.0, 4);
        assert_eq!(h.counts, [2.0, 1.0, 0.0, 2.0]);
        let h = Histogram::from_values(&[3.0, 3.0], 3.0, 3.0, 4);
        assert_eq!(h.counts, [2.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn spreading_keeps_the_total() {
        let h = Histogram {
            lo: 0.0,
            hi: 1.0,
            counts: vec![4.0, 0.0, 2.0, 2.0],
        };
        let wide = h.spread(-1.0, 3.0, 8);
        assert_eq!(wide.counts, [0.0, 0.0, 4.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
        let odd = h.spread(-0.3, 1.7, 7);
        assert!((odd.total() - 8.0).abs() < 1e-12);
        let point = Histogram::from_values(&[1.0; 5], 1.0, 1.0, 4);
        assert_eq!(point.spread(0.0, 2.0, 4).counts, [0.0, 0.0, 5.0, 0.0]);
        let mean = Histogram::mean(&[h.clone(), point]).unwrap();
        assert!((mean.total() - 6.5).abs() < 1e-12);
        assert!(Histogram::mean(&[]).is_none());
    }

    #[test]
    fn the_tail_is_never_heavier_than_asked() {
        let mut counts = vec![1.0; 100];
        counts[0] = 10_000.0;
        let h = Histogram {
            lo: 0.0,
            hi: 100.0,
            counts,
        };
        // 1 of 10099 values is in each part but the first.
        assert_eq!(h.tail(10.5 / 10_099.0), 90.0);
        assert_eq!(h.tail(0.5 / 10_099.0), 100.0);
        assert_eq!(h.tail(1.0), 0.0);
    }

    #[test]
    fn divergence_is_relative_entropy() {
        assert_eq!(divergence(&[0.5, 0.5], &[0.5, 0.5], 1e-9), 0.0);
        let d = divergence(&[1.0, 0.0], &[0.5, 0.5], 1e-9);
        assert!((d - 1.0).abs() < 1e-12);
        assert!(divergence(&[1.0], &[0.0], 1e-9).is_finite());
    }
}

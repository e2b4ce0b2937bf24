//! Lines by the thousand: difference tables for the intervals of a sub-block.
//!
//! A sub-block is divided into runs of [`RUN`] intervals of n arguments. With c the centre of interval k, its
//! line starts at `B(k) = P(c) - n/2 P'(c)` and has slope `A(k) = P'(c)`. Both are polynomials in k, exact
//! modulo 1. Within a run, B has a difference table of degree 3 and A of degree 2, in 64 bits; the seven
//! starting values of runs are polynomials of the run's number, held as differences in 128 bits.
use crate::poly::{DEGREE, shift};
use crate::wide::Wide;

/// Intervals of a run.
pub const RUN: usize = 64;
const RUN_BITS: u32 = RUN.trailing_zeros();
/// Starting values of a run that describe B.
pub const VALUES: usize = 4;
/// Starting values of a run: four of B, three of A.
pub const STARTS: usize = VALUES + 3;
/// Runs of a sub-block at most.
pub const RUNS: usize = 256;
/// Runs of a sub-block on a GPU: describing one takes a processor as long whatever its size.
pub const LONG_RUNS: usize = 1024;
/// Bound of what is lost by holding differences over runs in 128 bits: C(1024, m) 2^-128, summed over m.
pub const TABLE_ERROR: f64 = 1.0 / (1u128 << 69) as f64;
/// What dropped differences over runs may add up to, each way.
const NEGLIGIBLE: f64 = 1.0 / (1u128 << 70) as f64;

/// Differences over the runs of a sub-block, of each starting value.
#[derive(Debug, Clone)]
pub struct Tables {
    /// By starting value, then by degree.
    pub d: [[u128; DEGREE + 1]; STARTS],
    /// Largest degree that counts.
    pub degree: usize,
}

/// m! S(d, m) with Stirling numbers of the second kind: d-th powers as sums of binomials.
pub(crate) const NEWTON: [[i64; DEGREE + 1]; DEGREE + 1] = newton();

const fn newton() -> [[i64; DEGREE + 1]; DEGREE + 1] {
    let mut t = [[0; DEGREE + 1]; DEGREE + 1];
    t[0][0] = 1;
    let mut d = 1;
    while d <= DEGREE {
        let mut m = 1;
        while m <= d {
            // surjections: m (S(d-1, m) m! + S(d-1, m-1) (m-1)!)
            t[d][m] = m as i64 * (t[d - 1][m] + t[d - 1][m - 1]);
            m += 1;
        }
        d += 1;
    }
    t
}

fn binomial(n: usize, m: usize) -> f64 {
    (0..m).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

impl Tables {
    /// For the polynomial `p` in the argument's distance from the sub-block's start, intervals of 2^bits
    /// arguments and up to `runs` runs. Intervals of one argument have no slope: B alone is filled, with the values.
    pub fn new(p: &[Wide; DEGREE + 1], bits: u32, runs: usize) -> Tables {
        let half = (1i64 << bits) / 2;
        let q = shift(p, half);
        let mut a = [Wide::ZERO; DEGREE + 1];
        let mut b = q;
        for d in 0..DEGREE {
            a[d] = q[d + 1].times(d as i64 + 1);
            b[d] = b[d].plus(a[d].times(-half));
        }
        // From arguments to intervals.
        for d in 0..=DEGREE {
            a[d] = a[d].shifted(bits * d as u32);
            b[d] = b[d].shifted(bits * d as u32);
        }
        let mut t = Tables {
            d: [[0; DEGREE + 1]; STARTS],
            degree: 0,
        };
        let mut lost = [0.0; DEGREE + 1];
        let described = if bits == 0 { 1 } else { 2 };
        let both = [(0, b), (VALUES, a)].into_iter().take(described);
        for (i, (start, g)) in both.enumerate() {
            let mut g = g;
            for m in 0..4 - i {
                let n = over_runs(&g);
                for d in 0..=DEGREE {
                    t.d[start + m][d] = n[d].top();
                    // What dropping this degree would cost the lines of a run.
                    let weight = binomial(runs, d) * binomial(RUN, m);
                    lost[d] += n[d].distance()
                        * weight
                        * if i == 1 { 2f64.powi(bits as i32) } else { 1.0 };
                }
                let next = shift(&g, 1);
                for d in 0..=DEGREE {
                    g[d] = next[d].plus(g[d].negated());
                }
            }
        }
        let mut dropped = 0.0;
        t.degree = DEGREE;
        while t.degree > 0 && dropped + lost[t.degree] < NEGLIGIBLE {
            dropped += lost[t.degree];
            t.degree -= 1;
        }
        t
    }

    /// Starting values of runs, each run's a column: `out[value][run]`, all seven or the first few.
    pub fn starts<const N: usize>(&self, out: &mut [Vec<u64>; N], runs: usize) {
        for (d, out) in self.d.iter().zip(out) {
            out.clear();
            let mut d = *d;
            let d = &mut d[..=self.degree];
            for _ in 0..runs {
                out.push((d[0] >> 64) as u64);
                for m in 1..d.len() {
                    d[m - 1] = d[m - 1].wrapping_add(d[m]);
                }
            }
        }
    }
}

/// A polynomial in intervals at the starts of runs, as differences over runs.
fn over_runs(g: &[Wide; DEGREE + 1]) -> [Wide; DEGREE + 1] {
    let mut n = [Wide::ZERO; DEGREE + 1];
    for d in 0..=DEGREE {
        let c = g[d].shifted(RUN_BITS * d as u32);
        for m in 0..=d {
            n[m] = n[m].plus(c.times(NEWTON[d][m]));
        }
    }
    n
}

//! References in 256-bit MPFR, computed on the host from the same inputs.
use crate::number::{PRECISION, real};
use rayon::prelude::*;
use rug::Float;
use rug::ops::SubFrom;

/// The sum of `hi + lo` pairs. Exact while the exponents stay within 256 bits, as those of the studies do.
pub fn sum(values: &[(f64, f64)]) -> Float {
    let mut s = real(0.0);
    for (hi, lo) in values {
        s += *hi;
        s += *lo;
    }
    s
}

/// The product of numbers.
pub fn product(values: impl Iterator<Item = f64>) -> Float {
    let mut p = real(1.0);
    for v in values {
        p *= v;
    }
    p
}

/// What multiplying and dividing by each number in turn leaves of `x`.
pub fn do_undo(x: &Float, y: &[(f64, f64)]) -> Float {
    let mut v = x.clone();
    for (hi, lo) in y {
        let y = real(*hi) + *lo;
        v *= &y;
        v /= &y;
    }
    v
}

/// The exponential.
pub fn exp(x: f64) -> Float {
    real(x).exp()
}

/// Elimination without pivoting, in place, of `n` rows of `width`: the upper triangle, and the
/// multipliers below the diagonal. With `width` = n that is the LU decomposition; further columns are
/// right-hand sides. Values are kept as `Float`s by rows, which are independent within a step.
pub fn eliminate(a: &[f64], n: usize, width: usize) -> Vec<Float> {
    let mut a: Vec<Float> = a.iter().map(|x| real(*x)).collect();
    for t in 0..n {
        let (above, below) = a.split_at_mut((t + 1) * width);
        let pivot = &above[t * width..];
        below.par_chunks_mut(width).for_each(|row| {
            row[t] /= &pivot[t];
            let (done, rest) = row.split_at_mut(t + 1);
            let m = &done[t];
            let mut product = Float::new(PRECISION);
            for (x, p) in rest.iter_mut().zip(&pivot[t + 1..]) {
                rug::Assign::assign(&mut product, m * p);
                *x -= &product;
            }
        });
    }
    a
}

/// A particle: v, x, y, z.
pub type Particle = [f64; 4];

/// Potential and force on `p` of particles with charges: with s = v + v' - x.x' and e = exp(-a s), the sums
/// of q e and of 2 q e (x - x').
pub fn potential(
    p: &Particle,
    others: impl Iterator<Item = (Particle, f64)>,
    a: f64,
) -> [Float; 4] {
    let mut f = [0.0; 4].map(real);
    for (o, q) in others {
        let mut dot = real(0.0);
        for k in 1..4 {
            dot += real(p[k]) * o[k];
        }
        dot.sub_from(real(p[0]) + o[0]);
        let e = (dot * -a).exp() * q;
        for k in 1..4 {
            let d = real(p[k]) - o[k];
            f[k] += d * &e * 2u32;
        }
        f[0] += e;
    }
    f
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: &Float, b: f64) {
        let d = Float::with_val(PRECISION, a - b).abs().to_f64();
        assert!(d <= 1e-15 * b.abs().max(1e-300), "{a} is not {b}");
    }

    #[test]
    fn sums_and_products_by_hand() {
        // 2^100 + 1 - 2^100 needs 101 bits; the low words count.
        let big = 2f64.powi(100);
        assert_eq!(sum(&[(big, 0.0), (1.0, 2f64.powi(-80)), (-big, 0.0)]), {
            real(1.0) + 2f64.powi(-80)
        });
        assert_eq!(product([2.0, 3.0, 0.5].into_iter()), 3.0);
        close(
            &do_undo(&real(1.25), &[(3.0, 0.0), (7.0, 1e-20), (0.1, 0.0)]),
            1.25,
        );
        close(&exp(1.0), std::f64::consts::E);
    }

    #[test]
    fn elimination_by_hand() {
        // 2 1 | 3     2  1 | 3
        // 4 5 | 6  -> 2  3 | 0
        let a = eliminate(&[2.0, 1.0, 3.0, 4.0, 5.0, 6.0], 2, 3);
        let got: Vec<f64> = a.iter().map(Float::to_f64).collect();
        assert_eq!(got, [2.0, 1.0, 3.0, 2.0, 3.0, 0.0]);
        // L U gives the matrix back.
        let m = [4.0, 3.0, 2.0, 8.0, 8.0, 5.0, 12.0, 17.0, 13.0];
        let a = eliminate(&m, 3, 3);
        let lu = |i: usize, j: usize| {
            (0..=i.min(j))
                .map(|k| {
                    let l = if i == k { 1.0 } else { a[i * 3 + k].to_f64() };
                    l * a[k * 3 + j].to_f64()
                })
                .sum::<f64>()
        };
        for i in 0..3 {
            for j in 0..3 {
                assert_eq!(lu(i, j), m[i * 3 + j]);
            }
        }
    }

    #[test]
    fn potential_by_hand() {
        // One neighbour: s = 0.25 + 0.75 - (1*2 + 0 + 0) = -1, e = exp(0.5), q = 3.
        let p = [0.25, 1.0, 0.0, 0.0];
        let o = ([0.75, 2.0, 0.0, 4.0], 3.0);
        let f = potential(&p, [o].into_iter(), 0.5);
        let e = 0.5f64.exp();
        close(&f[0], 3.0 * e);
        close(&f[1], -6.0 * e);
        assert_eq!(f[2], 0.0);
        close(&f[3], -24.0 * e);
    }
}

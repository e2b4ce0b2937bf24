//! Linear algebra on MPFR numbers, for systems of at most some dozens of unknowns.
use rug::Float;

/// Bits of everything that is computed to find coefficients. What is found is proven afterwards.
pub(crate) const FIT_PRECISION: u32 = 256;

pub(crate) fn float(x: f64) -> Float {
    Float::with_val(FIT_PRECISION, x)
}

/// The solution of a square system, by elimination with pivots; none where it is singular.
pub(crate) fn solve(mut a: Vec<Vec<Float>>, mut b: Vec<Float>) -> Option<Vec<Float>> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| {
            let (x, y) = (&a[*i][k], &a[*j][k]);
            x.cmp_abs(y).unwrap_or(std::cmp::Ordering::Equal)
        })?;
        a.swap(k, pivot);
        b.swap(k, pivot);
        if a[k][k].is_zero() || !a[k][k].is_finite() {
            return None;
        }
        let (done, rest) = a.split_at_mut(k + 1);
        let row = &done[k];
        for (i, r) in rest.iter_mut().enumerate() {
            let factor = Float::with_val(FIT_PRECISION, &r[k] / &row[k]);
            for j in k..n {
                r[j] -= Float::with_val(FIT_PRECISION, &factor * &row[j]);
            }
            let product = Float::with_val(FIT_PRECISION, &factor * &b[k]);
            b[k + 1 + i] -= product;
        }
    }
    for k in (0..n).rev() {
        for j in k + 1..n {
            let product = Float::with_val(FIT_PRECISION, &a[k][j] * &b[j]);
            b[k] -= product;
        }
        let quotient = Float::with_val(FIT_PRECISION, &b[k] / &a[k][k]);
        b[k] = quotient;
    }
    Some(b)
}

/// The value of a polynomial, by Horner's scheme.
pub(crate) fn polynomial(c: &[Float], t: &Float) -> Float {
    c.iter().rev().fold(float(0.0), |s, c| s * t + c)
}

fn dot(x: &[Float], y: &[Float]) -> Float {
    let products = x.iter().zip(y);
    products.fold(float(0.0), |s, (x, y)| {
        s + Float::with_val(FIT_PRECISION, x * y)
    })
}

/// Coefficients of a format near those of a polynomial: the nearest plane (Babai) of the lattice of polynomials with
/// such coefficients, on weighted values at `points`. Each coefficient is rounded with those of higher powers still
/// free, from the lowest power on, so that later ones make up for the rounding of earlier ones.
pub(crate) fn nearest_plane(
    c: &[Float],
    points: &[(Float, Float)],
    round: impl Fn(&Float) -> f64,
) -> Vec<f64> {
    let column = |k: usize| -> Vec<Float> {
        let power = |t: &Float| (0..k).fold(float(1.0), |p, _| p * t);
        points.iter().map(|(t, w)| power(t) * w).collect()
    };
    let columns: Vec<Vec<Float>> = (0..c.len()).map(column).collect();
    // Orthogonal parts, from the highest power down: that of k is orthogonal to all higher powers.
    let mut orthogonal: Vec<Vec<Float>> = vec![Vec::new(); c.len()];
    for k in (0..c.len()).rev() {
        let mut v = columns[k].clone();
        for o in &orthogonal[k + 1..] {
            let factor = dot(&v, o) / dot(o, o);
            for (v, o) in v.iter_mut().zip(o) {
                *v -= Float::with_val(FIT_PRECISION, &factor * o);
            }
        }
        orthogonal[k] = v;
    }
    let target = points.iter().map(|(t, w)| polynomial(c, t) * w);
    let mut left: Vec<Float> = target.collect();
    let mut rounded = Vec::new();
    for k in 0..c.len() {
        let best = dot(&left, &orthogonal[k]) / dot(&orthogonal[k], &orthogonal[k]);
        let chosen = round(&best);
        for (l, v) in left.iter_mut().zip(&columns[k]) {
            *l -= Float::with_val(FIT_PRECISION, v * chosen);
        }
        rounded.push(chosen);
    }
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_solved() {
        let a = vec![vec![float(0.0), float(2.0)], vec![float(1.0), float(1.0)]];
        let x = solve(a, vec![float(4.0), float(5.0)]).expect("not singular");
        assert_eq!((x[0].to_f64(), x[1].to_f64()), (3.0, 2.0));
        let singular = vec![vec![float(1.0), float(2.0)], vec![float(2.0), float(4.0)]];
        assert!(solve(singular, vec![float(1.0), float(1.0)]).is_none());
    }

    /// Rounded to multiples of 1/8 one by one, 0.3 + 0.3 t is off by up to 0.1; the plane finds a nearer one.
    #[test]
    fn later_coefficients_make_up_for_earlier_ones() {
        let c = [float(0.3), float(0.3)];
        let points: Vec<(Float, Float)> = (1..=9)
            .map(|i| (float(f64::from(i) / 10.0 + 0.5), float(1.0)))
            .collect();
        let eighths = |x: &Float| (x.to_f64() * 8.0).round() / 8.0;
        let near = nearest_plane(&c, &points, eighths);
        let worst = |a: f64, b: f64| {
            let off = |t: &Float| (a + b * t.to_f64() - polynomial(&c, t).to_f64()).abs();
            points.iter().map(|(t, _)| off(t)).fold(0.0, f64::max)
        };
        assert!(worst(near[0], near[1]) <= worst(0.25, 0.25));
        assert!(near.iter().all(|x| (x * 8.0).fract() == 0.0));
    }
}

//! The little linear algebra that regression with few observations needs.
use super::lanes::F64Lanes;
use kerf_num::wide;

/// A symmetric positive definite matrix as its lower triangular factor, row by row.
#[derive(Debug, Clone, Default)]
pub struct Cholesky {
    rows: Vec<Vec<f64>>,
}

impl Cholesky {
    /// Adds a row and column to the matrix: its part below the diagonal, and the diagonal element.
    pub fn push(&mut self, below: &[f64], diagonal: f64) {
        let mut row = self.forward(below);
        let squares = row.iter().map(|x| x * x).sum::<f64>();
        row.push(Cholesky::last_of_row(diagonal, squares));
        self.rows.push(row);
    }
    /// The element of the factor on its diagonal, by that of the matrix and the squares of those before it.
    #[inline(always)]
    pub fn last_of_row(diagonal: f64, squares: f64) -> f64 {
        let rest = diagonal - squares;
        // Rounding can leave less than nothing where a row nearly repeats others.
        rest.max(1e-12 * diagonal.abs().max(1e-12)).sqrt()
    }
    /// By the rows of the factor.
    pub fn from_rows(rows: Vec<Vec<f64>>) -> Cholesky {
        Cholesky { rows }
    }
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// Drops all rows and columns but the first ones.
    pub fn truncate(&mut self, n: usize) {
        self.rows.truncate(n);
    }
    /// Factors a matrix given by its elements on and below the diagonal.
    pub fn from_elements(n: usize, element: impl Fn(usize, usize) -> f64) -> Cholesky {
        let mut c = Cholesky::default();
        for i in 0..n {
            let below: Vec<f64> = (0..i).map(|j| element(i, j)).collect();
            c.push(&below, element(i, i));
        }
        c
    }
    /// Solves L x = b.
    pub fn forward(&self, b: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = Vec::with_capacity(b.len() + 1);
        for (row, b) in self.rows.iter().zip(b) {
            let known: f64 = row.iter().zip(&x).map(|(l, x)| l * x).sum();
            x.push((b - known) / row[x.len()]);
        }
        x
    }
    /// Solves L x = b for as many b as there are lanes; gives the sum of the squares of each x.
    pub fn forward_squares(&self, b: &[F64Lanes]) -> F64Lanes {
        forward_squares(&self.rows, b)
    }
    /// Solves L L^T x = b.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = self.forward(b);
        for i in (0..x.len()).rev() {
            x[i] /= self.rows[i][i];
            let (above, at) = x.split_at_mut(i);
            for (a, l) in above.iter_mut().zip(&self.rows[i]) {
                *a -= l * at[0];
            }
        }
        x
    }
    /// Logarithm of the determinant.
    pub fn log_det(&self) -> f64 {
        let diagonal = self.rows.iter().filter_map(|r| r.last());
        2.0 * diagonal.map(|d| d.ln()).sum::<f64>()
    }
    /// The last row of the factor.
    pub fn last(&self) -> &[f64] {
        self.rows.last().map_or(&[], Vec::as_slice)
    }
}

/// As many matrices of the same size as there are lanes, each as [`Cholesky`] has it.
#[derive(Debug, Clone, Default)]
pub struct LaneCholesky {
    rows: Vec<Vec<F64Lanes>>,
}

impl LaneCholesky {
    /// Factors matrices given by their elements on and below the diagonal.
    pub fn from_elements(n: usize, element: impl Fn(usize, usize) -> F64Lanes) -> LaneCholesky {
        let mut c = LaneCholesky::default();
        for i in 0..n {
            let below: Vec<F64Lanes> = (0..i).map(|j| element(i, j)).collect();
            let mut row = c.forward(&below);
            let mut squares = F64Lanes::ZERO;
            row.iter().for_each(|x| squares.add_product(x, x));
            let diagonal = element(i, i);
            row.push(F64Lanes::each(|k| {
                Cholesky::last_of_row(diagonal.0[k], squares.0[k])
            }));
            c.rows.push(row);
        }
        c
    }

    /// Solves L x = b.
    fn forward(&self, b: &[F64Lanes]) -> Vec<F64Lanes> {
        forward_lanes(&self.rows, b)
    }

    /// Solves L L^T x = b.
    pub fn solve(&self, b: &[F64Lanes]) -> Vec<F64Lanes> {
        let mut x = self.forward(b);
        for i in (0..x.len()).rev() {
            let diagonal = self.rows[i][i];
            let at = F64Lanes::each(|k| x[i].0[k] / diagonal.0[k]);
            x[i] = at;
            for (above, l) in x[..i].iter_mut().zip(&self.rows[i]) {
                *above = *above - *l * at;
            }
        }
        x
    }

    /// The matrix of one lane.
    pub fn lane(&self, k: usize) -> Cholesky {
        let row = |r: &Vec<F64Lanes>| r.iter().map(|l| l.0[k]).collect();
        Cholesky::from_rows(self.rows.iter().map(row).collect())
    }
}

wide! {
    fn forward_squares(rows: &[Vec<f64>], b: &[F64Lanes]) -> F64Lanes {
        let mut x: Vec<F64Lanes> = Vec::with_capacity(b.len());
        let mut squares = F64Lanes::ZERO;
        for (row, b) in rows.iter().zip(b) {
            let mut known = F64Lanes::ZERO;
            for (l, x) in row.iter().zip(&x) {
                known.add_scaled(x, *l);
            }
            let diagonal = row[x.len()];
            let at = F64Lanes::each(|k| (b.0[k] - known.0[k]) / diagonal);
            squares.add_product(&at, &at);
            x.push(at);
        }
        squares
    }
}

wide! {
    fn forward_lanes(rows: &[Vec<F64Lanes>], b: &[F64Lanes]) -> Vec<F64Lanes> {
        let mut x: Vec<F64Lanes> = Vec::with_capacity(b.len() + 1);
        for (row, b) in rows.iter().zip(b) {
            let mut known = F64Lanes::ZERO;
            for (l, x) in row.iter().zip(&x) {
                known.add_product(l, x);
            }
            let diagonal = row[x.len()];
            x.push(F64Lanes::each(|k| (b.0[k] - known.0[k]) / diagonal.0[k]));
        }
        x
    }
}

/// Sum of products.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_what_it_factors() {
        let m = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]];
        let c = Cholesky::from_elements(3, |i, j| m[i][j]);
        let x = c.solve(&[1.0, 2.0, 3.0]);
        for (row, b) in m.iter().zip([1.0, 2.0, 3.0]) {
            assert!((dot(row, &x) - b).abs() < 1e-12);
        }
        let det = 4.0 * (3.0 * 2.0 - 0.04) - (2.0 - 0.1) + 0.5 * (0.2 - 1.5);
        assert!((c.log_det() - f64::ln(det)).abs() < 1e-12);
    }

    #[test]
    fn lanes_have_the_bits_of_single_matrices() {
        let element = |k: usize, i: usize, j: usize| {
            let far = (i as f64 - j as f64).abs();
            (-far / (k as f64 + 1.3)).exp() + if i == j { 0.1 } else { 0.0 }
        };
        let b: Vec<F64Lanes> = (0..9)
            .map(|i| F64Lanes::each(|k| (i * 8 + k) as f64 / 7.0))
            .collect();
        let all = LaneCholesky::from_elements(9, |i, j| F64Lanes::each(|k| element(k, i, j)));
        let x = all.solve(&b);
        for k in 0..crate::guided::lanes::LANES {
            let one = Cholesky::from_elements(9, |i, j| element(k, i, j));
            let own: Vec<f64> = b.iter().map(|b| b.0[k]).collect();
            let lane: Vec<f64> = x.iter().map(|x| x.0[k]).collect();
            assert_eq!(one.solve(&own), lane);
            assert_eq!(one.log_det(), all.lane(k).log_det());
            let half = one.forward(&own);
            assert_eq!(dot(&half, &half), one.forward_squares(&b).0[k]);
        }
    }
}

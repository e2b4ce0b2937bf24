//! Matrices in column-major order, packed: what operations, triangles and leading dimensions say is decided when they are read.
use super::scalar::BlasNumber;

/// `op(A)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transposition {
    /// `A`.
    None,
    /// Rows and columns exchanged.
    Transpose,
    /// That, conjugated.
    Adjoint,
}

/// Which half of a matrix is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Triangle {
    /// Below the diagonal.
    Lower,
    /// Above it.
    Upper,
}

/// What stands for the half that is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// The other half, mirrored.
    Symmetric,
    /// That, conjugated; the diagonal is real.
    Hermitian,
    /// Zeros; with ones on the diagonal if so.
    Triangular {
        /// Are there ones on the diagonal, whatever is stored there?
        unit: bool,
    },
}

/// A packed matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense<T> {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Column after column.
    pub data: Vec<T>,
}

impl<T: BlasNumber> Dense<T> {
    /// By its elements.
    pub fn from_fn(rows: usize, columns: usize, f: impl Fn(usize, usize) -> T) -> Dense<T> {
        let mut data = Vec::with_capacity(rows * columns);
        for j in 0..columns {
            data.extend((0..rows).map(|i| f(i, j)));
        }
        Dense {
            rows,
            columns,
            data,
        }
    }

    /// `op` of a stored matrix, whose elements `stored` reads; it has `rows` and `columns` after the operation.
    pub fn read(
        (rows, columns): (usize, usize),
        op: Transposition,
        stored: impl Fn(usize, usize) -> T,
    ) -> Dense<T> {
        Dense::from_fn(rows, columns, |i, j| match op {
            Transposition::None => stored(i, j),
            Transposition::Transpose => stored(j, i),
            Transposition::Adjoint => stored(j, i).conjugate(),
        })
    }

    /// A square matrix of which one half is stored.
    pub fn from_half(
        n: usize,
        half: Triangle,
        fill: Fill,
        stored: impl Fn(usize, usize) -> T,
    ) -> Dense<T> {
        Dense::from_fn(n, n, |i, j| {
            let is_stored = if half == Triangle::Lower {
                i >= j
            } else {
                i <= j
            };
            match fill {
                Fill::Triangular { unit: true } if i == j => T::ONE,
                Fill::Hermitian if i == j => {
                    let x = stored(i, i);
                    // (x + conj x) / 2 is exact unless it overflows, and has no imaginary part.
                    x.plus(x.conjugate()).over(T::ONE.plus(T::ONE))
                }
                _ if is_stored => stored(i, j),
                Fill::Symmetric => stored(j, i),
                Fill::Hermitian => stored(j, i).conjugate(),
                Fill::Triangular { .. } => T::ZERO,
            }
        })
    }

    /// One element.
    pub fn at(&self, i: usize, j: usize) -> T {
        self.data[j * self.rows + i]
    }
}

/// A triangular system.
#[derive(Debug)]
pub struct Solve<'a, T> {
    /// The matrix, its other half zeros.
    pub a: &'a Dense<T>,
    /// Is it lower triangular?
    pub lower: bool,
}

/// Solves `A x = b` in place, for every column `b` of a matrix.
pub fn solve_triangular<T: BlasNumber>(s: Solve<T>, b: &mut Dense<T>) {
    let n = s.a.rows;
    let minus = |x: T| T::ZERO.minus(x);
    for column in b.data.chunks_mut(n.max(1)) {
        for step in 0..n {
            let i = if s.lower { step } else { n - 1 - step };
            let x = column[i].over(s.a.at(i, i));
            column[i] = x;
            let rest = if s.lower { i + 1..n } else { 0..i };
            for r in rest {
                column[r] = minus(s.a.at(r, i)).fused(x, column[r]);
            }
        }
    }
}

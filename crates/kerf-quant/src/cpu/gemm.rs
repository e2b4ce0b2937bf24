//! Matrix products, the one place that calls the library's unsafe function.

/// A matrix in a slice: rows, columns, and whether the slice holds its transpose.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    /// Row-major values of `rows * columns`, or of the transpose.
    pub data: &'a [f32],
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// The slice holds `columns * rows`.
    pub transposed: bool,
}

impl<'a> Matrix<'a> {
    /// As it lies.
    pub fn new(data: &'a [f32], rows: usize, columns: usize) -> Matrix<'a> {
        assert_eq!(
            data.len(),
            rows * columns,
            "a matrix should have its values"
        );
        Matrix {
            data,
            rows,
            columns,
            transposed: false,
        }
    }
    /// Its transpose, without moving anything.
    pub fn t(self) -> Matrix<'a> {
        Matrix {
            data: self.data,
            rows: self.columns,
            columns: self.rows,
            transposed: !self.transposed,
        }
    }
    fn strides(&self) -> (isize, isize) {
        match self.transposed {
            false => (self.columns as isize, 1),
            true => (1, self.rows as isize),
        }
    }
}

/// `c = a * b + beta * c`, on this thread. `c` is row-major.
pub fn multiply(a: Matrix, b: Matrix, beta: f32, c: &mut [f32]) {
    assert_eq!(a.columns, b.rows, "inner dimensions should agree");
    assert_eq!(
        c.len(),
        a.rows * b.columns,
        "the result should have its place"
    );
    let ((ra, ca), (rb, cb)) = (a.strides(), b.strides());
    // SAFETY: each slice holds all elements that its dimensions and strides reach (asserted in `new`, in `t` by
    // exchange, and above), and `c` overlaps neither by the rules of borrows.
    unsafe {
        matrixmultiply::sgemm(
            a.rows,
            a.columns,
            b.columns,
            1.0,
            a.data.as_ptr(),
            ra,
            ca,
            b.data.as_ptr(),
            rb,
            cb,
            beta,
            c.as_mut_ptr(),
            b.columns as isize,
            1,
        );
    }
}

//! Matrices and vectors.
use super::level1::{change, read};
use super::{Call, Handle, Status, Stored, call, count, is_second, operation, stride, triangle};
use crate::libraries::on_cpu::Int;
use kerf_mathlib::blas::{
    BlasNumber, Dense, Fill, Solve, Strided, Transposition, Triangle, multiply, solve_triangular,
};
use std::ffi::c_void;

/// A vector as a matrix of one column.
fn column<T: BlasNumber>(x: Strided<T>) -> Dense<T> {
    Dense::from_fn(x.n, 1, |i, _| x.at(i))
}

/// `alpha p + beta y`; where `beta` is 0, `y` is not looked at.
pub(super) fn combined<T: BlasNumber>(alpha: T, p: T, beta: T, y: T) -> T {
    match beta == T::ZERO {
        true => alpha.times(p),
        false => alpha.fused(p, beta.times(y)),
    }
}

/// `y = alpha A x + beta y`.
fn product<T: BlasNumber>(
    c: &mut Call,
    a: impl FnOnce() -> Dense<T>,
    (x, beta): (Strided<T>, T),
    alpha: T,
    y: (*mut T, usize, i64),
) -> Result<(), Status> {
    let p = match alpha == T::ZERO {
        true => vec![T::ZERO; y.1],
        false => multiply(&a(), &column(x)).data,
    };
    change(c, "y", y, |y| y.each(|i, y| combined(alpha, p[i], beta, y)))
}

extern "C" fn gemv<T: BlasNumber, I: Int>(
    h: Handle,
    op: i32,
    m: I,
    n: I,
    alpha: *const T,
    a: *const T,
    lda: I,
    x: *const T,
    incx: I,
    beta: *const T,
    y: *mut T,
    incy: I,
) -> Status {
    call(h, |c| {
        let (op, m, n) = (operation(op)?, count(m)?, count(n)?);
        let (incx, incy) = (stride(incx)?, stride(incy)?);
        let (alpha, beta) = (c.scalar("alpha", alpha)?, c.scalar("beta", beta)?);
        let a = c.matrix("A", (a, lda.value()), (m, n))?;
        let (rows, columns) = if op == Transposition::None {
            (m, n)
        } else {
            (n, m)
        };
        if m == 0 || n == 0 {
            return Ok(());
        }
        let x = read(c, "x", (x, columns, incx))?;
        let dense = || Dense::read((rows, columns), op, |i, j| a.at(i, j));
        product(c, dense, (x, beta), alpha, (y, rows, incy))
    })
}

/// `A = alpha x y' + A`, where `part` says which elements of `A` there are.
fn update<T: BlasNumber>(
    c: &mut Call,
    (a, shape): (Stored<T>, (usize, usize)),
    alpha: T,
    (x, y): (Strided<T>, Strided<T>),
    conjugate: bool,
    part: impl Fn(usize, usize) -> bool,
) {
    for j in 0..shape.1 {
        let right = if conjugate {
            y.at(j).conjugate()
        } else {
            y.at(j)
        };
        let factor = alpha.times(right);
        for i in (0..shape.0).filter(|i| part(*i, j)) {
            a.set(i, j, x.at(i).fused(factor, a.at(i, j)));
        }
    }
    c.wrote(a, shape);
}

extern "C" fn ger<T: BlasNumber, I: Int, const CONJUGATE: bool>(
    h: Handle,
    m: I,
    n: I,
    alpha: *const T,
    x: *const T,
    incx: I,
    y: *const T,
    incy: I,
    a: *mut T,
    lda: I,
) -> Status {
    call(h, |c| {
        let (m, n, alpha) = (count(m)?, count(n)?, c.scalar("alpha", alpha)?);
        let a = c.matrix("A", (a.cast_const(), lda.value()), (m, n))?;
        let x = read(c, "x", (x, m, stride(incx)?))?;
        let y = read(c, "y", (y, n, stride(incy)?))?;
        update(c, (a, (m, n)), alpha, (x, y), CONJUGATE, |_, _| true);
        Ok(())
    })
}

extern "C" fn syr<T: BlasNumber, I: Int>(
    h: Handle,
    half: i32,
    n: I,
    alpha: *const T,
    x: *const T,
    incx: I,
    a: *mut T,
    lda: I,
) -> Status {
    call(h, |c| {
        let (half, n, alpha) = (triangle(half)?, count(n)?, c.scalar("alpha", alpha)?);
        let a = c.matrix("A", (a.cast_const(), lda.value()), (n, n))?;
        let x = read(c, "x", (x, n, stride(incx)?))?;
        let part = |i: usize, j: usize| {
            if half == Triangle::Lower {
                i >= j
            } else {
                i <= j
            }
        };
        update(c, (a, (n, n)), alpha, (x, x), false, part);
        Ok(())
    })
}

extern "C" fn symv<T: BlasNumber, I: Int, const HERMITIAN: bool>(
    h: Handle,
    half: i32,
    n: I,
    alpha: *const T,
    a: *const T,
    lda: I,
    x: *const T,
    incx: I,
    beta: *const T,
    y: *mut T,
    incy: I,
) -> Status {
    call(h, |c| {
        let (half, n) = (triangle(half)?, count(n)?);
        let (alpha, beta) = (c.scalar("alpha", alpha)?, c.scalar("beta", beta)?);
        let a = c.matrix("A", (a, lda.value()), (n, n))?;
        let x = read(c, "x", (x, n, stride(incx)?))?;
        let fill = if HERMITIAN {
            Fill::Hermitian
        } else {
            Fill::Symmetric
        };
        let dense = || Dense::from_half(n, half, fill, |i, j| a.at(i, j));
        product(c, dense, (x, beta), alpha, (y, n, stride(incy)?))
    })
}

/// `op(A)` of a triangular matrix, and whether that is lower triangular.
pub(super) fn triangular<T: BlasNumber>(
    a: Stored<T>,
    n: usize,
    (half, op, unit): (Triangle, Transposition, bool),
) -> (Dense<T>, bool) {
    let dense = Dense::from_half(n, half, Fill::Triangular { unit }, |i, j| a.at(i, j));
    let lower = (half == Triangle::Lower) == (op == Transposition::None);
    (Dense::read((n, n), op, |i, j| dense.at(i, j)), lower)
}

extern "C" fn triangular_vector<T: BlasNumber, I: Int, const SOLVE: bool>(
    h: Handle,
    half: i32,
    op: i32,
    unit: i32,
    n: I,
    a: *const T,
    lda: I,
    x: *mut T,
    incx: I,
) -> Status {
    call(h, |c| {
        let shape = (triangle(half)?, operation(op)?, is_second(unit)?);
        let (n, incx) = (count(n)?, stride(incx)?);
        let a = c.matrix("A", (a, lda.value()), (n, n))?;
        let (a, lower) = triangular(a, n, shape);
        let mut v = column(read(c, "x", (x, n, incx))?);
        match SOLVE {
            true => solve_triangular(Solve { a: &a, lower }, &mut v),
            false => v = multiply(&a, &v),
        }
        change(c, "x", (x, n, incx), |x| x.each(|i, _| v.data[i]))
    })
}

/// Functions of every type.
pub(super) fn function<T: BlasNumber, I: Int>(name: &str) -> Option<*const c_void> {
    let is_complex = size_of::<T>() == 2 * size_of::<T::Real>();
    Some(match name {
        "gemv_v2" => gemv::<T, I> as *const c_void,
        "ger_v2" if !is_complex => ger::<T, I, false> as *const c_void,
        "geru_v2" if is_complex => ger::<T, I, false> as *const c_void,
        "gerc_v2" if is_complex => ger::<T, I, true> as *const c_void,
        "syr_v2" => syr::<T, I> as *const c_void,
        "symv_v2" => symv::<T, I, false> as *const c_void,
        "hemv_v2" if is_complex => symv::<T, I, true> as *const c_void,
        "trmv_v2" => triangular_vector::<T, I, false> as *const c_void,
        "trsv_v2" => triangular_vector::<T, I, true> as *const c_void,
        _ => return None,
    })
}

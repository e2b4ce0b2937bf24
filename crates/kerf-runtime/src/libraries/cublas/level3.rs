//! Matrices of special forms, and sums of matrices.
use super::level1::read;
use super::level2::{combined, triangular};
use super::products::write;
use super::{Handle, Status, call, count, is_second, operation, stride, triangle};
use crate::libraries::on_cpu::Int;
use kerf_mathlib::blas::{
    BlasNumber, Dense, Fill, Solve, Transposition, Triangle, multiply, solve_triangular,
};
use std::ffi::c_void;

extern "C" fn symm<T: BlasNumber, I: Int, const HERMITIAN: bool>(
    h: Handle,
    side: i32,
    half: i32,
    m: I,
    n: I,
    alpha: *const T,
    a: *const T,
    lda: I,
    b: *const T,
    ldb: I,
    beta: *const T,
    to: *mut T,
    ldc: I,
) -> Status {
    call(h, |c| {
        let (right, half, m, n) = (is_second(side)?, triangle(half)?, count(m)?, count(n)?);
        let (alpha, beta) = (c.scalar("alpha", alpha)?, c.scalar("beta", beta)?);
        let order = if right { n } else { m };
        let a = c.matrix("A", (a, lda.value()), (order, order))?;
        let b = c.matrix("B", (b, ldb.value()), (m, n))?;
        let to = c.matrix("C", (to.cast_const(), ldc.value()), (m, n))?;
        let fill = if HERMITIAN {
            Fill::Hermitian
        } else {
            Fill::Symmetric
        };
        let a = Dense::from_half(order, half, fill, |i, j| a.at(i, j));
        let b = Dense::from_fn(m, n, |i, j| b.at(i, j));
        let p = if right {
            multiply(&b, &a)
        } else {
            multiply(&a, &b)
        };
        write(c, to, (m, n), |i, j, old| {
            combined(alpha, p.at(i, j), beta, old())
        });
        Ok(())
    })
}

extern "C" fn syrk<T: BlasNumber, I: Int>(
    h: Handle,
    half: i32,
    op: i32,
    n: I,
    k: I,
    alpha: *const T,
    a: *const T,
    lda: I,
    beta: *const T,
    to: *mut T,
    ldc: I,
) -> Status {
    call(h, |c| {
        let (half, op, n, k) = (triangle(half)?, operation(op)?, count(n)?, count(k)?);
        let (alpha, beta) = (c.scalar("alpha", alpha)?, c.scalar("beta", beta)?);
        let stored = if op == Transposition::None {
            (n, k)
        } else {
            (k, n)
        };
        let a = c.matrix("A", (a, lda.value()), stored)?;
        let to = c.matrix("C", (to.cast_const(), ldc.value()), (n, n))?;
        let left = match op {
            Transposition::None => Dense::from_fn(n, k, |i, j| a.at(i, j)),
            _ => Dense::from_fn(n, k, |i, j| a.at(j, i)),
        };
        let right = Dense::from_fn(k, n, |i, j| left.at(j, i));
        let p = multiply(&left, &right);
        for j in 0..n {
            let rows = if half == Triangle::Lower {
                j..n
            } else {
                0..j + 1
            };
            for i in rows {
                to.set(i, j, combined(alpha, p.at(i, j), beta, to.at(i, j)));
            }
        }
        c.wrote(to, (n, n));
        Ok(())
    })
}

/// What `trmm` and `trsm` share: side, half, operation, unit diagonal, sizes.
type TriangularForm<I> = (i32, i32, i32, i32, I, I);

/// `B` times a triangular matrix from its side, or the solution of that; gives the result.
fn by_triangle<T: BlasNumber, I: Int>(
    c: &mut super::Call,
    (side, half, op, unit, m, n): TriangularForm<I>,
    (alpha, is_solved): (T, bool),
    (a, lda, b, ldb): (*const T, I, *const T, I),
) -> Result<Dense<T>, Status> {
    let right = is_second(side)?;
    let form = (triangle(half)?, operation(op)?, is_second(unit)?);
    let (m, n) = (count(m)?, count(n)?);
    let order = if right { n } else { m };
    let a = c.matrix("A", (a, lda.value()), (order, order))?;
    let b = c.matrix("B", (b, ldb.value()), (m, n))?;
    if alpha == T::ZERO {
        return Ok(Dense::from_fn(m, n, |_, _| T::ZERO));
    }
    let (mut a, mut lower) = triangular(a, order, form);
    // From the right: the transposes from the left.
    if right {
        (a, lower) = (Dense::from_fn(order, order, |i, j| a.at(j, i)), !lower);
    }
    let across = |m: &Dense<T>| Dense::from_fn(m.columns, m.rows, |i, j| m.at(j, i));
    let scaled = Dense::from_fn(m, n, |i, j| match is_solved {
        true => alpha.times(b.at(i, j)),
        false => b.at(i, j),
    });
    let mut x = if right { across(&scaled) } else { scaled };
    if is_solved {
        solve_triangular(Solve { a: &a, lower }, &mut x);
    } else {
        x = multiply(&a, &x);
        x.data.iter_mut().for_each(|x| *x = alpha.times(*x));
    }
    Ok(if right { across(&x) } else { x })
}

extern "C" fn trsm<T: BlasNumber, I: Int>(
    h: Handle,
    side: i32,
    half: i32,
    op: i32,
    unit: i32,
    m: I,
    n: I,
    alpha: *const T,
    a: *const T,
    lda: I,
    b: *mut T,
    ldb: I,
) -> Status {
    call(h, |c| {
        let alpha = c.scalar("alpha", alpha)?;
        let form = (side, half, op, unit, m, n);
        let x = by_triangle(c, form, (alpha, true), (a, lda, b.cast_const(), ldb))?;
        let shape = (x.rows, x.columns);
        let to = c.matrix("B", (b.cast_const(), ldb.value()), shape)?;
        write(c, to, shape, |i, j, _| x.at(i, j));
        Ok(())
    })
}

extern "C" fn trmm<T: BlasNumber, I: Int>(
    h: Handle,
    side: i32,
    half: i32,
    op: i32,
    unit: i32,
    m: I,
    n: I,
    alpha: *const T,
    a: *const T,
    lda: I,
    b: *const T,
    ldb: I,
    to: *mut T,
    ldc: I,
) -> Status {
    call(h, |c| {
        let alpha = c.scalar("alpha", alpha)?;
        let form = (side, half, op, unit, m, n);
        let x = by_triangle(c, form, (alpha, false), (a, lda, b, ldb))?;
        let shape = (x.rows, x.columns);
        let to = c.matrix("C", (to.cast_const(), ldc.value()), shape)?;
        write(c, to, shape, |i, j, _| x.at(i, j));
        Ok(())
    })
}

extern "C" fn geam<T: BlasNumber, I: Int>(
    h: Handle,
    op_a: i32,
    op_b: i32,
    m: I,
    n: I,
    alpha: *const T,
    a: *const T,
    lda: I,
    beta: *const T,
    b: *const T,
    ldb: I,
    to: *mut T,
    ldc: I,
) -> Status {
    call(h, |c| {
        let (op_a, op_b, m, n) = (operation(op_a)?, operation(op_b)?, count(m)?, count(n)?);
        let (alpha, beta) = (c.scalar("alpha", alpha)?, c.scalar("beta", beta)?);
        let zeros = || Dense::from_fn(m, n, |_, _| T::ZERO);
        let shape = |op| {
            if op == Transposition::None {
                (m, n)
            } else {
                (n, m)
            }
        };
        let take = |what, x: *const T, ld: I, op, factor: T| {
            if factor == T::ZERO {
                return Ok(zeros());
            }
            let x = c.matrix(what, (x, ld.value()), shape(op))?;
            Ok::<_, Status>(Dense::read((m, n), op, |i, j| x.at(i, j)))
        };
        let (a, b) = (
            take("A", a, lda, op_a, alpha)?,
            take("B", b, ldb, op_b, beta)?,
        );
        let to = c.matrix("C", (to.cast_const(), ldc.value()), (m, n))?;
        write(c, to, (m, n), |i, j, _| {
            combined(alpha, a.at(i, j), beta, b.at(i, j))
        });
        Ok(())
    })
}

extern "C" fn dgmm<T: BlasNumber, I: Int>(
    h: Handle,
    side: i32,
    m: I,
    n: I,
    a: *const T,
    lda: I,
    x: *const T,
    incx: I,
    to: *mut T,
    ldc: I,
) -> Status {
    call(h, |c| {
        let (right, m, n) = (is_second(side)?, count(m)?, count(n)?);
        let a = c.matrix("A", (a, lda.value()), (m, n))?;
        let to = c.matrix("C", (to.cast_const(), ldc.value()), (m, n))?;
        let x = read(c, "x", (x, if right { n } else { m }, stride(incx)?))?;
        let factor = |i: usize, j: usize| x.at(if right { j } else { i });
        let old = Dense::from_fn(m, n, |i, j| a.at(i, j));
        write(c, to, (m, n), |i, j, _| old.at(i, j).times(factor(i, j)));
        Ok(())
    })
}

/// Functions of every type.
pub(super) fn function<T: BlasNumber, I: Int>(name: &str) -> Option<*const c_void> {
    let is_complex = size_of::<T>() == 2 * size_of::<T::Real>();
    Some(match name {
        "symm_v2" => symm::<T, I, false> as *const c_void,
        "hemm_v2" if is_complex => symm::<T, I, true> as *const c_void,
        "syrk_v2" => syrk::<T, I> as *const c_void,
        "trsm_v2" => trsm::<T, I> as *const c_void,
        "trmm_v2" => trmm::<T, I> as *const c_void,
        "geam" => geam::<T, I> as *const c_void,
        "dgmm" => dgmm::<T, I> as *const c_void,
        _ => return None,
    })
}

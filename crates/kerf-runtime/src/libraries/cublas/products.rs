//! Products of matrices of one type: one, or many.
use super::level2::combined;
use super::{Call, Handle, Status, Stored, call, count, operation, status};
use crate::libraries::on_cpu::{Int, check};
use kerf_mathlib::blas::{BlasNumber, Dense, Transposition, multiply};
use std::ffi::c_void;

/// The shape of a product.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub a: Transposition,
    pub b: Transposition,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// Elements from one column to the next, of A, B and C.
    pub leading: [i64; 3],
}

impl Shape {
    pub(super) fn new<I: Int>(
        (a, b): (i32, i32),
        (m, n, k): (I, I, I),
        leading: [I; 3],
    ) -> Result<Shape, Status> {
        Ok(Shape {
            a: operation(a)?,
            b: operation(b)?,
            m: count(m)?,
            n: count(n)?,
            k: count(k)?,
            leading: leading.map(Int::value),
        })
    }

    /// Rows and columns of A, B and C as they are stored.
    pub(super) fn stored(&self) -> [(usize, usize); 3] {
        let of = |op, rows, columns| match op {
            Transposition::None => (rows, columns),
            _ => (columns, rows),
        };
        [
            of(self.a, self.m, self.k),
            of(self.b, self.k, self.n),
            (self.m, self.n),
        ]
    }
}

/// `C = alpha op(A) op(B) + beta C`.
pub(super) fn gemm_on<T: BlasNumber>(
    c: &mut Call,
    s: Shape,
    (alpha, beta): (T, T),
    (a, b, to): (*const T, *const T, *mut T),
) -> Result<(), Status> {
    let [of_a, of_b, of_c] = s.stored();
    let to = c.matrix("C", (to.cast_const(), s.leading[2]), of_c)?;
    if s.m == 0 || s.n == 0 {
        return Ok(());
    }
    let needs_product = alpha != T::ZERO && s.k > 0;
    let p = match needs_product {
        true => {
            let a = c.matrix("A", (a, s.leading[0]), of_a)?;
            let b = c.matrix("B", (b, s.leading[1]), of_b)?;
            let a = Dense::read((s.m, s.k), s.a, |i, j| a.at(i, j));
            multiply(&a, &Dense::read((s.k, s.n), s.b, |i, j| b.at(i, j)))
        }
        false => Dense::from_fn(s.m, s.n, |_, _| T::ZERO),
    };
    write(c, to, (s.m, s.n), |i, j, old| {
        combined(alpha, p.at(i, j), beta, old())
    });
    Ok(())
}

/// Writes a matrix, each element from what is there.
pub(super) fn write<T: Copy>(
    c: &mut Call,
    to: Stored<T>,
    (m, n): (usize, usize),
    f: impl Fn(usize, usize, &dyn Fn() -> T) -> T,
) {
    for j in 0..n {
        for i in 0..m {
            to.set(i, j, f(i, j, &|| to.at(i, j)));
        }
    }
    c.wrote(to, (m, n));
}

extern "C" fn gemm<T: BlasNumber, I: Int>(
    h: Handle,
    op_a: i32,
    op_b: i32,
    m: I,
    n: I,
    k: I,
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
        let s = Shape::new((op_a, op_b), (m, n, k), [lda, ldb, ldc])?;
        let factors = (c.scalar("alpha", alpha)?, c.scalar("beta", beta)?);
        gemm_on(c, s, factors, (a, b, to))
    })
}

extern "C" fn gemm_strided<T: BlasNumber, I: Int>(
    h: Handle,
    op_a: i32,
    op_b: i32,
    m: I,
    n: I,
    k: I,
    alpha: *const T,
    a: *const T,
    lda: I,
    apart_a: i64,
    b: *const T,
    ldb: I,
    apart_b: i64,
    beta: *const T,
    to: *mut T,
    ldc: I,
    apart_c: i64,
    batch: I,
) -> Status {
    call(h, |c| {
        let s = Shape::new((op_a, op_b), (m, n, k), [lda, ldb, ldc])?;
        let factors = (c.scalar("alpha", alpha)?, c.scalar("beta", beta)?);
        for i in 0..count(batch)? as isize {
            let at = |p: *const T, apart: i64| p.wrapping_offset(i * apart as isize);
            let to = to.wrapping_offset(i * apart_c as isize);
            gemm_on(c, s, factors, (at(a, apart_a), at(b, apart_b), to))?;
        }
        Ok(())
    })
}

/// One of an array of addresses in memory of the device.
pub(super) fn address<P: Copy>(c: &Call, what: &str, all: *const P, i: usize) -> Result<P, Status> {
    let at = all.wrapping_add(i);
    check(c.state, what, at as u64, 8, status::EXECUTION_FAILED)?;
    // SAFETY: it was checked.
    Ok(unsafe { at.read_unaligned() })
}

extern "C" fn gemm_batched<T: BlasNumber, I: Int>(
    h: Handle,
    op_a: i32,
    op_b: i32,
    m: I,
    n: I,
    k: I,
    alpha: *const T,
    a: *const *const T,
    lda: I,
    b: *const *const T,
    ldb: I,
    beta: *const T,
    to: *const *mut T,
    ldc: I,
    batch: I,
) -> Status {
    call(h, |c| {
        let s = Shape::new((op_a, op_b), (m, n, k), [lda, ldb, ldc])?;
        let factors = (c.scalar("alpha", alpha)?, c.scalar("beta", beta)?);
        for i in 0..count(batch)? {
            let (a, b) = (address(c, "Aarray", a, i)?, address(c, "Barray", b, i)?);
            let to = address(c, "Carray", to, i)?;
            gemm_on(c, s, factors, (a, b, to))?;
        }
        Ok(())
    })
}

/// Functions of every type.
pub(super) fn function<T: BlasNumber, I: Int>(name: &str) -> Option<*const c_void> {
    Some(match name {
        "gemm_v2" => gemm::<T, I> as *const c_void,
        "gemmStridedBatched" => gemm_strided::<T, I> as *const c_void,
        "gemmBatched" => gemm_batched::<T, I> as *const c_void,
        _ => return None,
    })
}

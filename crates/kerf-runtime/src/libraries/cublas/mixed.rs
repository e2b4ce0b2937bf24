//! Products of matrices whose types are arguments (`cublasGemmEx`), and those of halves.
//!
//! Sums are taken in f32, or f64 where that is asked for, and rounded once to the result's type. What a GPU may do with less
//! (TF32, sums in f16) is not imitated: results here are the more accurate ones.
use super::level2::combined;
use super::products::{Shape, address};
use super::{Call, Handle, Status, Stored, call, count, status, unsupported};
use crate::libraries::on_cpu::{Int, check, extent};
use half::{bf16, f16};
use kerf_mathlib::blas::{Dense, Real, Strided, dot, multiply};
use std::ffi::c_void;

/// A type of elements, by `cudaDataType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    F32,
    F64,
    F16,
    Bf16,
    I8,
    I32,
}

impl Element {
    fn new(number: i32) -> Result<Element, Status> {
        Ok(match number {
            0 => Element::F32,
            1 => Element::F64,
            2 => Element::F16,
            3 => Element::I8,
            10 => Element::I32,
            14 => Element::Bf16,
            _ => return Err(unsupported(&format!("data type {number}"))),
        })
    }

    fn bytes(self) -> usize {
        match self {
            Element::F64 => 8,
            Element::F32 | Element::I32 => 4,
            Element::F16 | Element::Bf16 => 2,
            Element::I8 => 1,
        }
    }

    /// SAFETY: there is such an element.
    unsafe fn read(self, at: *const u8) -> f64 {
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                Element::F32 => f64::from(at.cast::<f32>().read_unaligned()),
                Element::F64 => at.cast::<f64>().read_unaligned(),
                Element::F16 => at.cast::<f16>().read_unaligned().to_f64(),
                Element::Bf16 => at.cast::<bf16>().read_unaligned().to_f64(),
                Element::I8 => f64::from(at.cast::<i8>().read_unaligned()),
                Element::I32 => f64::from(at.cast::<i32>().read_unaligned()),
            }
        }
    }

    /// SAFETY: there is such an element.
    unsafe fn write(self, at: *mut u8, x: f64) {
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                Element::F32 => at.cast::<f32>().write_unaligned(x as f32),
                Element::F64 => at.cast::<f64>().write_unaligned(x),
                Element::F16 => at.cast::<f16>().write_unaligned(f16::from_f64(x)),
                Element::Bf16 => at.cast::<bf16>().write_unaligned(bf16::from_f64(x)),
                Element::I8 => at.cast::<i8>().write_unaligned(x as i8),
                Element::I32 => at.cast::<i32>().write_unaligned(x as i64 as i32),
            }
        }
    }
}

/// What sums are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sums {
    F16,
    F32,
    F64,
    /// Of integers; they are exact in f64.
    I32,
}

/// Types of a product.
#[derive(Debug, Clone, Copy)]
struct Types {
    a: Element,
    b: Element,
    c: Element,
    sums: Sums,
}

impl Types {
    /// By `cudaDataType` and `cublasComputeType_t`.
    fn new(elements: [i32; 3], compute: i32) -> Result<Types, Status> {
        let [a, b, c] = elements;
        let (a, b, c) = (Element::new(a)?, Element::new(b)?, Element::new(c)?);
        let is_small = |e| matches!(e, Element::F32 | Element::F16 | Element::Bf16);
        let (sums, fits) = match compute {
            64 | 65 => (Sums::F16, [a, b, c] == [Element::F16; 3]),
            68 | 69 | 74 | 75 | 77 => (Sums::F32, a == b && is_small(a) && is_small(c)),
            70 | 71 => (Sums::F64, [a, b, c] == [Element::F64; 3]),
            72 | 73 => (
                Sums::I32,
                [a, b, c] == [Element::I8, Element::I8, Element::I32],
            ),
            _ => return Err(unsupported(&format!("compute type {compute}"))),
        };
        match fits {
            true => Ok(Types { a, b, c, sums }),
            false => Err(unsupported(&format!(
                "{a:?} {b:?} {c:?} with compute type {compute}"
            ))),
        }
    }

    /// A factor, which is of the type of the sums.
    fn scalar(self, c: &Call, what: &str, x: *const c_void) -> Result<f64, Status> {
        Ok(match self.sums {
            Sums::F16 => c.scalar(what, x.cast::<f16>())?.to_f64(),
            Sums::F32 => f64::from(c.scalar(what, x.cast::<f32>())?),
            Sums::F64 => c.scalar(what, x.cast::<f64>())?,
            Sums::I32 => f64::from(c.scalar(what, x.cast::<i32>())?),
        })
    }
}

/// A matrix of a type that is an argument.
#[derive(Clone, Copy)]
struct Untyped {
    bytes: Stored<u8>,
    element: Element,
}

impl Untyped {
    fn new(
        c: &Call,
        what: &str,
        (first, leading): (*const c_void, i64),
        (rows, columns): (usize, usize),
        element: Element,
    ) -> Result<Untyped, Status> {
        if leading < rows.max(1) as i64 {
            return Err(status::INVALID_VALUE);
        }
        let n = element.bytes();
        let bytes = c.matrix(
            what,
            (first.cast(), leading * n as i64),
            (rows * n, columns),
        )?;
        Ok(Untyped { bytes, element })
    }

    fn place(&self, i: usize, j: usize) -> *mut u8 {
        let at = j * self.bytes.leading + i * self.element.bytes();
        self.bytes.first.cast_mut().wrapping_add(at)
    }

    fn at<R: Real>(&self, i: usize, j: usize) -> R {
        // SAFETY: the matrix was checked.
        R::from_f64(unsafe { self.element.read(self.place(i, j)) })
    }
}

/// Addresses of A, B and C.
type Addresses = (*const c_void, *const c_void, *mut c_void);

fn product<R: Real>(
    c: &mut Call,
    s: Shape,
    t: Types,
    (alpha, beta): (f64, f64),
    (a, b, to): Addresses,
) -> Result<(), Status> {
    let [of_a, of_b, of_c] = s.stored();
    let to = Untyped::new(c, "C", (to.cast_const(), s.leading[2]), of_c, t.c)?;
    if s.m == 0 || s.n == 0 {
        return Ok(());
    }
    let (alpha, beta) = (R::from_f64(alpha), R::from_f64(beta));
    let p = match alpha == R::ZERO || s.k == 0 {
        true => Dense::from_fn(s.m, s.n, |_, _| R::ZERO),
        false => {
            let a = Untyped::new(c, "A", (a, s.leading[0]), of_a, t.a)?;
            let b = Untyped::new(c, "B", (b, s.leading[1]), of_b, t.b)?;
            let a = Dense::read((s.m, s.k), s.a, |i, j| a.at(i, j));
            multiply(&a, &Dense::read((s.k, s.n), s.b, |i, j| b.at(i, j)))
        }
    };
    for j in 0..s.n {
        for i in 0..s.m {
            let old = if beta == R::ZERO {
                R::ZERO
            } else {
                to.at(i, j)
            };
            let x: R = combined(alpha, p.at(i, j), beta, old);
            // SAFETY: the matrix was checked.
            unsafe { to.element.write(to.place(i, j), x.to_f64()) };
        }
    }
    c.wrote(to.bytes, (s.m * t.c.bytes(), s.n));
    Ok(())
}

fn any_product(
    c: &mut Call,
    s: Shape,
    t: Types,
    factors: (f64, f64),
    at: Addresses,
) -> Result<(), Status> {
    match t.sums {
        Sums::F16 | Sums::F32 => product::<f32>(c, s, t, factors, at),
        Sums::F64 | Sums::I32 => product::<f64>(c, s, t, factors, at),
    }
}

/// f16 as a `cudaDataType`, and sums in it as a `cublasComputeType_t`.
const HALF: i32 = 2;
const F16_SUMS: i32 = 64;

extern "C" fn gemm_ex<I: Int>(
    h: Handle,
    op_a: i32,
    op_b: i32,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    type_a: i32,
    lda: I,
    b: *const c_void,
    type_b: i32,
    ldb: I,
    beta: *const c_void,
    to: *mut c_void,
    type_c: i32,
    ldc: I,
    compute: i32,
    _algorithm: i32,
) -> Status {
    call(h, |c| {
        let s = Shape::new((op_a, op_b), (m, n, k), [lda, ldb, ldc])?;
        let t = Types::new([type_a, type_b, type_c], compute)?;
        let factors = (t.scalar(c, "alpha", alpha)?, t.scalar(c, "beta", beta)?);
        any_product(c, s, t, factors, (a, b, to))
    })
}

extern "C" fn gemm_strided_ex<I: Int>(
    h: Handle,
    op_a: i32,
    op_b: i32,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    type_a: i32,
    lda: I,
    apart_a: i64,
    b: *const c_void,
    type_b: i32,
    ldb: I,
    apart_b: i64,
    beta: *const c_void,
    to: *mut c_void,
    type_c: i32,
    ldc: I,
    apart_c: i64,
    batch: I,
    compute: i32,
    _algorithm: i32,
) -> Status {
    call(h, |c| {
        let s = Shape::new((op_a, op_b), (m, n, k), [lda, ldb, ldc])?;
        let t = Types::new([type_a, type_b, type_c], compute)?;
        let factors = (t.scalar(c, "alpha", alpha)?, t.scalar(c, "beta", beta)?);
        for i in 0..count(batch)? as i64 {
            let offset = |apart: i64, e: Element| (i * apart) as isize * e.bytes() as isize;
            let at = (
                a.wrapping_byte_offset(offset(apart_a, t.a)),
                b.wrapping_byte_offset(offset(apart_b, t.b)),
                to.wrapping_byte_offset(offset(apart_c, t.c)),
            );
            any_product(c, s, t, factors, at)?;
        }
        Ok(())
    })
}

extern "C" fn gemm_batched_ex<I: Int>(
    h: Handle,
    op_a: i32,
    op_b: i32,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const *const c_void,
    type_a: i32,
    lda: I,
    b: *const *const c_void,
    type_b: i32,
    ldb: I,
    beta: *const c_void,
    to: *const *mut c_void,
    type_c: i32,
    ldc: I,
    batch: I,
    compute: i32,
    _algorithm: i32,
) -> Status {
    call(h, |c| {
        let s = Shape::new((op_a, op_b), (m, n, k), [lda, ldb, ldc])?;
        let t = Types::new([type_a, type_b, type_c], compute)?;
        let factors = (t.scalar(c, "alpha", alpha)?, t.scalar(c, "beta", beta)?);
        for i in 0..count(batch)? {
            let (a, b) = (address(c, "Aarray", a, i)?, address(c, "Barray", b, i)?);
            let to = address(c, "Carray", to, i)?;
            any_product(c, s, t, factors, (a, b, to))?;
        }
        Ok(())
    })
}

extern "C" fn hgemm<I: Int>(
    h: Handle,
    op_a: i32,
    op_b: i32,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    b: *const c_void,
    ldb: I,
    beta: *const c_void,
    to: *mut c_void,
    ldc: I,
) -> Status {
    gemm_ex(
        h, op_a, op_b, m, n, k, alpha, a, HALF, lda, b, HALF, ldb, beta, to, HALF, ldc, F16_SUMS, 0,
    )
}

extern "C" fn hgemm_strided<I: Int>(
    h: Handle,
    op_a: i32,
    op_b: i32,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const c_void,
    lda: I,
    apart_a: i64,
    b: *const c_void,
    ldb: I,
    apart_b: i64,
    beta: *const c_void,
    to: *mut c_void,
    ldc: I,
    apart_c: i64,
    batch: I,
) -> Status {
    gemm_strided_ex(
        h, op_a, op_b, m, n, k, alpha, a, HALF, lda, apart_a, b, HALF, ldb, apart_b, beta, to,
        HALF, ldc, apart_c, batch, F16_SUMS, 0,
    )
}

extern "C" fn hgemm_batched<I: Int>(
    h: Handle,
    op_a: i32,
    op_b: i32,
    m: I,
    n: I,
    k: I,
    alpha: *const c_void,
    a: *const *const c_void,
    lda: I,
    b: *const *const c_void,
    ldb: I,
    beta: *const c_void,
    to: *const *mut c_void,
    ldc: I,
    batch: I,
) -> Status {
    gemm_batched_ex(
        h, op_a, op_b, m, n, k, alpha, a, HALF, lda, b, HALF, ldb, beta, to, HALF, ldc, batch,
        F16_SUMS, 0,
    )
}

extern "C" fn dot_ex<I: Int>(
    h: Handle,
    n: I,
    x: *const c_void,
    type_x: i32,
    incx: I,
    y: *const c_void,
    type_y: i32,
    incy: I,
    result: *mut c_void,
    type_result: i32,
    compute: i32,
) -> Status {
    call(h, |c| {
        let elements = [
            Element::new(type_x)?,
            Element::new(type_y)?,
            Element::new(type_result)?,
        ];
        let [of_x, of_y, of_result] = elements;
        // Sums in f32 of halves and f32, in f64 of f64.
        let sums = Element::new(compute)?;
        let is_float = |e: Element| !matches!(e, Element::I8 | Element::I32);
        let is_wide = sums == Element::F64;
        let fits = elements
            .iter()
            .all(|e| is_float(*e) && (*e == Element::F64) == is_wide);
        if of_x != of_y || !fits || !matches!(sums, Element::F32 | Element::F64) {
            return Err(unsupported(&format!(
                "{of_x:?} {of_y:?} {of_result:?} with sums in {sums:?}"
            )));
        }
        let n = usize::try_from(n.value()).unwrap_or(0);
        let read = |what: &str, first: *const c_void, inc: i64| -> Result<Vec<f64>, Status> {
            let bytes = of_x.bytes();
            let width = extent::<u8>(n, inc).saturating_mul(bytes as u64);
            check(c.state, what, first as u64, width, status::EXECUTION_FAILED)?;
            let back = if inc < 0 {
                n.saturating_sub(1) as i64 * -inc
            } else {
                0
            };
            let at = |i: usize| {
                first
                    .cast::<u8>()
                    .wrapping_offset((back + i as i64 * inc) as isize * bytes as isize)
            };
            // SAFETY: the vector was checked.
            Ok((0..n).map(|i| unsafe { of_x.read(at(i)) }).collect())
        };
        let (x, y) = (read("x", x, incx.value())?, read("y", y, incy.value())?);
        let sum = match is_wide {
            true => dot_of::<f64>(&x, &y),
            false => dot_of::<f32>(&x, &y),
        };
        match of_result {
            Element::F64 => c.give(result.cast::<f64>(), sum),
            Element::F32 => c.give(result.cast::<f32>(), sum as f32),
            Element::F16 => c.give(result.cast::<f16>(), f16::from_f64(sum)),
            _ => c.give(result.cast::<bf16>(), bf16::from_f64(sum)),
        }
    })
}

/// A dot product with sums of a type.
fn dot_of<R: Real>(x: &[f64], y: &[f64]) -> f64 {
    let [x, y] = [x, y].map(|v| v.iter().map(|x| R::from_f64(*x)).collect::<Vec<R>>());
    // SAFETY: the vectors outlive their views.
    let (v, w) = unsafe {
        (
            Strided::new(x.as_ptr(), x.len(), 1),
            Strided::new(y.as_ptr(), y.len(), 1),
        )
    };
    dot(v, w, false).to_f64()
}

/// Functions by name.
pub(super) fn function<I: Int>(name: &str) -> Option<*const c_void> {
    Some(match name {
        "GemmEx" => gemm_ex::<I> as *const c_void,
        "GemmStridedBatchedEx" => gemm_strided_ex::<I> as *const c_void,
        "GemmBatchedEx" => gemm_batched_ex::<I> as *const c_void,
        "Hgemm" => hgemm::<I> as *const c_void,
        "HgemmStridedBatched" => hgemm_strided::<I> as *const c_void,
        "HgemmBatched" => hgemm_batched::<I> as *const c_void,
        "DotEx" | "DotcEx" => dot_ex::<I> as *const c_void,
        _ => return None,
    })
}

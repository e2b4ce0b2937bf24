//! Vectors.
use super::{Call, Handle, Status, call, status, stride};
use crate::libraries::on_cpu::{Int, vector, vector_mut, wrote_vector};
use kerf_mathlib::blas::{
    BlasNumber, Complex, Real, Strided, StridedMut, absolute_sum, dot, largest, norm, smallest,
};
use std::ffi::c_void;

/// A vector that is read.
pub(super) fn read<T: Copy>(
    c: &Call,
    what: &str,
    (x, n, inc): (*const T, usize, i64),
) -> Result<Strided<T>, Status> {
    vector(c.state, what, (x, n, inc), status::EXECUTION_FAILED)
}

/// A vector that is changed by `f`.
pub(super) fn change<T: Copy>(
    c: &mut Call,
    what: &str,
    (x, n, inc): (*mut T, usize, i64),
    f: impl FnOnce(&mut StridedMut<T>),
) -> Result<(), Status> {
    let mut v = vector_mut(c.state, what, (x, n, inc), status::EXECUTION_FAILED)?;
    f(&mut v);
    wrote_vector(c.state, x, n, inc);
    Ok(())
}

/// How many, and 0 for fewer than none, of which these functions do nothing.
fn some(n: impl Int) -> usize {
    usize::try_from(n.value()).unwrap_or(0)
}

extern "C" fn axpy<T: BlasNumber, I: Int>(
    h: Handle,
    n: I,
    alpha: *const T,
    x: *const T,
    incx: I,
    y: *mut T,
    incy: I,
) -> Status {
    call(h, |c| {
        let (n, alpha) = (some(n), c.scalar("alpha", alpha)?);
        if n == 0 {
            return Ok(());
        }
        let x = read(c, "x", (x, n, incx.value()))?;
        change(c, "y", (y, n, incy.value()), |y| {
            y.each(|i, y| alpha.fused(x.at(i), y));
        })
    })
}

extern "C" fn copy<T: BlasNumber, I: Int>(
    h: Handle,
    n: I,
    x: *const T,
    incx: I,
    y: *mut T,
    incy: I,
) -> Status {
    call(h, |c| {
        let n = some(n);
        let x = read(c, "x", (x, n, incx.value()))?;
        change(c, "y", (y, n, incy.value()), |y| y.each(|i, _| x.at(i)))
    })
}

extern "C" fn swap<T: BlasNumber, I: Int>(
    h: Handle,
    n: I,
    x: *mut T,
    incx: I,
    y: *mut T,
    incy: I,
) -> Status {
    call(h, |c| {
        let n = some(n);
        let v = read(c, "x", (x, n, incx.value()))?;
        let w = read(c, "y", (y, n, incy.value()))?;
        let old: Vec<(T, T)> = (0..n).map(|i| (v.at(i), w.at(i))).collect();
        change(c, "x", (x, n, incx.value()), |x| x.each(|i, _| old[i].1))?;
        change(c, "y", (y, n, incy.value()), |y| y.each(|i, _| old[i].0))
    })
}

extern "C" fn scal<T: BlasNumber, I: Int>(
    h: Handle,
    n: I,
    alpha: *const T,
    x: *mut T,
    incx: I,
) -> Status {
    call(h, |c| {
        let (n, alpha) = (some(n), c.scalar("alpha", alpha)?);
        if incx.value() <= 0 {
            return Ok(());
        }
        change(c, "x", (x, n, incx.value()), |x| {
            x.each(|_, x| alpha.times(x))
        })
    })
}

/// Complex numbers times a real one.
extern "C" fn scal_real<R: Real, I: Int>(
    h: Handle,
    n: I,
    alpha: *const R,
    x: *mut Complex<R>,
    incx: I,
) -> Status {
    call(h, |c| {
        let (n, alpha) = (some(n), c.scalar("alpha", alpha)?);
        if incx.value() <= 0 {
            return Ok(());
        }
        let times = |x: Complex<R>| Complex {
            re: alpha.times(x.re),
            im: alpha.times(x.im),
        };
        change(c, "x", (x, n, incx.value()), |x| x.each(|_, x| times(x)))
    })
}

extern "C" fn product<T: BlasNumber, I: Int, const CONJUGATE: bool>(
    h: Handle,
    n: I,
    x: *const T,
    incx: I,
    y: *const T,
    incy: I,
    result: *mut T,
) -> Status {
    call(h, |c| {
        let n = some(n);
        let x = read(c, "x", (x, n, incx.value()))?;
        let y = read(c, "y", (y, n, incy.value()))?;
        c.give(result, dot(x, y, CONJUGATE))
    })
}

/// A vector of a sum or a search: nothing where the stride is not positive, as BLAS has it.
fn summed<T: Copy>(c: &Call, n: usize, x: *const T, inc: i64) -> Result<Strided<T>, Status> {
    let n = if inc > 0 { n } else { 0 };
    read(c, "x", (x, n, inc))
}

extern "C" fn nrm2<T: BlasNumber, I: Int>(
    h: Handle,
    n: I,
    x: *const T,
    incx: I,
    result: *mut T::Real,
) -> Status {
    call(h, |c| {
        let x = summed(c, some(n), x, incx.value())?;
        c.give(result, norm(x))
    })
}

extern "C" fn asum<T: BlasNumber, I: Int>(
    h: Handle,
    n: I,
    x: *const T,
    incx: I,
    result: *mut T::Real,
) -> Status {
    call(h, |c| {
        let x = summed(c, some(n), x, incx.value())?;
        c.give(result, absolute_sum(x))
    })
}

extern "C" fn extreme<T: BlasNumber, I: Int, const LEAST: bool>(
    h: Handle,
    n: I,
    x: *const T,
    incx: I,
    result: *mut I,
) -> Status {
    call(h, |c| {
        let x = summed(c, some(n), x, incx.value())?;
        let found = if LEAST { smallest(x) } else { largest(x) };
        c.give(result, I::from_index(found))
    })
}

extern "C" fn rot<T: Real, I: Int>(
    h: Handle,
    n: I,
    x: *mut T,
    incx: I,
    y: *mut T,
    incy: I,
    cosine: *const T,
    sine: *const T,
) -> Status {
    call(h, |c| {
        let (n, cos, sin) = (some(n), c.scalar("c", cosine)?, c.scalar("s", sine)?);
        let (incx, incy) = (stride(incx)?, stride(incy)?);
        let (v, w) = (read(c, "x", (x, n, incx))?, read(c, "y", (y, n, incy))?);
        let old: Vec<(T, T)> = (0..n).map(|i| (v.at(i), w.at(i))).collect();
        let turned = |a: T, b: T, s: T| s.fused(b, cos.times(a));
        change(c, "x", (x, n, incx), |x| {
            x.each(|i, _| turned(old[i].0, old[i].1, sin))
        })?;
        let back = T::ZERO.minus(sin);
        change(c, "y", (y, n, incy), |y| {
            y.each(|i, _| turned(old[i].1, old[i].0, back))
        })
    })
}

/// Functions of every type.
pub(super) fn function<T: BlasNumber, I: Int>(name: &str) -> Option<*const c_void> {
    let is_complex = T::ONE.parts().len() == 2 && size_of::<T>() == 2 * size_of::<T::Real>();
    Some(match name {
        "axpy_v2" => axpy::<T, I> as *const c_void,
        "copy_v2" => copy::<T, I> as *const c_void,
        "swap_v2" => swap::<T, I> as *const c_void,
        "scal_v2" => scal::<T, I> as *const c_void,
        "dot_v2" if !is_complex => product::<T, I, false> as *const c_void,
        "dotu_v2" if is_complex => product::<T, I, false> as *const c_void,
        "dotc_v2" if is_complex => product::<T, I, true> as *const c_void,
        _ => return None,
    })
}

/// Functions of real numbers.
pub(super) fn real<T: Real, I: Int>(name: &str) -> Option<*const c_void> {
    Some(match name {
        "nrm2_v2" => nrm2::<T, I> as *const c_void,
        "asum_v2" => asum::<T, I> as *const c_void,
        "rot_v2" => rot::<T, I> as *const c_void,
        _ => return None,
    })
}

/// Functions whose types are in two letters, or behind another.
pub(super) fn special<I: Int>(name: &str) -> Option<*const c_void> {
    type C = Complex<f32>;
    type Z = Complex<f64>;
    Some(match name {
        "Scnrm2_v2" => nrm2::<C, I> as *const c_void,
        "Dznrm2_v2" => nrm2::<Z, I> as *const c_void,
        "Scasum_v2" => asum::<C, I> as *const c_void,
        "Dzasum_v2" => asum::<Z, I> as *const c_void,
        "Csscal_v2" => scal_real::<f32, I> as *const c_void,
        "Zdscal_v2" => scal_real::<f64, I> as *const c_void,
        "Isamax_v2" => extreme::<f32, I, false> as *const c_void,
        "Idamax_v2" => extreme::<f64, I, false> as *const c_void,
        "Icamax_v2" => extreme::<C, I, false> as *const c_void,
        "Izamax_v2" => extreme::<Z, I, false> as *const c_void,
        "Isamin_v2" => extreme::<f32, I, true> as *const c_void,
        "Idamin_v2" => extreme::<f64, I, true> as *const c_void,
        "Icamin_v2" => extreme::<C, I, true> as *const c_void,
        "Izamin_v2" => extreme::<Z, I, true> as *const c_void,
        _ => return None,
    })
}

//! Vectors with a stride, and what is summed over them.
use super::scalar::{BlasNumber, Real};

/// A vector to be read: `n` numbers, `stride` apart; a negative stride begins at the last one, as in BLAS.
#[derive(Debug, Clone, Copy)]
pub struct Strided<T> {
    first: *const T,
    /// How many.
    pub n: usize,
    stride: isize,
}

impl<T: Copy> Strided<T> {
    /// # Safety
    /// The numbers are readable as long as this is used.
    pub unsafe fn new(x: *const T, n: usize, stride: isize) -> Strided<T> {
        let back = if stride < 0 {
            n.saturating_sub(1) as isize * -stride
        } else {
            0
        };
        // SAFETY: stays inside the vector.
        let first = unsafe { x.offset(back) };
        Strided { first, n, stride }
    }

    /// One number.
    pub fn at(&self, i: usize) -> T {
        debug_assert!(i < self.n);
        // SAFETY: as was promised to `new`.
        unsafe { self.first.offset(i as isize * self.stride).read_unaligned() }
    }
}

/// A vector to be written.
#[derive(Debug)]
pub struct StridedMut<T> {
    inner: Strided<T>,
}

impl<T: Copy> StridedMut<T> {
    /// # Safety
    /// The numbers are readable and writable as long as this is used.
    pub unsafe fn new(x: *mut T, n: usize, stride: isize) -> StridedMut<T> {
        StridedMut {
            // SAFETY: as the caller promises.
            inner: unsafe { Strided::new(x, n, stride) },
        }
    }

    /// One number.
    pub fn at(&self, i: usize) -> T {
        self.inner.at(i)
    }

    /// Writes one number.
    pub fn set(&mut self, i: usize, x: T) {
        debug_assert!(i < self.inner.n);
        let s = &self.inner;
        // SAFETY: as was promised to `new`.
        unsafe {
            let to = s.first.offset(i as isize * s.stride).cast_mut();
            to.write_unaligned(x);
        }
    }

    /// Replaces each number.
    pub fn each(&mut self, f: impl Fn(usize, T) -> T) {
        for i in 0..self.inner.n {
            let x = f(i, self.at(i));
            self.set(i, x);
        }
    }
}

/// The sum of `term(0)` to `term(n - 1)`, pairwise: its error grows with the logarithm of `n`.
fn pairwise<T: BlasNumber>(from: usize, n: usize, term: &impl Fn(usize) -> T) -> T {
    if n <= 32 {
        let one = |sum: T, i| sum.plus(term(i));
        return (from..from + n).fold(T::ZERO, one);
    }
    let half = n / 2;
    pairwise(from, half, term).plus(pairwise(from + half, n - half, term))
}

/// `sum op(x) * y`.
pub fn dot<T: BlasNumber>(x: Strided<T>, y: Strided<T>, conjugate: bool) -> T {
    let first = |i| {
        if conjugate {
            x.at(i).conjugate()
        } else {
            x.at(i)
        }
    };
    pairwise(0, x.n, &|i| first(i).times(y.at(i)))
}

/// `sum |re| + |im|`.
pub fn absolute_sum<T: BlasNumber>(x: Strided<T>) -> T::Real {
    T::Real::from_f64(pairwise(0, x.n, &|i| x.at(i).magnitude()))
}

/// The Euclidean norm, without overflow where the norm itself has none.
pub fn norm<T: BlasNumber>(x: Strided<T>) -> T::Real {
    let mut largest = 0.0f64;
    for i in 0..x.n {
        let [re, im] = x.at(i).parts();
        if !re.is_finite() || !im.is_finite() {
            return T::Real::from_f64(re.abs() + im.abs());
        }
        largest = largest.max(re.abs()).max(im.abs());
    }
    // A power of two rounds nothing. What is smaller by 2^600 does not count.
    let scale = match largest {
        0.0 => return T::Real::ZERO,
        l if l > 1e140 => 2f64.powi(-512),
        l if l < 1e-140 => 2f64.powi(600),
        _ => 1.0,
    };
    let square = |i| {
        let [re, im] = x.at(i).parts().map(|p| p * scale);
        re.mul_add(re, im * im)
    };
    T::Real::from_f64(pairwise(0, x.n, &square).sqrt() / scale)
}

fn extreme<T: BlasNumber>(x: Strided<T>, better: impl Fn(f64, f64) -> bool) -> usize {
    let mut best: Option<(usize, f64)> = None;
    for i in 0..x.n {
        let m = x.at(i).magnitude();
        if best.is_none_or(|(_, b)| better(m, b)) {
            best = Some((i, m));
        }
    }
    best.map_or(0, |(i, _)| i + 1)
}

/// Number of the first element of greatest magnitude, from 1; 0 of none.
pub fn largest<T: BlasNumber>(x: Strided<T>) -> usize {
    extreme(x, |m, best| m > best)
}

/// Number of the first element of least magnitude, from 1; 0 of none.
pub fn smallest<T: BlasNumber>(x: Strided<T>) -> usize {
    extreme(x, |m, best| m < best)
}

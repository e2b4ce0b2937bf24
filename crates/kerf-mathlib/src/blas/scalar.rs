//! Numbers of BLAS: f32, f64 and complex ones of both.
use std::fmt::Debug;

/// A real number.
pub trait Real: BlasNumber<Real = Self> + PartialOrd {
    /// Rounded from f64.
    fn from_f64(x: f64) -> Self;
    /// Exactly.
    fn to_f64(self) -> f64;
}

/// A number.
pub trait BlasNumber: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// The type of its parts.
    type Real: Real;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// `self + o`.
    fn plus(self, o: Self) -> Self;
    /// `self - o`.
    fn minus(self, o: Self) -> Self;
    /// `self * o`.
    fn times(self, o: Self) -> Self;
    /// `self / o`.
    fn over(self, o: Self) -> Self;
    /// `self * b + c`, rounded once in each part's products.
    fn fused(self, b: Self, c: Self) -> Self;
    /// With the other sign of the imaginary part.
    fn conjugate(self) -> Self;
    /// Real and imaginary part.
    fn parts(self) -> [f64; 2];
    /// From a real number.
    fn from_real(x: Self::Real) -> Self;
    /// `|re| + |im|`, by which BLAS compares.
    fn magnitude(self) -> f64 {
        let [re, im] = self.parts();
        re.abs() + im.abs()
    }
}

macro_rules! real {
    ($t:ty) => {
        impl BlasNumber for $t {
            type Real = $t;
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            #[inline(always)]
            fn plus(self, o: $t) -> $t {
                self + o
            }
            #[inline(always)]
            fn minus(self, o: $t) -> $t {
                self - o
            }
            #[inline(always)]
            fn times(self, o: $t) -> $t {
                self * o
            }
            #[inline(always)]
            fn over(self, o: $t) -> $t {
                self / o
            }
            #[inline(always)]
            fn fused(self, b: $t, c: $t) -> $t {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn conjugate(self) -> $t {
                self
            }
            fn parts(self) -> [f64; 2] {
                [f64::from(self), 0.0]
            }
            fn from_real(x: $t) -> $t {
                x
            }
        }
        impl Real for $t {
            fn from_f64(x: f64) -> $t {
                x as $t
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}
real!(f32);
real!(f64);

/// A complex number, as `cuComplex` and `cuDoubleComplex` are laid out.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Complex<R> {
    /// Real part.
    pub re: R,
    /// Imaginary part.
    pub im: R,
}

impl<R: Real> BlasNumber for Complex<R> {
    type Real = R;
    const ZERO: Complex<R> = Complex {
        re: R::ZERO,
        im: R::ZERO,
    };
    const ONE: Complex<R> = Complex {
        re: R::ONE,
        im: R::ZERO,
    };
    #[inline(always)]
    fn plus(self, o: Self) -> Self {
        Complex {
            re: self.re.plus(o.re),
            im: self.im.plus(o.im),
        }
    }
    #[inline(always)]
    fn minus(self, o: Self) -> Self {
        Complex {
            re: self.re.minus(o.re),
            im: self.im.minus(o.im),
        }
    }
    #[inline(always)]
    fn times(self, o: Self) -> Self {
        self.fused(o, Self::ZERO)
    }
    fn over(self, o: Self) -> Self {
        // Smith's algorithm: no part of the divisor is squared.
        let wide = o.re.to_f64().abs() >= o.im.to_f64().abs();
        let (big, small) = if wide { (o.re, o.im) } else { (o.im, o.re) };
        let ratio = small.over(big);
        let divisor = small.fused(ratio, big);
        let (a, b) = if wide {
            (
                self.im.fused(ratio, self.re),
                self.im.minus(self.re.times(ratio)),
            )
        } else {
            (
                self.re.fused(ratio, self.im),
                self.im.times(ratio).minus(self.re),
            )
        };
        Complex {
            re: a.over(divisor),
            im: b.over(divisor),
        }
    }
    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        let minus = R::ZERO.minus(self.im);
        Complex {
            re: minus.fused(b.im, self.re.fused(b.re, c.re)),
            im: self.im.fused(b.re, self.re.fused(b.im, c.im)),
        }
    }
    #[inline(always)]
    fn conjugate(self) -> Self {
        Complex {
            re: self.re,
            im: R::ZERO.minus(self.im),
        }
    }
    fn parts(self) -> [f64; 2] {
        [self.re.to_f64(), self.im.to_f64()]
    }
    fn from_real(x: R) -> Self {
        Complex { re: x, im: R::ZERO }
    }
}

//! Double-word arithmetic: a number held as the unevaluated sum of two words.
//!
//! A [`Dw`] is a *double-word number* when `hi` is `hi + lo` rounded to nearest
//! (`|lo| <= ulp(hi)/2`). Every algorithm here expects and returns that form. The
//! algorithms are those of Joldes, Muller and Popescu, "Tight and rigorous error
//! bounds for basic building blocks of double-word arithmetic", ACM TOMS 44(2),
//! 2017 (JMP below), with their names and steps, and the square root of Lefèvre,
//! Louvet, Muller, Picot and Rideau, "Accurate calculation of Euclidean norms
//! using double-word arithmetic", ACM TOMS 49(1), 2023.
//!
//! What holds: each relative error bound stated below, with `u` the unit
//! roundoff of the word, as long as nothing overflows and no error term
//! underflows. These are the bare sequences that generated code runs, so an
//! infinity in gives NaN in the low word out; [`Dd`](crate::Dd) is the form that
//! treats special values as `f64` does.

mod constants;
mod explog;
mod transforms;
mod word;

pub use explog::Elementary;
pub use transforms::{fast_two_sum, two_prod, two_sum};
pub use word::Base;

/// The unevaluated sum `hi + lo` of two words.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Default)]
pub struct Dw<T> {
    /// The sum, rounded to nearest.
    pub hi: T,
    /// What the rounding left out.
    pub lo: T,
}

impl<T: Base> Dw<T> {
    /// A single word, exactly.
    #[inline]
    pub fn from_word(hi: T) -> Self {
        Dw { hi, lo: T::ZERO }
    }

    /// `x + y`, relative error at most `3u^2 + 13u^3` also under cancellation.
    /// JMP algorithm 6; 20 operations.
    #[inline]
    pub fn accurate_dw_plus_dw(self, rhs: Self) -> Self {
        let s = two_sum(self.hi, rhs.hi);
        let t = two_sum(self.lo, rhs.lo);
        let c = s.lo + t.hi;
        let v = fast_two_sum(s.hi, c);
        let w = t.lo + v.lo;
        fast_two_sum(v.hi, w)
    }

    /// `x + y`, relative error at most `3u^2` for operands of one sign and
    /// **unbounded** under cancellation. JMP algorithm 5; 11 operations.
    #[inline]
    pub fn sloppy_dw_plus_dw(self, rhs: Self) -> Self {
        let s = two_sum(self.hi, rhs.hi);
        let v = self.lo + rhs.lo;
        let w = s.lo + v;
        fast_two_sum(s.hi, w)
    }

    /// `x + y` for a word `y`, relative error at most `2u^2`. JMP algorithm 4.
    #[inline]
    pub fn dw_plus_fp(self, y: T) -> Self {
        let s = two_sum(self.hi, y);
        let v = self.lo + s.lo;
        fast_two_sum(s.hi, v)
    }

    /// `x * y`, relative error at most `6u^2`. JMP algorithm 11; 8 operations
    /// with fma.
    #[inline]
    pub fn dw_times_dw2(self, rhs: Self) -> Self {
        let c = two_prod(self.hi, rhs.hi);
        let t = self.hi * rhs.lo;
        let cl2 = self.lo.mul_add(rhs.hi, t);
        let cl3 = c.lo + cl2;
        fast_two_sum(c.hi, cl3)
    }

    /// `x * y`, relative error at most `5u^2`. JMP algorithm 12; 9 operations
    /// with fma.
    #[inline]
    pub fn dw_times_dw3(self, rhs: Self) -> Self {
        let c = two_prod(self.hi, rhs.hi);
        let tl0 = self.lo * rhs.lo;
        let tl1 = self.hi.mul_add(rhs.lo, tl0);
        let cl2 = self.lo.mul_add(rhs.hi, tl1);
        let cl3 = c.lo + cl2;
        fast_two_sum(c.hi, cl3)
    }

    /// `x * y` for a word `y`, relative error at most `(3/2)u^2 + 4u^3`. JMP
    /// algorithm 7. Here because the proof of
    /// [`dw_div_dw2`](Dw::dw_div_dw2) rests on it.
    #[inline]
    pub fn dw_times_fp1(self, y: T) -> Self {
        let c = two_prod(self.hi, y);
        let cl2 = self.lo * y;
        let t = fast_two_sum(c.hi, cl2);
        let tl2 = t.lo + c.lo;
        fast_two_sum(t.hi, tl2)
    }

    /// `x * y` for a word `y`, relative error at most `2u^2`. JMP algorithm 9;
    /// 6 operations with fma.
    #[inline]
    pub fn dw_times_fp3(self, y: T) -> Self {
        let c = two_prod(self.hi, y);
        let cl3 = self.lo.mul_add(y, c.lo);
        fast_two_sum(c.hi, cl3)
    }

    /// `x / y`, relative error at most `15u^2 + 56u^3`. JMP algorithm 17,
    /// theorem 7.1, which is proved with algorithm 7 as the product. A quotient
    /// that is a word comes out exactly.
    #[inline]
    pub fn dw_div_dw2(self, rhs: Self) -> Self {
        let th = self.hi / rhs.hi;
        let r = rhs.dw_times_fp1(th);
        let pi = self.hi - r.hi;
        let delta_l = self.lo - r.lo;
        let delta = pi + delta_l;
        let tl = delta / rhs.hi;
        fast_two_sum(th, tl)
    }

    /// `x / y`, relative error at most `9.8u^2`. JMP algorithm 18. It multiplies
    /// by a reciprocal, so an exact quotient need not come out exactly.
    #[inline]
    pub fn dw_div_dw3(self, rhs: Self) -> Self {
        let th = T::ONE / rhs.hi;
        let rh = (-rhs.hi).mul_add(th, T::ONE);
        let rl = -(rhs.lo * th);
        let e = fast_two_sum(rh, rl);
        let delta = e.dw_times_fp3(th);
        let m = delta.dw_plus_fp(th);
        self.dw_times_dw2(m)
    }

    /// `x / y` for a word `y`, relative error at most `3u^2`. JMP algorithm 15.
    #[inline]
    pub fn dw_div_fp3(self, y: T) -> Self {
        let th = self.hi / y;
        let pi = two_prod(th, y);
        let delta_h = self.hi - pi.hi;
        let delta_t = delta_h - pi.lo;
        let delta = delta_t + self.lo;
        let tl = delta / y;
        fast_two_sum(th, tl)
    }

    /// The square root, relative error at most `(25/8)u^2`. Lefèvre et al.,
    /// algorithm SQRTDWtoDW. Zero gives zero.
    #[inline]
    pub fn sqrt_dw_to_dw(self) -> Self {
        if self.hi == T::ZERO {
            return self;
        }
        let sh = self.hi.sqrt();
        let rho1 = (-sh).mul_add(sh, self.hi);
        let rho2 = self.lo + rho1;
        let sl = rho2 / (T::TWO * sh);
        fast_two_sum(sh, sl)
    }

    /// `x * 2^n`, exact as long as neither word overflows or underflows.
    #[inline]
    pub fn ldexp(self, n: i32) -> Self {
        Dw {
            hi: self.hi.scale(n),
            lo: self.lo.scale(n),
        }
    }
}

impl<T: Base> std::ops::Neg for Dw<T> {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        Dw {
            hi: -self.hi,
            lo: -self.lo,
        }
    }
}

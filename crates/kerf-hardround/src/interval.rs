//! Intervals with MPFR endpoints: every operation encloses all results of its operands.
use rug::float::Round;
use rug::ops::{AddAssignRound, DivAssignRound, MulAssignRound, SubAssignRound};
use rug::{Assign, Float};
use std::cmp::Ordering;

/// A closed interval.
#[derive(Debug, Clone)]
pub struct MpfrInterval {
    /// Lower end.
    pub lo: Float,
    /// Upper end.
    pub hi: Float,
}

fn least(a: Float, b: Float) -> Float {
    if b < a { b } else { a }
}

fn largest(a: Float, b: Float) -> Float {
    if b > a { b } else { a }
}

/// Precisions are equal throughout a computation; results take the left operand's.
impl MpfrInterval {
    /// One number, which has to be representable in `precision` bits.
    pub fn point(x: &Float, precision: u32) -> MpfrInterval {
        MpfrInterval::new(x, x, precision)
    }
    /// From end to end, rounded outwards.
    pub fn new(lo: &Float, hi: &Float, precision: u32) -> MpfrInterval {
        MpfrInterval {
            lo: Float::with_val_round(precision, lo, Round::Down).0,
            hi: Float::with_val_round(precision, hi, Round::Up).0,
        }
    }
    /// A small integer.
    pub fn int(n: i64, precision: u32) -> MpfrInterval {
        let f = Float::with_val(precision.max(64), n);
        MpfrInterval::point(&f, precision.max(64))
    }
    /// Bits of the ends.
    pub fn precision(&self) -> u32 {
        self.lo.prec()
    }
    /// Whether both ends are numbers in order.
    pub fn is_sound(&self) -> bool {
        self.lo.is_finite() && self.hi.is_finite() && self.lo <= self.hi
    }
    /// Whether zero is in it.
    pub fn has_zero(&self) -> bool {
        !(self.lo > 0 || self.hi < 0)
    }
    /// The largest magnitude, as an f64 not below it.
    pub fn magnitude(&self) -> f64 {
        let (a, b) = (
            self.lo.to_f64_round(Round::Down),
            self.hi.to_f64_round(Round::Up),
        );
        a.abs().max(b.abs())
    }
    /// The width, as an f64 not below it.
    pub fn width(&self) -> f64 {
        let mut w = self.hi.clone();
        w.sub_assign_round(&self.lo, Round::Up);
        w.to_f64_round(Round::Up)
    }
    /// Sum.
    pub fn add(&self, o: &MpfrInterval) -> MpfrInterval {
        let mut r = self.clone();
        r.lo.add_assign_round(&o.lo, Round::Down);
        r.hi.add_assign_round(&o.hi, Round::Up);
        r
    }
    /// Difference.
    pub fn sub(&self, o: &MpfrInterval) -> MpfrInterval {
        let mut r = self.clone();
        r.lo.sub_assign_round(&o.hi, Round::Down);
        r.hi.sub_assign_round(&o.lo, Round::Up);
        r
    }
    /// Negation.
    pub fn neg(&self) -> MpfrInterval {
        MpfrInterval {
            lo: -self.hi.clone(),
            hi: -self.lo.clone(),
        }
    }
    /// Product.
    pub fn mul(&self, o: &MpfrInterval) -> MpfrInterval {
        let p = self.precision();
        let f = |a: &Float, b: &Float, round| {
            let mut r = Float::with_val(p, a);
            r.mul_assign_round(b, round);
            r
        };
        let ends = |round| {
            [
                f(&self.lo, &o.lo, round),
                f(&self.lo, &o.hi, round),
                f(&self.hi, &o.lo, round),
                f(&self.hi, &o.hi, round),
            ]
        };
        let [a, b, c, d] = ends(Round::Down);
        let lo = least(least(a, b), least(c, d));
        let [a, b, c, d] = ends(Round::Up);
        let hi = largest(largest(a, b), largest(c, d));
        MpfrInterval { lo, hi }
    }
    /// Product with a small integer.
    pub fn times(&self, n: i64) -> MpfrInterval {
        self.mul(&MpfrInterval::int(n, self.precision()))
    }
    /// Quotient by an interval without zero.
    pub fn div(&self, o: &MpfrInterval) -> Option<MpfrInterval> {
        if o.has_zero() {
            return None;
        }
        let p = self.precision();
        let one = Float::with_val(p, 1);
        let f = |a: &Float, round| {
            let mut r = one.clone();
            r.div_assign_round(a, round);
            r
        };
        let reciprocal = MpfrInterval {
            lo: f(&o.hi, Round::Down),
            hi: f(&o.lo, Round::Up),
        };
        Some(self.mul(&reciprocal))
    }
    /// Quotient by a positive integer.
    pub fn over(&self, n: u32) -> MpfrInterval {
        let mut r = self.clone();
        r.lo.div_assign_round(n, Round::Down);
        r.hi.div_assign_round(n, Round::Up);
        r
    }
    /// Times a power of two.
    pub fn shift(&self, by: i32) -> MpfrInterval {
        // Exact: exponents stay far from MPFR's limits.
        MpfrInterval {
            lo: self.lo.clone() << by,
            hi: self.hi.clone() << by,
        }
    }
    /// A function that does not decrease on the interval, given with directed rounding.
    pub fn rising(&self, f: impl Fn(&mut Float, Round) -> Ordering) -> MpfrInterval {
        let mut r = self.clone();
        f(&mut r.lo, Round::Down);
        f(&mut r.hi, Round::Up);
        r
    }
    /// A function that does not increase on the interval.
    pub fn falling(&self, f: impl Fn(&mut Float, Round) -> Ordering) -> MpfrInterval {
        let mut r = MpfrInterval {
            lo: self.hi.clone(),
            hi: self.lo.clone(),
        };
        f(&mut r.lo, Round::Down);
        f(&mut r.hi, Round::Up);
        r
    }
    /// A function whose derivative is at most `steepest` in magnitude, by its value at the middle.
    pub fn lipschitz(
        &self,
        steepest: u32,
        f: impl Fn(&mut Float, Round) -> Ordering,
    ) -> MpfrInterval {
        let p = self.precision();
        let mut middle = Float::with_val(p, &self.lo + &self.hi);
        middle >>= 1;
        // Distance from the middle to the farther end, rounded up.
        let mut left = middle.clone();
        left.sub_assign_round(&self.lo, Round::Up);
        let mut radius = self.hi.clone();
        radius.sub_assign_round(&middle, Round::Up);
        if left > radius {
            radius.assign(&left);
        }
        radius.mul_assign_round(steepest, Round::Up);
        let mut r = MpfrInterval {
            lo: middle.clone(),
            hi: middle,
        };
        f(&mut r.lo, Round::Down);
        f(&mut r.hi, Round::Up);
        r.lo.sub_assign_round(&radius, Round::Down);
        r.hi.add_assign_round(&radius, Round::Up);
        r
    }
}

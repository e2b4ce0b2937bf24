//! Real numbers of 256 bits with operators, so that a formula reads as in the kernel's source.
use rug::Float;
use rug::ops::Pow;
use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// Far more than the 106 bits of the reference: what this loses does not show.
pub const BITS: u32 = 256;

/// A number of 256 bits.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub struct R(pub Float);

/// An `f64` (or anything that is one exactly), as it is.
pub fn r(x: impl Into<f64>) -> R {
    R(Float::with_val(BITS, x.into()))
}

macro_rules! operator {
    ($($op:ident $name:ident),*) => {$(
        impl $op<&R> for &R {
            type Output = R;
            fn $name(self, b: &R) -> R {
                R(Float::with_val(BITS, $op::$name(&self.0, &b.0)))
            }
        }
        impl $op<R> for &R {
            type Output = R;
            fn $name(self, b: R) -> R {
                $op::$name(self, &b)
            }
        }
        impl $op<&R> for R {
            type Output = R;
            fn $name(self, b: &R) -> R {
                $op::$name(&self, b)
            }
        }
        impl $op<R> for R {
            type Output = R;
            fn $name(self, b: R) -> R {
                $op::$name(&self, &b)
            }
        }
        impl $op<f64> for &R {
            type Output = R;
            fn $name(self, b: f64) -> R {
                R(Float::with_val(BITS, $op::$name(&self.0, b)))
            }
        }
        impl $op<f64> for R {
            type Output = R;
            fn $name(self, b: f64) -> R {
                $op::$name(&self, b)
            }
        }
        impl $op<&R> for f64 {
            type Output = R;
            fn $name(self, b: &R) -> R {
                R(Float::with_val(BITS, $op::$name(self, &b.0)))
            }
        }
        impl $op<R> for f64 {
            type Output = R;
            fn $name(self, b: R) -> R {
                $op::$name(self, &b)
            }
        }
    )*};
}
operator!(Add add, Sub sub, Mul mul, Div div);

impl Neg for R {
    type Output = R;
    fn neg(self) -> R {
        R(-self.0)
    }
}
impl Neg for &R {
    type Output = R;
    fn neg(self) -> R {
        -self.clone()
    }
}
impl AddAssign<R> for R {
    fn add_assign(&mut self, b: R) {
        self.0 += b.0;
    }
}
impl SubAssign<R> for R {
    fn sub_assign(&mut self, b: R) {
        self.0 -= b.0;
    }
}
impl PartialEq<f64> for R {
    fn eq(&self, b: &f64) -> bool {
        self.0 == *b
    }
}
impl PartialOrd<f64> for R {
    fn partial_cmp(&self, b: &f64) -> Option<Ordering> {
        self.0.partial_cmp(b)
    }
}

macro_rules! functions {
    ($($name:ident $of:ident),* $(,)?) => {$(
        pub fn $name(&self) -> R {
            R(self.0.clone().$of())
        }
    )*};
}

impl R {
    functions!(
        abs abs, sqrt sqrt, rsqrt recip_sqrt, exp exp, ln ln, log2 log2, sin sin, cos cos, erfc erfc,
        tgamma gamma, cbrt cbrt, tanh tanh,
    );
    pub fn pow(&self, e: &R) -> R {
        R(self.0.clone().pow(&e.0))
    }
    pub fn hypot(&self, b: &R) -> R {
        R(self.0.clone().hypot(&b.0))
    }
    pub fn atan2(&self, x: &R) -> R {
        R(self.0.clone().atan2(&x.0))
    }
    /// C's fmod: the quotient is cut off.
    pub fn fmod(&self, b: &R) -> R {
        R(Float::with_val(BITS, &self.0 % &b.0))
    }
    pub fn max(&self, b: &R) -> R {
        if self < b { b.clone() } else { self.clone() }
    }
    /// log2 of the size, for messages.
    pub fn magnitude(&self) -> f64 {
        if self.0.is_zero() {
            f64::NEG_INFINITY
        } else {
            self.abs().log2().0.to_f64()
        }
    }
}

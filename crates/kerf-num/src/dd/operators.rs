//! The standard operators and conversions of [`Dd`].
//!
//! What holds: each operator is the method of the same name, and each conversion
//! is exact.

use std::fmt;
use std::ops::{
    Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign,
};

use super::Dd;

macro_rules! operator {
    ($Trait:ident, $method:ident, $Assign:ident, $assign:ident, $named:ident) => {
        impl $Trait for Dd {
            type Output = Dd;

            #[inline]
            fn $method(self, rhs: Dd) -> Dd {
                Dd::$named(self, rhs)
            }
        }

        impl $Assign for Dd {
            #[inline]
            fn $assign(&mut self, rhs: Dd) {
                *self = Dd::$named(*self, rhs);
            }
        }
    };
}

operator!(Add, add, AddAssign, add_assign, add);
operator!(Sub, sub, SubAssign, sub_assign, sub);
operator!(Mul, mul, MulAssign, mul_assign, mul);
operator!(Div, div, DivAssign, div_assign, div);
operator!(Rem, rem, RemAssign, rem_assign, fmod);

impl Neg for Dd {
    type Output = Dd;

    #[inline]
    fn neg(self) -> Dd {
        Dd::neg(self)
    }
}

impl From<f64> for Dd {
    #[inline]
    fn from(x: f64) -> Dd {
        Dd::from_f64(x)
    }
}

impl From<f32> for Dd {
    #[inline]
    fn from(x: f32) -> Dd {
        Dd::from_f64(f64::from(x))
    }
}

impl From<i64> for Dd {
    #[inline]
    fn from(n: i64) -> Dd {
        Dd::from_i64(n)
    }
}

impl From<u64> for Dd {
    #[inline]
    fn from(n: u64) -> Dd {
        Dd::from_u64(n)
    }
}

/// The high word, then the low word where there is one.
impl fmt::Display for Dd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.hi, f)?;
        if self.lo == 0.0 {
            Ok(())
        } else {
            write!(f, "{:+e}", self.lo)
        }
    }
}

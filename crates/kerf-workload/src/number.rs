//! Numbers as workload files write them: exact integers, or `f64`s.

use std::fmt;

/// A number of a workload file or the value of an expression.
///
/// Integers are wide enough that every `i64` and `u64` is kept exactly, with room for intermediate
/// results; whoever uses one checks that it fits where it goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An exact integer.
    Int(i128),
    /// A floating-point number.
    Float(f64),
}

impl Number {
    /// The value as an `f64`, rounded if it is an integer that needs more than 53 bits.
    pub fn as_f64(self) -> f64 {
        match self {
            // Converting 64 bits is one instruction, converting 128 a call.
            Number::Int(v) => match i64::try_from(v) {
                Ok(v) => v as f64,
                Err(_) => v as f64,
            },
            Number::Float(v) => v,
        }
    }

    /// The integer, if this is one. A float is not, even one with an integral value.
    pub fn as_int(self) -> Option<i128> {
        match self {
            Number::Int(v) => Some(v),
            Number::Float(_) => None,
        }
    }

    /// The integer this number equals, floats with an integral value included.
    pub fn as_integral(self) -> Option<i128> {
        match self {
            Number::Int(v) => Some(v),
            // 2^126 keeps the cast exact; no type a number can go to reaches that far.
            Number::Float(v) if v.trunc() == v && v.abs() < 2f64.powi(126) => Some(v as i128),
            Number::Float(_) => None,
        }
    }

    /// Whether a condition with this value holds: everything but zero does.
    pub fn is_true(self) -> bool {
        match self {
            Number::Int(v) => v != 0,
            Number::Float(v) => v != 0.0,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(v) => write!(f, "{v}"),
            // `{:?}` keeps the point, so that 2.0 does not read as an integer.
            Number::Float(v) => write!(f, "{v:?}"),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Number::Int(i128::from(value))
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Number::Float(value)
    }
}

impl From<bool> for Number {
    fn from(value: bool) -> Self {
        Number::Int(i128::from(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Scalar;

    #[test]
    fn fitting() {
        assert!(Number::Int(255).fits(Scalar::U8));
        assert!(!Number::Int(256).fits(Scalar::U8));
        assert!(!Number::Int(-1).fits(Scalar::U64));
        assert!(Number::Int(u64::MAX.into()).fits(Scalar::U64));
        assert!(Number::Float(3.0).fits(Scalar::I8));
        assert!(!Number::Float(3.5).fits(Scalar::I8));
        assert!(!Number::Float(f64::NAN).fits(Scalar::I8));
        assert!(Number::Float(f64::NAN).fits(Scalar::F16));
        assert!(Number::Float(f64::INFINITY).fits(Scalar::F16));
        assert!(Number::Float(65519.9).fits(Scalar::F16));
        assert!(!Number::Float(65520.0).fits(Scalar::F16));
        assert!(!Number::Int(65520).fits(Scalar::F16));
        assert!(!Number::Float(1e39).fits(Scalar::F32));
        assert!(Number::Float(1e39).fits(Scalar::F64));
    }

    #[test]
    fn floats_do_not_read_as_integers() {
        assert_eq!(Number::Float(2.0).to_string(), "2.0");
        assert_eq!(Number::Int(2).to_string(), "2");
        assert_eq!(Number::Float(2.0).as_int(), None);
        assert_eq!(Number::Float(2.0).as_integral(), Some(2));
        assert_eq!(Number::Float(f64::INFINITY).as_integral(), None);
    }
}

//! Numbers of an operation as bits: formats and integers.
use kerf_num::Format;

/// The type of an argument or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A floating-point format.
    Float(Format),
    /// A 32-bit signed integer.
    I32,
    /// A 64-bit signed integer.
    I64,
}

impl Kind {
    /// By its name in the catalogue.
    pub fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "i32" => Kind::I32,
            "i64" => Kind::I64,
            _ => Kind::Float(name.parse().ok()?),
        })
    }
    /// Bits of one value.
    pub fn bits(self) -> u32 {
        match self {
            Kind::Float(f) => 8 * f.bytes() as u32,
            Kind::I32 => 32,
            Kind::I64 => 64,
        }
    }
    /// The value as text: hexadecimal for floats.
    pub fn text(self, bits: u64) -> String {
        match self {
            Kind::Float(f) => hexadecimal(f.decode(bits)),
            Kind::I32 => (bits as u32 as i32).to_string(),
            Kind::I64 => (bits as i64).to_string(),
        }
    }
}

/// A double as C writes it with `%a`: `-0x1.8p+3`.
pub fn hexadecimal(x: f64) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    let sign = if x.is_sign_negative() { "-" } else { "" };
    if x.is_infinite() {
        return format!("{sign}inf");
    }
    if x == 0.0 {
        return format!("{sign}0x0p+0");
    }
    // Subnormals are written normalised, as those of the narrower formats are.
    let (x, shift) = if x.abs() < f64::MIN_POSITIVE {
        (x * 2f64.powi(64), 64)
    } else {
        (x, 0)
    };
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1023 - shift;
    let digits = format!("{:013x}", x.to_bits() & ((1 << 52) - 1));
    let digits = digits.trim_end_matches('0');
    let dot = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x1{dot}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_floats() {
        assert_eq!(hexadecimal(1.0), "0x1p+0");
        assert_eq!(hexadecimal(-12.0), "-0x1.8p+3");
        assert_eq!(hexadecimal(5e-324), "0x1p-1074");
        assert_eq!(hexadecimal(f64::from(f32::from_bits(3))), "0x1.8p-148");
        assert_eq!(hexadecimal(-0.0), "-0x0p+0");
        assert_eq!(hexadecimal(f64::NEG_INFINITY), "-inf");
    }
}

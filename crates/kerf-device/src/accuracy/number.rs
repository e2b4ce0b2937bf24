//! Numbers of an operation as bits: formats and integers.
use kerf_num::Format;

/// The type of an argument or a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberKind {
    /// A floating-point format.
    Float(Format),
    /// A double word: the sum of two numbers of a format, the greater first.
    Double(Format),
    /// A 32-bit signed integer.
    I32,
    /// A 64-bit signed integer.
    I64,
}

impl NumberKind {
    /// By its name in the catalogue. Two in a register are of the kind of one.
    pub fn named(name: &str) -> Option<NumberKind> {
        Some(match name {
            "i32" => NumberKind::I32,
            "i64" => NumberKind::I64,
            "dw32" => NumberKind::Double(Format::F32),
            "dw64" => NumberKind::Double(Format::F64),
            _ => NumberKind::Float(name.strip_suffix("x2").unwrap_or(name).parse().ok()?),
        })
    }
    /// Is it an integer?
    pub fn is_integer(self) -> bool {
        matches!(self, NumberKind::I32 | NumberKind::I64)
    }
    /// Numbers that one value is made of.
    pub fn words(self) -> usize {
        match self {
            NumberKind::Double(_) => 2,
            _ => 1,
        }
    }
    /// Bits of one value.
    pub fn bits(self) -> u32 {
        match self {
            NumberKind::Float(f) => 8 * f.bytes() as u32,
            NumberKind::Double(f) => 16 * f.bytes() as u32,
            NumberKind::I32 => 32,
            NumberKind::I64 => 64,
        }
    }
    /// One number of a value, to nearest double.
    pub fn decode(self, word: u64) -> f64 {
        match self {
            NumberKind::Float(f) | NumberKind::Double(f) => f.decode(word),
            NumberKind::I32 => f64::from(word as u32 as i32),
            NumberKind::I64 => word as i64 as f64,
        }
    }
    /// An integer value.
    pub fn integer(self, word: u64) -> i64 {
        match self {
            NumberKind::I32 => i64::from(word as u32 as i32),
            _ => word as i64,
        }
    }
    /// The value as text: hexadecimal for floats.
    pub fn text(self, words: &[u64]) -> String {
        let one = |w: &u64| match self {
            NumberKind::Float(f) | NumberKind::Double(f) => hexadecimal(f.decode(*w)),
            NumberKind::I32 | NumberKind::I64 => self.integer(*w).to_string(),
        };
        words.iter().map(one).collect::<Vec<_>>().join(" + ")
    }
    /// Values as text, one after the other.
    pub fn texts(self, words: &[u64]) -> Vec<String> {
        words.chunks(self.words()).map(|w| self.text(w)).collect()
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

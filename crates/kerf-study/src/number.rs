//! The number types of the studies, as the host writes and reads them.
use rug::{Assign, Float};

/// Bits of the reference, as in the publication.
pub const PRECISION: u32 = 256;

/// How a number lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// One f32.
    F32,
    /// One f64.
    F64,
    /// Two f32, the high word first.
    Dw32,
    /// Two f64, the high word first.
    Dw64,
}

/// A type, with the algorithms that compute in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberType {
    /// Name in tables and at the end of kernel symbols.
    pub label: &'static str,
    /// Its storage.
    pub storage: Storage,
}

const fn number(label: &'static str, storage: Storage) -> NumberType {
    NumberType { label, storage }
}

/// The types of arithmetic studies. Plain `float2` and `double2` are the proven double-word
/// algorithms, `_cmp` the publication's formulas.
pub const NUMBERS: [NumberType; 6] = [
    number("float", Storage::F32),
    number("double", Storage::F64),
    number("float2", Storage::Dw32),
    number("double2", Storage::Dw64),
    number("float2_cmp", Storage::Dw32),
    number("double2_cmp", Storage::Dw64),
];

/// The types of studies with an exponential: `_ts` by Taylor series, `_bf` by the built-in function.
pub const EXPONENTIALS: [NumberType; 10] = [
    number("float", Storage::F32),
    number("double", Storage::F64),
    number("float2", Storage::Dw32),
    number("double2", Storage::Dw64),
    number("float2_ts", Storage::Dw32),
    number("double2_ts", Storage::Dw64),
    number("float2_cmp_bf", Storage::Dw32),
    number("double2_cmp_bf", Storage::Dw64),
    number("float2_cmp_ts", Storage::Dw32),
    number("double2_cmp_ts", Storage::Dw64),
];

impl Storage {
    /// Bytes of one number.
    pub fn bytes(self) -> usize {
        match self {
            Storage::F32 => 4,
            Storage::F64 | Storage::Dw32 => 8,
            Storage::Dw64 => 16,
        }
    }

    /// Bytes of the high word.
    pub fn word_bytes(self) -> usize {
        match self {
            Storage::F32 | Storage::Dw32 => 4,
            Storage::F64 | Storage::Dw64 => 8,
        }
    }

    /// Appends `hi + lo`, as near as the type comes.
    pub fn push(self, hi: f64, lo: f64, to: &mut Vec<u8>) {
        match self {
            Storage::F32 => to.extend((hi as f32).to_le_bytes()),
            Storage::F64 => to.extend(hi.to_le_bytes()),
            Storage::Dw32 => {
                let high = hi as f32;
                let low = ((hi - f64::from(high)) + lo) as f32;
                to.extend(high.to_le_bytes());
                to.extend(low.to_le_bytes());
            }
            Storage::Dw64 => {
                to.extend(hi.to_le_bytes());
                to.extend(lo.to_le_bytes());
            }
        }
    }

    /// Bytes of plain numbers.
    pub fn encode(self, values: &[f64]) -> Vec<u8> {
        let mut out = Vec::with_capacity(values.len() * self.bytes());
        for v in values {
            self.push(*v, 0.0, &mut out);
        }
        out
    }

    /// Bytes of numbers given as high and low words.
    pub fn encode_wide(self, values: &[(f64, f64)]) -> Vec<u8> {
        let mut out = Vec::with_capacity(values.len() * self.bytes());
        for (hi, lo) in values {
            self.push(*hi, *lo, &mut out);
        }
        out
    }

    /// The high and low word of number `i`.
    pub fn words(self, bytes: &[u8], i: usize) -> (f64, f64) {
        let at = i * self.bytes();
        let single = |at: usize| {
            let mut b = [0; 4];
            b.copy_from_slice(&bytes[at..at + 4]);
            f64::from(f32::from_le_bytes(b))
        };
        let double = |at: usize| {
            let mut b = [0; 8];
            b.copy_from_slice(&bytes[at..at + 8]);
            f64::from_le_bytes(b)
        };
        match self {
            Storage::F32 => (single(at), 0.0),
            Storage::F64 => (double(at), 0.0),
            Storage::Dw32 => (single(at), single(at + 4)),
            Storage::Dw64 => (double(at), double(at + 8)),
        }
    }

    /// Number `i`, exactly; none where a word is infinite or NaN.
    pub fn decode(self, bytes: &[u8], i: usize) -> Option<Float> {
        let (hi, lo) = self.words(bytes, i);
        (hi.is_finite() && lo.is_finite()).then(|| real(hi) + lo)
    }
}

/// A word as a 256-bit number.
pub fn real(x: f64) -> Float {
    let mut f = Float::new(PRECISION);
    f.assign(x);
    f
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_holds_what_it_can() {
        let (hi, lo) = (1.0 + f64::EPSILON, 1e-20);
        let held = |s: Storage| {
            let mut b = Vec::new();
            s.push(hi, lo, &mut b);
            assert_eq!(b.len(), s.bytes());
            s.decode(&b, 0).expect("finite")
        };
        assert_eq!(held(Storage::F32), 1.0);
        assert_eq!(held(Storage::F64), hi);
        // The low word holds what the high one left out, to 24 bits.
        let missed = held(Storage::Dw32) - (real(hi) + lo);
        assert!(missed.abs().to_f64() <= 2f64.powi(-76));
        assert_eq!(held(Storage::Dw64), real(hi) + lo);
    }

    #[test]
    fn what_is_not_finite_is_no_number() {
        let b = Storage::Dw32.encode(&[1e300, 1.0]);
        assert!(Storage::Dw32.decode(&b, 0).is_none());
        assert!(Storage::Dw32.decode(&b, 1).is_some());
    }
}

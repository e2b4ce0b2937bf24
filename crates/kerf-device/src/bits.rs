//! How many leading bits of an operation's result are right.
//!
//! Sources state errors in different measures. This turns each into `-log2` of an error, so that
//! formats and implementations can be compared, and says which measure it came from.
use crate::profile::Accuracy;

/// What the bits were taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitsMeasure {
    /// Largest relative error, stated or from ulps.
    Relative,
    /// Largest absolute error: for results near one.
    Absolute,
    /// Mean relative error.
    Mean,
}

/// Correct bits, and of what kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bits {
    /// The number of bits.
    pub bits: f64,
    /// What they were taken from.
    pub measure: BitsMeasure,
}

/// Bits of the significand of a format, hidden one included.
pub fn significand(format: &str) -> Option<f64> {
    Some(match format {
        "f16" | "f16x2" => 11.0,
        "bf16" | "bf16x2" => 8.0,
        "f32" => 24.0,
        "f64" => 53.0,
        // Two words and the sign of the lower one.
        "dw32" => 49.0,
        "dw64" => 107.0,
        _ => return None,
    })
}

/// Bits that an error of `ulps` from the exact value leaves: an ulp is at most `2^(1-p)` of the
/// value, so half an ulp leaves all `p`.
fn from_ulps(ulps: f64, p: f64) -> f64 {
    p - 1.0 - ulps.max(0.5).log2()
}

/// Correct bits of an operation of a format; `None` where nothing was stated that tells.
pub fn correct(a: &Accuracy, format: &str) -> Option<Bits> {
    let p = significand(format)?;
    // No error at all, or less than the format resolves, is all bits of the format.
    let from = |error: f64| (-error.log2()).min(p);
    let relative = |bits| Bits {
        bits,
        measure: BitsMeasure::Relative,
    };
    let of = |error: Option<f64>, measure| {
        error.map(|e| Bits {
            bits: from(e),
            measure,
        })
    };
    of(a.max_rel, BitsMeasure::Relative)
        .or(a.max_ulp_real.map(|e| relative(from_ulps(e, p))))
        // Distance from the rounded result: rounding itself adds half an ulp.
        .or(a.max_ulp_rounded.map(|e| relative(from_ulps(e + 0.5, p))))
        .or(of(a.max_abs, BitsMeasure::Absolute))
        .or(of(a.mean_rel, BitsMeasure::Mean))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Coverage, FigureSource};

    fn nothing() -> Accuracy {
        Accuracy {
            source: FigureSource::Measured,
            coverage: Coverage::Exhaustive,
            arguments: 1,
            max_ulp_rounded: None,
            max_ulp_real: None,
            mean_ulp_real: None,
            mean_ulp_rounded: None,
            max_rel: None,
            mean_rel: None,
            max_abs: None,
            misrounded: None,
            special_mismatches: 0,
            worst: None,
            binades: Vec::new(),
            bounds: Vec::new(),
            note: None,
        }
    }

    #[test]
    fn correctly_rounded_is_the_whole_significand() {
        let a = Accuracy {
            max_ulp_rounded: Some(0.0),
            ..nothing()
        };
        assert_eq!(correct(&a, "f32").map(|b| b.bits), Some(24.0));
        assert_eq!(correct(&a, "f64").map(|b| b.bits), Some(53.0));
    }

    #[test]
    fn measures_in_order_of_worth() {
        let mut a = nothing();
        assert_eq!(correct(&a, "f32"), None);
        a.mean_rel = Some(0.0);
        assert_eq!(correct(&a, "f32").map(|b| b.bits), Some(24.0));
        a.max_abs = Some(2f64.powi(-20));
        let b = correct(&a, "f32").expect("bits");
        assert_eq!((b.bits, b.measure), (20.0, BitsMeasure::Absolute));
        // 1 ulp from the rounded result is up to 1.5 ulp from the exact one.
        a.max_ulp_rounded = Some(1.0);
        let b = correct(&a, "f32").expect("bits");
        assert!((b.bits - (23.0 - 1.5f64.log2())).abs() < 1e-12);
        a.max_rel = Some(2f64.powf(-22.9));
        assert!((correct(&a, "f32").expect("bits").bits - 22.9).abs() < 1e-12);
        assert_eq!(correct(&a, "i32"), None);
    }
}

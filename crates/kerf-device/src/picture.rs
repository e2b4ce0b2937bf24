//! Accuracy of operations against their throughput, as a picture and drawn with characters.
mod characters;
mod drawing;

pub use characters::characters;
pub use drawing::svg;

use crate::bits::{self, BitsMeasure};
use crate::operation::{FunctionVariant, Operation, OperationClass, catalogue};
use crate::profile::DeviceProfile;

/// An operation whose throughput and accuracy are both known.
#[derive(Debug, Clone, PartialEq)]
struct Point {
    /// Key of the operation.
    key: String,
    /// Its format.
    format: &'static str,
    /// Which implementation.
    variant: FunctionVariant,
    /// Correct bits.
    bits: f64,
    /// What the bits were taken from.
    measure: BitsMeasure,
    /// Results per clock per SM.
    throughput: f64,
}

/// All points of a profile, in the order of the catalogue.
fn points(p: &DeviceProfile) -> Vec<Point> {
    let point = |o: Operation| {
        let known = p.operations.get(&o.key)?;
        let b = bits::correct(known.accuracy.as_ref()?, o.format)?;
        let throughput = known.throughput.value.filter(|t| *t > 0.0)?;
        Some(Point {
            key: o.key,
            format: o.format,
            variant: o.variant,
            // A mean error can be worse than no bits at all.
            bits: b.bits.max(0.0),
            measure: b.measure,
            throughput,
        })
    };
    catalogue()
        .into_iter()
        .filter(|o| {
            matches!(
                o.class,
                OperationClass::Arithmetic | OperationClass::Function
            )
        })
        .filter_map(point)
        .collect()
}

/// Ends of an axis that hold all values: logarithms to base 2 for throughput, multiples of four
/// for bits.
fn range(values: impl Iterator<Item = f64>, step: f64) -> (f64, f64) {
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    let low = (low / step).floor() * step;
    let high = (high / step).ceil() * step;
    (low, if high > low { high } else { low + step })
}

/// Why bits of this kind are no worst case, for legends.
pub fn caution(m: BitsMeasure) -> &'static str {
    match m {
        BitsMeasure::Relative => "",
        BitsMeasure::Absolute => " (absolute)",
        BitsMeasure::Mean => " (mean)",
    }
}

/// A number in few characters: whole ones as they are, others to three digits.
pub fn short_number(v: f64) -> String {
    let size = v.abs();
    if v == 0.0 || (v.fract() == 0.0 && size < 1e9) {
        format!("{v}")
    } else if (1e-3..1e6).contains(&size) {
        let digits = (2 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{v:.digits$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    } else {
        format!("{v:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::{range, short_number};

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (128.0, "128"),
            (65536.0, "65536"),
            (6.4, "6.4"),
            (4.923_076, "4.92"),
            (100.04, "100"),
            (1234.5, "1234"),
            (0.0625, "0.0625"),
            (2.3433e-8, "2.34e-8"),
            (3.352e12, "3.35e12"),
            (-0.5, "-0.5"),
        ];
        for (v, text) in cases {
            assert_eq!(short_number(v), text);
        }
    }

    #[test]
    fn an_axis_has_a_length() {
        assert_eq!(range([3.0].into_iter(), 1.0), (3.0, 4.0));
        assert_eq!(range([20.5, 53.0].into_iter(), 4.0), (20.0, 56.0));
    }
}

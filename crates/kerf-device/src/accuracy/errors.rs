//! How far one result is from the exact value, in every measure.
use super::bounds::Documented;
use super::exact::Exact;
use super::number::NumberKind;
use super::records::BoundMeasure;
use kerf_num::Format;

/// What a result is judged by.
pub struct JudgingRules<'a> {
    /// Type of arguments.
    pub argument: NumberKind,
    /// Type of results.
    pub result: NumberKind,
    /// Subnormals are flushed.
    pub flushes: bool,
    /// Documented bounds.
    pub bounds: &'a [Documented],
}

/// What a result is.
pub enum ResultVerdict {
    /// NaN or infinity, as it should be.
    Special,
    /// NaN or infinity against a number, or the reverse.
    Mismatch,
    /// A subnormal number that an operation flushes.
    Flushed {
        /// It gave zero or the smallest normal number at most.
        right: bool,
    },
    /// A number, to be compared.
    Number {
        /// Its errors.
        errors: ResultErrors,
        /// It is not the correctly rounded result.
        wrong: bool,
    },
}

impl JudgingRules<'_> {
    /// Judges a result.
    pub fn verdict(&self, got: &[u64], exact: &Exact) -> ResultVerdict {
        match self.result {
            NumberKind::Float(f) => self.float(f, f.decode(got[0]), exact),
            NumberKind::Double(f) => double(f, f.decode(got[0]), f.decode(got[1]), exact),
            NumberKind::I32 | NumberKind::I64 => self.integer(self.result.integer(got[0]), exact),
        }
    }

    fn float(&self, format: Format, got: f64, exact: &Exact) -> ResultVerdict {
        if exact.is_nan() {
            return if got.is_nan() {
                ResultVerdict::Special
            } else {
                ResultVerdict::Mismatch
            };
        }
        let want = exact.round(format);
        if want.is_infinite() && got == want {
            return ResultVerdict::Special;
        }
        if !got.is_finite() || want.is_infinite() {
            return ResultVerdict::Mismatch;
        }
        if self.flushes && exact.is_subnormal(format) {
            let right = got.abs() <= format.min_normal();
            return ResultVerdict::Flushed { right };
        }
        let sign = got == 0.0 && got.is_sign_negative() != want.is_sign_negative();
        ResultVerdict::Number {
            errors: ResultErrors::new(got, want, exact, format),
            wrong: got != want || sign,
        }
    }

    /// Cut off and held within the range; PTX has 0 for NaN, and 100...0 where f64 or 64 bits are
    /// involved.
    fn integer(&self, got: i64, exact: &Exact) -> ResultVerdict {
        let (least, most) = match self.result {
            NumberKind::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        };
        let long = self.argument.bits() == 64 || self.result.bits() == 64;
        let nan = if long { least } else { 0 };
        let want = exact.integer(least, most).unwrap_or(nan);
        let steps = (i128::from(got) - i128::from(want)).unsigned_abs() as f64;
        ResultVerdict::Number {
            errors: ResultErrors {
                ulp: steps,
                steps,
                absolute: steps,
                relative: (want != 0).then(|| steps / (want as f64).abs()),
            },
            wrong: got != want,
        }
    }
}

/// A double word; its ulp is the square of its format's unit roundoff, beside the exact value.
fn double(format: Format, high: f64, low: f64, exact: &Exact) -> ResultVerdict {
    if exact.is_nan() || exact.is_infinite() || exact.round(format).is_infinite() {
        let want = exact.round(format);
        return if high == want || (high.is_nan() && want.is_nan()) {
            ResultVerdict::Special
        } else {
            ResultVerdict::Mismatch
        };
    }
    if !high.is_finite() || !low.is_finite() {
        return ResultVerdict::Mismatch;
    }
    let (relative, absolute) = exact.relative_of(high, low);
    let relative = if absolute == 0.0 { 0.0 } else { relative };
    ResultVerdict::Number {
        errors: ResultErrors {
            ulp: relative / format.unit_roundoff().powi(2),
            steps: 0.0,
            absolute,
            relative: Some(relative),
        },
        wrong: false,
    }
}

/// Errors of one finite result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResultErrors {
    /// In ulps of the exact value.
    pub ulp: f64,
    /// Steps from the correctly rounded result.
    pub steps: f64,
    /// Absolute.
    pub absolute: f64,
    /// Relative, where the exact value is a normal number.
    pub relative: Option<f64>,
}

impl ResultErrors {
    /// Compares a result with the exact value, and with it rounded.
    pub fn new(got: f64, want: f64, exact: &Exact, format: Format) -> ResultErrors {
        let (absolute, ulp) = exact.distance(got, format);
        let apart = i128::from(format.ordinal(got)) - i128::from(format.ordinal(want));
        ResultErrors {
            ulp,
            steps: apart.unsigned_abs() as f64,
            absolute,
            relative: exact.is_normal(format).then(|| exact.relative(got)),
        }
    }
    /// In the measure of a bound.
    pub fn by(&self, measure: BoundMeasure, first: f64) -> f64 {
        match measure {
            BoundMeasure::Steps => self.steps,
            BoundMeasure::Absolute => self.absolute,
            BoundMeasure::Relative => self.relative.unwrap_or(0.0),
            BoundMeasure::StepsBeyondExponent => {
                (self.steps - (1.173 * first).abs().floor()).max(0.0)
            }
        }
    }
}

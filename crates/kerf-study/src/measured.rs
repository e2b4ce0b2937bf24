//! What a run of one number type gave: errors, time, registers.
use rug::Float;

/// Errors against the reference, gathered over elements.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ErrorSummary {
    /// Elements compared.
    pub compared: usize,
    /// Elements that are infinite or NaN where the reference is not.
    pub not_finite: usize,
    /// Elements compared whose reference is not zero.
    pub relative: usize,
    /// Sum of absolute errors.
    pub sum_abs: f64,
    /// Largest absolute error.
    pub max_abs: f64,
    /// Sum of relative errors.
    pub sum_rel: f64,
    /// Largest relative error, over references that are not zero.
    pub max_rel: f64,
}

impl ErrorSummary {
    /// Takes one element in.
    pub fn add(&mut self, got: Option<&Float>, reference: &Float) {
        let Some(got) = got else {
            self.not_finite += 1;
            return;
        };
        let difference = Float::with_val(reference.prec(), got - reference).abs();
        let abs = difference.to_f64();
        self.compared += 1;
        self.sum_abs += abs;
        self.max_abs = self.max_abs.max(abs);
        if !reference.is_zero() {
            let rel = (difference / reference).abs().to_f64();
            self.relative += 1;
            self.sum_rel += rel;
            self.max_rel = self.max_rel.max(rel);
        }
    }

    /// Mean absolute error; infinite where nothing was finite.
    pub fn mean_abs(&self) -> f64 {
        per_element(self.sum_abs, self.compared)
    }

    /// Mean relative error; infinite where nothing was finite.
    pub fn mean_rel(&self) -> f64 {
        per_element(self.sum_rel, self.relative)
    }
}

fn per_element(sum: f64, n: usize) -> f64 {
    match n {
        0 => f64::INFINITY,
        n => sum / n as f64,
    }
}

/// One row of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyRow {
    /// Inputs: an interval, a range.
    pub case: String,
    /// Size of the problem.
    pub size: usize,
    /// The number type.
    pub label: &'static str,
    /// Errors.
    pub errors: ErrorSummary,
    /// Seconds (GPU).
    pub time_s: Option<f64>,
    /// Registers of the main kernel (GPU).
    pub registers: Option<u32>,
    /// Static shared memory of the main kernel in bytes (GPU).
    pub shared_bytes: Option<u32>,
}

impl StudyRow {
    /// A row with nothing measured yet.
    pub fn new(case: &str, size: usize, label: &'static str) -> StudyRow {
        StudyRow {
            case: case.into(),
            size,
            label,
            errors: ErrorSummary::default(),
            time_s: None,
            registers: None,
            shared_bytes: None,
        }
    }
}

/// What rows are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StudyMetric {
    /// Mean absolute error.
    MeanAbs,
    /// Sum of absolute errors; infinite if any element is not finite.
    SumAbs,
    /// Mean relative error.
    MeanRel,
    /// Time.
    Time,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
}

impl StudyMetric {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            StudyMetric::MeanAbs => "mean absolute error",
            StudyMetric::SumAbs => "sum of absolute errors",
            StudyMetric::MeanRel => "mean relative error",
            StudyMetric::Time => "time",
            StudyMetric::Registers => "registers",
            StudyMetric::Shared => "shared memory",
        }
    }

    /// Its value in a row, if it was measured.
    pub fn value(self, m: &StudyRow) -> Option<f64> {
        match self {
            StudyMetric::MeanAbs => Some(m.errors.mean_abs()),
            StudyMetric::SumAbs if m.errors.not_finite > 0 => Some(f64::INFINITY),
            StudyMetric::SumAbs => Some(m.errors.sum_abs),
            StudyMetric::MeanRel => Some(m.errors.mean_rel()),
            StudyMetric::Time => m.time_s,
            StudyMetric::Registers => m.registers.map(f64::from),
            StudyMetric::Shared => m.shared_bytes.map(f64::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::real;

    #[test]
    fn errors_add_up() {
        let mut e = ErrorSummary::default();
        e.add(Some(&real(1.5)), &real(1.0));
        e.add(Some(&real(-2.0)), &real(-4.0));
        e.add(Some(&real(0.25)), &real(0.0));
        e.add(None, &real(1.0));
        assert_eq!((e.compared, e.not_finite), (3, 1));
        assert_eq!((e.sum_abs, e.max_abs), (2.75, 2.0));
        assert_eq!((e.sum_rel, e.max_rel), (1.0, 0.5));
        assert_eq!(ErrorSummary::default().mean_abs(), f64::INFINITY);
    }
}

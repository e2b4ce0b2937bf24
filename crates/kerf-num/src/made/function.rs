//! A made function: what it stands for, its code, and what was proven of it.
use super::code::StraightLineCode;
use super::step_text::{self, ParseCodeStepError};
use super::working_format::WorkingFormat;
use serde::{Deserialize, Serialize};

/// What an error is measured against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorMeasure {
    /// The magnitude of the function's value.
    #[default]
    Relative,
    /// One.
    Absolute,
}

impl std::fmt::Display for ErrorMeasure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ErrorMeasure::Relative => "relative",
            ErrorMeasure::Absolute => "absolute",
        })
    }
}

/// The arguments for which code was made; all others, and NaN, are for the library's function.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentGuard {
    /// from <= x <= to
    Between {
        /// The smallest argument.
        from: f64,
        /// The largest argument.
        to: f64,
    },
    /// from <= |x| <= to
    Magnitude {
        /// The smallest magnitude.
        from: f64,
        /// The largest magnitude.
        to: f64,
    },
    /// Both of two arguments in their ranges, and the larger magnitude not below a number
    Rectangle {
        /// The smallest and the largest first argument.
        x: [f64; 2],
        /// The smallest and the largest second argument.
        y: [f64; 2],
        /// The smallest of the larger magnitudes.
        larger_from: f64,
    },
}

impl ArgumentGuard {
    /// Whether the code was made for these arguments.
    pub fn admits(&self, arguments: &[f64]) -> bool {
        let within = |x: f64, [from, to]: [f64; 2]| x >= from && x <= to;
        match (*self, arguments) {
            (ArgumentGuard::Between { from, to }, [x]) => within(*x, [from, to]),
            (ArgumentGuard::Magnitude { from, to }, [x]) => within(x.abs(), [from, to]),
            (ArgumentGuard::Rectangle { x, y, larger_from }, [a, b]) => {
                let is_large = a.abs() >= larger_from || b.abs() >= larger_from;
                within(*a, x) && within(*b, y) && is_large
            }
            _ => false,
        }
    }

    /// Whether it is of two arguments.
    pub fn is_of_two(&self) -> bool {
        matches!(self, ArgumentGuard::Rectangle { .. })
    }

    /// The pairs of numbers of its comparisons.
    pub fn ranges(&self) -> Vec<[f64; 2]> {
        match *self {
            ArgumentGuard::Between { from, to } | ArgumentGuard::Magnitude { from, to } => {
                vec![[from, to]]
            }
            ArgumentGuard::Rectangle { x, y, .. } => vec![x, y],
        }
    }
}

/// How a made function is called, as the library's function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// `f(x)`
    OneArgument,
    /// `f(x, y)`
    TwoArguments,
    /// `f(x, &first, &second)`
    TwoResults,
}

/// A math function made for a range and an error. Its JSON has one line for each operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "MadeFunctionText", into = "MadeFunctionText")]
pub struct MadeFunction {
    /// The function's name in CUDA's math library, in f64.
    pub function: String,
    /// The smallest argument of the range that was asked for.
    pub from: f64,
    /// The largest one.
    pub to: f64,
    /// The range of the second argument, of functions that have two.
    pub second: Option<[f64; 2]>,
    /// The error that was asked for.
    pub error: f64,
    /// What errors are measured against.
    pub measure: ErrorMeasure,
    /// The proven bound of the error.
    pub bound: f64,
    /// How the argument is reduced, in words.
    pub reduction: String,
    /// Degree of the polynomials.
    pub degree: usize,
    /// Polynomials in a table; 1 where there is no table.
    pub pieces: usize,
    /// Where the code holds.
    pub guard: ArgumentGuard,
    /// The code.
    pub code: StraightLineCode,
}

impl MadeFunction {
    /// As it is read from a plan: with the same code, whose values have no names.
    pub fn in_plans(&self) -> Result<MadeFunction, MadeFunctionError> {
        MadeFunctionText::from(self.clone()).try_into()
    }

    /// Format of argument, result and arithmetic.
    pub fn format(&self) -> WorkingFormat {
        self.code.format
    }

    /// The value for an argument that the guard admits; none for others, which are the library's.
    pub fn evaluate(&self, x: f64) -> Option<f64> {
        self.results(&[x])?.first().copied()
    }

    /// The results for arguments that the guard admits; none for others.
    pub fn results(&self, arguments: &[f64]) -> Option<Vec<f64>> {
        let inside = self.guard.admits(arguments);
        inside.then(|| self.code.results(arguments))
    }

    /// How it is called.
    pub fn form(&self) -> CallForm {
        match (self.guard.is_of_two(), self.code.second_result) {
            (true, _) => CallForm::TwoArguments,
            (false, Some(_)) => CallForm::TwoResults,
            (false, None) => CallForm::OneArgument,
        }
    }

    /// The name of the library's function in the format.
    pub fn library_name(&self) -> String {
        match self.format() {
            WorkingFormat::F64 => self.function.clone(),
            WorkingFormat::F32 => format!("{}f", self.function),
        }
    }

    /// A short name that stays the same as long as the code does.
    pub fn id(&self) -> String {
        let text = MadeFunctionText::from(self.clone());
        // FNV-1a, so that the name does not depend on the toolchain.
        let mut h = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |text: &str| {
            for b in text.bytes().chain(std::iter::once(b'\n')) {
                h = (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        add(&text.function);
        add(text.format.name());
        add(&format!("{:?}", text.guard));
        text.steps.iter().for_each(|s| add(s));
        add(&text.result);
        text.second_result.iter().for_each(|r| add(r));
        add(&format!("{:?}", text.tables));
        format!("{:08x}", (h >> 32) as u32 ^ h as u32)
    }
}

impl std::fmt::Display for MadeFunction {
    /// `exp in f64 for -7e0 to 0e0, relative error at most 5.652e-10, degree 7`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} in {} for {:e} to {:e}, ",
            self.function,
            self.format().name(),
            self.from,
            self.to
        )?;
        if let Some([from, to]) = self.second {
            write!(f, "second argument {from:e} to {to:e}, ")?;
        }
        write!(f, "{} error at most {:.3e}, ", self.measure, self.bound)?;
        match self.pieces {
            1 => write!(f, "degree {}", self.degree),
            n => write!(f, "{n} polynomials of degree {}", self.degree),
        }
    }
}

/// Why a text is no made function.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MadeFunctionError {
    /// A step or the result is not one.
    #[error(transparent)]
    Step(#[from] ParseCodeStepError),
    /// The function has no name of a library's function.
    #[error("`{0}` is no name of a math function")]
    Name(String),
    /// A number that the format does not have.
    #[error("{number:e} is no finite number of {format}")]
    Number {
        /// The number.
        number: f64,
        /// The format.
        format: &'static str,
    },
    /// The guard admits nothing.
    #[error("the arguments from {from:e} to {to:e} are none")]
    Guard {
        /// The smaller end.
        from: f64,
        /// The larger end.
        to: f64,
    },
    /// A range of the second argument without a guard of two, or the other way round; or two arguments and two results.
    #[error("`second` and a guard of two arguments go together, and with one result only")]
    Form,
    /// A table without entries, or with too many.
    #[error("table {0} has no entries, or more than {LARGEST_TABLE}")]
    Table(usize),
}

/// Entries of a table, at most.
const LARGEST_TABLE: usize = 1 << 16;

/// As JSON has it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MadeFunctionText {
    function: String,
    format: WorkingFormat,
    from: f64,
    to: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    second: Option<[f64; 2]>,
    error: f64,
    measure: ErrorMeasure,
    proven: f64,
    reduction: String,
    degree: usize,
    pieces: usize,
    guard: ArgumentGuard,
    steps: Vec<String>,
    result: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    second_result: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tables: Vec<Vec<f64>>,
}

impl From<MadeFunction> for MadeFunctionText {
    fn from(m: MadeFunction) -> MadeFunctionText {
        let code = step_text::write(&m.code);
        MadeFunctionText {
            function: m.function,
            format: m.code.format,
            from: m.from,
            to: m.to,
            second: m.second,
            error: m.error,
            measure: m.measure,
            proven: m.bound,
            reduction: m.reduction,
            degree: m.degree,
            pieces: m.pieces,
            guard: m.guard,
            steps: code.steps,
            result: code.result,
            second_result: code.second_result,
            tables: m.code.tables,
        }
    }
}

impl TryFrom<MadeFunctionText> for MadeFunction {
    type Error = MadeFunctionError;

    fn try_from(t: MadeFunctionText) -> Result<MadeFunction, MadeFunctionError> {
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if t.function.is_empty() || t.function.len() > 16 || !t.function.chars().all(word) {
            return Err(MadeFunctionError::Name(t.function));
        }
        let ranges = t.guard.ranges();
        let two = t.guard.is_of_two();
        if t.second.is_some() != two || (two && t.second_result.is_some()) {
            return Err(MadeFunctionError::Form);
        }
        let mut numbers: Vec<f64> = ranges.iter().flatten().copied().collect();
        if let ArgumentGuard::Rectangle { larger_from, .. } = t.guard {
            numbers.push(larger_from);
        }
        numbers.extend(t.tables.iter().flatten());
        let foreign = |x: &f64| !(x.is_finite() && t.format.has(*x));
        if let Some(number) = numbers.into_iter().find(foreign) {
            let format = t.format.name();
            return Err(MadeFunctionError::Number { number, format });
        }
        if let Some([from, to]) = ranges.into_iter().find(|[from, to]| from > to) {
            return Err(MadeFunctionError::Guard { from, to });
        }
        let unfit = |x: &Vec<f64>| x.is_empty() || x.len() > LARGEST_TABLE;
        if let Some(k) = t.tables.iter().position(unfit) {
            return Err(MadeFunctionError::Table(k));
        }
        let text = step_text::CodeText {
            steps: t.steps,
            result: t.result,
            second_result: t.second_result,
        };
        let code = step_text::parse(t.format, &text, t.tables, two)?;
        Ok(MadeFunction {
            function: t.function,
            from: t.from,
            to: t.to,
            second: t.second,
            error: t.error,
            measure: t.measure,
            bound: t.proven,
            reduction: t.reduction,
            degree: t.degree,
            pieces: t.pieces,
            guard: t.guard,
            code,
        })
    }
}

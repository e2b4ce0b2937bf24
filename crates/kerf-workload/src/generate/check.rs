//! Whether an init suits a type and a length.

use thiserror::Error;

use crate::bits;
use crate::elem::ElemType;
use crate::number::Number;
use crate::scalar::Scalar;
use crate::workload::Init;

/// Why an init does not suit a buffer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what}; expected {expected}")]
pub struct InitProblem {
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub expected: String,
    /// A suggestion.
    pub help: Option<String>,
}

impl InitProblem {
    fn new(what: impl Into<String>, expected: impl Into<String>) -> InitProblem {
        InitProblem {
            what: what.into(),
            expected: expected.into(),
            help: None,
        }
    }
}

/// Checks an init for `len` elements of type `elem`. What only evaluation or a file can show is
/// left for later.
pub(crate) fn check(init: &Init, elem: &ElemType, len: usize) -> Result<(), InitProblem> {
    match (init, elem, elem.scalar()) {
        (Init::Zero | Init::File(_), _, _) => Ok(()),
        (Init::Fields(inits), ElemType::Struct(types), _) => {
            if inits.len() != types.len() {
                let what = format!("{} inits for {} fields", inits.len(), types.len());
                return Err(InitProblem::new(what, "one init for each field"));
            }
            let mut pairs = inits.iter().zip(types);
            pairs.try_for_each(|(init, elem)| check(init, elem, len))
        }
        (Init::Fields(_), _, _) => Err(InitProblem::new(
            format!("a list of inits for type {elem}"),
            "one init",
        )),
        (_, _, None) => Err(InitProblem {
            what: format!("one init for a struct {elem}"),
            expected: "a list of inits, one for each field".into(),
            help: Some("or `\"zero\"`, or a file with all fields".into()),
        }),
        (_, _, Some(scalar)) => {
            let count = len as u128 * elem.scalar_count() as u128;
            check_scalar(init, scalar, count)
        }
    }
}

/// What is wrong with a number of this type, if anything.
pub(crate) fn misfit(value: Number, scalar: Scalar) -> Option<InitProblem> {
    if value.fits(scalar) {
        return None;
    }
    let what = format!("{value} does not fit {scalar}");
    Some(InitProblem::new(what, domain(scalar)))
}

/// What numbers a type holds, in words.
fn domain(scalar: Scalar) -> String {
    match (scalar.int_range(), scalar.max_finite()) {
        (Some((low, high)), _) => format!("an integer from {low} to {high}"),
        (_, Some(most)) => format!("a number up to {most:e} in magnitude"),
        _ => "a number".into(),
    }
}

fn check_scalar(init: &Init, scalar: Scalar, count: u128) -> Result<(), InitProblem> {
    let fits = |value: Number| match misfit(value, scalar) {
        Some(problem) => Err(problem),
        None => Ok(()),
    };
    match init {
        Init::Constant(value) => fits(*value),
        Init::Linear { from, to } => {
            finite("linear", &[from.as_f64(), to.as_f64()])?;
            fits(*from)?;
            fits(*to)
        }
        Init::Uniform { low, high } => uniform(*low, *high, scalar),
        Init::LogUniform { low, high } => log_uniform(*low, *high, scalar),
        Init::Normal { mean, sd } => normal(*mean, *sd, scalar),
        Init::Values(values) => {
            if values.len() as u128 != count {
                let what = format!("{} values", values.len());
                return Err(InitProblem::new(
                    what,
                    format!("{count}, one for each scalar"),
                ));
            }
            values.iter().try_for_each(|v| fits(*v))
        }
        Init::Permutation => match scalar.int_range() {
            Some((_, most)) if count.saturating_sub(1) <= most.unsigned_abs() => Ok(()),
            Some((_, most)) => Err(InitProblem::new(
                format!("permutation of {count} numbers as {scalar}"),
                format!("at most {} numbers", most + 1),
            )),
            None => Err(InitProblem::new(
                format!("permutation of {scalar}"),
                "an integer type",
            )),
        },
        Init::Zero | Init::Expr(_) | Init::File(_) | Init::Fields(_) => Ok(()),
    }
}

fn finite(what: &str, values: &[f64]) -> Result<(), InitProblem> {
    match values.iter().find(|v| !v.is_finite()) {
        Some(v) => {
            let what = format!("{v} in `{what}`");
            Err(InitProblem::new(what, "finite numbers"))
        }
        None => Ok(()),
    }
}

fn uniform(low: Number, high: Number, scalar: Scalar) -> Result<(), InitProblem> {
    finite("uniform", &[low.as_f64(), high.as_f64()])?;
    if low.as_f64() >= high.as_f64() {
        let what = format!("uniform from {low} to {high}");
        return Err(InitProblem::new(what, "the first number below the second"));
    }
    let Some((least, most)) = scalar.int_range() else {
        return representable("uniform", low.as_f64(), high.as_f64(), scalar);
    };
    let within = |v: Number, most: i128| {
        let v = v.as_integral();
        v.is_some_and(|v| (least..=most).contains(&v))
    };
    // The upper bound is excluded, so it may be one more than the type holds.
    if within(low, most) && within(high, most + 1) {
        return Ok(());
    }
    Err(InitProblem::new(
        format!("uniform from {low} to {high} as {scalar}"),
        format!("integers from {least} to {}, the second excluded", most + 1),
    ))
}

fn log_uniform(low: f64, high: f64, scalar: Scalar) -> Result<(), InitProblem> {
    finite("log_uniform", &[low, high])?;
    if !(0.0 < low && low < high) {
        let what = format!("log_uniform from {low:?} to {high:?}");
        return Err(InitProblem::new(what, "0 < first < second"));
    }
    let Some((_, most)) = scalar.int_range() else {
        return representable("log_uniform", low, high, scalar);
    };
    if low.ceil() < high && high <= most as f64 + 1.0 {
        return Ok(());
    }
    let what = format!("log_uniform from {low:?} to {high:?} as {scalar}");
    let expected = format!("a range with an integer in it, up to {}", most + 1);
    Err(InitProblem::new(what, expected))
}

/// Checks that a float type has a value in `[low, high)`.
fn representable(what: &str, low: f64, high: f64, scalar: Scalar) -> Result<(), InitProblem> {
    for bound in [low, high] {
        if let Some(problem) = misfit(Number::Float(bound), scalar) {
            return Err(problem);
        }
    }
    if bits::round_up(scalar, low) <= bits::strictly_below(scalar, high) {
        return Ok(());
    }
    let what = format!("{what} from {low:?} to {high:?} as {scalar}");
    Err(InitProblem::new(
        what,
        "a range with a number of that type in it",
    ))
}

fn normal(mean: f64, sd: f64, scalar: Scalar) -> Result<(), InitProblem> {
    finite("normal", &[mean, sd])?;
    if sd < 0.0 {
        let what = format!("standard deviation {sd:?}");
        return Err(InitProblem::new(what, "0 or more"));
    }
    match (scalar.int_range(), scalar.max_finite()) {
        (Some((least, most)), _) if mean < least as f64 || mean > most as f64 => {
            let what = format!("mean {mean:?} as {scalar}");
            Err(InitProblem::new(what, domain(scalar)))
        }
        // The generator goes to 8.6 standard deviations; integers saturate there, floats must not
        // become infinite.
        (None, Some(most)) if mean.abs() + 9.0 * sd > most => Err(InitProblem::new(
            format!("normal with mean {mean:?} and standard deviation {sd:?} overflows {scalar}"),
            format!("|mean| + 9 sd up to {most:e}"),
        )),
        _ => Ok(()),
    }
}

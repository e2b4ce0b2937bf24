//! From a specification to an implementation: the cheapest of what could be proven.
use crate::core_fit::EvaluationScheme;
use crate::reduction::{self, MadeCode};
use crate::specification::{ErrorMeasure, FunctionError, FunctionSpecification, LARGEST_ERROR};
use kerf_num::made::MadeFunction;
use rug::Float;

/// Code for a specification, with its proven bound.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionImplementation {
    /// What was asked for.
    pub specification: FunctionSpecification,
    /// Order of the polynomial's operations.
    pub scheme: EvaluationScheme,
    /// The code, where it holds, and its bound.
    pub made: MadeCode,
}

impl FunctionImplementation {
    /// The value for an argument that [`MadeCode::guard`] admits; none for others.
    pub fn evaluate(&self, x: f64) -> Option<f64> {
        self.made
            .guard
            .admits(&[x])
            .then(|| self.made.code.evaluate(x))
    }

    /// As plans hold it.
    pub fn made_function(&self) -> MadeFunction {
        let (spec, made) = (&self.specification, &self.made);
        MadeFunction {
            function: spec.function.name().to_owned(),
            from: spec.from,
            to: spec.to,
            second: None,
            error: spec.error,
            measure: spec.measure,
            bound: made.bound,
            reduction: made.reduction.to_owned(),
            degree: made.degree,
            pieces: made.pieces,
            guard: made.guard,
            code: made.code.clone(),
        }
    }
}

fn check(spec: &FunctionSpecification) -> Result<(), FunctionError> {
    let (from, to, f) = (spec.from, spec.to, spec.function);
    if !(from < to && from.is_finite() && to.is_finite()) {
        return Err(FunctionError::Range { from, to });
    }
    let format = spec.format.name();
    if let Some(end) = [from, to].into_iter().find(|x| !spec.format.has(*x)) {
        return Err(FunctionError::NotOfFormat { end, format });
    }
    if !(spec.error > 0.0 && spec.error <= LARGEST_ERROR) {
        return Err(FunctionError::Error(spec.error));
    }
    let function = f.name().to_owned();
    let straddles = from <= 0.0 && to >= 0.0;
    if ![from, to].into_iter().all(|x| f.is_defined_at(x)) || (straddles && !f.is_defined_at(0.0)) {
        let domain = f.domain();
        return Err(FunctionError::Domain {
            function,
            domain,
            from,
            to,
        });
    }
    let beyond = |x: f64| {
        let y = f.value(&Float::with_val(64, x), 64).abs().to_f64();
        y.is_nan() || y * (1.0 + spec.error) >= spec.format.largest()
    };
    match beyond(from) || beyond(to) {
        true => Err(FunctionError::Overflow { function, format }),
        false => Ok(()),
    }
}

/// The implementation with the fewest operations of those whose error was proven to be small enough.
pub fn implement(
    spec: &FunctionSpecification,
    scheme: EvaluationScheme,
) -> Result<FunctionImplementation, FunctionError> {
    check(spec)?;
    let attempts = reduction::attempts(spec, scheme);
    let best = attempts.iter().filter_map(|a| a.as_ref().err());
    let reached = best.copied().fold(f64::INFINITY, f64::min);
    let made = attempts.into_iter().filter_map(Result::ok);
    let made = made.min_by_key(|m| m.code.slots());
    let relative = spec.measure == ErrorMeasure::Relative;
    made.map(|made| FunctionImplementation {
        specification: *spec,
        scheme,
        made,
    })
    .ok_or_else(
        || match relative && reached.is_infinite() && spec.has_unreduced_zero() {
            true => FunctionError::Zero {
                function: spec.function.name().to_owned(),
            },
            false => FunctionError::TooAccurate {
                format: spec.format.name(),
                measure: spec.measure,
                asked: spec.error,
                reached,
            },
        },
    )
}

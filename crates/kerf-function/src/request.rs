//! What can be asked for by a name of CUDA's math library: functions of one argument, of two, and of two results.
use crate::core_fit::EvaluationScheme;
use crate::implement::implement;
use crate::specification::{ErrorMeasure, FunctionError, FunctionSpecification};
use crate::target::{TARGETS, TargetFunction};
use crate::two_arguments::{TwoArgumentFunction, TwoArgumentSpecification};
use crate::working_format::WorkingFormat;
use kerf_hardround::function::ElementaryFunction;
use kerf_num::made::{ArgumentGuard, CodeStep, MadeFunction, StepIndex, StraightLineCode};

/// A function that can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeTarget {
    /// Of one argument.
    One(TargetFunction),
    /// sincos: the sine and the cosine of one argument.
    SineAndCosine,
    /// Of two arguments.
    Two(TwoArgumentFunction),
}

/// The name of [`MadeTarget::SineAndCosine`].
const SINE_AND_COSINE: &str = "sincos";

impl MadeTarget {
    /// The function of a name.
    pub fn find(name: &str) -> Option<MadeTarget> {
        if name == SINE_AND_COSINE {
            return Some(MadeTarget::SineAndCosine);
        }
        let one = TargetFunction::find(name).map(MadeTarget::One);
        one.or_else(|| TwoArgumentFunction::find(name).map(MadeTarget::Two))
    }

    /// Its name in CUDA's math library, in f64.
    pub fn name(self) -> &'static str {
        match self {
            MadeTarget::One(f) => f.name(),
            MadeTarget::SineAndCosine => SINE_AND_COSINE,
            MadeTarget::Two(f) => f.name(),
        }
    }

    /// All names.
    pub fn names() -> Vec<&'static str> {
        let one = TARGETS.iter().map(|t| t.0);
        let two = TwoArgumentFunction::ALL.into_iter().map(|f| f.name());
        one.chain([SINE_AND_COSINE]).chain(two).collect()
    }

    /// Whether it has two arguments.
    pub fn has_two_arguments(self) -> bool {
        matches!(self, MadeTarget::Two(_))
    }
}

/// A function, where and how accurately it is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MadeRequest {
    /// The function.
    pub target: MadeTarget,
    /// Smallest and largest argument, of two the first.
    pub x: [f64; 2],
    /// Smallest and largest second argument, of functions that have two.
    pub y: Option<[f64; 2]>,
    /// The largest admissible error.
    pub error: f64,
    /// What the error is measured against.
    pub measure: ErrorMeasure,
    /// Format of arguments, results and arithmetic.
    pub format: WorkingFormat,
}

impl MadeRequest {
    /// The request for a function of the first argument alone.
    pub(crate) fn of_one(&self, function: TargetFunction) -> FunctionSpecification {
        FunctionSpecification {
            function,
            from: self.x[0],
            to: self.x[1],
            error: self.error,
            measure: self.measure,
            format: self.format,
        }
    }
}

/// The function with the fewest operations of those whose error was proven to be small enough.
pub fn make(
    request: &MadeRequest,
    scheme: EvaluationScheme,
) -> Result<MadeFunction, FunctionError> {
    match (request.target, request.y) {
        (MadeTarget::Two(function), Some(y)) => TwoArgumentSpecification {
            function,
            x: request.x,
            y,
            error: request.error,
            measure: request.measure,
            format: request.format,
        }
        .implement(scheme),
        (MadeTarget::Two(f), None) => Err(FunctionError::SecondRangeMissing(f.name())),
        (target, Some(_)) => Err(FunctionError::NoSecondArgument(target.name())),
        (MadeTarget::One(f), None) => Ok(implement(&request.of_one(f), scheme)?.made_function()),
        (MadeTarget::SineAndCosine, None) => sine_and_cosine(request, scheme),
    }
}

/// Both functions for the same range in one code, in which what they have in common is computed once.
fn sine_and_cosine(
    request: &MadeRequest,
    scheme: EvaluationScheme,
) -> Result<MadeFunction, FunctionError> {
    let half = |f: ElementaryFunction| {
        let spec = request.of_one(TargetFunction::Elementary(f));
        Ok(implement(&spec, scheme)?.made_function())
    };
    let sine = half(ElementaryFunction::Sin)?;
    let cosine = half(ElementaryFunction::Cos)?;
    let mut code = StraightLineCode::new(request.format);
    let result = append(&mut code, &sine.code);
    let second = append(&mut code, &cosine.code);
    code.result = result;
    code.second_result = Some(second);
    let reduction = match sine.reduction == cosine.reduction {
        true => sine.reduction,
        false => format!("{}; of the cosine: {}", sine.reduction, cosine.reduction),
    };
    Ok(MadeFunction {
        function: SINE_AND_COSINE.to_owned(),
        from: request.x[0],
        to: request.x[1],
        second: None,
        error: request.error,
        measure: request.measure,
        bound: sine.bound.max(cosine.bound),
        reduction,
        degree: sine.degree.max(cosine.degree),
        pieces: sine.pieces.max(cosine.pieces),
        // Both guards admit the range that was asked for.
        guard: match sine.guard == cosine.guard {
            true => sine.guard,
            false => ArgumentGuard::Between {
                from: request.x[0],
                to: request.x[1],
            },
        },
        code,
    })
}

/// Appends the steps of a code that are not there yet; gives the step of its result.
fn append(code: &mut StraightLineCode, more: &StraightLineCode) -> StepIndex {
    let first_table = code.tables.len();
    code.tables.extend(more.tables.iter().cloned());
    let mut steps: Vec<StepIndex> = Vec::new();
    for (step, name) in more.steps.iter().zip(&more.names) {
        let moved = match step.with_operands(|o| steps[o]) {
            CodeStep::TableEntry {
                table,
                shifted,
                first,
            } => CodeStep::TableEntry {
                table: first_table + table,
                shifted,
                first,
            },
            moved => moved,
        };
        steps.push(code.push(name, moved));
    }
    steps[more.result]
}

//! Exponentials: b^x = 2^k b^r with k the nearest integer to x log2(b) and r = x - k log_b(2), in two words.
use super::search::{CoreTarget, prove_lowest_degree};
use super::{Attempt, CONSTANT_PRECISION, MadeCode, enclosed, largest_argument, two_words};
use crate::code::{CodeStep, StepIndex, StraightLineCode};
use crate::core_bound::CoreLeaf;
use crate::core_fit::{Core, CoreVariable, EvaluationScheme};
use crate::running_error::enlarged;
use crate::specification::{ErrorMeasure, FunctionSpecification};
use crate::target::TargetFunction;
use crate::working_format::FormatRounding;
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::interval::MpfrInterval;
use rug::Float;
use rug::float::{Constant, Round};

/// Largest degree of the polynomial.
const LARGEST_DEGREE: usize = 20;

/// What the base decides.
struct Base {
    /// log2(b), rounded.
    per_argument: f64,
    /// log_b(2) in two words; none where that is 1.
    words: Option<(f64, f64)>,
    /// The largest |k|.
    most: f64,
    /// The largest |r|.
    radius: f64,
    /// A bound of the error of r.
    error: f64,
}

fn base(spec: &FunctionSpecification) -> Option<Base> {
    let TargetFunction::Elementary(f) = spec.function else {
        return None;
    };
    let p = CONSTANT_PRECISION;
    let log2 = enclosed(|r| Float::with_val_round(p, Constant::Log2, r).0);
    let step = match f {
        ElementaryFunction::Exp => log2,
        ElementaryFunction::Exp10 => {
            log2.div(&MpfrInterval::int(10, p).rising(|a, r| a.ln_round(r)))?
        }
        ElementaryFunction::Exp2 => {
            return Some(Base {
                per_argument: 1.0,
                words: None,
                most: largest_argument(spec) + 1.0,
                radius: 0.5,
                error: 0.0,
            });
        }
        _ => return None,
    };
    let (high, low, left) = two_words(spec, &step);
    let size = step.magnitude();
    let u = spec.format.unit_roundoff();
    let per_argument = spec.format.round(&Float::with_val(p, step.lo.recip_ref()));
    let most = enlarged(largest_argument(spec) * per_argument) + 1.0;
    // k is the nearest integer to x times the rounded log2(b).
    let off = enlarged(largest_argument(spec) * enlarged(2.0 * u * per_argument));
    let radius = enlarged(size * enlarged(0.5 + off));
    let word_left = enlarged(most * left);
    // x - k high, rounded, is within k |step - high| of r.
    let first = enlarged(radius + enlarged(most * enlarged(size * u)));
    let error =
        spec.format.rounding_error(first) + spec.format.rounding_error(enlarged(radius * 2.0));
    Some(Base {
        per_argument,
        words: Some((high, low)),
        most,
        radius,
        error: enlarged(enlarged(error) + word_left),
    })
}

/// The steps of r, and of k shifted.
fn append_reduction(code: &mut StraightLineCode, base: &Base) -> (StepIndex, StepIndex) {
    let shift = code.constant(code.format.integer_shift());
    let shifted = match base.words {
        None => code.push("k_shifted", CodeStep::Add(0, shift)),
        Some(_) => {
            let per = code.constant(base.per_argument);
            code.push("k_shifted", CodeStep::Fma(0, per, shift))
        }
    };
    let k = code.push("k", CodeStep::Sub(shifted, shift));
    let r = match base.words {
        None => code.push("r", CodeStep::Sub(0, k)),
        Some((high, low)) => {
            let high = code.constant(high);
            let r = code.push("r", CodeStep::NegatedFma(k, high, 0));
            let low = code.constant(low);
            code.push("r", CodeStep::NegatedFma(k, low, r))
        }
    };
    (r, shifted)
}

/// Multiplies by 2^k: in two steps where k may be beyond the exponents of normal numbers.
pub(crate) fn append_scaling(
    code: &mut StraightLineCode,
    p: StepIndex,
    shifted: StepIndex,
    in_two_steps: bool,
) {
    if !in_two_steps {
        let scale = code.push("scale", CodeStep::PowerOfTwo(shifted));
        code.push("y", CodeStep::Mul(p, scale));
        return;
    }
    let shift = code.constant(code.format.integer_shift());
    let k = code.push("k", CodeStep::Sub(shifted, shift));
    let half = code.constant(0.5);
    let half_shifted = code.push("h_shifted", CodeStep::Fma(k, half, shift));
    let h = code.push("h", CodeStep::Sub(half_shifted, shift));
    let rest = code.push("rest", CodeStep::Sub(k, h));
    let rest_shifted = code.push("rest_shifted", CodeStep::Add(rest, shift));
    let first = code.push("scale", CodeStep::PowerOfTwo(half_shifted));
    let second = code.push("scale", CodeStep::PowerOfTwo(rest_shifted));
    let y = code.push("y", CodeStep::Mul(p, first));
    code.push("y", CodeStep::Mul(y, second));
}

/// The attempt, for exponentials.
pub(super) fn attempt(spec: &FunctionSpecification, scheme: EvaluationScheme) -> Option<Attempt> {
    let base = base(spec)?;
    // Half of k has to be the exponent of a normal number.
    if base.most > 2.0 * (spec.format.exponent_bias() - 2) as f64 {
        return None;
    }
    let core = Core {
        function: spec.function,
        over_argument: false,
        variable: CoreVariable::Shifted { center: 0.0 },
        lo: -base.radius,
        hi: base.radius,
        argument_error: base.error,
        format: spec.format,
        measure: ErrorMeasure::Relative,
    };
    let mut largest = Float::with_val(64, spec.to);
    if let TargetFunction::Elementary(f) = spec.function {
        f.apply(&mut largest, Round::Up);
    }
    let scale = match spec.measure {
        ErrorMeasure::Relative => 1.0,
        ErrorMeasure::Absolute => enlarged(largest.to_f64_round(Round::Up)),
    };
    let tiny = match spec.measure {
        ErrorMeasure::Relative => 0.0,
        ErrorMeasure::Absolute => spec.format.smallest_subnormal(),
    };
    let total = |leaf: &CoreLeaf| enlarged(enlarged(leaf.error / leaf.least) * scale) + tiny;
    let target = CoreTarget {
        error: spec.error,
        approximation: (spec.error / scale).min(0.25),
        total: &total,
        largest_degree: LARGEST_DEGREE,
    };
    Some(prove_lowest_degree(&core, scheme, &target).map(|proven| {
        let mut code = StraightLineCode::new(spec.format);
        let (r, shifted) = append_reduction(&mut code, &base);
        let steps = core.append(&mut code, &proven.coefficients, scheme, r);
        let in_two_steps = base.most >= (spec.format.exponent_bias() - 2) as f64;
        append_scaling(&mut code, steps.value, shifted, in_two_steps);
        MadeCode {
            reduction: "2^k times the function of a remainder",
            guard: spec.whole_range(),
            code,
            degree: proven.degree,
            pieces: 1,
            bound: proven.bound,
        }
    }))
}

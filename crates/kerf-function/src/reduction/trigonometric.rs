//! Sine and cosine on long ranges: the remainder by pi/2 in two words (W. J. Cody and W. Waite 1980), and the quadrant.
//! Their relative error is not bounded: it grows where the remainder is small.
use super::search::{CoreTarget, ProvenCore, prove_lowest_degree};
use super::{Attempt, CONSTANT_PRECISION, MadeCode, direct, enclosed, largest_argument, two_words};
use crate::code::{CodeStep, StraightLineCode};
use crate::core_fit::{Core, CoreVariable, EvaluationScheme};
use crate::running_error::enlarged;
use crate::specification::{ErrorMeasure, FunctionSpecification};
use crate::target::TargetFunction;
use crate::working_format::FormatRounding;
use kerf_hardround::function::ElementaryFunction;
use rug::Float;
use rug::float::Constant;

/// Largest degree of the polynomials, in the square of the remainder.
const LARGEST_DEGREE: usize = 12;

/// The remainder by pi/2.
struct QuarterTurns {
    /// 2/pi, rounded.
    per_argument: f64,
    /// pi/2 in two words.
    words: (f64, f64),
    /// The largest remainder.
    radius: f64,
    /// A bound of its error.
    error: f64,
}

fn quarter_turns(spec: &FunctionSpecification) -> QuarterTurns {
    let p = CONSTANT_PRECISION;
    let quarter = enclosed(|r| Float::with_val_round(p, Constant::Pi, r).0).shift(-1);
    let (high, low, left) = two_words(spec, &quarter);
    let u = spec.format.unit_roundoff();
    let per_argument = spec
        .format
        .round(&Float::with_val(p, quarter.lo.recip_ref()));
    let most = enlarged(largest_argument(spec) * per_argument) + 1.0;
    let off = enlarged(largest_argument(spec) * enlarged(2.0 * u * per_argument));
    let size = quarter.magnitude();
    let radius = enlarged(size * enlarged(0.5 + off));
    let first = enlarged(radius + enlarged(most * enlarged(size * u)));
    let roundings =
        spec.format.rounding_error(first) + spec.format.rounding_error(enlarged(radius * 1.25));
    QuarterTurns {
        per_argument,
        words: (high, low),
        radius,
        error: enlarged(enlarged(roundings) + enlarged(most * left)),
    }
}

fn core(spec: &FunctionSpecification, turns: &QuarterTurns, f: ElementaryFunction) -> Core {
    Core {
        function: TargetFunction::Elementary(f),
        over_argument: f == ElementaryFunction::Sin,
        variable: CoreVariable::Square,
        lo: 0.0,
        hi: turns.radius,
        argument_error: turns.error,
        format: spec.format,
        measure: ErrorMeasure::Absolute,
    }
}

/// The attempt, for sine and cosine with absolute errors.
pub(super) fn attempt(spec: &FunctionSpecification, scheme: EvaluationScheme) -> Option<Attempt> {
    let TargetFunction::Elementary(f) = spec.function else {
        return None;
    };
    let wave = matches!(f, ElementaryFunction::Sin | ElementaryFunction::Cos);
    let integers = 2f64.powi(spec.format.significand_bits() as i32 - 4);
    if !wave || spec.measure == ErrorMeasure::Relative || largest_argument(spec) > integers {
        return None;
    }
    let turns = quarter_turns(spec);
    if turns.radius > 1.0 {
        return None;
    }
    let prove = |f: ElementaryFunction| -> Result<(Core, ProvenCore), f64> {
        let core = core(spec, &turns, f);
        let target = CoreTarget {
            error: spec.error,
            approximation: spec.error,
            total: &|leaf| direct::total(&core, leaf),
            largest_degree: LARGEST_DEGREE,
        };
        let proven = prove_lowest_degree(&core, scheme, &target)?;
        Ok((core, proven))
    };
    Some(
        match (
            prove(ElementaryFunction::Sin),
            prove(ElementaryFunction::Cos),
        ) {
            (Ok(sine), Ok(cosine)) => Ok(assembled(spec, scheme, &turns, [sine, cosine])),
            (a, b) => Err(a.err().unwrap_or(0.0).max(b.err().unwrap_or(0.0))),
        },
    )
}

fn assembled(
    spec: &FunctionSpecification,
    scheme: EvaluationScheme,
    turns: &QuarterTurns,
    [(sine, sine_proof), (cosine, cosine_proof)]: [(Core, ProvenCore); 2],
) -> MadeCode {
    let mut code = StraightLineCode::new(spec.format);
    let shift = code.constant(spec.format.integer_shift());
    let per = code.constant(turns.per_argument);
    let shifted = code.push("k_shifted", CodeStep::Fma(0, per, shift));
    let k = code.push("k", CodeStep::Sub(shifted, shift));
    let high = code.constant(turns.words.0);
    let r = code.push("r", CodeStep::NegatedFma(k, high, 0));
    let low = code.constant(turns.words.1);
    let r = code.push("r", CodeStep::NegatedFma(k, low, r));
    let s = sine.append(&mut code, &sine_proof.coefficients, scheme, r);
    let s = code.push("sine", CodeStep::Mul(r, s.value));
    let c = cosine.append(&mut code, &cosine_proof.coefficients, scheme, r);
    let is_cosine = spec.function == TargetFunction::Elementary(ElementaryFunction::Cos);
    // A cosine is the sine a quarter of a turn later.
    let quadrant = match is_cosine {
        true => {
            let one = code.constant(1.0);
            code.push("quadrant", CodeStep::Add(shifted, one))
        }
        false => shifted,
    };
    let y = code.push(
        "y",
        CodeStep::SelectOdd {
            shifted: quadrant,
            odd: c.value,
            even: s,
        },
    );
    code.push(
        "y",
        CodeStep::NegateBySecondBit {
            shifted: quadrant,
            value: y,
        },
    );
    MadeCode {
        reduction: "quadrant and remainder by pi/2 in two words",
        guard: spec.whole_range(),
        code,
        degree: sine_proof.degree.max(cosine_proof.degree),
        pieces: 1,
        bound: sine_proof.bound.max(cosine_proof.bound),
    }
}

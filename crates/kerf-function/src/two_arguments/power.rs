//! x^y = 2^(y log2(x)) for positive x: log2(x) is the exponent and a polynomial of the significand, in two words where the error that is
//! asked for needs it; the power of two is one of the integer part and a polynomial of the rest.
use super::TwoArgumentSpecification;
use crate::code::{CodeStep, StepIndex, StraightLineCode};
use crate::core_bound::CoreLeaf;
use crate::core_fit::{Core, CoreVariable, EvaluationScheme};
use crate::reduction::exponential::append_scaling;
use crate::reduction::search::{CoreTarget, ProvenCore, prove_lowest_degree};
use crate::reduction::{Attempt, MadeCode};
use crate::running_error::enlarged;
use crate::specification::{ErrorMeasure, FunctionError};
use crate::target::TargetFunction;
use crate::working_format::FormatRounding;
use kerf_hardround::function::ElementaryFunction;
use kerf_num::made::ArgumentGuard;
use rug::Float;

/// Largest degree of the polynomial for the logarithm.
const LOGARITHM_DEGREE: usize = 28;
/// Largest degree of the polynomial for the power of two.
const EXPONENTIAL_DEGREE: usize = 20;
/// Parts of the error that the exponent y log2(x) may take.
const EXPONENT_PARTS: [f64; 2] = [0.3, 0.7];
/// The largest error of the polynomial's part of the logarithm.
const LARGEST_PART_ERROR: f64 = 0.25;
/// ln(2), not below.
const LN_2: f64 = 0.693147180559946;

/// What bounds of a rectangle are computed from.
struct Extent {
    /// The smallest first argument.
    from: f64,
    /// Where significands begin.
    split: f64,
    /// Whether all first arguments have the same exponent, 0.
    near_one: bool,
    /// The largest |y|.
    largest_exponent: f64,
    /// The largest |log2(x)|.
    largest_logarithm: f64,
    /// The largest |y log2(x)|.
    largest_product: f64,
    /// The largest y log2(x).
    greatest_product: f64,
}

fn extent(spec: &TwoArgumentSpecification) -> Result<Extent, FunctionError> {
    let format = spec.format;
    let (from, to) = (spec.positive_from(), spec.x[1]);
    let function = spec.function.name();
    if from <= 0.0 {
        let (function, from) = (function.to_owned(), spec.x[0]);
        let domain = "x > 0";
        return Err(FunctionError::Domain {
            function,
            domain,
            from,
            to,
        });
    }
    let split = format.round(&Float::with_val(64, 0.5f64).sqrt());
    let from = from.max(format.smallest_normal());
    let logarithms = [from, to].map(f64::log2);
    let products = logarithms.iter().flat_map(|l| spec.y.map(|y| l * y));
    // log2 of f64 has an error far below this.
    let outward = |x: f64| enlarged(x.abs()) * (1.0 + 1e-12) + 1e-12;
    let greatest = products.clone().fold(f64::NEG_INFINITY, f64::max);
    let least = products.fold(f64::INFINITY, f64::min);
    let limit = format.exponent_bias() as f64;
    let format = format.name();
    if greatest + spec.error * 2.0 >= limit {
        let function = function.to_owned();
        return Err(FunctionError::Overflow { function, format });
    }
    // Two factors that are normal numbers scale the result.
    if least <= -2.0 * (limit - 4.0) {
        return Err(FunctionError::Underflow { function, format });
    }
    let largest = |all: [f64; 2]| all[0].abs().max(all[1].abs());
    Ok(Extent {
        from,
        split,
        near_one: from >= split && to < 2.0 * split,
        largest_exponent: largest(spec.y),
        largest_logarithm: outward(largest(logarithms)),
        largest_product: outward(largest([greatest, least])),
        greatest_product: greatest,
    })
}

/// How far the computed remainder of y log2(x) may be from the exact one, where the polynomial's part of the logarithm has the error
/// of a leaf.
fn remainder_error(
    spec: &TwoArgumentSpecification,
    e: &Extent,
    in_two_words: bool,
    leaf: &CoreLeaf,
) -> f64 {
    let format = spec.format;
    let u = format.unit_roundoff();
    let relative = enlarged(leaf.error / leaf.least);
    let relative = enlarged(relative + enlarged(u * (1.0 + relative)));
    let part = enlarged(leaf.greatest * leaf.largest_argument);
    let part_error = enlarged(relative * part);
    if part_error > LARGEST_PART_ERROR {
        return f64::INFINITY;
    }
    let sum_error = match e.near_one {
        true => 0.0,
        false => format.rounding_error(enlarged(e.largest_logarithm + LARGEST_PART_ERROR)),
    };
    let half = format.rounding_error(0.5);
    let scaled = |x: f64| enlarged(e.largest_exponent * x);
    match in_two_words {
        false => enlarged(scaled(enlarged(part_error + sum_error)) + half),
        // The low word is what the rounding of the sum leaves, exactly.
        true => {
            let more = format.rounding_error(enlarged(0.5 + scaled(sum_error)));
            enlarged(scaled(part_error) + enlarged(half + more))
        }
    }
}

/// Attempts with a logarithm of one word and of two, each with several divisions of the error.
pub(super) fn attempts(
    spec: &TwoArgumentSpecification,
    scheme: EvaluationScheme,
) -> Result<Vec<Attempt>, FunctionError> {
    let e = extent(spec)?;
    let mut all = Vec::new();
    for in_two_words in [false, true] {
        if in_two_words && (e.near_one || all.iter().any(Attempt::is_ok)) {
            break;
        }
        all.extend(EXPONENT_PARTS.map(|part| attempt(spec, &e, in_two_words, part, scheme)));
    }
    Ok(all)
}

/// The largest relative error that has the asked measure.
fn relative_error(spec: &TwoArgumentSpecification, e: &Extent) -> (f64, f64) {
    match spec.measure {
        ErrorMeasure::Relative => (1.0, 0.0),
        ErrorMeasure::Absolute => {
            let largest = Float::with_val(64, e.greatest_product).exp2().to_f64();
            (largest * (1.0 + 1e-9), spec.format.smallest_subnormal())
        }
    }
}

fn attempt(
    spec: &TwoArgumentSpecification,
    e: &Extent,
    in_two_words: bool,
    part: f64,
    scheme: EvaluationScheme,
) -> Attempt {
    let (scale, tiny) = relative_error(spec, e);
    let relative = (spec.error / scale).min(0.25);
    let logarithm_core = logarithm_core(spec, e);
    let asked = part * relative / LN_2;
    let of_leaf = |leaf: &CoreLeaf| remainder_error(spec, e, in_two_words, leaf);
    let reach = enlarged(e.largest_exponent * e.largest_logarithm.min(0.51)).max(1e-30);
    let target = CoreTarget {
        error: asked,
        approximation: (asked / reach).min(0.25),
        total: &of_leaf,
        largest_degree: LOGARITHM_DEGREE,
    };
    let in_measure = |exponent: f64| enlarged(exponent * LN_2 * scale);
    let logarithm = prove_lowest_degree(&logarithm_core, scheme, &target).map_err(in_measure)?;
    // The low word is at most the rounding of the sum.
    let low = match in_two_words {
        true => enlarged(
            e.largest_exponent
                * spec
                    .format
                    .rounding_error(enlarged(e.largest_logarithm + LARGEST_PART_ERROR)),
        ),
        false => 0.0,
    };
    let radius = enlarged(enlarged(0.5 + low) + logarithm.bound);
    let exponential_core = Core {
        function: TargetFunction::Elementary(ElementaryFunction::Exp2),
        over_argument: false,
        variable: CoreVariable::Shifted { center: 0.0 },
        lo: -radius,
        hi: radius,
        argument_error: logarithm.bound,
        format: spec.format,
        measure: ErrorMeasure::Relative,
    };
    let total = |leaf: &CoreLeaf| enlarged(enlarged(leaf.error / leaf.least) * scale) + tiny;
    let target = CoreTarget {
        error: spec.error,
        approximation: relative,
        total: &total,
        largest_degree: EXPONENTIAL_DEGREE,
    };
    let exponential = prove_lowest_degree(&exponential_core, scheme, &target)?;
    let parts = Parts {
        spec,
        extent: e,
        in_two_words,
        scheme,
    };
    Ok(MadeCode {
        reduction: match in_two_words {
            false => "2^(y log2(x)), the logarithm in one word",
            true => "2^(y log2(x)), the logarithm in two words",
        },
        guard: ArgumentGuard::Rectangle {
            x: [e.from, spec.x[1]],
            y: spec.y,
            larger_from: 0.0,
        },
        code: parts.code(
            (&logarithm_core, &logarithm),
            (&exponential_core, &exponential),
        ),
        degree: logarithm.degree.max(exponential.degree),
        pieces: 1,
        bound: exponential.bound,
    })
}

fn logarithm_core(spec: &TwoArgumentSpecification, e: &Extent) -> Core {
    let (lo, hi) = match e.near_one {
        true => (e.from - 1.0, spec.x[1] - 1.0),
        false => (e.split - 1.0, 2.0 * e.split - 1.0),
    };
    Core {
        function: TargetFunction::Elementary(ElementaryFunction::Log2p1),
        over_argument: true,
        variable: CoreVariable::Shifted { center: 0.0 },
        lo,
        hi,
        argument_error: 0.0,
        format: spec.format,
        measure: ErrorMeasure::Relative,
    }
}

/// What the code is put together from.
struct Parts<'a> {
    spec: &'a TwoArgumentSpecification,
    extent: &'a Extent,
    in_two_words: bool,
    scheme: EvaluationScheme,
}

impl Parts<'_> {
    /// log2(x), and its low word.
    fn append_logarithm(
        &self,
        code: &mut StraightLineCode,
        core: &Core,
        proven: &ProvenCore,
    ) -> (StepIndex, Option<StepIndex>) {
        let split = self.extent.split;
        let one = code.constant(1.0);
        let significand = match self.extent.near_one {
            true => 0,
            false => code.push("m", CodeStep::Significand { x: 0, split }),
        };
        let f = code.push("f", CodeStep::Sub(significand, one));
        let steps = core.append(code, &proven.coefficients, self.scheme, f);
        let part = code.push("l", CodeStep::Mul(f, steps.value));
        if self.extent.near_one {
            return (part, None);
        }
        let shifted = code.push("e_shifted", CodeStep::ShiftedExponent { x: 0, split });
        let shift = code.constant(code.format.integer_shift());
        let e = code.push("e", CodeStep::Sub(shifted, shift));
        let high = code.push("l_high", CodeStep::Add(e, part));
        // |e| is zero or above |part|, so that both differences are exact (Dekker).
        let low = self.in_two_words.then(|| {
            let back = code.push("back", CodeStep::Sub(high, e));
            code.push("l_low", CodeStep::Sub(part, back))
        });
        (high, low)
    }

    fn code(
        &self,
        (logarithm, logarithm_proof): (&Core, &ProvenCore),
        (exponential, exponential_proof): (&Core, &ProvenCore),
    ) -> StraightLineCode {
        let mut code = StraightLineCode::new(self.spec.format);
        let y = code.second_argument();
        let (high, low) = self.append_logarithm(&mut code, logarithm, logarithm_proof);
        let shift = code.constant(code.format.integer_shift());
        let shifted = code.push("k_shifted", CodeStep::Fma(y, high, shift));
        let negated = code.push("k_negated", CodeStep::Sub(shift, shifted));
        let mut r = code.push("r", CodeStep::Fma(y, high, negated));
        if let Some(low) = low {
            r = code.push("r", CodeStep::Fma(y, low, r));
        }
        let steps = exponential.append(&mut code, &exponential_proof.coefficients, self.scheme, r);
        let limit = (self.spec.format.exponent_bias() - 3) as f64;
        let in_two_steps = self.extent.largest_product + 1.0 >= limit;
        append_scaling(&mut code, steps.value, shifted, in_two_steps);
        code
    }
}

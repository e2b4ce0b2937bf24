//! Cube roots and their reciprocals: |x| = 2^(3k + j) m with m in [1, 2) and j among -1, 0, 1.
use super::search::{CoreTarget, prove_lowest_degree};
use super::{ArgumentGuard, Attempt, MadeCode};
use crate::code::{CodeStep, StraightLineCode};
use crate::core_bound::CoreLeaf;
use crate::core_fit::{Core, CoreVariable, EvaluationScheme, PieceCoefficients};
use crate::linear::FIT_PRECISION;
use crate::running_error::enlarged;
use crate::specification::{ErrorMeasure, FunctionSpecification};
use crate::target::TargetFunction;
use crate::working_format::FormatRounding;
use kerf_hardround::function::ElementaryFunction;
use rug::Float;
use rug::float::Round;

/// Largest degree of the polynomial.
const LARGEST_DEGREE: usize = 28;

/// The largest magnitude of the function's values.
fn largest_value(f: ElementaryFunction, from: f64, to: f64) -> f64 {
    let at = |x: f64| {
        let mut y = Float::with_val(64, x);
        f.apply(&mut y, Round::Up);
        y.to_f64_round(Round::Up)
    };
    at(from).max(at(to))
}

/// The attempt, for magnitudes that are normal numbers.
pub(super) fn attempt(spec: &FunctionSpecification, scheme: EvaluationScheme) -> Option<Attempt> {
    let TargetFunction::Elementary(f) = spec.function else {
        return None;
    };
    let reciprocal = match f {
        ElementaryFunction::Cbrt => false,
        ElementaryFunction::Rootn(-3) => true,
        _ => return None,
    };
    let (a, b) = (spec.from.abs(), spec.to.abs());
    let straddles = spec.from <= 0.0 && spec.to >= 0.0;
    let from = if straddles { 0.0 } else { a.min(b) };
    // Zero and subnormal numbers are for the library.
    let from = from.max(spec.format.smallest_normal());
    let to = a.max(b);
    let core = Core {
        function: spec.function,
        over_argument: false,
        variable: CoreVariable::Shifted { center: 1.5 },
        lo: 1.0,
        hi: 2.0,
        argument_error: 0.0,
        format: spec.format,
        measure: ErrorMeasure::Relative,
    };
    let scale = match spec.measure {
        ErrorMeasure::Relative => 1.0,
        ErrorMeasure::Absolute => enlarged(largest_value(f, from, to)),
    };
    let u = spec.format.unit_roundoff();
    // The root of 2 is rounded, and so is the product with it.
    let total = |leaf: &CoreLeaf| {
        let relative = enlarged(leaf.error / leaf.least);
        let growth = (1.0 + relative) * (1.0 + u) * (1.0 + u);
        enlarged(enlarged(relative + enlarged(2.0 * u * growth)) * scale)
    };
    let target = CoreTarget {
        error: spec.error,
        approximation: (spec.error / scale).min(0.25),
        total: &total,
        largest_degree: LARGEST_DEGREE,
    };
    Some(
        prove_lowest_degree(&core, scheme, &target).map(|proven| MadeCode {
            reduction: "exponent by 3 and significand",
            guard: ArgumentGuard::Magnitude { from, to },
            code: assembled(&core, &proven.coefficients, scheme, reciprocal),
            degree: proven.degree,
            pieces: 1,
            bound: proven.bound,
        }),
    )
}

fn assembled(
    core: &Core,
    coefficients: &PieceCoefficients,
    scheme: EvaluationScheme,
    reciprocal: bool,
) -> StraightLineCode {
    let format = core.format;
    let mut code = StraightLineCode::new(format);
    let a = code.push("a", CodeStep::Magnitude(0));
    let m = code.push("m", CodeStep::Significand { x: a, split: 1.0 });
    let shifted = code.push("e_shifted", CodeStep::ShiftedExponent { x: a, split: 1.0 });
    let shift = code.constant(format.integer_shift());
    let e = code.push("e", CodeStep::Sub(shifted, shift));
    let sign = if reciprocal { -1.0 } else { 1.0 };
    let third = format.round(&(Float::with_val(64, sign) / 3));
    let third = code.constant(third);
    // The nearest integer to +-e/3, which is at least 1/6 from the middle of two.
    let k_shifted = code.push("k_shifted", CodeStep::Fma(e, third, shift));
    let k = code.push("k", CodeStep::Sub(k_shifted, shift));
    let three = code.constant(3.0 * sign);
    let j = code.push("j", CodeStep::NegatedFma(k, three, e));
    let j_shifted = code.push("j_shifted", CodeStep::Add(j, shift));
    let roots = [-1, 0, 1].map(|j| {
        let power: Float = Float::with_val(FIT_PRECISION, f64::from(j) * sign) / 3;
        format.round(&power.exp2())
    });
    code.tables.push(roots.to_vec());
    let root = code.push(
        "root",
        CodeStep::TableEntry {
            table: 0,
            shifted: j_shifted,
            first: -1,
        },
    );
    let steps = core.append(&mut code, coefficients, scheme, m);
    let y = code.push("y", CodeStep::Mul(steps.value, root));
    let scale = code.push("scale", CodeStep::PowerOfTwo(k_shifted));
    let y = code.push("y", CodeStep::Mul(y, scale));
    code.push("y", CodeStep::CopySign(y, 0));
    code
}

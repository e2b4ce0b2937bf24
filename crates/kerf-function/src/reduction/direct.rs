//! No reduction: polynomials on the range itself, one or a table of them.
use super::search::{CoreTarget, prove_lowest_degree};
use super::{ArgumentGuard, Attempt, MadeCode};
use crate::code::{CodeStep, StraightLineCode};
use crate::core_bound::CoreLeaf;
use crate::core_fit::{Core, CoreVariable, EvaluationScheme};
use crate::running_error::enlarged;
use crate::specification::{ErrorMeasure, FunctionSpecification};
use crate::working_format::FormatRounding;
use rug::Float;

/// Largest degree of a single polynomial.
const SINGLE_DEGREE: usize = 30;
/// Largest degree of the polynomials of a table.
const TABLE_DEGREE: usize = 14;
/// Numbers of pieces that are tried, about.
const TABLE_PIECES: [f64; 3] = [8.0, 32.0, 128.0];

/// Where the core's argument comes from.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// x, on the range.
    Plain,
    /// x or |x|, on the magnitudes of the range: the function is odd or even.
    Symmetric,
    /// x on the range, and f(x) / x.
    OverArgument,
}

fn magnitudes(spec: &FunctionSpecification) -> (f64, f64) {
    let straddles = spec.from <= 0.0 && spec.to >= 0.0;
    let (a, b) = (spec.from.abs(), spec.to.abs());
    (if straddles { 0.0 } else { a.min(b) }, a.max(b))
}

fn core(spec: &FunctionSpecification, shape: Shape) -> Core {
    let (lo, hi) = match shape {
        Shape::Symmetric => magnitudes(spec),
        _ => (spec.from, spec.to),
    };
    let odd = spec.function.is_odd() == Some(true);
    let middle = Float::with_val(64, lo / 2.0 + hi / 2.0);
    Core {
        function: spec.function,
        over_argument: shape == Shape::OverArgument || (shape == Shape::Symmetric && odd),
        variable: match shape {
            Shape::Plain => CoreVariable::Shifted {
                center: spec.format.round(&middle),
            },
            Shape::Symmetric => CoreVariable::Square,
            Shape::OverArgument => CoreVariable::Shifted { center: 0.0 },
        },
        lo,
        hi,
        argument_error: 0.0,
        format: spec.format,
        measure: spec.measure,
    }
}

/// The error of the function on a leaf of its core.
pub(crate) fn total(core: &Core, leaf: &CoreLeaf) -> f64 {
    let relative = enlarged(leaf.error / leaf.least);
    match (core.measure, core.over_argument) {
        (ErrorMeasure::Relative, false) => relative,
        // The product with x rounds once more.
        (ErrorMeasure::Relative, true) => {
            enlarged(relative + enlarged(core.format.unit_roundoff() * (1.0 + relative)))
        }
        (ErrorMeasure::Absolute, false) => leaf.error,
        (ErrorMeasure::Absolute, true) => {
            let x = enlarged(leaf.largest_argument + core.argument_error);
            let before = enlarged(leaf.error * x) + enlarged(core.argument_error * leaf.greatest);
            let magnitude = enlarged(enlarged(leaf.greatest * leaf.largest_argument) + before);
            enlarged(before + core.format.rounding_error(magnitude))
        }
    }
}

fn made(
    spec: &FunctionSpecification,
    core: &Core,
    shape: Shape,
    scheme: EvaluationScheme,
) -> Attempt {
    let table = matches!(core.variable, CoreVariable::Pieces { .. });
    let target = CoreTarget {
        error: spec.error,
        approximation: spec.error,
        total: &|leaf| total(core, leaf),
        largest_degree: if table { TABLE_DEGREE } else { SINGLE_DEGREE },
    };
    let proven = prove_lowest_degree(core, scheme, &target)?;
    let mut code = StraightLineCode::new(spec.format);
    // A square has no sign; pieces are counted from zero up.
    let x = match table && shape == Shape::Symmetric {
        true => code.push("a", CodeStep::Magnitude(0)),
        false => 0,
    };
    let steps = core.append(&mut code, &proven.coefficients, scheme, x);
    match core.over_argument {
        true => code.push("y", CodeStep::Mul(0, steps.value)),
        false => steps.value,
    };
    code.result = code.steps.len().max(1) - 1;
    Ok(MadeCode {
        reduction: match (table, core.over_argument) {
            (false, false) => "none: one polynomial on the range",
            (false, true) => "none: the argument times one polynomial",
            (true, false) => "none: a polynomial for each of equal pieces of the range",
            (true, true) => "none: the argument times a polynomial for each of equal pieces",
        },
        guard: match shape {
            Shape::Symmetric => ArgumentGuard::Magnitude {
                from: core.lo,
                to: core.hi,
            },
            _ => spec.whole_range(),
        },
        code,
        degree: proven.degree,
        pieces: core.pieces(),
        bound: proven.bound,
    })
}

fn shapes(spec: &FunctionSpecification) -> Vec<Shape> {
    let f = spec.function;
    let has_zero = spec.from <= 0.0 && spec.to >= 0.0;
    let even = f.is_odd() == Some(false);
    let odd = f.is_odd() == Some(true) && f.has_simple_zero_at_0();
    let mut all = Vec::new();
    if even || odd {
        all.push(Shape::Symmetric);
    } else if f.has_simple_zero_at_0() {
        all.push(Shape::OverArgument);
    }
    if !has_zero || all.is_empty() || spec.measure == ErrorMeasure::Absolute {
        all.push(Shape::Plain);
    }
    all
}

/// One polynomial, in each form that suits the function.
pub(super) fn attempts(spec: &FunctionSpecification, scheme: EvaluationScheme) -> Vec<Attempt> {
    let attempt = |shape: Shape| made(spec, &core(spec, shape), shape, scheme);
    shapes(spec).into_iter().map(attempt).collect()
}

/// A table of polynomials, with the fewest pieces that suffice.
pub(super) fn table_attempts(
    spec: &FunctionSpecification,
    scheme: EvaluationScheme,
) -> Vec<Attempt> {
    let Some(shape) = shapes(spec).first().copied() else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for pieces in TABLE_PIECES {
        let mut core = core(spec, shape);
        let width = 2f64.powi(((core.hi - core.lo) / pieces).log2().ceil() as i32);
        let nearest = |x: f64| (x / width).round_ties_even();
        let (first, last) = (nearest(core.lo), nearest(core.hi));
        // The number of a piece, and what is added to make it an integer, have to be exact.
        if first.abs().max(last.abs()) > 2f64.powi(spec.format.significand_bits() as i32 - 4) {
            continue;
        }
        core.variable = CoreVariable::Pieces {
            width,
            first: first as i64,
            count: (last - first) as usize + 1,
        };
        let attempt = made(spec, &core, shape, scheme);
        let done = attempt.is_ok();
        all.push(attempt);
        if done {
            break;
        }
    }
    all
}

//! atan2: atan of the quotient of the smaller magnitude by the larger one, taken from pi/2 where the ordinate is the larger one, and
//! from pi where the abscissa is negative. Quadrants and signs are exact.
use super::{TwoArgumentSpecification, magnitudes};
use crate::code::{CodeStep, StepIndex, StraightLineCode};
use crate::core_bound::CoreLeaf;
use crate::core_fit::{Core, CoreVariable, EvaluationScheme};
use crate::reduction::search::{CoreTarget, prove_lowest_degree};
use crate::reduction::{Attempt, CONSTANT_PRECISION, MadeCode, direct, enclosed};
use crate::running_error::enlarged;
use crate::specification::ErrorMeasure;
use crate::target::TargetFunction;
use crate::working_format::FormatRounding;
use kerf_hardround::function::ElementaryFunction;
use kerf_num::made::ArgumentGuard;
use rug::Float;
use rug::float::{Constant, Round};

/// Largest degree of the polynomial, in the square of the quotient.
const LARGEST_DEGREE: usize = 30;

/// pi or half of it, rounded.
#[derive(Clone, Copy)]
struct Turn {
    value: f64,
    /// A bound of what the rounding leaves.
    left: f64,
}

/// pi / 2^halvings
fn turn(spec: &TwoArgumentSpecification, halvings: i32) -> Turn {
    let p = CONSTANT_PRECISION;
    let exact = enclosed(|r| Float::with_val_round(p, Constant::Pi, r).0).shift(-halvings);
    let value = spec.format.round(&exact.lo);
    let off = |end: &Float| Float::with_val(p, end - value).abs();
    let left = off(&exact.lo).max(&off(&exact.hi));
    Turn {
        value,
        left: enlarged(left.to_f64_round(Round::Up)),
    }
}

/// Which of an angle's forms occur on a rectangle. The first argument is the ordinate.
struct Quadrants {
    /// The largest quotient.
    most: f64,
    /// Whether the abscissa may be the larger one, and the ordinate.
    is_flat: bool,
    is_steep: bool,
    /// Whether the abscissa may be positive or zero, and negative.
    is_right: bool,
    is_left: bool,
}

fn quadrants(spec: &TwoArgumentSpecification) -> Quadrants {
    let ([rise_least, rise_most], [run_least, run_most]) = (magnitudes(spec.x), magnitudes(spec.y));
    let is_steep = rise_most > run_least;
    let is_flat = rise_least <= run_most;
    let most = match (is_flat, is_steep) {
        (true, false) => enlarged(rise_most / run_least),
        (false, true) => enlarged(run_most / rise_least),
        _ => 1.0,
    };
    Quadrants {
        most: most.min(1.0),
        is_flat,
        is_steep,
        is_right: spec.y[1] >= 0.0,
        is_left: spec.y[0] < 0.0,
    }
}

/// The error of the whole where the arc tangent of the computed quotient has a relative error.
fn total(
    spec: &TwoArgumentSpecification,
    q: &Quadrants,
    [half, whole]: [Turn; 2],
    core: f64,
) -> f64 {
    let u = spec.format.unit_roundoff();
    // A relative error u of the quotient t is at most one of u / (1 - u)^2 of atan(t).
    let quotient = enlarged(u * (1.0 + 4.0 * u));
    let relative = enlarged(core + enlarged(quotient * (1.0 + core)));
    let largest = enlarged(q.most).atan() * (1.0 + 1e-9);
    let mut worst = 0f64;
    let mut take = |error: f64, least: f64| {
        let error = match spec.measure {
            ErrorMeasure::Relative => enlarged(error / (least * (1.0 - 1e-9))),
            ErrorMeasure::Absolute => error,
        };
        worst = worst.max(error);
    };
    let mut before: Vec<(f64, f64)> = Vec::new();
    if q.is_flat {
        let error = enlarged(relative * largest);
        if q.is_right {
            match spec.measure {
                ErrorMeasure::Relative => take(relative, 1.0),
                ErrorMeasure::Absolute => take(error + spec.format.smallest_subnormal(), 1.0),
            }
        }
        before.push((enlarged(error + spec.format.smallest_subnormal()), 0.0));
    }
    if q.is_steep {
        let arc = enlarged(relative * largest) + spec.format.smallest_subnormal();
        let error =
            enlarged(enlarged(arc + half.left) + spec.format.rounding_error(half.value * 1.25));
        let least = half.value * (1.0 - 1e-6) - largest;
        if q.is_right {
            take(error, least);
        }
        before.push((error, least));
    }
    if q.is_left {
        for (error, _) in before {
            let rounding = spec.format.rounding_error(whole.value * 1.25);
            let error = enlarged(enlarged(error + whole.left) + rounding);
            take(error, half.value * (1.0 - 1e-6));
        }
    }
    worst
}

/// The attempt for a rectangle.
pub(super) fn attempt(spec: &TwoArgumentSpecification, scheme: EvaluationScheme) -> Attempt {
    let q = quadrants(spec);
    let turns = [turn(spec, 1), turn(spec, 0)];
    let core = Core {
        function: TargetFunction::Elementary(ElementaryFunction::Atan),
        over_argument: true,
        variable: CoreVariable::Square,
        lo: 0.0,
        hi: match spec.format.round(&Float::with_val(53, q.most)) {
            hi if hi > 0.0 => hi,
            // The ordinate is zero.
            _ => spec.format.smallest_normal(),
        },
        argument_error: 0.0,
        format: spec.format,
        measure: ErrorMeasure::Relative,
    };
    let of_leaf = |leaf: &CoreLeaf| total(spec, &q, turns, direct::total(&core, leaf));
    let target = CoreTarget {
        error: spec.error,
        approximation: match spec.measure {
            ErrorMeasure::Relative => spec.error,
            ErrorMeasure::Absolute => (spec.error / q.most.max(1e-300)).min(0.25),
        },
        total: &of_leaf,
        largest_degree: LARGEST_DEGREE,
    };
    let proven = prove_lowest_degree(&core, scheme, &target)?;
    let mut code = StraightLineCode::new(spec.format);
    let abscissa = code.second_argument();
    let (quotient, magnitudes) = append_quotient(&mut code, abscissa, &q);
    let steps = core.append(&mut code, &proven.coefficients, scheme, quotient);
    let mut angle = code.push("r", CodeStep::Mul(quotient, steps.value));
    if q.is_steep {
        let half = code.constant(turns[0].value);
        let steep = code.push("r_steep", CodeStep::Sub(half, angle));
        angle = match q.is_flat {
            true => code.push("r", less(magnitudes, [steep, angle])),
            false => steep,
        };
    }
    if q.is_left {
        let whole = code.constant(turns[1].value);
        let left = code.push("r_left", CodeStep::Sub(whole, angle));
        let zero = code.constant(0.0);
        angle = match q.is_right {
            true => code.push("r", less([abscissa, zero], [left, angle])),
            false => left,
        };
    }
    code.push("r", CodeStep::CopySign(angle, 0));
    Ok(MadeCode {
        reduction: "the quotient of the smaller magnitude by the larger one, and quadrants",
        guard: ArgumentGuard::Rectangle {
            x: spec.x,
            y: spec.y,
            larger_from: spec.format.smallest_normal(),
        },
        code,
        degree: proven.degree,
        pieces: 1,
        bound: proven.bound,
    })
}

fn less([x, y]: [StepIndex; 2], [less, other]: [StepIndex; 2]) -> CodeStep {
    CodeStep::SelectLess { x, y, less, other }
}

/// The quotient of the magnitudes; and those of the abscissa and of the ordinate.
fn append_quotient(
    code: &mut StraightLineCode,
    abscissa: StepIndex,
    q: &Quadrants,
) -> (StepIndex, [StepIndex; 2]) {
    let run = code.push("b", CodeStep::Magnitude(abscissa));
    let rise = code.push("a", CodeStep::Magnitude(0));
    let (smaller, larger) = match (q.is_flat, q.is_steep) {
        (true, true) => (
            code.push("smaller", less([run, rise], [run, rise])),
            code.push("larger", less([run, rise], [rise, run])),
        ),
        (true, false) => (rise, run),
        (false, _) => (run, rise),
    };
    (
        code.push("t", CodeStep::Quotient(smaller, larger)),
        [run, rise],
    )
}

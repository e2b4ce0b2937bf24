//! Powers with a fixed exponent c: products where 2c is a small integer; otherwise x^c = 2^(ec) m^c for x = 2^e m, with a table of
//! the powers of two and a polynomial for m^c.
use super::search::{CoreTarget, prove_lowest_degree};
use super::{ArgumentGuard, Attempt, MadeCode};
use crate::code::{CodeStep, StepIndex, StraightLineCode};
use crate::core_bound::CoreLeaf;
use crate::core_fit::{Core, CoreVariable, EvaluationScheme};
use crate::linear::FIT_PRECISION;
use crate::running_error::enlarged;
use crate::specification::{ErrorMeasure, FunctionSpecification};
use crate::target::TargetFunction;
use crate::working_format::FormatRounding;
use rug::Float;
use rug::float::Round;

/// Largest degree of the polynomial.
const LARGEST_DEGREE: usize = 24;
/// Exponents of two in a table, at most.
const LARGEST_TABLE: i32 = 256;
/// The largest |c| for products. An inexact partial product below the normal numbers has a result of zero up to here, in f32 too.
const LARGEST_PRODUCT: f64 = 6.0;

/// The attempts for a range; none where the function is another one.
pub(super) fn attempts(spec: &FunctionSpecification, scheme: EvaluationScheme) -> Vec<Attempt> {
    let TargetFunction::ConstantPower(c) = spec.function else {
        return Vec::new();
    };
    let c = c.value();
    let mut all = Vec::new();
    all.extend(product(spec, c));
    all.extend(by_table(spec, c, scheme));
    all
}

/// The largest magnitude of the function's values, which are monotone on each side of zero.
fn largest_value(spec: &FunctionSpecification) -> f64 {
    let at = |x: f64| {
        let value = spec.function.value(&Float::with_val(64, x), 64).abs();
        value.to_f64_round(Round::Up)
    };
    enlarged(at(spec.from).max(at(spec.to)))
}

/// A relative bound in the specification's measure.
fn measured(spec: &FunctionSpecification, relative: f64) -> f64 {
    match spec.measure {
        ErrorMeasure::Relative => relative,
        ErrorMeasure::Absolute => {
            enlarged(relative * largest_value(spec)) + spec.format.smallest_subnormal()
        }
    }
}

/// x times itself so many times, by squares; gives the step and the number of products.
fn append_product(code: &mut StraightLineCode, times: u32) -> (Option<StepIndex>, u32) {
    let (mut result, mut square, mut products, mut left) = (None, 0, 0, times);
    while left > 0 {
        if left & 1 == 1 {
            result = Some(match result {
                None => square,
                Some(r) => {
                    products += 1;
                    code.push("p", CodeStep::Mul(r, square))
                }
            });
        }
        left >>= 1;
        if left > 0 {
            products += 1;
            square = code.push("s", CodeStep::Mul(square, square));
        }
    }
    (result, products)
}

/// Products, a square root and a reciprocal, as far as the exponent has them. Each rounds once; a relative error is at most doubled by
/// squaring, so that the factors that a product consists of count, not the operations.
fn product(spec: &FunctionSpecification, c: f64) -> Option<Attempt> {
    let twice = 2.0 * c.abs();
    if c == 0.0 || twice.fract() != 0.0 || c.abs() > LARGEST_PRODUCT {
        return None;
    }
    let (has_root, is_inverse) = (twice % 2.0 == 1.0, c < 0.0);
    let format = spec.format;
    // A reciprocal needs a normal divisor, a root a positive argument.
    let from = match has_root || is_inverse {
        true => spec.from.max(format.smallest_normal()),
        false => spec.from,
    };
    if is_inverse {
        let end = |x: f64| Float::with_val(64, x).log2() * c.abs();
        let limit = (format.exponent_bias() - 2) as f64;
        if end(from).abs() > limit || end(spec.to).abs() > limit {
            return None;
        }
    }
    if from >= spec.to {
        return None;
    }
    let mut code = StraightLineCode::new(format);
    let whole = c.abs().floor() as u32;
    let (mut value, _) = append_product(&mut code, whole);
    // x^n has n - 1 roundings in all its factors, a root one, its product one.
    let mut roundings = f64::from(whole.max(1) - 1);
    if has_root {
        let root = code.push("root", CodeStep::SquareRoot(0));
        roundings += 1.0;
        value = Some(match value {
            None => root,
            Some(v) => {
                roundings += 1.0;
                code.push("p", CodeStep::Mul(v, root))
            }
        });
    }
    let value = value?;
    code.result = value;
    if is_inverse {
        let one = code.constant(1.0);
        code.push("y", CodeStep::Quotient(one, value));
        roundings += 1.0;
    }
    let u = format.unit_roundoff();
    // (1 + u)^n - 1, and 1 / (1 - u)^n - 1, are below n u (1 + 2 n u) for these n.
    let relative = enlarged(roundings * u) * (1.0 + 4.0 * roundings * u);
    let bound = measured(spec, relative);
    Some(match bound <= spec.error {
        false => Err(bound),
        true => Ok(MadeCode {
            reduction: "none: products of the argument",
            guard: ArgumentGuard::Between { from, to: spec.to },
            code,
            degree: whole as usize,
            pieces: 1,
            bound,
        }),
    })
}

/// A polynomial for the significand's power, and a table for that of 2^e.
fn by_table(spec: &FunctionSpecification, c: f64, scheme: EvaluationScheme) -> Option<Attempt> {
    let format = spec.format;
    let from = spec.from.max(format.smallest_normal());
    if from >= spec.to || spec.from < 0.0 {
        return None;
    }
    let exponent = |x: f64| Float::with_val(53, x).get_exp().map(|e| e - 1);
    let (first, last) = (exponent(from)?, exponent(spec.to)?);
    let limit = (format.exponent_bias() - 2) as f64;
    let beyond = |e: i32| (f64::from(e) * c).abs() > limit;
    if last - first >= LARGEST_TABLE || beyond(first) || beyond(last) {
        return None;
    }
    let core = Core {
        function: spec.function,
        over_argument: false,
        variable: CoreVariable::Shifted { center: 1.5 },
        lo: 1.0,
        hi: 2.0,
        argument_error: 0.0,
        format,
        measure: ErrorMeasure::Relative,
    };
    let u = format.unit_roundoff();
    // The entry of the table is rounded, and so is the product with it.
    let total = |leaf: &CoreLeaf| {
        let relative = enlarged(leaf.error / leaf.least);
        let growth = (1.0 + relative) * (1.0 + u) * (1.0 + u);
        measured(spec, enlarged(relative + enlarged(2.0 * u * growth)))
    };
    let scale = measured(spec, 1.0);
    let target = CoreTarget {
        error: spec.error,
        approximation: (spec.error / scale).min(0.25),
        total: &total,
        largest_degree: LARGEST_DEGREE,
    };
    Some(prove_lowest_degree(&core, scheme, &target).map(|proven| {
        let mut code = StraightLineCode::new(format);
        let m = code.push("m", CodeStep::Significand { x: 0, split: 1.0 });
        let shifted = code.push("e_shifted", CodeStep::ShiftedExponent { x: 0, split: 1.0 });
        let power = |e: i32| {
            let exponent = Float::with_val(FIT_PRECISION, c) * e;
            format.round(&exponent.exp2())
        };
        code.tables.push((first..=last).map(power).collect());
        let scale = code.push(
            "scale",
            CodeStep::TableEntry {
                table: 0,
                shifted,
                first: first.into(),
            },
        );
        let steps = core.append(&mut code, &proven.coefficients, scheme, m);
        code.push("y", CodeStep::Mul(steps.value, scale));
        MadeCode {
            reduction: "significand, and a table for powers of two",
            guard: ArgumentGuard::Between { from, to: spec.to },
            code,
            degree: proven.degree,
            pieces: 1,
            bound: proven.bound,
        }
    }))
}

//! Running error analysis: how far the computed value of each step may be from its value over the reals.
//!
//! Each value is an interval that holds its exact value for all arguments of a small interval, and a bound of the distance
//! of the computed value from the exact one (J. H. Wilkinson 1963; with intervals as in Gappa, M. Daumas and G. Melquiond
//! 2010). Bounds are f64 numbers, enlarged after each operation by more than that operation's own rounding.
use crate::code::{CodeStep, StepIndex, StraightLineCode};
use crate::working_format::FormatRounding;
use kerf_hardround::interval::MpfrInterval;
use rug::Float;

/// Bits of enclosures.
pub(crate) const TRACKED_PRECISION: u32 = 64;

/// What is known of a step's value.
#[derive(Clone, Debug)]
pub(crate) struct TrackedValue {
    /// Holds the value over the reals.
    pub exact: MpfrInterval,
    /// A bound of the distance of the computed value from it.
    pub error: f64,
}

/// Not below the exact value of a sum, product or quotient of f64 numbers whose rounded value is `x >= 0`.
pub(crate) fn enlarged(x: f64) -> f64 {
    x * (1.0 + 2f64.powi(-40)) + f64::from_bits(1)
}

/// A number as a tracked value without error.
pub(crate) fn exact_number(x: f64) -> TrackedValue {
    let f = Float::with_val(TRACKED_PRECISION, x);
    TrackedValue {
        exact: MpfrInterval::point(&f, TRACKED_PRECISION),
        error: 0.0,
    }
}

/// A bound of the error of a product before its rounding.
fn product_error(x: &TrackedValue, y: &TrackedValue) -> f64 {
    let (mx, my) = (x.exact.magnitude(), y.exact.magnitude());
    enlarged(enlarged(mx * y.error) + enlarged(my * x.error) + enlarged(x.error * y.error))
}

/// Tracks the steps after `start`, of which only sums, products, multiply-adds and constants have bounds. `known` holds
/// what is known of earlier steps; steps of tables are constants, from `table_row`. None where a step has no bound.
pub(crate) fn track(
    code: &StraightLineCode,
    start: StepIndex,
    known: (StepIndex, TrackedValue),
    table_row: usize,
) -> Option<TrackedValue> {
    let mut values: Vec<Option<TrackedValue>> = vec![None; code.steps.len()];
    let variable = known.0;
    values[variable] = Some(known.1);
    for (i, step) in code.steps.iter().enumerate() {
        if let CodeStep::Constant(c) = step {
            values[i] = Some(exact_number(*c));
        } else if let CodeStep::TableEntry { table, .. } = step {
            values[i] = Some(exact_number(*code.tables[*table].get(table_row)?));
        } else if i > start && i != variable {
            values[i] = tracked_step(code, step, &values);
        }
    }
    values.swap_remove(code.result)
}

fn tracked_step(
    code: &StraightLineCode,
    step: &CodeStep,
    values: &[Option<TrackedValue>],
) -> Option<TrackedValue> {
    let at = |i: StepIndex| values[i].as_ref();
    let (exact, before) = match *step {
        CodeStep::Add(x, y) => {
            let (x, y) = (at(x)?, at(y)?);
            (x.exact.add(&y.exact), enlarged(x.error + y.error))
        }
        CodeStep::Sub(x, y) => {
            let (x, y) = (at(x)?, at(y)?);
            (x.exact.sub(&y.exact), enlarged(x.error + y.error))
        }
        CodeStep::Mul(x, y) => {
            let (x, y) = (at(x)?, at(y)?);
            (x.exact.mul(&y.exact), product_error(x, y))
        }
        CodeStep::Fma(x, y, z) => {
            let (x, y, z) = (at(x)?, at(y)?, at(z)?);
            let error = enlarged(product_error(x, y) + z.error);
            (x.exact.mul(&y.exact).add(&z.exact), error)
        }
        _ => return None,
    };
    let magnitude = enlarged(exact.magnitude() + before);
    let error = enlarged(before + code.format.rounding_error(magnitude));
    (magnitude <= code.format.largest()).then_some(TrackedValue { exact, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::working_format::WorkingFormat;

    /// x * x + 1 on [1, 1.5]: half of the last place of a number below 4 for the sum.
    #[test]
    fn one_rounding_a_step() {
        let mut code = StraightLineCode::new(WorkingFormat::F64);
        let one = code.constant(1.0);
        code.push("y", CodeStep::Fma(0, 0, one));
        let x = TrackedValue {
            exact: MpfrInterval::new(&Float::with_val(64, 1.0), &Float::with_val(64, 1.5), 64),
            error: 0.0,
        };
        let y = track(&code, 0, (0, x), 0).expect("tracked");
        assert!((y.error / f64::EPSILON - 1.0).abs() < 1e-6, "{}", y.error);
        assert_eq!(y.exact.hi.to_f64(), 3.25);
    }
}

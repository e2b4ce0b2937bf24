//! hypot and rhypot: the root of the sum of squares, where no square overflows and the larger one is exact to the last bit.
use super::{TwoArgumentSpecification, magnitudes};
use crate::code::{CodeStep, StraightLineCode};
use crate::reduction::{Attempt, MadeCode};
use crate::running_error::enlarged;
use crate::specification::ErrorMeasure;
use crate::working_format::WorkingFormat;
use kerf_num::made::ArgumentGuard;

/// Larger magnitudes for which squares are accurate: 2 to these powers. Half of the smallest subnormal number is below u^2 times the
/// square of the smaller power (2^-1075 < 2^-106 2^-960; 2^-150 < 2^-48 2^-100), and twice the square of the larger one is finite.
fn exponents(format: WorkingFormat) -> [i32; 2] {
    match format {
        WorkingFormat::F64 => [-480, 511],
        WorkingFormat::F32 => [-50, 63],
    }
}

/// The attempt for a rectangle.
pub(super) fn attempt(spec: &TwoArgumentSpecification, is_inverse: bool) -> Attempt {
    let [least, most] = exponents(spec.format).map(|e| 2f64.powi(e));
    let clipped = |[from, to]: [f64; 2]| [from.max(-most), to.min(most)];
    let (x, y) = (clipped(spec.x), clipped(spec.y));
    let [(x_least, x_most), (y_least, y_most)] = [x, y].map(|r| {
        let [a, b] = magnitudes(r);
        (a, b)
    });
    if x[0] > x[1] || y[0] > y[1] || x_most.max(y_most) < least {
        return Err(f64::INFINITY);
    }
    // The sum of squares: a rounding of one square and one of the sum, u^2 where they underflow; the root halves that.
    let u = spec.format.unit_roundoff();
    let sum = enlarged(2.0 * u + 6.0 * u * u);
    let mut relative = enlarged(enlarged(0.5 * sum * (1.0 + sum)) + u) * (1.0 + 4.0 * u);
    if is_inverse {
        relative = enlarged(enlarged(relative * (1.0 + 4.0 * relative)) + u) * (1.0 + 4.0 * u);
    }
    let largest = match is_inverse {
        false => enlarged(enlarged(x_most + y_most)),
        true => enlarged(1.0 / x_least.max(y_least).max(least)),
    };
    let bound = match spec.measure {
        ErrorMeasure::Relative => relative,
        ErrorMeasure::Absolute => enlarged(relative * largest),
    };
    if bound > spec.error {
        return Err(bound);
    }
    let mut code = StraightLineCode::new(spec.format);
    let second = code.second_argument();
    let square = code.push("s", CodeStep::Mul(0, 0));
    let sum = code.push("s", CodeStep::Fma(second, second, square));
    let root = code.push("r", CodeStep::SquareRoot(sum));
    if is_inverse {
        let one = code.constant(1.0);
        code.push("r", CodeStep::Quotient(one, root));
    }
    Ok(MadeCode {
        reduction: "none: the root of the sum of squares",
        guard: ArgumentGuard::Rectangle {
            x,
            y,
            larger_from: least,
        },
        code,
        degree: 0,
        pieces: 1,
        bound,
    })
}

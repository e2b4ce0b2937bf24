//! Double words.
use super::super::ranges::{exponent, reach};
use super::super::subject::AccuracySubject;
use super::Draw;
use kerf_num::Format;

/// `n` tuples of double words, as bits.
pub fn words(s: &AccuracySubject, format: Format, n: usize, draw: &mut Draw) -> Vec<u64> {
    let mut all = Vec::with_capacity(2 * n * s.arity);
    for _ in 0..n {
        let x = first(s.function, format, draw);
        put(x, format, draw, &mut all);
        for k in 1..s.arity {
            let y = other(s, format, x, draw);
            // Like signs make a product positive.
            let y = if k == 2 && s.like_signs { y.abs() } else { y };
            put(y, format, draw, &mut all);
        }
    }
    all
}

fn first(function: &str, format: Format, draw: &mut Draw) -> f64 {
    let far = reach(format);
    let spread = |draw: &mut Draw, a: i64, b: i64| {
        let e = draw.whole(a, b) as i32;
        draw.in_binade(e)
    };
    match function {
        "exp" => {
            let x = match draw.below(4) {
                0 => spread(draw, -30, 3),
                _ => draw.real(0.0, far as f64),
            };
            draw.signed(x)
        }
        "log" => match draw.below(4) {
            0 => draw.real(0.5, 2.0),
            1 => {
                let e = draw.whole(-20, -2) as i32;
                1.0 + draw.in_binade(e)
            }
            _ => spread(draw, -far, far),
        },
        "sin" | "cos" => {
            let x = match draw.below(4) {
                0 => spread(draw, -20, 10),
                _ => draw.real(0.0, 1000.0),
            };
            draw.signed(x)
        }
        "sqrt" => spread(draw, -far, far),
        _ => {
            let x = spread(draw, -far, far);
            draw.signed(x)
        }
    }
}

/// A second argument; of a sum, near in size to the first.
fn other(s: &AccuracySubject, format: Format, x: f64, draw: &mut Draw) -> f64 {
    let far = reach(format);
    let p = i64::from(format.mantissa_bits());
    match s.function {
        "add" if !s.like_signs && draw.once_in(8) => {
            // The words' own rounding decides what is left.
            let e = draw.whole(-2 * p, -1) as i32;
            -x * (1.0 + draw.in_binade(e))
        }
        "add" => {
            let e = exponent(x) + draw.whole(-2 * p, 2 * p) as i32;
            let y = draw.in_binade(e.clamp(-(far as i32), far as i32));
            if s.like_signs {
                y.copysign(x)
            } else {
                draw.signed(y)
            }
        }
        _ => {
            let e = draw.whole(-far, far) as i32;
            let y = draw.in_binade(e);
            if s.like_signs {
                y.copysign(x)
            } else {
                draw.signed(y)
            }
        }
    }
}

/// Both words of a number near x: the lower one at most half a unit of the higher, or zero.
fn put(x: f64, format: Format, draw: &mut Draw, to: &mut Vec<u64>) {
    let high = format.decode(format.encode(x));
    let e = exponent(high) - format.mantissa_bits() as i32;
    let gap = if draw.once_in(4) { draw.below(20) } else { 0 } as i32;
    let low = draw.real(-1.0, 1.0) * 2f64.powi(e - gap);
    let low = if draw.once_in(16) { 0.0 } else { low };
    // A power of two has half the unit below it.
    let low = if high + low != high && format.decode(format.encode(high + low)) != high {
        0.0
    } else {
        low
    };
    to.push(format.encode(high));
    to.push(format.encode(low));
}

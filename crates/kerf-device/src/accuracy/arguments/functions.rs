//! Arguments of functions of one f64.
use super::{Draw, angles, binades, scaled, specials};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI, SQRT_2};

/// Arguments on which CUDA 11.2 was found to be worst (Innocente and Zimmermann, "Accuracy of
/// mathematical functions in single, double, double extended, and quadruple precision").
fn hard(function: &str) -> Vec<f64> {
    let at = |digits: u64, e: i32| scaled((1 << 52) | digits, e - 52);
    match function {
        "exp" => vec![at(0xe7fe79396eb72, 1)],
        "log" => vec![at(0x6a010f195ab29, -1)],
        "sin" => vec![at(0xcfa11e52cd2d4, 16)],
        "cos" => vec![at(0x2fb003a663392, 7)],
        _ => Vec::new(),
    }
}

/// `n` arguments.
pub fn values(function: &str, n: usize, draw: &mut Draw) -> Vec<f64> {
    let mut all = specials();
    all.extend(hard(function));
    if matches!(function, "sin" | "cos" | "tan") {
        let room = n / 4;
        let nearest = angles::near_multiples();
        let step = nearest.len().div_ceil(room.max(1)).max(1);
        all.extend(nearest.into_iter().step_by(step));
    }
    all.truncate(n);
    let map = binades();
    // Half of the rest over all binades, half where a function is difficult.
    let half = (n - all.len()).div_ceil(2);
    let positive = matches!(function, "log" | "log2" | "sqrt" | "rsqrt");
    for i in 0..half {
        let x = draw.in_binade(map[i % map.len()]);
        let negative = if positive {
            i % 64 == 63
        } else {
            i / map.len() % 2 == 1
        };
        all.push(if negative { -x } else { x });
    }
    while all.len() < n {
        all.push(difficult(function, draw));
    }
    all
}

fn difficult(function: &str, draw: &mut Draw) -> f64 {
    match function {
        "exp" => exponential(draw, LN_2, 709.782712893384, -745.1332191019411),
        "exp2" => exponential(draw, 1.0, 1024.0, -1075.0),
        "tanh" => match draw.below(4) {
            0 => small(draw, -40, 4),
            1 => draw.real(-1.0, 1.0),
            _ => draw.real(-22.0, 22.0),
        },
        "log" | "log2" => logarithm(draw),
        "sin" | "cos" | "tan" => angle(draw),
        "sqrt" => match draw.below(2) {
            0 => root_near_middle(draw),
            _ => small(draw, -1074, 1023).abs(),
        },
        "rsqrt" => small(draw, -1074, 1023).abs(),
        // 1/x overflows below 2^-1024 and is subnormal above 2^1022.
        _ => match draw.below(4) {
            0 => small(draw, -1030, -1018),
            1 => small(draw, 1018, 1023),
            _ => small(draw, -1074, 1023),
        },
    }
}

/// Any number with an exponent from `a` to `b`.
fn small(draw: &mut Draw, a: i32, b: i32) -> f64 {
    let e = draw.whole(a.into(), b.into()) as i32;
    let x = draw.in_binade(e);
    draw.signed(x)
}

/// `unit`: the argument that doubles the result; arguments are reduced at halves of it.
fn exponential(draw: &mut Draw, unit: f64, most: f64, least: f64) -> f64 {
    match draw.below(8) {
        0 => {
            let k = draw.whole(-1075, 1024) as f64;
            draw.near((k + 0.5) * unit, 3)
        }
        1 => {
            // Where results overflow, become subnormal, vanish.
            let subnormal = -1022.0 * unit;
            let edge = [most, subnormal, least][draw.below(3) as usize];
            let reach = draw.below(30);
            draw.near(edge, 1 << reach)
        }
        2 => small(draw, -60, 3),
        _ => draw.real(least, most),
    }
}

fn logarithm(draw: &mut Draw) -> f64 {
    match draw.below(6) {
        0 => {
            let reach = draw.below(52);
            draw.near(1.0, 1 << reach)
        }
        1 => {
            // Where the argument's reduction changes its exponent.
            let e = draw.whole(-1021, 1022) as i32;
            let edge = [SQRT_2, FRAC_1_SQRT_2, 1.0, 4.0 / 3.0][draw.below(4) as usize];
            draw.near(edge * 2f64.powi(e), 1 << 10)
        }
        2 => draw.real(0.5, 2.0),
        3 => draw.real(0.9, 1.1),
        _ => small(draw, -1074, 1023).abs(),
    }
}

fn angle(draw: &mut Draw) -> f64 {
    match draw.below(8) {
        0 => draw.real(-2.0 * PI, 2.0 * PI),
        1 => draw.real(-1000.0, 1000.0),
        2 | 3 => {
            let k = draw.below(53);
            let multiple = (1 + draw.below(1 << k)) as f64;
            let x = angles::quarter_turns(multiple);
            let x = draw.near(x, 2);
            draw.signed(x)
        }
        // Around the argument from which libdevice reduces the long way.
        4 => {
            let x = draw.near(105615.0, 1 << 40);
            draw.signed(x)
        }
        _ => small(draw, -30, 30),
    }
}

/// A number whose root is almost the middle between two doubles: y^2 = d modulo a power of two, for a
/// small d and an odd y of 54 bits, so that y^2 - d has 53 bits and a root just beside y.
fn root_near_middle(draw: &mut Draw) -> f64 {
    let d = draw.whole(-2000, 2000) * 8 + 1;
    // Newton's iteration for 1/sqrt(d) modulo 2^63 gains twice the bits each time.
    let d = d as u64;
    let mut r = 1u64;
    for _ in 0..6 {
        let square = r.wrapping_mul(r);
        let e = 3u64.wrapping_sub(d.wrapping_mul(square));
        r = r.wrapping_mul(e >> 1);
    }
    let root = d.wrapping_mul(r);
    for bits in [55u32, 54] {
        let other = draw.bits() & 1;
        for y in [root, root.wrapping_neg()] {
            let y = y.wrapping_add(other << (bits - 1)) & ((1 << 54) - 1);
            let square = u128::from(y) * u128::from(y);
            let rest = square.wrapping_sub(d as i64 as i128 as u128);
            let whole = rest >> bits;
            let fits = whole >> 52 == 1 && y >> 53 == 1;
            if fits && rest & ((1 << bits) - 1) == 0 {
                let e = 2 * draw.whole(-500, 450) as i32;
                return scaled(whole as u64, bits as i32 + e);
            }
        }
    }
    small(draw, -1022, 1023).abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rug::Float;

    #[test]
    fn some_roots_are_hard() {
        let mut draw = Draw::new("test");
        let mut hard = 0;
        for _ in 0..2000 {
            let x = root_near_middle(&mut draw);
            let root = Float::with_val(200, x).sqrt();
            // The root's 54th bit and what follows it.
            let exponent = root.get_exp().expect("not zero");
            let scaled: Float = root >> (exponent - 54);
            let whole = Float::with_val(200, scaled.round_ref());
            let off = Float::with_val(200, &scaled - &whole).abs();
            let odd = scaled.to_integer_round(rug::float::Round::Nearest);
            let odd = odd.is_some_and(|n| n.0.is_odd());
            hard += u32::from(odd && off > 0 && off < 2f64.powi(-38));
        }
        assert!(hard > 200, "{hard}");
    }
}

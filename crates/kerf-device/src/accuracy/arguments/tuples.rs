//! Pairs and triples of f64.
use super::super::ranges::exponent;
use super::{Draw, binades, scaled, specials};

/// `n` tuples, one after the other.
pub fn values(function: &str, arity: usize, n: usize, draw: &mut Draw) -> Vec<f64> {
    let mut all = Vec::with_capacity(n * arity);
    let special = specials();
    let count = special.len().pow(arity as u32);
    // All tuples of special values, or as many as fit.
    for i in 0..count.min(n / 4) {
        let mut at = if count <= n / 4 {
            i
        } else {
            draw.below(count as u64) as usize
        };
        for _ in 0..arity {
            all.push(special[at % special.len()]);
            at /= special.len();
        }
    }
    let map = binades();
    let mut i = 0;
    while all.len() < n * arity {
        let x = draw.in_binade(map[i % map.len()]);
        let x = draw.signed(x);
        i += 1;
        match function {
            "div" => all.extend(quotient(x, draw)),
            "mul" => all.extend([x, factor(x, draw)]),
            "add" => all.extend([x, addend(x, draw)]),
            "pow" => all.extend(power(x, draw)),
            _ => {
                let y = factor(x, draw);
                all.extend([x, y, addend_of_product(x, y, draw)]);
            }
        }
    }
    all
}

/// A number with an exponent so far as finite numbers reach.
fn held(draw: &mut Draw, e: i32) -> f64 {
    let x = draw.in_binade(e.clamp(-1074, 1023));
    draw.signed(x)
}

fn quotient(x: f64, draw: &mut Draw) -> [f64; 2] {
    // Exponent of the quotient: all of the range and a little beyond it.
    let e = draw.whole(-1080, 1026) as i32;
    match draw.below(4) {
        0 => near_middle(draw),
        1 => [x, held(draw, exponent(x))],
        _ => {
            let mut at = exponent(x) - e;
            let mut x = x;
            if !(-1022..=1023).contains(&at) {
                // The dividend gives way.
                at = at.clamp(-1022, 1023);
                x = held(draw, at + e);
            }
            [x, held(draw, at)]
        }
    }
}

/// A pair whose quotient is almost the middle between two doubles: q y = d modulo 2^54 for an odd q
/// of 54 bits and a small d, so that (q y - d) / 2^54 is a dividend.
fn near_middle(draw: &mut Draw) -> [f64; 2] {
    for _ in 0..64 {
        let y = draw.bits() >> 11 | 1 << 52 | 1;
        let d = draw.whole(-500, 500) * 2 + 1;
        // The inverse of an odd number modulo 2^64, by Newton's iteration.
        let mut inverse = y;
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(y.wrapping_mul(inverse)));
        }
        let q = (d as u64).wrapping_mul(inverse) & ((1 << 54) - 1);
        if q >> 53 == 0 {
            continue;
        }
        let product = (u128::from(q) * u128::from(y)).wrapping_sub(d as i128 as u128);
        let x = (product >> 54) as u64;
        if x >> 53 == 0 && product & ((1 << 54) - 1) == 0 {
            let e = draw.whole(-900, 900) as i32;
            let x = draw.signed(scaled(x, 0));
            return [x, scaled(y, e)];
        }
    }
    [1.0, 3.0]
}

fn factor(x: f64, draw: &mut Draw) -> f64 {
    let e = draw.whole(-1080, 1026) as i32;
    match draw.below(4) {
        0 => held(draw, 0),
        _ => held(draw, e - exponent(x)),
    }
}

fn addend(x: f64, draw: &mut Draw) -> f64 {
    match draw.below(8) {
        0 => {
            let e = draw.whole(-1074, 1023) as i32;
            held(draw, e)
        }
        // All but cancels.
        1 => -draw.near(x, 4),
        // Half a unit, and its neighbours: ties.
        2 => {
            let tie = scaled(1, exponent(x) - 53);
            let tie = draw.near(tie, 1);
            draw.signed(tie)
        }
        _ => {
            let e = exponent(x) + draw.whole(-56, 56) as i32;
            held(draw, e)
        }
    }
}

fn addend_of_product(x: f64, y: f64, draw: &mut Draw) -> f64 {
    let product = x * y;
    if product == 0.0 || !product.is_finite() {
        return held(draw, 0);
    }
    match draw.below(4) {
        0 => -draw.near(product, 4),
        1 => {
            let e = exponent(product) + draw.whole(-110, 110) as i32;
            held(draw, e)
        }
        _ => addend(product, draw),
    }
}

fn power(x: f64, draw: &mut Draw) -> [f64; 2] {
    // The power, as one of two.
    let t = draw.real(-1080.0, 1026.0);
    match draw.below(8) {
        // Near 1, where the exponent is large.
        0 | 1 => {
            let reach = draw.below(52);
            let x = draw.near(1.0, 1 << reach);
            let l = x.log2();
            [x, if l == 0.0 { t } else { t / l }]
        }
        // Whole and half exponents, and negative bases.
        2 => {
            let e = draw.whole(-20, 20) as i32;
            let x = draw.in_binade(e);
            [draw.signed(x), draw.whole(-60, 60) as f64]
        }
        3 => [x.abs(), draw.whole(-9, 9) as f64 * 0.5],
        // Results near 1.
        4 => {
            let e = draw.whole(-60, -1) as i32;
            [x.abs(), held(draw, e)]
        }
        // Ends of the range.
        5 => {
            let edge = [1024.0, -1022.0, -1074.5][draw.below(3) as usize];
            let y = edge / x.abs().log2();
            [x.abs(), draw.near(y, 1 << 12)]
        }
        _ => {
            let base = x.abs();
            let l = base.log2();
            [base, if l == 0.0 { t } else { t / l }]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rug::Float;

    #[test]
    fn some_quotients_are_hard() {
        let mut draw = Draw::new("test");
        let mut hard = 0;
        for _ in 0..1000 {
            let [x, y] = near_middle(&mut draw);
            let q = Float::with_val(200, x) / y;
            let shift = q.get_exp().expect("not zero") - 54;
            let scaled: Float = q >> shift;
            let whole = Float::with_val(200, scaled.round_ref());
            let off = Float::with_val(200, &scaled - &whole).abs();
            hard += u32::from(off > 0 && off < 2f64.powi(-38));
        }
        assert!(hard > 900, "{hard}");
    }
}

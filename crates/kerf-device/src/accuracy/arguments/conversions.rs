//! Arguments of conversions out of f64 and out of 64-bit integers.
use super::super::number::NumberKind;
use super::{Draw, binades, specials};
use kerf_num::Format;

/// `n` doubles, as bits.
pub fn from_double(to: NumberKind, n: usize, draw: &mut Draw) -> Vec<u64> {
    let mut all: Vec<f64> = specials();
    all.truncate(n);
    let map = binades();
    let mut i = 0;
    while all.len() < n {
        let x = match (draw.below(8), to) {
            (0, _) => {
                i += 1;
                draw.in_binade(map[i % map.len()])
            }
            (1..4, NumberKind::Float(f)) => middle(f, draw),
            (_, NumberKind::Float(f)) => {
                let low = f.min_exponent() - f.mantissa_bits() as i32 - 1;
                let e = draw.whole(low.into(), (f.max_exponent() + 1).into()) as i32;
                draw.in_binade(e)
            }
            (1, _) => {
                let edge = 2f64.powi(to.bits() as i32 - 1);
                draw.near(edge, 1 << 24)
            }
            // Just beside whole numbers and halves.
            (2, _) => {
                let k = draw.below(u64::from(to.bits()));
                let whole = draw.below(1 << k) as f64 * 0.5;
                draw.near(whole, 2)
            }
            _ => {
                let e = draw.whole(-3, i64::from(to.bits())) as i32;
                draw.in_binade(e)
            }
        };
        all.push(draw.signed(x));
    }
    all.into_iter().map(f64::to_bits).collect()
}

/// The middle between two numbers of a format, or a double beside it.
fn middle(f: Format, draw: &mut Draw) -> f64 {
    let patterns = (f.max_exponent() - f.min_exponent() + 2) as u64;
    let pattern = draw.below(patterns << (f.mantissa_bits() - 1));
    let low = f.decode(pattern);
    let high = f.decode(pattern + 1);
    if !high.is_finite() {
        let unit = low - f.decode(pattern - 1);
        return draw.near(low + 0.5 * unit, 2);
    }
    // So far away that two roundings, by way of f32, might go wrong.
    let reach = draw.below(30);
    let middle = 0.5 * low + 0.5 * high;
    match draw.below(2) {
        0 => draw.near(middle, 1),
        _ => draw.near(middle, 1 << reach),
    }
}

/// `n` integers, as bits.
pub fn from_integer(to: NumberKind, n: usize, draw: &mut Draw) -> Vec<u64> {
    let mut all: Vec<i64> = vec![0, 1, -1, i64::MAX, i64::MIN, i64::MAX - 1, i64::MIN + 1];
    all.truncate(n);
    let precision = match to {
        NumberKind::Float(f) => f.mantissa_bits(),
        _ => 53,
    };
    while all.len() < n {
        let bits = draw.below(63) as u32;
        let x = (draw.bits() >> 1 | 1 << 62) >> (62 - bits);
        let x = if bits > precision && draw.once_in(2) {
            // The middle between two results, and its neighbours.
            let below = bits + 1 - precision;
            let middle = x >> below << below | 1 << (below - 1);
            middle.wrapping_add(draw.below(5)).wrapping_sub(2)
        } else {
            x
        };
        let x = x as i64;
        all.push(if draw.once_in(2) { -x } else { x });
    }
    all.into_iter().map(|x| x as u64).collect()
}

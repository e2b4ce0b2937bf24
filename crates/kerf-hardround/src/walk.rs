//! Every argument of a block, by differences of its polynomial.
use crate::poly::{DEGREE, Poly, shift};
use crate::tables::NEWTON;
use crate::wide::Wide;

/// Arguments of one difference table: C(1024, 7) 2^-128 is far below the tolerance.
const TABLE: u64 = 1024;
/// Bound of what the tables add to the polynomial's error: 128 and then 64 bits, and dropped degrees.
pub const WALK_ERROR: f64 = 1.0 / (1u64 << 62) as f64;

/// Calls `f` for each argument of [first, end) with F modulo 1 in 64 bits, rounded down; F itself is within the
/// polynomial's error and [`WALK_ERROR`].
pub fn each(poly: &Poly, first: u64, end: u64, mut f: impl FnMut(u64, u64)) {
    let mut at = first;
    while at < end {
        let count = TABLE.min(end - at);
        let p = shift(&poly.c, at.wrapping_sub(poly.middle) as i64);
        let mut n = [Wide::ZERO; DEGREE + 1];
        for d in 0..=DEGREE {
            for m in 0..=d {
                n[m] = n[m].plus(p[d].times(NEWTON[d][m]));
            }
        }
        let mut degree = DEGREE;
        let mut dropped = 0.0;
        while degree > 0 {
            let weight: f64 = (0..degree)
                .map(|i| (TABLE - i as u64) as f64 / (i + 1) as f64)
                .product();
            dropped += n[degree].distance() * weight;
            if dropped > WALK_ERROR / 8.0 {
                break;
            }
            degree -= 1;
        }
        let mut t = n.map(Wide::top);
        let t = &mut t[..=degree];
        for m in at..at + count {
            f(m, (t[0] >> 64) as u64);
            for i in 1..t.len() {
                t[i - 1] = t[i - 1].wrapping_add(t[i]);
            }
        }
        at += count;
    }
}

/// Pushes the arguments of [first, end) whose F may be within `eps` of an integer.
pub fn near(poly: &Poly, first: u64, end: u64, eps: f64, out: &mut Vec<u64>) {
    let near = crate::plan::fraction((eps + poly.error + WALK_ERROR).min(0.49)) + 1;
    each(poly, first, end, |m, z| {
        if z < near || z.wrapping_neg() <= near {
            out.push(m);
        }
    });
}

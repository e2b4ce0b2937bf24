//! The arguments where a line is just above an integer, without visiting the others: `(b + a j) mod 2^64 < d`.
//!
//! The first comes from Euclid's algorithm. The others return after one of three distances (three-distance theorem): u, the
//! least after which the line has risen by less than d modulo 1, v, the same for falling, or u + v. For if a value z
//! returns after t by a rise e < d, then t >= u; if e is at least u's rise, z returned after u already; if it is less, t - u
//! falls by less than d, so t - u >= v. The other way round for falls.

/// Modulus of fractions in 64 bits.
const ONE: u128 = 1 << 64;

/// The least j with `(b + a j) mod 2^64 < d`; none if there is no such j.
fn first(b: u64, a: u64, d: u64) -> Option<u128> {
    if b < d {
        return Some(0);
    }
    if d == 0 {
        return None;
    }
    let low = ONE - u128::from(b);
    reach(u128::from(a), ONE, low, low + u128::from(d) - 1)
}

/// The least j with `low <= a j mod m <= high`, for 0 < low <= high < m and a < m.
fn reach(a: u128, m: u128, low: u128, high: u128) -> Option<u128> {
    if a == 0 {
        return None;
    }
    let j = low.div_ceil(a);
    if j * a <= high {
        return Some(j);
    }
    // No multiple of a lies in [low, high]: the first m y that lacks as much to one does.
    let short = |x: u128| (a - x % a) % a;
    let y = reach(m % a, a, short(high), short(low))?;
    Some((low + m * y).div_ceil(a))
}

/// Calls `f` with every j < n for which `(b + a j) mod 2^64 < d`, in order.
pub fn each(b: u64, a: u64, d: u64, n: u64, mut f: impl FnMut(u64)) {
    let n = u128::from(n);
    let Some(mut j) = first(b, a, d).filter(|j| *j < n) else {
        return;
    };
    let mut z = b.wrapping_add(a.wrapping_mul(j as u64));
    let after = |step: u64| first(step, step, d).map(|t| t + 1);
    let rise = after(a).map(|u| (u, a.wrapping_mul(u as u64)));
    let fall = after(a.wrapping_neg()).map(|v| (v, a.wrapping_neg().wrapping_mul(v as u64)));
    loop {
        f(j as u64);
        let step = match (rise, fall) {
            (Some((u, up)), _) if up < d - z => u,
            (_, Some((v, down))) if down <= z => v,
            (Some((u, _)), Some((v, _))) => u + v,
            _ => return,
        };
        j += step;
        if j >= n {
            return;
        }
        z = z.wrapping_add(a.wrapping_mul(step as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As counting, also for slopes next to simple fractions, for none and for all.
    #[test]
    fn as_counting() {
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut word = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let mut hits = 0;
        for i in 0..3000 {
            let part = (u64::MAX / (1 + word() % 300)).wrapping_mul(word() % 300);
            let a = match i % 5 {
                0 => word(),
                1 => part.wrapping_add(word() >> (20 + word() % 44)),
                2 => part.wrapping_sub(word() >> (20 + word() % 44)),
                3 => word() << (word() % 64),
                _ => word() % 3,
            };
            let b = match i % 3 {
                0 => word() >> (word() % 64),
                _ => word(),
            };
            let d = match i % 17 {
                0 => 0,
                1 => u64::MAX,
                _ => word() >> (1 + word() % 40),
            };
            let n = 1 + word() % 3000;
            let near = |j: &u64| b.wrapping_add(a.wrapping_mul(*j)) < d;
            let counted: Vec<u64> = (0..n).filter(near).collect();
            let mut found = Vec::new();
            each(b, a, d, n, |j| found.push(j));
            assert_eq!(found, counted, "{b:#x} {a:#x} {d:#x} {n}");
            hits += found.len();
        }
        assert!(hits > 100_000, "{hits}");
    }
}

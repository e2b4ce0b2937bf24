//! The least distance between a line and the integers, by the three-distance theorem (Lefevre's test).
//!
//! The fractions `{b + a j}` for 0 <= j < n are small where the points `{-a j}` lie just below `{b}`. Adding
//! points in order divides the circle into intervals of two or three lengths; the test follows the interval
//! that holds b, with lengths x and y, and z the distance of b from its lower end. A step of one kind takes y
//! to `y - q x`, of the other x to `x - q y`; steps with q = 0 change nothing, so that both are always made,
//! in turn, and no lane waits for another's branch. Fewer steps than q, too, give a valid division: quotients
//! may be too small, never too large. A division that would have more points than needed is not made until
//! the end, and then in part.
use crate::lanes::Lanes;

/// Groups of lanes that are worked on at once, so that one's latencies are another's work.
pub const GROUPS: usize = 4;
/// Rounds after which a lane that is not done counts as failed; quotients near 1 may be missed for ever.
const ROUNDS: usize = 40;

/// One interval's state, in every lane.
struct State<L: Lanes> {
    x: L::F,
    y: L::F,
    z: L::F,
    u: L::F,
    v: L::F,
    inx: L::M,
}

impl<L: Lanes> Clone for State<L> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<L: Lanes> Copy for State<L> {}

impl<L: Lanes> State<L> {
    #[inline(always)]
    unsafe fn new(a: L::U, b: L::U) -> Self {
        // SAFETY: as the caller's, who has the processor's features.
        unsafe {
            let (a, b) = (L::fraction(a), L::fraction(b));
            let one = L::splat(1.0);
            let y = L::sub(one, a);
            let inx = L::ge(b, y);
            State {
                x: a,
                y,
                z: L::sub(b, L::keep(inx, y)),
                u: one,
                v: one,
                inx,
            }
        }
    }

    /// Both steps, as far as no more than n points come of it; the lanes that may go on.
    #[inline(always)]
    unsafe fn round(&mut self, n: L::F) -> u32 {
        // SAFETY: as the caller's, who has the processor's features.
        unsafe {
            let inverse = L::reciprocal(self.x);
            let q = L::floor(L::mul(self.y, inverse));
            let fits = L::lt(L::add(L::plus(self.u, q, self.v), self.v), n);
            self.shorten_y(L::keep(fits, q), inverse);
            let inverse = L::reciprocal(self.y);
            let q = L::floor(L::mul(self.x, inverse));
            let fits_too = L::lt(L::add(L::plus(self.v, q, self.u), self.u), n);
            self.shorten_x(L::keep(fits_too, q), inverse);
            L::bits(L::and(fits, fits_too))
        }
    }

    /// Both steps in part, up to n points; the lanes where the distance is less than d or not known.
    #[inline(always)]
    unsafe fn finish(&mut self, n: L::F, d: L::F) -> u32 {
        // SAFETY: as the caller's, who has the processor's features.
        unsafe {
            let (zero, one) = (L::splat(0.0), L::splat(1.0));
            // Less by a half, the quotient's floor plus one is the ceiling, and never near an integer.
            let less = L::sub(n, L::splat(0.5));
            let inverse = L::reciprocal(self.x);
            let q = L::floor(L::mul(self.y, inverse));
            let needed = L::sub(L::sub(less, self.u), self.v);
            let part = L::add(L::floor(L::mul(needed, L::reciprocal(self.v))), one);
            self.shorten_y(L::min(q, L::max(part, zero)), inverse);
            let inverse = L::reciprocal(self.y);
            let q = L::floor(L::mul(self.x, inverse));
            let needed = L::sub(L::sub(less, self.u), self.v);
            let part = L::add(L::floor(L::mul(needed, L::reciprocal(self.u))), one);
            self.shorten_x(L::min(q, L::max(part, zero)), inverse);
            let clear = L::and(L::ge(self.z, d), L::ge(L::add(self.u, self.v), n));
            !L::bits(clear) & ((1u32 << L::W) - 1)
        }
    }

    /// y becomes y - q x; the rest r lies at the lower end.
    #[inline(always)]
    unsafe fn shorten_y(&mut self, q: L::F, inverse: L::F) {
        // SAFETY: as the caller's, who has the processor's features.
        unsafe {
            let r = L::minus(self.y, q, self.x);
            let moved = L::and_not(self.inx, L::ge(self.z, r));
            let rest = L::sub(self.z, r);
            let t = L::floor(L::mul(rest, inverse));
            let z = L::minus(rest, t, self.x);
            // t may be too small by one.
            let z = L::sub(z, L::keep(L::ge(z, self.x), self.x));
            self.z = L::select(moved, z, self.z);
            self.inx = L::or(self.inx, moved);
            self.y = r;
            self.u = L::plus(self.u, q, self.v);
        }
    }

    /// x becomes x - q y; the rest lies at the upper end.
    #[inline(always)]
    unsafe fn shorten_x(&mut self, q: L::F, inverse: L::F) {
        // SAFETY: as the caller's, who has the processor's features.
        unsafe {
            let t = L::min(L::floor(L::mul(self.z, inverse)), q);
            let z = L::minus(self.z, t, self.y);
            let again = L::and(L::ge(z, self.y), L::lt(t, q));
            let z = L::sub(z, L::keep(again, self.y));
            let t = L::add(t, L::keep(again, L::splat(1.0)));
            self.z = L::select(self.inx, z, self.z);
            self.inx = L::and(self.inx, L::ge(t, q));
            self.x = L::minus(self.x, q, self.y);
            self.v = L::plus(self.v, q, self.u);
        }
    }
}

/// For each lane, whether `{b + a j} < d` for some 0 <= j < n, where that cannot be excluded: a bit a lane,
/// group after group. `a` and `b` count with 52 bits.
///
/// # Safety
/// As for [`Lanes`].
#[inline(always)]
pub unsafe fn failures<L: Lanes>(
    a: &[L::U; GROUPS],
    b: &[L::U; GROUPS],
    offset: L::U,
    n: f64,
    d: f64,
) -> u32 {
    // SAFETY: as the caller's, who has the processor's features.
    unsafe {
        let n = L::splat(n);
        // Four variables, not an array: they have to stay in registers. And no closures here: they would
        // be compiled for a plain processor.
        let mut s0 = State::<L>::new(a[0], L::add_u(b[0], offset));
        let mut s1 = State::<L>::new(a[1], L::add_u(b[1], offset));
        let mut s2 = State::<L>::new(a[2], L::add_u(b[2], offset));
        let mut s3 = State::<L>::new(a[3], L::add_u(b[3], offset));
        for _ in 0..ROUNDS {
            let going = s0.round(n) | s1.round(n) | s2.round(n) | s3.round(n);
            if going == 0 {
                break;
            }
        }
        let d = L::splat(d);
        s0.finish(n, d)
            | s1.finish(n, d) << L::W
            | s2.finish(n, d) << (2 * L::W)
            | s3.finish(n, d) << (3 * L::W)
    }
}

/// The same for one interval in integers, exactly: the least of `{b + a j}` for 0 <= j < n or for a few more,
/// as a multiple of 2^-64. A second way to the same result, for checking.
pub fn least(a: u64, b: u64, n: u64) -> u64 {
    if a == 0 {
        return b;
    }
    let one = 1u128 << 64;
    let (mut x, mut y, mut z) = (u128::from(a), one - u128::from(a), u128::from(b));
    let (mut u, mut v, n) = (1u128, 1u128, u128::from(n));
    let mut inx = z >= y;
    if inx {
        z -= y;
    }
    while u + v < n && x > 0 && y > 0 {
        if x < y {
            let q = (y / x).min((n - u - v).div_ceil(v));
            let r = y - q * x;
            if !inx && z >= r {
                z = (z - r) % x;
                inx = true;
            }
            y = r;
            u += q * v;
        } else {
            let q = (x / y).min((n - u - v).div_ceil(u));
            if inx {
                let t = (z / y).min(q);
                z -= t * y;
                inx = t == q;
            }
            x -= q * y;
            v += q * u;
        }
    }
    z as u64
}

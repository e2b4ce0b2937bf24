//! Every argument of a block where intervals for the test would be too short: runs of arguments side by side in vectors.
//!
//! The difference tables of [`crate::tables`] with intervals of one argument: a lane has a run of [`RUN`] arguments, and
//! goes from one to the next by three sums in 64 bits. What the fourth difference and truncation cost is added to the
//! threshold.
use crate::isa::Isa;
use crate::lanes::{Avx2, Avx512, Lanes, ScalarLane};
use crate::plan::{LEAST_RUNS, fraction, visit_error};
use crate::poly::Poly;
use crate::tables::{LONG_RUNS, RUN, Tables, VALUES};
use crate::walk;

/// Distance from the integers, errors included, within which arguments are looked at again; beyond it too many would be.
const WIDEST: f64 = 1.0 / 128.0;

/// Starting values of runs, one vector a difference.
pub type RunStarts = [Vec<u64>; VALUES];

/// What a pass over runs compares with.
#[derive(Clone, Copy)]
struct Threshold {
    /// Added to a value, as a fraction of one in 64 bits.
    offset: u64,
    /// Sums below this are near an integer.
    d: f64,
}

/// Pushes the arguments of [first, end) whose F may be within `eps` of an integer: as [`walk::near`], with some that are
/// farther away.
pub fn near(
    poly: &Poly,
    (first, end): (u64, u64),
    eps: f64,
    isa: Isa,
    starts: &mut RunStarts,
    out: &mut Vec<u64>,
) {
    let half = visit_error(poly) + eps;
    let mut at = first;
    if half < WIDEST {
        let threshold = Threshold {
            offset: fraction(half) + 1,
            d: 2.0 * half + 2f64.powi(-51),
        };
        let least = (LEAST_RUNS * RUN) as u64;
        while end - at >= least {
            let chunks = ((end - at) / least).min((LONG_RUNS / LEAST_RUNS) as u64);
            let runs = chunks as usize * LEAST_RUNS;
            let tables = Tables::new(&poly.around(at), 0, runs);
            tables.starts(starts, runs);
            // SAFETY: `Isa::all` names only what the processor has; each vector has `runs` values, a multiple of 32.
            unsafe {
                match isa {
                    Isa::Scalar => visit::<ScalarLane>(starts, runs, threshold, at, out),
                    Isa::Avx2 => visit_avx2(starts, runs, threshold, at, out),
                    Isa::Avx512 => visit_avx512(starts, runs, threshold, at, out),
                }
            }
            at += chunks * least;
        }
    }
    walk::near(poly, at, end, eps, out);
}

#[target_feature(enable = "avx2,fma")]
unsafe fn visit_avx2(s: &RunStarts, runs: usize, t: Threshold, at: u64, out: &mut Vec<u64>) {
    // SAFETY: the function has the features that these lanes need; the rest as the caller's.
    unsafe { visit::<Avx2>(s, runs, t, at, out) }
}
#[target_feature(enable = "avx512f")]
unsafe fn visit_avx512(s: &RunStarts, runs: usize, t: Threshold, at: u64, out: &mut Vec<u64>) {
    // SAFETY: the function has the features that these lanes need; the rest as the caller's.
    unsafe { visit::<Avx512>(s, runs, t, at, out) }
}

/// Vectors that are worked on at once, so that one's latencies are another's work.
const GROUPS: usize = 4;

#[inline(always)]
unsafe fn visit<L: Lanes>(s: &RunStarts, runs: usize, t: Threshold, at: u64, out: &mut Vec<u64>) {
    let lanes = GROUPS * L::W;
    // SAFETY: each vector has `runs` values, a multiple of the lanes; the processor has their features: the caller sees to both.
    unsafe {
        let (offset, d) = (L::splat_u(t.offset), L::splat(t.d));
        for group in 0..runs / lanes {
            let mut v = [[offset; GROUPS]; VALUES];
            for (v, s) in v.iter_mut().zip(s) {
                for (g, v) in v.iter_mut().enumerate() {
                    *v = L::load_u(s.as_ptr().add(group * lanes + g * L::W));
                }
            }
            for v in v[0].iter_mut() {
                *v = L::add_u(*v, offset);
            }
            for k in 0..RUN {
                let mut near = 0u32;
                for (g, value) in v[0].iter().enumerate() {
                    near |= L::bits(L::lt(L::fraction(*value), d)) << (g * L::W);
                }
                while near != 0 {
                    let lane = near.trailing_zeros() as usize;
                    out.push(at + ((group * lanes + lane) * RUN + k) as u64);
                    near &= near - 1;
                }
                for i in 0..VALUES - 1 {
                    let step = v[i + 1];
                    for (value, step) in v[i].iter_mut().zip(step) {
                        *value = L::add_u(*value, step);
                    }
                }
            }
        }
    }
}

//! From the time that each resource would take alone to the time of a launch.
//!
//! Streams on different resources overlap, but not wholly: the time lies between the longest and the sum
//! of all. The exponents and weights below are the same for every kernel. They were fitted to times
//! measured on the H200 of half of the recorded workloads, and tried on the other half
//! (bench/runs/2026-11-15-h200-prediction has both); near the best fit they matter little, and are rounded.
use super::{Resource, ResourceShare};

/// Until the first launch of a recorded run begins, and until its end is seen.
pub(super) const START_S: f64 = 1.5e-6;

/// Exponent with which units, memory and chains of operations add up.
const ACROSS: f64 = 2.0;
/// Exponent with which the units of a multiprocessor add up.
const UNITS: f64 = 6.0;

/// What a resource's time is multiplied by: work that counts do not show (addresses, moves, predicates),
/// against work that the assembler takes away.
pub(super) fn weight(r: Resource) -> f64 {
    match r {
        Resource::Issue => 0.7,
        Resource::F64 => 1.4,
        Resource::F32 => 0.75,
        Resource::Half => 0.85,
        Resource::Special => 1.2,
        Resource::LoadStore => 0.95,
        Resource::L2 => 0.5,
        Resource::Dram => 1.0,
        Resource::Latency => 1.05,
        Resource::MemoryLatency => 1.9,
        Resource::Launch => 0.9,
    }
}

fn together(times: impl Iterator<Item = f64>, exponent: f64) -> f64 {
    times
        .map(|t| t.max(0.0).powf(exponent))
        .sum::<f64>()
        .powf(1.0 / exponent)
}

/// Seconds that the device works on a launch. A warp that is `alone` on its scheduler waits for memory and for its own
/// operations one after the other, and nobody's requests are before its own.
pub(super) fn seconds(shares: &[ResourceShare], alone: bool) -> f64 {
    use Resource::*;
    if alone {
        let of = |r: Resource| -> f64 {
            let all = shares.iter().filter(|s| s.resource == r);
            all.map(|s| s.seconds).sum()
        };
        return of(Latency) * weight(Latency) + of(MemoryLatency);
    }
    let of = |r: Resource| {
        let all = shares.iter().filter(|s| s.resource == r);
        all.map(|s| s.seconds).sum::<f64>() * weight(r)
    };
    let units = [Issue, F64, F32, Half, Special, LoadStore].map(of);
    let parts = [
        together(units.into_iter(), UNITS),
        // A load waits for what memory takes to answer, behind the bytes that were asked for before it.
        of(L2).max(of(Dram)) + of(MemoryLatency),
        of(Latency),
    ];
    together(parts.into_iter(), ACROSS)
}

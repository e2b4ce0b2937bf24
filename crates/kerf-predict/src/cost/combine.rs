//! From the time that each resource would take alone to the time of a launch.
//!
//! Work on different resources overlaps in part: the time lies between the longest and the sum of all, as a p-norm of them
//! does. Exponents and weights are the device's, the same for every kernel ([`ProgramConstants`]).
use super::fitted::ProgramConstants;
use super::{Resource, ResourceShare};

fn norm(times_s: impl Iterator<Item = f64>, exponent: f64) -> f64 {
    times_s
        .map(|t| t.max(0.0).powf(exponent))
        .sum::<f64>()
        .powf(1.0 / exponent)
}

/// Seconds that the device works on a launch. A warp that is the only one of its multiprocessor waits for memory and for its
/// own operations one after the other, without queueing delay.
pub(super) fn device_seconds(
    shares: &[ResourceShare],
    lone_warp: bool,
    c: &ProgramConstants,
) -> f64 {
    use Resource::*;
    let unweighted = |r: Resource| -> f64 {
        let all = shares.iter().filter(|s| s.resource == r);
        all.map(|s| s.seconds).sum()
    };
    let weighted = |r: Resource| unweighted(r) * c.weight(r);
    if lone_warp {
        return weighted(Latency) + unweighted(MemoryLatency);
    }
    let units = [Issue, F64, F32, Half, Special, LoadStore].map(weighted);
    let streams = [
        norm(units.into_iter(), c.unit_overlap_exponent),
        // Queueing delay: a load is served after the bytes that were requested before it.
        weighted(L2).max(weighted(Dram)) + weighted(MemoryLatency),
        weighted(Latency),
    ];
    norm(streams.into_iter(), c.overlap_exponent)
}

//! Constants of both models that neither a probe nor a document gives: fitted to times recorded on the H200.
//!
//! All of them stand in `data/fitted.json`, which the example `fit` of this crate writes; docs/reference/prediction.md says what a new fit
//! reproduces. Constants from probes and documents stand beside the code that uses them, each with its source.
use super::Resource;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The contents of `data/fitted.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedConstants {
    /// `kerf.fitted-constants/1`.
    pub schema: String,
    /// What both models add to the time on the device.
    pub run: RunConstants,
    /// Of predictions from the prepared program.
    pub program: ProgramConstants,
    /// Of predictions from machine code.
    pub machine_code: MachineCodeConstants,
}

/// Overheads of a run, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConstants {
    /// From the start of a recorded run to the start of its first launch, and from the end of its last launch to the end of
    /// the run.
    pub start_s: f64,
    /// From the end of a launch to the start of the next.
    pub launch_gap_s: f64,
    /// What a run takes longer where the device waits for the host to launch it, instead of replaying recorded launches.
    pub host_start_s: f64,
}

/// Constants of predictions from the prepared program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramConstants {
    /// Exponent p of the p-norm by which time on the units, on memory and on chains of dependent operations add up: 1 is
    /// no overlap, infinity is complete overlap.
    pub overlap_exponent: f64,
    /// The same among the units of a multiprocessor.
    pub unit_overlap_exponent: f64,
    /// Fraction of a load's latency that remains where its result is first used in another block.
    pub exposed_load_fraction: f64,
    /// Fraction of a load's latency that remains in a block that becomes predicated code, whose loads overlap with those of
    /// neighbouring blocks.
    pub predicated_load_fraction: f64,
    /// Weight of the warp with the most executions of a block, against the mean warp, in the length of a chain: the others
    /// wait for it at barriers.
    pub longest_warp_weight: f64,
    /// Factor of each resource's time: for work that counts do not show (addresses, moves, predicates) and work that the
    /// assembler removes.
    pub weights: BTreeMap<Resource, f64>,
}

impl ProgramConstants {
    /// Factor of a resource's time.
    pub(super) fn weight(&self, r: Resource) -> f64 {
        self.weights.get(&r).copied().unwrap_or(1.0)
    }
}

/// Constants of predictions from machine code.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineCodeConstants {
    /// Exponent p of the p-norm by which the simulated clocks and the time to move bytes add up. Warps that start together
    /// request memory at the same time and compute at the same time, so the overlap is incomplete.
    pub overlap_exponent: f64,
    /// Latency of a load that queues behind those of other warps, over its unloaded latency.
    pub queueing_factor: f64,
    /// Probability that the lanes of a warp take a data-dependent branch as a group; otherwise each decides by itself. Only
    /// for counts that do not say which warps executed a block.
    pub divergence_correlation: f64,
    /// A load waits for the slowest of its n sectors, of which n to this power are independent: 0 is one, 1 is all.
    pub sector_wait_exponent: f64,
    /// Fraction of the time to move bytes through L2 that the latency of loads does not already contain.
    pub exposed_l2_fraction: f64,
    /// Clocks until the lanes of a divergent warp have reconverged.
    pub reconvergence_clocks: f64,
    /// Clocks that a branch takes beside its stall count.
    pub branch_clocks: f64,
    /// Clocks until a result is visible at the barrier that is waited for, beside the latency of a dependent chain.
    pub result_visibility_clocks: f64,
    /// Clocks that a load of 16 bytes from shared memory takes longer.
    pub wide_shared_load_clocks: f64,
    /// Clocks until a memory instruction has read its operands, whose registers may then be overwritten.
    pub operand_read_clocks: f64,
    /// Work that may queue before the load-store unit while warps continue, in clocks of that unit.
    pub load_queue_clocks: f64,
    /// The same before the special-function unit.
    pub special_queue_clocks: f64,
}

static SHIPPED: LazyLock<FittedConstants> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/fitted.json"))
        .expect("data/fitted.json should hold every constant, as the test below checks")
});

impl FittedConstants {
    /// The constants that all predictions use.
    pub fn shipped() -> &'static FittedConstants {
        &SHIPPED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_file_holds_every_constant_and_weight() {
        let c = FittedConstants::shipped();
        assert_eq!(c.schema, "kerf.fitted-constants/1");
        assert_eq!(c.program.weights.len(), 11);
        assert!(c.program.weights.values().all(|w| *w > 0.0));
    }
}

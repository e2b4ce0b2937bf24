//! Blocks of threads on a multiprocessor: load imbalance among them, and how many are resident.
use super::simulation::{ResidentWarps, ScheduledInstruction, clocks};
use crate::cost::fitted::MachineCodeConstants;
use kerf_pass::count::Spread;

/// Expected largest of 132 standard normal values: one for each multiprocessor of the H200 (2.61; 2.34 for 64, 2.73 for 192).
const EXPECTED_MAXIMUM: f64 = 2.6;

/// Time of the multiprocessor with the most work over the mean, where it has `blocks` of which `resident_limit` fit at once.
/// Blocks that start later go where there is least work, so that only the resident ones add up by chance.
pub(super) fn imbalance_factor(spread: Option<Spread>, blocks: f64, resident_limit: f64) -> f64 {
    let Some(s) = spread else { return 1.0 };
    let resident = resident_limit.min(blocks);
    let excess = EXPECTED_MAXIMUM * f64::from(s.deviation) * resident.sqrt() / blocks;
    (1.0 + excess).min(f64::from(s.most)).max(1.0)
}

/// A multiprocessor with resident blocks.
#[derive(Clone, Copy)]
pub(super) struct ResidentBlocks {
    pub blocks: f64,
    pub warps_per_block: u32,
    pub schedulers: f64,
}

/// Warps that are simulated at most: of one scheduler, and of all where they wait for each other.
const SIMULATED_WARPS: f64 = 16.0;
const SIMULATED_SHARING_WARPS: f64 = 64.0;

/// Clocks of a scheduler for one iteration of one of its warps.
pub(super) fn clocks_per_iteration(
    code: &[ScheduledInstruction],
    on: ResidentBlocks,
    iterations: usize,
    constants: &MachineCodeConstants,
) -> f64 {
    let warps = on.blocks * f64::from(on.warps_per_block);
    // Warps of a block with barriers are on all schedulers; otherwise one scheduler stands for all.
    let waits_for_others = code.iter().any(|s| s.is_block_barrier) && on.warps_per_block > 1;
    let (resident, warps_per_scheduler) = match waits_for_others {
        true => {
            let simulated = warps.clamp(1.0, SIMULATED_SHARING_WARPS);
            let active = warps.min(on.schedulers);
            let all = ResidentWarps {
                warps: simulated as usize,
                schedulers: active as usize,
                warps_per_block: on.warps_per_block as usize,
            };
            (all, simulated / active)
        }
        false => {
            let simulated = (warps / on.schedulers).ceil().clamp(1.0, SIMULATED_WARPS);
            let own = ResidentWarps {
                warps: simulated as usize,
                schedulers: 1,
                warps_per_block: 1,
            };
            (own, simulated)
        }
    };
    clocks(code, resident, iterations, constants) / warps_per_scheduler
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::FittedConstants;
    use crate::cost::machine::simulation::{Pipe, tests::instruction};

    #[test]
    fn blocks_with_more_work_decide_where_there_are_few() {
        let of = |deviation, most| Some(Spread { deviation, most });
        assert_eq!(imbalance_factor(None, 1.0, 1.0), 1.0);
        assert_eq!(imbalance_factor(of(0.0, 1.0), 4.0, 4.0), 1.0);
        // The largest, where each multiprocessor has one.
        assert_eq!(imbalance_factor(of(0.3, 1.5), 1.0, 16.0), 1.5);
        let (few, many) = (
            imbalance_factor(of(0.3, 3.0), 16.0, 16.0),
            imbalance_factor(of(0.3, 3.0), 160.0, 16.0),
        );
        assert!(few > 1.15 && many < 1.03, "{few} {many}");
    }

    #[test]
    fn a_block_alone_takes_longer_for_each_of_its_warps() {
        let chain = instruction(Pipe::F64, 2.0, 8.0);
        // One warp a scheduler waits for itself; six wait for the pipe.
        let of = |blocks| {
            let on = ResidentBlocks {
                blocks,
                warps_per_block: 4,
                schedulers: 4.0,
            };
            let constants = &FittedConstants::shipped().machine_code;
            clocks_per_iteration(&[chain; 10], on, 8, constants)
        };
        let (alone, many) = (of(1.0), of(6.0));
        assert!((alone - 80.0).abs() < 1.0, "{alone}");
        assert!((many - 20.0).abs() < 2.0, "{many}");
    }
}

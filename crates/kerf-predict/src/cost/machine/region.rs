//! Regions of a launch, simulated one after the other: each loop without the loops inside of it, and the code outside of all
//! loops.
use super::binary::{Instruction, Kind};
use super::blocks::{ResidentBlocks, clocks_per_iteration};
use super::executions::ExecutionProfile;
use super::flow::FlowGraph;
use super::simulation::{PIPES, ScheduledInstruction};
use super::timing::{InstructionExecution, LaunchContext};
use crate::cost::launch::Placement;
use std::collections::BTreeMap;

/// Instructions of one warp that are simulated for a loop, about; and bounds of its iterations.
const SIMULATED_INSTRUCTIONS: usize = 30000;
const SIMULATED_ITERATIONS: (usize, usize) = (8, 96);
/// Iterations of the code outside of loops.
const STRAIGHT_ITERATIONS: usize = 4;

/// Machine code of a kernel, with how often it is executed in a launch.
pub(super) struct ExecutedCode<'k> {
    pub code: &'k [Instruction],
    pub flow: &'k FlowGraph,
    pub profile: &'k ExecutionProfile,
}

struct Region {
    is_loop: bool,
    /// Executions by warps of the loop's header, or of the most executed block.
    iterations: f64,
    code: Vec<ScheduledInstruction>,
}

/// Clocks in which a multiprocessor has as many blocks as fit, and those of the last wave, which has fewer.
struct WaveClocks {
    full_waves: f64,
    last_wave: f64,
}

/// Clocks of a launch, and those in which each pipe is busy, issue slots last.
pub(super) struct SimulatedLaunch {
    pub clocks: f64,
    pub busy_clocks: [f64; PIPES + 1],
}

impl Region {
    fn new(
        header: Option<usize>,
        mut blocks: Vec<usize>,
        executed: &ExecutedCode,
        context: &LaunchContext,
    ) -> Region {
        blocks.sort_unstable();
        let executions = &executed.profile.block_executions;
        let most = blocks.iter().map(|b| executions[*b]).fold(0.0, f64::max);
        let iterations = header
            .map(|h| executions[h])
            .filter(|n| *n > 0.0)
            .unwrap_or(most);
        let mut code = Vec::new();
        for b in blocks {
            let probability = (executions[b] / iterations).min(1.0);
            let all = executed.flow.blocks[b].clone();
            let real = all.filter(|k| executed.code[*k].kind != Kind::Nop);
            code.extend(real.map(|k| {
                let execution = InstructionExecution {
                    basic_block: b,
                    probability,
                    predicate_fraction: executed.profile.predicate_fraction[k],
                    reconvergence_fraction: executed.profile.reconvergence_fraction[b],
                };
                context.scheduled(&executed.code[k], &execution)
            }));
        }
        Region {
            is_loop: header.is_some(),
            iterations,
            code,
        }
    }

    /// Clocks of a scheduler of the fullest multiprocessor, and iterations of all of its warps.
    ///
    /// Where all blocks are resident at once, the scheduler with the most warps decides. Where they are not, the remaining
    /// blocks of the last wave run with fewer warps beside them.
    fn simulate(&self, on: &Placement, context: &LaunchContext) -> (WaveClocks, f64) {
        let (fewest, most) = SIMULATED_ITERATIONS;
        let simulated = match self.is_loop {
            false => STRAIGHT_ITERATIONS,
            true => (SIMULATED_INSTRUCTIONS / self.code.len().max(1)).clamp(fewest, most),
        };
        let iteration_clocks = |blocks: f64| {
            let resident = ResidentBlocks {
                blocks,
                warps_per_block: on.warps_per_block,
                schedulers: on.schedulers,
            };
            clocks_per_iteration(&self.code, resident, simulated, context.constants)
        };
        let of_warp = self.iterations / on.blocks / f64::from(on.warps_per_block);
        let of_fullest_scheduler = |blocks: f64| {
            let warps = blocks * f64::from(on.warps_per_block);
            of_warp
                * (warps / on.schedulers)
                    .ceil()
                    .max(warps / warps.min(on.schedulers))
        };
        if on.blocks_of_fullest <= on.resident_limit {
            let iterations = of_fullest_scheduler(on.resident_blocks);
            let clocks = WaveClocks {
                full_waves: iteration_clocks(on.resident_blocks) * iterations,
                last_wave: 0.0,
            };
            return (clocks, iterations);
        }
        let mean = self.iterations * on.blocks_of_fullest / on.blocks / on.active_schedulers;
        let remaining = on.blocks_of_fullest % on.resident_limit;
        let full_waves =
            iteration_clocks(on.resident_limit) * mean * (on.blocks_of_fullest - remaining)
                / on.blocks_of_fullest;
        let last_wave = match remaining > 0.0 {
            true => iteration_clocks(remaining) * of_fullest_scheduler(remaining),
            false => 0.0,
        };
        let clocks = WaveClocks {
            full_waves,
            last_wave,
        };
        (clocks, mean)
    }
}

/// Simulates the regions of a launch.
pub(super) fn simulate(
    executed: &ExecutedCode,
    context: &LaunchContext,
    on: &Placement,
) -> SimulatedLaunch {
    let innermost = executed.flow.innermost_loop();
    let mut regions: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for b in &executed.flow.order {
        if executed.profile.block_executions[*b] > 0.0 {
            regions
                .entry(innermost.get(b).copied())
                .or_default()
                .push(*b);
        }
    }
    let mut out = SimulatedLaunch {
        clocks: 0.0,
        busy_clocks: [0.0; PIPES + 1],
    };
    for (header, blocks) in regions {
        let region = Region::new(header, blocks, executed, context);
        let (clocks, iterations) = region.simulate(on, context);
        out.clocks += clocks.full_waves;
        out.clocks += clocks.last_wave;
        for s in &region.code {
            out.busy_clocks[s.pipe as usize] += iterations * s.probability * s.pipe_clocks;
            out.busy_clocks[PIPES] += iterations * s.probability * s.issue_slots;
        }
    }
    out
}

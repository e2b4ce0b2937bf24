//! One launch from machine code: simulated clocks and bytes by level of memory, combined.
use super::binary::{Code, Kind};
use super::blocks::imbalance_factor;
use super::coarsened::{LaidOut, launched};
use super::executions::{Operation, SourceProgram, execution_profile};
use super::flow::FlowGraph;
use super::program::{SuccessorLines, source_blocks};
use super::region::{ExecutedCode, SimulatedLaunch, simulate};
use super::simulation::{PIPES, Pipe};
use super::timing::{LaunchContext, accesses_by_line};
use crate::cost::fitted::FittedConstants;
use crate::cost::traffic::{KernelLaunch, LoadWaiting, MemoryTraffic};
use crate::cost::{CostError, CostModel, LaunchPrediction, Resource, ResourceShare};
use kerf_device::occupancy::WARP;
use std::collections::BTreeMap;

/// The resource of each pipe, issue slots last.
const RESOURCE_OF_PIPE: [Resource; PIPES + 1] = [
    Resource::F32,
    Resource::F32,
    Resource::F32,
    Resource::F64,
    Resource::Half,
    Resource::LoadStore,
    Resource::Special,
    Resource::LoadStore,
    Resource::F32,
    Resource::Issue,
    Resource::Issue,
    Resource::Issue,
];

/// A resource that is busy for this fraction of the time limits a launch; below it latency does. A convention of the report.
const LIMITING_FRACTION: f64 = 0.7;

/// Registers that the hardware allocates for a thread, at least.
const FEWEST_REGISTERS: u32 = 16;

/// The prepared program that a kernel was compiled from, by line.
pub(super) struct SourceLines {
    pub successors: SuccessorLines,
    pub operations: Vec<Operation>,
    pub slow_paths: BTreeMap<usize, f64>,
}

/// Machine code of a kernel, and what it was compiled from.
#[derive(Clone, Copy)]
pub(super) struct CompiledKernel<'k> {
    pub code: &'k Code,
    pub source: &'k SourceLines,
    /// What a thread does, where it has more than one element.
    pub laid_out: Option<&'k LaidOut>,
}

/// Time of a launch on each resource.
struct LaunchShares {
    by_resource: BTreeMap<Resource, f64>,
    /// Seconds of the simulated warps.
    execution_s: f64,
    /// Seconds to move bytes, on the slower of L2 and device memory.
    movement_s: f64,
}

impl LaunchShares {
    /// The resource that decides the time of the launch.
    fn limit(&self, device_seconds: f64, launch_gap_s: f64) -> Resource {
        let seconds = |r: Resource| self.by_resource.get(&r).copied().unwrap_or(0.0);
        let is_pipe =
            |r: &Resource| !matches!(r, Resource::Latency | Resource::L2 | Resource::Dram);
        let busiest = self
            .by_resource
            .iter()
            .filter(|(r, _)| is_pipe(r))
            .max_by(|a, b| a.1.total_cmp(b.1));
        let moves = self.movement_s > self.execution_s;
        match busiest {
            _ if launch_gap_s > device_seconds => Resource::Launch,
            _ if moves && seconds(Resource::Dram) >= seconds(Resource::L2) => Resource::Dram,
            _ if moves => Resource::L2,
            Some((r, s)) if *s > LIMITING_FRACTION * self.execution_s => *r,
            _ => Resource::Latency,
        }
    }

    /// All shares, that of the limit first, then the longest.
    fn sorted(self, limit: Resource) -> Vec<ResourceShare> {
        let mut all: Vec<ResourceShare> = self
            .by_resource
            .into_iter()
            .map(|(resource, seconds)| ResourceShare { resource, seconds })
            .collect();
        all.sort_by(|a, b| {
            let first = (b.resource == limit).cmp(&(a.resource == limit));
            first
                .then(b.seconds.total_cmp(&a.seconds))
                .then(a.resource.cmp(&b.resource))
        });
        all
    }
}

impl CostModel {
    fn shares(
        &self,
        s: &SimulatedLaunch,
        traffic: &MemoryTraffic,
        blocks: f64,
        exposed_l2_fraction: f64,
    ) -> LaunchShares {
        let mut by_resource: BTreeMap<Resource, f64> = BTreeMap::new();
        for (resource, clocks) in RESOURCE_OF_PIPE.into_iter().zip(s.busy_clocks) {
            let longest = by_resource.entry(resource).or_insert(0.0);
            *longest = longest.max(clocks / self.clock_hz);
        }
        let l2_bandwidth = self.l2_bandwidth * self.busy_sms(blocks) / self.sms;
        let l2_s = exposed_l2_fraction * traffic.l2_bytes / l2_bandwidth;
        let dram_s = traffic.dram_bytes / self.bandwidth;
        by_resource.insert(Resource::Latency, s.clocks / self.clock_hz);
        by_resource.insert(Resource::L2, l2_s);
        by_resource.insert(Resource::Dram, dram_s);
        LaunchShares {
            by_resource,
            // A block is launched each clock at most (ncu on the H200: 59 us for 93,750 small blocks).
            execution_s: s.clocks.max(blocks) / self.clock_hz,
            movement_s: l2_s.max(dram_s),
        }
    }

    /// Predicts one launch of compiled code.
    pub(super) fn compiled_launch(
        &self,
        k: &KernelLaunch,
        kernel: CompiledKernel,
        fitted: &FittedConstants,
    ) -> Result<LaunchPrediction, CostError> {
        let (l, c) = (k.counts, &fitted.machine_code);
        let (code, source) = (kernel.code, kernel.source);
        let (physical, elements) = launched(l, kernel.laid_out)?;
        let registers = code.registers.max(FEWEST_REGISTERS);
        let on = self.placement(&physical, registers, k.work.static_shared);
        let lone_warp = on.resident_warps <= 1.0;
        let waiting = LoadWaiting {
            lone_warp,
            sector_exponent: Some(c.sector_wait_exponent),
        };
        let mut traffic = self.traffic(k, waiting);
        let accesses = accesses_by_line(k.work, &traffic, l.block);
        let instructions = &code.instructions;
        let flow = FlowGraph::from_code(instructions);
        let access_bytes = accesses.iter().map(|(l, x)| (*l, x.bytes()));
        let blocks = source_blocks(k.work, l, &source.successors, c.divergence_correlation);
        if kernel.laid_out.is_some_and(|x| x.diverges(&blocks)) {
            return Err(CostError::Diverging(l.symbol.clone()));
        }
        let program = SourceProgram {
            access_bytes: &access_bytes.collect(),
            blocks: &blocks,
            operations: &source.operations,
            elements,
            warps: on.blocks * f64::from(on.warps_per_block),
        };
        let profile = execution_profile(instructions, &flow, &program);
        let executed = ExecutedCode {
            code: instructions,
            flow: &flow,
            profile: &profile,
        };
        for b in &flow.order {
            traffic.l2_bytes += profile.block_executions[*b] * executed.spilled_bytes(*b);
        }
        let context = LaunchContext {
            accesses: &accesses,
            rates: k.rates,
            constants: c,
            special_latency_clocks: k.rates.cost("rcp.f32.sfu").latency_clocks
                + c.result_visibility_clocks,
            queueing_factor: if lone_warp { 1.0 } else { c.queueing_factor },
            block: l.block,
            elements,
            slow_paths: &source.slow_paths,
        };
        let mut simulated = simulate(&executed, &context, &on);
        simulated.clocks *= imbalance_factor(l.spread, on.blocks_of_fullest, on.resident_limit);
        // Half of the integer multiply-adds take the place of an f32 multiply-add.
        let heavy = simulated.busy_clocks[Pipe::FmaHeavy as usize];
        simulated.busy_clocks[Pipe::Fma as usize] += 0.5 * heavy;
        let shares = self.shares(&simulated, &traffic, on.blocks, c.exposed_l2_fraction);
        let p = c.overlap_exponent;
        let device_seconds = (shares.execution_s.powf(p) + shares.movement_s.powf(p)).powf(1.0 / p);
        let limit = shares.limit(device_seconds, fitted.run.launch_gap_s);
        Ok(LaunchPrediction {
            symbol: l.symbol.clone(),
            repeats: l.repeats,
            seconds: device_seconds + fitted.run.launch_gap_s,
            device_seconds,
            limit,
            shares: shares.sorted(limit),
            registers: code.registers,
            warps: on.resident_warps as u32,
            waves: on.waves(self.sms),
        })
    }
}

impl ExecutedCode<'_> {
    /// Bytes that an execution of a block by a warp stores in local memory. L1 writes them through to L2 (ncu on the H200: the
    /// sectors that hex_element writes to L2 are those of its local stores).
    fn spilled_bytes(&self, block: usize) -> f64 {
        let all = self.flow.blocks[block].clone();
        let stores = all.filter(|k| self.code[*k].kind == Kind::LocalStore);
        let bytes: f64 = stores
            .map(|k| self.profile.predicate_fraction[k] * self.code[k].bytes)
            .sum();
        f64::from(WARP) * bytes
    }
}

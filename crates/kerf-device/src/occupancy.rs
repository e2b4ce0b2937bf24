//! Occupancy: how many warps of a kernel a multiprocessor holds, and what keeps it from more.
//!
//! Four things limit it. Warps and blocks are counted. Registers are given to each warp in units,
//! from the sub-partition that the warp runs on, so warps = partitions * floor(registers of a
//! partition / registers of a warp). Shared memory is given to each block in units, on top of what
//! the system takes of every block. NVIDIA's own calculator (`cuda_occupancy.h`) gives the same
//! answers; `bench/runs` has the record of the comparison.
use crate::profile::{DeviceProfile, Figure};
use serde::Serialize;

/// Threads of a warp.
pub const WARP: u32 = 32;

/// What a multiprocessor offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multiprocessor {
    /// Compute capability, `9.0`.
    pub arch: String,
    /// Warps per SM.
    pub warps: u32,
    /// Blocks per SM.
    pub blocks: u32,
    /// Threads per block.
    pub threads_per_block: u32,
    /// Registers per SM, which is also the most that a block may have.
    pub registers: u32,
    /// Registers per thread.
    pub registers_per_thread: u32,
    /// Registers are given to a warp in units of this many.
    pub register_unit: u32,
    /// Sub-partitions.
    pub partitions: u32,
    /// Shared memory per SM, in bytes.
    pub shared: u32,
    /// Shared memory per block, opted in, in bytes.
    pub shared_per_block: u32,
    /// Shared memory is given to a block in units of this many bytes.
    pub shared_unit: u32,
    /// Bytes of shared memory that the system takes of each block.
    pub shared_reserved: u32,
}

/// What a kernel needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Registers per thread.
    pub registers: u32,
    /// Shared memory per block, static and dynamic, in bytes.
    pub shared: u64,
    /// Part of the SM's memory asked for as shared memory rather than L1, in percent; `None` leaves
    /// it to the driver, which gives what the blocks need.
    pub carveout: Option<u32>,
}

/// What limits occupancy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OccupancyLimit {
    /// Warps per SM.
    Warps,
    /// Blocks per SM.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
}

impl std::fmt::Display for OccupancyLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            OccupancyLimit::Warps => "warps",
            OccupancyLimit::Blocks => "blocks",
            OccupancyLimit::Registers => "registers",
            OccupancyLimit::SharedMemory => "shared memory",
        })
    }
}

/// What one resource alone would allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Allowed {
    /// The resource.
    pub resource: OccupancyLimit,
    /// Blocks on an SM; any number where the kernel does not use it.
    pub blocks: Option<u32>,
}

/// The answer for one block size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Occupancy {
    /// Threads per block.
    pub block: u32,
    /// Blocks on an SM.
    pub blocks: u32,
    /// Warps on an SM.
    pub warps: u32,
    /// Warps as a part of those that the SM can hold.
    pub occupancy: f64,
    /// The resources that allow no further block.
    pub limited_by: Vec<OccupancyLimit>,
    /// Blocks that each resource alone would allow.
    pub allowed: Vec<Allowed>,
    /// Registers given to a block.
    pub registers_per_block: u64,
    /// Bytes of shared memory given to a block.
    pub shared_per_block: u64,
    /// Bytes of the SM that serve as shared memory.
    pub shared_of_sm: u32,
}

/// Why a launch is impossible, or cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OccupancyError {
    /// A block without threads, or with too many.
    #[error("a block of {asked} threads; {arch} allows 1 to {limit} threads per block")]
    Block {
        /// Asked.
        asked: u32,
        /// Allowed.
        limit: u32,
        /// Compute capability.
        arch: String,
    },
    /// No registers, or too many for a thread.
    #[error("{asked} registers per thread; {arch} allows 1 to {limit} registers per thread")]
    Registers {
        /// Asked.
        asked: u32,
        /// Allowed.
        limit: u32,
        /// Compute capability.
        arch: String,
    },
    /// Too many registers for one block.
    #[error(
        "a block of {block} threads with {registers} registers each needs {needed} registers; {arch} allows {limit} registers per block, enough for {largest} threads"
    )]
    RegistersOfBlock {
        /// Threads.
        block: u32,
        /// Registers per thread.
        registers: u32,
        /// Registers of the block as the hardware counts them.
        needed: u64,
        /// Allowed.
        limit: u32,
        /// Largest block with so many registers.
        largest: u32,
        /// Compute capability.
        arch: String,
    },
    /// Too much shared memory for one block.
    #[error(
        "{asked} bytes of shared memory per block; {arch} allows {limit} bytes per block, opted in"
    )]
    Shared {
        /// Asked.
        asked: u64,
        /// Allowed.
        limit: u32,
        /// Compute capability.
        arch: String,
    },
    /// A carve-out beyond 100 %, or where memory is not divided.
    #[error("a carve-out of {asked} %: {why}")]
    Carveout {
        /// Asked.
        asked: u32,
        /// What is wrong.
        why: String,
    },
    /// The profile does not give a limit.
    #[error("profile {profile} does not say limits.{field}, so occupancy cannot be computed")]
    Unknown {
        /// The profile's name.
        profile: String,
        /// Which limit.
        field: &'static str,
    },
}

fn round_up(n: u64, unit: u32) -> u64 {
    n.div_ceil(u64::from(unit)).saturating_mul(u64::from(unit))
}

/// Sizes in KiB that shared memory can take of an SM's unified memory (CUDA guide, compute
/// capabilities); empty where it has a memory of its own.
fn carveouts(arch: &str) -> &'static [u32] {
    match arch {
        "7.0" => &[0, 8, 16, 32, 64, 96],
        "7.5" => &[32, 64],
        "8.0" => &[0, 8, 16, 32, 64, 100, 132, 164],
        "8.6" | "8.9" | "12.0" => &[0, 8, 16, 32, 64, 100],
        "9.0" | "10.0" => &[0, 8, 16, 32, 64, 100, 132, 164, 196, 228],
        _ => &[],
    }
}

impl Multiprocessor {
    /// The limits of a profile; every one of them has to be known.
    pub fn from_profile(p: &DeviceProfile) -> Result<Multiprocessor, OccupancyError> {
        let get = |field: &'static str, f: &Figure, least: f64| match f.value {
            // Sizes beyond 32 bits are mistakes; a unit of zero would divide by zero.
            Some(v) if v >= least && v <= f64::from(u32::MAX) => Ok(v as u32),
            _ => Err(OccupancyError::Unknown {
                profile: p.name.clone(),
                field,
            }),
        };
        let l = &p.limits;
        Ok(Multiprocessor {
            arch: p.arch.clone(),
            warps: get("warps_per_sm", &l.warps_per_sm, 1.0)?,
            blocks: get("blocks_per_sm", &l.blocks_per_sm, 1.0)?,
            threads_per_block: get("threads_per_block", &l.threads_per_block, 1.0)?,
            registers: get("registers_per_sm", &l.registers_per_sm, 1.0)?,
            registers_per_thread: get("registers_per_thread", &l.registers_per_thread, 1.0)?,
            register_unit: get("register_unit", &l.register_unit, 1.0)?,
            partitions: get("schedulers_per_sm", &l.schedulers_per_sm, 1.0)?,
            shared: get("shared_per_sm", &l.shared_per_sm, 0.0)?,
            shared_per_block: get("shared_per_block", &l.shared_per_block, 0.0)?,
            shared_unit: get("shared_unit", &l.shared_unit, 1.0)?,
            shared_reserved: get("shared_reserved", &l.shared_reserved, 0.0)?,
        })
    }

    /// Registers given to a warp.
    fn registers_of_warp(&self, registers: u32) -> u64 {
        round_up(u64::from(registers) * u64::from(WARP), self.register_unit)
    }

    /// Warps of the largest block that has so many registers. The hardware's check of a launch
    /// counts warps in multiples of the partitions.
    fn warps_of_largest_block(&self, registers: u32) -> u32 {
        let warps = u64::from(self.registers) / self.registers_of_warp(registers);
        warps as u32 / self.partitions * self.partitions
    }

    /// Bytes of the SM that serve as shared memory when a block needs `block` of them.
    fn shared_of_sm(&self, carveout: Option<u32>, block: u64) -> Result<u32, OccupancyError> {
        let Some(asked) = carveout else {
            return Ok(self.shared);
        };
        let bad = |why: String| Err(OccupancyError::Carveout { asked, why });
        if asked > 100 {
            return bad("expected 0 to 100".into());
        }
        let sizes = carveouts(&self.arch);
        if sizes.is_empty() {
            return bad(format!(
                "{} has no known division of memory between L1 and shared memory",
                self.arch
            ));
        }
        // A preference: rounded up to the next size, and overruled by what one block needs.
        let wanted = u64::from(self.shared) * u64::from(asked) / 100;
        let least = wanted.max(block);
        let size = sizes
            .iter()
            .map(|k| k * 1024)
            .find(|&s| u64::from(s) >= least);
        Ok(size.unwrap_or(self.shared))
    }

    /// Occupancy of a kernel with blocks of `block` threads.
    pub fn occupancy(&self, demand: Demand, block: u32) -> Result<Occupancy, OccupancyError> {
        let Demand {
            registers, shared, ..
        } = demand;
        let arch = || format!("compute capability {}", self.arch);
        if block == 0 || block > self.threads_per_block {
            return Err(OccupancyError::Block {
                asked: block,
                limit: self.threads_per_block,
                arch: arch(),
            });
        }
        if registers == 0 || registers > self.registers_per_thread {
            return Err(OccupancyError::Registers {
                asked: registers,
                limit: self.registers_per_thread,
                arch: arch(),
            });
        }
        // What is given has to fit, not only what is asked for.
        let given = round_up(
            shared.saturating_add(u64::from(self.shared_reserved)),
            self.shared_unit,
        );
        if shared > u64::from(self.shared_per_block)
            || given > u64::from(self.shared_per_block) + u64::from(self.shared_reserved)
        {
            return Err(OccupancyError::Shared {
                asked: shared,
                limit: self.shared_per_block,
                arch: arch(),
            });
        }
        let warps = block.div_ceil(WARP);
        let each = self.registers_of_warp(registers);
        let counted = each * round_up(u64::from(warps), self.partitions);
        if counted > u64::from(self.registers) {
            return Err(OccupancyError::RegistersOfBlock {
                block,
                registers,
                needed: counted,
                limit: self.registers,
                largest: (self.warps_of_largest_block(registers) * WARP)
                    .min(self.threads_per_block),
                arch: arch(),
            });
        }
        let shared_of_sm = self.shared_of_sm(demand.carveout, given)?;
        let of_partition = u64::from(self.registers / self.partitions) / each;
        let by_registers = of_partition as u32 * self.partitions / warps;
        // Without any shared memory, also none of the system's, nothing is divided.
        let by_shared = (given > 0).then(|| (u64::from(shared_of_sm) / given) as u32);
        let allowed: Vec<Allowed> = [
            (OccupancyLimit::Warps, Some(self.warps / warps)),
            (OccupancyLimit::Blocks, Some(self.blocks)),
            (OccupancyLimit::Registers, Some(by_registers)),
            (OccupancyLimit::SharedMemory, by_shared),
        ]
        .into_iter()
        .map(|(resource, blocks)| Allowed { resource, blocks })
        .collect();
        let blocks = allowed.iter().filter_map(|a| a.blocks).min().unwrap_or(0);
        Ok(Occupancy {
            block,
            blocks,
            warps: blocks * warps,
            occupancy: f64::from(blocks * warps) / f64::from(self.warps),
            limited_by: allowed
                .iter()
                .filter(|a| a.blocks == Some(blocks))
                .map(|a| a.resource)
                .collect(),
            allowed,
            registers_per_block: each * u64::from(warps),
            shared_per_block: given,
            shared_of_sm,
        })
    }

    /// Occupancy at every block size that is a multiple of a warp, as far as blocks can be launched.
    pub fn curve(&self, demand: Demand) -> Result<Vec<Occupancy>, OccupancyError> {
        // One warp tells whether the kernel can run at all, and why not.
        let first = self.occupancy(demand, WARP.min(self.threads_per_block))?;
        let rest = (2..=self.threads_per_block / WARP)
            .map_while(|w| self.occupancy(demand, w * WARP).ok());
        Ok(std::iter::once(first).chain(rest).collect())
    }
}

/// The highest occupancy of a curve, at the largest block that has it.
pub fn best(curve: &[Occupancy]) -> Option<&Occupancy> {
    curve.iter().max_by_key(|o| (o.warps, o.block))
}

#[cfg(test)]
#[path = "occupancy/tests.rs"]
mod tests;

//! How a launch that the application asks for becomes one of the kernel under its plan: a coarsened kernel is launched with
//! fewer threads, one with other blocks with those, a regrouped one with fewer blocks, and one that is compiled for a block with no other.
use crate::error::{CallFailure, code};
use kerf_pass::{Coarsening, KernelPlan, index_space, reblock};

/// What a plan changes of the launches of a kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PlannedLaunch {
    reblock: Option<u32>,
    coarsen: Option<Coarsening>,
    regroup: Option<u32>,
    block: Option<[u32; 3]>,
}

/// A launch as the device makes it.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceLaunch {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Bytes of the arguments after all others.
    pub arguments: Vec<Vec<u8>>,
}

impl DeviceLaunch {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|g| u64::from(*g)).product()
    }
}

impl PlannedLaunch {
    /// What the plan of a kernel changes of its launches; none if they stay.
    pub fn from_plan(k: &KernelPlan) -> Option<PlannedLaunch> {
        let planned = PlannedLaunch {
            reblock: k.reblock,
            coarsen: k.coarsen,
            regroup: k.regroup,
            block: k.block,
        };
        (planned != PlannedLaunch::default()).then_some(planned)
    }

    /// The launch that does what the application asks for.
    pub fn shape(
        &self,
        kernel: &str,
        (grid, block, shared): ([u32; 3], [u32; 3], u32),
        cooperative: bool,
    ) -> Result<DeviceLaunch, CallFailure> {
        let refused = |why: &dyn std::fmt::Display| {
            let why = format!("KERF_PLAN: {kernel} cannot be launched as the plan says: {why}");
            CallFailure::new(code::INVALID_CONFIGURATION, why)
        };
        if let Some(own) = self.block.filter(|b| *b != block) {
            let why = format!(
                "it is compiled for blocks of {own:?} threads, and the application launches it with {block:?}"
            );
            return Err(refused(&why));
        }
        let (grid, block) = match self.reblock {
            Some(x) => reblock::launch(x, grid, block),
            None => (grid, block),
        };
        let mut shape = DeviceLaunch {
            grid,
            block,
            shared,
            arguments: Vec::new(),
        };
        if let Some(groups) = self.regroup {
            if cooperative {
                return Err(refused(
                    &"the blocks of a cooperative launch are not put together",
                ));
            }
            let r = index_space::launch(groups, grid, block, shared).map_err(|e| refused(&e))?;
            shape = DeviceLaunch {
                grid: r.grid,
                block: r.block,
                shared: r.shared,
                arguments: r.arguments,
            };
        }
        if let Some(c) = &self.coarsen {
            shape.block = c.launch(shape.block).map_err(|e| refused(&e))?;
        }
        Ok(shape)
    }

    /// Blocks of the application's that fit on a multiprocessor, where `fitting` says how many fit of some threads and
    /// bytes of shared memory.
    pub fn resident<E>(
        &self,
        threads: u32,
        shared: u32,
        fitting: impl FnOnce(u32, u32) -> Result<u32, E>,
    ) -> Result<u32, E> {
        match (self.regroup, &self.coarsen) {
            (Some(groups), _) => {
                let all = (
                    threads.saturating_mul(groups),
                    shared.saturating_mul(groups),
                );
                Ok(fitting(all.0, all.1)?.saturating_mul(groups))
            }
            (None, Some(c)) => fitting(threads.div_ceil(c.factor), shared),
            (None, None) => fitting(threads, shared),
        }
    }

    /// Threads that a block of the application's may have, where the device's may have `most`.
    pub fn most_threads(&self, most: u32) -> u32 {
        /// Of every device.
        const THREADS: u32 = 1024;
        let factor = self.coarsen.map_or(1, |c| c.factor);
        most.saturating_mul(factor).min(THREADS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(k: KernelPlan) -> PlannedLaunch {
        PlannedLaunch::from_plan(&k).expect("its launches change")
    }

    #[test]
    fn a_coarsened_kernel_has_fewer_threads_and_as_many_blocks() {
        assert_eq!(PlannedLaunch::from_plan(&KernelPlan::default()), None);
        let p = planned(KernelPlan {
            coarsen: Some(Coarsening::blocked(4)),
            ..KernelPlan::default()
        });
        let l = p.shape("k", ([7, 2, 1], [64, 2, 1], 8), false);
        let l = l.expect("64 are 4 times 16");
        assert_eq!((l.grid, l.block, l.shared), ([7, 2, 1], [16, 2, 1], 8));
        assert_eq!((l.threads(), l.blocks()), (32, 14));
        let e = p.shape("k", ([7, 1, 1], [30, 1, 1], 0), false);
        let said = e.expect_err("30 are no multiple").message;
        assert!(said.is_some_and(|m| m.contains("k cannot be launched")));
        assert_eq!(p.resident(100, 0, |t, _| Ok::<_, ()>(1000 / t)), Ok(40));
        assert_eq!((p.most_threads(128), p.most_threads(1024)), (512, 1024));
    }

    #[test]
    fn other_blocks_hold_as_many_threads() {
        let p = planned(KernelPlan {
            reblock: Some(256),
            coarsen: Some(Coarsening::blocked(2)),
            ..KernelPlan::default()
        });
        let l = |grid, block| p.shape("k", (grid, block, 0), false);
        let l = |grid, block| l(grid, block).map(|l| (l.grid, l.block)).ok();
        let (row, other) = (([8, 2, 1], [64, 1, 1]), ([3, 1, 1], [64, 1, 1]));
        assert_eq!(l(row.0, row.1), Some(([2, 2, 1], [128, 1, 1])));
        assert_eq!(l(other.0, other.1), Some(([3, 1, 1], [32, 1, 1])));
    }

    #[test]
    fn regrouped_blocks_know_how_many_they_are() {
        let p = planned(KernelPlan {
            regroup: Some(4),
            ..KernelPlan::default()
        });
        let l = p.shape("k", ([10, 1, 1], [32, 1, 1], 20), false);
        let l = l.expect("warps");
        assert_eq!((l.grid, l.block, l.shared), ([3, 1, 1], [32, 4, 1], 128));
        assert_eq!(l.arguments.len(), 2);
        assert!(p.shape("k", ([10, 1, 1], [64, 1, 1], 0), false).is_err());
        assert!(p.shape("k", ([10, 1, 1], [32, 1, 1], 0), true).is_err());
        assert_eq!(p.resident(32, 8, |t, s| Ok::<_, ()>(t / 64 + s)), Ok(136));
    }

    #[test]
    fn a_kernel_that_is_compiled_for_a_block_has_no_other() {
        let p = planned(KernelPlan {
            block: Some([64, 1, 1]),
            ..KernelPlan::default()
        });
        let own = ([5, 1, 1], [64, 1, 1], 0);
        assert_eq!(
            p.shape("k", own, true).map(|l| l.block).ok(),
            Some([64, 1, 1])
        );
        assert!(p.shape("k", ([5, 1, 1], [32, 1, 1], 0), false).is_err());
    }
}

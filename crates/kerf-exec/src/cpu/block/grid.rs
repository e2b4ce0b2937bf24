//! The blocks of a cooperative grid: all of them have begun, and take turns on one core.
//!
//! A block's turn lasts until each of its threads waits. Threads that wait for other blocks do so by loading
//! again and again (cooperative groups' barrier of a grid is such a loop); before each such load they yield.
use super::lane::{Lane, Wait};
use super::{BlockWorker, ThreadFn};
use crate::cpu::context::BlockContext;
use crate::cpu::mapping::MemoryError;
use crate::cpu::sanitize::clocks::BlockClocks;
use crate::cpu::signals::Thread;

/// Rounds over all blocks in which every thread only loaded again: then nothing will come.
const PATIENCE: usize = 1000;

/// One block between its turns.
struct Resident<'c> {
    context: &'c BlockContext,
    lanes: Vec<Lane>,
    arrived: [usize; 16],
    threads: Vec<Thread>,
    /// What its threads know of each other, where races are looked for.
    clocks: Option<BlockClocks>,
    done: bool,
}

impl BlockWorker<'_> {
    /// Runs all blocks of a grid to their end.
    pub fn run_grid(
        &self,
        mut contexts: Vec<BlockContext>,
        entry: ThreadFn,
        args: *const *const u8,
    ) -> Result<(), MemoryError> {
        let mut blocks = Vec::with_capacity(contexts.len());
        let mut failed = None;
        for c in &mut contexts {
            c.runtime = self.as_runtime();
        }
        for context in &contexts {
            self.begin_block(context);
            match self.start(context, entry, args) {
                Ok(threads) => blocks.push(Resident {
                    context,
                    lanes: self.lanes.take(),
                    arrived: [0; 16],
                    threads,
                    clocks: self.with_races(|r| {
                        let idle = r.new_block(0, 0);
                        std::mem::replace(&mut r.clocks, idle)
                    }),
                    done: false,
                }),
                Err(e) => {
                    failed = Some(e);
                    break;
                }
            }
        }
        if failed.is_none() {
            self.take_turns(&mut blocks);
        }
        for b in blocks {
            self.end(b.threads);
        }
        failed.map_or(Ok(()), Err)
    }

    fn take_turns(&self, blocks: &mut [Resident]) {
        let mut idle = 0;
        while !self.shared.stopped() && blocks.iter().any(|b| !b.done) {
            let mut moved = false;
            for b in blocks.iter_mut().filter(|b| !b.done) {
                self.swap_lanes(b);
                self.swap_clocks(b);
                moved |= self.turn(b);
                self.swap_clocks(b);
                if idle >= PATIENCE && !self.shared.stopped() {
                    self.deadlock(b.context);
                }
                self.swap_lanes(b);
                if self.shared.stopped() {
                    return;
                }
            }
            idle = if moved { 0 } else { idle + 1 };
        }
    }

    /// Exchanges a block's lanes, and who arrived at its barriers, for the worker's.
    fn swap_lanes(&self, b: &mut Resident) {
        std::mem::swap(&mut *self.lanes.borrow_mut(), &mut b.lanes);
        for (mine, its) in self.arrived.iter().zip(&mut b.arrived) {
            *its = mine.replace(*its);
        }
    }

    fn swap_clocks(&self, b: &mut Resident) {
        self.context.set(b.context);
        if let Some(c) = &mut b.clocks {
            self.with_races(|r| {
                r.retire(c);
                std::mem::swap(&mut r.clocks, c);
            });
        }
    }

    /// Runs a block until each of its threads waits; says whether any came further.
    fn turn(&self, b: &mut Resident) -> bool {
        let spins = |l: &Lane| l.wait.get() == Wait::Spin;
        let spinning = || -> Vec<bool> { self.lanes.borrow().iter().map(spins).collect() };
        let before = spinning();
        for l in self.lanes.borrow().iter().filter(|l| spins(l)) {
            l.wait.set(Wait::Ready);
        }
        let mut moved = false;
        let n = self.lanes.borrow().len();
        loop {
            for from in (0..n).step_by(32) {
                self.run_warp(b.context, &mut b.threads, from, (from + 32).min(n));
                if self.shared.stopped() {
                    return true;
                }
            }
            if self.all_done() {
                b.done = true;
                return true;
            }
            if !self.resolve_barriers() {
                break;
            }
            moved = true;
        }
        let after = spinning();
        if !after.contains(&true) {
            self.deadlock(b.context);
        }
        moved || before != after
    }
}

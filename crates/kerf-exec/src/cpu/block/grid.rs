//! The blocks of a cooperative grid: all of them have begun, and take turns on one core.
//!
//! A block's turn lasts until each of its threads waits. Threads that wait for other blocks do so by loading
//! again and again (cooperative groups' barrier of a grid is such a loop); before each such load they yield.
use super::lane::{Lane, Wait};
use super::{BlockWorker, ThreadFn};
use crate::cpu::context::BlockContext;
use crate::cpu::mapping::MemoryError;
use crate::cpu::sanitize::clocks::BlockClocks;
use crate::cpu::sanitize::races::Races;
use crate::cpu::signals::Thread;

/// Rounds over all blocks in which every thread only loaded again: then nothing will come.
const PATIENCE: usize = 1000;

/// One block between its turns.
struct Resident {
    // Threads hold its address.
    context: Box<BlockContext>,
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
        &mut self,
        contexts: Vec<BlockContext>,
        entry: ThreadFn,
        args: *const *const u8,
    ) -> Result<(), MemoryError> {
        let mut blocks = Vec::with_capacity(contexts.len());
        let mut failed = None;
        for c in contexts {
            let mut context = Box::new(c);
            self.begin_block(&context);
            match self.start(&mut context, entry, args) {
                Ok(threads) => blocks.push(Resident {
                    context,
                    // Moving the vector leaves its elements where they are.
                    lanes: std::mem::take(&mut self.lanes),
                    arrived: self.arrived,
                    threads,
                    clocks: self.races().map(|r| {
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

    fn take_turns(&mut self, blocks: &mut [Resident]) {
        let mut idle = 0;
        while !self.shared.stopped() && blocks.iter().any(|b| !b.done) {
            let mut moved = false;
            for b in blocks.iter_mut().filter(|b| !b.done) {
                std::mem::swap(&mut self.lanes, &mut b.lanes);
                std::mem::swap(&mut self.arrived, &mut b.arrived);
                self.swap_clocks(b);
                moved |= self.turn(b);
                self.swap_clocks(b);
                if idle >= PATIENCE && !self.shared.stopped() {
                    self.deadlock(&b.context);
                }
                std::mem::swap(&mut self.lanes, &mut b.lanes);
                std::mem::swap(&mut self.arrived, &mut b.arrived);
                if self.shared.stopped() {
                    return;
                }
            }
            idle = if moved { 0 } else { idle + 1 };
        }
    }

    fn races(&mut self) -> Option<&mut Races> {
        self.checks.as_mut()?.races.as_mut()
    }

    fn swap_clocks(&mut self, b: &mut Resident) {
        self.context = &*b.context;
        if let (Some(r), Some(c)) = (self.races(), &mut b.clocks) {
            r.retire(c);
            std::mem::swap(&mut r.clocks, c);
        }
    }

    /// Runs a block until each of its threads waits; says whether any came further.
    fn turn(&mut self, b: &mut Resident) -> bool {
        let spinning =
            |lanes: &[Lane]| -> Vec<bool> { lanes.iter().map(|l| l.wait == Wait::Spin).collect() };
        let before = spinning(&self.lanes);
        for l in self.lanes.iter_mut().filter(|l| l.wait == Wait::Spin) {
            l.wait = Wait::Ready;
        }
        let mut moved = false;
        let n = self.lanes.len();
        loop {
            for from in (0..n).step_by(32) {
                self.run_warp(&b.context, &mut b.threads, from, (from + 32).min(n));
                if self.shared.stopped() {
                    return true;
                }
            }
            if self.lanes.iter().all(|l| l.wait == Wait::Done) {
                b.done = true;
                return true;
            }
            if !self.resolve_barriers() {
                break;
            }
            moved = true;
        }
        let after = spinning(&self.lanes);
        if !after.contains(&true) {
            self.deadlock(&b.context);
        }
        moved || before != after
    }
}

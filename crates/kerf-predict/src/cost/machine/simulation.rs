//! Warps of the schedulers of a multiprocessor, simulated: each warp issues in order, as the stall counts and dependence
//! barriers of the machine code say; a scheduler has one issue slot a clock, and a pipe that is busy delays the next
//! instruction on it.
use crate::cost::fitted::MachineCodeConstants;

/// A pipe of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Pipe {
    /// f32 multiply-adds: two halves, either of which takes one.
    Fma = 0,
    /// Integer multiply-adds and half precision: one of the halves only.
    FmaHeavy = 1,
    /// Logic, comparisons, additions of integers.
    Alu = 2,
    F64 = 3,
    /// Half-precision multiply-adds on the tensor unit.
    Tensor = 4,
    LoadStore = 5,
    /// Special functions and conversions.
    Special = 6,
    Constant = 7,
    Uniform = 8,
    Branch = 9,
    /// Instructions that occupy no pipe.
    Unlimited = 10,
}

/// Pipes.
pub(super) const PIPES: usize = 11;

/// Dependence barriers of a warp: counters that machine code names 0 to 5.
const DEPENDENCE_BARRIERS: usize = 6;

/// An instruction with what a scheduler needs to know of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScheduledInstruction {
    pub pipe: Pipe,
    /// Clocks that it occupies its pipe.
    pub pipe_clocks: f64,
    /// Clocks until its result is visible, for those with a result barrier.
    pub latency_clocks: f64,
    /// Clocks until the warp's next instruction may issue.
    pub stall_clocks: f64,
    /// Dependence barrier that clears with its result; 6 for none.
    pub result_barrier: usize,
    /// Dependence barrier that clears once its operands were read; 6 for none.
    pub operand_barrier: usize,
    /// Dependence barriers that it waits for, one bit each.
    pub wait_mask: u32,
    /// Does it wait for the other warps of its block of threads?
    pub is_block_barrier: bool,
    /// Basic block that it belongs to, and the probability that an iteration executes that block.
    pub basic_block: usize,
    pub probability: f64,
    /// Issue slots that it takes.
    pub issue_slots: f64,
}

/// Clocks from the arrival of the last warp at a block's barrier until all continue, and the additional clocks for each warp of
/// the block (probe on the H200: an iteration of a loop with a barrier takes 29 clocks with one warp, 39 with 8, 55 with 16, 87
/// with 32).
const BLOCK_BARRIER_CLOCKS: f64 = 14.0;
const BLOCK_BARRIER_WARP_CLOCKS: f64 = 2.0;

struct Warp {
    number: f64,
    ready_clock: f64,
    /// Its next instruction.
    next: usize,
    iteration: usize,
    /// When it arrived at the block's barrier, if it waits there.
    arrival_clock: Option<f64>,
    /// When each dependence barrier clears.
    clear_clock: [f64; DEPENDENCE_BARRIERS],
    basic_block: Option<usize>,
    skips_basic_block: bool,
}

/// Warps that are resident together.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResidentWarps {
    /// All of them, distributed over the schedulers in turn.
    pub warps: usize,
    pub schedulers: usize,
    /// Warps of a block of threads, which wait for each other at its barriers.
    pub warps_per_block: usize,
}

#[derive(Clone)]
struct Scheduler {
    pipe_free_clock: [f64; PIPES],
    issue_free_clock: f64,
    /// The warp that issued last, among its own.
    last_issued: usize,
    /// The warp that issues next, and when.
    next: Option<(usize, f64)>,
}

/// Clocks in which all warps execute one iteration of a sequence each, once they are in a steady state. Warps run until they
/// have done `iterations` in the mean, and the second half of the issued instructions is timed: some warps run ahead of
/// others, so that the progress of a single one says nothing.
pub(super) fn clocks(
    code: &[ScheduledInstruction],
    resident: ResidentWarps,
    iterations: usize,
    constants: &MachineCodeConstants,
) -> f64 {
    if code.is_empty() {
        return 0.0;
    }
    let mut simulation = Simulation::new(code, resident, constants);
    let warps = simulation.warps.len();
    let per_iteration = code.iter().map(|s| s.probability).sum::<f64>().max(1e-3);
    let end = (per_iteration * (iterations.max(2) * warps) as f64)
        .round()
        .max(2.0);
    let (mut issued, mut half_issued, mut half_clock) = (0.0, 0.0, 0.0);
    while let Some(clock) = simulation.issue() {
        if issued >= end {
            let per_instruction = (clock - half_clock) / (issued - half_issued);
            return per_instruction * per_iteration * warps as f64;
        }
        if 2.0 * issued <= end {
            (half_issued, half_clock) = (issued, clock);
        }
        issued += 1.0;
    }
    0.0
}

struct Simulation<'s> {
    code: &'s [ScheduledInstruction],
    constants: &'s MachineCodeConstants,
    warps: Vec<Warp>,
    warps_per_block: usize,
    schedulers: Vec<Scheduler>,
    /// When the load-store unit, which the schedulers share, has done its work.
    load_store_free_clock: f64,
}

impl<'s> Simulation<'s> {
    fn new(
        code: &'s [ScheduledInstruction],
        resident: ResidentWarps,
        constants: &'s MachineCodeConstants,
    ) -> Simulation<'s> {
        let (warps, schedulers) = (resident.warps.max(1), resident.schedulers.max(1));
        let warp = |w: usize| Warp {
            number: w as f64,
            ready_clock: (w / schedulers) as f64,
            next: 0,
            iteration: 0,
            arrival_clock: None,
            clear_clock: [0.0; DEPENDENCE_BARRIERS],
            basic_block: None,
            skips_basic_block: false,
        };
        let scheduler = Scheduler {
            pipe_free_clock: [0.0; PIPES],
            issue_free_clock: 0.0,
            last_issued: 0,
            next: None,
        };
        let mut out = Simulation {
            code,
            constants,
            warps: (0..warps).map(warp).collect(),
            warps_per_block: resident.warps_per_block.max(1),
            schedulers: vec![scheduler; schedulers],
            load_store_free_clock: 0.0,
        };
        out.choose_all();
        out
    }

    fn choose_all(&mut self) {
        for k in 0..self.schedulers.len() {
            self.schedulers[k].next = self.choose(k);
        }
    }

    /// Issues the next instruction of all schedulers, and says when; none where every warp waits for another.
    fn issue(&mut self) -> Option<f64> {
        loop {
            let candidates = self.schedulers.iter().enumerate();
            let (k, w, start) = candidates
                .filter_map(|(k, s)| s.next.map(|(w, t)| (k, w, t)))
                .min_by(|a, b| a.2.total_cmp(&b.2))?;
            let s = self.code[self.warps[w].next];
            // Another scheduler may have filled the queue of the load-store unit since this one chose.
            let queue = self.load_store_free_clock - self.constants.load_queue_clocks;
            if s.pipe == Pipe::LoadStore && start < queue {
                self.schedulers[k].next = self.choose(k);
                continue;
            }
            self.execute(k, w, s, start);
            if s.is_block_barrier && self.release_block(w) {
                self.choose_all();
            } else {
                self.schedulers[k].next = self.choose(k);
            }
            return Some(start);
        }
    }

    /// Executes an instruction of a warp on a scheduler.
    fn execute(&mut self, k: usize, w: usize, s: ScheduledInstruction, start: f64) {
        let count = self.schedulers.len();
        let scheduler = &mut self.schedulers[k];
        scheduler.last_issued = w / count;
        scheduler.issue_free_clock = start + s.issue_slots;
        // When the pipe takes it from its queue.
        let mut begun = start;
        let free = &mut scheduler.pipe_free_clock;
        match s.pipe {
            Pipe::Fma => {
                let half = usize::from(free[0] > free[1]);
                free[half] = start + 2.0 * s.pipe_clocks;
            }
            Pipe::Unlimited => {}
            Pipe::LoadStore => {
                begun = start.max(self.load_store_free_clock);
                self.load_store_free_clock = begun + s.pipe_clocks / count as f64;
            }
            pipe => {
                begun = start.max(free[pipe as usize]);
                free[pipe as usize] = begun + s.pipe_clocks;
            }
        }
        let warp = &mut self.warps[w];
        warp.ready_clock = start + s.stall_clocks;
        if let Some(t) = warp.clear_clock.get_mut(s.result_barrier) {
            *t = t.max(begun + s.latency_clocks);
        }
        if let Some(t) = warp.clear_clock.get_mut(s.operand_barrier) {
            let queued = [0.0, s.pipe_clocks][usize::from(s.pipe == Pipe::LoadStore)];
            *t = t.max(begun + self.constants.operand_read_clocks + queued);
        }
        if s.is_block_barrier {
            warp.arrival_clock = Some(start);
        }
        warp.advance(self.code);
    }

    /// The warp of a scheduler that can issue first, and when; of several, the one that issued last.
    fn choose(&self, k: usize) -> Option<(usize, f64)> {
        let (scheduler, count) = (&self.schedulers[k], self.schedulers.len());
        let own = (self.warps.len() + count - 1 - k) / count;
        let mut best: Option<(usize, f64)> = None;
        for n in 0..own {
            let w = (scheduler.last_issued + n) % own * count + k;
            let warp = &self.warps[w];
            if warp.arrival_clock.is_some() {
                continue;
            }
            let start = self.earliest_issue(scheduler, warp);
            if best.is_none_or(|(_, t)| start < t - 1e-9) {
                best = Some((w, start));
            }
        }
        best
    }

    fn earliest_issue(&self, scheduler: &Scheduler, warp: &Warp) -> f64 {
        let s = &self.code[warp.next];
        let mut start = warp.ready_clock.max(scheduler.issue_free_clock);
        for (b, t) in warp.clear_clock.iter().enumerate() {
            if s.wait_mask >> b & 1 == 1 {
                start = start.max(*t);
            }
        }
        let free = &scheduler.pipe_free_clock;
        match s.pipe {
            Pipe::Fma => start.max(free[0].min(free[1])),
            Pipe::Unlimited => start,
            Pipe::LoadStore => {
                start.max(self.load_store_free_clock - self.constants.load_queue_clocks)
            }
            Pipe::Special => {
                start.max(free[Pipe::Special as usize] - self.constants.special_queue_clocks)
            }
            pipe => start.max(free[pipe as usize]),
        }
    }

    /// Lets the warps of a block continue when all have arrived at its barrier; have they?
    fn release_block(&mut self, w: usize) -> bool {
        let first = w / self.warps_per_block * self.warps_per_block;
        let end = (first + self.warps_per_block).min(self.warps.len());
        let block = &mut self.warps[first..end];
        if block.iter().any(|o| o.arrival_clock.is_none()) {
            return false;
        }
        let delay = BLOCK_BARRIER_CLOCKS + BLOCK_BARRIER_WARP_CLOCKS * block.len() as f64;
        let arrivals = block.iter().filter_map(|o| o.arrival_clock);
        let last = arrivals.fold(0.0, f64::max);
        for warp in block.iter_mut() {
            warp.arrival_clock = None;
            warp.ready_clock = warp.ready_clock.max(last + delay);
        }
        true
    }
}

impl Warp {
    /// Moves on to the next instruction that the warp executes.
    fn advance(&mut self, code: &[ScheduledInstruction]) {
        let (mut at, before) = (self.next + 1, self.iteration);
        loop {
            if at >= code.len() {
                at = 0;
                self.iteration += 1;
                // A sequence of which nothing is executed would never end.
                if self.iteration > before + code.len() {
                    break;
                }
            }
            let s = &code[at];
            if self.basic_block != Some(s.basic_block) {
                self.basic_block = Some(s.basic_block);
                self.skips_basic_block =
                    s.probability < 0.999 && self.draw(s.basic_block) >= s.probability;
            }
            if !self.skips_basic_block {
                break;
            }
            while at < code.len() && Some(code[at].basic_block) == self.basic_block {
                at += 1;
            }
        }
        self.next = at;
    }

    /// A number in [0, 1) that is spread evenly over warps, iterations and blocks (a Kronecker sequence), so that few
    /// simulated warps stand for many.
    fn draw(&self, basic_block: usize) -> f64 {
        let sum = self.number * 0.618_033_988_7
            + self.iteration as f64 * 0.754_877_666_2
            + basic_block as f64 * 0.3247;
        sum.fract()
    }
}

#[cfg(test)]
pub(super) mod tests;

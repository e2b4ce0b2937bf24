//! Warps of one scheduler, simulated: each issues in order, as the stalls and barriers in the machine code say; one
//! instruction a clock, and a unit that is busy lets the next one wait.

/// Units of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Unit {
    /// Multiply-adds in f32: two halves, either of which can take one.
    Multiply = 0,
    /// Integer multiply-adds: one of the halves only.
    Integer = 1,
    Logic = 2,
    F64 = 3,
    Half = 4,
    LoadStore = 5,
    Special = 6,
    Constants = 7,
    Uniform = 8,
    Branches = 9,
    Free = 10,
}

/// Units.
pub(super) const UNITS: usize = 11;

/// An instruction on its way through a scheduler.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub unit: Unit,
    /// Clocks that it keeps the unit.
    pub busy: f64,
    /// Clocks until its result is there, for those that set a barrier.
    pub latency: f64,
    /// Clocks until the warp's next instruction.
    pub stall: f64,
    pub sets: usize,
    pub frees: usize,
    pub waits: u32,
    /// Does it wait for the block's other warps?
    pub barrier: bool,
    /// Part of the sequence that runs or does not, and how likely it is to run.
    pub part: usize,
    pub likely: f64,
    /// Slots that it takes of the scheduler.
    pub slots: f64,
}

/// Clocks from the last warp at a barrier until all go on, and what each warp of the block takes there (probe on the H200: a round
/// of a loop with a barrier takes 29 clocks for a warp, 39 for 8 of a block, 55 for 16, 87 for 32).
const BARRIER: f64 = 14.0;
const ARRIVAL: f64 = 2.0;
/// Clocks until operands were read that an instruction of the memory system gives free.
const OPERANDS: f64 = 20.0;
/// Clocks of work that may lie before the units of loads and of special functions: warps go on while it does.
const LOADS_QUEUED: f64 = 32.0;
const SPECIAL_QUEUED: f64 = 16.0;
const BARRIERS: usize = 6;

struct Warp {
    ready: f64,
    at: usize,
    round: usize,
    waiting: Option<f64>,
    set: [f64; BARRIERS],
    number: f64,
    part: Option<usize>,
    skips: bool,
}

/// Warps side by side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Company {
    /// All of them, in turn on each scheduler.
    pub warps: usize,
    pub schedulers: usize,
    /// Warps of a block, which meet at barriers.
    pub block: usize,
}

/// One scheduler.
#[derive(Clone)]
struct Scheduler {
    units: [f64; UNITS],
    issue: f64,
    /// The warp that went last.
    turn: usize,
    /// Its next warp, and when that goes.
    next: Option<(usize, f64)>,
}

/// Clocks that warps take for one round each of a sequence, once all are under way. Warps go round until they have done
/// `rounds` each in the mean, and the second half of their instructions is timed: some run ahead of others, so that what a
/// single one has done tells nothing.
pub(super) fn clocks(steps: &[Step], c: Company, rounds: usize) -> f64 {
    let (warps, schedulers) = (c.warps.max(1), c.schedulers.max(1));
    if steps.is_empty() {
        return 0.0;
    }
    let mut all: Vec<Warp> = (0..warps)
        .map(|w| Warp {
            ready: (w / schedulers) as f64,
            at: 0,
            round: 0,
            waiting: None,
            set: [0.0; BARRIERS],
            number: w as f64,
            part: None,
            skips: false,
        })
        .collect();
    let one = Scheduler {
        units: [0.0; UNITS],
        issue: 0.0,
        turn: 0,
        next: None,
    };
    let mut own = vec![one; schedulers];
    // Schedulers share the unit for loads and stores.
    let mut loads = 0.0f64;
    // Instructions of a round, in the mean; what all are to issue, what they have issued, and when half of it was.
    let each = steps.iter().map(|s| s.likely).sum::<f64>().max(1e-3);
    let whole = (each * (rounds.max(2) * warps) as f64).round().max(2.0);
    let (mut issued, mut half) = (0.0, (0.0, 0.0));
    for (k, me) in own.iter_mut().enumerate() {
        me.next = next(me, k, &all, steps, schedulers, loads);
    }
    loop {
        let first = (0..schedulers)
            .filter_map(|k| own[k].next.map(|(w, t)| (k, w, t)))
            .min_by(|a, b| a.2.total_cmp(&b.2));
        let Some((k, w, start)) = first else { break };
        // Others have filled the unit for loads since.
        if steps[all[w].at].unit == Unit::LoadStore && start < loads - LOADS_QUEUED {
            own[k].next = next(&own[k], k, &all, steps, schedulers, loads);
            continue;
        }
        let s = steps[all[w].at];
        let me = &mut own[k];
        me.turn = w / schedulers;
        me.issue = start + s.slots;
        // When its unit begins with it.
        let mut begun = start;
        match s.unit {
            Unit::Multiply => {
                let which = usize::from(me.units[0] > me.units[1]);
                me.units[which] = start + 2.0 * s.busy;
            }
            Unit::Free => {}
            Unit::LoadStore => {
                begun = start.max(loads);
                loads = begun + s.busy / schedulers as f64;
            }
            u => {
                begun = start.max(me.units[u as usize]);
                me.units[u as usize] = begun + s.busy;
            }
        }
        let warp = &mut all[w];
        warp.ready = start + s.stall;
        if let Some(t) = warp.set.get_mut(s.sets) {
            *t = t.max(begun + s.latency);
        }
        if let Some(t) = warp.set.get_mut(s.frees) {
            let queued = [0.0, s.busy][usize::from(s.unit == Unit::LoadStore)];
            *t = t.max(begun + OPERANDS + queued);
        }
        if s.barrier {
            warp.waiting = Some(start);
        }
        advance(warp, steps);
        if s.barrier && meet(&mut all, w, c.block) {
            for (k, me) in own.iter_mut().enumerate() {
                me.next = next(me, k, &all, steps, schedulers, loads);
            }
        } else {
            own[k].next = next(&own[k], k, &all, steps, schedulers, loads);
        }
        if issued >= whole {
            return (start - half.1) / (issued - half.0) * each * warps as f64;
        }
        if 2.0 * issued <= whole {
            half = (issued, start);
        }
        issued += 1.0;
    }
    0.0
}

/// The warp of a scheduler that can go first, and when; of several, the one that went last.
fn next(
    me: &Scheduler,
    k: usize,
    all: &[Warp],
    steps: &[Step],
    schedulers: usize,
    loads: f64,
) -> Option<(usize, f64)> {
    let own = (all.len() + schedulers - 1 - k) / schedulers;
    let mut best: Option<(usize, f64)> = None;
    for n in 0..own {
        let w = (me.turn + n) % own * schedulers + k;
        let warp = &all[w];
        if warp.waiting.is_some() {
            continue;
        }
        let s = &steps[warp.at];
        let mut start = warp.ready.max(me.issue);
        for (b, t) in warp.set.iter().enumerate() {
            if s.waits >> b & 1 == 1 {
                start = start.max(*t);
            }
        }
        start = match s.unit {
            Unit::Multiply => start.max(me.units[0].min(me.units[1])),
            Unit::Free => start,
            Unit::LoadStore => start.max(loads - LOADS_QUEUED),
            u => start.max(me.units[u as usize] - queue(u)),
        };
        if best.is_none_or(|(_, t)| start < t - 1e-9) {
            best = Some((w, start));
        }
    }
    best
}

/// Clocks of work that may wait before a unit.
fn queue(u: Unit) -> f64 {
    match u {
        Unit::Special => SPECIAL_QUEUED,
        _ => 0.0,
    }
}

/// To the next step of a warp that runs.
fn advance(warp: &mut Warp, steps: &[Step]) {
    let (mut at, before) = (warp.at + 1, warp.round);
    loop {
        if at >= steps.len() {
            at = 0;
            warp.round += 1;
            // One of which nothing runs would never end.
            if warp.round > before + steps.len() {
                break;
            }
        }
        let s = &steps[at];
        if warp.part != Some(s.part) {
            warp.part = Some(s.part);
            // Spread evenly over warps and rounds, so that few of them stand for many.
            let drawn = warp.number * 0.618_033_988_7
                + warp.round as f64 * 0.754_877_666_2
                + s.part as f64 * 0.3247;
            warp.skips = s.likely < 0.999 && drawn.fract() >= s.likely;
        }
        if !warp.skips {
            break;
        }
        while at < steps.len() && Some(steps[at].part) == warp.part {
            at += 1;
        }
    }
    warp.at = at;
}

/// Lets a block's warps go on when all wait; did they?
fn meet(all: &mut [Warp], w: usize, block: usize) -> bool {
    let first = w / block.max(1) * block.max(1);
    let end = (first + block.max(1)).min(all.len());
    let block = &mut all[first..end];
    if block.iter().any(|o| o.waiting.is_none()) {
        return false;
    }
    let delay = BARRIER + ARRIVAL * block.len() as f64;
    let latest = block.iter().filter_map(|o| o.waiting).fold(0.0, f64::max);
    for o in block.iter_mut() {
        o.waiting = None;
        o.ready = o.ready.max(latest + delay);
    }
    true
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn lone(warps: usize, block: usize) -> Company {
        Company {
            warps,
            schedulers: 1,
            block,
        }
    }

    pub fn step(unit: Unit, busy: f64, stall: f64) -> Step {
        Step {
            unit,
            busy,
            latency: 0.0,
            stall,
            sets: 6,
            frees: 6,
            waits: 0,
            barrier: false,
            part: 0,
            likely: 1.0,
            slots: 1.0,
        }
    }

    #[test]
    fn a_chain_is_hidden_by_other_warps_until_the_unit_is_full() {
        let chain = [step(Unit::F64, 2.0, 8.0); 10];
        let one = clocks(&chain, lone(1, 1), 8);
        assert!((one - 80.0).abs() < 1.0, "{one}");
        let two = clocks(&chain, lone(2, 1), 8);
        assert!((two - 80.0).abs() < 3.0, "{two}");
        let eight = clocks(&chain, lone(8, 1), 8);
        assert!((eight - 160.0).abs() < 9.0, "{eight}");
    }

    #[test]
    fn a_load_is_waited_for_where_its_barrier_is() {
        let mut load = step(Unit::LoadStore, 4.0, 1.0);
        (load.sets, load.latency) = (0, 500.0);
        let mut user = step(Unit::F64, 2.0, 1.0);
        user.waits = 1;
        let idle = clocks(&[load, step(Unit::F64, 2.0, 1.0)], lone(1, 1), 4);
        assert!(idle < 10.0, "{idle}");
        let waited = clocks(&[load, user], lone(1, 1), 4);
        assert!((waited - 501.0).abs() < 3.0, "{waited}");
    }

    #[test]
    fn warps_go_on_while_a_unit_has_work() {
        // Conversions and additions of one warp: as long as the conversions, not as both.
        let mut all = vec![step(Unit::Special, 8.0, 1.0); 2];
        all.extend([step(Unit::Logic, 2.0, 2.0); 7]);
        let one = clocks(&all, lone(1, 1), 16);
        assert!((one - 16.0).abs() < 1.5, "{one}");
    }

    #[test]
    fn a_unit_that_limits_is_never_idle() {
        // Eight products of two clocks each, for four warps.
        let all = [step(Unit::F64, 2.0, 2.0); 8];
        let four = clocks(&all, lone(4, 1), 8);
        assert!((four - 64.0).abs() < 1.0, "{four}");
        let mut half = step(Unit::F64, 2.0, 4.0);
        (half.part, half.likely) = (1, 0.5);
        let some: Vec<Step> = all.iter().copied().chain([half; 8]).collect();
        let four = clocks(&some, lone(4, 1), 24);
        assert!((four - 96.0).abs() < 5.0, "{four}");
    }

    #[test]
    fn warps_of_a_block_meet() {
        let mut meet = step(Unit::Free, 0.0, 1.0);
        meet.barrier = true;
        let all = [step(Unit::F64, 2.0, 8.0), meet];
        let together = clocks(&all, lone(4, 4), 8);
        let apart = clocks(&all, lone(4, 1), 8);
        assert!(together > 30.0 && together < 60.0, "{together}");
        assert!(apart <= together, "{apart} {together}");
    }

    #[test]
    fn warps_of_a_block_are_on_all_schedulers() {
        // One warp in four has a long way, for which a block's others wait, wherever they are.
        let mut meet = step(Unit::Free, 0.0, 1.0);
        meet.barrier = true;
        let mut long = step(Unit::F64, 2.0, 400.0);
        (long.part, long.likely) = (1, 0.25);
        let all = [step(Unit::Logic, 2.0, 2.0), long, meet];
        let company = |block| Company {
            warps: 16,
            schedulers: 4,
            block,
        };
        let alone = clocks(&all, company(1), 24);
        let together = clocks(&all, company(8), 24);
        assert!(together > 1.5 * alone, "{together} {alone}");
    }

    #[test]
    fn schedulers_share_the_unit_of_loads() {
        let loads = [step(Unit::LoadStore, 8.0, 1.0); 4];
        let of = |schedulers| Company {
            warps: 4 * schedulers,
            schedulers,
            block: 1,
        };
        let (one, four) = (clocks(&loads, of(1), 16), clocks(&loads, of(4), 16));
        assert!((one / four - 1.0).abs() < 0.05, "{one} {four}");
    }
}

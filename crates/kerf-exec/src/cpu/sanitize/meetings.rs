//! Barriers and warp operations of programs that are checked: who has to be there, and what they know afterwards.
use super::super::block::BlockWorker;
use super::super::block::lane::Wait;
use super::super::collective_kinds::warp as kind;
use super::super::context::BlockContext;
use super::super::fault::{Fault, FaultKind};
use super::bounds::Wrong;

impl BlockWorker<'_> {
    /// A fault of a thread that runs: it stops the launch, unless it is allowed, which notes it.
    pub(in crate::cpu) fn found(&self, ctx: &BlockContext, thread: u32, wrong: Wrong) {
        if self.say(ctx, thread, wrong) {
            self.abandon(thread as usize);
        }
    }

    /// Notes a fault that is allowed, or stops the launch; says which.
    fn say(&self, ctx: &BlockContext, thread: u32, wrong: Wrong) -> bool {
        let Wrong {
            kind,
            message,
            out_of_bounds,
        } = wrong;
        if let Some(s) = self.shared.sanitizer.filter(|s| s.allows(kind)) {
            s.note(format!("allowed: {message}"));
            return false;
        }
        let [nx, ny, _] = ctx.ntid;
        self.shared.fail(Fault {
            kind,
            message,
            kernel: self.shared.kernel.to_owned(),
            block: ctx.ctaid,
            thread: [thread % nx, thread / nx % ny, thread / (nx * ny)],
            out_of_bounds,
        });
        true
    }

    /// A thread is about to meet others at a place.
    pub(in crate::cpu) fn will_meet(&self, thread: usize, site: u32) {
        if let Some(l) = self.lanes.borrow().get(thread) {
            l.meeting.set(site);
        }
    }

    /// Before a barrier lets its threads go.
    pub(in crate::cpu) fn check_barrier(&self, ctx: &BlockContext, id: u32, counted: bool) {
        let Some(s) = self.shared.sanitizer else {
            return;
        };
        let lanes = self.lanes.borrow();
        let members: Vec<usize> = (0..lanes.len())
            .filter(|t| lanes[*t].is_at_barrier(id))
            .collect();
        let Some(first) = members.first().copied() else {
            return;
        };
        let place = lanes[first].meeting.get();
        let elsewhere = members
            .iter()
            .copied()
            .find(|t| lanes[*t].meeting.get() != place);
        let gone = lanes.iter().position(|l| l.wait.get() == Wait::Done);
        if let (Some(other), false) = (elsewhere, counted) {
            let text = format!(
                "barrier in divergent code: this thread waits{}, thread {other} waits{}",
                s.place(place),
                s.place(lanes[other].meeting.get())
            );
            self.say(ctx, first as u32, Wrong::new(FaultKind::Barrier, text));
        } else if let (Some(other), false, true) = (gone, counted, s.site(place).skippable) {
            let text = format!(
                "the barrier{} is not reached by thread {other}, which went another way and has returned",
                s.place(place)
            );
            self.say(ctx, first as u32, Wrong::new(FaultKind::Barrier, text));
        }
        let arrivals = std::mem::take(&mut self.arrivals.borrow_mut()[id as usize & 15]);
        let running = lanes.iter().filter(|l| l.wait.get() != Wait::Done);
        let running = running.count();
        self.with_races(|r| match members.len() == running {
            true => r.clocks.barrier(),
            false => r.clocks.meet(&members, &arrivals),
        });
    }

    /// Before the lanes of a warp operation go on. `members` are the lanes that take part.
    pub(in crate::cpu) fn check_warp(
        &self,
        ctx: &BlockContext,
        from: usize,
        members: u32,
        op: u32,
    ) {
        let Some(s) = self.shared.sanitizer else {
            return;
        };
        if op & kind::SHADOW != 0 || op == kind::ACTIVE {
            return;
        }
        let all = self.lanes.borrow();
        let lanes: Vec<usize> = (0..32).filter(|l| members >> l & 1 == 1).collect();
        let meeting = |l: usize| all[from + l].meeting.get();
        let mask = |l: usize| all[from + l].request.get().mask;
        let Some(first) = lanes.first().copied() else {
            return;
        };
        let place = meeting(first);
        let outside = lanes.iter().copied().find(|l| mask(*l) >> l & 1 == 0);
        let elsewhere = lanes.iter().copied().find(|l| meeting(*l) != place);
        if let Some(l) = outside {
            let text = format!(
                "lane {l} calls the warp operation{} with mask {:#010x}, which does not name it",
                s.place(meeting(l)),
                mask(l)
            );
            self.say(ctx, (from + l) as u32, Wrong::new(FaultKind::Lane, text));
        } else if let (Some(l), true) = (elsewhere, op != kind::SYNC) {
            let text = format!(
                "lanes of one warp operation are at different places: lane {first}{}, lane {l}{}",
                s.place(place),
                s.place(meeting(l))
            );
            self.say(
                ctx,
                (from + first) as u32,
                Wrong::new(FaultKind::Lane, text),
            );
        }
        if op == kind::SYNC {
            self.with_races(|r| r.clocks.warp(from, members));
        }
    }
}

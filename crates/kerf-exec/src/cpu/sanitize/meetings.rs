//! Barriers and warp operations of programs that are checked: who has to be there, and what they know afterwards.
use super::super::block::BlockWorker;
use super::super::block::lane::{Lane, Wait};
use super::super::collective_kinds::warp as kind;
use super::super::context::BlockContext;
use super::super::fault::{Fault, FaultKind};
use super::bounds::Wrong;

impl BlockWorker<'_> {
    /// A fault of a thread that runs: it stops the launch, unless it is allowed, which notes it.
    pub(in crate::cpu) fn found(&mut self, ctx: &BlockContext, thread: u32, wrong: Wrong) {
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
    pub(in crate::cpu) fn will_meet(&mut self, thread: usize, site: u32) {
        if let Some(l) = self.lanes.get_mut(thread) {
            l.meeting = site;
        }
    }

    fn is_at(l: &Lane, id: u32) -> bool {
        l.wait == Wait::Barrier && l.op == id
    }

    /// Before a barrier lets its threads go.
    pub(in crate::cpu) fn check_barrier(&mut self, ctx: &BlockContext, id: u32, counted: bool) {
        let Some(s) = self.shared.sanitizer else {
            return;
        };
        let members: Vec<usize> = (0..self.lanes.len())
            .filter(|t| Self::is_at(&self.lanes[*t], id))
            .collect();
        let Some(first) = members.first().copied() else {
            return;
        };
        let place = self.lanes[first].meeting;
        let elsewhere = members
            .iter()
            .copied()
            .find(|t| self.lanes[*t].meeting != place);
        let gone = (0..self.lanes.len()).find(|t| self.lanes[*t].wait == Wait::Done);
        if let (Some(other), false) = (elsewhere, counted) {
            let text = format!(
                "barrier in divergent code: this thread waits{}, thread {other} waits{}",
                s.place(place),
                s.place(self.lanes[other].meeting)
            );
            self.say(ctx, first as u32, Wrong::new(FaultKind::Barrier, text));
        } else if let (Some(other), false, true) = (gone, counted, s.site(place).skippable) {
            let text = format!(
                "the barrier{} is not reached by thread {other}, which went another way and has returned",
                s.place(place)
            );
            self.say(ctx, first as u32, Wrong::new(FaultKind::Barrier, text));
        }
        let arrivals = std::mem::take(&mut self.arrivals[id as usize & 15]);
        if let Some(r) = self.checks.as_mut().and_then(|c| c.races.as_mut()) {
            let running = self.lanes.iter().filter(|l| l.wait != Wait::Done).count();
            match members.len() == running {
                true => r.clocks.barrier(),
                false => r.clocks.meet(&members, &arrivals),
            }
        }
    }

    /// Before the lanes of a warp operation go on. `members` are the lanes that take part.
    pub(in crate::cpu) fn check_warp(
        &mut self,
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
        let lanes: Vec<usize> = (0..32).filter(|l| members >> l & 1 == 1).collect();
        let at = |l: usize| &self.lanes[from + l];
        let Some(first) = lanes.first().copied() else {
            return;
        };
        let place = at(first).meeting;
        let outside = lanes.iter().copied().find(|l| at(*l).mask >> l & 1 == 0);
        let elsewhere = lanes.iter().copied().find(|l| at(*l).meeting != place);
        if let Some(l) = outside {
            let text = format!(
                "lane {l} calls the warp operation{} with mask {:#010x}, which does not name it",
                s.place(at(l).meeting),
                at(l).mask
            );
            self.say(ctx, (from + l) as u32, Wrong::new(FaultKind::Lane, text));
        } else if let (Some(l), true) = (elsewhere, op != kind::SYNC) {
            let text = format!(
                "lanes of one warp operation are at different places: lane {first}{}, lane {l}{}",
                s.place(place),
                s.place(at(l).meeting)
            );
            self.say(
                ctx,
                (from + first) as u32,
                Wrong::new(FaultKind::Lane, text),
            );
        }
        if op == kind::SYNC
            && let Some(r) = self.checks.as_mut().and_then(|c| c.races.as_mut())
        {
            r.clocks.warp(from, members);
        }
    }
}

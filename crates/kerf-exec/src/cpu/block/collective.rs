//! Answering what threads do together: warp operations and barriers.
use super::BlockWorker;
use super::lane::{Lane, Request, Wait};
use crate::cpu::collective_kinds::warp as kind;
use crate::cpu::fault::{Fault, FaultKind};
use crate::cpu::tensor_core::{FRAME_BYTES, WarpRegisters};
use kerf_ir::tensor_core::Multiply;
use kerf_pass::sanitize::origin_of;

/// Lanes of a warp, as bits.
fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |i| mask >> i & 1 == 1)
}

impl BlockWorker<'_> {
    /// Answers the warp operations that are complete; says whether any thread may go on.
    pub(super) fn resolve_warp(&self, from: usize, to: usize) -> bool {
        let all = self.lanes.borrow();
        let lanes = &all[from..to];
        let waiting = |l: &Lane| l.wait.get() == Wait::Warp;
        let mut progress = false;
        let mut seen = 0u32;
        for first in 0..to - from {
            if seen >> first & 1 == 1 || !waiting(&lanes[first]) {
                continue;
            }
            let asked = lanes[first].request.get();
            let (op, mask) = (asked.op, asked.mask);
            let same = |l: &Lane| {
                let r = l.request.get();
                waiting(l)
                    && r.op == op
                    && match op {
                        kind::ACTIVE => r.site == asked.site,
                        kind::MULTIPLY => (r.x, r.c) == (asked.x, asked.c),
                        _ => r.mask == mask,
                    }
            };
            let (mut members, mut missing) = (0u32, false);
            for (i, l) in lanes.iter().enumerate() {
                match same(l) {
                    true => members |= 1 << i,
                    false => missing |= mask >> i & 1 == 1 && l.wait.get() != Wait::Done,
                }
            }
            seen |= members;
            // All lanes of the mask that still run must be here. activemask takes those that are:
            // every other lane of the warp waits for something else or is done.
            if missing && op != kind::ACTIVE {
                continue;
            }
            match op {
                kind::MULTIPLY => self.multiply_matrices(lanes, from, members),
                _ => answer(lanes, members, op),
            }
            if self.checks.is_some() {
                // SAFETY: the context of the block that is running.
                self.check_warp(unsafe { &*self.context.get() }, from, members, op);
            }
            for i in lanes_of(members) {
                lanes[i].wait.set(Wait::Ready);
            }
            progress = true;
        }
        progress
    }

    /// Computes a product of matrices, for which a warp has to be whole.
    fn multiply_matrices(&self, lanes: &[Lane], from: usize, members: u32) {
        let asked = |lane: usize| lanes[lane].request.get();
        let first = members.trailing_zeros() as usize;
        let Request { x, c, site, .. } = asked(first);
        let form = Multiply::decode(u64::from(x) | u64::from(c) << 32);
        if let (u32::MAX, Some(form)) = (members, form) {
            // SAFETY: each frame is an array of that size on the stack of a lane, which waits for the answer here. The
            // stacks are different ones.
            let frame = |lane: usize| unsafe {
                std::slice::from_raw_parts_mut(asked(lane).value as *mut u8, FRAME_BYTES as usize)
            };
            WarpRegisters::new(std::array::from_fn(frame)).multiply(form);
            return;
        }
        let place = match site >> 32 {
            0 => String::new(),
            line => format!(" at line {line}"),
        };
        // SAFETY: as in `resolve_warp`.
        let ctx = unsafe { &*self.context.get() };
        let [nx, ny, _] = ctx.ntid;
        let t = (from + first) as u32;
        self.shared.fail(Fault {
            kind: FaultKind::Lane,
            message: format!(
                "the matrix operation{place} needs all 32 lanes of its warp, of which {} take part",
                members.count_ones()
            ),
            kernel: self.shared.kernel.to_owned(),
            block: ctx.ctaid,
            thread: [t % nx, t / nx % ny, t / (nx * ny)],
            out_of_bounds: None,
        });
    }

    /// Releases the barriers that everybody reached; says whether there was one.
    pub(super) fn resolve_barriers(&self) -> bool {
        let lanes = self.lanes.borrow();
        let waiting = lanes.iter().filter(|l| l.wait.get() == Wait::Barrier);
        let mut ids: Vec<u32> = waiting.map(|l| l.request.get().op).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut progress = false;
        for id in ids {
            let here: Vec<&Lane> = lanes.iter().filter(|l| l.is_at_barrier(id)).collect();
            let count = here.first().map_or(0, |l| l.request.get().mask) as usize;
            let alive = lanes.iter().filter(|l| l.wait.get() != Wait::Done);
            let alive = alive.count();
            let arrived = self.arrived[id as usize & 15].get();
            let needed = if count == 0 {
                alive
            } else {
                count.min(alive + arrived)
            };
            if here.len() + arrived < needed {
                continue;
            }
            self.arrived[id as usize & 15].set(0);
            if self.checks.is_some() {
                // SAFETY: as in `resolve_warp`.
                self.check_barrier(unsafe { &*self.context.get() }, id, count != 0);
            }
            let set = here.iter().filter(|l| l.request.get().value != 0).count();
            for l in &here {
                l.result.set(match l.request.get().red {
                    1 => set as u64,
                    2 => u64::from(set == here.len()),
                    3 => u64::from(set > 0),
                    _ => 0,
                });
                l.wait.set(Wait::Ready);
            }
            progress = true;
        }
        progress
    }
}

/// Results of a complete warp operation.
fn answer(lanes: &[Lane], active: u32, op: u32) {
    let members = || lanes_of(active);
    let (op, of_shadows) = (op & !kind::SHADOW, op & kind::SHADOW != 0);
    if op == kind::SYNC {
        members().for_each(|i| lanes[i].result.set(0));
        return;
    }
    let bit = |i: usize| 1u32 << i;
    let mut values = [0u64; 32];
    members().for_each(|i| values[i] = lanes[i].request.get().value);
    let set = members().filter(|i| values[*i] != 0);
    let set = set.fold(0u32, |m, i| m | bit(i));
    for i in members() {
        let v = values[i];
        let asked = lanes[i].request.get();
        let (x, c) = (asked.x, asked.c);
        let result = match op {
            kind::SHFL_UP | kind::SHFL_DOWN | kind::SHFL_BFLY | kind::SHFL_IDX => {
                let lane = i as u32;
                let (b, clamp, seg) = (x & 31, c & 31, (c >> 8) & 31);
                let max = (lane & seg) | (clamp & !seg);
                let min = lane & seg;
                let (j, ok) = match op {
                    kind::SHFL_UP => (lane.wrapping_sub(b), (lane as i32 - b as i32) >= max as i32),
                    kind::SHFL_DOWN => (lane + b, lane + b <= max),
                    kind::SHFL_BFLY => (lane ^ b, lane ^ b <= max),
                    _ => {
                        let j = min | (b & !seg);
                        (j, j <= max)
                    }
                };
                let j = if ok { j } else { lane } as usize;
                // A lane that takes no part has no value. By the manual the result is undefined; NVIDIA's own
                // reductions count on zero, which an H200 gives.
                let from = values.get(j).copied().unwrap_or(0);
                match (of_shadows, active >> j & 1 == 0) {
                    (false, _) => (from & 0xffff_ffff) | (u64::from(ok) << 32),
                    (true, false) => from,
                    (true, true) => {
                        let origin = origin_of(lanes[i].meeting.get()) | (j as u32) << 24;
                        u64::from(u32::MAX) | u64::from(origin) << 32
                    }
                }
            }
            kind::ALL => u64::from(set == active),
            kind::ANY => u64::from(set != 0),
            kind::UNI => u64::from(set == active || set == 0),
            kind::BALLOT => u64::from(set),
            kind::MATCH_ANY => members()
                .filter(|k| values[*k] == v)
                .fold(0u64, |m, k| m | u64::from(bit(k))),
            kind::MATCH_ALL => {
                let all = members().all(|k| values[k] == v);
                if all { u64::from(active) | 1 << 32 } else { 0 }
            }
            kind::ACTIVE => u64::from(active),
            kind::ELECT => {
                let leader = active.trailing_zeros();
                u64::from(leader) | (u64::from(leader == i as u32) << 32)
            }
            _ => {
                let it = members().map(|k| values[k] as u32);
                let r = match kind::REDUX_OPS.get((op - kind::REDUX) as usize).copied() {
                    Some("add") => it.fold(0u32, u32::wrapping_add),
                    Some("min") => it.map(|v| v as i32).min().unwrap_or(0) as u32,
                    Some("max") => it.map(|v| v as i32).max().unwrap_or(0) as u32,
                    Some("umin") => it.min().unwrap_or(0),
                    Some("umax") => it.max().unwrap_or(0),
                    Some("and") => it.fold(u32::MAX, |a, b| a & b),
                    Some("or") => it.fold(0, |a, b| a | b),
                    _ => it.fold(0, |a, b| a ^ b),
                };
                u64::from(r)
            }
        };
        lanes[i].result.set(result);
    }
}

//! The whole rewriting of a kernel: slot form, facts, lockstep code with its vectors and serial pieces, promotion.
use super::choice::Coarsening;
use super::error::{CoarsenError, CoarsenObstacle};
use super::facts::Facts;
use super::flow::{Flow, condition};
use super::lanes::LaneMap;
use super::lockstep::Lockstep;
use super::obstacle::is_barrier;
use super::serial::run_alone;
use super::slots::Slots;
use super::vector::BlockAccesses;
use crate::at_line::AtLine;
use crate::registers::reads;
use kerf_llvm::{Builder, IntPred, LlvmError, Module, Opcode, Value};
use std::collections::BTreeSet;

/// Coarsens a kernel that nothing stands against.
pub(super) fn rewrite(m: &Module, kernel: Value, c: &Coarsening) -> Result<(), CoarsenError> {
    gather_indices(kernel, c.axis.name())?;
    let slots = Slots::demote(kernel);
    let flow = Flow::new(kernel, &slots);
    check_ends(&flow)?;
    let facts = Facts::new(m, &slots, &flow, c);
    check_barriers(&flow, &facts)?;
    let lockstep = Lockstep::new(m, kernel, (c, &slots, &flow, &facts))?;
    for k in 0..flow.blocks.len() {
        block(&lockstep, k)?;
    }
    let begin = slots
        .prologue
        .terminator()
        .ok_or_else(|| LlvmError("a block has no end".into()))?;
    begin.set_successor(0, lockstep.heads[flow.number[&begin.successors()[0]]]);
    let mut promoted: Vec<Value> = slots.all.iter().copied().collect();
    for (slot, all) in &lockstep.own {
        if slots.all.contains(slot) {
            promoted.extend(&all[1..]);
        }
    }
    promoted.extend(lockstep.added.borrow().iter());
    kernel.remove_unreachable();
    kernel.promote(&promoted);
    Ok(())
}

/// Every block has a way to the end.
fn check_ends(flow: &Flow) -> Result<(), CoarsenError> {
    let mut ends: BTreeSet<usize> = BTreeSet::new();
    let mut changed = true;
    while changed {
        changed = false;
        for (k, next) in flow.next.iter().enumerate().rev() {
            let goes = next.is_empty() || next.iter().any(|s| ends.contains(s));
            changed |= goes && ends.insert(k);
        }
    }
    match ends.len() == flow.next.len() {
        true => Ok(()),
        false => Err(CoarsenObstacle::EndlessLoop.into()),
    }
}

/// All copies pass barriers together.
fn check_barriers(flow: &Flow, facts: &Facts) -> Result<(), CoarsenError> {
    for k in 0..flow.blocks.len() {
        if !facts.divides(flow, k) {
            continue;
        }
        for b in flow.decided(k) {
            let all = flow.blocks[b].instructions();
            if let Some(i) = all.into_iter().find(|i| is_barrier(*i)) {
                let branch = flow.blocks[k]
                    .terminator()
                    .map_or(AtLine(None), AtLine::new);
                let at = AtLine::new(i);
                return Err(CoarsenObstacle::DividedBarrier { at, branch }.into());
            }
        }
    }
    Ok(())
}

/// Makes one read of the reads of each index along the axis, at the kernel's beginning.
fn gather_indices(kernel: Value, axis: &str) -> Result<(), LlvmError> {
    let first = kernel.blocks()[0].first_non_phi();
    let b = Builder::before(first.ok_or_else(|| LlvmError("an empty kernel".into()))?);
    let old = reads(kernel);
    let names = ["tid", "ntid"].map(|what| format!("{what}.{axis}"));
    let new = names.map(|n| {
        let name = format!("llvm.nvvm.read.ptx.sreg.{n}");
        (n, b.intrinsic(&name, &[], &[]))
    });
    for (i, r) in old {
        if let Some((_, one)) = new.iter().find(|(n, _)| *n == r) {
            i.become_value(*one);
        }
    }
    Ok(())
}

/// The lockstep version of a block.
fn block(l: &Lockstep, k: usize) -> Result<(), LlvmError> {
    let b = Builder::at_end(l.heads[k]);
    let mut map = LaneMap::new();
    let all = l.flow.blocks[k].instructions();
    let Some((end, body)) = all.split_last() else {
        return Err(LlvmError("a block has no end".into()));
    };
    let accesses = BlockAccesses::new(l, body);
    let rest = accesses.head(l, &b, &mut map, body);
    accesses.bodies(l, &b, &mut map, (&rest, condition(*end)))?;
    terminator(l, &b, &map, (k, *end))
}

fn terminator(
    l: &Lockstep,
    b: &Builder,
    map: &LaneMap,
    (k, end): (usize, Value),
) -> Result<(), LlvmError> {
    if l.facts.divides(l.flow, k) {
        return divided(l, b, map, (k, end));
    }
    let new = l.clone_for(b, map, end, 0);
    for (n, s) in (0u32..).zip(&l.flow.next[k]) {
        new.set_successor(n, l.heads[*s]);
    }
    Ok(())
}

/// A branch that may divide the copies: together where they agree, one after the other where they do not.
fn divided(
    l: &Lockstep,
    b: &Builder,
    map: &LaneMap,
    (k, end): (usize, Value),
) -> Result<(), LlvmError> {
    let by: Vec<Value> = match condition(end) {
        Some(c) => (0..l.copies()).map(|j| l.copy_of(map, c, j)).collect(),
        None => return Err(LlvmError("a jump divides nothing".into())),
    };
    let alone = b.new_block(l.kernel, "kerf.alone");
    if end.opcode() == Some(Opcode::LLVMSwitch) {
        let differ = by[1..].iter().map(|v| b.xor(*v, by[0]));
        let differ = differ.reduce(|x, y| b.or(x, y)).unwrap_or(by[0]);
        let agree = b.icmp(IntPred::LLVMIntEQ, differ, differ.ty().int(0));
        let together = b.new_block(l.kernel, "kerf.together");
        b.cond_br(agree, together, alone);
        b.move_to_end(together);
        let new = l.clone_for(b, map, end, 0);
        for (n, s) in (0u32..).zip(&l.flow.next[k]) {
            new.set_successor(n, l.heads[*s]);
        }
    } else {
        let (yes, no) = (l.flow.next[k][0], l.flow.next[k][1]);
        let fold =
            |join: &dyn Fn(Value, Value) -> Value| by[1..].iter().fold(by[0], |x, y| join(x, *y));
        let some = b.new_block(l.kernel, "kerf.some");
        let all = fold(&|x, y| b.and(x, y));
        b.cond_br(all, l.heads[yes], some);
        b.move_to_end(some);
        let any = fold(&|x, y| b.or(x, y));
        b.cond_br(any, alone, l.heads[no]);
    }
    b.move_to_end(alone);
    run_alone(l, b, k, &by)
}

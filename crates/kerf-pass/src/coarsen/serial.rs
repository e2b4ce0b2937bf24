//! One copy after the other, from a branch that divided them to its postdominator.
//!
//! Small pieces are repeated for each copy. Larger ones are in a loop over the copies, which finds each copy's values in
//! the slots of the first: after a round, slots change places. Slots that copies share begin each round with what they
//! had at the branch; nothing that a round leaves in them is looked at later, or copies would not share them.
use super::flow::condition;
use super::lanes::{LaneMap, Lanes};
use super::lockstep::Lockstep;
use kerf_llvm::{Block, Builder, IntPred, LlvmError, Opcode, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions of all copies together up to which a piece is repeated.
const REPEATED: usize = 256;

/// What a branch decides.
struct Piece {
    branch: usize,
    blocks: BTreeSet<usize>,
    /// Slots that copies have for themselves and the piece touches.
    own: Vec<Value>,
    /// Slots that copies share and the piece writes.
    shared: Vec<Value>,
    /// Touches arrays.
    arrays: bool,
    instructions: usize,
}

fn piece(l: &Lockstep, k: usize) -> Piece {
    let blocks = l.flow.decided(k);
    let (mut own, mut shared) = (BTreeSet::new(), BTreeSet::new());
    let (mut arrays, mut instructions) = (false, 0);
    for b in &blocks {
        for i in l.flow.blocks[*b].instructions() {
            instructions += 1;
            let written = l.slots.stored(i).map(|s| s.0);
            let touched = written.or(l.slots.loaded(i));
            match touched {
                Some(s) if l.own.contains_key(&s) => {
                    own.insert(s);
                    // A pointer may be one into an array.
                    arrays |= s.allocated_type().is_ptr() && !l.slots.arrays.is_empty();
                }
                _ => shared.extend(written),
            }
            let array = |o: &Value| l.slots.arrays.contains(o);
            arrays |= i.operands().iter().any(array);
        }
    }
    Piece {
        branch: k,
        blocks,
        own: own.into_iter().collect(),
        shared: shared.into_iter().collect(),
        arrays,
        instructions,
    }
}

/// Runs copies alone from the branch of a block, by whose conditions they were divided.
pub(super) fn run_alone(
    l: &Lockstep,
    b: &Builder,
    k: usize,
    by: &[Value],
) -> Result<(), LlvmError> {
    let piece = piece(l, k);
    let after = match l.flow.postdominator[k] {
        Some(p) => l.heads[p],
        None => {
            let out = b.new_block(l.kernel, "kerf.out");
            Builder::at_end(out).ret(None);
            out
        }
    };
    let saved: Vec<(Value, Value)> = piece
        .shared
        .iter()
        .map(|s| (*s, b.load(s.allocated_type(), *s)))
        .collect();
    if piece.arrays || piece.instructions * l.copies() <= REPEATED {
        for (copy, c) in by.iter().enumerate() {
            restore(b, &saved);
            let next = match copy + 1 == by.len() {
                true => after,
                false => b.new_block(l.kernel, "kerf.copy"),
            };
            alone(l, b, &piece, (copy, *c, next))?;
            b.move_to_end(next);
        }
        return Ok(());
    }
    rounds(l, b, &piece, (by, &saved), after)
}

/// A loop over the copies.
fn rounds(
    l: &Lockstep,
    b: &Builder,
    piece: &Piece,
    (by, saved): (&[Value], &[(Value, Value)]),
    after: Block,
) -> Result<(), LlvmError> {
    let round = l.slot(b.int_ty(32))?;
    b.store(b.i32(0), round);
    let mut conditions = Vec::new();
    for c in by {
        let slot = l.slot(c.ty())?;
        b.store(*c, slot);
        conditions.push(slot);
    }
    let header = b.new_block(l.kernel, "kerf.round");
    let latch = b.new_block(l.kernel, "kerf.next");
    b.br(header);
    b.move_to_end(header);
    restore(b, saved);
    let c = b.load(by[0].ty(), conditions[0]);
    alone(l, b, piece, (0, c, latch))?;
    b.move_to_end(latch);
    rotate(b, &conditions);
    for slot in &piece.own {
        rotate(b, &l.own[slot]);
    }
    let next = b.add(b.load(b.int_ty(32), round), b.i32(1));
    b.store(next, round);
    let more = b.icmp(IntPred::LLVMIntULT, next, b.i32(l.copies() as u32));
    b.cond_br(more, header, after).keep_rolled();
    Ok(())
}

/// A copy's way from the branch on; it goes on at `next`.
fn alone(
    l: &Lockstep,
    b: &Builder,
    piece: &Piece,
    (copy, by, next): (usize, Value, Block),
) -> Result<(), LlvmError> {
    let mut blocks: BTreeMap<usize, Block> = BTreeMap::new();
    for k in &piece.blocks {
        let name = l.flow.blocks[*k].name();
        blocks.insert(*k, b.new_block(l.kernel, &name));
    }
    let to = |k: usize| blocks.get(&k).copied().unwrap_or(next);
    let end = l.flow.blocks[piece.branch].terminator();
    let end = end.ok_or_else(|| LlvmError("a block has no end".into()))?;
    let mut map = LaneMap::new();
    if let Some(c) = condition(end) {
        map.insert(c, Lanes::One(by));
    }
    leave(l, b, &map, (piece.branch, end, copy), &to);
    for (k, new) in &blocks {
        let b = Builder::at_end(*new);
        let mut map = LaneMap::new();
        let all = l.flow.blocks[*k].instructions();
        let Some((end, body)) = all.split_last() else {
            continue;
        };
        for i in body {
            let one = l.clone_for(&b, &map, *i, copy);
            map.insert(*i, Lanes::One(one));
        }
        match end.opcode() {
            Some(Opcode::LLVMRet) => {
                b.br(next);
            }
            _ => leave(l, &b, &map, (*k, *end, copy), &to),
        }
    }
    Ok(())
}

fn leave(
    l: &Lockstep,
    b: &Builder,
    map: &LaneMap,
    (k, end, copy): (usize, Value, usize),
    to: &dyn Fn(usize) -> Block,
) {
    let new = l.clone_for(b, map, end, copy);
    for (n, s) in (0u32..).zip(&l.flow.next[k]) {
        new.set_successor(n, to(*s));
    }
}

fn restore(b: &Builder, saved: &[(Value, Value)]) {
    for (slot, v) in saved {
        b.store(*v, *slot);
    }
}

/// Each slot gets what the one after it has, the last what the first had.
fn rotate(b: &Builder, slots: &[Value]) {
    let ty = slots[0].allocated_type();
    let values: Vec<Value> = slots.iter().map(|s| b.load(ty, *s)).collect();
    for (n, s) in slots.iter().enumerate() {
        b.store(values[(n + 1) % values.len()], *s);
    }
}

//! Accesses of neighbouring copies as vector accesses.
//!
//! That copies are neighbours in memory follows from their index expressions ([`super::facts`]); that a vector may begin
//! there is checked where the program runs, once for all accesses of a block: the block has a version for each
//! alignment that is worth one, and one that accesses element by element. Loads whose addresses differ by constants are
//! taken together, so that neighbours' loads are done once; nothing is loaded that no copy asked for.
use super::lanes::{LaneMap, Lanes};

use super::lockstep::Lockstep;
use kerf_ir::address::linear::{Family, Linear};
use kerf_llvm::{Builder, IntPred, LlvmError, Opcode, Type, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of the longest access.
const WIDEST: u64 = 16;

/// Bytes of the shortest vector that is worth a version of its block.
const NARROWEST: u64 = 4;

/// Instructions of all copies of a block up to which it has a version for every alignment, not for the largest alone.
const SMALL: usize = 400;

/// Accesses of a block that can be vectors, as far as the kernel in slot form tells: size of an element by instruction.
pub(super) struct BlockAccesses {
    sizes: BTreeMap<Value, u64>,
}

/// An access of one run of copies.
struct Access {
    family: (Family, u64),
    constant: i64,
    leader: Value,
    /// The last copy's address, where that has to be what the leader's says.
    last: Option<Value>,
}

/// Where accesses of a block are, by instruction: one for each run.
type Places = BTreeMap<Value, Vec<Access>>;

fn address(i: Value) -> Value {
    match i.opcode() {
        Some(Opcode::LLVMStore) => i.operand(1),
        _ => i.operand(0),
    }
}

fn element(i: Value) -> Type {
    match i.opcode() {
        Some(Opcode::LLVMStore) => i.operand(0).ty(),
        _ => i.ty(),
    }
}

/// What may come before the accesses of a block: it depends on no memory, and nothing on it does.
fn is_index(i: Value) -> bool {
    use Opcode::*;
    let scalar = i.ty().is_int() || i.ty().is_ptr();
    scalar
        && matches!(
            i.opcode(),
            Some(
                LLVMAdd
                    | LLVMSub
                    | LLVMMul
                    | LLVMShl
                    | LLVMLShr
                    | LLVMAShr
                    | LLVMAnd
                    | LLVMOr
                    | LLVMXor
                    | LLVMZExt
                    | LLVMSExt
                    | LLVMTrunc
                    | LLVMGetElementPtr
                    | LLVMAddrSpaceCast
                    | LLVMFreeze
            )
        )
}

/// May the instruction write memory that others read, or wait for those who do?
fn writes(l: &Lockstep, i: Value) -> bool {
    use Opcode::*;
    match i.opcode() {
        Some(LLVMStore) => l.slots.stored(i).is_none(),
        Some(LLVMCall) => !super::facts::is_pure_call(i) && crate::registers::read(i).is_none(),
        Some(LLVMAtomicRMW | LLVMAtomicCmpXchg | LLVMFence) => true,
        _ => false,
    }
}

impl BlockAccesses {
    pub(super) fn new(l: &Lockstep, body: &[Value]) -> BlockAccesses {
        let head = indices(l, body);
        let run = u64::from(l.coarsening.run_length());
        let mut sizes = BTreeMap::new();
        for i in body {
            let memory = match i.opcode() {
                Some(Opcode::LLVMLoad) => l.slots.loaded(*i).is_none(),
                Some(Opcode::LLVMStore) => l.slots.stored(*i).is_none(),
                _ => false,
            };
            if !memory || run < 2 {
                continue;
            }
            let (p, ty) = (address(*i), element(*i));
            let size = l.m.size_of(ty);
            let whole = ty.is_int() && u64::from(ty.int_bits()) == 8 * size || ty.is_float();
            let simple = whole && u64::from(i.align()) >= size;
            let known = !p.is_instruction() || head.contains(&p);
            let fits = [1, 2, 4, 8].contains(&size) && run * size >= NARROWEST;
            if simple && fits && known && l.facts.get(p).assumed_stride() == Some(size as i64) {
                sizes.insert(*i, size);
            }
        }
        BlockAccesses { sizes }
    }

    /// Carries out what comes before the accesses; gives what is left of the block.
    pub(super) fn head(
        &self,
        l: &Lockstep,
        b: &Builder,
        map: &mut LaneMap,
        body: &[Value],
    ) -> Vec<Value> {
        if self.sizes.is_empty() {
            return body.to_vec();
        }
        let first = indices(l, body);
        let (head, rest): (Vec<Value>, Vec<Value>) = body.iter().partition(|i| first.contains(*i));
        for i in head {
            l.instruction(b, map, i);
        }
        rest
    }

    /// The versions of what is left of a block; the condition of its branch is in `map` afterwards.
    pub(super) fn bodies(
        &self,
        l: &Lockstep,
        b: &Builder,
        map: &mut LaneMap,
        (rest, condition): (&[Value], Option<Value>),
    ) -> Result<(), LlvmError> {
        if self.sizes.is_empty() {
            for i in rest {
                l.instruction(b, map, *i);
            }
            return Ok(());
        }
        let places = self.places(l, map);
        let tail = b.new_block(l.kernel, "kerf.tail");
        let result = condition.filter(|c| rest.contains(c));
        let kept = match result {
            Some(c) => (0..l.copies())
                .map(|_| l.slot(c.ty()))
                .collect::<Result<Vec<Value>, LlvmError>>()?,
            None => Vec::new(),
        };
        let leave = |map: &LaneMap| {
            for (copy, slot) in kept.iter().enumerate() {
                if let Some(c) = result {
                    b.store(l.copy_of(map, c, copy), *slot);
                }
            }
            b.br(tail);
        };
        for width in self.widths(l, rest.len()) {
            let wide = b.new_block(l.kernel, "kerf.vector");
            let other = b.new_block(l.kernel, "kerf.other");
            b.cond_br(aligned(b, l, &places, width), wide, other);
            b.move_to_end(wide);
            let mut mine = map.clone();
            Body {
                lockstep: l,
                b,
                places: &places,
                width,
                loaded: BTreeMap::new(),
            }
            .emit(&mut mine, rest);
            leave(&mine);
            b.move_to_end(other);
        }
        let mut mine = map.clone();
        for i in rest {
            l.instruction(b, &mut mine, *i);
        }
        leave(&mine);
        b.move_to_end(tail);
        if let Some(c) = result {
            let all = kept.iter().map(|s| b.load(c.ty(), *s)).collect();
            map.insert(c, Lanes::Each(all));
        }
        Ok(())
    }

    /// Bytes of the longest vector of each version.
    fn widths(&self, l: &Lockstep, instructions: usize) -> Vec<u64> {
        let run = u64::from(l.coarsening.run_length());
        let mut all: BTreeSet<u64> = BTreeSet::new();
        for size in self.sizes.values() {
            let mut width = (run * size).min(WIDEST);
            while width >= NARROWEST && width > *size {
                all.insert(width);
                width /= 2;
            }
        }
        let few = match instructions * l.copies() <= SMALL {
            true => all.len(),
            false => 1,
        };
        all.into_iter().rev().take(few).collect()
    }

    fn places(&self, l: &Lockstep, map: &LaneMap) -> Places {
        let run = l.coarsening.run_length() as usize;
        let mut all = Places::new();
        for (i, size) in &self.sizes {
            let runs = (0..l.copies()).step_by(run).map(|copy| {
                let leader = l.copy_of(map, address(*i), copy);
                let form = Linear::new(l.m, leader);
                let assumed = l.facts.get(address(*i)).assumed;
                Access {
                    family: (form.family, *size),
                    constant: form.constant,
                    leader,
                    last: assumed.then(|| l.copy_of(map, address(*i), copy + run - 1)),
                }
            });
            all.insert(*i, runs.collect());
        }
        all
    }
}

/// Instructions of a block that compute indices and addresses without its memory.
fn indices(l: &Lockstep, body: &[Value]) -> BTreeSet<Value> {
    let here: BTreeSet<Value> = body.iter().copied().collect();
    let mut found = BTreeSet::new();
    for i in body {
        let known = |o: &Value| !here.contains(o) || found.contains(o);
        let first = l.slots.loaded(*i).is_some() || crate::registers::read(*i).is_some();
        if first || is_index(*i) && i.operands().iter().all(known) {
            found.insert(*i);
        }
    }
    found
}

/// Bytes that a vector of elements of a size has at most, where vectors have at most `width`.
fn length(l: &Lockstep, size: u64, width: u64) -> u64 {
    (u64::from(l.coarsening.run_length()) * size).min(width)
}

/// Are copies where their leaders' addresses say, and may vectors begin where the constants say?
fn aligned(b: &Builder, l: &Lockstep, places: &Places, width: u64) -> Value {
    let mut seen: BTreeSet<&(Family, u64)> = BTreeSet::new();
    let mut wrong: Option<Value> = None;
    for a in places.values().flatten() {
        if let Some(last) = a.last {
            let run = u64::from(l.coarsening.run_length());
            let apart = b.sub(b.address(last), b.address(a.leader));
            let off = b.sub(apart, b.i64((run - 1) * a.family.1));
            wrong = Some(wrong.map_or(off, |w| b.or(w, off)));
        }
        let bytes = length(l, a.family.1, width);
        if bytes <= a.family.1 || !seen.insert(&a.family) {
            continue;
        }
        let begin = b.sub(b.address(a.leader), b.i64(a.constant as u64));
        let low = b.and(begin, b.i64(bytes - 1));
        wrong = Some(wrong.map_or(low, |w| b.or(w, low)));
    }
    let wrong = wrong.unwrap_or_else(|| b.i64(0));
    b.icmp(IntPred::LLVMIntEQ, wrong, b.i64(0))
}

/// Vectors that cover some elements of a size, none else: first bytes and lengths.
fn pieces(offsets: &BTreeSet<i64>, size: u64, most: u64) -> Vec<(i64, u64)> {
    let step = size as i64;
    let mut all = Vec::new();
    let mut next = i64::MIN;
    for o in offsets {
        if *o < next {
            continue;
        }
        let mut bytes = most.max(size);
        let whole = |bytes: u64| {
            let n = (bytes / size) as i64;
            o.rem_euclid(bytes as i64) == 0 && (0..n).all(|e| offsets.contains(&(o + e * step)))
        };
        while bytes > size && !whole(bytes) {
            bytes /= 2;
        }
        all.push((*o, bytes));
        next = *o + bytes as i64;
    }
    all
}

/// A version of a block.
struct Body<'a> {
    lockstep: &'a Lockstep<'a>,
    b: &'a Builder,
    places: &'a Places,
    width: u64,
    /// What was loaded since memory was written last, by place.
    loaded: BTreeMap<(Family, u64, TypeText), BTreeMap<i64, Value>>,
}

/// A type, ordered by its text.
type TypeText = String;

impl Body<'_> {
    fn emit(&mut self, map: &mut LaneMap, rest: &[Value]) {
        for (n, i) in rest.iter().enumerate() {
            match (self.places.get(i), i.opcode()) {
                (Some(_), Some(Opcode::LLVMLoad)) => self.load(map, &rest[n..]),
                (Some(runs), _) => self.store(map, *i, runs),
                (None, _) => self.lockstep.instruction(self.b, map, *i),
            }
            if writes(self.lockstep, *i) {
                self.loaded.clear();
            }
        }
    }

    /// Bytes between neighbouring copies' elements, from an access's own place on.
    fn offsets(&self, a: &Access) -> impl Iterator<Item = i64> {
        let (first, size) = (a.constant, a.family.1 as i64);
        (0..i64::from(self.lockstep.coarsening.run_length())).map(move |e| first + e * size)
    }

    fn at(&self, a: &Access, offset: i64) -> Value {
        match offset - a.constant {
            0 => a.leader,
            by => self.b.offset(a.leader, self.b.i64(by as u64)),
        }
    }

    /// The first of some instructions, a load, with all loads of its places up to the next write.
    fn load(&mut self, map: &mut LaneMap, ahead: &[Value]) {
        let i = ahead[0];
        let mut lanes = Vec::new();
        for a in &self.places[&i] {
            let key = (a.family.0.clone(), a.family.1, i.ty().print());
            if !self.loaded.contains_key(&key) {
                let found = self.gather(i, a, ahead);
                self.loaded.insert(key.clone(), found);
            }
            let found = &self.loaded[&key];
            lanes.extend(self.offsets(a).map(|o| found[&o]));
        }
        map.insert(i, Lanes::Each(lanes));
    }

    fn gather(&self, i: Value, a: &Access, ahead: &[Value]) -> BTreeMap<i64, Value> {
        let until = ahead.iter().position(|x| writes(self.lockstep, *x));
        let mut offsets = BTreeSet::new();
        for other in &ahead[..until.unwrap_or(ahead.len())] {
            let same = other.opcode() == Some(Opcode::LLVMLoad) && other.ty() == i.ty();
            let runs = self.places.get(other).filter(|_| same);
            for o in runs.into_iter().flatten() {
                if o.family == a.family {
                    offsets.extend(self.offsets(o));
                }
            }
        }
        let size = a.family.1;
        let most = length(self.lockstep, size, self.width);
        let mut found = BTreeMap::new();
        for (at, bytes) in pieces(&offsets, size, most) {
            let p = self.at(a, at);
            let n = (bytes / size) as u32;
            let ty = if n == 1 { i.ty() } else { i.ty().vector(n) };
            let v = self.b.load(ty, p);
            v.set_align(bytes as u32);
            v.copy_debug_loc(i);
            if i.is_marked("invariant.load") {
                v.mark("invariant.load");
            }
            for e in 0..n {
                let one = if n == 1 { v } else { self.b.lane(v, e) };
                found.insert(at + i64::from(e) * size as i64, one);
            }
        }
        found
    }

    fn store(&self, map: &LaneMap, i: Value, runs: &[Access]) {
        let run = self.lockstep.coarsening.run_length() as usize;
        for (g, a) in runs.iter().enumerate() {
            let offsets: BTreeSet<i64> = self.offsets(a).collect();
            let size = a.family.1;
            let most = length(self.lockstep, size, self.width);
            for (at, bytes) in pieces(&offsets, size, most) {
                let first = ((at - a.constant) as u64 / size) as usize + g * run;
                let value = |e: usize| self.lockstep.copy_of(map, i.operand(0), first + e);
                let n = (bytes / size) as usize;
                let v = match n {
                    1 => value(0),
                    _ => {
                        let ty = i.operand(0).ty().vector(n as u32);
                        (0..n).fold(ty.poison(), |v, e| {
                            self.b.set_lane_at(v, value(e), self.b.i32(e as u32))
                        })
                    }
                };
                let s = self.b.store(v, self.at(a, at));
                s.set_align(bytes as u32);
                s.copy_debug_loc(i);
            }
        }
    }
}

//! Addresses of a few warps: what accesses really touch, where it cannot be told from the program.
//!
//! Threads of eight warps of four blocks, spread over a launch, write the addresses of some of their accesses at each place
//! into a table: of the first 64, then of four in as many as there were before. Others write to a variable that
//! nobody reads, which the optimiser makes a store under a condition. Addresses are generic ones: on a GPU those of shared memory begin at zero, which
//! stands for no access.
use super::accesses::{CountedAccess, MemoryKind, Root};
use super::warp::{SECTOR, shared_passes, units};
use super::{CountTable, Detail, KernelCounters};
use kerf_ir::address::{AccessDirection, touched};
use kerf_llvm::{Builder, IntPred, Module, Opcode, Value, space};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The variable with the addresses.
pub const ADDRESSES: &str = "__kerf_count_addresses";

const BLOCKS: u64 = 4;
const WARPS: u64 = 8;
const LANES: u64 = 32;
/// Bytes of one access by all.
const SLOT: u64 = 8 * BLOCKS * WARPS * LANES;
/// Accesses of a thread at one place that are all looked at.
const FIRST: u64 = 64;
/// Slots beyond those of powers of two.
const BEYOND: u64 = FIRST - 4 * (FIRST.ilog2() as u64 - 1);
/// Accesses of a thread at one place, at most (which are of its first 4096), and what all of them may take.
const MOST_ROUNDS: u64 = FIRST + 4 * 6;
const MOST_BYTES: u64 = 64 << 20;

/// Which accesses are in the table.
#[derive(Debug, Clone, Default)]
pub struct SampledAccesses {
    /// Place in the table of each access of each block, none for those that are not in it.
    pub(super) places: Vec<Vec<Option<u64>>>,
    count: u64,
    rounds: u64,
}

impl SampledAccesses {
    /// Of blocks in their order.
    pub(super) fn in_blocks(
        m: &Module,
        blocks: impl Iterator<Item = kerf_llvm::Block>,
        detail: Detail,
    ) -> SampledAccesses {
        let mut out = SampledAccesses::default();
        for b in blocks {
            let all = b.instructions().into_iter().flat_map(|i| touched(m, i));
            let places = all.map(|t| {
                (detail != Detail::Executions && looked_at(t.pointer)).then(|| {
                    out.count += 1;
                    out.count - 1
                })
            });
            let places = places.collect();
            out.places.push(places);
        }
        out.rounds = (MOST_BYTES / (SLOT * out.count.max(1))).min(MOST_ROUNDS);
        out
    }
    /// Bytes of [`ADDRESSES`].
    pub fn bytes(&self) -> usize {
        (SLOT * self.rounds * self.count).max(8) as usize
    }
}

/// Threads' own arrays, constants and parameters that are structs have patterns that are known.
fn looked_at(pointer: Value) -> bool {
    let object = pointer.underlying();
    let of = |v: Value| matches!(v.ty().space(), space::LOCAL | space::CONSTANT);
    let own = object.opcode() == Some(Opcode::LLVMAlloca) || object.is_byval_argument();
    !(own || of(object) || of(pointer))
}

/// What a thread knows of its part of the table.
pub(super) struct Own {
    /// Address of its first entry, as a number, if it is one of those that are looked at.
    at: Value,
    sampled: Value,
    /// What others write to.
    aside: Value,
}

/// A pointer as one into all memories.
fn generic(b: &Builder, pointer: Value) -> Value {
    match pointer.ty().space() {
        space::GENERIC => pointer,
        _ => b.cast(Opcode::LLVMAddrSpaceCast, pointer, b.ptr_ty(space::GENERIC)),
    }
}

/// A special register, in 64 bits.
pub(super) fn register(b: &Builder, name: &str) -> Value {
    let v = b.intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{name}"), &[], &[]);
    b.zext_or_trunc(v, b.int_ty(64))
}

/// The number of a thread in its block, and of the block in its grid.
pub(super) fn numbers(b: &Builder) -> (Value, Value) {
    let linear = |i: &str, n: &str| {
        let r = |s: &str, d: &str| register(b, &format!("{s}.{d}"));
        let rows = b.add(b.mul(r(i, "z"), r(n, "y")), r(i, "y"));
        b.add(b.mul(rows, r(n, "x")), r(i, "x"))
    };
    (linear("tid", "ntid"), linear("ctaid", "nctaid"))
}

/// Blocks of a grid whose addresses are looked at: the one in the middle of each quarter.
pub(super) fn looked_at_blocks(blocks: u64) -> impl Iterator<Item = u64> {
    (0..BLOCKS).map(move |quarter| (2 * quarter + 1) * blocks / (2 * BLOCKS))
}

impl Own {
    /// At the beginning of a function.
    pub(super) fn new(b: &Builder, table: Value) -> Own {
        let i64t = b.int_ty(64);
        let register = |name: &str| register(b, name);
        let (thread, block) = numbers(b);
        let (x, y, z) = (
            register("nctaid.x"),
            register("nctaid.y"),
            register("nctaid.z"),
        );
        let all = b.mul(b.mul(x, y), z);
        // The block in the middle of each quarter.
        let quarter = b.bin(Opcode::LLVMUDiv, b.mul(block, b.i64(BLOCKS)), all);
        let middle = b.add(b.shl(quarter, b.i64(1)), b.i64(1));
        let middle = b.bin(Opcode::LLVMUDiv, b.mul(middle, all), b.i64(2 * BLOCKS));
        let (warp, lane) = (b.lshr(thread, b.i64(5)), b.and(thread, b.i64(LANES - 1)));
        let number = b.add(b.mul(quarter, b.i64(WARPS)), warp);
        let entry = b.add(b.mul(number, b.i64(LANES)), lane);
        let first = b.cast(Opcode::LLVMPtrToInt, generic(b, table), i64t);
        let here = b.icmp(IntPred::LLVMIntEQ, block, middle);
        let low = b.icmp(IntPred::LLVMIntULT, warp, b.i64(WARPS));
        let aside = b.alloca(i64t);
        Own {
            at: b.add(first, b.mul(entry, b.i64(8))),
            sampled: b.and(here, low),
            aside: b.cast(Opcode::LLVMPtrToInt, generic(b, aside), i64t),
        }
    }

    /// At the beginning of a block: `executed` is how often the thread has run it, this time too.
    pub(super) fn round(&self, b: &Builder, of: &SampledAccesses, executed: Value) -> Round {
        let i64t = b.int_ty(64);
        let round = b.sub(executed, b.i64(1));
        let one = b.int_ty(1).zero();
        let zeros = b.intrinsic("llvm.ctlz", &[i64t], &[b.or(round, b.i64(4)), one]);
        let shift = b.sub(b.i64(61), zeros);
        let number = b.lshr(round, shift);
        let first = b.icmp(IntPred::LLVMIntEQ, b.shl(number, shift), round);
        let slot = b.add(b.add(b.shl(shift, b.i64(2)), number), b.i64(BEYOND));
        let soon = b.icmp(IntPred::LLVMIntULT, round, b.i64(FIRST));
        let slot = b.select(soon, round, slot);
        let first = b.or(soon, first);
        let early = b.icmp(IntPred::LLVMIntULT, slot, b.i64(of.rounds));
        Round {
            taken: b.and(self.sampled, b.and(first, early)),
            at: b.add(self.at, b.mul(slot, b.i64(SLOT))),
        }
    }

    /// Before an access.
    pub(super) fn note(
        &self,
        b: &Builder,
        of: &SampledAccesses,
        r: &Round,
        place: u64,
        pointer: Value,
    ) {
        let i64t = b.int_ty(64);
        let to = b.add(r.at, b.i64(SLOT * of.rounds * place));
        let to = b.select(r.taken, to, self.aside);
        let to = b.cast(Opcode::LLVMIntToPtr, to, b.ptr_ty(space::GENERIC));
        let address = generic(b, b.freeze(pointer));
        let address = b.cast(Opcode::LLVMPtrToInt, address, i64t);
        b.store(address, to);
    }
}

/// One execution of a block.
pub(super) struct Round {
    taken: Value,
    at: Value,
}

/// What accesses at one place touch, as far as was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pattern {
    /// Block of the program.
    pub block: usize,
    /// Which access of the block.
    pub index: usize,
    /// Bytes of a thread's access.
    pub bytes: u64,
    /// Sectors of one access of a warp; also if elements were half and a quarter as large.
    pub sectors: [f32; 3],
    /// Part of the sectors that the block has not touched before, at any of its loads from the same object.
    pub fresh: [f32; 3],
    /// Of a load from global memory, what the block's loads before it had not touched. Older records have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<First>,
    /// Passes through the banks of L1 and shared memory by instructions of 4, 8 and 16 bytes; likewise.
    pub passes: [[f32; 3]; 3],
}

/// What loads at one place touch first of all loads of their block; also if elements were half and a quarter as large.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct First {
    /// Part of their sectors.
    pub sectors: [f32; 3],
    /// Part of the accesses of warps that have such a sector.
    pub accesses: [f32; 3],
}

/// One access of a warp: address by lane.
type Lanes = Vec<Option<i64>>;

/// Accesses that the one in a slot stands for.
fn weight(slot: u64) -> u64 {
    match slot < FIRST {
        true => 1,
        false => 1 << ((slot - BEYOND) / 4).saturating_sub(1),
    }
}

/// Accesses of warps at one place, by block, with the slot of each.
type Seen = Vec<Vec<(u64, Lanes)>>;

fn seen(s: &SampledAccesses, table: &[u8], place: u64) -> Seen {
    let word = |n: u64| -> Option<i64> {
        let at = 8 * n as usize;
        let bytes = table.get(at..at + 8)?;
        let v = i64::from_le_bytes(bytes.try_into().ok()?);
        (v != 0).then_some(v)
    };
    let mut out = Vec::new();
    for block in 0..BLOCKS {
        let mut all = Vec::new();
        for n in 0..s.rounds * WARPS {
            let (round, warp) = (n / WARPS, block * WARPS + n % WARPS);
            let first = ((place * s.rounds + round) * BLOCKS * WARPS + warp) * LANES;
            let lanes: Lanes = (0..LANES).map(|l| word(first + l)).collect();
            if lanes.iter().any(Option::is_some) {
                all.push((round, lanes));
            }
        }
        out.push(all);
    }
    out
}

/// Accesses of shared memory, by their distance from the lowest of their block: where a block's arrays lie is another matter
/// on each device.
fn within_block(mut all: Seen) -> Seen {
    for block in &mut all {
        let addresses = block.iter().flat_map(|l| &l.1).flatten();
        let Some(lowest) = addresses.min().copied() else {
            continue;
        };
        let lanes = block.iter_mut().flat_map(|l| &mut l.1);
        lanes.flatten().for_each(|a| *a -= lowest);
    }
    all
}

/// Addresses as they were if elements were 2^-k as large. Buffers begin at a page.
fn shrunk(lanes: &Lanes, base: i64, k: u32) -> Lanes {
    let one = |a: i64| ((a - base) >> k) + base;
    lanes.iter().map(|a| a.map(one)).collect()
}

/// The lowest address of some accesses, at a multiple of the page.
fn base(all: &Seen) -> i64 {
    let addresses = all.iter().flatten().flat_map(|l| &l.1).flatten();
    addresses.min().map_or(0, |a| a & !4095)
}

fn mean(sum: u64, n: u64) -> f32 {
    (1000.0 * sum as f64 / n.max(1) as f64).round() as f32 / 1000.0
}

/// What was touched first, and all that was touched.
#[derive(Debug, Clone, Copy, Default)]
struct Touched {
    /// Sectors at one place.
    sectors: (u64, u64),
    /// Accesses of warps at one place.
    accesses: (u64, u64),
    /// Sectors of all loads from the object.
    object: (u64, u64),
}

/// What each of some loads of one object touches first, in the order in which a block's warps run them, as far as it is known:
/// loop by loop, round by round, place by place.
fn in_order(
    c: &CountTable,
    all: &[(&CountedAccess, usize, Seen)],
    of: &[usize],
    base: i64,
    scale: u32,
) -> Vec<Touched> {
    let mut out = vec![Touched::default(); of.len()];
    let group = |n: usize| c.noted.head(all[n].0.block).unwrap_or(all[n].0.block);
    for block in 0..BLOCKS as usize {
        let mut order = Vec::new();
        for (k, n) in of.iter().enumerate() {
            let some = all[*n].2[block].iter().filter(|l| l.0 < FIRST);
            order.extend(some.map(|(slot, lanes)| (group(*n), *slot, k, lanes)));
        }
        order.sort_by_key(|(group, slot, k, _)| (*group, *slot, *k));
        let mut known = HashSet::new();
        for (_, _, k, lanes) in order {
            let some: Vec<i64> = shrunk(lanes, base, scale).into_iter().flatten().collect();
            let sectors = units(&some, all[of[k]].0.bytes >> scale, SECTOR);
            let touches = sectors.len() as u64;
            let first = sectors.into_iter().filter(|s| known.insert(*s)).count() as u64;
            let t = &mut out[k];
            t.sectors = (t.sectors.0 + first, t.sectors.1 + touches);
            t.accesses = (t.accesses.0 + u64::from(first > 0), t.accesses.1 + 1);
        }
    }
    let sum = |f: &dyn Fn(&Touched) -> u64| out.iter().map(f).sum();
    let object = (sum(&|t| t.sectors.0), sum(&|t| t.sectors.1));
    for t in &mut out {
        t.object = object;
    }
    out
}

/// Reads the table after a launch of a kernel.
pub fn patterns(c: &CountTable, k: &KernelCounters, table: &[u8]) -> Vec<Pattern> {
    let s = &c.sampled;
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    let mut all: Vec<(&CountedAccess, usize, Seen)> = Vec::new();
    for a in &k.accesses {
        let n = numbers.entry(a.block).or_insert(0);
        let place = s
            .places
            .get(a.block)
            .and_then(|p| p.get(*n).copied().flatten());
        if let Some(p) = place {
            let seen = seen(s, table, p);
            let seen = match a.memory {
                MemoryKind::Shared => within_block(seen),
                _ => seen,
            };
            all.push((a, *n, seen));
        }
        *n += 1;
    }
    let loads =
        |a: &CountedAccess| a.memory == MemoryKind::Global && a.direction == AccessDirection::Load;
    let roots: BTreeSet<&Root> = all
        .iter()
        .filter(|x| loads(x.0))
        .map(|x| &x.0.root)
        .collect();
    let mut by: BTreeMap<usize, [Touched; 3]> = BTreeMap::new();
    for root in roots {
        let of = |n: &usize| loads(all[*n].0) && &all[*n].0.root == root;
        let of: Vec<usize> = (0..all.len()).filter(of).collect();
        let bases = of.iter().map(|n| base(&all[*n].2));
        let base = bases.filter(|b| *b > 0).min().unwrap_or(0);
        let each = [0, 1, 2].map(|scale| in_order(c, &all, &of, base, scale));
        for (k, n) in of.into_iter().enumerate() {
            by.insert(n, [0, 1, 2].map(|scale| each[scale][k]));
        }
    }
    let mut out = Vec::new();
    for (place, (a, index, seen)) in all.iter().enumerate() {
        let n: u64 = seen.iter().flatten().map(|l| weight(l.0)).sum();
        if n == 0 {
            continue;
        }
        let base = base(seen);
        let sum = |scale: u32, f: &dyn Fn(&Lanes, u64) -> u64| -> f32 {
            let each = seen.iter().flatten();
            let one =
                |(s, l): &(u64, Lanes)| weight(*s) * f(&shrunk(l, base, scale), a.bytes >> scale);
            mean(each.map(one).sum(), n)
        };
        let scaled = |f: &dyn Fn(&Lanes, u64) -> u64| [0, 1, 2].map(|k| sum(k, f));
        let touched = |l: &Lanes, bytes: u64| {
            let some: Vec<i64> = l.iter().copied().flatten().collect();
            units(&some, bytes, SECTOR).len() as u64
        };
        let touches = by.get(&place);
        let part = |f: &dyn Fn(&Touched) -> (u64, u64)| {
            let of = |t: &Touched| (f(t).1 > 0).then(|| mean(f(t).0, f(t).1));
            touches.map(|t| t.map(|t| of(&t).unwrap_or(1.0)))
        };
        out.push(Pattern {
            block: a.block,
            index: *index,
            bytes: a.bytes,
            sectors: scaled(&touched),
            fresh: part(&|t| t.object).unwrap_or([1.0; 3]),
            first: part(&|t| t.sectors)
                .zip(part(&|t| t.accesses))
                .map(|(sectors, accesses)| First { sectors, accesses }),
            passes: [4, 8, 16].map(|w| scaled(&|l, _| shared_passes(l, w))),
        });
    }
    out
}

/// Takes in what another launch gave, as the mean.
pub fn join(to: &mut Vec<Pattern>, launches: u32, new: &[Pattern]) {
    for p in new {
        let same = |o: &&mut Pattern| (o.block, o.index) == (p.block, p.index);
        let Some(old) = to.iter_mut().find(same) else {
            to.push(*p);
            continue;
        };
        let mix = |a: &mut f32, b: f32| {
            *a = ((*a * launches as f32 + b) / (launches + 1) as f32 * 1000.0).round() / 1000.0;
        };
        for s in 0..3 {
            mix(&mut old.sectors[s], p.sectors[s]);
            mix(&mut old.fresh[s], p.fresh[s]);
            if let (Some(old), Some(new)) = (&mut old.first, &p.first) {
                mix(&mut old.sectors[s], new.sectors[s]);
                mix(&mut old.accesses[s], new.accesses[s]);
            }
            for w in 0..3 {
                mix(&mut old.passes[w][s], p.passes[w][s]);
            }
        }
    }
}

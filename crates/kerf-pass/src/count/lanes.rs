//! How often warps run each block: counts of threads do not tell whether those of a warp go together.
//!
//! Threads of some warps note how often they ran a block and, within a loop, in which of 64 rounds: the first 16, then four in as
//! many as there were before. A warp runs a block in every round in which any of its threads does.
use super::addresses::{numbers, register};
use super::fields::LANES;
use super::values::larger;
use super::{CountTable, KernelCounters};
use crate::engine::places::Places;
use kerf_llvm::{Block, Builder, IntPred, Opcode, Value};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The variable with [`FIELDS`] 64-bit numbers for each block and warp that is looked at.
pub const WARPS: &str = "__kerf_count_warps";

/// Rounds in which some thread ran the block, the most by one thread, and all.
pub(super) const FIELDS: u64 = 3;
/// Warps of a block of threads, and blocks of threads at most, that are looked at; bytes that all may take.
const OF_BLOCK: u64 = 8;
const MOST: u64 = 64;
const LEAST: u64 = 4;
const MOST_BYTES: u64 = 4 << 20;
/// Rounds that are all noted, and bits beyond those of powers of two.
const FIRST: u64 = 16;
const BEYOND: u64 = 4;
/// Bits of a number.
const BITS: u64 = 64;

/// What numbers of parts are multiplied with, so that they mix.
const MIXED: u64 = 2_654_435_761;

/// Which of the rounds of an octave a warp notes, so that they are not all at multiples of an inner loop's length.
fn salt(warp: u64) -> u64 {
    warp * 40503
}

/// The round that a bit stands for, and how many it stands for.
fn noted_round(bit: u64, warp: u64) -> (u64, f64) {
    if bit < FIRST {
        return (bit, 1.0);
    }
    let (shift, number) = ((bit - BEYOND) / 4 - 1, (bit - BEYOND) % 4 + 4);
    let each = 1u64 << shift;
    ((number << shift) + (salt(warp) & (each - 1)), each as f64)
}

/// A block among the others of its function.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// First block of the smallest loop around it.
    head: Option<usize>,
    /// Does every whole round of that loop go through it?
    each: bool,
    /// The last block that every way to it goes through.
    before: Option<usize>,
    instructions: usize,
}

/// What is noted, and where.
#[derive(Debug, Clone, Default)]
pub struct Noted {
    /// Blocks by number.
    pub(super) places: Vec<Place>,
    /// Numbers in an order in which what comes before a block stands before it.
    order: Vec<usize>,
    /// Blocks of threads that are looked at.
    parts: u64,
}

impl Noted {
    /// Of functions whose blocks have these numbers.
    pub(super) fn in_functions(functions: &[Value], numbers: &BTreeMap<Block, usize>) -> Noted {
        let mut out = Noted {
            places: vec![Place::default(); numbers.len()],
            ..Noted::default()
        };
        for f in functions {
            out.function(*f, numbers);
        }
        let each = 8 * FIELDS * OF_BLOCK * numbers.len().max(1) as u64;
        out.parts = (MOST_BYTES / each).clamp(LEAST, MOST);
        out
    }

    fn function(&mut self, f: Value, numbers: &BTreeMap<Block, usize>) {
        let p = Places::from_function(f);
        let at: BTreeMap<Block, usize> =
            p.blocks.iter().enumerate().map(|(k, b)| (*b, k)).collect();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); p.blocks.len()];
        for (k, b) in p.blocks.iter().enumerate() {
            for s in b.terminator().map(|t| t.successors()).unwrap_or_default() {
                before[at[&s]].push(k);
            }
        }
        let dominates = |a: usize, mut b: usize| {
            while b > a {
                b = p.dominator[b];
            }
            a == b
        };
        // Blocks of each loop, by its first, and those that lead back to it.
        let mut loops: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut backs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (head, from) in before.iter().enumerate() {
            for back in from.iter().filter(|k| dominates(head, **k)) {
                backs.entry(head).or_default().push(*back);
                let body = loops.entry(head).or_insert_with(|| BTreeSet::from([head]));
                let mut left = vec![*back];
                while let Some(k) = left.pop() {
                    if body.insert(k) {
                        left.extend(&before[k]);
                    }
                }
            }
        }
        let number = |k: usize| numbers[&p.blocks[k]];
        for k in 0..p.blocks.len() {
            let around = loops.iter().filter(|l| l.1.contains(&k));
            let head = around.min_by_key(|l| l.1.len()).map(|l| *l.0);
            let back = head.and_then(|h| backs.get(&h)).into_iter().flatten();
            self.places[number(k)] = Place {
                head: head.map(number),
                each: back.into_iter().all(|b| dominates(k, *b)),
                before: (k > 0).then(|| number(p.dominator[k])),
                instructions: p.blocks[k].instructions().len(),
            };
            self.order.push(number(k));
        }
    }

    /// First block of the smallest loop around a block.
    pub(super) fn head(&self, block: usize) -> Option<usize> {
        self.places.get(block)?.head
    }

    /// Is there more to note of a block than how often each thread runs it?
    pub(super) fn in_rounds(&self, block: usize) -> Option<usize> {
        let p = &self.places[block];
        p.head.filter(|_| !p.each)
    }

    fn warps(&self) -> u64 {
        self.parts * OF_BLOCK
    }

    /// Bytes of one block's numbers.
    pub(super) fn stride(&self) -> u64 {
        8 * FIELDS * self.warps()
    }

    /// Bytes of [`WARPS`].
    pub fn bytes(&self) -> usize {
        (self.stride() * self.places.len() as u64).max(8) as usize
    }

    /// Blocks of a grid whose warps are looked at, as [`Noted::own`] finds them.
    pub(super) fn looked_at_blocks(&self, blocks: u64) -> impl Iterator<Item = u64> {
        let parts = self.parts;
        let long = (blocks / parts).max(1);
        (0..parts).filter_map(move |part| {
            let first = (part * blocks).div_ceil(parts);
            let chosen = first + ((part * MIXED) >> 15) % long;
            (chosen < blocks).then_some(chosen)
        })
    }

    /// Where a thread's warp has its numbers, counted from those of a block; and whether it is looked at.
    pub(super) fn own(&self, b: &Builder) -> Own {
        let register = |name: &str| register(b, name);
        let (thread, block) = numbers(b);
        let plane = b.mul(register("nctaid.x"), register("nctaid.y"));
        let all = b.mul(plane, register("nctaid.z"));
        // One of each part, not always at the same place of it: grids have rows, and those at their ends are like each other.
        let parts = b.i64(self.parts);
        let divide = |x: Value, y: Value| b.bin(Opcode::LLVMUDiv, x, y);
        let part = divide(b.mul(block, parts), all);
        let up = b.add(b.mul(part, all), b.i64(self.parts - 1));
        let long = larger(b, divide(all, parts), b.i64(1));
        let mixed = b.lshr(b.mul(part, b.i64(MIXED)), b.i64(15));
        let far = b.bin(Opcode::LLVMURem, mixed, long);
        let chosen = b.add(divide(up, parts), far);
        let warp = b.lshr(thread, b.i64(LANES.trailing_zeros().into()));
        let here = b.icmp(IntPred::LLVMIntEQ, block, chosen);
        let low = b.icmp(IntPred::LLVMIntULT, warp, b.i64(OF_BLOCK));
        let number = b.add(b.mul(part, b.i64(OF_BLOCK)), warp);
        let looked_at = b.and(here, low);
        let at = b.mul(number, b.i64(8 * FIELDS));
        Own {
            at: b.select(looked_at, at, b.i64(0)),
            looked_at,
            salt: b.mul(number, b.i64(salt(1))),
        }
    }
}

/// What a thread knows of its warp's numbers.
pub(super) struct Own {
    /// Bytes from those of a block's first warp.
    pub at: Value,
    pub looked_at: Value,
    salt: Value,
}

impl Own {
    /// At the beginning of a block: the rounds noted so far with that which the loop's first block has counted.
    pub(super) fn round(&self, b: &Builder, rounds: Value, counted: Value) -> Value {
        let i64t = b.int_ty(64);
        let round = b.sub(counted, b.i64(1));
        let zeros = b.intrinsic(
            "llvm.ctlz",
            &[i64t],
            &[b.or(round, b.i64(4)), b.int_ty(1).zero()],
        );
        let shift = b.sub(b.i64(61), zeros);
        let low = b.sub(b.shl(b.i64(1), shift), b.i64(1));
        let same = b.icmp(
            IntPred::LLVMIntEQ,
            b.and(b.bin(Opcode::LLVMXor, round, self.salt), low),
            b.i64(0),
        );
        let octave = b.add(b.shl(shift, b.i64(2)), b.lshr(round, shift));
        let soon = b.icmp(IntPred::LLVMIntULT, round, b.i64(FIRST));
        let bit = b.select(soon, round, b.add(octave, b.i64(BEYOND)));
        let fits = b.icmp(IntPred::LLVMIntULT, bit, b.i64(BITS));
        let noted = b.and(fits, b.or(soon, same));
        let one = b.shl(b.i64(1), b.and(bit, b.i64(BITS - 1)));
        b.or(rounds, b.select(noted, one, b.i64(0)))
    }
}

/// Threads of a warp that run each block together, in the mean; none where no warp was seen to. Over the launches of a kernel
/// that were looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Together {
    /// Executions by warps, and by threads.
    sums: Vec<(f64, f64)>,
    /// Of each launch.
    spreads: Vec<Spread>,
}

/// How much work blocks of threads have, as instructions of their warps, beside the mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Standard deviation.
    pub deviation: f32,
    /// The most of one.
    pub most: f32,
}

impl Spread {
    fn from_work(work: &[f64]) -> Option<Spread> {
        let n = work.len() as f64;
        let mean = work.iter().sum::<f64>() / n;
        let square: f64 = work.iter().map(|w| (w / mean - 1.0).powi(2)).sum();
        let most = work.iter().fold(0.0f64, |a, b| a.max(*b)) / mean;
        let rounded = |x: f64| (1000.0 * x).round() as f32 / 1000.0;
        (work.len() > 1 && mean > 0.0).then(|| Spread {
            deviation: rounded((square / n).sqrt()),
            most: rounded(most),
        })
    }
}

impl Together {
    /// Takes in the table after a launch of a kernel.
    pub fn join(&mut self, c: &CountTable, k: &KernelCounters, table: &[u8]) {
        let noted = &c.noted;
        self.sums.resize(noted.places.len(), (0.0, 0.0));
        let word = |block: usize, warp: u64, field: u64| -> u64 {
            let at = block as u64 * noted.stride() + 8 * (FIELDS * warp + field);
            let bytes = table.get(at as usize..at as usize + 8);
            bytes
                .and_then(|b| b.try_into().ok())
                .map_or(0, u64::from_le_bytes)
        };
        let mut work: BTreeMap<u64, f64> = BTreeMap::new();
        for warp in 0..noted.warps() {
            if word(k.entry, warp, 1) == 0 {
                continue;
            }
            let mut executed = vec![0.0f64; noted.places.len()];
            for block in &noted.order {
                let most = word(*block, warp, 1) as f64;
                if most == 0.0 {
                    continue;
                }
                let place = &noted.places[*block];
                let mut own = most;
                let above = match place.head {
                    Some(head) if head != *block => {
                        let rounds = word(head, warp, 1);
                        let bits = word(*block, warp, 0);
                        let (mut seen, mut all) = (0.0, 0.0);
                        for bit in 0..BITS {
                            let (round, stands_for) = noted_round(bit, warp);
                            if round < rounds {
                                all += stands_for;
                                seen += stands_for * (bits >> bit & 1) as f64;
                            }
                        }
                        own = own.max(rounds as f64 * seen / f64::max(all, 1.0));
                        Some(head)
                    }
                    // A loop is entered whenever some thread enters it.
                    Some(_) => place.before,
                    None => None,
                };
                let more = above.map_or(1.0, |a| executed[a] / (word(a, warp, 1) as f64).max(1.0));
                executed[*block] = own * more.max(1.0);
                *work.entry(warp / OF_BLOCK).or_insert(0.0) +=
                    executed[*block] * place.instructions as f64;
                self.sums[*block].0 += executed[*block];
                self.sums[*block].1 += word(*block, warp, 2) as f64;
            }
        }
        let work: Vec<f64> = work.into_values().collect();
        self.spreads.extend(Spread::from_work(&work));
    }

    /// How blocks of threads differ: of the launch in the middle of those that were looked at.
    pub fn spread(&self) -> Option<Spread> {
        let mut all = self.spreads.clone();
        all.sort_by(|a, b| a.deviation.total_cmp(&b.deviation));
        all.get(all.len() / 2).copied()
    }

    /// By block.
    pub fn threads(&self) -> Vec<f32> {
        let one = |(warps, threads): &(f64, f64)| match *warps > 0.0 {
            true => (1000.0 * threads / warps).round() as f32 / 1000.0,
            false => 0.0,
        };
        self.sums.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_compared_with_the_mean() {
        let alike = Spread::from_work(&[5.0; 4]).expect("several");
        assert_eq!((alike.deviation, alike.most), (0.0, 1.0));
        let two = Spread::from_work(&[1.0, 3.0]).expect("several");
        assert_eq!((two.deviation, two.most), (0.5, 1.5));
        assert_eq!(Spread::from_work(&[7.0]), None);
        assert_eq!(Spread::from_work(&[]), None);
    }

    #[test]
    fn bits_stand_for_all_rounds() {
        for warp in [0, 1, 5, 300] {
            let all: Vec<(u64, f64)> = (0..BITS).map(|b| noted_round(b, warp)).collect();
            assert!(all.windows(2).all(|w| w[0].0 < w[1].0), "{all:?}");
            let to = |n: u64| -> f64 { all.iter().filter(|r| r.0 < n).map(|r| r.1).sum() };
            for n in [16, 32, 64, 1024, 65536] {
                assert_eq!(to(n), n as f64, "{warp}");
            }
        }
    }
}

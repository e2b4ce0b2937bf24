//! The control-flow graph of a kernel in slot form: postdominators, what a branch decides, which slots live where.
use super::slots::Slots;
use kerf_llvm::{Block, Opcode, Value};
use std::collections::{BTreeMap, BTreeSet};

/// A set of blocks.
#[derive(Clone, PartialEq)]
struct Bits(Vec<u64>);

impl Bits {
    fn empty(n: usize) -> Bits {
        Bits(vec![0; n.div_ceil(64)])
    }
    fn full(n: usize) -> Bits {
        Bits(vec![u64::MAX; n.div_ceil(64)])
    }
    fn insert(&mut self, k: usize) {
        self.0[k / 64] |= 1 << (k % 64);
    }
    fn contains(&self, k: usize) -> bool {
        self.0[k / 64] >> (k % 64) & 1 == 1
    }
    fn intersect(&mut self, other: &Bits) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a &= b;
        }
    }
    fn count(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }
}

/// The graph.
pub(super) struct Flow {
    /// Blocks but for the prologue; the first is the kernel's entry.
    pub blocks: Vec<Block>,
    /// Position of a block among them.
    pub number: BTreeMap<Block, usize>,
    /// Blocks that may come next.
    pub next: Vec<Vec<usize>>,
    /// Immediate postdominator; none where that is the end of the kernel.
    pub postdominator: Vec<Option<usize>>,
    /// Slots that may be loaded before they are stored to, from the beginning of a block.
    pub live: Vec<BTreeSet<Value>>,
}

impl Flow {
    pub(super) fn new(kernel: Value, slots: &Slots) -> Flow {
        let all = kernel.blocks().into_iter();
        let blocks: Vec<Block> = all.filter(|b| *b != slots.prologue).collect();
        let number: BTreeMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let next: Vec<Vec<usize>> = blocks
            .iter()
            .map(|b| b.terminator().map(Value::successors).unwrap_or_default())
            .map(|s| s.iter().map(|b| number[b]).collect())
            .collect();
        let postdominator = postdominators(&next);
        let live = live_slots(&blocks, &next, slots);
        Flow {
            blocks,
            number,
            next,
            postdominator,
            live,
        }
    }

    /// Blocks between a block's branch and its postdominator, which is not among them.
    pub(super) fn decided(&self, k: usize) -> BTreeSet<usize> {
        let end = self.postdominator[k];
        let mut seen = BTreeSet::new();
        let mut work = self.next[k].clone();
        while let Some(b) = work.pop() {
            if Some(b) != end && seen.insert(b) {
                work.extend(&self.next[b]);
            }
        }
        seen
    }
}

/// Immediate postdominators, by sets: the nearest of a block's postdominators has the most itself.
fn postdominators(next: &[Vec<usize>]) -> Vec<Option<usize>> {
    let n = next.len();
    let mut after = vec![Bits::full(n); n];
    let mut changed = true;
    while changed {
        changed = false;
        for k in (0..n).rev() {
            let mut new = match next[k].is_empty() {
                true => Bits::empty(n),
                false => Bits::full(n),
            };
            for s in &next[k] {
                new.intersect(&after[*s]);
            }
            new.insert(k);
            changed |= new != after[k];
            after[k] = new;
        }
    }
    (0..n)
        .map(|k| {
            let others = (0..n).filter(|p| *p != k && after[k].contains(*p));
            others.max_by_key(|p| after[*p].count())
        })
        .collect()
}

fn live_slots(blocks: &[Block], next: &[Vec<usize>], slots: &Slots) -> Vec<BTreeSet<Value>> {
    let loads: Vec<BTreeSet<Value>> = blocks
        .iter()
        .map(|b| {
            let all = b.instructions().into_iter();
            all.filter_map(|i| slots.loaded(i)).collect()
        })
        .collect();
    let stores: Vec<BTreeSet<Value>> = blocks
        .iter()
        .map(|b| {
            let all = b.instructions().into_iter();
            all.filter_map(|i| Some(slots.stored(i)?.0)).collect()
        })
        .collect();
    let mut live = loads;
    let mut changed = true;
    while changed {
        changed = false;
        for k in (0..blocks.len()).rev() {
            for s in &next[k] {
                let through: Vec<Value> = live[*s].difference(&stores[k]).copied().collect();
                for slot in through {
                    changed |= live[k].insert(slot);
                }
            }
        }
    }
    live
}

/// What a branch decides by: a condition or the value of a switch; none where it has one successor.
pub(super) fn condition(terminator: Value) -> Option<Value> {
    let several = terminator.successors().len() > 1;
    let by = matches!(
        terminator.opcode(),
        Some(Opcode::LLVMBr | Opcode::LLVMSwitch)
    );
    (several && by).then(|| terminator.operand(0))
}

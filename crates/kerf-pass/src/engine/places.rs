//! Where a conversion stands: as late as its users allow, but in as few loops as possible.
//!
//! Conversions are made right after the definition. One that only code behind a loop, or in one branch,
//! needs is moved there: among the blocks between definition and users, the last of those with the
//! fewest loops around.
use kerf_llvm::{Block, Opcode, Value};
use std::collections::BTreeMap;

/// Dominators and loops of a function.
pub(crate) struct Places {
    /// Blocks that can be reached, definitions before uses.
    pub(crate) blocks: Vec<Block>,
    pub(crate) number: BTreeMap<Block, usize>,
    /// The block that every way to a block goes through last.
    pub(crate) dominator: Vec<usize>,
    /// Loops around each.
    depth: Vec<u32>,
}

impl Places {
    pub(crate) fn from_function(f: Value) -> Places {
        let depth: BTreeMap<Block, u32> = f.blocks().into_iter().zip(f.loop_depths()).collect();
        let blocks = crate::shadow::reverse_postorder(f);
        let number: BTreeMap<Block, usize> =
            blocks.iter().enumerate().map(|(k, b)| (*b, k)).collect();
        let mut before = vec![Vec::new(); blocks.len()];
        for (k, b) in blocks.iter().enumerate() {
            for s in b.terminator().map(|t| t.successors()).unwrap_or_default() {
                before[number[&s]].push(k);
            }
        }
        // Cooper, Harvey and Kennedy: repeat in reverse postorder until nothing changes.
        const NONE: usize = usize::MAX;
        let mut dominator = vec![NONE; blocks.len()];
        if let Some(first) = dominator.first_mut() {
            *first = 0;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for k in 1..blocks.len() {
                let known = before[k].iter().copied().filter(|p| dominator[*p] != NONE);
                let new = known.reduce(|a, b| meet(&dominator, a, b)).unwrap_or(NONE);
                changed |= new != dominator[k];
                dominator[k] = new;
            }
        }
        Places {
            depth: blocks.iter().map(|b| depth[b]).collect(),
            blocks,
            number,
            dominator,
        }
    }

    /// Does every way to a block go through another?
    pub(crate) fn dominates(&self, a: usize, mut b: usize) -> bool {
        while b > a {
            b = self.dominator[b];
        }
        a == b
    }

    /// Of the blocks between one and another that it dominates, the last of those with the fewest loops around.
    pub(crate) fn least_loops(&self, from: usize, to: usize) -> usize {
        let (mut k, mut best) = (to, to);
        while k != from && k != 0 {
            k = self.dominator[k];
            if self.depth[k] < self.depth[best] {
                best = k;
            }
        }
        best
    }

    /// Where a conversion of something that block `from` defines belongs; none if nothing needs it.
    fn place(&self, c: Value, from: usize) -> Option<usize> {
        let mut at: Option<usize> = None;
        for u in c.users() {
            let blocks: Vec<Block> = match u.opcode() {
                Some(Opcode::LLVMPHI) => u
                    .incoming()
                    .into_iter()
                    .filter(|p| p.0 == c)
                    .map(|p| p.1)
                    .collect(),
                _ => vec![u.block()],
            };
            for b in blocks {
                let b = *self.number.get(&b)?;
                at = Some(at.map_or(b, |a| meet(&self.dominator, a, b)));
            }
        }
        Some(self.least_loops(from, at?))
    }
}

/// The last block that two have in common on every way to them.
fn meet(dominator: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if a > b {
            a = dominator[a];
        } else {
            b = dominator[b];
        }
    }
    a
}

/// Puts conversions, given in the order in which they were made, into their places.
pub(crate) fn settle(conversions: &[Value]) {
    let mut functions: BTreeMap<Value, Places> = BTreeMap::new();
    // A conversion may be of another one, which then stands where this one is.
    for c in conversions.iter().rev() {
        let f = c.block().function();
        let places = functions
            .entry(f)
            .or_insert_with(|| Places::from_function(f));
        let Some(from) = places.number.get(&c.block()) else {
            continue;
        };
        let Some(best) = places.place(*c, *from) else {
            continue;
        };
        if best != *from
            && let Some(at) = places.blocks[best].first_non_phi()
        {
            c.move_before(at);
        }
    }
}

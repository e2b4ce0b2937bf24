//! The control-flow graph of machine code: basic blocks, dominators and natural loops (Cooper, Harvey and Kennedy, A Simple, Fast
//! Dominance Algorithm).
use super::binary::{Instruction, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The reachable basic blocks of a kernel, without subroutines: those are the assembler's slow paths.
pub(super) struct FlowGraph {
    /// Instructions of each block.
    pub blocks: Vec<Range<usize>>,
    pub successors: Vec<Vec<usize>>,
    /// Reachable blocks in reverse postorder.
    pub order: Vec<usize>,
    pub immediate_dominator: BTreeMap<usize, usize>,
    /// None where only the exit postdominates a block.
    immediate_postdominator: BTreeMap<usize, usize>,
    /// Natural loops, header and body, smaller ones first.
    pub loops: Vec<(usize, BTreeSet<usize>)>,
}

impl FlowGraph {
    pub(super) fn from_code(code: &[Instruction]) -> FlowGraph {
        let mut leaders = BTreeSet::from([0]);
        for (k, i) in code.iter().enumerate() {
            leaders.extend(i.branch_target);
            if matches!(i.kind, Kind::Branch | Kind::Exit) {
                leaders.insert(k + 1);
            }
        }
        let leaders: Vec<usize> = leaders.into_iter().filter(|l| *l < code.len()).collect();
        let ends = leaders.iter().skip(1).copied().chain([code.len()]);
        let blocks: Vec<Range<usize>> = leaders
            .iter()
            .copied()
            .zip(ends)
            .map(|(a, b)| a..b)
            .collect();
        let place = |i: usize| leaders.binary_search(&i).ok();
        let successors = blocks.iter().map(|b| {
            let last = b.end.checked_sub(1).and_then(|l| code.get(l));
            let Some(last) = last else { return Vec::new() };
            let mut out = Vec::new();
            if last.kind == Kind::Branch {
                out.extend(last.branch_target.and_then(place));
            }
            let leaves = matches!(last.kind, Kind::Branch | Kind::Exit) && last.is_unpredicated;
            if !leaves {
                out.extend(place(b.end));
            }
            out
        });
        let successors: Vec<Vec<usize>> = successors.collect();
        let order = reverse_postorder(&successors);
        let immediate_dominator = dominators(&successors, &order);
        let exits = |b: &usize| {
            let last = code[blocks[*b].clone()].last();
            successors[*b].is_empty() || last.is_some_and(|i| i.kind == Kind::Exit)
        };
        let immediate_postdominator = postdominators(&successors, &order, &exits);
        let mut out = FlowGraph {
            blocks,
            successors,
            order,
            immediate_dominator,
            immediate_postdominator,
            loops: Vec::new(),
        };
        out.loops = out.find_loops();
        out
    }

    /// Does every path to `b` go through `a`?
    pub(super) fn dominates(&self, a: usize, mut b: usize) -> bool {
        while a != b {
            match self.immediate_dominator.get(&b) {
                Some(d) if *d != b => b = *d,
                _ => return false,
            }
        }
        true
    }

    /// Does every path from `b` to the exit go through `a`?
    fn postdominates(&self, a: usize, mut b: usize) -> bool {
        while a != b {
            match self.immediate_postdominator.get(&b) {
                Some(n) => b = *n,
                None => return false,
            }
        }
        true
    }

    /// For each block the first one that is control equivalent, which is executed equally often: it dominates the block, the
    /// block postdominates it, and both are in the same loops.
    pub(super) fn control_equivalent(&self) -> BTreeMap<usize, usize> {
        let inner = self.innermost_loop();
        let mut out = BTreeMap::new();
        for b in &self.order {
            let (mut first, mut d) = (*b, *b);
            while let Some(up) = self.immediate_dominator.get(&d).filter(|up| **up != d) {
                d = *up;
                if inner.get(&d) == inner.get(b) && self.postdominates(*b, d) {
                    first = d;
                }
            }
            out.insert(*b, first);
        }
        out
    }

    fn find_loops(&self) -> Vec<(usize, BTreeSet<usize>)> {
        let predecessors = predecessors(&self.successors, &self.order);
        let mut found: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for b in &self.order {
            for header in self.successors[*b]
                .iter()
                .filter(|h| self.dominates(**h, *b))
            {
                let body = found
                    .entry(*header)
                    .or_insert_with(|| BTreeSet::from([*header]));
                let mut left = vec![*b];
                while let Some(x) = left.pop() {
                    if body.insert(x) {
                        left.extend(predecessors.get(&x).into_iter().flatten());
                    }
                }
            }
        }
        let mut all: Vec<_> = found.into_iter().collect();
        all.sort_by_key(|l| (l.1.len(), l.0));
        all
    }

    /// The header of the innermost loop around each block.
    pub(super) fn innermost_loop(&self) -> BTreeMap<usize, usize> {
        let mut out = BTreeMap::new();
        for (header, body) in &self.loops {
            for b in body {
                out.entry(*b).or_insert(*header);
            }
        }
        out
    }
}

/// Immediate postdominators: dominators of the reversed graph, whose entry is the exit.
fn postdominators(
    successors: &[Vec<usize>],
    order: &[usize],
    exits: &dyn Fn(&usize) -> bool,
) -> BTreeMap<usize, usize> {
    let mut reversed: Vec<Vec<usize>> = vec![Vec::new(); successors.len() + 1];
    for b in order {
        if exits(b) {
            reversed[0].push(b + 1);
        }
        for n in &successors[*b] {
            reversed[n + 1].push(b + 1);
        }
    }
    let order = reverse_postorder(&reversed);
    let all = dominators(&reversed, &order);
    let real = all.into_iter().filter(|(b, d)| *b > 0 && *d > 0);
    real.map(|(b, d)| (b - 1, d - 1)).collect()
}

/// Blocks that the first one reaches, in reverse postorder.
fn reverse_postorder(successors: &[Vec<usize>]) -> Vec<usize> {
    let (mut seen, mut out) = (BTreeSet::from([0]), Vec::new());
    let mut stack = vec![(0, 0)];
    while let Some((b, k)) = stack.pop() {
        match successors.get(b).and_then(|n| n.get(k)) {
            Some(n) => {
                stack.push((b, k + 1));
                if seen.insert(*n) {
                    stack.push((*n, 0));
                }
            }
            None => out.push(b),
        }
    }
    out.reverse();
    out
}

fn predecessors(successors: &[Vec<usize>], order: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut out: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for b in order {
        for n in successors.get(*b).into_iter().flatten() {
            out.entry(*n).or_default().push(*b);
        }
    }
    out
}

fn dominators(successors: &[Vec<usize>], order: &[usize]) -> BTreeMap<usize, usize> {
    let predecessors = predecessors(successors, order);
    let place: BTreeMap<usize, usize> = order.iter().enumerate().map(|(k, b)| (*b, k)).collect();
    let mut out = BTreeMap::from([(0, 0)]);
    let mut changed = true;
    while changed {
        changed = false;
        for b in order.iter().skip(1) {
            let mut new: Option<usize> = None;
            for p in predecessors.get(b).into_iter().flatten() {
                if !out.contains_key(p) {
                    continue;
                }
                new = Some(match new {
                    None => *p,
                    Some(n) => {
                        let (mut x, mut y) = (*p, n);
                        while x != y {
                            match place[&x] > place[&y] {
                                true => x = out[&x],
                                false => y = out[&y],
                            }
                        }
                        x
                    }
                });
            }
            if let Some(n) = new {
                changed |= out.insert(*b, n) != Some(n);
            }
        }
    }
    out
}

//! Blocks and loops of machine code.
use super::binary::{Instruction, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The blocks of a kernel that can be reached, subroutines apart: those are slow paths of the assembler's own.
pub(super) struct Flow {
    pub blocks: Vec<Range<usize>>,
    pub next: Vec<Vec<usize>>,
    /// Blocks that can be reached, each after one that leads to it.
    pub order: Vec<usize>,
    /// The last block that every way to a block goes through.
    pub dominator: BTreeMap<usize, usize>,
    /// The next block that every way from a block to an end goes through; none where that is the end.
    after: BTreeMap<usize, usize>,
    /// Loops by their first block, smaller ones first.
    pub loops: Vec<(usize, BTreeSet<usize>)>,
}

impl Flow {
    pub(super) fn from_code(code: &[Instruction]) -> Flow {
        let mut leaders = BTreeSet::from([0]);
        for (k, i) in code.iter().enumerate() {
            leaders.extend(i.target);
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
        let next = blocks.iter().map(|b| {
            let last = b.end.checked_sub(1).and_then(|l| code.get(l));
            let Some(last) = last else { return Vec::new() };
            let mut out = Vec::new();
            if last.kind == Kind::Branch {
                out.extend(last.target.and_then(place));
            }
            let leaves = matches!(last.kind, Kind::Branch | Kind::Exit) && last.always;
            if !leaves {
                out.extend(place(b.end));
            }
            out
        });
        let next: Vec<Vec<usize>> = next.collect();
        let order = reached(&next);
        let dominator = dominators(&next, &order);
        let ends = |b: &usize| {
            let last = code[blocks[*b].clone()].last();
            next[*b].is_empty() || last.is_some_and(|i| i.kind == Kind::Exit)
        };
        let after = after(&next, &order, &ends);
        let mut out = Flow {
            blocks,
            next,
            order,
            dominator,
            after,
            loops: Vec::new(),
        };
        out.loops = out.find_loops();
        out
    }

    /// Does every way to a block go through another?
    pub(super) fn dominates(&self, a: usize, mut b: usize) -> bool {
        while a != b {
            match self.dominator.get(&b) {
                Some(d) if *d != b => b = *d,
                _ => return false,
            }
        }
        true
    }

    /// Does every way from a block go through another?
    fn follows(&self, a: usize, mut b: usize) -> bool {
        while a != b {
            match self.after.get(&b) {
                Some(n) => b = *n,
                None => return false,
            }
        }
        true
    }

    /// The first of the blocks that run exactly as often as each: every way to it leads through that one, every way from
    /// that one through it, and both are in the same loops.
    pub(super) fn together(&self) -> BTreeMap<usize, usize> {
        let inner = self.innermost();
        let mut out = BTreeMap::new();
        for b in &self.order {
            let (mut first, mut d) = (*b, *b);
            while let Some(up) = self.dominator.get(&d).filter(|up| **up != d) {
                d = *up;
                if inner.get(&d) == inner.get(b) && self.follows(*b, d) {
                    first = d;
                }
            }
            out.insert(*b, first);
        }
        out
    }

    fn find_loops(&self) -> Vec<(usize, BTreeSet<usize>)> {
        let before = before(&self.next, &self.order);
        let mut found: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for b in &self.order {
            for head in self.next[*b].iter().filter(|h| self.dominates(**h, *b)) {
                let body = found
                    .entry(*head)
                    .or_insert_with(|| BTreeSet::from([*head]));
                let mut left = vec![*b];
                while let Some(x) = left.pop() {
                    if body.insert(x) {
                        left.extend(before.get(&x).into_iter().flatten());
                    }
                }
            }
        }
        let mut all: Vec<_> = found.into_iter().collect();
        all.sort_by_key(|l| (l.1.len(), l.0));
        all
    }

    /// The first block of the smallest loop around each block.
    pub(super) fn innermost(&self) -> BTreeMap<usize, usize> {
        let mut out = BTreeMap::new();
        for (head, body) in &self.loops {
            for b in body {
                out.entry(*b).or_insert(*head);
            }
        }
        out
    }
}

/// The next block after each that every way to an end goes through.
fn after(
    next: &[Vec<usize>],
    order: &[usize],
    ends: &dyn Fn(&usize) -> bool,
) -> BTreeMap<usize, usize> {
    // Ways turned round, with the end as the first block.
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); next.len() + 1];
    for b in order {
        if ends(b) {
            back[0].push(b + 1);
        }
        for n in &next[*b] {
            back[n + 1].push(b + 1);
        }
    }
    let order = reached(&back);
    let all = dominators(&back, &order);
    let real = all.into_iter().filter(|(b, d)| *b > 0 && *d > 0);
    real.map(|(b, d)| (b - 1, d - 1)).collect()
}

/// Blocks that the first leads to, in reverse order of leaving them.
fn reached(next: &[Vec<usize>]) -> Vec<usize> {
    let (mut seen, mut out) = (BTreeSet::from([0]), Vec::new());
    let mut stack = vec![(0, 0)];
    while let Some((b, k)) = stack.pop() {
        match next.get(b).and_then(|n| n.get(k)) {
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

fn before(next: &[Vec<usize>], order: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut out: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for b in order {
        for n in next.get(*b).into_iter().flatten() {
            out.entry(*n).or_default().push(*b);
        }
    }
    out
}

fn dominators(next: &[Vec<usize>], order: &[usize]) -> BTreeMap<usize, usize> {
    let before = before(next, order);
    let place: BTreeMap<usize, usize> = order.iter().enumerate().map(|(k, b)| (*b, k)).collect();
    let mut out = BTreeMap::from([(0, 0)]);
    let mut changed = true;
    while changed {
        changed = false;
        for b in order.iter().skip(1) {
            let mut new: Option<usize> = None;
            for p in before.get(b).into_iter().flatten() {
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

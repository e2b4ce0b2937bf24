//! Upper ends: what comparisons say of indices and loop variables, and the last element that an index reaches.
use super::polynomial::{DEGREE, without};
use super::reader::Reader;
use super::{Polynomial, Symbol};
use kerf_llvm::{IntPred, Value};
use std::collections::BTreeMap;

/// `ctaid * ntid + tid` along an axis.
pub(super) fn everywhere(axis: usize) -> Polynomial {
    let mut k = vec![Symbol::Block(axis), Symbol::BlockIndex(axis)];
    k.sort_unstable();
    Polynomial([(k, 1), (vec![Symbol::Thread(axis)], 1)].into())
}

/// The values that a maximum is taken of, or the one value that is none: the optimiser makes one comparison of
/// `x < n && y < n`, of the larger of both.
fn terms_of_maximum(v: Value) -> Vec<Value> {
    let mut out = vec![v];
    for _ in 0..3 {
        let split = |v: Value| {
            let name = v.callee_name().unwrap_or_default();
            let maximum = name.starts_with("llvm.smax.") || name.starts_with("llvm.umax.");
            if maximum { v.args() } else { vec![v] }
        };
        out = out.into_iter().flat_map(split).collect();
    }
    out
}

impl Reader<'_> {
    /// What a comparison says of a thread's index or a loop's variable.
    pub(super) fn guard(&mut self, c: Value) {
        let Some((a, b)) = self.two(c) else { return };
        use IntPred::*;
        // `<` and its negation bound alike; `<=` and `>` by one more.
        let (strict, swapped) = match c.int_pred() {
            LLVMIntSLT | LLVMIntULT | LLVMIntSGE | LLVMIntUGE => (0, 1),
            LLVMIntSLE | LLVMIntULE | LLVMIntSGT | LLVMIntUGT => (1, 0),
            LLVMIntEQ | LLVMIntNE => (0, 0),
        };
        for (side, by, more) in [(0, &b, strict), (1, &a, swapped)] {
            for what in terms_of_maximum(c.operand(side)) {
                if let Some(what) = self.polynomial(what) {
                    self.bound(&what, by, more);
                }
            }
        }
    }

    /// `what` is below `by + more`.
    fn bound(&mut self, what: &Polynomial, by: &Polynomial, more: i128) {
        let fixed = |k: &Vec<Symbol>| k.iter().all(Symbol::is_argument);
        // What is fixed on this side goes to the other: `t + 1 + i < n` bounds i by `n - t - 1`.
        let (rest, moving): (BTreeMap<_, _>, BTreeMap<_, _>) =
            what.0.clone().into_iter().partition(|(k, _)| fixed(k));
        let (rest, moving) = (Polynomial(rest), Polynomial(moving));
        if !by.is_fixed() || by.constant().is_some_and(|c| c <= 1) || moving.0.is_empty() {
            return;
        }
        let end = by.plus(&rest, -1).plus(&Polynomial::number(more), 1);
        for axis in 0..3 {
            let whole = moving == everywhere(axis);
            let lone = moving == Polynomial::symbol(Symbol::BlockIndex(axis));
            if whole || lone {
                wider(&mut self.threads[axis], &end);
            }
        }
        // `i + stride < n` at the end of a turn is `i < n` at its start.
        let turns = moving
            .0
            .iter()
            .filter_map(|(k, v)| match (k.as_slice(), v) {
                ([Symbol::Turn(t)], 1) => Some(*t),
                _ => None,
            });
        let turns: Vec<usize> = turns.collect();
        let step = |k: &Vec<Symbol>| {
            let steady = |s: &Symbol| matches!(s, Symbol::Block(_) | Symbol::Grid(_));
            k.iter().any(steady) && !k.iter().any(|s| matches!(s, Symbol::Turn(_)))
        };
        let others = moving
            .0
            .keys()
            .filter(|k| !matches!(k[..], [Symbol::Turn(_)]));
        if let ([t], true) = (&turns[..], others.into_iter().all(step)) {
            // As many threads as the quotient's end asks for.
            if let Some((whole, divisor)) = self.quotients.get(t)
                && let Some(axis) = (0..3).find(|a| *whole == everywhere(*a))
                && let Some(threads) = end.times(&Polynomial::number(*divisor))
            {
                wider(&mut self.threads[axis], &threads);
            }
            let loose = rest.constant().filter(|c| *c > 0).unwrap_or(0);
            let end = end.plus(&Polynomial::number(loose), 1);
            let mut kept = self.below.remove(t);
            wider(&mut kept, &end);
            if let Some(e) = kept {
                self.below.insert(*t, e);
            }
        }
    }

    /// The largest value, every symbol that is not a parameter put at its end.
    pub(super) fn largest(&self, p: &Polynomial) -> Option<Polynomial> {
        let one = Polynomial::number(1);
        let mut p = p.clone();
        for axis in 0..3 {
            let Some(end) = &self.threads[axis] else {
                continue;
            };
            // Each product with a block's index and the block's size goes with one of the thread's index.
            let last = end.plus(&one, -1);
            let terms: Vec<(Vec<Symbol>, i128)> = p.0.clone().into_iter().collect();
            for (k, v) in terms {
                let Some(rest) = without(&k, &[Symbol::Block(axis), Symbol::BlockIndex(axis)])
                else {
                    continue;
                };
                let mut mate = rest.clone();
                mate.push(Symbol::Thread(axis));
                mate.sort_unstable();
                if p.0.get(&mate) == Some(&v) {
                    p.0.remove(&k);
                    p.0.remove(&mate);
                    p = p.plus(&Polynomial([(rest, v)].into()).times(&last)?, 1);
                }
            }
        }
        // What is left is replaced symbol by symbol; a loop's end may hold another loop's variable.
        for _ in 0..2 * DEGREE {
            let Some(s) = p.0.keys().flatten().find(|s| !self.settled(s)).copied() else {
                break;
            };
            let last = match s {
                Symbol::Thread(a) => Polynomial::symbol(Symbol::Block(a)).plus(&one, -1),
                Symbol::BlockIndex(a) => match &self.threads[a] {
                    Some(end) => end.plus(&one, -1),
                    None => return None,
                },
                Symbol::Turn(t) => match (self.below.get(&t), self.quotients.get(&t)) {
                    (Some(end), _) => end.plus(&one, -1),
                    (None, Some((whole, _))) => whole.clone(),
                    _ => return None,
                },
                _ => return None,
            };
            let mut next = Polynomial::default();
            for (k, v) in &p.0 {
                let factor = match without(k, &[s]) {
                    Some(rest) => Polynomial([(rest, *v)].into()).times(&last)?,
                    None => Polynomial([(k.clone(), *v)].into()),
                };
                next = next.plus(&factor, 1);
            }
            p = next;
        }
        Some(p)
    }
}

/// Keeps the larger of two ends.
pub(super) fn wider(kept: &mut Option<Polynomial>, end: &Polynomial) {
    if kept.as_ref().is_none_or(|k| end.typical() > k.typical()) {
        *kept = Some(end.clone());
    }
}

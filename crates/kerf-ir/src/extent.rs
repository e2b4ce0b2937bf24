//! How far a kernel reaches: the extents of what its pointers point to and of its threads, as polynomials of
//! its parameters.
//!
//! Indices are expanded into sums of products of parameters, thread indices and loop variables. Comparisons of
//! these with parameters (`if (i < n)`, `k < m` of a loop) bound them, and the bounds put into an index give the
//! last element: `row * n + column` with `row < m` and `column < n` is below `m * n`. All quantities are
//! taken to be positive, and every comparison to be a guard, so an extent is a proposal, not a proof.
mod polynomial;
mod uses;

pub use polynomial::{Polynomial, Symbol};

use crate::llvm::{IntPred, Module, Opcode, Type, TypeKind, Value};
use polynomial::DEGREE;
use std::collections::BTreeMap;
use uses::{accesses, array, becomes_index, of_a_warp};

/// What a pointer parameter is used for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// One past the last byte; none where an index comes from memory or is not understood.
    pub bytes: Option<Polynomial>,
    /// It is read.
    pub read: bool,
    /// It is written.
    pub written: bool,
    /// What is read from it becomes an index.
    pub index: bool,
    /// Where that is into an array of the program: its elements, the fewest if there are several.
    pub of_array: Option<u64>,
}

/// What the indices of a kernel along an axis stand for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Along {
    /// The kernel does not ask for them.
    #[default]
    Nothing,
    /// Threads of all blocks: `blockIdx.x * blockDim.x + threadIdx.x`.
    Threads,
    /// Threads of one block; blocks are not told apart.
    Within,
    /// A block for each item, its threads share the item.
    Shared,
    /// A block for each item; its threads are not told apart.
    Blocks,
}

impl Along {
    /// Are threads of a block told apart?
    pub fn threads(self) -> bool {
        matches!(self, Self::Threads | Self::Within | Self::Shared)
    }

    /// Is there a block for each item?
    pub fn by_block(self) -> bool {
        matches!(self, Self::Shared | Self::Blocks)
    }
}

/// The extents of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extents {
    /// By parameter; of pointers only.
    pub reach: BTreeMap<usize, Reach>,
    /// Threads along x, y, z, or blocks where each has an item, where they are bounded; none if the axis is not used
    /// or not bounded.
    pub threads: [Option<Polynomial>; 3],
    /// Integer parameters that are positions, not sizes; extents are where these are zero.
    pub positions: Vec<usize>,
    /// What the indices along the axes stand for.
    pub axes: [Along; 3],
    /// Threads of a warp exchange values.
    pub warps: bool,
    /// Integer parameters that the code does not use.
    pub unused: Vec<usize>,
    /// Block sizes that the code is written for: it has `blockIdx.x * 32 + threadIdx.x`.
    pub made_for: [Option<i128>; 3],
}

struct Reader<'m> {
    m: &'m Module,
    kernel: Value,
    turns: Vec<Value>,
    known: BTreeMap<Value, Option<Polynomial>>,
    /// Upper ends, exclusive, of loop variables.
    below: BTreeMap<usize, Polynomial>,
    /// Of those that are quotients, as a warp's number: what is divided, and by what.
    quotients: BTreeMap<usize, (Polynomial, i128)>,
    threads: [Option<Polynomial>; 3],
    /// Axes along which the thread's index in its block, and the block's, are asked for.
    asked: [(bool, bool); 3],
    made_for: [Option<i128>; 3],
}

/// `ctaid * ntid + tid` along an axis.
fn everywhere(axis: usize) -> Polynomial {
    let mut k = vec![Symbol::Block(axis), Symbol::BlockIndex(axis)];
    k.sort_unstable();
    Polynomial([(k, 1), (vec![Symbol::Thread(axis)], 1)].into())
}

impl Reader<'_> {
    fn of(&mut self, v: Value) -> Option<Polynomial> {
        if let Some(k) = self.known.get(&v) {
            return k.clone();
        }
        if !v.ty().is_int() || v.ty().int_bits() > 64 {
            return None;
        }
        let r = self.read(v);
        self.known.insert(v, r.clone());
        r
    }

    fn two(&mut self, v: Value) -> Option<(Polynomial, Polynomial)> {
        Some((self.of(v.operand(0))?, self.of(v.operand(1))?))
    }

    fn read(&mut self, v: Value) -> Option<Polynomial> {
        use Opcode::*;
        if let Some(c) = v.const_int() {
            let unused = 64 - v.ty().int_bits();
            return Some(Polynomial::number(i128::from(
                (c << unused) as i64 >> unused,
            )));
        }
        if v.is_argument() {
            let at = self.kernel.params().iter().position(|p| *p == v)?;
            return Some(Polynomial::symbol(Symbol::Parameter(at)));
        }
        match v.opcode()? {
            LLVMAdd => self.two(v).map(|(a, b)| self.whole(a.plus(&b, 1))),
            LLVMSub => self.two(v).map(|(a, b)| a.plus(&b, -1)),
            LLVMMul => self.two(v).and_then(|(a, b)| a.times(&b)),
            LLVMShl => {
                let by = v.operand(1).const_int().filter(|s| *s < 63)?;
                self.of(v.operand(0))?.times(&Polynomial::number(1 << by))
            }
            // Where the bits do not overlap, as the optimiser writes sums.
            LLVMOr => self.two(v).map(|(a, b)| self.whole(a.plus(&b, 1))),
            LLVMSExt | LLVMZExt | LLVMTrunc | LLVMFreeze => self.of(v.operand(0)),
            // A mask that clears low bits, as of an unrolled loop.
            LLVMAnd => {
                let mask = v.operand(1).const_int()? as i64;
                let unused = 64 - v.ty().int_bits();
                match mask << unused >> unused {
                    m if m < 0 => self.of(v.operand(0)),
                    m => Some(Polynomial::number(i128::from(m))),
                }
            }
            LLVMSDiv | LLVMUDiv | LLVMLShr | LLVMAShr => {
                let p = self.of(v.operand(0))?;
                let by = v.operand(1).const_int().filter(|c| *c < 32);
                let by = by.map(|c| match v.opcode() {
                    Some(LLVMLShr | LLVMAShr) => 1i128 << c,
                    _ => i128::from(c),
                });
                match by {
                    Some(by) if by > 1 && !p.is_fixed() => {
                        let at = self.turn(v);
                        self.quotients.insert(at, (p, by));
                        Some(Polynomial::symbol(Symbol::Turn(at)))
                    }
                    _ => Some(p),
                }
            }
            LLVMSRem | LLVMURem => {
                let n = self.of(v.operand(1))?;
                Some(n.plus(&Polynomial::number(-1), 1))
            }
            LLVMPHI => Some(Polynomial::symbol(Symbol::Turn(self.turn(v)))),
            LLVMSelect => {
                let (a, b) = (self.of(v.operand(1)), self.of(v.operand(2)));
                a.filter(|a| a.constant().is_none()).or(b)
            }
            LLVMCall => self.call(v),
            _ => None,
        }
    }

    /// The number of a value that stands for itself.
    fn turn(&mut self, v: Value) -> usize {
        let known = self.turns.iter().position(|t| *t == v);
        known.unwrap_or_else(|| {
            self.turns.push(v);
            self.turns.len() - 1
        })
    }

    /// A thread's index with the block's size as a number, written with the size's symbol.
    fn whole(&mut self, mut p: Polynomial) -> Polynomial {
        for axis in 0..3 {
            let block = vec![Symbol::BlockIndex(axis)];
            let (Some(b), Some(t)) = (
                p.0.get(&block).copied(),
                p.0.get(&vec![Symbol::Thread(axis)]).copied(),
            ) else {
                continue;
            };
            let size = b / t;
            if t < 1 || b % t != 0 || !(2..=1024).contains(&size) {
                continue;
            }
            // A block is not smaller than a warp: `blockIdx.x * 4 + threadIdx.x` is one of four results.
            let others = (0..3).filter(|a| *a != axis).any(|a| self.asked[a].0);
            if size < 32 && !others {
                continue;
            }
            if *self.made_for[axis].get_or_insert(size) == size {
                p.0.remove(&block);
                let mut k = vec![Symbol::Block(axis), Symbol::BlockIndex(axis)];
                k.sort_unstable();
                p = p.plus(&Polynomial([(k, t)].into()), 1);
            }
        }
        p
    }

    fn call(&mut self, v: Value) -> Option<Polynomial> {
        let name = v.callee_name()?;
        let n = name.strip_prefix("llvm.")?;
        if let Some(register) = n.strip_prefix("nvvm.read.ptx.sreg.") {
            let (what, axis) = register.split_once('.')?;
            let axis = ["x", "y", "z"].iter().position(|a| *a == axis)?;
            let s = match what {
                "tid" => Symbol::Thread(axis),
                "ctaid" => Symbol::BlockIndex(axis),
                "ntid" => Symbol::Block(axis),
                "nctaid" => Symbol::Grid(axis),
                _ => return None,
            };
            self.asked[axis].0 |= what == "tid";
            self.asked[axis].1 |= what == "ctaid";
            return Some(Polynomial::symbol(s));
        }
        if n.starts_with("smin") || n.starts_with("umin") {
            let (a, b) = (self.of(v.operand(0)), self.of(v.operand(1)));
            return match (a, b) {
                (Some(a), Some(b)) => Some(if b.is_fixed() { b } else { a }),
                (a, b) => a.or(b),
            };
        }
        if n.starts_with("smax") || n.starts_with("umax") {
            let (a, b) = self.two(v)?;
            return Some(if a.constant().is_some() { b } else { a });
        }
        None
    }

    /// What a comparison says of a thread's index or a loop's variable.
    fn guard(&mut self, c: Value) {
        let Some((a, b)) = self.two(c) else { return };
        use IntPred::*;
        // `<` and its negation bound alike; `<=` and `>` by one more.
        let (strict, swapped) = match c.int_pred() {
            LLVMIntSLT | LLVMIntULT | LLVMIntSGE | LLVMIntUGE => (0, 1),
            LLVMIntSLE | LLVMIntULE | LLVMIntSGT | LLVMIntUGT => (1, 0),
            LLVMIntEQ | LLVMIntNE => (0, 0),
        };
        self.bound(&a, &b, strict);
        self.bound(&b, &a, swapped);
    }

    /// `what` is below `by + more`.
    fn bound(&mut self, what: &Polynomial, by: &Polynomial, more: i128) {
        let fixed = |k: &Vec<Symbol>| k.iter().all(|s| matches!(s, Symbol::Parameter(_)));
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
    fn largest(&self, p: &Polynomial) -> Option<Polynomial> {
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

    /// What the indices along an axis stand for, once the whole kernel is read.
    fn along(&self, axis: usize) -> Along {
        let joined = |p: &Polynomial| {
            let both = [Symbol::Block(axis), Symbol::BlockIndex(axis)];
            p.0.keys().any(|k| without(k, &both).is_some())
        };
        match self.asked[axis] {
            (false, false) => Along::Nothing,
            (true, false) => Along::Within,
            (false, true) => Along::Blocks,
            (true, true) if self.known.values().flatten().any(joined) => Along::Threads,
            (true, true) => Along::Shared,
        }
    }

    fn settled(&self, s: &Symbol) -> bool {
        matches!(s, Symbol::Parameter(_) | Symbol::Block(_) | Symbol::Grid(_))
    }

    /// Bytes from the start of a parameter, as a polynomial.
    fn offset(&mut self, v: Value) -> Option<(usize, Option<Polynomial>)> {
        if v.is_argument() {
            let at = self.kernel.params().iter().position(|p| *p == v)?;
            return Some((at, Some(Polynomial::default())));
        }
        match v.opcode()? {
            Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast | Opcode::LLVMFreeze => {
                self.offset(v.operand(0))
            }
            Opcode::LLVMGetElementPtr => {
                let (at, base) = self.offset(v.operand(0))?;
                let by = self.steps(v);
                Some((at, base.zip(by).map(|(a, b)| a.plus(&b, 1))))
            }
            // A pointer that moves through a loop: where it goes is not followed.
            Opcode::LLVMPHI | Opcode::LLVMSelect => {
                let from = match v.opcode()? {
                    Opcode::LLVMPHI => v.incoming().first()?.0,
                    _ => v.operand(1),
                };
                (from != v)
                    .then(|| self.offset(from))
                    .flatten()
                    .map(|(at, _)| (at, None))
            }
            _ => None,
        }
    }

    fn steps(&mut self, v: Value) -> Option<Polynomial> {
        let operands = v.operands();
        let mut sum = Polynomial::default();
        let mut t: Type = v.gep_type();
        for (k, i) in operands[1..].iter().enumerate() {
            if k > 0 {
                t = match t.kind() {
                    TypeKind::LLVMStructTypeKind => {
                        let field = i.const_int()? as usize;
                        let by = self.m.field_offset(t, field as u32);
                        sum = sum.plus(&Polynomial::number(i128::from(by)), 1);
                        t = *t.fields().get(field)?;
                        continue;
                    }
                    _ => t.element(),
                };
            }
            let size = Polynomial::number(i128::from(self.m.size_of(t)));
            sum = sum.plus(&self.of(*i)?.times(&size)?, 1);
        }
        Some(sum)
    }
}

/// Keeps the larger of two ends.
fn wider(kept: &mut Option<Polynomial>, end: &Polynomial) {
    if kept.as_ref().is_none_or(|k| end.typical() > k.typical()) {
        *kept = Some(end.clone());
    }
}

/// A product without some of its symbols; none if they are not in it.
fn without(k: &[Symbol], some: &[Symbol]) -> Option<Vec<Symbol>> {
    let mut rest = k.to_vec();
    for s in some {
        let at = rest.iter().position(|r| r == s)?;
        rest.remove(at);
    }
    Some(rest)
}

/// Reads the extents of a kernel off its code.
pub fn extents(m: &Module, kernel: Value) -> Extents {
    let mut r = Reader {
        m,
        kernel,
        turns: Vec::new(),
        known: BTreeMap::new(),
        below: BTreeMap::new(),
        quotients: BTreeMap::new(),
        threads: [None, None, None],
        asked: [(false, false); 3],
        made_for: [None; 3],
    };
    let all: Vec<Value> = kernel
        .blocks()
        .into_iter()
        .flat_map(|b| b.instructions())
        .collect();
    // First which indices there are.
    for i in all.iter().filter(|i| i.opcode() == Some(Opcode::LLVMCall)) {
        r.of(*i);
    }
    for i in &all {
        if i.opcode() == Some(Opcode::LLVMICmp) && i.operand(0).ty().is_int() {
            r.guard(*i);
        } else if i.opcode() == Some(Opcode::LLVMMul) {
            r.of(*i);
        }
    }
    // A loop that begins at a thread's index or a block's and steps by all of them bounds these as well.
    for t in 0..r.turns.len() {
        let (v, Some(end)) = (r.turns[t], r.below.get(&t).cloned()) else {
            continue;
        };
        if v.opcode() != Some(Opcode::LLVMPHI) {
            continue;
        }
        for (from, _) in v.incoming() {
            if let Some(p) = r.of(from)
                && let Some(axis) = (0..3).find(|a| {
                    p == everywhere(*a) || p == Polynomial::symbol(Symbol::BlockIndex(*a))
                })
            {
                wider(&mut r.threads[axis], &end);
            }
        }
    }
    // A block's number chooses an element of an array of the program.
    for i in &all {
        if i.opcode() != Some(Opcode::LLVMGetElementPtr) {
            continue;
        }
        for index in &i.operands()[1..] {
            let Some(p) = r.of(*index) else { continue };
            let mut terms = p.0.iter();
            if let (Some((k, step)), None) = (terms.next(), terms.next())
                && let [Symbol::BlockIndex(axis)] = k[..]
                && let Some(n) = array(m, *i, *index)
                && r.threads[axis].is_none()
                && (1..=i128::from(n)).contains(step)
            {
                r.threads[axis] = Some(Polynomial::number(i128::from(n) / step));
            }
        }
    }
    let mut reach: BTreeMap<usize, Reach> = BTreeMap::new();
    let warps = all.iter().any(|i| of_a_warp(*i));
    for i in all {
        for (pointer, size, read, written) in accesses(m, i) {
            let Some((at, offset)) = r.offset(pointer) else {
                continue;
            };
            let size = Polynomial::number(i128::from(size));
            let end = offset.and_then(|o| Some(r.largest(&o)?.plus(&size, 1)));
            let e = reach.entry(at).or_default();
            e.read |= read;
            e.written |= written;
            if read && i.ty().is_int() {
                let (index, of) = becomes_index(m, i);
                e.index |= index;
                e.of_array = e.of_array.into_iter().chain(of).min();
            }
            if let Some(end) = end {
                wider(&mut e.bytes, &end);
            }
        }
    }
    let mut positions: Vec<usize> = r
        .threads
        .iter()
        .flatten()
        .flat_map(Polynomial::positions)
        .collect();
    positions.sort_unstable();
    positions.dedup();
    for p in reach
        .values_mut()
        .filter_map(|r| r.bytes.as_mut())
        .chain(r.threads.iter_mut().flatten())
    {
        *p = p.at_zero(&positions);
    }
    let axes = [0, 1, 2].map(|a| r.along(a));
    let params = kernel.params().into_iter().enumerate();
    let unused = params
        .filter(|(_, p)| p.ty().is_int() && p.users().is_empty())
        .map(|(at, _)| at)
        .collect();
    // `threadIdx.y * 32 + threadIdx.x`: a warp a row.
    let row = |p: &Polynomial| {
        let of = |axis| p.0.get(&vec![Symbol::Thread(axis)]);
        (of(0), of(1)) == (Some(&1), Some(&32))
    };
    if warps && r.known.values().flatten().any(row) {
        r.made_for[0].get_or_insert(32);
    }
    Extents {
        reach,
        positions,
        threads: r.threads,
        axes,
        warps,
        unused,
        made_for: r.made_for,
    }
}

#[cfg(test)]
mod tests;

//! Integers of a kernel as polynomials of its parameters, thread indices and loop variables.
use super::super::{MOST_STEPS, SpecialRegister, signed_constant, special_register};
use super::polynomial::{TERMS, without};
use super::{IndexMeaning, Polynomial, Symbol};
use kerf_llvm::{Module, Opcode, Value};
use std::collections::BTreeMap;

/// Operations that a thread's number in its block is made of.
const LONGEST_RANK: usize = 50;

pub(super) struct Reader<'m> {
    pub(super) m: &'m Module,
    pub(super) kernel: Value,
    pub(super) params: Vec<Value>,
    /// Values that stand for themselves: loop variables, quotients, integers from memory.
    pub(super) turns: Vec<Value>,
    turn_numbers: BTreeMap<Value, usize>,
    pub(super) known: BTreeMap<Value, Option<Polynomial>>,
    /// Calls of [`Reader::polynomial`] and steps between pointers that are under way.
    pub(super) depth: u32,
    /// Upper ends, exclusive, of loop variables.
    pub(super) below: BTreeMap<usize, Polynomial>,
    /// Of those that are quotients, as a warp's number: what is divided, and by what.
    pub(super) quotients: BTreeMap<usize, (Polynomial, i128)>,
    pub(super) threads: [Option<Polynomial>; 3],
    /// Axes along which the thread's index in its block, and the block's, are asked for.
    pub(super) asked: [(bool, bool); 3],
    pub(super) made_for: [Option<i128>; 3],
}

impl<'m> Reader<'m> {
    pub(super) fn new(m: &'m Module, kernel: Value) -> Reader<'m> {
        Reader {
            m,
            kernel,
            params: kernel.params(),
            turns: Vec::new(),
            turn_numbers: BTreeMap::new(),
            known: BTreeMap::new(),
            depth: 0,
            below: BTreeMap::new(),
            quotients: BTreeMap::new(),
            threads: [None, None, None],
            asked: [(false, false); 3],
            made_for: [None; 3],
        }
    }

    /// An integer as a polynomial; none where it is not one, or of too many products, or too far from its operands.
    pub(super) fn polynomial(&mut self, v: Value) -> Option<Polynomial> {
        if let Some(k) = self.known.get(&v) {
            return k.clone();
        }
        if !v.ty().is_int() || v.ty().int_bits() > 64 || self.depth >= MOST_STEPS {
            return None;
        }
        self.depth += 1;
        let r = self.read(v).filter(|p| p.0.len() <= TERMS);
        self.depth -= 1;
        self.known.insert(v, r.clone());
        r
    }

    pub(super) fn two(&mut self, v: Value) -> Option<(Polynomial, Polynomial)> {
        Some((
            self.polynomial(v.operand(0))?,
            self.polynomial(v.operand(1))?,
        ))
    }

    fn read(&mut self, v: Value) -> Option<Polynomial> {
        use Opcode::*;
        if let Some(c) = signed_constant(v) {
            return Some(Polynomial::number(i128::from(c)));
        }
        if v.is_argument() {
            let at = self.params.iter().position(|p| *p == v)?;
            return Some(Polynomial::symbol(Symbol::Parameter(at)));
        }
        match v.opcode()? {
            LLVMAdd => self.two(v).map(|(a, b)| self.whole(a.plus(&b, 1))),
            LLVMSub => self.two(v).map(|(a, b)| a.plus(&b, -1)),
            LLVMMul => self.two(v).and_then(|(a, b)| a.times(&b)),
            LLVMShl => {
                let by = v.operand(1).const_int().filter(|s| *s < 63)?;
                self.polynomial(v.operand(0))?
                    .times(&Polynomial::number(1 << by))
            }
            // Where the bits do not overlap, as the optimiser writes sums.
            LLVMOr => self.two(v).map(|(a, b)| self.whole(a.plus(&b, 1))),
            LLVMSExt | LLVMZExt | LLVMTrunc | LLVMFreeze => self.polynomial(v.operand(0)),
            // A mask that clears low bits, as of an unrolled loop.
            LLVMAnd => match signed_constant(v.operand(1))? {
                m if m < 0 => self.polynomial(v.operand(0)),
                m => Some(Polynomial::number(i128::from(m))),
            },
            LLVMSDiv | LLVMUDiv | LLVMLShr | LLVMAShr => {
                let p = self.polynomial(v.operand(0))?;
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
                let n = self.polynomial(v.operand(1))?;
                Some(n.plus(&Polynomial::number(-1), 1))
            }
            LLVMPHI => Some(Polynomial::symbol(Symbol::Turn(self.turn(v)))),
            LLVMSelect => {
                let (a, b) = (self.polynomial(v.operand(1)), self.polynomial(v.operand(2)));
                a.filter(|a| a.constant().is_none()).or(b)
            }
            LLVMCall => self.call(v),
            LLVMLoad => Some(Polynomial::symbol(match self.member(v) {
                Some((at, byte)) => Symbol::Member(at, byte),
                None => Symbol::Turn(self.turn(v)),
            })),
            _ => None,
        }
    }

    /// The number of a value that stands for itself.
    pub(super) fn turn(&mut self, v: Value) -> usize {
        let next = self.turns.len();
        let at = *self.turn_numbers.entry(v).or_insert(next);
        if at == next {
            self.turns.push(v);
        }
        at
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
        if let Some(register) = special_register(v) {
            let s = match register {
                SpecialRegister::ThreadIndex(axis) => {
                    self.asked[axis].0 = true;
                    Symbol::Thread(axis)
                }
                SpecialRegister::BlockIndex(axis) => {
                    self.asked[axis].1 = true;
                    Symbol::BlockIndex(axis)
                }
                SpecialRegister::BlockSize(axis) => Symbol::Block(axis),
                SpecialRegister::GridSize(axis) => Symbol::Grid(axis),
                _ => return None,
            };
            return Some(Polynomial::symbol(s));
        }
        if n.starts_with("smin") || n.starts_with("umin") {
            let (a, b) = (self.polynomial(v.operand(0)), self.polynomial(v.operand(1)));
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

    /// Is a thread's index along y or z only part of its number in the block, `(z * blockDim.y + y) * blockDim.x + x`? A block
    /// that lies along x then numbers its threads as well.
    fn only_in_rank(&self, axis: usize) -> bool {
        let reads = |v: Value, register| special_register(v) == Some(register);
        let own = SpecialRegister::ThreadIndex(axis);
        let calls = self.kernel.instructions().into_iter();
        let mut open: Vec<Value> = calls.filter(|i| reads(*i, own)).collect();
        let mut next = 0;
        while let Some(v) = open.get(next).copied() {
            next += 1;
            for u in v.users() {
                use Opcode::*;
                let factors = || u.operands().into_iter().filter(|o| *o != v);
                match u.opcode() {
                    Some(LLVMMul) if factors().any(|f| reads(f, SpecialRegister::BlockSize(0))) => {
                    }
                    Some(LLVMMul) if factors().any(|f| reads(f, SpecialRegister::BlockSize(1))) => {
                        open.push(u)
                    }
                    Some(LLVMAdd | LLVMZExt | LLVMSExt | LLVMTrunc) => {
                        if !open.contains(&u) {
                            open.push(u);
                        }
                    }
                    _ => return false,
                }
                if open.len() > LONGEST_RANK {
                    return false;
                }
            }
        }
        axis > 0 && !open.is_empty()
    }

    /// What the indices along an axis stand for, once the whole kernel is read.
    pub(super) fn along(&self, axis: usize) -> IndexMeaning {
        let joined = |p: &Polynomial| {
            let both = [Symbol::Block(axis), Symbol::BlockIndex(axis)];
            p.0.keys().any(|k| without(k, &both).is_some())
        };
        match self.asked[axis] {
            (false, false) => IndexMeaning::Nothing,
            (true, false) if self.only_in_rank(axis) => IndexMeaning::Nothing,
            (true, false) => IndexMeaning::Within,
            (false, true) => IndexMeaning::Blocks,
            (true, true) if self.known.values().flatten().any(joined) => IndexMeaning::Threads,
            (true, true) => IndexMeaning::Shared,
        }
    }

    pub(super) fn settled(&self, s: &Symbol) -> bool {
        s.is_argument() || matches!(s, Symbol::Block(_) | Symbol::Grid(_))
    }
}

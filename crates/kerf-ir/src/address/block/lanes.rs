//! Integers and addresses of a kernel, evaluated for all threads of a block at once.
use super::super::{MOST_STEPS, SpecialRegister, signed_constant, special_register, steps};
use super::{BlockShape, WARP, guards};
use kerf_llvm::{Module, Opcode, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A value over the threads of a block.
#[derive(Clone)]
pub(super) struct Lanes {
    /// By thread.
    pub(super) of: Rc<[i64]>,
    /// False: all threads have something more, the same and unknown.
    pub(super) exact: bool,
}

impl Lanes {
    fn uniform(&self) -> bool {
        self.of.iter().all(|v| *v == self.of[0])
    }
    fn map(&self, f: impl Fn(i64) -> i64) -> Lanes {
        Lanes {
            of: self.of.iter().map(|v| f(*v)).collect(),
            exact: self.exact,
        }
    }
    fn zip(&self, o: &Lanes, f: impl Fn(i64, i64) -> i64) -> Lanes {
        Lanes {
            of: self.of.iter().zip(&*o.of).map(|(a, b)| f(*a, *b)).collect(),
            exact: self.exact && o.exact,
        }
    }
}

fn distinct(of: &[i64]) -> usize {
    let mut all = of.to_vec();
    all.sort_unstable();
    all.dedup();
    all.len()
}

/// Evaluates the integers and addresses of a kernel for all threads of a block.
pub(super) struct Eval<'m> {
    m: &'m Module,
    kernel: Value,
    shape: &'m BlockShape,
    n: usize,
    known: BTreeMap<Value, Option<Lanes>>,
    /// Values under way; a loop comes back to one of them.
    open: Vec<Value>,
    /// Loops that were met while evaluating: what depends on them is not final.
    cut: usize,
    /// Steps left before evaluation gives up.
    fuel: usize,
}

/// Evaluations for one kernel and shape, at most.
const FUEL: usize = 200_000;

impl<'m> Eval<'m> {
    /// Nothing is evaluated yet.
    pub(super) fn new(m: &'m Module, kernel: Value, shape: &'m BlockShape) -> Eval<'m> {
        Eval {
            m,
            kernel,
            shape,
            n: shape.threads(),
            known: BTreeMap::new(),
            open: Vec::new(),
            cut: 0,
            fuel: FUEL,
        }
    }
}

impl Eval<'_> {
    fn all(&self, v: i64) -> Lanes {
        Lanes {
            of: vec![v; self.n].into(),
            exact: true,
        }
    }
    fn something(&self) -> Lanes {
        Lanes {
            exact: false,
            ..self.all(0)
        }
    }

    pub(super) fn evaluate(&mut self, v: Value) -> Option<Lanes> {
        if let Some(k) = self.known.get(&v) {
            return k.clone();
        }
        if self.fuel == 0 {
            return None;
        }
        self.fuel -= 1;
        if v.ty().is_int()
            && v.ty().int_bits() <= 64
            && let Some(c) = signed_constant(v)
        {
            return Some(self.all(c));
        }
        if v.is_argument() {
            let at = self.kernel.params().iter().position(|p| *p == v)?;
            let told = self.shape.args.get(at).copied().flatten();
            return Some(match (v.ty().is_ptr(), told) {
                (true, _) => self.all(0), // buffers begin where a segment does
                (_, Some(k)) => self.all(k),
                _ => self.something(),
            });
        }
        if v.is_global_var() {
            return Some(self.all(0));
        }
        let Some(op) = v.opcode() else {
            return self.expression(v);
        };
        if self.open.contains(&v) {
            self.cut += 1;
            return None;
        }
        if self.open.len() >= MOST_STEPS as usize {
            return None;
        }
        self.open.push(v);
        let before = self.cut;
        let r = self.instruction(v, op);
        self.open.pop();
        if r.is_some() || self.cut == before {
            self.known.insert(v, r.clone());
        }
        if self.open.is_empty() {
            self.cut = 0;
        }
        r
    }

    /// Threads for which all conditions hold; none where one of them cannot be told.
    pub(super) fn threads(&mut self, under: &[guards::Guard]) -> Option<Vec<bool>> {
        let mut there = vec![true; self.n];
        for (condition, holds) in under {
            let c = self.evaluate(*condition).filter(|c| c.exact)?;
            let pairs = there.iter_mut().zip(&*c.of);
            pairs.for_each(|(t, v)| *t &= (*v != 0) == *holds);
        }
        Some(there)
    }

    /// A constant that is computed: an address in a shared or global variable.
    fn expression(&mut self, v: Value) -> Option<Lanes> {
        match v.const_opcode() {
            Some(Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast) => self.evaluate(v.operand(0)),
            Some(Opcode::LLVMGetElementPtr) => self.address(v),
            _ => v.is_constant().then(|| self.something()),
        }
    }

    fn pair(&mut self, v: Value) -> Option<(Lanes, Lanes)> {
        Some((self.evaluate(v.operand(0))?, self.evaluate(v.operand(1))?))
    }

    /// Anything of values that all threads share is something that they share.
    fn shared_by_all(&mut self, of: &[Value]) -> Option<Lanes> {
        for o in of {
            if !self.evaluate(*o)?.uniform() {
                return None;
            }
        }
        Some(self.something())
    }

    /// Operations that need the values themselves, not values up to something.
    fn exactly(&mut self, v: Value, f: impl Fn(i64, i64) -> Option<i64>) -> Option<Lanes> {
        let (a, b) = self.pair(v)?;
        if !(a.exact && b.exact) {
            return (a.uniform() && b.uniform()).then(|| self.something());
        }
        let of: Option<Vec<i64>> = a.of.iter().zip(&*b.of).map(|(x, y)| f(*x, *y)).collect();
        Some(Lanes {
            of: of?.into(),
            exact: true,
        })
    }

    fn instruction(&mut self, v: Value, op: Opcode) -> Option<Lanes> {
        use Opcode::*;
        if !(v.ty().is_ptr() || v.ty().is_int() && v.ty().int_bits() <= 64) {
            return match op {
                LLVMLoad => self.shared_by_all(&[v.operand(0)]),
                _ => None,
            };
        }
        let bits = if v.ty().is_int() {
            v.ty().int_bits()
        } else {
            64
        };
        let low = |x: i64| (x as u64) & (u64::MAX >> (64 - bits.max(1)));
        match op {
            LLVMAdd => self.pair(v).map(|(a, b)| a.zip(&b, i64::wrapping_add)),
            LLVMSub => self.pair(v).map(|(a, b)| a.zip(&b, i64::wrapping_sub)),
            LLVMOr => self.exactly(v, |a, b| Some(a | b)),
            LLVMXor => self.exactly(v, |a, b| Some(a ^ b)),
            LLVMAnd => self.exactly(v, |a, b| Some(a & b)),
            LLVMMul => self.product(v),
            LLVMShl => {
                let (a, b) = self.pair(v)?;
                match b.exact && (a.exact || b.uniform()) {
                    true => Some(a.zip(&b, |x, s| x.wrapping_shl(s as u32))),
                    false => (a.uniform() && b.uniform()).then(|| self.something()),
                }
            }
            LLVMLShr => self.exactly(v, |a, s| Some((low(a).wrapping_shr(s as u32)) as i64)),
            LLVMAShr => self.exactly(v, |a, s| Some(a.wrapping_shr(s as u32))),
            LLVMUDiv => self.exactly(v, |a, b| Some(low(a).checked_div(low(b))? as i64)),
            LLVMSDiv => self.exactly(v, i64::checked_div),
            LLVMURem => self.exactly(v, |a, b| Some(low(a).checked_rem(low(b))? as i64)),
            LLVMSRem => self.exactly(v, i64::checked_rem),
            LLVMTrunc => {
                let a = self.evaluate(v.operand(0))?;
                let unused = 64 - bits;
                Some(a.map(|x| x << unused >> unused))
            }
            LLVMZExt => {
                let a = self.evaluate(v.operand(0))?;
                let from = v.operand(0).ty().int_bits();
                Some(match a.exact {
                    true => a.map(|x| ((x as u64) & (u64::MAX >> (64 - from))) as i64),
                    false => a,
                })
            }
            LLVMSExt | LLVMPtrToInt | LLVMIntToPtr | LLVMBitCast | LLVMAddrSpaceCast
            | LLVMFreeze => self.evaluate(v.operand(0)),
            LLVMSelect => self.select(v),
            LLVMICmp => self.compare(v),
            LLVMPHI => self.phi(v),
            LLVMGetElementPtr => self.address(v),
            LLVMLoad => self.shared_by_all(&[v.operand(0)]),
            LLVMCall => self.call(v),
            LLVMAlloca => Some(self.all(0)),
            _ => None,
        }
    }

    /// A product: of what is not exact only with a number that all threads share.
    fn product(&mut self, v: Value) -> Option<Lanes> {
        let (a, b) = self.pair(v)?;
        match (a.exact, b.exact) {
            (true, true) => Some(a.zip(&b, i64::wrapping_mul)),
            _ if a.uniform() && b.uniform() => Some(self.something()),
            // What is known up to something, times a number that all threads share.
            (false, true) if b.uniform() => Some(a.zip(&b, i64::wrapping_mul)),
            (true, false) if a.uniform() => Some(a.zip(&b, i64::wrapping_mul)),
            _ => None,
        }
    }

    /// The value that a condition chooses, thread by thread.
    fn select(&mut self, v: Value) -> Option<Lanes> {
        let c = self.evaluate(v.operand(0));
        let (a, b) = (self.evaluate(v.operand(1))?, self.evaluate(v.operand(2))?);
        match c {
            Some(c) if c.exact => Some(Lanes {
                of: (0..self.n)
                    .map(|i| if c.of[i] != 0 { a.of[i] } else { b.of[i] })
                    .collect(),
                exact: a.exact && b.exact,
            }),
            _ if a.of == b.of => Some(Lanes { exact: false, ..a }),
            _ => None,
        }
    }

    /// A comparison of integers or addresses.
    fn compare(&mut self, v: Value) -> Option<Lanes> {
        use kerf_llvm::IntPred::*;
        let p = v.int_pred();
        let (x, y) = (v.operand(0).ty(), v.operand(1).ty());
        let w = if x.is_int() && y.is_int() {
            x.int_bits()
        } else {
            64
        };
        let u = move |x: i64| (x as u64) & (u64::MAX >> (64 - w.max(1)));
        self.exactly(v, move |a, b| {
            Some(i64::from(match p {
                LLVMIntEQ => a == b,
                LLVMIntNE => a != b,
                LLVMIntSLT => a < b,
                LLVMIntSLE => a <= b,
                LLVMIntSGT => a > b,
                LLVMIntSGE => a >= b,
                LLVMIntULT => u(a) < u(b),
                LLVMIntULE => u(a) <= u(b),
                LLVMIntUGT => u(a) > u(b),
                LLVMIntUGE => u(a) >= u(b),
            }))
        })
    }

    /// A loop stands at its first turn: what comes back from its end is not known when it is asked for.
    fn phi(&mut self, v: Value) -> Option<Lanes> {
        let mut found: Option<Lanes> = None;
        for (x, _) in v.incoming() {
            let before = self.cut;
            let Some(l) = self.evaluate(x) else {
                if self.cut == before {
                    return None;
                }
                continue;
            };
            match &found {
                None => found = Some(l),
                Some(f) if f.of == l.of => {}
                Some(f) if f.uniform() && l.uniform() => found = Some(self.something()),
                // Two ways that meet, as where an index is held inside its range: the one that most
                // threads take is the one where they differ.
                Some(f) => {
                    let more = distinct(&l.of) > distinct(&f.of);
                    let of = if more { l.of } else { f.of.clone() };
                    found = Some(Lanes { of, exact: false });
                }
            }
        }
        found
    }

    fn address(&mut self, v: Value) -> Option<Lanes> {
        let steps = steps(self.m, v)?;
        let base = self.evaluate(v.operand(0))?;
        let mut sum = base.map(|a| a.wrapping_add(steps.bytes));
        for (index, size) in steps.indices {
            let by = self.evaluate(index)?;
            sum = sum.zip(&by, |a, b| a.wrapping_add(b.wrapping_mul(size)));
        }
        Some(sum)
    }

    fn call(&mut self, v: Value) -> Option<Lanes> {
        let name = v.callee_name().unwrap_or_default();
        let n = name.strip_prefix("llvm.")?;
        let shape = self.shape;
        let lanes = |f: &dyn Fn(usize) -> i64| Lanes {
            of: (0..self.n).map(f).collect(),
            exact: true,
        };
        if let Some(register) = special_register(v) {
            use SpecialRegister::*;
            return Some(match register {
                ThreadIndex(axis) => lanes(&|t| shape.index(t)[axis]),
                Lane => lanes(&|t| (t % WARP) as i64),
                Warp => lanes(&|t| (t / WARP) as i64),
                BlockSize(axis) => self.all(shape.block[axis].into()),
                GridSize(axis) => self.all(shape.grid[axis].into()),
                BlockIndex(_) => self.all(0),
                WarpSize => self.all(WARP as i64),
                LaneMask => return None,
                Other => self.something(),
            });
        }
        let args = v.args();
        let pick: Option<fn(i64, i64) -> i64> = match n.split('.').next() {
            Some("smin" | "umin") => Some(i64::min),
            Some("smax" | "umax") => Some(i64::max),
            _ => None,
        };
        match (pick, n.split('.').next()) {
            (Some(f), _) => self.exactly(v, move |a, b| Some(f(a, b))),
            (_, Some("abs")) => self
                .evaluate(args[0])
                .filter(|a| a.exact)
                .map(|a| a.map(i64::abs)),
            _ => self.shared_by_all(&args),
        }
    }
}

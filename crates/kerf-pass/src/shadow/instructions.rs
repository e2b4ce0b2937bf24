//! The shadow of each instruction's result, from those of its operands.
use super::rounding_constant::rounds_by_sum;
use super::{Dd, Pass, lanes};
use kerf_ir::sites::location;
use kerf_llvm::{Builder, Opcode, RealPred, Value};

impl Pass<'_> {
    pub(super) fn instruction(&mut self, i: Value) {
        use Opcode::*;
        let Some(op) = i.opcode() else { return };
        let after = match (op, i.next()) {
            (LLVMPHI | LLVMRet | LLVMBr | LLVMSwitch | LLVMUnreachable, _) | (_, None) => {
                Builder::before(i)
            }
            (_, Some(n)) => Builder::before(n),
        };
        let b = &after;
        let binary = |p: &Self, name: &str| p.apply(b, name, &[i.operand(0), i.operand(1)]);
        let shape = lanes(i.ty());
        if rounds_by_sum(i) {
            self.shadows.insert(i, vec![self.exact(b, i)]);
            return;
        }
        let new = match op {
            LLVMFAdd => binary(self, "add"),
            LLVMFSub => binary(self, "sub"),
            LLVMFMul => binary(self, "mul"),
            LLVMFDiv => binary(self, "div"),
            LLVMFRem => binary(self, "fmod"),
            LLVMFNeg => self.negated(b, i),
            LLVMFPExt | LLVMFPTrunc | LLVMFreeze if shape.is_some() => self.get(b, i.operand(0)),
            LLVMSelect if shape.is_some() => self.chosen(b, i),
            LLVMLoad if shape.is_some() => self.load(b, i),
            LLVMLoad if i.ty().is_int() && matches!(i.ty().int_bits(), 16 | 32 | 64) => {
                if !self.load_word(b, i) {
                    self.note_word(b, i);
                }
                return;
            }
            LLVMStore => {
                let v = i.operand(0);
                if lanes(v.ty()).is_some() {
                    self.store(&Builder::before(i), i);
                } else if !v.ty().is_ptr() {
                    self.store_word(i);
                }
                return;
            }
            LLVMAtomicRMW if shape.is_some() => self.atomic(b, i),
            LLVMAtomicRMW => {
                self.integer_atomic(b, i);
                return;
            }
            LLVMAtomicCmpXchg => {
                self.compare_and_swap(b, i);
                return;
            }
            LLVMFCmp => {
                self.compare(&after, i);
                return;
            }
            LLVMSIToFP => self.convert_integer(b, i, true),
            LLVMUIToFP => self.convert_integer(b, i, false),
            LLVMBitCast => match self.bitcast(b, i) {
                Some(s) => s,
                None => return,
            },
            LLVMExtractElement if shape.is_some() => self.extract_element(b, i),
            LLVMInsertElement if shape.is_some() => self.insert_element(b, i),
            LLVMShuffleVector if shape.is_some() => self.shuffle_vector(b, i),
            LLVMCall => {
                self.call(i, &after);
                return;
            }
            LLVMRet => {
                self.ret(b, i);
                return;
            }
            LLVMExtractValue if shape.is_some() => self.extract_value(b, i),
            LLVMExtractValue => {
                self.found(i);
                return;
            }
            LLVMInsertValue => {
                self.insert_value(b, i);
                return;
            }
            _ => {
                self.integer(b, i);
                return;
            }
        };
        self.shadows.insert(i, new);
    }

    fn negated(&self, b: &Builder, i: Value) -> Vec<Dd> {
        let all = self.get(b, i.operand(0)).into_iter();
        all.map(|s| Dd {
            hi: b.fneg(s.hi),
            lo: b.fneg(s.lo),
        })
        .collect()
    }

    /// Of a choice between numbers, by one condition or by one for each lane.
    fn chosen(&self, b: &Builder, i: Value) -> Vec<Dd> {
        let (x, y) = (self.get(b, i.operand(1)), self.get(b, i.operand(2)));
        x.into_iter()
            .zip(y)
            .enumerate()
            .map(|(l, (p, q))| {
                let c = self.lane(b, i.operand(0), l as u32);
                Dd {
                    hi: b.select(c, p.hi, q.hi),
                    lo: b.select(c, p.lo, q.lo),
                }
            })
            .collect()
    }

    fn compare(&mut self, b: &Builder, i: Value) {
        let site = self.map.comparisons.len() as u32;
        self.map.comparisons.push(location(i, &self.main));
        let (x, y) = (self.get(b, i.operand(0)), self.get(b, i.operand(1)));
        let pred = i.real_pred() as u32;
        if matches!(
            i.real_pred(),
            RealPred::LLVMRealPredicateTrue | RealPred::LLVMRealPredicateFalse
        ) {
            return;
        }
        for (l, (p, q)) in x.into_iter().zip(y).enumerate() {
            let r = self.lane(b, i, l as u32);
            let r = b.zext_or_trunc(r, b.int_ty(32));
            self.count_flip(b, [b.i32(site), b.i32(pred), r], p, q);
        }
    }

    fn convert_integer(&self, b: &Builder, i: Value, signed: bool) -> Vec<Dd> {
        let v = i.operand(0);
        (0..i.ty().lanes())
            .map(|l| {
                let x = self.lane(b, v, l);
                let i64t = b.int_ty(64);
                let w = if signed {
                    b.sext_or_trunc(x, i64t)
                } else {
                    b.zext_or_trunc(x, i64t)
                };
                let kind = if signed { "i64" } else { "u64" };
                self.call_pair(b, &format!("kerf_dd_from_{kind}"), &[w])
            })
            .collect()
    }

    /// The shadow of bits under another type; none where that is an integer, which has fields.
    fn bitcast(&mut self, b: &Builder, i: Value) -> Option<Vec<Dd>> {
        let from = lanes(i.operand(0).ty());
        match (from, lanes(i.ty())) {
            (Some(a), Some(c)) if a == c => Some(self.get(b, i.operand(0))),
            (_, Some(c)) => {
                if from.is_some() {
                    self.remember(b, i.operand(0));
                }
                let s = self.read_as(i.operand(0), c);
                Some(s.unwrap_or_else(|| self.recall(b, i)))
            }
            (Some(a), None) => {
                self.remember(b, i.operand(0));
                let s = self.get(b, i.operand(0));
                self.is_bits_of(i, a, &s);
                None
            }
            _ => {
                self.integer(b, i);
                None
            }
        }
    }

    fn extract_element(&self, b: &Builder, i: Value) -> Vec<Dd> {
        match i.operand(1).const_int() {
            Some(l) => self
                .get(b, i.operand(0))
                .get(l as usize)
                .map_or_else(|| self.recall(b, i), |s| vec![*s]),
            None => {
                self.remember(b, i.operand(0));
                self.recall(b, i)
            }
        }
    }

    fn insert_element(&self, b: &Builder, i: Value) -> Vec<Dd> {
        match i.operand(2).const_int() {
            Some(l) => {
                let mut s = self.get(b, i.operand(0));
                let x = self.get(b, i.operand(1))[0];
                if let Some(slot) = s.get_mut(l as usize) {
                    *slot = x;
                }
                s
            }
            None => {
                self.remember(b, i.operand(0));
                self.remember(b, i.operand(1));
                self.recall(b, i)
            }
        }
    }

    fn shuffle_vector(&self, b: &Builder, i: Value) -> Vec<Dd> {
        let all: Vec<Dd> = [self.get(b, i.operand(0)), self.get(b, i.operand(1))].concat();
        let nothing = Dd {
            hi: self.zero(),
            lo: self.zero(),
        };
        i.shuffle_mask()
            .into_iter()
            .map(|l| {
                l.and_then(|l| all.get(l as usize))
                    .copied()
                    .unwrap_or(nothing)
            })
            .collect()
    }
}

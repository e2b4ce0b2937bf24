//! Where pointers of a kernel come from, and how far from there they point.
use super::super::{MOST_STEPS, steps};
use super::reader::Reader;
use super::{PointerSource, Polynomial, Symbol};
use kerf_llvm::{Opcode, Value};

/// Pointers between an access and what it goes into that are looked at.
const LONGEST_WALK: usize = 200;

impl Reader<'_> {
    /// The parameter, or the pointer in a struct parameter, that a pointer is derived from, and the bytes between
    /// them; no bytes where the pointer moves through a loop or is one of several.
    pub(super) fn locate(&mut self, v: Value) -> Option<(PointerSource, Option<Polynomial>)> {
        self.locate_once(v, &mut Vec::new())
    }

    /// The same; a loop over pointers comes back to one that was `seen`, and tells nothing there.
    fn locate_once(
        &mut self,
        v: Value,
        seen: &mut Vec<Value>,
    ) -> Option<(PointerSource, Option<Polynomial>)> {
        if v.is_argument() {
            let at = self.params.iter().position(|p| *p == v)?;
            return Some((PointerSource::Parameter(at), Some(Polynomial::default())));
        }
        if seen.len() >= LONGEST_WALK || self.depth >= MOST_STEPS || seen.contains(&v) {
            return None;
        }
        seen.push(v);
        self.depth += 1;
        let found = self.locate_by(v, seen);
        self.depth -= 1;
        found
    }

    fn locate_by(
        &mut self,
        v: Value,
        seen: &mut Vec<Value>,
    ) -> Option<(PointerSource, Option<Polynomial>)> {
        match v.opcode()? {
            Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast | Opcode::LLVMFreeze => {
                self.locate_once(v.operand(0), seen)
            }
            Opcode::LLVMGetElementPtr => {
                let (at, base) = self.locate_once(v.operand(0), seen)?;
                let by = self.steps(v);
                Some((at, base.zip(by).map(|(a, b)| a.plus(&b, 1))))
            }
            Opcode::LLVMLoad => {
                let (at, byte) = self.member_within(v, seen)?;
                let of = PointerSource::Member(at, byte);
                Some((of, Some(Polynomial::default())))
            }
            // A pointer that moves through a loop: where it goes is not followed.
            Opcode::LLVMPHI => {
                let all = v.incoming().into_iter();
                let mut found = all.map(|(from, _)| self.locate_once(from, seen));
                found.find_map(|f| f).map(|(at, _)| (at, None))
            }
            Opcode::LLVMSelect => {
                let found = self.locate_once(v.operand(1), seen);
                let found = found.or_else(|| self.locate_once(v.operand(2), seen));
                found.map(|(at, _)| (at, None))
            }
            _ => None,
        }
    }

    /// The struct parameter that a load reads a member of, and the member's byte.
    pub(super) fn member(&mut self, load: Value) -> Option<(usize, u64)> {
        self.member_within(load, &mut Vec::new())
    }

    fn member_within(&mut self, load: Value, seen: &mut Vec<Value>) -> Option<(usize, u64)> {
        let (of, offset) = self.locate_once(load.operand(0), seen)?;
        let PointerSource::Parameter(at) = of else {
            return None;
        };
        self.kernel.byval(at as u32)?;
        let byte = offset?.constant()?;
        Some((at, u64::try_from(byte).ok()?))
    }

    /// Bytes that an address computation adds.
    pub(super) fn steps(&mut self, v: Value) -> Option<Polynomial> {
        let steps = steps(self.m, v)?;
        let mut sum = Polynomial::number(i128::from(steps.bytes));
        for (index, size) in steps.indices {
            let size = Polynomial::number(i128::from(size));
            sum = sum.plus(&self.polynomial(index)?.times(&size)?, 1);
        }
        Some(sum)
    }

    /// Buffers that an integer from memory chooses elements of, each with the bytes between one and the next.
    pub(super) fn indexed_by(&mut self, load: Value, uses: &[Value]) -> Vec<(PointerSource, u64)> {
        let own = Symbol::Turn(self.turn(load));
        let mut out = Vec::new();
        for gep in uses {
            let Some((of, _)) = self.locate(gep.operand(0)) else {
                continue;
            };
            let step = self.steps(*gep).map_or(0, |p| p.factor(own));
            let step = match u64::try_from(step) {
                Ok(bytes) if bytes > 0 => bytes,
                // Through a loop that begins there.
                _ => self.m.size_of(gep.gep_type()),
            };
            if !out.contains(&(of, step)) {
                out.push((of, step));
            }
        }
        out
    }
}

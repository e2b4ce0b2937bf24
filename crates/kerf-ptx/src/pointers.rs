//! Addresses computed as integers become pointers with offsets, as a compiler would have written them.
//!
//! Every access of a kernel whose address comes from a parameter, a variable or a pointer in memory is made one through a
//! pointer to that object: sums become `getelementptr`, loops over addresses loops over pointers. The analyses and plans
//! of the rest of Kerf then see whose memory is touched. What comes from nowhere stays an integer.
use super::file_syntax::FunctionText;
use super::origins::{AddressSpace, Certainty, Origins, operation};
use kerf_llvm::{Builder, Module, Opcode, Value, space};
use std::collections::HashMap;

struct Recovery {
    origins: Origins,
    made: HashMap<(Value, u32), Value>,
    /// Loads of pointers that were added: their own addresses are looked at too.
    added: Vec<Value>,
    entry: Value,
}

/// How sure the text of a kernel makes it that its 64-bit parameters are addresses. LLVM marks pointers with `.ptr`;
/// other compilers mark none, and then a parameter whose value is an address of an access as it is, or is converted to
/// one of another state space, is one for sure.
fn certainties(text: &FunctionText, kernel: Value) -> HashMap<Value, Certainty> {
    let marked = text.params.iter().any(|v| v.pointer);
    let mut out = HashMap::new();
    for (v, p) in text.params.iter().zip(kernel.params()) {
        let direct = || {
            let bits = p.users().into_iter();
            let bits = bits.filter(|u| u.opcode() == Some(Opcode::LLVMPtrToInt));
            bits.flat_map(Value::users)
                .any(|u| u.opcode() == Some(Opcode::LLVMIntToPtr))
        };
        let certainty = match () {
            () if v.pointer || v.is_array() || direct() => Certainty::Address,
            () if marked => Certainty::Integer,
            () => Certainty::Possible,
        };
        out.insert(p, certainty);
    }
    out
}

/// Makes the accesses of a kernel go through pointers.
pub(super) fn recover(text: &FunctionText, kernel: Value) {
    let Some(entry) = kernel.blocks().first().and_then(|b| b.first_non_phi()) else {
        return;
    };
    let mut r = Recovery {
        origins: Origins::new(kernel, certainties(text, kernel)),
        made: HashMap::new(),
        added: Vec::new(),
        entry,
    };
    let mut queue = kernel.instructions();
    while let Some(i) = queue.pop() {
        r.rewrite(i);
        queue.append(&mut r.added);
    }
}

impl Recovery {
    fn rewrite(&mut self, i: Value) {
        use Opcode::*;
        let at: Vec<u32> = match i.opcode() {
            Some(LLVMLoad | LLVMAtomicRMW | LLVMAtomicCmpXchg) => vec![0],
            Some(LLVMStore) => vec![1],
            Some(LLVMCall) => {
                let args = (0u32..).zip(i.args());
                let pointers = args.filter(|(_, a)| a.ty().is_ptr());
                pointers.map(|(n, _)| n).collect()
            }
            _ => return,
        };
        let exact = i.opcode() == Some(LLVMCall);
        for n in at {
            let p = i.operand(n);
            let origin = self.origins.origin(p);
            if origin.certainty == Certainty::Integer || !is_computed(p) {
                continue;
            }
            let wanted = p.ty().space();
            let target = match (origin.space, wanted) {
                _ if exact => wanted,
                // A kernel's pointers are generic, and lead to global memory.
                (AddressSpace::One(space::GENERIC), space::GLOBAL) => space::GENERIC,
                (AddressSpace::One(s), space::GENERIC) => s,
                (_, wanted) => wanted,
            };
            let new = self.build(p, target);
            i.set_operand(n, new);
        }
    }

    /// A value as a pointer to a state space.
    fn build(&mut self, v: Value, to: u32) -> Value {
        if let Some(p) = self.made.get(&(v, to)) {
            return *p;
        }
        let p = match operation(v) {
            Some(Opcode::LLVMPHI) => return self.build_phi(v, to),
            Some(op) if self.origins.is_address(v) => self.build_by(op, v, to),
            _ => self.leaf(v, to),
        };
        self.made.insert((v, to), p);
        p
    }

    fn before(&self, v: Value) -> Builder {
        Builder::before(if v.is_instruction() { v } else { self.entry })
    }

    /// Where code goes that uses `v` itself.
    fn after(&self, v: Value) -> Builder {
        let next = match v.opcode() {
            None => None,
            Some(Opcode::LLVMPHI) => v.block().first_non_phi(),
            Some(_) => v.next(),
        };
        Builder::before(next.unwrap_or(self.entry))
    }

    fn build_by(&mut self, op: Opcode, v: Value, to: u32) -> Value {
        use Opcode::*;
        match op {
            LLVMAddrSpaceCast | LLVMPtrToInt | LLVMFreeze | LLVMTrunc | LLVMZExt | LLVMSExt => {
                self.build(v.operand(0), to)
            }
            LLVMIntToPtr if self.origins.is_address(v.operand(0)) => self.build(v.operand(0), to),
            LLVMGetElementPtr => {
                let base = self.build(v.operand(0), to);
                self.before(v)
                    .gep(v.gep_type(), base, &v.operands()[1..], false)
            }
            LLVMAdd => {
                let at = self.origins.base_operand(v);
                let base = self.build(v.operand(at), to);
                let b = self.before(v);
                b.offset(base, b.sext_or_trunc(v.operand(1 - at), b.int_ty(64)))
            }
            LLVMSub => {
                let base = self.build(v.operand(0), to);
                let b = self.before(v);
                let t = b.int_ty(64);
                let by = b.sext_or_trunc(v.operand(1), t);
                b.offset(base, b.sub(t.zero(), by))
            }
            LLVMSelect => {
                let (x, y) = (self.build(v.operand(1), to), self.build(v.operand(2), to));
                self.before(v).select(v.operand(0), x, y)
            }
            LLVMOr | LLVMXor | LLVMAnd => self.build_masked(v, to),
            LLVMLoad if v.ty().is_int() && !v.is_volatile() && !is_atomic(v) => {
                let b = self.before(v);
                let p = b.load(b.ptr_ty(space::GENERIC), v.operand(0));
                p.set_align(v.align());
                if v.is_marked("invariant.load") {
                    p.mark("invariant.load");
                }
                self.added.push(p);
                match to {
                    space::GENERIC => p,
                    _ => b.cast(LLVMAddrSpaceCast, p, b.ptr_ty(to)),
                }
            }
            _ => self.leaf(v, to),
        }
    }

    /// An address whose bits were changed: the object's address and what is between them.
    fn build_masked(&mut self, v: Value, to: u32) -> Value {
        let at = self.origins.base_operand(v);
        let part = v.operand(at);
        let base = self.build(part, to);
        let b = self.after(v);
        let by = b.sext_or_trunc(b.sub(v, part), b.int_ty(64));
        b.offset(base, by)
    }

    fn build_phi(&mut self, v: Value, to: u32) -> Value {
        if !self.origins.is_address(v) {
            let p = self.leaf(v, to);
            self.made.insert((v, to), p);
            return p;
        }
        let b = Builder::before(v);
        let phi = b.phi(b.ptr_ty(to));
        self.made.insert((v, to), phi);
        for (x, from) in v.incoming() {
            let p = match from.terminator() {
                // What is no value of an instruction is made where it is needed.
                Some(end) if !x.is_instruction() => {
                    let entry = std::mem::replace(&mut self.entry, end);
                    let p = self.build_uncached(x, to);
                    self.entry = entry;
                    p
                }
                _ => self.build(x, to),
            };
            phi.add_incoming(&[(p, from)]);
        }
        phi
    }

    fn build_uncached(&mut self, v: Value, to: u32) -> Value {
        match operation(v) {
            Some(op) if self.origins.is_address(v) => self.build_by(op, v, to),
            _ => self.leaf(v, to),
        }
    }

    /// What is not followed any further.
    fn leaf(&self, v: Value, to: u32) -> Value {
        let b = self.after(v);
        let t = b.ptr_ty(to);
        if v.ty() == t {
            return v;
        }
        if v.ty().is_ptr() {
            return b.cast(Opcode::LLVMAddrSpaceCast, v, t);
        }
        let bits = b.zext_or_trunc(v, b.int_ty(64));
        b.cast(Opcode::LLVMIntToPtr, bits, t)
    }
}

fn is_atomic(load: Value) -> bool {
    load.ordering() != kerf_llvm::Ordering::LLVMAtomicOrderingNotAtomic
}

/// Is a pointer made of an integer, or cast, somewhere on its way?
fn is_computed(p: Value) -> bool {
    use Opcode::*;
    let mut seen = Vec::new();
    let mut queue = vec![p];
    while let Some(v) = queue.pop() {
        if seen.contains(&v) || seen.len() > 1000 {
            continue;
        }
        seen.push(v);
        match operation(v) {
            Some(LLVMIntToPtr | LLVMAddrSpaceCast) => return true,
            Some(LLVMGetElementPtr | LLVMFreeze) => queue.push(v.operand(0)),
            Some(LLVMPHI) => queue.extend(v.incoming().into_iter().map(|(x, _)| x)),
            Some(LLVMSelect) => queue.extend([v.operand(1), v.operand(2)]),
            _ => {}
        }
    }
    false
}

/// Gives a kernel's 64-bit parameters that are no addresses an integer's type, and its structs the fields that it reads.
pub(super) fn settle_parameters(m: &Module, text: &FunctionText, kernel: Value) {
    let mut kernel = kernel;
    for (i, v) in (0u32..).zip(&text.params) {
        let p = kernel.params()[i as usize];
        let bits = |u: &Value| u.opcode() == Some(Opcode::LLVMPtrToInt);
        if v.is_array() {
            super::element_types::settle_struct(m, kernel, i, v.alignment());
        } else if p.ty().is_ptr() && !v.pointer && p.users().iter().all(bits) {
            kernel = kernel.param_to_int(i);
        }
    }
}

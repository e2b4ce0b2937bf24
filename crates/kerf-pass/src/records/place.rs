//! Where an access lies: which record of its buffer, and which byte of that.
//!
//! The offset from the buffer's beginning is taken apart into whole records, which need no division, and a rest. A sum or
//! product is taken apart only where it is the sum or product of integers: where it does not wrap. What cannot be taken apart
//! is rest, which code divides by the size of a record. Either way the offset is that of the program.
use kerf_ir::address::{signed_constant, steps};
use kerf_llvm::{Builder, IntPred, Module, Opcode, Value};

/// How an index of fewer than 64 bits becomes one of 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extension {
    Signed,
    Unsigned,
}

/// A value times a constant.
#[derive(Debug, Clone, Copy)]
struct Term {
    value: Value,
    how: Extension,
    times: i64,
}

/// The offset of an access.
#[derive(Debug)]
pub(super) struct Place {
    /// Records, beside those of the rest.
    records: Vec<Term>,
    /// Bytes, of no known multiple of a record.
    rest: Vec<Term>,
    /// A pointer whose distance from the buffer's beginning is bytes of the rest.
    pointer: Option<Value>,
    /// Bytes.
    pub constant: i64,
}

/// Operations one behind the other that are looked through.
const LONGEST_SUM: u32 = 64;

/// Bits in which sums and products of a few values are seen to fit.
const ROOMY: u32 = 62;

/// Bits that hold the magnitude of a value, counted generously.
fn magnitude_bits(v: Value, depth: u32) -> u32 {
    let own = v.ty().int_bits();
    if let Some(c) = signed_constant(v) {
        return 64 - c.unsigned_abs().leading_zeros();
    }
    if depth == 8 {
        return own;
    }
    let of = |i: u32| magnitude_bits(v.operand(i), depth + 1);
    let found = match v.opcode() {
        Some(Opcode::LLVMSExt | Opcode::LLVMZExt) => v.operand(0).ty().int_bits(),
        Some(Opcode::LLVMAdd | Opcode::LLVMSub) => of(0).max(of(1)) + 1,
        Some(Opcode::LLVMMul) => of(0) + of(1),
        Some(Opcode::LLVMShl) => match v.operand(1).const_int() {
            Some(c) => of(0).saturating_add(c.min(64) as u32),
            None => own,
        },
        Some(Opcode::LLVMSelect) => of(1).max(of(2)),
        _ => own,
    };
    found.min(own)
}

/// Whether an operation on integers gives the integer that it stands for, as an index is extended.
fn is_exact(v: Value, how: Extension) -> bool {
    let flags = match how {
        Extension::Signed => v.no_signed_wrap(),
        Extension::Unsigned => v.no_unsigned_wrap(),
    };
    let parts = match v.opcode() {
        Some(Opcode::LLVMMul) => magnitude_bits(v.operand(0), 0) + magnitude_bits(v.operand(1), 0),
        Some(Opcode::LLVMShl) => {
            let by = v.operand(1).const_int().unwrap_or(64).min(64) as u32;
            magnitude_bits(v.operand(0), 0) + by
        }
        _ => magnitude_bits(v.operand(0), 0).max(magnitude_bits(v.operand(1), 0)) + 1,
    };
    flags || v.ty().int_bits() == 64 && how == Extension::Signed && parts <= ROOMY
}

impl Place {
    /// The place of a pointer in the buffer whose address is `base`, over records of so many bytes.
    pub fn new(m: &Module, pointer: Value, base: Value, record: i64) -> Place {
        let mut place = Place {
            records: Vec::new(),
            rest: Vec::new(),
            pointer: None,
            constant: 0,
        };
        let mut p = pointer;
        while p != base {
            match p.opcode() {
                Some(Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast | Opcode::LLVMFreeze) => {}
                Some(Opcode::LLVMGetElementPtr) if place.step(m, p, record) => {}
                _ => {
                    place.pointer = Some(p);
                    break;
                }
            }
            p = p.operand(0);
        }
        place
    }

    /// Whether code divides to find the record.
    pub fn is_computed(&self) -> bool {
        !self.rest.is_empty() || self.pointer.is_some()
    }

    /// Adds an address computation.
    fn step(&mut self, m: &Module, gep: Value, record: i64) -> bool {
        let Some(steps) = steps(m, gep) else {
            return false;
        };
        self.constant = self.constant.wrapping_add(steps.bytes);
        for (index, size) in steps.indices {
            // Without the promise that the product fits, an index of 64 bits may mean any of several records.
            let size_bits = 64 - size.unsigned_abs().leading_zeros();
            let fits = gep.is_inbounds() || magnitude_bits(index, 0) + size_bits <= ROOMY;
            let whole = Term {
                value: index,
                how: Extension::Signed,
                times: size,
            };
            match fits {
                true => self.add(whole, record, 0),
                false => self.rest.push(whole),
            }
        }
        true
    }

    /// Adds a value times a number of bytes, taken apart as far as it helps.
    fn add(&mut self, t: Term, record: i64, depth: u32) {
        use Opcode::*;
        let (v, how) = (t.value, t.how);
        if let (Some(unsigned), Some(signed)) = (v.const_int(), signed_constant(v)) {
            let c = match how {
                Extension::Unsigned => unsigned as i64,
                Extension::Signed => signed,
            };
            self.constant = self.constant.wrapping_add(c.wrapping_mul(t.times));
            return;
        }
        let deeper = |list: &mut Place, n: u32, times: i64, how: Extension| {
            let value = v.operand(n);
            list.add(Term { value, how, times }, record, depth + 1);
        };
        // No more than a constant is taken out of what is whole records anyway.
        let whole = t.times % record == 0;
        let factor = || v.operand(1).const_int().filter(|c| *c < 1 << 31);
        match v.opcode() {
            _ if depth == LONGEST_SUM => self.term(t, record),
            Some(LLVMAdd | LLVMOr)
                if v.is_disjoint() || v.opcode() == Some(LLVMAdd) && is_exact(v, how) =>
            {
                let constant = v.operand(1).const_int().is_some();
                if whole && !constant {
                    return self.term(t, record);
                }
                deeper(self, 0, t.times, how);
                deeper(self, 1, t.times, how);
            }
            Some(LLVMSub) if !whole && how == Extension::Signed && is_exact(v, how) => {
                deeper(self, 0, t.times, how);
                deeper(self, 1, t.times.wrapping_neg(), how);
            }
            Some(LLVMMul) if !whole && is_exact(v, how) && factor().is_some() => {
                let by = factor().unwrap_or(1) as i64;
                deeper(self, 0, t.times.wrapping_mul(by), how);
            }
            Some(LLVMShl) if !whole && is_exact(v, how) && factor().is_some_and(|c| c < 31) => {
                let by = 1i64 << factor().unwrap_or(0);
                deeper(self, 0, t.times.wrapping_mul(by), how);
            }
            Some(LLVMSExt) if how == Extension::Signed => deeper(self, 0, t.times, how),
            Some(LLVMZExt) if v.is_non_negative() => deeper(self, 0, t.times, Extension::Signed),
            Some(LLVMZExt) => deeper(self, 0, t.times, Extension::Unsigned),
            _ => self.term(t, record),
        }
    }

    fn term(&mut self, t: Term, record: i64) {
        match t.times % record {
            0 => self.records.push(Term {
                times: t.times / record,
                ..t
            }),
            _ => self.rest.push(t),
        }
    }
}

fn common_divisor(a: i64, b: i64) -> i64 {
    match b {
        0 => a.abs(),
        _ => common_divisor(b, a % b),
    }
}

/// A number of bytes of which an access begins at a multiple, beside a constant, together with the same of other accesses: 0 of
/// none, and of those with constant addresses. None where it is not known.
pub(super) fn unit(m: &Module, pointer: Value, base: Value, others: i64) -> Option<i64> {
    let p = Place::new(m, pointer, base, i64::MAX);
    let factors = p.rest.iter().map(|t| t.times);
    let all = factors.fold(others, common_divisor);
    p.pointer.is_none().then_some(all)
}

/// Code that computes with places.
pub(super) struct PlaceCode<'b> {
    pub b: &'b Builder,
    /// Address of the buffer.
    pub base: Value,
    /// Bytes of a record.
    pub record: i64,
}

impl PlaceCode<'_> {
    fn sum(&self, terms: &[Term], unit: i64) -> Value {
        let b = self.b;
        let one = |t: &Term| {
            let v = match t.how {
                Extension::Signed => b.sext_or_trunc(t.value, b.int_ty(64)),
                Extension::Unsigned => b.zext_or_trunc(t.value, b.int_ty(64)),
            };
            match t.times / unit {
                1 => v,
                n => b.mul(v, b.i64(n as u64)),
            }
        };
        let all = terms.iter().map(one);
        all.reduce(|x, y| b.add(x, y)).unwrap_or_else(|| b.i64(0))
    }

    /// The record of a place that is not computed, and the byte of it where the access begins. `beyond` are bytes further on.
    pub fn known(&self, p: &Place, beyond: i64) -> (Value, i64) {
        let at = p.constant.wrapping_add(beyond);
        let whole = at.div_euclid(self.record);
        let records = self.sum(&p.records, 1);
        let record = match whole {
            0 => records,
            n => self.b.add(records, self.b.i64(n as u64)),
        };
        (record, at.rem_euclid(self.record))
    }

    /// The record and the number of the field of a place, where each field has so many bytes.
    pub fn computed(&self, p: &Place, beyond: i64, field: i64) -> (Value, Value) {
        let b = self.b;
        let at = p.constant.wrapping_add(beyond);
        let in_fields =
            p.pointer.is_none() && at % field == 0 && p.rest.iter().all(|t| t.times % field == 0);
        let rest = match in_fields {
            true => b.add(self.sum(&p.rest, field), b.i64((at / field) as u64)),
            false => {
                let mut bytes = b.add(self.sum(&p.rest, 1), b.i64(at as u64));
                if let Some(q) = p.pointer {
                    let base = in_space(b, self.base, q);
                    bytes = b.add(bytes, b.sub(b.address(q), b.address(base)));
                }
                // Accesses are aligned to the fields.
                b.bin(
                    Opcode::LLVMAShr,
                    bytes,
                    b.i64(u64::from(field.trailing_zeros())),
                )
            }
        };
        let count = b.i64((self.record / field) as u64);
        let quotient = b.bin(Opcode::LLVMSDiv, rest, count);
        let remainder = b.sub(rest, b.mul(quotient, count));
        let below = b.icmp(IntPred::LLVMIntSLT, remainder, b.i64(0));
        let one_less = b.sub(quotient, b.i64(1));
        let whole = b.select(below, one_less, quotient);
        let field = b.select(below, b.add(remainder, count), remainder);
        (b.add(self.sum(&p.records, 1), whole), field)
    }
}

/// A pointer in the address space of another one.
pub(super) fn in_space(b: &Builder, p: Value, like: Value) -> Value {
    match p.ty().space() == like.ty().space() {
        true => p,
        false => b.cast(Opcode::LLVMAddrSpaceCast, p, like.ty()),
    }
}

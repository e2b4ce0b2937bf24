//! Addresses as linear forms: a base, multiples of values, and a constant.
//!
//! Two addresses that differ in the constant alone are that far apart. Sums under an extension are taken apart only
//! where they do not wrap, since the extension of a sum is the sum of the extensions then.
use super::{signed_constant, steps};
use kerf_llvm::{Module, Opcode, Value};
use std::collections::BTreeMap;

/// How a value of fewer bits becomes part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Extension {
    None,
    Signed,
    Unsigned,
}

/// What an address has beside its constant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Family {
    base: Value,
    terms: BTreeMap<(Value, Extension), i64>,
}

/// An address.
#[derive(Clone, Debug)]
pub struct Linear {
    /// What it shares with others.
    pub family: Family,
    /// Bytes beyond that.
    pub constant: i64,
}

/// Operations one behind the other that are looked through.
const LONGEST_SUM: u32 = 64;

impl Linear {
    /// The form of an address.
    pub fn new(m: &Module, p: Value) -> Linear {
        let mut l = Linear {
            family: Family {
                base: p,
                terms: BTreeMap::new(),
            },
            constant: 0,
        };
        for _ in 0..LONGEST_SUM {
            let base = l.family.base;
            if base.opcode() != Some(Opcode::LLVMGetElementPtr) || !l.gep(m, base) {
                break;
            }
        }
        l.family.terms.retain(|_, c| *c != 0);
        l
    }

    fn gep(&mut self, m: &Module, g: Value) -> bool {
        let Some(steps) = steps(m, g) else {
            return false;
        };
        self.constant = self.constant.wrapping_add(steps.bytes);
        for (index, size) in steps.indices {
            let how = match index.ty().int_bits() {
                64.. => Extension::None,
                _ => Extension::Signed,
            };
            self.add(index, how, size, 0);
        }
        self.family.base = g.operand(0);
        true
    }

    fn add(&mut self, v: Value, how: Extension, times: i64, depth: u32) {
        use Opcode::*;
        if let (Some(unsigned), Some(signed)) = (v.const_int(), signed_constant(v)) {
            let c = match how {
                Extension::Unsigned => unsigned as i64,
                _ => signed,
            };
            self.constant = self.constant.wrapping_add(c.wrapping_mul(times));
            return;
        }
        let whole = match how {
            Extension::None => true,
            Extension::Signed => v.is_disjoint() || wraps(v) && v.no_signed_wrap(),
            Extension::Unsigned => v.is_disjoint() || wraps(v) && v.no_unsigned_wrap(),
        };
        let deeper = depth + 1;
        match v.opcode() {
            _ if depth == LONGEST_SUM => self.term(v, how, times),
            Some(LLVMAdd) if whole => {
                self.add(v.operand(0), how, times, deeper);
                self.add(v.operand(1), how, times, deeper);
            }
            Some(LLVMOr) if v.is_disjoint() => {
                self.add(v.operand(0), how, times, deeper);
                self.add(v.operand(1), how, times, deeper);
            }
            Some(LLVMSub) if whole && how != Extension::Unsigned => {
                self.add(v.operand(0), how, times, deeper);
                self.add(v.operand(1), how, times.wrapping_neg(), deeper);
            }
            Some(LLVMMul) if whole && v.operand(1).const_int().is_some_and(|c| c < 1 << 31) => {
                let by = v.operand(1).const_int().unwrap_or(1) as i64;
                self.add(v.operand(0), how, times.wrapping_mul(by), deeper);
            }
            Some(LLVMShl) if whole && v.operand(1).const_int().is_some_and(|c| c < 31) => {
                let by = 1i64 << v.operand(1).const_int().unwrap_or(0);
                self.add(v.operand(0), how, times.wrapping_mul(by), deeper);
            }
            Some(LLVMSExt) if how != Extension::Unsigned => {
                self.add(v.operand(0), Extension::Signed, times, deeper);
            }
            Some(LLVMZExt) if v.is_non_negative() => {
                self.add(v.operand(0), Extension::Signed, times, deeper);
            }
            Some(LLVMZExt) => self.add(v.operand(0), Extension::Unsigned, times, deeper),
            _ => self.term(v, how, times),
        }
    }

    fn term(&mut self, v: Value, how: Extension, times: i64) {
        let all = self.family.terms.entry((v, how)).or_insert(0);
        *all = all.wrapping_add(times);
    }
}

/// Has the operation flags that say whether it wraps?
fn wraps(v: Value) -> bool {
    use Opcode::*;
    matches!(v.opcode(), Some(LLVMAdd | LLVMSub | LLVMMul | LLVMShl))
}

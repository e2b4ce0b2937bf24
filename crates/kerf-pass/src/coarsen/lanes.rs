//! Copies of a value in lockstep code: one for all, or one each.
use kerf_llvm::Value;
use std::collections::BTreeMap;

/// Copies of a value.
#[derive(Clone, Debug)]
pub(super) enum Lanes {
    /// The same for all.
    One(Value),
    /// One for each.
    Each(Vec<Value>),
}

impl Lanes {
    /// The value of a copy.
    pub(super) fn get(&self, copy: usize) -> Value {
        match self {
            Lanes::One(v) => *v,
            Lanes::Each(all) => all[copy],
        }
    }
}

/// Values of a block in lockstep code, by those of the kernel.
pub(super) type LaneMap = BTreeMap<Value, Lanes>;

//! Warp partition: a kernel in two versions, between which each warp chooses once, at its entry.
//!
//! After Li et al., "SFU-Driven Transparent Approximation Acceleration on GPUs" (2016), algorithm 1, but
//! over whole kernels and any two versions. The fraction of warps that take the cheap one, lambda, is a
//! parameter that the kernel gets at its end, an f32: 0 is the first version bit by bit, 1 the second.
//!
//! Threads of a block may run different versions. That is safe for shared memory, whose layout is the same
//! in both, for warp operations, since a warp has one version, and for barriers, which count arrivals and
//! do not ask where from. It is not safe where the versions may disagree about reaching a barrier.
mod barriers;
mod refusal;

use crate::math::MathVariant;
use crate::site_format::SiteFormat;
use crate::specialise::Want;
use kerf_llvm::{Builder, IntPred, Linkage, LlvmError, Module, Opcode, RealPred, Value};
use kerf_num::Format;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use refusal::PartitionRefusal;

/// By what a warp chooses.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Select {
    /// A hash of the warp's index in the whole launch: the same warps in every run, spread evenly.
    #[default]
    #[serde(rename = "hash")]
    Hash,
    /// The hardware's slot, `%warpid`: not the same warps in every run.
    #[serde(rename = "slot")]
    Slot,
    /// The warp's index in its block: the first ones of each.
    #[serde(rename = "warp")]
    Warp,
}

impl Select {
    /// All of them.
    pub const ALL: [Select; 3] = [Select::Hash, Select::Slot, Select::Warp];
    /// As serde and [`Display`](std::fmt::Display) write it.
    pub const fn name(self) -> &'static str {
        match self {
            Select::Hash => "hash",
            Select::Slot => "slot",
            Select::Warp => "warp",
        }
    }
}

impl std::fmt::Display for Select {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The text names no [`Select`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown selection `{0}`: expected hash, slot or warp")]
pub struct ParseSelectError(pub String);

impl std::str::FromStr for Select {
    type Err = ParseSelectError;

    fn from_str(text: &str) -> Result<Select, ParseSelectError> {
        Select::ALL
            .into_iter()
            .find(|s| s.name() == text)
            .ok_or_else(|| ParseSelectError(text.to_owned()))
    }
}

/// The second version of a kernel, and who runs it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Fraction of the warps that run it, from 0 to 1. A parameter of the launch: what is compiled does
    /// not depend on it.
    pub lambda: f64,
    /// By what a warp chooses.
    #[serde(default)]
    pub select: Select,
    /// Formats of sites in this version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sites: BTreeMap<usize, SiteFormat>,
    /// Variants of math sites in this version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub math: BTreeMap<usize, MathVariant>,
    /// Math sites that are computed by functions made for a range, in this version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<crate::made_calls::MadeCalls>,
}

/// Name of the parameter.
pub const PARAMETER: &str = "kerf_lambda";

/// Does a warp of this index in the whole launch run the cheap version, with [`Select::Hash`]?
pub fn hash_selects(warp: u64, lambda: f32) -> bool {
    let mut h = warp;
    for (shift, factor) in MIX {
        h = (h ^ (h >> shift)).wrapping_mul(factor);
    }
    (h >> 32) < (lambda * 4294967296.0) as u64
}

/// Steps of the hash: the finaliser of MurmurHash3 (Appleby 2011), whose upper half is used.
const MIX: [(u32, u64); 2] = [(33, 0xff51_afd7_ed55_8ccd), (33, 0xc4ce_b9fe_1a85_ec53)];

/// Whether a kernel can have two versions that differ so; the reason if not.
pub(crate) fn check(
    kernel: Value,
    p: &Partition,
    first: &[(Value, Want)],
    second: &[(Value, Want)],
) -> Result<(), PartitionRefusal> {
    if !(0.0..=1.0).contains(&p.lambda) {
        return Err(PartitionRefusal::Lambda { lambda: p.lambda });
    }
    if !kernel.users().is_empty() {
        return Err(PartitionRefusal::Referenced);
    }
    let other = |all: &[(Value, Want)], i: Value| all.iter().find(|w| w.0 == i).map(|w| w.1);
    let differ: Vec<Value> = first
        .iter()
        .chain(second)
        .map(|w| w.0)
        .filter(|i| other(first, *i) != other(second, *i))
        .collect();
    barriers::check(kernel, &differ)
}

/// A kernel and its copy, until they are joined.
pub(crate) struct Versions {
    /// The kernel.
    pub first: Value,
    /// Its copy, a kernel as well, so that passes treat it as one.
    pub second: Value,
    select: Select,
}

fn register(b: &Builder, name: &str) -> Value {
    b.intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{name}"), &[], &[])
}

/// The index of a thread in its block, or of a block in its grid.
fn linear(b: &Builder, index: &str, size: &str) -> Value {
    let wide = |name: String| b.zext_or_trunc(register(b, &name), b.int_ty(64));
    let [x, y, z] = ["x", "y", "z"].map(|d| wide(format!("{index}.{d}")));
    let [nx, ny] = ["x", "y"].map(|d| wide(format!("{size}.{d}")));
    b.add(x, b.mul(nx, b.add(y, b.mul(ny, z))))
}

/// Warps of a block.
fn warps(b: &Builder) -> Value {
    let wide = |d: &str| b.zext_or_trunc(register(b, &format!("ntid.{d}")), b.int_ty(64));
    let threads = b.mul(b.mul(wide("x"), wide("y")), wide("z"));
    b.lshr(b.add(threads, b.i64(31)), b.i64(5))
}

/// Does this thread's warp run the cheap version?
fn chosen(b: &Builder, select: Select, lambda: Value) -> Value {
    let f32t = b.float_ty(Format::F32);
    let i64t = b.int_ty(64);
    let below = |id: Value, of: Value| {
        let n = b.cast(Opcode::LLVMUIToFP, of, f32t);
        let n = b.bin(Opcode::LLVMFMul, lambda, n);
        let n = b.intrinsic("llvm.roundeven", &[f32t], &[n]);
        let id = b.cast(Opcode::LLVMUIToFP, id, f32t);
        b.fcmp(RealPred::LLVMRealOLT, id, n)
    };
    let warp = || b.lshr(linear(b, "tid", "ntid"), b.i64(5));
    match select {
        Select::Slot => below(register(b, "warpid"), register(b, "nwarpid")),
        Select::Warp => below(warp(), warps(b)),
        Select::Hash => {
            let block = linear(b, "ctaid", "nctaid");
            let mut h = b.add(b.mul(block, warps(b)), warp());
            for (shift, factor) in MIX {
                h = b.mul(b.xor(h, b.lshr(h, b.i64(shift.into()))), b.i64(factor));
            }
            let scaled = b.bin(Opcode::LLVMFMul, lambda, f32t.real(4294967296.0));
            let limit = b.intrinsic("llvm.fptoui.sat", &[i64t, f32t], &[scaled]);
            b.icmp(IntPred::LLVMIntULT, b.lshr(h, b.i64(32)), limit)
        }
    }
}

impl Versions {
    /// A copy of a kernel beside it.
    pub(crate) fn new(first: Value, select: Select) -> Versions {
        let second = first.clone_function(&format!("{}.kerf.cheap", first.name()));
        Versions {
            first,
            second,
            select,
        }
    }

    /// What is wanted of the kernel's instructions, of those of the copy.
    pub(crate) fn moved(&self, wants: &[(Value, Want)]) -> Vec<(Value, Want)> {
        let pairs: BTreeMap<Value, Value> = self
            .first
            .instructions()
            .into_iter()
            .zip(self.second.instructions())
            .collect();
        let there = |i: &Value| pairs.get(i).copied().unwrap_or(*i);
        wants.iter().map(|(i, w)| (there(i), *w)).collect()
    }

    /// Makes one kernel of the two.
    pub(crate) fn join(self, m: &Module) -> Result<(), LlvmError> {
        let f32t = m.float_ty(Format::F32);
        let kernel = self.first.append_param(f32t, PARAMETER);
        let mut params = kernel.params();
        let lambda = params
            .pop()
            .ok_or_else(|| LlvmError("no parameter".into()))?;
        // A copy of what was passed by value is not needed: only one version runs in a thread.
        for i in 0u32..params.len() as u32 {
            self.second.remove_param_attr(i, "byval");
        }
        self.second.set_call_conv(0);
        self.second.set_linkage(Linkage::LLVMInternalLinkage);
        for attr in ["noinline", "optnone"] {
            self.second.remove_enum_attr(attr);
        }
        let old = kernel.blocks()[0];
        let entry = kernel.add_prologue();
        if let Some(t) = entry.terminator() {
            t.erase();
        }
        // What a version keeps on the stack belongs into the first block, or it is no longer static.
        let b = Builder::at_end(entry);
        let cheap = b.new_block(kernel, "kerf.cheap");
        b.cond_br(chosen(&b, self.select, lambda), cheap, old);
        if let Some(first) = entry.first() {
            for i in old.instructions() {
                if i.opcode() == Some(Opcode::LLVMAlloca) && i.operand(0).is_constant() {
                    i.move_before(first);
                }
            }
        }
        b.move_to_end(cheap);
        let call = b.call(self.second, &params);
        b.ret(None);
        if !call.inline_call() {
            return Err(LlvmError(format!(
                "the second version of {} could not be put into the kernel",
                kernel.name()
            )));
        }
        self.second.delete_function();
        m.verify()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_takes_the_fraction_asked_for() {
        for lambda in [0.0f32, 0.1, 0.25, 0.5, 0.9, 1.0] {
            let n = (0..100_000).filter(|w| hash_selects(*w, lambda)).count();
            let share = n as f32 / 100_000.0;
            assert!((share - lambda).abs() < 0.005, "{lambda}: {share}");
        }
        assert!((0..100_000).all(|w| !hash_selects(w, 0.0) && hash_selects(w, 1.0)));
    }
}

//! The addresses of a kernel: what its loads and stores touch, and how that depends on the thread.
//!
//! This file reads the code, once for all: what an instruction touches, what an address computation adds, which special
//! register is read. Four views are made of that. They differ in what is known when they are asked, and in what their
//! answers are worth:
//!
//! | view | answers | holds |
//! |---|---|---|
//! | [`linear`] | two addresses are so many bytes apart | proven: sums that may wrap are not taken apart |
//! | [`block`] | addresses of all threads of a block of a given size | proven where `exact`; else up to a number that threads share, a loop at its first turn |
//! | [`slope`] | bytes from one thread to the next, for blocks of any size | guessed: nothing wraps, clamps do not matter |
//! | [`extent`] | how far a kernel reaches, as polynomials of its parameters | guessed: quantities are positive, comparisons are guards |
//!
//! Code is changed by what is proven only. What is guessed goes into predictions of time and into the first workload
//! file, which says of each guess that it is one.
pub mod block;
pub mod extent;
pub mod linear;
pub mod slope;

use kerf_llvm::{Module, Opcode, Type, TypeKind, Value};
use serde::{Deserialize, Serialize};

/// Operations between a value and what it is made of that are followed: chains of thousands (unrolled hashes, ciphers)
/// are no indices, and each step is a call on the stack.
const MOST_STEPS: u32 = 200;

/// Which way the bytes of an access go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessDirection {
    /// Into the thread.
    Load,
    /// Out of it.
    Store,
    /// Both, in one step.
    Atomic,
}

/// Memory that an instruction touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    /// Where it begins.
    pub pointer: Value,
    /// Bytes; 0 for a copy whose length is not known.
    pub bytes: u64,
    /// Which way they go.
    pub direction: AccessDirection,
}

/// What an instruction touches: nothing, one place, or the two of a copy.
pub fn touched(m: &Module, i: Value) -> Vec<Touched> {
    use AccessDirection::*;
    let one = |pointer, bytes, direction| Touched {
        pointer,
        bytes,
        direction,
    };
    match i.opcode() {
        Some(Opcode::LLVMLoad) => vec![one(i.operand(0), m.size_of(i.ty()), Load)],
        Some(Opcode::LLVMStore) => vec![one(i.operand(1), m.size_of(i.operand(0).ty()), Store)],
        Some(Opcode::LLVMAtomicRMW) => vec![one(i.operand(0), m.size_of(i.ty()), Atomic)],
        Some(Opcode::LLVMAtomicCmpXchg) => {
            vec![one(i.operand(0), m.size_of(i.operand(1).ty()), Atomic)]
        }
        Some(Opcode::LLVMCall) => {
            let name = i.callee_name().unwrap_or_default();
            let args = i.args();
            let bytes = args.get(2).and_then(|n| n.const_int()).unwrap_or(0);
            if name.starts_with("llvm.memcpy.") || name.starts_with("llvm.memmove.") {
                vec![one(args[1], bytes, Load), one(args[0], bytes, Store)]
            } else if name.starts_with("llvm.memset.") {
                vec![one(args[0], bytes, Store)]
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    }
}

/// What an address computation (`getelementptr`) adds to its pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressSteps {
    /// Bytes of fields of structs.
    pub bytes: i64,
    /// Indices, each with the bytes of what it counts.
    pub indices: Vec<(Value, i64)>,
}

/// The steps of an address computation; none where it computes several addresses at once.
pub fn steps(m: &Module, gep: Value) -> Option<AddressSteps> {
    let mut steps = AddressSteps {
        bytes: 0,
        indices: Vec::new(),
    };
    let mut step: Type = gep.gep_type();
    for (n, index) in gep.operands().into_iter().skip(1).enumerate() {
        if !index.ty().is_int() {
            return None;
        }
        if n > 0 {
            if step.kind() == TypeKind::LLVMStructTypeKind {
                let field = index.const_int()? as u32;
                let offset = m.field_offset(step, field) as i64;
                steps.bytes = steps.bytes.wrapping_add(offset);
                step = *step.fields().get(field as usize)?;
                continue;
            }
            step = step.element();
        }
        steps.indices.push((index, m.size_of(step) as i64));
    }
    Some(steps)
}

/// A constant of at most 64 bits, as a signed number.
pub fn signed_constant(v: Value) -> Option<i64> {
    let c = v.const_int()?;
    let unused = 64u32.saturating_sub(v.ty().int_bits());
    Some((c << unused) as i64 >> unused)
}

/// A special register: what tells threads and launches apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialRegister {
    /// `threadIdx`, by axis.
    ThreadIndex(usize),
    /// `blockDim`.
    BlockSize(usize),
    /// `blockIdx`.
    BlockIndex(usize),
    /// `gridDim`.
    GridSize(usize),
    /// A thread's number in its warp.
    Lane,
    /// A warp's number in its block.
    Warp,
    /// 32.
    WarpSize,
    /// A mask of lanes beside the thread's own.
    LaneMask,
    /// Another one; threads are taken to read the same.
    Other,
}

/// How the intrinsics begin that read special registers.
pub const REGISTER_PREFIX: &str = "llvm.nvvm.read.ptx.sreg.";

/// The special register that a call reads.
pub fn special_register(call: Value) -> Option<SpecialRegister> {
    use SpecialRegister::*;
    let name = call.callee_name()?;
    let register = name.strip_prefix(REGISTER_PREFIX)?;
    let (what, axis) = register.split_once('.').unwrap_or((register, "x"));
    let axis = ["x", "y", "z"].iter().position(|a| *a == axis);
    Some(match (what, axis) {
        ("tid", Some(axis)) => ThreadIndex(axis),
        ("ntid", Some(axis)) => BlockSize(axis),
        ("ctaid", Some(axis)) => BlockIndex(axis),
        ("nctaid", Some(axis)) => GridSize(axis),
        ("laneid", _) => Lane,
        ("warpid", _) => Warp,
        ("warpsize", _) => WarpSize,
        ("lanemask", _) => LaneMask,
        _ => Other,
    })
}

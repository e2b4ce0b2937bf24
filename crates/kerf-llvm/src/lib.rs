//! A thin, copyable view of LLVM's C API: the vocabulary in which Kerf's passes are written.
//!
//! Handles (`Value`, `Type`, `Block`) are plain pointers into a [`Module`], as they are in C++.
//! The contract that makes the methods safe to call: a handle is used only while the module that it
//! came from is alive, on the thread that owns the module, and not after the thing it names was
//! erased. `Module` owns its context, is neither `Send` nor `Sync`, and passes take `&Module`, so
//! no handle outlives a pass by accident. Texts and lists that LLVM lends are copied before anything
//! else is called.
#![warn(missing_docs)]
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "each block is one call of LLVM's C API on handles, for which the contract above is the reason; blocks that rest on more say on what"
)]

mod arch;
mod block;
mod builder;
mod constants;
mod debug_info;
mod debug_lines;
mod global;
mod instruction;
mod message;
mod module;
mod shim;
mod surgery;
mod target;
mod types;
mod value;

pub use arch::compute_capability;
pub use block::Block;
pub use builder::Builder;
pub use debug_lines::{DebugLines, DebugPlace, DebugScope};
pub use llvm_sys::core as sys;
pub use llvm_sys::{
    LLVMAtomicOrdering as Ordering, LLVMAtomicRMWBinOp as RmwOp, LLVMIntPredicate as IntPred,
    LLVMLinkage as Linkage, LLVMOpcode as Opcode, LLVMRealPredicate as RealPred,
    LLVMTypeKind as TypeKind,
};
pub use module::Module;
pub use target::{HostJit, PassOptions, TargetMachine, host_target};
pub use types::Type;
pub use value::Value;

/// Calling convention of PTX kernels (`ptx_kernel`).
pub const CC_PTX_KERNEL: u32 = 71;
/// Calling convention of PTX device functions (`ptx_device`).
pub const CC_PTX_DEVICE: u32 = 72;
/// Calling convention of OpenCL kernels for SPIR (`spir_kernel`).
pub const CC_SPIR_KERNEL: u32 = 76;
/// Calling convention of OpenCL functions for SPIR (`spir_func`).
pub const CC_SPIR_FUNC: u32 = 75;

/// Address spaces of NVPTX.
pub mod space {
    /// Generic.
    pub const GENERIC: u32 = 0;
    /// Global memory.
    pub const GLOBAL: u32 = 1;
    /// Shared memory of a block.
    pub const SHARED: u32 = 3;
    /// Constant memory.
    pub const CONSTANT: u32 = 4;
    /// Local (thread private) memory.
    pub const LOCAL: u32 = 5;
}

/// What LLVM said when it refused something.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct LlvmError(pub String);

/// Demangled name of an Itanium-mangled symbol; other names come back unchanged.
pub fn demangle(name: &str) -> String {
    shim::demangle(name)
}

//! The only crate that names LLVM: from source to modules, kernels, sites and groups.
//!
//! A program goes through three forms. **Compiled**: what clang wrote ([`compile`]). **Prepared**
//! ([`prepare`]): SSA, functions inlined, multiply-adds decided, math calls visible; sites are
//! numbered and plans applied here. **Finished** ([`finish`]): libdevice linked, optimised; PTX and
//! the CPU's code are made from this one module.
#![warn(missing_docs)]

pub mod access;
pub mod assembler_faults;
pub mod bf16_fence;
pub mod blob;
pub mod cc;
pub mod compile;
pub mod constant_loads;
pub mod extent;
pub mod finish;
pub mod fuse;
pub mod groups;
pub mod half_overflow;
pub mod inline_ptx;
pub mod kernels;
pub mod llvm;
pub mod obstacles;
pub mod prepare;
pub mod program;
pub mod random_kernel;
pub mod sites;
mod small_fma;
pub mod undefined_locals;
pub mod unit;
pub mod variables;

/// Digest of this crate's own sources: code that another version made may not fit this one.
pub const DIGEST: &str = env!("KERF_IR_DIGEST");

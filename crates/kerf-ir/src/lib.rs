//! Forms of a program, what is in it, and how it is packed.
//!
//! A program goes through three forms. **Compiled**: what clang wrote ([`kerf_clang`]). **Prepared**
//! ([`prepare`]): SSA, functions inlined, multiply-adds decided, math calls visible; sites are
//! numbered and plans applied here. **Finished** ([`finish`]): libdevice linked, optimised; PTX and
//! the CPU's code are made from this one module.
#![warn(missing_docs)]

pub mod address;
pub mod assembler_faults;
mod bf16_compare;
pub mod bf16_fence;
pub mod blob;
pub mod constant_loads;
pub mod device_code;
pub mod finish;
pub mod fuse;
pub mod groups;
pub mod half_overflow;
pub mod kernels;
mod managed;
pub mod obstacles;
pub mod prepare;
pub mod program;
pub mod pure_operation;
pub mod rewriting;
pub mod sites;
mod small_fma;
pub mod tensor_core;
pub mod undefined_locals;
pub mod unit;
pub mod variables;
mod written;

/// Digest of this crate's own sources: code that another version made may not fit this one.
pub const DIGEST: &str = env!("KERF_IR_DIGEST");

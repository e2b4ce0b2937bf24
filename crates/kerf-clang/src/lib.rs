//! Sources to compiled modules: clang run so that it takes what nvcc takes.
//!
//! [`compile`] makes bitcode of one source. [`cc`] builds whole applications as nvcc would; what is packed into their
//! objects in place of NVIDIA's machine code is decided by its caller ([`cc::DeviceCode`]).
#![warn(missing_docs)]

pub mod cc;
pub mod clang_program;
pub mod compile;
pub mod cuda_library;
mod digest;
pub mod headers;
pub mod on_cpu;

pub use digest::{FileVersion, sha256, sha256_of_file};

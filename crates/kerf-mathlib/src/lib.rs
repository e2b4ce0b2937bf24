//! What calls of NVIDIA's libraries compute, on the CPU: BLAS as cuBLAS has it, and random numbers as cuRAND makes them.
//!
//! Plain functions over memory, without state of their own and without LLVM. Results do not depend on the machine or on the
//! number of threads: sums have one order, and multiply-adds are fused on every processor.
#![warn(missing_docs)]

pub mod blas;
pub mod random;

//! BLAS with column-major matrices, as cuBLAS has it.
//!
//! Sums of vectors are taken pairwise, those of products of matrices one after the other by fused multiply-adds.
mod compute;
mod matrix;
mod scalar;
mod vector;

pub use compute::multiply;
pub use matrix::{Dense, Fill, Solve, Transposition, Triangle, solve_triangular};
pub use scalar::{BlasNumber, Complex, Real};
pub use vector::{Strided, StridedMut, absolute_sum, dot, largest, norm, smallest};

#[cfg(test)]
mod tests;

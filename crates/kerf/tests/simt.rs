//! CUDA and OpenCL kernels on the CPU executor, against values computed here.
//!
//! Every workload of `simt/` runs in the program as users run it, and its outputs are read back
//! from the `.npy` files that `--save` writes. What is expected is computed in Rust, independently.
// Inputs are spelled as in the workloads, and expressions as in the kernels: `!(x < y)` is not
// `x >= y` where there are NaNs.
#![allow(
    clippy::approx_constant,
    clippy::excessive_precision,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::precedence
)]
#[path = "simt/atomics.rs"]
mod atomics;
#[path = "simt/blocks.rs"]
mod blocks;
#[path = "simt/exact.rs"]
mod exact;
#[path = "simt/faults.rs"]
mod faults;
#[path = "simt/groups.rs"]
mod groups;
#[path = "simt/halves.rs"]
mod halves;
#[path = "simt/harness.rs"]
pub mod harness;
#[path = "simt/lang.rs"]
mod lang;
#[path = "simt/math.rs"]
mod math;
#[path = "simt/matrices.rs"]
mod matrices;
#[path = "simt/opencl.rs"]
mod opencl;
#[path = "simt/refused.rs"]
mod refused;
#[path = "simt/regions.rs"]
mod regions;
#[path = "simt/warp.rs"]
mod warp;

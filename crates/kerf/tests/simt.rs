//! CUDA and OpenCL kernels on the CPU executor, against values computed here.
//!
//! Every workload of `simt/` runs once in the program as users run it, and its outputs are read back
//! from the `.npy` files that `--save` writes. What is expected is computed in Rust, independently.
#[path = "simt/harness.rs"]
mod harness;

#[path = "simt/blocks.rs"]
mod blocks;
#[path = "simt/warp.rs"]
mod warp;
#[path = "simt/atomics.rs"]
mod atomics;
#[path = "simt/lang.rs"]
mod lang;

//! CUDA and OpenCL kernels on the CPU executor, against values computed here.
//!
//! Every workload of `simt/` runs in the program as users run it, and its outputs are read back
//! from the `.npy` files that `--save` writes. What is expected is computed in Rust, independently.
#[path = "simt/atomics.rs"]
mod atomics;
#[path = "simt/blocks.rs"]
mod blocks;
#[path = "simt/exact.rs"]
mod exact;
#[path = "simt/halves.rs"]
mod halves;
#[path = "simt/harness.rs"]
mod harness;
#[path = "simt/lang.rs"]
mod lang;
#[path = "simt/math.rs"]
mod math;
#[path = "simt/warp.rs"]
mod warp;

//! One program for all tests of the crate: it is linked once, and keeps all cores busy.
mod common;
mod device_inputs;
mod gpu_counts;
mod gpu_references;
mod sampled_counts;
mod written_buffers;

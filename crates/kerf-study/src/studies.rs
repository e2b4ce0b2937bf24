//! The studies, one a file.
pub mod dilemma;
pub mod do_undo;
pub mod exponential;
pub mod gaussian;
pub mod latency;
pub mod lavamd;
pub mod lud;
pub mod matrix;
pub mod mixed_throughput;
pub mod products;
pub mod scaling;
pub mod sfu_functions;
pub mod summation;

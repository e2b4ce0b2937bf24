//! The lower pass on small modules: what it builds, where it converts, and what it refuses.
#[path = "lower/arithmetic.rs"]
mod arithmetic;
#[path = "lower/calls.rs"]
mod calls;
#[path = "lower/harness.rs"]
mod harness;
#[path = "lower/loops.rs"]
mod loops;
#[path = "lower/movers.rs"]
mod movers;
#[path = "lower/packed.rs"]
mod packed;
#[path = "lower/refusals.rs"]
mod refusals;

//! The double-word device library on the CPU executor: the bits of kerf-num, errors against MPFR, and
//! special values.
#[path = "library/accuracy.rs"]
mod accuracy;
#[path = "library/bits.rs"]
mod bits;
#[path = "library/harness.rs"]
mod harness;
#[path = "library/special.rs"]
mod special;

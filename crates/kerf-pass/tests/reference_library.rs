//! The reference device library on the CPU executor: arithmetic has the bits of `kerf_num::Dd`, and the
//! elementary functions stay within 2^-95 of MPFR.
#[path = "reference/accuracy.rs"]
mod accuracy;
#[path = "reference/arithmetic.rs"]
mod arithmetic;
#[path = "reference/envelope.rs"]
mod envelope;
#[path = "reference/harness.rs"]
mod harness;
#[path = "reference/ptx.rs"]
mod ptx;
#[path = "reference/special.rs"]
mod special;

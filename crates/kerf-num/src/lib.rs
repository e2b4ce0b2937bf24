//! Numbers for Kerf: formats, rounding, ulps, double-word arithmetic and
//! error metrics.
//!
//! * [`Format`] names a storage format (`f64`, `f32`, `f16`, `bf16`) and rounds
//!   into it, once and correctly.
//! * [`Dd`] is the double-double number that reference results are held in. It
//!   treats infinities, NaN, signed zero and overflow as `f64` does.
//! * [`doubleword`] holds the published double-word algorithms, over `f32` and
//!   `f64`, step for step as generated code runs them.
//! * [`made`] is the form of math functions that were made for a range and an error.
//! * [`ulp`] counts error in units in the last place, in both usual meanings.
//! * [`metrics`] compares an output with its reference and judges it.
//! * [`portable`] has elementary functions, the same bits on every machine.
//! * [`random`] draws the same numbers on every machine.
//! * [`scaled`] has the formats in which arrays are held and nothing is computed: integers and 8-bit floating-point codes
//!   with a scale. [`StorageFormat`] is one of them or a [`Format`].
//! * [`tensor_core`] adds products as tensor cores do.
//! * [`wide!`] compiles a loop for wide instructions too, with the same bits.
//!
//! The crate does no I/O, holds no `unsafe` code and depends on round to
//! nearest even with subnormals enabled, which is what Rust's floats provide.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod dd;
pub mod doubleword;
mod exponent;
mod fixed;
pub mod format;
pub mod made;
pub mod metrics;
pub mod portable;
pub mod random;
pub mod scaled;
pub mod storage_format;
pub mod tensor_core;
pub mod ulp;
mod wide;

pub use dd::Dd;
pub use format::Format;
pub use metrics::{ErrorReport, Metric, compare};
pub use storage_format::StorageFormat;

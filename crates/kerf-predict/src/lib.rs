//! The time of a kernel, without running it or from a few of its blocks.
//!
//! * [`cost`] predicts from machine code (or IR, where there is no assembler), counts and a device profile.
//! * [`sampled`] predicts a launch from two samples of its blocks.
#![warn(missing_docs)]

pub mod cost;
pub mod sampled;

//! What a GPU's floating point costs and how accurate it is.
//!
//! * [`profile`] is the result: one JSON file that says of each figure whether it was measured,
//!   published or is unknown.
//! * [`accuracy`] measures how accurate operations are.
//! * [`doubleword`] tries double-word operations against their proven bounds.
//! * [`operation`] is the catalogue of what is measured.
#![warn(missing_docs)]

pub mod accuracy;
pub mod doubleword;
pub mod operation;
pub mod profile;

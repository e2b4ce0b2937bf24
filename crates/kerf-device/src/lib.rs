//! What a GPU's floating point costs and how accurate it is.
//!
//! * [`profile`] is the result: one JSON file that says of each figure whether it was measured,
//!   published or is unknown.
//! * [`accuracy`] measures how accurate operations are.
//! * [`operation`] is the catalogue of what is measured.
#![warn(missing_docs)]

pub mod accuracy;
pub mod operation;
pub mod profile;

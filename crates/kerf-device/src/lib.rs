//! What a GPU's floating point costs and how accurate it is.
//!
//! * [`profile`] is the result: one JSON file that says of each figure whether it was measured,
//!   published or is unknown.
//! * [`operation`] is the catalogue of what is measured.
//! * [`characterise`] makes a profile, out of [`probe`], [`accuracy`], [`limits`] and [`energy`].
//! * [`bundled`] are the profiles that come with Kerf.
//! * [`bits`], [`occupancy`] and [`breakeven`] are what follows from a profile.
//! * [`sfu`] reads the special-function unit off a device, and compares it with the CPU executor.
//! * [`doubleword`] tries double-word operations against their proven bounds.
#![warn(missing_docs)]

pub mod accuracy;
pub mod bits;
pub mod breakeven;
pub mod bundled;
pub mod characterise;
pub mod contention;
pub mod doubleword;
pub mod energy;
pub mod limits;
pub mod occupancy;
pub mod operation;
pub mod picture;
pub mod probe;
pub mod profile;
pub mod sfu;

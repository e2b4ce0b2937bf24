//! Hard-to-round cases of elementary functions.
//!
//! The value of a function at a floating-point number is hard to round when many identical bits follow the
//! round bit: a long way from the last bit of the format on, nothing tells whether the value is above or below
//! a rounding boundary. Libraries that round correctly need the worst such arguments. [`leaf::search`] finds
//! all of them in part of a binade, by Lefevre's algorithm with proven bounds.
#![warn(missing_docs)]

pub mod certificate;
pub mod confirm;
pub mod cost;
pub mod exhaustive;
pub mod finished;
pub mod format;
pub mod function;
pub mod group;
mod hits;
pub mod interval;
mod isa;
pub mod journal;
mod lanes;
pub mod leaf;
pub mod libm;
pub mod list;
pub mod lsg;
pub mod plan;
pub mod poly;
pub mod repeat;
mod rotate;
mod runs;
pub mod search;
mod split;
pub mod symmetry;
pub mod tables;
mod taylor;
mod uniform_proof;
mod unit_check;
mod unit_record;
pub mod unit_set;
pub mod units;
pub mod vectors;
pub mod verify;
mod walk;
pub mod wide;
pub mod worst_cases;

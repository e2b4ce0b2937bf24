//! Launch tuning: the shape of blocks, and other launch parameters.
//!
//! [`space`] is what there is to choose from and what cannot run; [`table`] times all of it, for comparison.
pub mod space;
pub mod table;

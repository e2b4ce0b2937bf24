//! One program for all tests of the crate: it is linked once, and keeps all cores busy.
mod compare;
mod convert;
mod directed;
mod extremes;
mod integers;
mod kept;
mod reciprocals;
mod sfu;
mod tensor_core;

//! One program for all tests of the crate: it is linked once, and keeps all cores busy.
mod brute;
mod certificate;
mod common;
mod exhaustive;
mod known;
mod splits;
mod symmetry;

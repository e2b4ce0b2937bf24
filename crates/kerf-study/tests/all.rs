//! One program for all tests of the crate: it is linked once, and keeps all cores busy.
mod common;
mod doubleword;
mod studies;

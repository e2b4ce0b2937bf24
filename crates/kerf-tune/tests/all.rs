//! One program for all tests of the crate: it is linked once, and keeps all cores busy.
mod choice;
mod common;
mod counted;
mod launch;
mod problem;

//! One program for all tests of the crate: it is linked once, and keeps all cores busy.
mod exchange;
mod listed;
mod recorded;
mod strategies;

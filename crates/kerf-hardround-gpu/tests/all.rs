//! One program for all tests of the crate: it is linked once, and keeps all cores busy.
mod brute;
mod dilemma;
mod random;
mod same;
mod small;

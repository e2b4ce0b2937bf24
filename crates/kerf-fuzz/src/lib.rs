//! Damaged input files, and the readers that they are given to.
//!
//! A file is known by its kind, a seed and a number: the same three give the same bytes, so that a file that does harm
//! can be made again.
pub mod mutate;
pub mod readers;

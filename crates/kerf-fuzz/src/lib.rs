//! Differential tests and damaged input.
//!
//! Random kernels ([`random_kernel`]) under random plans ([`random_plan`]) have the same bits on every executor
//! ([`identity`]), and their references have the same bits by every route ([`references`]). Damaged files ([`mutate`]) are
//! refused or lived with by every reader ([`readers`]). All of it is known by a seed and a number: the same ones give the
//! same bytes, so that what does harm can be made again.
#![warn(missing_docs)]
pub mod identity;
pub mod mutate;
pub mod random_kernel;
pub mod random_plan;
pub mod readers;
pub mod references;

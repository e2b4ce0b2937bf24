//! Expressions of kernels, written differently.
//!
//! Pure floating-point code of a prepared kernel is cut into clusters ([`clusters`]). Each goes into an e-graph, where
//! rules ([`rules`]) make it equal to what it could also be; the cheapest of these by the costs of a device are its
//! candidates ([`candidates`]). Rules hold over the real numbers, under the conditions that they state. What a candidate
//! does to the results of a program is decided by running it, never here.
#![warn(missing_docs)]

mod barred;
pub mod candidates;
pub mod changes;
pub mod clusters;
mod correspondence;
pub mod cost_table;
mod estimate;
mod extract;
pub mod rules;
mod saturate;
mod shrink;
mod term;
mod value;

pub use candidates::{RewriteCandidate, candidates};
pub use changes::ExpressionChange;
pub use clusters::{ExpressionCluster, clusters};
pub use cost_table::CostTable;

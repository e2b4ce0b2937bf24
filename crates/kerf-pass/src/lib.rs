//! Plans, and the passes that carry them out, one a file.
#![warn(missing_docs)]

pub mod doubleword;
pub mod plan;
pub mod shadow;

pub use plan::{KernelPlan, Plan, PlanError};

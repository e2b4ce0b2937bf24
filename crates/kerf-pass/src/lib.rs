//! Plans, and the passes that carry them out, one a file.
#![warn(missing_docs)]

pub mod composite;
pub mod doubleword;
pub mod engine;
pub mod plan;
pub mod shadow;
pub mod site_format;

pub use plan::{KernelPlan, Plan, PlanError};
pub use site_format::SiteFormat;

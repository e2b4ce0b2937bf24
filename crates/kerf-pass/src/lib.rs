//! Plans, and the passes that carry them out, one a file.
#![warn(missing_docs)]

mod carry;
pub mod composite;
mod convert;
pub mod count;
pub mod doubleword;
pub mod engine;
pub mod formats;
pub mod lower;
pub mod math;
pub mod partition;
pub mod plan;
pub mod random_plan;
pub mod shadow;
mod shuffle;
pub mod site_format;
mod specialise;
pub mod storage;

pub use math::MathVariant;
pub use partition::{Partition, Select};
pub use plan::{KernelPlan, Plan, PlanError};
pub use site_format::SiteFormat;

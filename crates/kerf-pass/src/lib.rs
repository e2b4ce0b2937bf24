//! Plans, and the passes that carry them out, one a file.
#![warn(missing_docs)]

mod at_line;
mod block_refusal;
pub mod block_role;
pub mod block_size;
mod carry;
pub mod clip_grid;
pub mod coarsen;
pub mod code_shape;
pub mod composite;
mod convert;
pub mod count;
mod device_library;
pub mod doubleword;
pub mod engine;
mod format_refusal;
mod format_types;
pub mod formats;
pub mod index_space;
pub mod lower;
pub mod made_calls;
pub mod math;
pub mod matrix_moves;
pub mod partition;
pub mod plan;
pub mod reblock;
pub mod reference_library;
mod registers;
pub mod rewriting;
pub mod sanitize;
pub mod shadow;
mod shuffle;
pub mod site_format;
mod specialise;
pub mod storage;

pub use at_line::AtLine;
pub use block_refusal::BlockRefusal;
pub use coarsen::Coarsening;
pub use code_shape::CodeShape;
pub use format_refusal::FormatRefusal;
pub use made_calls::MadeCalls;
pub use math::MathVariant;
pub use partition::{Partition, Select};
pub use plan::{KernelPlan, Plan, PlanError};
pub use site_format::SiteFormat;

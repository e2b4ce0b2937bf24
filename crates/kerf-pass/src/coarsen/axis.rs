//! The axis along which threads are put together.
use serde::{Deserialize, Serialize};

/// Along which axis of the block neighbouring threads are put together.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CoarseAxis {
    /// `threadIdx.x`.
    #[default]
    X,
    /// `threadIdx.y`.
    Y,
}

impl CoarseAxis {
    /// As the special registers have it.
    pub const fn name(self) -> &'static str {
        match self {
            CoarseAxis::X => "x",
            CoarseAxis::Y => "y",
        }
    }
    /// Position among a block's extents.
    pub const fn index(self) -> usize {
        match self {
            CoarseAxis::X => 0,
            CoarseAxis::Y => 1,
        }
    }
}

//! Why a kernel was not coarsened.
use kerf_llvm::LlvmError;

/// Why a kernel was not coarsened.
#[derive(Debug, thiserror::Error)]
pub enum CoarsenError {
    /// Something in it stands against it.
    #[error("{0}")]
    Obstacle(String),
    /// A pass failed.
    #[error(transparent)]
    Pass(#[from] LlvmError),
}

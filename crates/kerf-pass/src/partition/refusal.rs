//! Why a kernel cannot run in two versions.
use crate::at_line::AtLine;

/// Why a kernel cannot run in two versions.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PartitionRefusal {
    /// The fraction of warps is no fraction.
    #[error("lambda is {lambda}, and not from 0 to 1")]
    Lambda {
        /// As the plan has it.
        lambda: f64,
    },
    /// Something else in the module uses the kernel.
    #[error("something refers to it, which would not know of its new parameter")]
    Referenced,
    /// A device function with a barrier was not inlined.
    #[error("{function} was not inlined and has a barrier{at}")]
    BarrierInFunction {
        /// The function.
        function: String,
        /// The barrier.
        at: AtLine,
    },
    /// The versions may disagree on a barrier.
    #[error(
        "whether the barrier{barrier} is reached depends on what the versions compute differently{value}"
    )]
    BarrierDepends {
        /// The barrier.
        barrier: AtLine,
        /// The value that it depends on.
        value: AtLine,
    },
    /// Two names of the plan mean the kernel, and one of them has two versions.
    #[error("the plan names it twice")]
    NamedTwice,
}

//! Why a kernel was not coarsened.
use super::axis::CoarseAxis;
use crate::at_line::AtLine;
use kerf_llvm::LlvmError;

/// What stands against coarsening a kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoarsenObstacle {
    /// A factor that is not offered.
    #[error("the factor is {factor}, and not 2, 4 or 8")]
    Factor {
        /// As the plan has it.
        factor: u32,
    },
    /// A run that leaves neighbours over.
    #[error("a run of {run} does not divide the factor {factor}")]
    Run {
        /// Neighbours that stay together.
        run: u32,
        /// Threads whose work one does.
        factor: u32,
    },
    /// A block of which threads would be left over.
    #[error(
        "{} threads along {} of a block of {} x {} x {} cannot be divided among threads that do the work of {factor}",
        block[axis.index()],
        axis.name(),
        block[0],
        block[1],
        block[2]
    )]
    Indivisible {
        /// The block of the launch.
        block: [u32; 3],
        /// Along which axis threads are put together.
        axis: CoarseAxis,
        /// Threads whose work one does.
        factor: u32,
    },
    /// The plan regroups its blocks, too.
    #[error("its blocks are regrouped")]
    Regrouped,
    /// Something else in the module uses the kernel.
    #[error("something refers to it, which would not know of its new block")]
    Referenced,
    /// A device function that reads the index was not inlined.
    #[error("{function} was not inlined and reads the thread's index")]
    IndexInFunction {
        /// The function.
        function: String,
    },
    /// A device function with a barrier was not inlined.
    #[error("{function} was not inlined and has a barrier{at}")]
    BarrierInFunction {
        /// The function.
        function: String,
        /// The barrier.
        at: AtLine,
    },
    /// A local array of variable length.
    #[error("it has an array whose length is not known")]
    VariableArray,
    /// A loop that threads never leave.
    #[error("it has a loop without an end")]
    EndlessLoop,
    /// Copies could part at a barrier.
    #[error("whether the barrier{at} is reached may depend on the thread, by the branch{branch}")]
    DividedBarrier {
        /// The barrier.
        at: AtLine,
        /// The branch that decides.
        branch: AtLine,
    },
    /// Inline PTX that was not lifted.
    #[error("inline PTX{0} stayed as it is written")]
    InlinePtx(AtLine),
    /// A call through a pointer.
    #[error("a function is called through a pointer{0}")]
    IndirectCall(AtLine),
    /// A read of a register that is one for a warp.
    #[error("%{register}, which is read{at}, is a warp's")]
    WarpRegister {
        /// The register.
        register: String,
        /// The read.
        at: AtLine,
    },
    /// Output of `printf`.
    #[error("it prints{0}, in the order of its threads")]
    Prints(AtLine),
    /// A function that is not known.
    #[error("{function} is called{at}")]
    Calls {
        /// The function.
        function: String,
        /// The call.
        at: AtLine,
    },
    /// A vote, a shuffle or the like.
    #[error("{operation}{at} is an operation of a warp")]
    WarpOperation {
        /// The intrinsic, without `llvm.nvvm.`.
        operation: String,
        /// The call.
        at: AtLine,
    },
    /// An asynchronous copy or the like.
    #[error("{operation}{at} is ordered among threads")]
    Ordered {
        /// The intrinsic, without `llvm.nvvm.`.
        operation: String,
        /// The call.
        at: AtLine,
    },
    /// An atomic operation that does not commute.
    #[error("the result of the atomic operation{0} depends on the order of threads")]
    AtomicOrder(AtLine),
    /// An atomic operation whose result is used.
    #[error("what the atomic operation{0} finds, which is used, depends on the order of threads")]
    AtomicUsed(AtLine),
    /// A volatile load or store.
    #[error("an access{0} is volatile")]
    Volatile(AtLine),
    /// An atomic load or store.
    #[error("an access{0} is atomic")]
    AtomicAccess(AtLine),
    /// A store to a parameter that all threads share.
    #[error("a parameter that was passed by value is written{0}")]
    ParameterWritten(AtLine),
    /// An indirect branch or the like.
    #[error("control{0} goes on in a way that is not known")]
    UnknownControl(AtLine),
}

/// Why a kernel was not coarsened.
#[derive(Debug, thiserror::Error)]
pub enum CoarsenError {
    /// Something in it stands against it.
    #[error(transparent)]
    Obstacle(#[from] CoarsenObstacle),
    /// A pass failed.
    #[error(transparent)]
    Pass(#[from] LlvmError),
}

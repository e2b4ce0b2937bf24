//! Why a kernel cannot have a block of another shape, or be launched with one.
use crate::coarsen::CoarsenObstacle;
use kerf_llvm::LlvmError;

/// Why a kernel cannot have a block of another shape, or be launched with one.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BlockRefusal {
    /// An extent of zero.
    #[error("a block has at least one thread along each axis")]
    Empty,
    /// `reqd_work_group_size` asks for another block.
    #[error(
        "the source requires blocks of {} x {} x {} (reqd_work_group_size)",
        required[0],
        required[1],
        required[2]
    )]
    Required {
        /// The block of the source.
        required: [u32; 3],
    },
    /// `reqd_work_group_size` asks for one block, and regrouping makes another.
    #[error("the source requires one block size (reqd_work_group_size)")]
    RequiresOne,
    /// `__launch_bounds__` asks for fewer threads.
    #[error("the source allows at most {most} threads a block (__launch_bounds__)")]
    Bounds {
        /// Threads that the source allows.
        most: u32,
    },
    /// Too few or too many blocks put together.
    #[error("C is {groups}, and not from 2 to {most}")]
    Groups {
        /// Blocks to put together.
        groups: u32,
        /// The most that can be.
        most: u32,
    },
    /// Something else in the module uses the kernel.
    #[error("something refers to it, which would not know of its new parameters")]
    Referenced,
    /// It reads `%warpid` or `%nwarpid`.
    #[error("it reads the hardware's warp slots")]
    WarpSlots,
    /// A device function that reads indices was not inlined.
    #[error("{0} was not inlined and reads indices")]
    NotInlined(String),
    /// A barrier that not all threads pass.
    #[error("it has a barrier that is not of all threads ({0})")]
    PartialBarrier(String),
    /// The blocks of a launch that is to be regrouped are no warps.
    #[error(
        "regrouping takes blocks of {group} x 1 x 1 threads, and this one has {} x {} x {}",
        block[0],
        block[1],
        block[2]
    )]
    NotWarpSized {
        /// Threads of a warp.
        group: u32,
        /// The block of the launch.
        block: [u32; 3],
    },
    /// A plan asks for a block as well as for regrouping.
    #[error("regrouping takes blocks of {group} threads")]
    NotGroup {
        /// Threads of a warp.
        group: u32,
    },
    /// Other blocks along x have no threads, or too many.
    #[error("a block along x has from 1 to {most} threads, and the plan says {x}")]
    Threads {
        /// What the plan says.
        x: u32,
        /// The most that can be.
        most: u32,
    },
    /// What a thread does depends on others, or on their order.
    #[error("its threads are more than places in a row: {0}")]
    NoRow(CoarsenObstacle),
    /// Blocks have memory of their own.
    #[error("it has shared memory, which belongs to its blocks")]
    SharedMemory,
    /// Blocks wait for their threads.
    #[error("it has a barrier, which belongs to its blocks")]
    Barrier,
    /// An index is used for something else than the thread's place in the row.
    #[error("it reads {0} for more than the place of its thread in the row")]
    Index(String),
    /// A plan asks for other blocks in two ways.
    #[error("`reblock` goes with neither `block` nor `regroup`")]
    TwoBlocks,
    /// The pass failed.
    #[error(transparent)]
    Pass(#[from] LlvmError),
}

//! Thread coarsening: one thread does the work of k neighbouring threads of its block.
//!
//! The block that the kernel sees stays: `threadIdx` and `blockDim` are those of the block that the launch asks for, and
//! the kernel is launched with k times fewer threads along one axis. So shared memory, barriers and results keep their
//! meaning. The k threads (copies) run in lockstep, as those of a warp do: an instruction is carried out for all copies
//! before the next one, what is the same for all of them once. Where a branch divides them, the code up to its
//! postdominator runs for one copy after the other ([`serial`]). Each copy's own order of accesses stays, and nothing is
//! promised to programs in which threads race, as nothing is by a GPU.
//!
//! Copies exchange no values through registers: values that live in several blocks are put into memory first
//! ([`slots`]), one slot a copy, which LLVM's promotion takes back in the end. Accesses of neighbouring copies become
//! vector accesses where adjacency follows from the index expressions, after a check of the address at run time
//! ([`vector`]).
//!
//! After Volkov, "Better performance at lower occupancy" (GTC 2010), and Magni, Dubach, O'Boyle, "A large-scale
//! cross-architecture evaluation of thread-coarsening" (SC 2013).
mod axis;
mod choice;
mod error;
mod facts;
mod flow;
mod lanes;
mod lockstep;
mod obstacle;
mod rewrite;
mod serial;
mod slots;
mod vector;

use crate::registers::reads;
use kerf_ir::kernels::block_bounds;
use kerf_llvm::{Module, Value};

pub use axis::CoarseAxis;
pub use choice::{Coarsening, FACTORS};
pub use error::{CoarsenError, CoarsenObstacle};
pub use obstacle::obstacle;

/// Does a kernel number its threads along x?
pub fn is_indexed(kernel: Value) -> bool {
    reads(kernel).iter().any(|(_, r)| r == "tid.x")
}

/// Coarsens a kernel of a prepared module.
pub fn coarsen(m: &Module, kernel: Value, c: &Coarsening) -> Result<(), CoarsenError> {
    if let Some(why) = obstacle(m, kernel, c) {
        return Err(why.into());
    }
    let bounds = block_bounds(m, kernel);
    if let Some(block) = bounds.required {
        let [x, y, z] = c.launch(block)?;
        kernel.add_fn_attr("nvvm.reqntid", &format!("{x},{y},{z}"));
    }
    if let Some(most) = bounds.most {
        // Or the assembler would keep registers for threads that no block has.
        kernel.add_fn_attr("nvvm.maxntid", &most.div_ceil(c.factor).to_string());
    }
    rewrite::rewrite(m, kernel, c)?;
    Ok(m.verify()?)
}

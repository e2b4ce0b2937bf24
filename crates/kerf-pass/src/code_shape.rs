//! Code shape: how the machine code of a kernel is laid out, where that changes no bits.
//!
//! * `registers`: the most registers of a thread (PTX's `.maxnreg`). Fewer let more warps reside on a multiprocessor; below what
//!   the code needs, the assembler spills to local memory.
//! * `unroll`: how many times the body of a loop is laid out, in place of what the compilers choose (`llvm.loop.unroll.count`; 1
//!   keeps loops rolled). Loops that the source marks (`#pragma unroll`) stay as it says.
//!
//! It runs last, so that the loops are those of the coarsened kernel.
use kerf_llvm::{Block, Value};
use serde::{Deserialize, Serialize};

/// How the code of a kernel is laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CodeShape {
    /// Registers of a thread, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Copies of a loop's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unroll: Option<u32>,
}

impl std::fmt::Display for CodeShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let registers = self.registers.map(|n| format!("at most {n} registers"));
        let unroll = self.unroll.map(|n| format!("loops unrolled by {n}"));
        let all: Vec<String> = registers.into_iter().chain(unroll).collect();
        f.write_str(&all.join(" and "))
    }
}

/// What stands against a code shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeShapeObstacle {
    /// No assembler takes it.
    #[error("registers is {registers}, and not from {FEWEST_REGISTERS} to {MOST_REGISTERS}")]
    Registers {
        /// As the plan has it.
        registers: u32,
    },
    /// PTX says how many.
    #[error("its source limits the registers of a thread to {registers} already")]
    LimitedBySource {
        /// As the source has it.
        registers: String,
    },
    /// A factor that no loop is unrolled by.
    #[error("unroll is {factor}, and not from 1 to {MOST_COPIES}")]
    Unroll {
        /// As the plan has it.
        factor: u32,
    },
    /// It has no loop, or only loops that the source marks.
    #[error("it has no loop that the source leaves to the compiler")]
    NoLoop,
}

/// Registers that the hardware allocates for a thread, at least, and that an instruction can name.
const FEWEST_REGISTERS: u32 = 16;
const MOST_REGISTERS: u32 = 255;

/// Copies of a loop's body, at most.
const MOST_COPIES: u32 = 64;

/// Branches that close the loops of a kernel which the source does not mark. Blocks stand in the order in which they are first
/// reached.
pub fn unmarked_latches(kernel: Value) -> Vec<Value> {
    let blocks = kernel.blocks();
    let place = |b: &Block| blocks.iter().position(|o| o == b);
    let closes = |(at, b): (usize, &Block)| {
        let branch = b.terminator()?;
        let back = branch.successors().iter().any(|s| place(s) <= Some(at));
        (back && branch.loop_marks().is_empty()).then_some(branch)
    };
    blocks.iter().enumerate().filter_map(closes).collect()
}

/// Lays out the code of a kernel of a prepared module.
pub fn shape_code(kernel: Value, shape: &CodeShape) -> Result<(), CodeShapeObstacle> {
    if let Some(registers) = shape.registers {
        if !(FEWEST_REGISTERS..=MOST_REGISTERS).contains(&registers) {
            return Err(CodeShapeObstacle::Registers { registers });
        }
        if let Some(registers) = kernel.fn_attr("nvvm.maxnreg") {
            return Err(CodeShapeObstacle::LimitedBySource { registers });
        }
        kernel.add_fn_attr("nvvm.maxnreg", &registers.to_string());
    }
    if let Some(factor) = shape.unroll {
        if !(1..=MOST_COPIES).contains(&factor) {
            return Err(CodeShapeObstacle::Unroll { factor });
        }
        let latches = unmarked_latches(kernel);
        if latches.is_empty() {
            return Err(CodeShapeObstacle::NoLoop);
        }
        for latch in latches {
            match factor {
                1 => latch.keep_rolled(),
                _ => latch.unroll_by(factor),
            }
        }
    }
    Ok(())
}

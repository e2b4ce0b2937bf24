//! The static score of AMPT-GA (Kotipalli et al. 2019, section 4.2), as the baseline that it is.
//!
//! Operations by format and conversions are counted where they stand in the code, once each, however
//! often they run: 2 for an f64 operation, 1 for f32, 4 for a conversion, the weights of the paper's
//! worked example (section 4.4; its text has one f64 or two f32 operations a cycle). Memory, integers
//! and registers do not count. f16 is not in the example; it counts half of f32.
use kerf_ir::kernels::{kernels, reachable};
use kerf_ir::sites::classify;
use kerf_llvm::{Module, Opcode};
use kerf_num::Format;
use serde::Serialize;

/// What the static score counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct StaticCounts {
    /// Operations in f64.
    pub f64_operations: u64,
    /// Operations in f32.
    pub f32_operations: u64,
    /// Operations in f16 and bf16.
    pub half_operations: u64,
    /// Conversions between formats.
    pub casts: u64,
}

impl StaticCounts {
    /// The score; less is better.
    pub fn score(&self) -> f64 {
        2.0 * self.f64_operations as f64
            + self.f32_operations as f64
            + 0.5 * self.half_operations as f64
            + 4.0 * self.casts as f64
    }
}

/// Scores a prepared module to which a plan was applied.
pub fn static_score(m: &Module) -> StaticCounts {
    let mut s = StaticCounts::default();
    for k in kernels(m) {
        for i in m
            .function(&k.symbol)
            .into_iter()
            .flat_map(reachable)
            .flat_map(|f| f.instructions())
        {
            use Opcode::*;
            match i.opcode() {
                Some(LLVMFPExt | LLVMFPTrunc) => s.casts += 1,
                Some(
                    LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv | LLVMFRem | LLVMFNeg | LLVMFCmp
                    | LLVMCall,
                ) => {
                    let Some((_, format, lanes)) = classify(i) else {
                        continue;
                    };
                    let n = u64::from(lanes);
                    match format {
                        Format::F64 => s.f64_operations += n,
                        Format::F32 => s.f32_operations += n,
                        Format::F16 | Format::Bf16 => s.half_operations += n,
                    }
                }
                _ => {}
            }
        }
    }
    s
}

//! Random GPU kernels for differential testing, as LLVM 22 IR text.
//!
//! A kernel reads four input buffers (f64, f32, f16 and i32, one element per thread), computes
//! random expressions over them with branches, loops, calls, shared memory and warp exchanges, and
//! stores one result of every format per thread. Whoever runs it, the results are the same bits:
//!
//! * no undefined behaviour and no poison: no flags on instructions, divisors that are not zero,
//!   shift amounts below the width, indices in range, every stored value defined;
//! * no race and no dependence on scheduling: barriers, shuffles and votes stand in control flow
//!   that is uniform over the block, every phase on shared memory is closed by a barrier, and
//!   atomic updates commute and drop the old value;
//! * no dependence on the sign or payload of a NaN: bits of floats become integers or signs only
//!   after a test for NaN. Results that are NaNs are equal whatever their bits;
//! * no dependence on which of two zeros `minnum` or `maxnum` returns.
//!
//! Math functions are calls of libdevice functions, which a caller links in.

mod body;
mod control;
mod cooperation;
mod expression;
mod inputs;
mod integer;
mod kernel;
mod libdevice;
mod memory;
mod plan;
mod random;
mod writer;

use std::collections::BTreeSet;
use std::fmt::Write as _;

pub use inputs::{Inputs, inputs};

/// A module of random kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomModule {
    /// The text of the module.
    pub ir: String,
    /// Its kernels, in the order of their definitions.
    pub kernels: Vec<RandomKernel>,
}

/// How to launch one kernel of a [`RandomModule`], and what it contains.
///
/// A kernel is `void (ptr in64, ptr in32, ptr in16, ptr inI, ptr out64, ptr out32, ptr out16,
/// ptr outI)`. Each buffer holds one element per thread of the launch and begins at a 16-byte
/// boundary; no two of them overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomKernel {
    /// The name of the function.
    pub name: String,
    /// What the kernel contains.
    pub uses: Uses,
    /// Threads of a block along x, y and z. The kernel is right for this shape only.
    pub block: [u32; 3],
    /// Blocks along x, y and z. The kernel is right for this shape only.
    pub grid: [u32; 3],
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
}

impl RandomKernel {
    /// Threads of the whole launch, which is the length of each buffer.
    pub fn threads(&self) -> usize {
        let count = |shape: &[u32; 3]| shape.iter().product::<u32>() as usize;
        count(&self.block) * count(&self.grid)
    }
}

/// What a kernel contains, its device functions included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Instructions on f64 values.
    pub f64: bool,
    /// Instructions on f32 values.
    pub f32: bool,
    /// Instructions on f16 values.
    pub f16: bool,
    /// Calls of libdevice functions.
    pub math: bool,
    /// Calls of libdevice functions with an f32 `.approx` step under some setting. Division and
    /// square root as instructions are correctly rounded and do not count.
    pub approx_f32: bool,
    /// Shared memory and barriers.
    pub shared: bool,
    /// Warp shuffles or ballots.
    pub shuffle: bool,
    /// Loops.
    pub loops: bool,
    /// Branches or switches other than those of loops.
    pub branches: bool,
    /// Atomic updates of shared integers.
    pub atomics: bool,
}

impl RandomModule {
    /// The same kernels with device functions inlined, as compilers do with those of most programs. Functions that call
    /// themselves stay functions.
    pub fn inlined(self) -> RandomModule {
        let ir = self.ir;
        RandomModule {
            ir: ir.replace(kernel::NOT_INLINED, "alwaysinline nounwind"),
            ..self
        }
    }
}

/// The module of `kernels` random kernels `@k0`, `@k1` and so on that belongs to `seed`.
///
/// The text depends on nothing else, and the first kernels of a seed are the same however many
/// follow them.
pub fn module(seed: u64, kernels: usize) -> RandomModule {
    let mut ir = String::from(
        "target datalayout = \
         \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n\
         target triple = \"nvptx64-nvidia-cuda\"\n\n",
    );
    let mut declarations = BTreeSet::new();
    let kernels = (0..kernels)
        .map(|index| kernel::write_kernel(seed, index, &mut ir, &mut declarations))
        .collect();
    for declaration in &declarations {
        let _ = writeln!(ir, "{declaration}");
    }
    RandomModule { ir, kernels }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a, to pin text without storing it.
    fn digest(bytes: impl IntoIterator<Item = u8>) -> u64 {
        bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    #[test]
    fn text_depends_on_the_seed_only() {
        assert_eq!(module(5, 4), module(5, 4));
        assert_ne!(module(5, 1).ir, module(6, 1).ir);
    }

    /// Recorded seeds lose their meaning when the text changes: change these digests knowingly.
    #[test]
    fn text_and_inputs_are_the_same_on_every_machine() {
        assert_eq!(digest(module(1, 8).ir.into_bytes()), 0x8c3e_fce3_3608_c114);
        let made = inputs(1, 2, 512);
        let bytes = made.f64.iter().flat_map(|x| x.to_bits().to_le_bytes());
        let bytes = bytes.chain(made.f32.iter().flat_map(|x| x.to_bits().to_le_bytes()));
        let bytes = bytes.chain(made.f16.iter().flat_map(|x| x.to_le_bytes()));
        let bytes = bytes.chain(made.i32.iter().flat_map(|x| x.to_le_bytes()));
        assert_eq!(digest(bytes), 0x3e90_500c_7e91_ccc3);
    }

    #[test]
    fn the_first_kernels_do_not_depend_on_how_many_follow() {
        let (few, many) = (module(9, 2), module(9, 5));
        assert_eq!(few.kernels, many.kernels[..2]);
        let definitions = |ir: &str| ir[..ir.find("declare").unwrap()].to_owned();
        assert!(many.ir.starts_with(definitions(&few.ir).trim_end()));
    }

    #[test]
    fn every_feature_is_covered() {
        let kernels: Vec<RandomKernel> =
            (0..150).flat_map(|seed| module(seed, 4).kernels).collect();
        let share = |has: fn(&Uses) -> bool| {
            let count = kernels.iter().filter(|kernel| has(&kernel.uses)).count();
            count * 100 / kernels.len()
        };
        let approx_f32 = share(|uses| uses.approx_f32);
        assert!((52..=68).contains(&approx_f32), "{approx_f32}");
        for percent in [
            share(|uses| uses.f64),
            share(|uses| uses.f32),
            share(|uses| uses.f16),
            share(|uses| uses.math),
            share(|uses| uses.shared),
            share(|uses| uses.shuffle),
            share(|uses| uses.loops),
            share(|uses| uses.branches),
            share(|uses| uses.atomics),
        ] {
            assert!((15..=90).contains(&percent), "{percent}");
        }
    }

    #[test]
    fn launches_are_within_bounds() {
        for seed in 0..100 {
            for kernel in module(seed, 3).kernels {
                let block: u32 = kernel.block.iter().product();
                assert!(kernel.threads() <= 1024 && block >= 2);
                assert!(kernel.shared_bytes <= block * 16);
                assert_eq!(kernel.shared_bytes > 0, kernel.uses.shared);
                assert!(!kernel.uses.shuffle || block.is_multiple_of(32));
            }
        }
    }

    #[test]
    fn no_instruction_has_a_flag_that_makes_poison() {
        for seed in 0..100 {
            let ir = module(seed, 3).ir;
            for flag in [
                " nsw ",
                " nuw ",
                " exact ",
                " fast ",
                " nnan ",
                " contract ",
                " disjoint ",
            ] {
                assert!(!ir.contains(flag), "seed {seed}: {flag}");
            }
        }
    }
}

//! Predictions from the machine code itself: what LLVM and NVIDIA's assembler make of a program under a plan, executed by a few
//! simulated warps.
//!
//! The model on the prepared program (`launch.rs`) assumes what the compilers do: unrolling, conversions that vanish,
//! registers, how well operations overlap. Where an assembler is at hand nothing of that need be assumed. A plan takes about
//! 0.15 s instead of a millisecond: `kerf predict` uses this model where it can, and a search that measures (`kerf tune
//! --device cuda`) compiles plans beforehand or as it asks for them, and compares both models with its measurements. Searches
//! without a GPU are guided by the model on the prepared program, and judge what ran by this one.
mod assembler;
mod binary;
mod blocks;
mod coarsened;
mod elements;
mod executions;
mod flow;
mod launch;
mod lines;
mod program;
mod region;
mod simulation;
mod timing;

pub use assembler::{AssemblerError, Compiler, ptxas, readable};

use super::fitted::FittedConstants;
use super::{CostError, LaunchPrediction, PredictedSubject, Prediction, census};
use coarsened::{lay_out_numbered, without_layout};
use kerf_ir::finish::{self, Reflect};
use kerf_llvm::{LlvmError, Module};
use kerf_pass::Plan;
use launch::{CompiledKernel, SourceLines};
use program::{
    UNCONDITIONAL_SUBROUTINES, division_slow_paths, is_slow_path, operations, successor_lines,
};
use std::collections::{BTreeMap, BTreeSet};

/// Machine code of the kernels of a module with numbered lines, by symbol. None where device functions remain in it, whose machine code is not read.
fn compile(
    m: &Module,
    kernels: &BTreeMap<String, census::KernelWork>,
    with: &Compiler,
) -> Result<Option<BTreeMap<String, binary::Code>>, CostError> {
    let roots: BTreeSet<String> = finish::needed(m).into_iter().collect();
    let libdevice = match roots.is_empty() {
        true => Vec::new(),
        false => with_inlined_subroutines(&finish::trim(with.libdevice, &roots, with.arch)?)?,
    };
    finish::finish(m, &libdevice, with.arch, Reflect::default())?;
    let functions = m.functions();
    let mut defined = functions.iter().filter(|f| !f.is_declaration());
    if !defined.all(|f| kernels.contains_key(&f.name()) || is_slow_path(&f.name())) {
        return Ok(None);
    }
    let ptx = finish::ptx_with_lines(m, with.arch)?;
    let binary = (with.assemble)(&ptx)?;
    binary::read(&binary).ok_or(CostError::Binary).map(Some)
}

/// libdevice with those subroutines inlined that its functions call for every argument: machine code of subroutines is not read, and what
/// calls one is taken for a slow path. Inlined, they have some instructions less than a call.
fn with_inlined_subroutines(libdevice: &[u8]) -> Result<Vec<u8>, LlvmError> {
    let m = Module::parse(libdevice, "libdevice")?;
    let subroutines = UNCONDITIONAL_SUBROUTINES.into_iter();
    let found: Vec<_> = subroutines.filter_map(|n| m.function(n)).collect();
    if found.is_empty() {
        return Ok(libdevice.to_vec());
    }
    for f in found {
        f.remove_enum_attr("noinline");
        f.add_enum_attr("alwaysinline");
    }
    Ok(m.bitcode())
}

impl PredictedSubject<'_> {
    /// Predicts one run under a plan from its machine code; where device functions remain, from the prepared program.
    pub fn predict_compiled(&self, plan: &Plan, with: &Compiler) -> Result<Prediction, CostError> {
        let shipped = std::slice::from_ref(FittedConstants::shipped());
        let mut all = self.predict_fitted(plan, Some(with), shipped)?;
        Ok(all.swap_remove(0))
    }

    /// Seconds that the device works in one run under a plan, from machine code; see [`PredictedSubject::device_seconds`].
    pub fn compiled_seconds(&self, plan: &Plan, with: &Compiler) -> Result<f64, CostError> {
        let p = self.predict_compiled(plan, with)?;
        let one = |l: &LaunchPrediction| l.device_seconds * l.repeats as f64;
        Ok(p.launches.iter().map(one).sum())
    }

    /// Predictions with each of some constants: from machine code where a compiler is given, and else from the prepared program.
    pub fn predict_fitted(
        &self,
        plan: &Plan,
        with: Option<&Compiler>,
        constants: &[FittedConstants],
    ) -> Result<Vec<Prediction>, CostError> {
        if plan.of_records() != self.records {
            return Err(CostError::Records);
        }
        let m = self.module.duplicate();
        without_layout(plan).apply(&m)?;
        let kernels = self.census(&m);
        let planned = self.planned_launches(&kernels)?;
        // The library of double words has no lines of the program, by which machine code is matched with counts.
        let with = with.filter(|_| !plan.has_double_words());
        let compiled = match with {
            Some(with) => {
                let source = SourceLines {
                    successors: successor_lines(&m),
                    operations: operations(&m),
                    slow_paths: division_slow_paths(&m),
                };
                m.number_lines();
                let coarsened = lay_out_numbered(&m, plan)?;
                compile(&m, &kernels, with)?.map(|codes| (codes, source, coarsened))
            }
            None => None,
        };
        let mut out = Vec::new();
        for c in constants {
            let launches = planned.launches().map(|k| match &compiled {
                None => Ok(self.model.program_launch(&k, c)),
                Some((codes, source, coarsened)) => {
                    let symbol = &k.counts.symbol;
                    let kernel = CompiledKernel {
                        code: codes.get(symbol).ok_or(CostError::Binary)?,
                        source,
                        laid_out: coarsened.get(symbol),
                    };
                    self.model.compiled_launch(&k, kernel, c)
                }
            });
            out.push(self.run_of(launches.collect::<Result<_, CostError>>()?, c));
        }
        Ok(out)
    }
}

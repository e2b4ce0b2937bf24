//! What is known of a workload's launches before a search: registers, growing work, the part of the time that
//! memory takes.
use super::choice::{LaunchChoice, LaunchKnowledge};
use super::parameters::{MacroVariant, NoVariant, Parameters};
use super::space::{self, ChoiceError, KernelDemand, LaunchParams};
use super::strategy::TuneStrategy;
use super::tuners::{self, Contention, Factor};
use crate::counted::Recount;
use crate::counts;
use crate::evaluate::Input;
use crate::full_size::FullCounts;
use crate::group::Group;
use crate::problem::{ProblemError, TuningScope, with_launch};
use crate::request::TuneRequest;
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_device::occupancy::Multiprocessor;
use kerf_ir::kernels;
use kerf_llvm::{Module, Opcode};
use kerf_pass::Plan;
use kerf_pass::count::Detail;
use kerf_predict::cost::{CostModel, Resource};
use kerf_run::job::{Device, ProgramCounts, kinds};
use kerf_workload::Workload;
use std::collections::BTreeMap;

/// What was found out.
pub struct PreparedLaunches {
    module: Module,
    machine: Multiprocessor,
    registers: BTreeMap<String, u32>,
    contention: Contention,
    /// Kernels whose work grows with the block, by symbol.
    pub growing: BTreeMap<String, f64>,
    /// Work of all threads of kernels whose work grows, by values of all launch parameters.
    work: BTreeMap<LaunchParams, f64>,
}

/// Shapes of one set of parameters whose work is counted, at most: each is a run.
const COUNTED: usize = 64;

/// Basic blocks that all threads of a kernel's launches run through.
pub(super) fn work_of(c: &ProgramCounts, symbol: &str) -> f64 {
    let mine = c.launches.iter().filter(|l| l.symbol == symbol);
    let one = |l: &kerf_pass::count::LaunchCounts| {
        l.repeats as f64 * l.blocks.iter().map(|b| b.threads as f64).sum::<f64>()
    };
    mine.map(one).sum()
}

pub(super) fn has_barrier(m: &Module, symbol: &str) -> bool {
    let Some(f) = m.function(symbol) else {
        return false;
    };
    let calls = f.instructions().into_iter();
    calls
        .filter(|i| i.opcode() == Some(Opcode::LLVMCall))
        .filter_map(|i| i.callee_name())
        .any(|n| n.starts_with("llvm.nvvm.bar"))
}

/// Kernels with barriers whose work grows from the smallest block to the largest, by counting both; and the
/// work of every shape of theirs.
fn growing(
    request: &TuneRequest,
    subject: &Subject,
    w: &Workload,
    input: &Input,
    m: &Module,
) -> (BTreeMap<String, f64>, BTreeMap<LaunchParams, f64>) {
    let mut work: BTreeMap<LaunchParams, f64> = BTreeMap::new();
    let infos = kernels::kernels(m);
    let mut out = BTreeMap::new();
    let counting = counts::Counting::new(request, subject, input);
    for c in space::components(w) {
        let symbols: Vec<String> = c
            .kernels
            .iter()
            .filter_map(|k| kernels::find(&infos, k).ok())
            .map(|i| i.symbol.clone())
            .filter(|s| has_barrier(m, s))
            .collect();
        let Some(points) = space::points(w, &c).filter(|_| !symbols.is_empty()) else {
            continue;
        };
        let count = |p: &LaunchParams| counting.at_launch(p, Detail::Executions);
        let mut grow: Vec<String> = Vec::new();
        for s in symbols {
            let threads = |p: &LaunchParams| {
                let all = kinds(w, &infos, p).ok()?;
                all.iter().find(|k| k.symbol == s).map(|k| k.threads())
            };
            let sized = points.iter().filter_map(|p| Some((threads(p)?, p)));
            let sized: Vec<(u32, &LaunchParams)> = sized.collect();
            let (small, large) = (
                sized.iter().min_by_key(|x| x.0),
                sized.iter().max_by_key(|x| x.0),
            );
            let (Some(small), Some(large)) = (small, large) else {
                continue;
            };
            if let (Ok(a), Ok(b)) = (count(small.1), count(large.1)) {
                let g = tuners::growth((small.0, work_of(&a, &s)), (large.0, work_of(&b, &s)));
                grow.extend(g.map(|_| s.clone()));
                out.extend(g.map(|g| (s.clone(), g)));
            }
        }
        if grow.is_empty() || points.len() > COUNTED {
            continue;
        }
        for p in &points {
            if let Ok(c) = count(p) {
                work.insert(p.clone(), grow.iter().map(|s| work_of(&c, s)).sum());
            }
        }
    }
    (out, work)
}

/// Finds out what the tuners want to know.
pub fn prepare(
    request: &TuneRequest,
    subject: &Subject,
    w: &Workload,
    input: &Input,
) -> Result<PreparedLaunches, ChoiceError> {
    let refused = |e: String| ChoiceError::NoSpace(e);
    let machine =
        Multiprocessor::from_profile(&request.profile).map_err(|e| refused(e.to_string()))?;
    let module = subject
        .program
        .module()
        .map_err(|e| refused(e.to_string()))?;
    let model = CostModel::new(&request.profile).map_err(|e| refused(e.to_string()))?;
    let counted = counts::obtain(request, subject, input).ok();
    let predicted = counted.as_ref().and_then(|c| {
        let work = counts::work(c);
        model.predict(&module, &Plan::default(), &work).ok()
    });
    let lambda = predicted.as_ref().map(|p| {
        let memory = [
            Resource::L2,
            Resource::Dram,
            Resource::LoadStore,
            Resource::MemoryLatency,
        ];
        let (mut of, mut all) = (0.0, 0.0);
        for l in &p.launches {
            let shares = l.shares.iter().filter(|s| memory.contains(&s.resource));
            of += l.repeats as f64 * shares.map(|s| s.seconds).fold(0.0, f64::max);
            all += l.repeats as f64 * l.device_seconds;
        }
        (of / f64::max(all, 1e-12)).min(1.0)
    });
    let (growing, work) = match request.tuners.contains(&Factor::Workload) {
        true => growing(request, subject, w, input, &module),
        false => Default::default(),
    };
    Ok(PreparedLaunches {
        registers: model.registers(&module),
        machine,
        contention: Contention::from_profile(&request.profile, lambda),
        growing,
        work,
        module,
    })
}

/// Shapes of one variable where other things are searched too: what the tuners leave, and a few.
const JOINT: usize = 8;

impl PreparedLaunches {
    /// The variables of a search over launches.
    pub fn choice(
        &self,
        request: &TuneRequest,
        w: &Workload,
        groups: &mut Vec<Group>,
    ) -> Result<LaunchChoice, ChoiceError> {
        let shared = |symbol: &str| {
            let all = kernels::kernels(&self.module);
            let k = all.into_iter().find(|k| k.symbol == symbol);
            k.map_or(0, |k| k.static_shared_bytes as u32)
        };
        let needs = |symbol: &str| KernelDemand {
            registers: self.registers.get(symbol).copied().unwrap_or(32),
            shared: shared(symbol),
        };
        let joint = !groups.is_empty();
        let known = LaunchKnowledge {
            module: &self.module,
            needs: &needs,
            machine: &self.machine,
            contention: self.contention,
            tuners: &request.tuners,
            growing: &self.growing,
            work: &self.work,
            most: if joint { JOINT } else { usize::from(u8::MAX) },
            fixed: true,
            regroup: request.job.device == Device::Cuda,
        };
        LaunchChoice::add(w, &known, groups)
    }
}

/// The variables of a search over parameters that the source is compiled with.
fn compiled(
    request: &TuneRequest,
    subject: &Subject,
    w: &Workload,
    groups: &mut Vec<Group>,
) -> Result<LaunchChoice, ChoiceError> {
    let refused = |e: String| ChoiceError::NoSpace(e);
    let machine =
        Multiprocessor::from_profile(&request.profile).map_err(|e| refused(e.to_string()))?;
    let model = CostModel::new(&request.profile).map_err(|e| refused(e.to_string()))?;
    let own = subject.program.module();
    let own = own.map_err(|e| refused(e.to_string()))?;
    let tools = request.job.toolchain();
    let compile = |all: &[LaunchParams]| -> Vec<Result<MacroVariant, NoVariant>> {
        let programs = kerf_run::compile::programs(w, &tools, all);
        let variants = programs
            .into_iter()
            .map(|p| -> Result<MacroVariant, NoVariant> {
                let module = p.and_then(|p| p.module())?;
                Ok(MacroVariant {
                    registers: model.registers(&module),
                    module,
                })
            });
        variants.collect()
    };
    let p = Parameters::add(w, &own, &machine, &compile, groups)?;
    Ok(LaunchChoice::from_parameters(w, &own, p))
}

/// Everything that a scope and the launches leave to choose, with what a reader should know of the shapes.
pub(crate) fn tunable(
    request: &TuneRequest,
    subject: &Subject,
    scope: &TuningScope,
    input: &Input,
) -> Result<(Tunable, Vec<String>), ProblemError> {
    let mut notes = Vec::new();
    let cuda = request.job.device == Device::Cuda;
    let w = &subject.workload;
    let macros = w.macros();
    for m in &macros.fixed {
        notes.push(format!(
            "`{m}` keeps its value: the source defines it, and not as a number; help: put `#ifndef {m}` and `#endif` around its #define"
        ));
    }
    let idle = space::idle(w, &macros);
    for m in &idle {
        notes.push(format!(
            "`{m}` keeps its value: no launch mentions it, and the source does not ask for it; help: `macros = [\"{m}\"]` in [launch_space] defines it for the source"
        ));
    }
    let t = with_launch(subject, scope, |groups| {
        if groups.is_empty() && !macros.free.is_empty() {
            let w = &space::pinned(w, &[&macros.fixed[..], &idle[..]].concat());
            let c = compiled(request, subject, w, groups)?;
            notes.extend(super::notes(&c, &BTreeMap::new(), cuda));
            return Ok(Some(c));
        }
        for m in &macros.free {
            notes.push(format!(
                "`{m}` keeps its value: it is compiled in, and a plan's sites are those of one program; help: --what launch tries the others"
            ));
        }
        let all = [&macros.free[..], &macros.fixed[..], &idle[..]].concat();
        let w = match all.is_empty() {
            true => w,
            false => &space::pinned(w, &all),
        };
        let p = prepare(request, subject, w, input)?;
        let mut c = p.choice(request, w, groups)?;
        if cuda && request.strategy == TuneStrategy::Launch {
            notes.extend(super::narrow::narrow(request, &mut c));
        }
        notes.extend(super::notes(&c, &p.growing, cuda));
        Ok(Some(c))
    })?;
    Ok((t, notes))
}

/// Counting runs at other launch parameters, where times are predicted from them.
pub(crate) fn recount<'s>(
    request: &'s TuneRequest,
    subject: &'s Subject,
    input: Input,
    full: Option<&FullCounts>,
) -> Option<Box<Recount<'s>>> {
    let wanted = request.launch && request.job.device == Device::Cpu;
    wanted.then(|| -> Box<Recount<'s>> {
        let counting = counts::Counting::new(request, subject, &input);
        let counting = match full {
            Some(f) => counting.sampled_at(f.overrides.clone()),
            None => counting,
        };
        Box::new(move |launch| {
            let all = counting.at_launch(launch, Detail::Blocks);
            let work = counts::work(&all.ok()?);
            let w = &subject.workload;
            let module = match w.changed_macros(launch).is_empty() {
                true => subject.program.module(),
                false => kerf_run::compile::program(w, &request.job.toolchain(), launch)
                    .and_then(|p| p.module()),
            };
            Some((work, module.ok()?))
        })
    })
}

//! Times predicted from machine code, for searches that measure: every plan of every kernel is compiled beforehand, on all cores.
//!
//! It costs tens of milliseconds a plan, so it is done where plans of single kernels are few. A search has them beside those of
//! [`crate::counted`], which are wrong of other things: what compilers make of a plan (how far a loop is unrolled, which
//! conversions stay, how operations overlap) is no part of those.
use crate::counted::Counted;
use crate::problem::Tunable;
use crate::subject::Subject;
use kerf_device::cost::{self, Compiler, CostError, Work, ptxas};
use kerf_ir::llvm::Module;
use kerf_pass::{KernelPlan, Plan};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

/// Plans that a search compiles at most for each core: some seconds.
pub const EACH_CORE: usize = 64;

/// NVIDIA's assembler and what else it takes.
#[derive(Debug, Clone)]
pub struct Assembler {
    /// The program.
    pub ptxas: PathBuf,
    /// libdevice, whole.
    pub libdevice: Vec<u8>,
    /// Architecture: sm_90.
    pub arch: String,
}

impl Assembler {
    fn seconds(&self, subject: &cost::Subject, name: &str, plan: &KernelPlan) -> Option<f64> {
        let with = Compiler {
            libdevice: &self.libdevice,
            arch: &self.arch,
            assemble: &|text| ptxas(&self.ptxas, &self.arch, text),
        };
        let mut whole = Plan::default();
        if !plan.is_identity() {
            whole.kernels.insert(name.to_owned(), plan.clone());
        }
        subject.compiled_seconds(&whole, &with).ok()
    }
}

/// All plans of each kernel, in the order of the subject's; none if they are more than `most`, or if something other than
/// formats may change.
pub fn plans(subject: &Subject, tunable: &Tunable, most: usize) -> Option<Vec<Vec<KernelPlan>>> {
    let only = tunable.math.is_empty() && tunable.warps.is_none() && tunable.launch.is_none();
    if !only {
        return None;
    }
    let n = tunable.groups.len();
    let of = |a: &[u8], name: &str| {
        let mut p = tunable.plan(subject, a);
        p.kernels.remove(name).unwrap_or_default()
    };
    let levels = |g: usize| tunable.groups[g].formats.len();
    let mut left = most;
    let mut out = Vec::new();
    for k in &subject.kernels {
        let own = of(&vec![0; n], &k.name);
        let changes = |g: &usize| {
            (1..levels(*g)).any(|l| {
                let mut a = vec![0; n];
                a[*g] = l as u8;
                of(&a, &k.name) != own
            })
        };
        let groups: Vec<usize> = (0..n).filter(changes).collect();
        let count = groups.iter().try_fold(1usize, |c, g| {
            c.checked_mul(levels(*g)).filter(|c| *c <= left)
        })?;
        left -= count;
        let one = |mut code: usize| {
            let mut a = vec![0; n];
            for g in &groups {
                a[*g] = (code % levels(*g)) as u8;
                code /= levels(*g);
            }
            of(&a, &k.name)
        };
        out.push((0..count).map(one).collect());
    }
    Some(out)
}

/// The model, with everything compiled; none if that is more than `most` plans.
pub fn coded<'s>(
    subject: &'s Subject,
    tunable: &'s Tunable,
    device: &'s cost::CostModel,
    work: &Work,
    assembler: &Assembler,
    most: usize,
) -> Result<Option<Counted<'s>>, CostError> {
    let all = plans(subject, tunable, most);
    all.map(|all| compiled(subject, tunable, device, work, assembler, &all))
        .transpose()
}

/// The model, with these plans compiled: those of [`plans`].
pub fn compiled<'s>(
    subject: &'s Subject,
    tunable: &'s Tunable,
    device: &'s cost::CostModel,
    work: &Work,
    assembler: &Assembler,
    all: &[Vec<KernelPlan>],
) -> Result<Counted<'s>, CostError> {
    let other = |_| CostError::Kernel(subject.program.source.display().to_string());
    let bitcode = subject.program.module().map_err(other)?.bitcode();
    let told = Mutex::new(vec![BTreeMap::new(); all.len()]);
    let jobs = all.iter().enumerate();
    let jobs = Mutex::new(jobs.flat_map(|(k, plans)| plans.iter().map(move |p| (k, p))));
    let compile = || {
        // LLVM's contexts are each of one thread.
        let m = Module::parse(&bitcode, "program").ok()?;
        let mut here: Option<(usize, cost::Subject)> = None;
        while let Some((k, plan)) = jobs.lock().ok()?.next() {
            let kernel = &subject.kernels[k];
            if here.as_ref().is_none_or(|h| h.0 != k) {
                here = Some((k, device.kernel(&m, work, &kernel.symbol).ok()?));
            }
            let seconds = assembler.seconds(&here.as_ref()?.1, &kernel.name, plan);
            let text = serde_json::to_string(plan).ok()?;
            told.lock().ok()?[k].insert(text, seconds);
        }
        Some(())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|s| {
        (0..cores).for_each(|_| {
            s.spawn(compile);
        });
    });
    let told = told.into_inner().unwrap_or_default();
    Ok(Counted::new(subject, tunable, device, work)?.told(told))
}

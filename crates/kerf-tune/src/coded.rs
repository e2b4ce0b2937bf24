//! Times predicted from machine code, for searches that measure: plans of single kernels are compiled, on all cores.
//!
//! It costs tens of milliseconds a plan. Where plans of single kernels are few, all are compiled beforehand; else those that a
//! search asks for, until they are as many. A search has them beside those of [`crate::counted`], which are wrong of other
//! things: what compilers make of a plan (how far a loop is unrolled, which conversions stay, how operations overlap) is no part of
//! those.
use crate::counted::work;
use crate::prediction::{TimePredictor, cores};
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_llvm::Module;
use kerf_pass::{KernelPlan, Plan};
use kerf_predict::cost::{self, Compiler, CostError, ProgramWork, ptxas};
use kerf_run::job::ProgramCounts;
use kerf_search::{Answers, Assignment};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

/// Plans that a search compiles at most for each core: some seconds.
pub const EACH_CORE: usize = 64;

/// Plans that are needed for each level of each group before the others can be told from them.
const EACH_LEVEL: usize = 4;

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
    fn seconds(
        &self,
        subject: &cost::PredictedSubject,
        name: &str,
        plan: &KernelPlan,
    ) -> Option<f64> {
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

    /// Seconds of one run of a program on a model's device, from its machine code and its counts. `prepared` is its module
    /// as it was counted.
    pub fn program_seconds(
        &self,
        model: &cost::CostModel,
        prepared: &Module,
        counts: &ProgramCounts,
    ) -> Option<f64> {
        let work = work(counts);
        let each = counts.kernels.iter().map(|k| {
            let kernel = model.kernel(prepared, &work, &k.symbol).ok()?;
            self.seconds(&kernel, &k.symbol, &KernelPlan::default())
        });
        each.sum()
    }
}

fn only_formats(tunable: &Tunable) -> bool {
    let calls_change = !(tunable.math.is_empty() && tunable.made.is_empty());
    !calls_change && tunable.warps.is_none() && tunable.launch.is_none()
}

/// All plans of each kernel, in the order of the subject's; none if they are more than `most`, or if something other than
/// formats may change.
pub fn plans(subject: &Subject, tunable: &Tunable, most: usize) -> Option<Vec<Vec<KernelPlan>>> {
    if !only_formats(tunable) {
        return None;
    }
    let n = tunable.groups.len();
    let of = |a: &[u8], name: &str| {
        let mut p = tunable.plan(subject, a);
        let p = p.kernels.remove(name).unwrap_or_default();
        // Layouts are decided after the search.
        KernelPlan {
            coarsen: None,
            code: None,
            ..p
        }
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

/// Seconds by plan, as text; none where it could not be compiled.
type Known = BTreeMap<String, Option<f64>>;

/// The same work for all kernels of a subject.
fn alike(subject: &Subject, work: &ProgramWork) -> Vec<Option<Arc<ProgramWork>>> {
    vec![Some(Arc::new(work.clone())); subject.kernels.len()]
}

/// The model.
pub struct Coded<'s> {
    subject: &'s Subject,
    tunable: &'s Tunable,
    device: &'s cost::CostModel,
    /// What each kernel did; none of those that machine code is not read of.
    work: Vec<Option<Arc<ProgramWork>>>,
    assembler: Assembler,
    /// Of each kernel.
    known: RefCell<Vec<Known>>,
    /// Whether that is all there are; else how many may still be compiled.
    whole: bool,
    left: Cell<usize>,
    base: Option<f64>,
}

impl<'s> Coded<'s> {
    /// With everything compiled where that is no more than `most` plans of single kernels, and else [`Coded::on_demand`]; none if
    /// that is too few to tell the others, or if something other than formats may change. `compiled` hears how many of how
    /// many were compiled beforehand.
    pub fn new(
        subject: &'s Subject,
        tunable: &'s Tunable,
        device: &'s cost::CostModel,
        work: &ProgramWork,
        assembler: &Assembler,
        most: usize,
        compiled: &mut dyn FnMut(usize, usize),
    ) -> Result<Option<Coded<'s>>, CostError> {
        let levels: usize = tunable.groups.iter().map(|g| g.formats.len() - 1).sum();
        let all = plans(subject, tunable, most);
        if !only_formats(tunable) || all.is_none() && EACH_LEVEL * levels > most {
            return Ok(None);
        }
        let work = alike(subject, work);
        let mut coded = Coded::empty(subject, tunable, device, work, assembler, most)?;
        if let Some(all) = all {
            coded.whole = true;
            let each = all.iter().enumerate();
            let jobs = each.flat_map(|(k, plans)| plans.iter().map(move |p| (k, p.clone())));
            coded.compile(jobs.collect(), compiled);
        }
        coded.begin();
        Ok(Some(coded))
    }

    /// With up to `most` plans of single kernels compiled when they are asked for, the program's own among them.
    pub fn on_demand(
        subject: &'s Subject,
        tunable: &'s Tunable,
        device: &'s cost::CostModel,
        work: &ProgramWork,
        assembler: &Assembler,
        most: usize,
    ) -> Result<Coded<'s>, CostError> {
        let work = alike(subject, work);
        let mut coded = Coded::empty(subject, tunable, device, work, assembler, most)?;
        coded.begin();
        Ok(coded)
    }

    /// For single kernels, each by what it did itself: [`Coded::by_kernel`] answers.
    pub fn of_some(
        subject: &'s Subject,
        tunable: &'s Tunable,
        device: &'s cost::CostModel,
        work: Vec<Option<Arc<ProgramWork>>>,
        assembler: &Assembler,
    ) -> Result<Coded<'s>, CostError> {
        Coded::empty(subject, tunable, device, work, assembler, usize::MAX)
    }

    /// Seconds of each kernel; none where its machine code is not read.
    pub fn by_kernel(&self, a: &Assignment) -> Vec<Option<f64>> {
        let plans = self.of_kernels(a);
        self.compile(plans.iter().cloned().enumerate().collect(), &mut |_, _| {});
        let known = self.known.borrow();
        let each = plans.iter().zip(known.iter());
        each.map(|(p, known)| *known.get(&serde_json::to_string(p).ok()?)?)
            .collect()
    }

    fn empty(
        subject: &'s Subject,
        tunable: &'s Tunable,
        device: &'s cost::CostModel,
        work: Vec<Option<Arc<ProgramWork>>>,
        assembler: &Assembler,
        most: usize,
    ) -> Result<Coded<'s>, CostError> {
        // Counts of another program are refused here, once.
        for (p, unit) in subject.programs().iter().zip(0..) {
            let other = |_| CostError::Kernel(p.source.display().to_string());
            let m = p.module().map_err(other)?;
            let kernels = subject.kernels.iter().zip(&work);
            for (k, work) in kernels.filter(|(k, _)| k.unit == unit) {
                if let Some(work) = work {
                    device.kernel(&m, work, &k.symbol)?;
                }
            }
        }
        Ok(Coded {
            subject,
            tunable,
            device,
            work,
            assembler: assembler.clone(),
            known: RefCell::new(vec![Known::new(); subject.kernels.len()]),
            whole: false,
            left: Cell::new(most),
            base: None,
        })
    }

    /// What the program itself takes.
    fn begin(&mut self) {
        let identity = self.of_kernels(&vec![0; self.tunable.groups.len()]);
        self.compile(
            identity.iter().cloned().enumerate().collect(),
            &mut |_, _| {},
        );
        self.base = self.told(&identity).filter(|b| *b > 0.0);
    }

    /// Compiles plans of kernels that are not known, as far as there may be more.
    fn compile(&self, mut jobs: Vec<(usize, KernelPlan)>, compiled: &mut dyn FnMut(usize, usize)) {
        let mut texts: Vec<String> = Vec::new();
        let known = self.known.borrow();
        let mut seen: BTreeSet<(usize, String)> = BTreeSet::new();
        jobs.retain(|(k, plan)| {
            let Ok(text) = serde_json::to_string(plan) else {
                return false;
            };
            let new = self.work[*k].is_some()
                && !known[*k].contains_key(&text)
                && seen.len() < self.left.get()
                && seen.insert((*k, text.clone()));
            if new {
                texts.push(text);
            }
            new
        });
        drop(known);
        let n = jobs.len();
        self.left.set(self.left.get() - n);
        let queue = Mutex::new(jobs.iter().zip(texts));
        let (tell, told) = mpsc::channel();
        let (work, programs) = (&self.work, self.subject.programs());
        let (device, assembler, kernels) = (self.device, &self.assembler, &self.subject.kernels);
        let one = |tell: mpsc::Sender<(usize, String, Option<f64>)>| {
            // LLVM's contexts are each of one thread.
            let mut module: Option<(usize, Module)> = None;
            let mut here: Option<(usize, cost::PredictedSubject)> = None;
            loop {
                let Some(((k, plan), text)) = queue.lock().ok()?.next() else {
                    return Some(());
                };
                let kernel = &kernels[*k];
                if module.as_ref().is_none_or(|m| m.0 != kernel.unit) {
                    module = Some((kernel.unit, programs[kernel.unit].module().ok()?));
                }
                if here.as_ref().is_none_or(|h| h.0 != *k) {
                    let (m, work) = (&module.as_ref()?.1, work[*k].as_ref()?);
                    here = Some((*k, device.kernel(m, work, &kernel.symbol).ok()?));
                }
                let seconds = assembler.seconds(&here.as_ref()?.1, &kernel.name, plan);
                tell.send((*k, text, seconds)).ok()?;
            }
        };
        std::thread::scope(|s| {
            for _ in 0..cores().min(n) {
                let tell = tell.clone();
                s.spawn(|| one(tell));
            }
            drop(tell);
            for (done, (k, text, seconds)) in told.iter().enumerate() {
                self.known.borrow_mut()[k].insert(text, seconds);
                compiled(done + 1, n);
            }
        });
    }

    /// The plan of each kernel.
    fn of_kernels(&self, a: &Assignment) -> Vec<KernelPlan> {
        let mut plan = self.tunable.plan(self.subject, a);
        let each = self.subject.kernels.iter();
        each.map(|k| plan.kernels.remove(&k.name).unwrap_or_default())
            .collect()
    }

    /// What is known of a plan of each kernel, together.
    fn told(&self, plans: &[KernelPlan]) -> Option<f64> {
        let known = self.known.borrow();
        let each = plans.iter().zip(known.iter()).map(|(p, known)| {
            let text = serde_json::to_string(p).ok()?;
            *known.get(&text)?
        });
        each.sum()
    }

    /// How much may be asked.
    pub fn answers(&self) -> Answers {
        match self.whole {
            true => Answers {
                in_all: usize::MAX,
                at_once: 1,
            },
            false => Answers {
                in_all: self.left.get(),
                at_once: cores(),
            },
        }
    }

    /// Compiles what these need, all at once.
    pub fn prepare(&self, all: &[Assignment]) {
        let each = all.iter().map(|a| self.of_kernels(a));
        let jobs = each.flat_map(|plans| plans.into_iter().enumerate());
        self.compile(jobs.collect(), &mut |_, _| {});
    }
}

impl TimePredictor for Coded<'_> {
    fn predict(&self, a: &Assignment) -> Option<f64> {
        let plans = self.of_kernels(a);
        let base = self.base?;
        let expected = !self.whole
            || plans
                .iter()
                .any(|p| p.coarsen.is_some() || p.code.is_some());
        if expected && self.told(&plans).is_none() {
            self.compile(plans.iter().cloned().enumerate().collect(), &mut |_, _| {});
        }
        Some(self.told(&plans)? / base)
    }
    fn describe(&self) -> String {
        format!(
            "time on the device predicted from machine code for profile {}",
            self.device.profile_name()
        )
    }
}

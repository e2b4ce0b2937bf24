//! The cost model from counts, as the search asks it: kernels one by one, each plan of one looked at once.
use crate::prediction::{TimePredictor, cores};
use crate::prediction_threads::{PredictionThreads, alone};
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_llvm::Module;
use kerf_pass::KernelPlan;
use kerf_predict::cost::{self, CostError, ProgramWork};
use kerf_run::job::ProgramCounts;
use kerf_search::Assignment;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a cost model needs of counts.
pub fn work(c: &ProgramCounts) -> ProgramWork {
    ProgramWork {
        launches: c.launches.clone(),
        copies: c.copies,
        copied_bytes: c.copied_bytes,
    }
}

/// Times of one kernel under its plans.
pub(crate) struct KernelTimes<'s> {
    name: String,
    subject: cost::PredictedSubject<'s>,
    /// Seconds by plan, as text.
    known: RefCell<BTreeMap<String, Option<f64>>>,
}

/// The versions of a kernel under a plan, as plans without parts, and the part of the warps that runs the second. Two versions are
/// predicted one by one: which warps run which does not change what either does.
fn versions(plan: &KernelPlan) -> (KernelPlan, Option<(KernelPlan, f64)>) {
    let Some(p) = &plan.partition else {
        return (plan.clone(), None);
    };
    let first = KernelPlan {
        partition: None,
        ..plan.clone()
    };
    let second = KernelPlan {
        sites: p.sites.clone(),
        math: p.math.clone(),
        made: p.made.clone(),
        ..first.clone()
    };
    (first, Some((second, p.lambda)))
}

impl<'s> KernelTimes<'s> {
    /// Of a kernel of a prepared module that was counted, by its name in plans and its symbol.
    pub fn new(
        device: &'s cost::CostModel,
        (m, work): (&Module, &ProgramWork),
        (name, symbol): (&str, &str),
    ) -> Result<KernelTimes<'s>, CostError> {
        Ok(KernelTimes {
            name: name.to_owned(),
            subject: device.kernel(m, work, symbol)?,
            known: RefCell::default(),
        })
    }

    /// Seconds under a plan; none where they cannot be told.
    pub fn seconds(&self, plan: &KernelPlan) -> Option<f64> {
        let (first, second) = versions(plan);
        let first = self.version(&first)?;
        Some(match second {
            None => first,
            Some((second, part)) => (1.0 - part) * first + part * self.version(&second)?,
        })
    }

    /// One version.
    fn version(&self, plan: &KernelPlan) -> Option<f64> {
        let text = serde_json::to_string(plan).ok()?;
        if let Some(s) = self.known.borrow().get(&text) {
            return *s;
        }
        let s = self.subject.device_seconds(&alone(&self.name, plan)).ok();
        self.known.borrow_mut().insert(text, s);
        s
    }
}

/// Kernels of a program at one shape of its launches.
struct CountedKernels<'s> {
    times: Vec<KernelTimes<'s>>,
    threads: PredictionThreads,
}

impl<'s> CountedKernels<'s> {
    fn new(
        subject: &Subject,
        m: &Module,
        device: &'s cost::CostModel,
        work: &ProgramWork,
    ) -> Result<CountedKernels<'s>, CostError> {
        let names = subject.kernels.iter().map(|k| (&*k.name, &*k.symbol));
        let times = names
            .clone()
            .map(|names| KernelTimes::new(device, (m, work), names));
        Ok(CountedKernels {
            times: times.collect::<Result<_, _>>()?,
            threads: PredictionThreads::new(device, (m, work), names),
        })
    }

    /// Predicts what is not known of several plans, by position of their kernels, on all cores.
    fn prepare<'p>(&self, plans: impl Iterator<Item = (usize, &'p KernelPlan)>) {
        let mut wanted = BTreeMap::new();
        for (k, plan) in plans {
            let (first, second) = versions(plan);
            for version in [Some(first), second.map(|s| s.0)].into_iter().flatten() {
                let Ok(text) = serde_json::to_string(&version) else {
                    continue;
                };
                if !self.times[k].known.borrow().contains_key(&text) {
                    wanted.insert((k, text), version);
                }
            }
        }
        // Of a single one the others know nothing yet.
        if wanted.len() > 1 {
            for ((k, text), seconds) in self.threads.seconds(wanted) {
                self.times[k].known.borrow_mut().insert(text, seconds);
            }
        }
    }
}

/// A counting run at other launch parameters, and the program that ran; none if it cannot be made.
pub type Recount<'s> = dyn Fn(&BTreeMap<String, i64>) -> Option<(ProgramWork, Module)> + 's;

/// Kernels at some launch parameters; none where nothing could be counted.
type Parts<'s> = Option<Rc<CountedKernels<'s>>>;

/// Times predicted from a counting run and a device profile.
pub struct CountedTimes<'s> {
    subject: &'s Subject,
    tunable: &'s Tunable,
    parts: Rc<CountedKernels<'s>>,
    /// The same at other launch parameters, counted when they are first asked for.
    others: RefCell<BTreeMap<BTreeMap<String, i64>, Parts<'s>>>,
    recount: Option<Box<Recount<'s>>>,
    device: &'s cost::CostModel,
    profile: String,
    base: f64,
}

impl<'s> CountedTimes<'s> {
    /// Looks at the kernels of a subject.
    pub fn new(
        subject: &'s Subject,
        tunable: &'s Tunable,
        device: &'s cost::CostModel,
        work: &ProgramWork,
    ) -> Result<CountedTimes<'s>, CostError> {
        let m = subject
            .program
            .module()
            .map_err(|_| CostError::Kernel(subject.program.source.display().to_string()))?;
        let mut c = CountedTimes {
            subject,
            tunable,
            parts: Rc::new(CountedKernels::new(subject, &m, device, work)?),
            others: RefCell::default(),
            recount: None,
            device,
            profile: device.profile_name().to_owned(),
            base: 0.0,
        };
        c.base = c.seconds(&vec![0; tunable.groups.len()]).unwrap_or(0.0);
        Ok(c)
    }

    /// Counts again for other launch parameters. Without it they make no difference.
    pub fn recounting(mut self, recount: Option<Box<Recount<'s>>>) -> CountedTimes<'s> {
        self.recount = recount;
        self
    }

    /// Kernels at the launch parameters of a plan.
    fn at(&self, launch: &BTreeMap<String, i64>) -> Parts<'s> {
        let Some(recount) = self.recount.as_ref().filter(|_| !launch.is_empty()) else {
            return Some(self.parts.clone());
        };
        if let Some(known) = self.others.borrow().get(launch) {
            return known.clone();
        }
        let counted = recount(launch);
        let parts =
            counted.and_then(|(w, m)| CountedKernels::new(self.subject, &m, self.device, &w).ok());
        let parts = parts.map(Rc::new);
        self.others
            .borrow_mut()
            .insert(launch.clone(), parts.clone());
        parts
    }

    /// The plan of each kernel, as far as models speak of it, and the launch parameters.
    fn planned(&self, a: &Assignment) -> Option<(Vec<KernelPlan>, BTreeMap<String, i64>)> {
        let mut plan = self.tunable.plan(self.subject, a);
        let recounts = self.recount.is_some();
        let mut each = Vec::new();
        for k in &self.subject.kernels {
            let mut own = plan.kernels.remove(&k.name).unwrap_or_default();
            // Blocks that are put together are not counted as such: no model speaks of them.
            if own.regroup.is_some() && recounts {
                return None;
            }
            (own.regroup, own.block) = (None, own.block.filter(|_| recounts));
            each.push(own);
        }
        Some((each, plan.launch))
    }

    fn seconds(&self, a: &Assignment) -> Option<f64> {
        let (plans, launch) = self.planned(a)?;
        let kernels = self.at(&launch)?;
        let each = kernels.times.iter().zip(&plans);
        each.map(|(k, plan)| k.seconds(plan)).sum()
    }
}

impl TimePredictor for CountedTimes<'_> {
    fn predict(&self, a: &Assignment) -> Option<f64> {
        (self.base > 0.0)
            .then(|| self.seconds(a))
            .flatten()
            .map(|s| s / self.base)
    }
    fn prepare(&self, all: &[Assignment]) {
        let planned: Vec<_> = all.iter().filter_map(|a| self.planned(a)).collect();
        // What other launch parameters need is counted where it is asked for.
        let here = |launch: &BTreeMap<String, i64>| self.recount.is_none() || launch.is_empty();
        let plans = planned.iter().filter(|(_, launch)| here(launch));
        let each = plans.flat_map(|(plans, _)| plans.iter().enumerate());
        self.parts.prepare(each);
    }
    fn at_once(&self) -> usize {
        cores()
    }
    fn describe(&self) -> String {
        format!(
            "time on the device predicted from a counting run for profile {}",
            self.profile
        )
    }
}

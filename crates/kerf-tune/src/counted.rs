//! The cost model from counts, as the search asks it: kernels one by one, each plan of one looked at once.
use crate::prediction::TimePredictor;
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_llvm::Module;
use kerf_pass::{KernelPlan, Plan};
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

    /// Seconds under a plan; none where they cannot be told. Two versions are predicted one by one: which warps run which does
    /// not change what either does.
    pub fn seconds(&self, plan: &KernelPlan) -> Option<f64> {
        let Some(p) = &plan.partition else {
            return self.version(plan);
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
        Some((1.0 - p.lambda) * self.version(&first)? + p.lambda * self.version(&second)?)
    }

    /// One version.
    fn version(&self, plan: &KernelPlan) -> Option<f64> {
        let text = serde_json::to_string(plan).ok()?;
        if let Some(s) = self.known.borrow().get(&text) {
            return *s;
        }
        let mut whole = Plan::default();
        if !plan.is_identity() {
            whole.kernels.insert(self.name.clone(), plan.clone());
        }
        let s = self.subject.device_seconds(&whole).ok();
        self.known.borrow_mut().insert(text, s);
        s
    }
}

/// A counting run at other launch parameters, and the program that ran; none if it cannot be made.
pub type Recount<'s> = dyn Fn(&BTreeMap<String, i64>) -> Option<(ProgramWork, Module)> + 's;

/// Kernels at some launch parameters; none where nothing could be counted.
type Parts<'s> = Option<Rc<Vec<KernelTimes<'s>>>>;

/// Times predicted from a counting run and a device profile.
pub struct CountedTimes<'s> {
    subject: &'s Subject,
    tunable: &'s Tunable,
    parts: Rc<Vec<KernelTimes<'s>>>,
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
            parts: Rc::new(Self::parts(subject, &m, device, work)?),
            others: RefCell::default(),
            recount: None,
            device,
            profile: device.profile_name().to_owned(),
            base: 0.0,
        };
        c.base = c.seconds(&vec![0; tunable.groups.len()]).unwrap_or(0.0);
        Ok(c)
    }

    fn parts(
        subject: &Subject,
        m: &Module,
        device: &'s cost::CostModel,
        work: &ProgramWork,
    ) -> Result<Vec<KernelTimes<'s>>, CostError> {
        let kernels = subject.kernels.iter();
        let times = kernels.map(|k| KernelTimes::new(device, (m, work), (&k.name, &k.symbol)));
        times.collect()
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
        let parts = counted.and_then(|(w, m)| Self::parts(self.subject, &m, self.device, &w).ok());
        let parts = parts.map(Rc::new);
        self.others
            .borrow_mut()
            .insert(launch.clone(), parts.clone());
        parts
    }

    fn seconds(&self, a: &Assignment) -> Option<f64> {
        let mut plan = self.tunable.plan(self.subject, a);
        let parts = self.at(&plan.launch)?;
        let mut sum = 0.0;
        for p in parts.iter() {
            let mut own = plan.kernels.remove(&p.name).unwrap_or_default();
            // Blocks that are put together are not counted as such: no model speaks of them.
            if own.regroup.is_some() && self.recount.is_some() {
                return None;
            }
            (own.regroup, own.block) = (None, own.block.filter(|_| self.recount.is_some()));
            sum += p.seconds(&own)?;
        }
        Some(sum)
    }
}

impl TimePredictor for CountedTimes<'_> {
    fn predict(&self, a: &Assignment) -> Option<f64> {
        (self.base > 0.0)
            .then(|| self.seconds(a))
            .flatten()
            .map(|s| s / self.base)
    }
    fn describe(&self) -> String {
        format!(
            "time on the device predicted from a counting run for profile {}",
            self.profile
        )
    }
}

//! Predicted time of an application: each kernel's time against its own, by its part of the run time.
//!
//! A kernel's time comes from machine code where that is read, else from the counts of its recorded launches, else from the
//! static score. There operations and bytes overlap in part, so they add up by their squares, as in predictions of single
//! launches. Without bytes, memory held in narrower formats would be all loss: conversions, and nothing saved.
use super::counting::AppCounts;
use crate::coded::{Assembler, Coded};
use crate::counted::KernelTimes;
use crate::prediction::TimePredictor;
use crate::score::StaticScore;
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_pass::{KernelPlan, Plan};
use kerf_predict::cost::{CostModel, ProgramWork};
use kerf_search::Assignment;
use std::rc::Rc;
use std::sync::Arc;

/// Times of kernels by the counts of their launches, with those of the kernels as they are.
type CountedKernels<'s> = Vec<Option<(KernelTimes<'s>, f64)>>;

/// The prediction.
#[derive(Clone)]
pub(super) struct Weighted<'s> {
    subject: &'s Subject,
    tunable: &'s Tunable,
    score: Rc<StaticScore<'s>>,
    /// Of the run time, by kernel.
    parts: Vec<f64>,
    /// The static score of kernels as they are.
    base: Vec<f64>,
    counted: Rc<CountedKernels<'s>>,
    /// Times from machine code, with those of the kernels as they are.
    coded: Option<(Rc<Coded<'s>>, Vec<Option<f64>>)>,
}

/// What predicts times of an application.
pub(super) struct AppModels<'s> {
    /// Guides the search.
    pub guide: Weighted<'s>,
    /// Judges what ran, where nothing is measured.
    pub judge: Weighted<'s>,
}

fn costs(score: &StaticScore, a: &[u8]) -> Vec<f64> {
    let operations = score.by_kernel(a);
    match score.memory_by_kernel(a) {
        Some(memory) => {
            let both = operations.iter().zip(memory);
            both.map(|(o, m)| o.hypot(m)).collect()
        }
        None => operations,
    }
}

/// What was counted of each kernel that may change.
fn works(subject: &Subject, counts: &AppCounts) -> Vec<Option<ProgramWork>> {
    let kernels = subject.kernels.iter();
    let work = kernels.map(|k| counts.work(&k.symbol).filter(|_| k.is_tuned));
    work.collect()
}

/// The plan of a kernel without what counts tell nothing of.
fn without_layout(plan: &Plan, name: &str) -> KernelPlan {
    KernelPlan {
        coarsen: None,
        code: None,
        regroup: None,
        block: None,
        ..plan.kernels.get(name).cloned().unwrap_or_default()
    }
}

impl<'s> Weighted<'s> {
    /// By the static score alone; `parts` of the run time by kernel.
    pub fn new(
        (subject, tunable): (&'s Subject, &'s Tunable),
        score: StaticScore<'s>,
        parts: Vec<f64>,
    ) -> Weighted<'s> {
        let base = costs(&score, &vec![0; tunable.groups.len()]);
        Weighted {
            subject,
            tunable,
            score: Rc::new(score),
            parts,
            base,
            counted: Rc::new(Vec::new()),
            coded: None,
        }
    }

    /// By the counts of the kernels that were counted.
    pub fn counted(mut self, device: &'s CostModel, counts: &AppCounts) -> Weighted<'s> {
        let subject = self.subject;
        let modules = subject.modules().unwrap_or_default();
        let times = |(at, work): (usize, Option<ProgramWork>)| {
            let (m, _) = modules.iter().find(|(_, all)| all.contains(&at))?;
            let k = &subject.kernels[at];
            let times = KernelTimes::new(device, (m, &work?), (&k.name, &k.symbol)).ok()?;
            let own = times.seconds(&KernelPlan::default());
            own.filter(|s| *s > 0.0).map(|own| (times, own))
        };
        let all = works(subject, counts).into_iter().enumerate();
        self.counted = Rc::new(all.map(times).collect());
        self
    }

    /// By machine code, of the kernels that were counted; as it is where none can be read.
    pub fn coded(&self, device: &'s CostModel, counts: &AppCounts, by: &Assembler) -> Weighted<'s> {
        let is_counted = |at: usize| self.counted.get(at).is_some_and(Option::is_some);
        let works = works(self.subject, counts).into_iter().enumerate();
        let works = works.map(|(at, w)| w.filter(|_| is_counted(at)).map(Arc::new));
        let works: Vec<Option<Arc<ProgramWork>>> = works.collect();
        let mut with = self.clone();
        if works.iter().any(Option::is_some)
            && let Ok(coded) = Coded::of_some(self.subject, self.tunable, device, works, by)
        {
            let own = coded.by_kernel(&vec![0; self.tunable.groups.len()]);
            with.coded = Some((Rc::new(coded), own));
        }
        with
    }

    /// Does it tell what another layout of a kernel gains?
    pub fn knows_layout(&self, at: usize) -> bool {
        let own = self.coded.as_ref().and_then(|(_, own)| own[at]);
        own.is_some_and(|s| s > 0.0)
    }

    /// The time of each kernel over its own, where machine code tells.
    fn code_ratios(&self, a: &Assignment, plan: &Plan) -> Vec<Option<f64>> {
        let Some((coded, own)) = &self.coded else {
            return vec![None; self.parts.len()];
        };
        let now = coded.by_kernel(a).into_iter().zip(own);
        let each = now.zip(&self.subject.kernels).map(|((now, own), k)| {
            // Machine code of kernels with two versions is not read.
            let mine = plan.kernels.get(&k.name);
            let divided = mine.is_some_and(|k| k.partition.is_some());
            let own = own.filter(|own| *own > 0.0 && !divided)?;
            Some(now? / own)
        });
        each.collect()
    }
}

impl TimePredictor for Weighted<'_> {
    fn predict(&self, a: &Assignment) -> Option<f64> {
        let plan = self.tunable.plan(self.subject, a);
        let code_ratios = self.code_ratios(a, &plan);
        let mut score = None;
        let mut sum = 1.0 - self.parts.iter().sum::<f64>();
        for (at, part) in self.parts.iter().enumerate() {
            let counted = || {
                let (times, own) = self.counted.get(at)?.as_ref()?;
                let name = &self.subject.kernels[at].name;
                Some(times.seconds(&without_layout(&plan, name))? / own)
            };
            let ratio = code_ratios[at].or_else(counted).unwrap_or_else(|| {
                let now = score.get_or_insert_with(|| costs(&self.score, a))[at];
                let own = self.base[at];
                if own > 0.0 { now / own } else { 1.0 }
            });
            sum += part * ratio;
        }
        Some(sum)
    }

    fn prepare(&self, all: &[Assignment]) {
        if let Some((coded, _)) = &self.coded {
            coded.prepare(all);
        }
    }

    fn describe(&self) -> String {
        let is_counted = self.counted.iter().any(Option::is_some);
        let by = match (&self.coded, is_counted) {
            (Some((coded, _)), _) => format!("{}, of recorded launches", coded.describe()),
            (None, true) => {
                "time on the device predicted from the counts of recorded launches".into()
            }
            (None, false) => format!("{}, with bytes", self.score.describe()),
        };
        format!("{by}, kernels by their part of the run time")
    }
}

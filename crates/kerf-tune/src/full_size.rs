//! Times at the sizes of a GPU where there is none: counted in some blocks of the full launches, and from machine code where there
//! is an assembler.
//!
//! Machine code is made for the shapes of the workload file. What other shapes do goes in as a ratio of predictions from
//! counts.
use crate::coded::Coded;
use crate::counted::CountedTimes;
use crate::counts::Counting;
use crate::evaluate::Input;
use crate::prediction::TimePredictor;
use crate::request::TuneRequest;
use crate::subject::{Subject, SubjectError};
use crate::tunable::Tunable;
use kerf_exec::cpu::available_memory;
use kerf_pass::count::Detail;
use kerf_run::job::{Job, JobError, ProgramCounts};
use kerf_run::memory::{arena_bytes, words};
use kerf_search::Assignment;
use kerf_workload::{Mistakes, Workload};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Counts at the sizes of a GPU.
pub struct FullCounts {
    /// The counts.
    pub counts: ProgramCounts,
    /// The sizes.
    pub overrides: Vec<(String, i64)>,
    /// Where they are from, in words.
    pub words: String,
}

/// Counts a program at the sizes that its workload file has for a GPU; none where those are the sizes that run here. Else the reason
/// why it cannot be.
pub fn count(
    request: &TuneRequest,
    subject: &Subject,
    input: &Input,
) -> Result<Option<FullCounts>, FullCountError> {
    let Some(sizes) = gpu_sizes(&request.job, subject)? else {
        return Ok(None);
    };
    let counting = Counting::new(request, subject, input).sampled_at(sizes.overrides.clone());
    let counts = counting.at_launch(&BTreeMap::new(), Detail::Blocks)?;
    Ok(Some(FullCounts {
        counts,
        overrides: sizes.overrides,
        words: format!("in some blocks at {}", sizes.words),
    }))
}

/// Sizes that a workload file has for a GPU.
pub struct GpuSizes {
    /// As overrides of the file.
    pub overrides: Vec<(String, i64)>,
    /// In words.
    pub words: String,
}

/// The sizes that a workload file has for a GPU, where they are others than a job's and some blocks can be counted there. Else the
/// reason why not.
pub fn gpu_sizes(job: &Job, subject: &Subject) -> Result<Option<GpuSizes>, FullCountError> {
    let overrides = Workload::gpu_overrides(&job.workload, &job.overrides)?;
    if overrides == job.overrides {
        return Ok(None);
    }
    let full = Subject::load(&job.workload, &overrides, &job.toolchain())?;
    if full.digest() != subject.digest() {
        return Err(FullCountError::OtherProgram);
    }
    let (need, free) = (2 * arena_bytes(&full.workload), available_memory());
    if need > free {
        let (need, free) = (words(need), words(free));
        return Err(FullCountError::Memory { need, free });
    }
    let sizes = &full.workload.sizes_by_device;
    let one = |n: &String| Some(format!("{n}={}", full.workload.size(n)?));
    let at: Vec<String> = sizes.iter().filter_map(one).collect();
    Ok(Some(GpuSizes {
        overrides,
        words: at.join(", "),
    }))
}

/// Why times are not those of the sizes that a workload file has for a GPU.
#[derive(Debug, thiserror::Error)]
pub enum FullCountError {
    /// The file.
    #[error(transparent)]
    Workload(#[from] Mistakes),
    /// It cannot be compiled for them.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// Sizes are among the compiler's flags.
    #[error("the program is another one there: sizes are among its flags")]
    OtherProgram,
    /// Its buffers are too large.
    #[error("the buffers take {need} there, and {free} are free")]
    Memory {
        /// Bytes, in words.
        need: String,
        /// Bytes, in words.
        free: String,
    },
    /// The counting run.
    #[error(transparent)]
    Counting(#[from] JobError),
}

/// Times of a program of which some are predicted from machine code.
pub struct FullSizeTimes<'s> {
    subject: &'s Subject,
    tunable: &'s Tunable,
    /// At full size.
    counted: Rc<CountedTimes<'s>>,
    /// The same from machine code.
    coded: Option<Coded<'s>>,
    /// Where counts are from, in words.
    sizes: String,
}

impl<'s> FullSizeTimes<'s> {
    /// From counts, and from machine code where there is some.
    pub fn new(
        (subject, tunable): (&'s Subject, &'s Tunable),
        counted: Rc<CountedTimes<'s>>,
        coded: Option<Coded<'s>>,
        sizes: String,
    ) -> FullSizeTimes<'s> {
        FullSizeTimes {
            subject,
            tunable,
            counted,
            coded,
            sizes,
        }
    }

    /// An assignment in the shapes of the workload file. Layouts of kernels stay: their machine code tells what they gain.
    fn unshaped(&self, a: &Assignment) -> Assignment {
        let mut a = a.clone();
        let is_layout = |g: &usize| self.tunable.layouts().any(|l| l == *g);
        for g in self.tunable.shapes().into_iter().filter(|g| !is_layout(g)) {
            a[g] = 0;
        }
        a
    }

    /// Machine code of kernels with two versions is not read.
    fn divided(&self, a: &Assignment) -> bool {
        let plan = self.tunable.plan(self.subject, a);
        plan.kernels.values().any(|k| k.partition.is_some())
    }

    fn formats(&self, a: &Assignment) -> Option<f64> {
        let coded = self.coded.as_ref().filter(|_| !self.divided(a));
        let coded = coded.and_then(|c| c.predict(a));
        coded.or_else(|| self.counted.predict(a))
    }
}

impl TimePredictor for FullSizeTimes<'_> {
    fn predict(&self, a: &Assignment) -> Option<f64> {
        let own = self.unshaped(a);
        let formats = self.formats(&own)?;
        if own == *a {
            return Some(formats);
        }
        Some(formats * self.counted.predict(a)? / self.counted.predict(&own)?)
    }

    fn prepare(&self, all: &[Assignment]) {
        let mut own: Vec<Assignment> = all.iter().map(|a| self.unshaped(a)).collect();
        own.sort();
        own.dedup();
        let Some(coded) = &self.coded else {
            let shaped = all.iter().cloned();
            return self
                .counted
                .prepare(&own.into_iter().chain(shaped).collect::<Vec<_>>());
        };
        own.retain(|a| !self.divided(a));
        coded.prepare(&own);
    }

    fn at_once(&self) -> usize {
        self.counted.at_once()
    }

    fn describe(&self) -> String {
        let by = match &self.coded {
            Some(c) => c.describe(),
            None => self.counted.describe(),
        };
        format!("{by}, counted {}", self.sizes)
    }
}

//! A first workload file is tried, every access checked, and changed until it runs or no change helps.
use super::edits::{
    FILLED, by_sizes, fewer, left, longer, smaller, with_block, with_fill, with_sizes,
};
use crate::fail::Failure;
use crate::files;
use crate::run::report_of;
use kerf_exec::ExecError;
use kerf_exec::cpu::launch::OutOfBounds;
use kerf_exec::worker::WorkerError;
use kerf_run::job::{Job, JobError, JobReport, NoReport};
use kerf_run::skeleton::Skeleton;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// One run.
const RUN_LIMIT: Duration = Duration::from_secs(10);

/// All of them: a file that still does not run then is for its reader to edit.
const TRIAL_LIMIT: Duration = Duration::from_secs(35);

/// Operations beyond which a reference on the CPU takes more than seconds.
const MOST_WORK: u64 = 8_000_000;

/// Operations that one call of a math function stands for.
const MATH: u64 = 25;

/// What came of the trial.
pub(super) struct Outcome {
    /// What the last run failed with.
    pub(super) problem: Option<NoReport>,
    /// The file was held to one block.
    pub(super) one_block: bool,
}

/// Runs of a workload file that is being written.
pub(super) struct Trial {
    job: Job,
    text: String,
    until: Instant,
}

/// Whether a run was ended because it took too long.
fn too_long(e: &NoReport) -> bool {
    matches!(e, NoReport::Worker(WorkerError::Timeout(_)))
}

/// The access that a run was ended for, where one left its object.
fn out_of_bounds(e: &NoReport) -> Option<&OutOfBounds> {
    match e {
        NoReport::Job(JobError::Exec(ExecError::Fault(f))) => f.out_of_bounds.as_deref(),
        _ => None,
    }
}

impl Trial {
    /// Writes a file and prepares to run it.
    pub(super) fn new(job: Job, text: &str) -> Result<Trial, Failure> {
        let mut t = Trial {
            job,
            text: String::new(),
            until: Instant::now() + TRIAL_LIMIT,
        };
        t.write(text.to_owned())?;
        Ok(t)
    }

    fn write(&mut self, text: String) -> Result<(), Failure> {
        let path = &self.job.workload;
        files::write_whole(path, &text).map_err(|e| {
            Failure::new(format!("cannot write {}: {e}", path.display()))
                .help("choose another place with --out")
        })?;
        self.text = text;
        Ok(())
    }

    fn over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn run(&self, job: &Job) -> Result<JobReport, NoReport> {
        let left = self.until.saturating_duration_since(Instant::now());
        let whole = Duration::from_secs(left.as_secs().max(1));
        report_of(job, RUN_LIMIT.min(whole))
    }

    /// Tries the file, and others where it does not run.
    pub(super) fn settle(&mut self, skeleton: &Skeleton) -> Result<Outcome, Failure> {
        let mut problem = self.lengthen()?;
        let mut one_block = false;
        if let Some(first) = problem.as_ref().filter(|e| !too_long(e)) {
            // Kernels whose arrays are made for one block size run with that one only.
            let why = match out_of_bounds(first).is_some() {
                true => "with the first choice an access left its buffer; this one ran",
                false => "with the first choice the run failed; this one ran",
            };
            if let Some(shape) = self.other_block(skeleton) {
                self.write(with_block(&self.text, &shape, why))?;
                (problem, one_block) = (None, true);
            }
        }
        if problem.is_none() {
            self.write(by_sizes(&self.text))?;
            self.fill()?;
        }
        Ok(Outcome { problem, one_block })
    }

    /// Runs until nothing leaves its buffer: lengths and sizes follow what the runs ask for.
    fn lengthen(&mut self) -> Result<Option<NoReport>, Failure> {
        let mut grown: BTreeMap<String, u64> = BTreeMap::new();
        let mut problem = self.run(&self.job).err();
        let mut waited = 0;
        while let Some(e) = problem.as_ref().filter(|_| !self.over()) {
            let other = if too_long(e) {
                // Work that grows faster than its sizes, by nobody knows how much: each step is longer than the one before.
                waited += 1;
                (0..3 * waited - 2).try_fold(self.text.clone(), |t, step| match smaller(&t) {
                    None if step > 0 => Some(t),
                    other => other,
                })
            } else {
                out_of_bounds(e).and_then(|o| {
                    // Buffers whose length was not seen grow to what the run asks for.
                    let other = longer(&self.text, o, &mut grown).or_else(|| fewer(&self.text, o));
                    // An array of the program, that cannot grow.
                    let own = left(o).is_none();
                    other.or_else(|| smaller(&self.text).filter(|_| own))
                })
            };
            let Some(other) = other else { break };
            self.write(other)?;
            problem = self.run(&self.job).err();
        }
        Ok(problem)
    }

    /// A block that the file runs with.
    fn other_block(&self, skeleton: &Skeleton) -> Option<Vec<(String, i64)>> {
        let runs = |shape: &Vec<(String, i64)>| {
            let other = Job {
                overrides: shape.clone(),
                ..self.job.clone()
            };
            !self.over() && self.run(&other).is_ok()
        };
        shapes(skeleton).into_iter().find(runs)
    }

    /// Sizes that fill a GPU, as far as a run on the CPU stays short.
    fn fill(&mut self) -> Result<(), Failure> {
        let Some((mut threads, ops)) = self.work() else {
            return Ok(());
        };
        let first = self.text.clone();
        let mut best = first.clone();
        for times in [4, 2] {
            let larger = with_sizes(&first, times);
            let growth = times * times;
            if larger == first
                || threads * growth > FILLED
                || ops.saturating_mul(growth) > MOST_WORK
                || self.over()
            {
                continue;
            }
            self.write(larger.clone())?;
            // With more threads something else may not fit.
            if self.run(&self.job).is_ok()
                && let Some((t, o)) = self.work()
                && o <= MOST_WORK
            {
                (best, threads) = (larger, t);
                break;
            }
        }
        self.write(with_fill(&best, threads))
    }

    /// Threads of the largest launch, and operations of all, by a counting run.
    fn work(&self) -> Option<(u64, u64)> {
        let job = Job {
            memcheck: None,
            count: Some(kerf_pass::count::Detail::Blocks),
            count_only: true,
            ..self.job.clone()
        };
        let counts = self.run(&job).ok()?.counts?;
        let threads = counts
            .kernels
            .iter()
            .map(|k| k.threads / k.launches.max(1))
            .max()?;
        let weight = |op: &str| match op {
            "load" | "store" | "phi" | "select" => 0,
            o if o.len() <= 4 && o.starts_with('f') || o.contains("to") => 1,
            _ => MATH,
        };
        let sites = counts.kernels.iter().flat_map(|k| &k.sites);
        let work = sites.map(|s| s.seen.count * weight(&s.op)).sum();
        Some((threads, work))
    }
}

/// Block shapes to try, for kernels that take only some.
fn shapes(skeleton: &Skeleton) -> Vec<Vec<(String, i64)>> {
    let axes = &skeleton.free_axes;
    let all: &[&[i64]] = match axes.len() {
        0 => return Vec::new(),
        1 => &[&[64], &[256], &[32], &[512], &[1024], &[16], &[1]],
        2 => &[
            &[32, 32],
            &[8, 8],
            &[32, 8],
            &[16, 8],
            &[32, 4],
            &[64, 4],
            &[256, 1],
            &[4, 4],
            &[1, 1],
        ],
        _ => &[
            &[8, 8, 8],
            &[4, 4, 4],
            &[8, 8, 4],
            &[16, 4, 4],
            &[32, 4, 1],
            &[1, 1, 1],
        ],
    };
    let fits = |all: &&&[i64]| {
        let threads = all.iter().map(|v| i128::from(*v)).product::<i128>();
        threads <= skeleton.most_threads && threads % skeleton.multiple == 0
    };
    let named = |all: &&[i64]| axes.iter().cloned().zip(all.iter().copied()).collect();
    all.iter().filter(fits).map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_to_try_fit_the_kernels() {
        let skeleton = |axes: &[&str], most_threads, multiple| Skeleton {
            text: String::new(),
            guesses: 0,
            free_axes: axes.iter().map(|a| (*a).to_owned()).collect(),
            most_threads,
            multiple,
        };
        let sizes = |s: &Skeleton| -> Vec<i64> { shapes(s).iter().map(|s| s[0].1).collect() };
        assert_eq!(sizes(&skeleton(&["bx"], 128, 32)), [64, 32]);
        assert_eq!(sizes(&skeleton(&[], 1024, 1)), [0i64; 0]);
        let two = shapes(&skeleton(&["bx", "by"], 64, 1));
        assert_eq!(two[0], [("bx".to_owned(), 8), ("by".to_owned(), 8)]);
    }
}

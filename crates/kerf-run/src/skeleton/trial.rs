//! A first workload file is tried, every access checked, and changed until it runs or no change helps.
use super::draft::Skeleton;
use super::repair::{FILLED, ShrinkCause, left_buffer};
use crate::job::{Job, JobError, JobReport, NoReport};
use kerf_exec::ExecError;
use kerf_exec::cpu::launch::OutOfBounds;
use kerf_exec::worker::WorkerError;
use kerf_workload::expand::{ConcreteStep, expand};
use kerf_workload::{SizesFor, Workload};
use std::path::Path;
use std::time::{Duration, Instant};

/// One run.
const RUN_LIMIT: Duration = Duration::from_secs(10);

/// All of them: a file that still does not run then is for its reader to edit.
const TRIAL_LIMIT: Duration = Duration::from_secs(35);

/// Operations beyond which a reference on the CPU takes more than seconds.
const MOST_WORK: u64 = 8_000_000;

/// Most often that full sizes double those of the CPU along each side.
const MOST_TIMES_LOG2: u32 = 8;

/// How many times over a GPU is filled by a launch of little work.
const FULL_FILLS: u64 = 16;

/// Operations that a large GPU carries out in milliseconds.
const MOST_FULL_WORK: f64 = 1e10;

/// Bytes of all buffers at full sizes.
const MOST_BYTES: usize = 4 << 30;

/// Operations that one call of a math function stands for.
const MATH: u64 = 25;

/// What came of the trial.
pub struct TrialOutcome {
    /// What the last run failed with.
    pub problem: Option<NoReport>,
    /// The file was held to one block.
    pub one_block: bool,
}

/// Carries out a job within a time.
pub type RunJob<'r> = &'r dyn Fn(&Job, Duration) -> Result<JobReport, NoReport>;

/// Runs of a workload file that is being written.
struct Trial<'r> {
    job: Job,
    run: RunJob<'r>,
    draft: Skeleton,
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

/// Writes the file that `job` names and runs it, and others where it does not run, for at most 35 s.
pub fn settle(draft: Skeleton, job: Job, run: RunJob) -> std::io::Result<TrialOutcome> {
    let mut trial = Trial {
        job,
        run,
        draft,
        until: Instant::now() + TRIAL_LIMIT,
    };
    trial.write()?;
    trial.settle()
}

impl Trial<'_> {
    fn write(&self) -> std::io::Result<()> {
        kerf_files::write_whole(&self.job.workload, self.draft.text())
    }

    fn over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn run(&self, job: &Job) -> Result<JobReport, NoReport> {
        let left = self.until.saturating_duration_since(Instant::now());
        let whole = Duration::from_secs(left.as_secs().max(1));
        (self.run)(job, RUN_LIMIT.min(whole))
    }

    fn settle(&mut self) -> std::io::Result<TrialOutcome> {
        let mut problem = self.fit_lengths()?;
        let mut one_block = false;
        if let Some(first) = problem.as_ref().filter(|e| !too_long(e)) {
            // Kernels whose arrays are made for one block size run with that one only.
            let why = match out_of_bounds(first).is_some() {
                true => "with the first choice an access left its buffer; this one ran",
                false => "with the first choice the run failed; this one ran",
            };
            if let Some(shape) = self.other_block() {
                self.draft.hold_block(&shape, why);
                self.write()?;
                (problem, one_block) = (None, true);
            }
        }
        if problem.is_none() {
            self.draft.name_lengths_by_sizes();
            self.write()?;
            self.fill()?;
        }
        Ok(TrialOutcome { problem, one_block })
    }

    /// Runs until nothing leaves its buffer: lengths and sizes follow what the runs ask for.
    fn fit_lengths(&mut self) -> std::io::Result<Option<NoReport>> {
        let mut problem = self.run(&self.job).err();
        let mut timeouts = 0;
        while let Some(e) = problem.as_ref().filter(|_| !self.over()) {
            let changed = if too_long(e) {
                // Work that grows faster than its sizes, by nobody knows how much: each step is longer than the one before.
                timeouts += 1;
                self.draft.shrink(3 * timeouts - 2, ShrinkCause::Time)
            } else {
                out_of_bounds(e).is_some_and(|o| {
                    // Buffers whose length was not seen grow to what the run asks for; an array of the program cannot.
                    let own = left_buffer(o).is_none();
                    self.draft.lengthen(o)
                        || self.draft.reduce_rounds(o)
                        || (own && self.draft.shrink(1, ShrinkCause::Fault))
                })
            };
            if !changed {
                break;
            }
            self.write()?;
            problem = self.run(&self.job).err();
        }
        Ok(problem)
    }

    /// A block that the file runs with.
    fn other_block(&self) -> Option<Vec<(String, i64)>> {
        let runs = |shape: &Vec<(String, i64)>| {
            let other = Job {
                overrides: shape.clone(),
                ..self.job.clone()
            };
            !self.over() && self.run(&other).is_ok()
        };
        shapes(&self.draft).into_iter().find(runs)
    }

    /// Sizes of the CPU as large as a run stays short with, and full ones that fill a GPU.
    fn fill(&mut self) -> std::io::Result<()> {
        let Some((mut threads, mut operations)) = self.work() else {
            return Ok(());
        };
        let mut best = self.draft.clone();
        let mut grows = true;
        for times in [4, 2] {
            let growth = times * times;
            let fits = threads * growth <= FILLED && operations.saturating_mul(growth) <= MOST_WORK;
            let Some(larger) = best.enlarged(times).filter(|_| fits && !self.over()) else {
                continue;
            };
            self.draft = larger;
            self.write()?;
            // With more threads something else may not fit.
            let failed = self.run(&self.job).err();
            grows &= failed.as_ref().is_none_or(too_long);
            if failed.is_none()
                && let Some((t, o)) = self.work()
                && o <= MOST_WORK
            {
                (best, threads, operations) = (self.draft.clone(), t, o);
                break;
            }
        }
        self.draft = best;
        self.draft.full_times = 1;
        if grows {
            let full = full_sizes(&self.draft, &self.job.workload, threads, operations);
            (self.draft.full_times, threads) = full;
        }
        self.draft.note_fill(threads);
        self.write()
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

/// How many times as long every side is at full sizes, and the threads of the largest launch then. At the CPU's sizes it
/// has `threads`, and all launches `operations`. More threads than fill a GPU once make times longer than the latency of a
/// launch; they are chosen where the work stays small even if it grows with the square of the threads.
fn full_sizes(draft: &Skeleton, path: &Path, threads: u64, operations: u64) -> (u64, u64) {
    let mut best = (1, threads);
    for times in (1..=MOST_TIMES_LOG2).map(|log2| 1u64 << log2) {
        let Some(larger) = threads_at(draft, path, times) else {
            break;
        };
        let growth = larger as f64 / threads.max(1) as f64;
        let most = match operations as f64 * growth * growth <= MOST_FULL_WORK {
            true => FULL_FILLS * FILLED,
            false => 2 * FILLED,
        };
        if larger > most {
            break;
        }
        if larger > best.1 {
            best = (times, larger);
        }
    }
    best
}

/// Threads of the largest launch at full sizes that are `times` as long along each side; none where a file says what cannot
/// be, or needs more memory than a small GPU has.
fn threads_at(draft: &Skeleton, path: &Path, times: u64) -> Option<u64> {
    let larger = Skeleton {
        full_times: times,
        ..draft.clone()
    };
    let w = Workload::parse_for(&larger.text(), path, &[], SizesFor::Gpu).ok()?;
    let bytes = w.buffers.iter().map(|b| b.bytes().unwrap_or(usize::MAX));
    if bytes.fold(0, usize::saturating_add) > MOST_BYTES {
        return None;
    }
    let product = |extents: [u32; 3]| extents.into_iter().map(u64::from).product::<u64>();
    let mut most = 0;
    for step in expand(&w, &w.launch_space.default_params()).ok()? {
        if let ConcreteStep::Launch(l) = step.ok()? {
            most = most.max(product(l.grid).saturating_mul(product(l.block)));
        }
    }
    Some(most)
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
            free_axes: axes.iter().map(|a| (*a).to_owned()).collect(),
            most_threads,
            multiple,
            ..Skeleton::default()
        };
        let sizes = |s: &Skeleton| -> Vec<i64> { shapes(s).iter().map(|s| s[0].1).collect() };
        assert_eq!(sizes(&skeleton(&["bx"], 128, 32)), [64, 32]);
        assert_eq!(sizes(&skeleton(&[], 1024, 1)), [0i64; 0]);
        let two = shapes(&skeleton(&["bx", "by"], 64, 1));
        assert_eq!(two[0], [("bx".to_owned(), 8), ("by".to_owned(), 8)]);
    }
}

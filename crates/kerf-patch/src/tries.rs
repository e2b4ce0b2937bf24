//! A patched source, tried as any plan is: compiled by Kerf, run on the workload's inputs, compared with the reference
//! of the program as it was.
use crate::PatchError;
use crate::source::SourceFile;
use kerf_exec::worker::WorkerProcess;
use kerf_ir::program;
use kerf_num::Format;
use kerf_pass::Plan;
use kerf_pass::count::Detail;
use kerf_predict::cost::CostModel;
use kerf_run::job::{Device, Job, JobError, JobReport, Patched};
use kerf_tune::coded::Assembler;
use kerf_tune::criteria::OutputError;
use kerf_tune::evaluate::{EvaluationRequest, Evaluator, Sampling, Timing, WorkerProgram};
use kerf_tune::full_size::GpuSizes;
use kerf_tune::result::TuneResult;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What came of one.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PatchTrial {
    /// Error, in the unit of the tolerance; none if infinite or if it failed.
    pub error: Option<f64>,
    /// Errors by output.
    pub outputs: Vec<OutputError>,
    /// Time over that of the program as it is.
    pub time: Option<f64>,
    /// The measurement, where it was one.
    pub timing: Option<Timing>,
    /// Why it did not run.
    pub failure: Option<String>,
    /// On other inputs: how many, on how many it stayed within the tolerance, the largest error.
    pub elsewhere: Option<Elsewhere>,
}

/// A patched source on inputs that its plan was not chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Elsewhere {
    /// Inputs that differ from those that the plan was chosen by.
    pub inputs: usize,
    /// Those within the tolerance.
    pub passed: usize,
    /// The largest error; none if infinite, if a run failed, or without inputs.
    pub worst: Option<f64>,
    /// Inputs of other seeds that were the same bytes again, and count for nothing.
    pub same: usize,
}

impl PatchTrial {
    /// Within the tolerance and not slower?
    pub fn is_good(&self, tolerance: f64) -> bool {
        self.is_within(tolerance) && self.time.is_none_or(|t| t < 1.0)
    }
    /// Within the tolerance, on other inputs too?
    pub fn is_within(&self, tolerance: f64) -> bool {
        let others = self.elsewhere.is_none_or(|e| e.passed == e.inputs);
        others && self.error.is_some_and(|e| e <= tolerance)
    }
    fn failed(why: String) -> PatchTrial {
        PatchTrial {
            failure: Some(why),
            ..PatchTrial::default()
        }
    }
}

/// Seconds of a program on a device, predicted.
#[derive(Debug, Clone, Copy)]
pub struct PredictedSeconds {
    /// From machine code, where there is an assembler and its code can be read.
    coded: Option<f64>,
    /// From the prepared program.
    counted: Option<f64>,
}

impl PredictedSeconds {
    /// Over those of another program, both by the better way that both have.
    fn over(&self, own: &PredictedSeconds) -> Option<f64> {
        let ratio = |x: Option<f64>, own: Option<f64>| Some(x? / own.filter(|s| *s > 0.0)?);
        ratio(self.coded, own.coded).or_else(|| ratio(self.counted, own.counted))
    }
}

/// What all tries have in common.
pub struct PatchTrials<'b> {
    /// The result that is carried into source.
    pub result: &'b TuneResult,
    /// Device and toolchain; workload, sizes and seed as in the result.
    pub job: Job,
    /// How workers are started.
    pub program: WorkerProgram,
    /// Time limit of one run.
    pub limit: Duration,
    /// The device that times are predicted for.
    pub model: Option<&'b CostModel>,
    /// With it, they are predicted from machine code.
    pub assembler: Option<&'b Assembler>,
    /// Sizes that times are predicted at, where they are not the job's.
    pub full: Option<GpuSizes>,
    /// The workload's source, whole path.
    pub main: PathBuf,
    /// Compiler flags.
    pub flags: Vec<String>,
    /// Those of the program as it is.
    pub own_flags: Vec<String>,
    /// Of the program as it is.
    pub own: Option<PredictedSeconds>,
    /// Other inputs that a source has to hold on.
    pub inputs: usize,
}

/// The folder above all files.
fn above(paths: &[&Path]) -> PathBuf {
    let mut all = paths.iter().filter_map(|p| p.parent());
    let first = all.next().unwrap_or(Path::new("/")).to_owned();
    all.fold(first, |a, p| {
        a.ancestors()
            .find(|x| p.starts_with(x))
            .unwrap_or(Path::new("/"))
            .to_owned()
    })
}

/// Where [`mirror`] puts a file.
pub fn place(
    folder: &Path,
    main: &Path,
    sources: &BTreeMap<usize, SourceFile>,
    p: &Path,
) -> PathBuf {
    let mut paths: Vec<&Path> = sources.values().map(|s| s.path.as_path()).collect();
    paths.push(main);
    let root = above(&paths);
    folder.join(p.strip_prefix(&root).unwrap_or(p))
}

/// Puts the files of a program into a folder, some with other texts; gives the place of the main one.
pub fn mirror(
    folder: &Path,
    main: &Path,
    sources: &BTreeMap<usize, SourceFile>,
    texts: &BTreeMap<usize, String>,
) -> std::io::Result<PathBuf> {
    let place = |p: &Path| place(folder, main, sources, p);
    for (k, s) in sources {
        let to = place(&s.path);
        if let Some(d) = to.parent() {
            std::fs::create_dir_all(d)?;
        }
        std::fs::write(to, texts.get(k).unwrap_or(&s.text))?;
    }
    Ok(place(main))
}

impl PatchTrials<'_> {
    fn ask(&self, job: &Job) -> Result<JobReport, JobError> {
        let args: Vec<&str> = self.program.args.iter().map(String::as_str).collect();
        let died = |e: kerf_exec::worker::WorkerError| JobError::Worker(e.to_string());
        let mut w = WorkerProcess::start(&self.program.path, &args).map_err(died)?;
        let answer: Result<JobReport, JobError> = w.ask(job, self.limit).map_err(died)?;
        answer
    }

    /// Seconds on the device, predicted from a counting run: in some blocks at the sizes of a GPU, where the workload has some.
    pub fn seconds(
        &self,
        patched: Option<&Patched>,
        launch: &BTreeMap<String, i64>,
    ) -> Option<PredictedSeconds> {
        let model = self.model?;
        let full = self.full.as_ref();
        let job = Job {
            plan: Plan {
                launch: launch.clone(),
                ..Plan::default()
            },
            count: Some(Detail::Blocks),
            count_only: true,
            count_sampled: full.is_some(),
            overrides: full.map_or_else(|| self.job.overrides.clone(), |f| f.overrides.clone()),
            reference: false,
            baseline: false,
            patched: patched.cloned(),
            ..self.job.clone()
        };
        let counts = self.ask(&job).ok()?.counts?;
        let (source, flags) = match patched {
            Some(p) => (&p.source, &p.flags),
            None => (&self.main, &self.own_flags),
        };
        let m = program::load(&self.job.toolchain(), source, flags)
            .ok()?
            .module()
            .ok()?;
        let by_code = |a: &Assembler| a.program_seconds(model, &m, &counts);
        Some(PredictedSeconds {
            coded: self.assembler.and_then(by_code),
            counted: kerf_tune::counts::program_seconds(model, &m, &counts).ok(),
        })
    }

    /// A patched program on inputs that neither the search nor its validation had. Seeds that give the bytes of the
    /// tuning inputs, or of another seed, are no other inputs: files and constants are the same for every seed.
    fn elsewhere(
        &self,
        evaluator: &Evaluator,
        request: &EvaluationRequest,
        own: Option<&String>,
    ) -> Elsewhere {
        let tolerance = self.result.criteria.tolerance;
        let mut out = Elsewhere {
            inputs: 0,
            passed: 0,
            worst: None,
            same: 0,
        };
        let mut seen: BTreeSet<String> = self.result.inputs.iter().chain(own).cloned().collect();
        let mut errors: Vec<Option<f64>> = Vec::new();
        let tried = self.result.demoted.iter().map(|d| &d.validation);
        let used = tried.chain(&self.result.validation).map(|v| v.used).max();
        for k in 0..self.inputs as u64 {
            let mut one = request.clone();
            let skip = 1 + used.unwrap_or(0) as u64 + k;
            one.input.seed = self.result.input.seed.wrapping_add(skip);
            one.timed = Sampling::Untimed;
            let ran = evaluator.one(&one).ok();
            let digest = ran.as_ref().and_then(|e| e.inputs.clone());
            if digest.is_some_and(|d| !seen.insert(d)) {
                out.same += 1;
                continue;
            }
            let within = ran.as_ref().is_some_and(|e| e.accepted(tolerance));
            errors.push(ran.and_then(|e| e.error));
            out.inputs += 1;
            out.passed += usize::from(within);
            if !within {
                break;
            }
        }
        let all: Option<Vec<f64>> = errors.into_iter().collect();
        out.worst = all.and_then(|all| all.into_iter().reduce(f64::max));
        out
    }

    /// Tries a patched program.
    pub fn patched(
        &self,
        sources: &BTreeMap<usize, SourceFile>,
        texts: &BTreeMap<usize, String>,
        held: &[(String, Format)],
        launch: &BTreeMap<String, i64>,
    ) -> Result<PatchTrial, PatchError> {
        let dir = tempfile::tempdir().map_err(PatchError::Temporary)?;
        let source =
            mirror(dir.path(), &self.main, sources, texts).map_err(PatchError::Temporary)?;
        let mut flags = self.flags.clone();
        if let Some(d) = self.main.parent() {
            flags.extend(["-iquote".to_owned(), d.display().to_string()]);
        }
        let patched = Patched {
            source,
            flags,
            held: held.iter().map(|(n, f)| (n.clone(), (*f).into())).collect(),
            launches: None,
        };
        // Its compilation is nobody's to keep.
        if let Err(e) = program::load(&self.job.toolchain(), &patched.source, &patched.flags) {
            return Ok(PatchTrial::failed(e.to_string()));
        }
        let cuda = self.job.device == Device::Cuda;
        let evaluator = Evaluator::new(
            Job {
                patched: Some(patched.clone()),
                ..self.job.clone()
            },
            self.result.criteria.clone(),
            self.program.clone(),
            self.limit,
            1,
        );
        let request = EvaluationRequest {
            plan: Plan {
                launch: launch.clone(),
                ..Plan::default()
            },
            input: self.result.input,
            timed: match cuda {
                true => Sampling::UntilSteady,
                false => Sampling::Untimed,
            },
            energy_s: 0.0,
            order: 0,
            ahead: Vec::new(),
        };
        let e = match evaluator.one(&request) {
            Ok(e) => e,
            Err(e) => return Ok(PatchTrial::failed(e.to_string())),
        };
        let digest = e.inputs.clone();
        let mut t = PatchTrial {
            error: e.error,
            outputs: e.outputs,
            time: e.timing.as_ref().map(|t| t.ratio),
            timing: e.timing,
            failure: e.failure,
            elsewhere: None,
        };
        if t.is_within(self.result.criteria.tolerance) && self.inputs > 0 {
            t.elsewhere = Some(self.elsewhere(&evaluator, &request, digest.as_ref()));
        }
        if t.time.is_none() && t.is_within(self.result.criteria.tolerance) {
            let times = self.own.zip(self.seconds(Some(&patched), launch));
            t.time = times.and_then(|(own, patched)| patched.over(&own));
        }
        Ok(t)
    }
}

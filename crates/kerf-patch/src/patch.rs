//! From a result folder to a patch: the plan's nearest source, tried, and taken back where it does not hold.
mod candidate;
mod plans;
mod search;

use crate::PatchError;
use crate::ast::{self, Ast, clean};
use crate::defines;
use crate::edits::{self, Edits, diff};
use crate::launch;
use crate::marks::Marks;
use crate::math;
use crate::model::{DeclarationKind, DeclarationModel, Formats};
use crate::solve::{Solved, solve};
use crate::source::SourceFile;
use crate::split::{self, Split, SplitRequest};
use crate::toml;
use crate::tries::{PatchTrial, PatchTrials};
use kerf_clang::compile::Language;
use kerf_clang::compile::defines::applied;
use kerf_clang::sha256;
use kerf_device::profile::DeviceProfile;
use kerf_ir::kernels;
use kerf_ir::program::Program;
use kerf_num::Format;
use kerf_pass::{KernelPlan, Plan};
use kerf_predict::cost::CostModel;
use kerf_run::job::{Device, Job};
use kerf_run::run::WorkloadSession;
use kerf_run::storage;
use kerf_tune::coded::Assembler;
use kerf_tune::evaluate::WorkerProgram;
use kerf_tune::evidence;
use kerf_tune::full_size;
use kerf_tune::result::{self, SearchVerdict, TuneResult};
use kerf_tune::setting::Setting;
use kerf_tune::subject::Subject;
use kerf_workload::ConcreteStep;
use kerf_workload::expand;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use plans::{by_value, chosen, without};

/// Name and version of the schema.
pub const SCHEMA: &str = "kerf.patch/1";

/// Which plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The result's.
    Best,
    /// One of the front, by position from 0, the fastest first.
    Front(usize),
}

/// What is asked for.
pub struct PatchRequest {
    /// Result folder.
    pub dir: PathBuf,
    /// What relative paths are of.
    pub folder: PathBuf,
    /// Files in these folders may change; empty: that of the source.
    pub roots: Vec<PathBuf>,
    /// Device and toolchain.
    pub job: Job,
    /// How workers are started.
    pub program: WorkerProgram,
    /// Time limit of one run.
    pub limit: Duration,
    /// Device that times are predicted for.
    pub profile: Option<DeviceProfile>,
    /// With it, times are predicted from machine code.
    pub assembler: Option<Assembler>,
    /// Which plan.
    pub which: Which,
    /// Tries, at most.
    pub tries: usize,
    /// Other inputs that a patch has to hold on.
    pub inputs: usize,
}

/// A file that changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FilePatch {
    /// Whole path.
    pub path: PathBuf,
    /// SHA-256 of the text that it is a patch of.
    pub before: String,
    /// The new text.
    pub text: String,
    /// The change.
    pub diff: String,
}

impl FilePatch {
    fn new(path: PathBuf, old: &str, text: String, folder: &Path) -> FilePatch {
        FilePatch {
            before: sha256(old.as_bytes()),
            diff: diff(&shown(&path, folder), old, &text),
            path,
            text,
        }
    }
}

/// What the plan gave when it was tuned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Promise {
    /// Error.
    pub error: Option<f64>,
    /// Time over that of the program as it is.
    pub time: f64,
    /// `measured` or `predicted`; [`NOT_RECORDED`] where the result does not say how.
    pub kind: String,
}

/// What is said of a figure that no record has.
pub const NOT_RECORDED: &str = "not recorded";

/// A patch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Patch {
    /// [`SCHEMA`].
    pub schema: String,
    /// The files.
    pub files: Vec<FilePatch>,
    /// The plan.
    pub plan: Promise,
    /// The patched source.
    pub patched: PatchTrial,
    /// `measured` or `predicted`: the patched source's time.
    pub kind: String,
    /// Tolerance.
    pub tolerance: f64,
    /// Metric.
    pub metric: String,
    /// Buffers that the host has to give and take in another format.
    pub held: Vec<(String, Format)>,
    /// Launch parameters.
    pub launch: BTreeMap<String, i64>,
    /// What the plan asks for and source does not say.
    pub unsaid: Vec<String>,
    /// Groups of the plan that were taken back, and why.
    pub dropped: Vec<String>,
    /// What is left to do by hand.
    pub notes: Vec<String>,
    /// Tries.
    pub tries: usize,
}

/// What came of it.
#[derive(Debug)]
pub enum PatchOutcome {
    /// A patch that holds.
    Patch(Box<Patch>),
    /// Nothing in source is within the tolerance and faster: why, and what was tried last.
    None {
        /// Why.
        why: String,
        /// The last try.
        last: Option<Box<PatchTrial>>,
        /// What source does not say.
        unsaid: Vec<String>,
        /// The plan.
        plan: Promise,
    },
}

/// Everything that stays the same from try to try.
struct PatchContext<'g> {
    subject: &'g Subject,
    program: &'g Program,
    ast: &'g Ast,
    sources: &'g BTreeMap<usize, SourceFile>,
    result: &'g TuneResult,
    cl: bool,
    /// Copies of functions that were put into the source, by name.
    copies: &'g [String],
    /// The file that is compiled.
    main: &'g Path,
    /// The working folder.
    folder: &'g Path,
}

/// A candidate.
struct Candidate {
    edits: Edits,
    texts: BTreeMap<usize, String>,
    held: Vec<(String, Format)>,
    launch: BTreeMap<String, i64>,
    /// Macros have other values.
    compiled: bool,
    unsaid: Vec<String>,
    notes: Vec<String>,
    /// Buffers that host code of the source converts.
    converted: BTreeSet<String>,
}

/// The user's files that may change, by number.
fn sources(
    ast: &Ast,
    request: &PatchRequest,
    main: &Path,
    flags: &[String],
) -> BTreeMap<usize, SourceFile> {
    let tools = request.job.toolchain();
    let own = main.parent().unwrap_or(Path::new("/")).to_owned();
    let roots: Vec<PathBuf> = match request.roots.is_empty() {
        true => vec![own],
        false => request
            .roots
            .iter()
            .map(|r| {
                let p = clean(&request.folder.join(r));
                std::fs::canonicalize(&p).unwrap_or(p)
            })
            .collect(),
    };
    let mut all = BTreeMap::new();
    for (k, f) in ast.files.iter().enumerate() {
        if f.as_os_str().is_empty() || ast::is_system(f, &tools) {
            continue;
        }
        let real = std::fs::canonicalize(f).unwrap_or_else(|_| f.clone());
        let Ok(text) = std::fs::read_to_string(f) else {
            continue;
        };
        if roots.iter().any(|r| real.starts_with(r)) {
            // Places are those of the text that clang was shown, where macros have the plan's values.
            let now = (real == main).then(|| applied(flags, text.as_bytes()).1);
            let mut s = SourceFile::new(f, now.flatten().unwrap_or_else(|| text.clone()));
            s.was = text;
            all.insert(k, s);
        }
    }
    all
}

/// A path as a diff names it: from the working folder, where it lies in it.
fn shown(path: &Path, folder: &Path) -> PathBuf {
    let whole = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    path.strip_prefix(folder)
        .or_else(|_| path.strip_prefix(&whole))
        .unwrap_or(path)
        .to_owned()
}

/// The language of a program's source, where it is the program that was tuned and has one.
fn language(subject: &Subject, result: &TuneResult) -> Result<Language, PatchError> {
    let named = &subject.program.source;
    if subject.digest() != result.program {
        return Err(PatchError::Changed(named.display().to_string()));
    }
    let language = Language::from_path(named).filter(|l| !l.is_compiled());
    language.ok_or_else(|| PatchError::NoSource(named.clone()))
}

/// A program's source, parsed with the plan's values of macros.
struct ParsedProgram {
    /// The file that is compiled, and its flags.
    main: PathBuf,
    flags: Vec<String>,
    ast: Ast,
    sources: BTreeMap<usize, SourceFile>,
}

impl ParsedProgram {
    fn new(
        r: &PatchRequest,
        job: &Job,
        subject: &Subject,
        plan: &Plan,
    ) -> Result<ParsedProgram, PatchError> {
        let named = &subject.program.source;
        let main = clean(&r.folder.join(named));
        // Macros have the values of the plan: without other values these are the flags of the program.
        let flags = subject.workload.flags_at(&plan.launch);
        let ast = ast::parse(&job.toolchain(), &r.folder, named, &flags)?;
        let real = std::fs::canonicalize(&main).unwrap_or(main.clone());
        let sources = sources(&ast, r, &real, &flags);
        unchanged(&r.dir, &sources)?;
        Ok(ParsedProgram {
            main,
            flags,
            ast,
            sources,
        })
    }

    /// The source with copies of functions, where the plan needs some.
    fn split(
        &self,
        r: &PatchRequest,
        job: &Job,
        subject: &Subject,
        plan: &Plan,
    ) -> Result<Option<Split>, PatchError> {
        let names: Vec<(String, String)> = subject
            .kernels
            .iter()
            .map(|k| (k.name.clone(), k.symbol.clone()))
            .collect();
        let request = SplitRequest {
            tools: &job.toolchain(),
            folder: &r.folder,
            main: &self.main,
            flags: &self.flags,
            kernels: &names,
            plan,
        };
        let module = subject
            .program
            .module()
            .map_err(|e| PatchError::Clang(e.to_string()))?;
        split::split(&request, &self.ast, &self.sources, &module)
    }
}

/// Groups that the plan changes.
fn lowered(plan: &Plan, result: &TuneResult) -> Vec<usize> {
    (0..result.groups.len())
        .filter(|g| {
            let kept: BTreeSet<usize> = (0..result.groups.len()).filter(|k| k != g).collect();
            without(plan, result, &kept) != *plan
        })
        .collect()
}

impl PatchContext<'_> {
    /// The files of a candidate, the main one first.
    fn patched_files(&self, candidate: &Candidate) -> Vec<FilePatch> {
        let texts = candidate.texts.iter();
        let mut files: Vec<FilePatch> = texts
            .map(|(k, text)| {
                let source = &self.sources[k];
                FilePatch::new(source.path.clone(), &source.was, text.clone(), self.folder)
            })
            .collect();
        files.sort_by_key(|f| f.path != self.main);
        files
    }

    /// The workload file as the candidate needs it, where it changes; and notes on it.
    fn patched_workload(&self, candidate: &Candidate) -> (Option<FilePatch>, Vec<String>) {
        let workload = &self.subject.workload;
        let path = clean(&self.folder.join(&workload.path));
        let Ok(old) = std::fs::read_to_string(&path) else {
            return (None, Vec::new());
        };
        let (text, notes) = toml::patched(&old, workload, &candidate.held, &candidate.launch);
        let file = (text != old).then(|| FilePatch::new(path, &old, text, self.folder));
        (file, notes)
    }

    /// The patch of a source that holds.
    fn patch(&self, found: Found, promise: Promise) -> Patch {
        let Found {
            candidate,
            trial,
            dropped,
            tries,
        } = found;
        let mut files = self.patched_files(&candidate);
        let (workload, workload_notes) = self.patched_workload(&candidate);
        files.extend(workload);
        let copies = self.copies.iter().map(|name| format!(
            "{name} is a copy of a function that the plan computes in f64 for some of its callers and in f32 for others"
        ));
        let held = candidate.held.iter();
        let held = held.map(|(name, f)| held_note(&candidate, name, *f));
        let notes = candidate.notes.iter().cloned().chain(copies);
        let notes = notes.chain(workload_notes).chain(held).collect();
        let measured = trial.timing.is_some();
        Patch {
            schema: SCHEMA.into(),
            files,
            plan: promise,
            kind: if measured { "measured" } else { "predicted" }.into(),
            patched: trial,
            tolerance: self.result.criteria.tolerance,
            metric: self.result.criteria.metric.to_string(),
            notes,
            held: candidate.held,
            launch: candidate.launch,
            unsaid: candidate.unsaid,
            dropped,
            tries,
        }
    }
}

/// What the host has to do about a buffer that the device holds in another format.
fn held_note(candidate: &Candidate, name: &str, f: Format) -> String {
    match candidate.converted.contains(name) {
        true => format!("buffer {name} is {f} on the device; the host code's copies convert"),
        false => format!(
            "the host has to give and take buffer {name} as {f}: its allocation, its copies and what fills it"
        ),
    }
}

/// Makes a patch. `tell` hears what is done.
pub fn patch(r: &PatchRequest, mut tell: impl FnMut(&str)) -> Result<PatchOutcome, PatchError> {
    let (result, best) = result::read(&r.dir)?;
    let (plan, promise) = chosen(&result, best, r.which)?;
    let references = tempfile::tempdir().map_err(PatchError::Temporary)?;
    let job = Job {
        workload: result.workload.clone(),
        overrides: result.overrides.clone(),
        seed: Some(result.input.seed),
        references: Some(references.path().to_owned()),
        ..r.job.clone()
    };
    let subject = Subject::load(&job.workload, &job.overrides, &job.toolchain())?;
    let language = language(&subject, &result)?;
    let parsed = ParsedProgram::new(r, &job, &subject, &plan)?;
    let split = parsed.split(r, &job, &subject, &plan)?;
    let (ast, sources, program) = match &split {
        Some(s) => (&s.ast, &s.sources, &s.program),
        None => (&parsed.ast, &parsed.sources, &subject.program),
    };
    let context = PatchContext {
        subject: &subject,
        program,
        ast,
        sources,
        result: &result,
        cl: language == Language::OpenCl,
        copies: split.as_ref().map_or(&[], |s| &s.copies),
        main: &parsed.main,
        folder: &r.folder,
    };
    let model = r.profile.as_ref().and_then(|p| CostModel::new(p).ok());
    let mut trials = PatchTrials {
        result: &result,
        program: r.program.clone(),
        limit: r.limit,
        model: model.as_ref(),
        assembler: r.assembler.as_ref(),
        // Sizes of a GPU where they can be counted; else those that ran.
        full: full_size::gpu_sizes(&job, &subject).ok().flatten(),
        job,
        main: parsed.main.clone(),
        own_flags: subject.workload.flags_at(&BTreeMap::new()),
        flags: parsed.flags.clone(),
        own: None,
        inputs: r.inputs,
    };
    if r.job.device == Device::Cpu {
        trials.own = trials.seconds(None, &BTreeMap::new());
    }
    let mut search = Search {
        context: &context,
        trials: &trials,
        plan: &plan,
        order: by_value(&r.dir, &result, &lowered(&plan, &result)),
        left: r.tries.max(1),
        tries: 0,
        last: None,
        unsaid: Vec::new(),
    };
    let Some(found) = search.run(&mut tell)? else {
        let mut why = "no source that is near the plan is within the tolerance and faster than the program as it is".to_owned();
        for note in candidate::rewritten(&plan) {
            why = format!("{why}; {note}");
        }
        return Ok(PatchOutcome::None {
            why,
            last: search.last.map(Box::new),
            unsaid: search.unsaid,
            plan: promise,
        });
    };
    Ok(PatchOutcome::Patch(Box::new(context.patch(found, promise))))
}

/// Refuses sources that are not those that were tuned.
fn unchanged(dir: &Path, sources: &BTreeMap<usize, SourceFile>) -> Result<(), PatchError> {
    let Some(e) = evidence::read(dir) else {
        return Ok(());
    };
    for then in &e.sources {
        let name = Path::new(&then.file);
        let now = sources
            .values()
            .find(|s| s.path.ends_with(name) || s.path.file_name() == name.file_name());
        if let Some(s) = now
            && s.was != then.text
        {
            return Err(PatchError::Changed(s.path.display().to_string()));
        }
    }
    Ok(())
}

/// The search for the source that holds.
struct Search<'s> {
    context: &'s PatchContext<'s>,
    trials: &'s PatchTrials<'s>,
    plan: &'s Plan,
    order: Vec<usize>,
    left: usize,
    tries: usize,
    last: Option<PatchTrial>,
    unsaid: Vec<String>,
}

/// A source that holds.
struct Found {
    candidate: Candidate,
    trial: PatchTrial,
    /// Groups that were taken back.
    dropped: Vec<String>,
    tries: usize,
}

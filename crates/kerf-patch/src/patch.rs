//! From a result folder to a patch: the plan's nearest source, tried, and taken back where it does not hold.
mod ground;
mod plans;
mod search;

use crate::PatchError;
use crate::ast::{self, Ast, clean};
use crate::defines;
use crate::edits::{self, Edits, diff};
use crate::launch;
use crate::marks::Marks;
use crate::math;
use crate::model::{Kind, Model};
use crate::solve::{Formats, Solved, solve};
use crate::source::Source;
use crate::split::{self, Given};
use crate::toml;
use crate::tries::{Bench, Tried};
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
use kerf_run::run::Session;
use kerf_run::storage;
use kerf_tune::evaluate::WorkerProgram;
use kerf_tune::evidence;
use kerf_tune::result::{self, TuneResult, Verdict};
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
pub struct Request {
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
    pub patched: Tried,
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
pub enum Outcome {
    /// A patch that holds.
    Patch(Box<Patch>),
    /// Nothing in source is within the tolerance and faster: why, and what was tried last.
    None {
        /// Why.
        why: String,
        /// The last try.
        last: Option<Box<Tried>>,
        /// What source does not say.
        unsaid: Vec<String>,
        /// The plan.
        plan: Promise,
    },
}

/// Everything that stays the same from try to try.
struct Ground<'g> {
    subject: &'g Subject,
    program: &'g Program,
    ast: &'g Ast,
    sources: &'g BTreeMap<usize, Source>,
    result: &'g TuneResult,
    cl: bool,
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
fn sources(ast: &Ast, request: &Request, main: &Path, flags: &[String]) -> BTreeMap<usize, Source> {
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
            let mut s = Source::new(f, now.flatten().unwrap_or_else(|| text.clone()));
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

/// Makes a patch. `tell` hears what is done.
pub fn patch(r: &Request, mut tell: impl FnMut(&str)) -> Result<Outcome, PatchError> {
    let (result, best) = result::read(&r.dir)?;
    let (plan, promise) = chosen(&result, best, r.which)?;
    let job = Job {
        workload: result.workload.clone(),
        overrides: result.overrides.clone(),
        seed: Some(result.input.seed),
        ..r.job.clone()
    };
    let tools = job.toolchain();
    let subject = Subject::load(&job.workload, &job.overrides, &tools)?;
    let named = subject.program.source.clone();
    if subject.digest() != result.program {
        return Err(PatchError::Changed(named.display().to_string()));
    }
    let language = Language::from_path(&named).filter(|l| *l != Language::Ir);
    let language = language.ok_or_else(|| PatchError::NoSource(named.clone()))?;
    let main = clean(&r.folder.join(&named));
    // Macros have the values of the plan: without other values these are the flags of the program.
    let flags = subject.workload.flags_at(&plan.launch);
    let ast = ast::parse(&tools, &r.folder, &named, &flags)?;
    let sources = sources(
        &ast,
        r,
        &std::fs::canonicalize(&main).unwrap_or(main.clone()),
        &flags,
    );
    unchanged(&r.dir, &sources)?;
    let names: Vec<(String, String)> = subject
        .kernels
        .iter()
        .map(|k| (k.name.clone(), k.symbol.clone()))
        .collect();
    let given = Given {
        tools: &tools,
        folder: &r.folder,
        main: &main,
        flags: &flags,
        kernels: &names,
        plan: &plan,
    };
    let module = subject
        .program
        .module()
        .map_err(|e| PatchError::Clang(e.to_string()))?;
    let split = split::split(&given, &ast, &sources, &module)?;
    drop(module);
    let (ast, sources, program) = match &split {
        Some(s) => (&s.ast, &s.sources, &s.program),
        None => (&ast, &sources, &subject.program),
    };
    let ground = Ground {
        subject: &subject,
        program,
        ast,
        sources,
        result: &result,
        cl: language == Language::OpenCl,
    };
    let model = match &r.profile {
        Some(p) => CostModel::new(p).ok(),
        None => None,
    };
    let references = tempfile::tempdir().map_err(PatchError::Temporary)?;
    let mut bench = Bench {
        result: &result,
        job: Job {
            references: Some(references.path().to_owned()),
            // What is tried once is not worth keeping.
            ..job
        },
        program: r.program.clone(),
        limit: r.limit,
        model: model.as_ref(),
        main: main.clone(),
        own_flags: subject.workload.flags_at(&BTreeMap::new()),
        flags: flags.clone(),
        own_s: None,
        inputs: r.inputs,
    };
    if r.job.device == Device::Cpu {
        bench.own_s = bench.seconds(None, &BTreeMap::new());
    }
    let lowered: Vec<usize> = (0..result.groups.len())
        .filter(|g| {
            let kept: BTreeSet<usize> = (0..result.groups.len()).filter(|k| k != g).collect();
            without(&plan, &result, &kept) != plan
        })
        .collect();
    let order = by_value(&r.dir, &result, &lowered);
    let mut search = Search {
        ground: &ground,
        bench: &bench,
        plan: &plan,
        order,
        left: r.tries.max(1),
        tries: 0,
        last: None,
        unsaid: Vec::new(),
    };
    let found = search.run(&mut tell)?;
    let (tries, last, unsaid) = (
        search.tries,
        search.last.take(),
        std::mem::take(&mut search.unsaid),
    );
    let Some((candidate, tried, dropped)) = found else {
        return Ok(Outcome::None {
            why: "no source that is near the plan is within the tolerance and faster than the program as it is".into(),
            last: last.map(Box::new),
            unsaid,
            plan: promise,
        });
    };
    let mut files: Vec<FilePatch> = Vec::new();
    for (k, text) in &candidate.texts {
        let s = &sources[k];
        files.push(FilePatch {
            path: s.path.clone(),
            before: sha256(s.was.as_bytes()),
            text: text.clone(),
            diff: diff(&shown(&s.path, &r.folder), &s.was, text),
        });
    }
    files.sort_by_key(|f| f.path != main);
    let mut notes = candidate.notes.clone();
    for name in split.iter().flat_map(|s| &s.copies) {
        notes.push(format!(
            "{name} is a copy of a function that the plan computes in f64 for some of its callers and in f32 for others"
        ));
    }
    let path = clean(&r.folder.join(&subject.workload.path));
    if let Ok(old) = std::fs::read_to_string(&path) {
        let (text, more) =
            toml::patched(&old, &subject.workload, &candidate.held, &candidate.launch);
        notes.extend(more);
        if text != old {
            files.push(FilePatch {
                before: sha256(old.as_bytes()),
                diff: diff(&shown(&path, &r.folder), &old, &text),
                path,
                text,
            });
        }
    }
    for (name, f) in &candidate.held {
        notes.push(match candidate.converted.contains(name) {
            true => format!("buffer {name} is {f} on the device; the host code's copies convert"),
            false => format!(
                "the host has to give and take buffer {name} as {f}: its allocation, its copies and what fills it"
            ),
        });
    }
    Ok(Outcome::Patch(Box::new(Patch {
        schema: SCHEMA.into(),
        files,
        plan: promise,
        kind: if tried.timing.is_some() {
            "measured"
        } else {
            "predicted"
        }
        .into(),
        patched: tried,
        tolerance: result.criteria.tolerance,
        metric: result.criteria.metric.to_string(),
        held: candidate.held,
        launch: candidate.launch,
        unsaid: candidate.unsaid,
        dropped,
        notes,
        tries,
    })))
}

/// Refuses sources that are not those that were tuned.
fn unchanged(dir: &Path, sources: &BTreeMap<usize, Source>) -> Result<(), PatchError> {
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
    ground: &'s Ground<'s>,
    bench: &'s Bench<'s>,
    plan: &'s Plan,
    order: Vec<usize>,
    left: usize,
    tries: usize,
    last: Option<Tried>,
    unsaid: Vec<String>,
}

type Found = (Candidate, Tried, Vec<String>);

//! What a search gives, as files: docs/reference/result.md describes them.
use crate::criteria::{Criteria, OutputError};
use crate::evaluate::{Input, Timing};
use crate::evidence::{self, Evidence};
use crate::formats::{precision, significant_bits};
use crate::front::FrontPoint;
use crate::group::Group;
use crate::precheck::SanitizerCheck;
use crate::setting::Setting;
use crate::storage::FixedStorage;
use crate::subject::Subject;
use crate::tunable::Tunable;
use crate::validate::Validation;
use kerf_clang::compile::Toolchain;
use kerf_ir::finish;
use kerf_num::Format;
use kerf_num::metrics::Rejection;
use kerf_pass::count::LocalError;
use kerf_pass::{MathVariant, Plan, SiteFormat};
use kerf_run::job::{Energy, JobSeconds, StorageLosses, finish_with_tools};
use kerf_search::Reason;
use kerf_search::recorded::RecordedSpace;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Name and version of the schema.
pub const SCHEMA: &str = "kerf.tune/1";

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchVerdict {
    /// A faster plan is within the tolerance and passed validation.
    Tuned,
    /// Nothing faster than the program as it is is within the tolerance.
    Unchanged,
    /// The program itself is not within the tolerance. A plan in which some operations have wider formats is, and passed validation;
    /// it may be slower.
    Raised,
    /// The program itself is not within the tolerance, and no plan was found that is.
    Unmet,
}

/// Time of the plan against that of the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Speedup {
    /// Time of the program over that of the plan.
    pub value: f64,
    /// Lower end of its interval, where it was measured.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// `measured` or `predicted`.
    pub kind: String,
    /// Device that measured it, or model that predicted it.
    pub by: String,
    /// The measurement.
    pub timing: Option<Timing>,
}

impl SiteResult {
    /// Whether the plan computes it in a wider format than the source.
    pub fn is_raised(&self) -> bool {
        significant_bits(self.to) > precision(self.from)
    }
}

impl Speedup {
    /// `measured` only with the measurement, `predicted` only with what predicted it; none if the record is missing.
    pub fn recorded_kind(&self) -> Option<&str> {
        match self.kind.as_str() {
            "measured" if self.timing.is_none() => None,
            "predicted" if self.by.is_empty() => None,
            kind => Some(kind),
        }
    }
}

/// Why a group kept a format above the lowest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum KeptReason {
    /// Lowered as well, the error would be this.
    Error {
        /// Error; none if infinite, or if another reason than the error rejects it.
        error: Option<f64>,
        /// That reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rejection: Option<Rejection>,
    },
    /// It is raised: in its own format the error would be this.
    Needed {
        /// Error; none if infinite, or if another reason than the error rejects it.
        error: Option<f64>,
    },
    /// Lowered as well, the program would take this much of the time of the program as it is.
    Slower {
        /// Time over that of the program as it is.
        time: f64,
        /// Against the chosen plan's.
        chosen: f64,
        /// Measured, not predicted.
        measured: bool,
    },
    /// Lowered as well, it did not run.
    Failed {
        /// Why.
        why: String,
    },
    /// Ruled out beforehand.
    Veto {
        /// Why.
        why: String,
    },
    /// Lowered as well, it did not pass validation.
    Validation,
    /// Nobody tried.
    NotTried,
}

impl KeptReason {
    /// Lowered as well, it would be slower by less than is shown.
    pub fn gains_nothing(&self) -> bool {
        matches!(self, KeptReason::Slower { time, chosen, .. } if (time - chosen).abs() < 5e-4)
    }
}

/// A group at one level, all others as in the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alone {
    /// The level.
    pub format: Setting,
    /// Its error as one number, in the unit of the tolerance; none if infinite, or if it failed.
    pub error: Option<f64>,
    /// Its error on every output, the program's own included.
    pub outputs: Vec<OutputError>,
    /// Why it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// A group and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupResult {
    /// The group.
    #[serde(flatten)]
    pub group: Group,
    /// What it is in the plan: a format, a variant, a part of the warps.
    pub format: Setting,
    /// Why not lower; none if it is as low as was allowed.
    pub kept: Option<KeptReason>,
    /// What it does alone, all others as in the program, where that ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alone: Vec<Alone>,
    /// What its operations lose in narrower formats, each by itself: relative errors of their results on the
    /// tuning inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local: Vec<LocalError>,
}

/// A site and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteResult {
    /// Kernel.
    pub kernel: String,
    /// Number.
    pub site: usize,
    /// Operation.
    pub op: String,
    /// Line.
    pub line: Option<u32>,
    /// Column.
    pub column: Option<u32>,
    /// Format in the source.
    pub from: Format,
    /// Format in the plan.
    pub to: SiteFormat,
    /// How a math call is computed in the plan; none if accurately, by every warp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<MathVariant>,
    /// How it is computed by the warps that run the second version, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<MathVariant>,
    /// The function made for its arguments that computes it in the plan, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// Group, by position; none if it cannot change.
    pub group: Option<usize>,
    /// Why it cannot.
    pub fixed: Option<String>,
}

/// What the program itself does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// Its error against the reference; none if infinite.
    pub error: Option<f64>,
    /// Errors by output.
    pub outputs: Vec<OutputError>,
    /// Runs.
    pub runs: usize,
    /// Whether they gave the same bits.
    pub repeats: bool,
    /// Smallest error among them.
    pub least: Option<f64>,
}

/// How many evaluations there were.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluationCounts {
    /// Asked for by the strategy.
    pub search: usize,
    /// Groups lowered alone before the search, for their effect on every output.
    #[serde(default)]
    pub alone: usize,
    /// Plans with wider formats, before the strategy.
    #[serde(default)]
    pub raising: usize,
    /// Elements of threads tried after the strategy.
    #[serde(default)]
    pub layouts: usize,
    /// Asked for to explain the result.
    pub probes: usize,
    /// On other inputs.
    pub validation: usize,
    /// Those that failed to run.
    pub failed: usize,
    /// Plans that were measured once more, with more samples.
    #[serde(default)]
    pub finals: usize,
    /// Seconds from the start of the command to its result.
    pub wall_s: f64,
    /// Seconds of all evaluations together, also of those that ran at the same time, and of those of
    /// commands that this one went on from.
    #[serde(default)]
    pub evaluation_s: f64,
    /// Where the seconds of the evaluations went.
    #[serde(default)]
    pub spent: JobSeconds,
    /// Where those of the command went.
    #[serde(default)]
    pub phases: PhaseSeconds,
}

/// Seconds of a command's parts, one after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseSeconds {
    /// Compiling the program, counting it, and finding what can be chosen.
    pub prepare_s: f64,
    /// Making the models of time and error.
    pub models_s: f64,
    /// Waiting for the check for undefined behaviour, as far as it did not run beside the others.
    pub check_s: f64,
    /// The program itself.
    pub program_s: f64,
    /// The search.
    pub search_s: f64,
    /// Measuring the best again, explaining, validating.
    pub choice_s: f64,
    /// Evaluations of the validation, in workers at the same time too.
    pub validation_s: f64,
}

/// A clock for phases that follow each other.
pub(crate) struct PhaseClock(Instant);

impl PhaseClock {
    pub(crate) fn start() -> PhaseClock {
        PhaseClock(Instant::now())
    }

    /// Seconds since it was asked last.
    pub(crate) fn lap(&mut self) -> f64 {
        std::mem::replace(&mut self.0, Instant::now())
            .elapsed()
            .as_secs_f64()
    }
}

/// Energy of a plan against that of the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnergyResult {
    /// One run of the plan, by NVML; none where it was not measured.
    pub plan: Option<Energy>,
    /// One run of the program as it is.
    pub program: Option<Energy>,
    /// Energy of the plan's floating-point operations over that of the program's, estimated: static counts
    /// times the profile's energies. Memory and what is idle are left out.
    pub estimated: Option<f64>,
    /// Where the estimate comes from.
    pub by: String,
}

/// The version with every math call at its cheapest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cheapest {
    /// Its error; none if infinite.
    pub error: Option<f64>,
    /// Time over that of the program, measured or predicted as the speed-up is.
    pub time: Option<f64>,
    /// The tolerance is this part of the way from the program's own error to this one, where that was asked
    /// for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// What came of wider formats, where the program itself misses the tolerance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RaisedResult {
    /// Error with everything raised that can be: what wider formats cannot go below; none if infinite, or if it failed.
    pub everything: Option<f64>,
    /// Why everything raised did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Groups that are raised in the plan.
    pub groups: usize,
    /// Operations that are raised in it.
    pub operations: usize,
    /// Operations that can be.
    pub of: usize,
}

/// A plan that measurement does not tell from the program as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tie {
    /// The plan.
    pub point: FrontPoint,
    /// Its measurement.
    pub speedup: Speedup,
}

/// The result. The file is this, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuneResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Kerf's version.
    pub kerf: String,
    /// How it ended.
    pub verdict: SearchVerdict,
    /// Workload file.
    pub workload: PathBuf,
    /// Sizes that replaced the file's.
    pub overrides: Vec<(String, i64)>,
    /// Digest of the prepared program.
    pub program: String,
    /// Digest of the tuning inputs.
    pub inputs: Option<String>,
    /// Tuning inputs.
    pub input: Input,
    /// What counts as close enough.
    pub criteria: Criteria,
    /// The version with every math call at its cheapest, where it was measured first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cheapest: Option<Cheapest>,
    /// What came of wider formats, where the program itself misses the tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<RaisedResult>,
    /// Formats that were allowed.
    pub formats: Vec<SiteFormat>,
    /// Strategy.
    pub strategy: String,
    /// Seed of the search.
    pub seed: u64,
    /// Evaluations that were allowed.
    pub budget: usize,
    /// Why the search ended; none if there was none.
    pub ended: Option<Reason>,
    /// Device that errors were measured on.
    pub device: String,
    /// Device profile that times were predicted for.
    pub profile: String,
    /// The program itself.
    pub floor: Floor,
    /// Error of the plan on the tuning inputs.
    pub error: Option<f64>,
    /// Errors by output.
    pub outputs: Vec<OutputError>,
    /// Speed-up.
    pub speedup: Speedup,
    /// Energy of the plan and of the program, measured or estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyResult>,
    /// The fastest plan within the tolerance, where it is not measurably faster than the program.
    #[serde(default)]
    pub tie: Option<Tie>,
    /// Other plans that repeated measurement does not tell from the chosen one in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ties: Vec<Tie>,
    /// On other inputs; none if nothing changed.
    pub validation: Option<Validation>,
    /// Plans that were better on the tuning inputs, and failed on others.
    pub demoted: Vec<Demoted>,
    /// The plan, as levels of the groups.
    pub assignment: Vec<u8>,
    /// The groups.
    pub groups: Vec<GroupResult>,
    /// Buffers and arrays that keep their format, and why.
    #[serde(default)]
    pub fixed_storage: Vec<FixedStorage>,
    /// The sites.
    pub sites: Vec<SiteResult>,
    /// Plans that none is better than in both time and error, the fastest first.
    pub front: Vec<FrontPoint>,
    /// How many evaluations.
    pub effort: EvaluationCounts,
    /// What the check for undefined behaviour before the search came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<SanitizerCheck>,
    /// What the plan's scaled formats lose on the tuning inputs, array by array.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<StorageLosses>,
    /// What a reader must know.
    pub warnings: Vec<String>,
}

/// A plan that failed validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Demoted {
    /// The plan.
    pub point: FrontPoint,
    /// What came of its validation.
    pub validation: Validation,
    /// Other plans that gave the same bits on the tuning inputs, other bits than the program itself. They
    /// were demoted with it, without runs of their own.
    #[serde(default)]
    pub alike: usize,
}

/// Why files could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// A file.
    #[error("{path}: {why}; help: check the path and its permissions")]
    File {
        /// File.
        path: String,
        /// Why.
        why: String,
    },
    /// Not a result.
    #[error("{path} is no result of this version of Kerf: {why}; help: tune again")]
    Malformed {
        /// File.
        path: String,
        /// Why.
        why: String,
    },
    /// The tuned program could not be made.
    #[error("the tuned program could not be made: {0}")]
    Program(String),
}

fn file_error(path: &Path) -> impl Fn(std::io::Error) -> ResultError {
    let path = path.display().to_string();
    move |e| ResultError::File {
        path: path.clone(),
        why: e.to_string(),
    }
}

/// Makes the folder, where it is not there yet.
pub(crate) fn make_folder(path: &Path) -> Result<(), ResultError> {
    std::fs::create_dir_all(path).map_err(file_error(path))
}

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), ResultError> {
    kerf_files::write_whole(path, bytes).map_err(file_error(path))
}

/// The sites of a subject under an assignment.
pub fn sites(subject: &Subject, t: &Tunable, plan: &Plan, a: &[u8]) -> Vec<SiteResult> {
    let mut out = Vec::new();
    for (at, k) in subject.kernels.iter().enumerate() {
        let mine = plan.kernels.get(&k.name);
        let second = mine.and_then(|k| k.partition.as_ref());
        for s in &k.sites {
            let fixed = t
                .excluded
                .iter()
                .find(|e| e.kernel == k.name && e.site == s.id);
            out.push(SiteResult {
                kernel: k.name.clone(),
                site: s.id,
                op: s.op.clone(),
                line: s.location.as_ref().map(|l| l.line).filter(|l| *l > 0),
                column: s.location.as_ref().map(|l| l.column).filter(|c| *c > 0),
                from: s.format,
                to: t.format(at, s.id, a).unwrap_or(SiteFormat::from(s.format)),
                variant: mine.and_then(|k| k.math.get(&s.id)).copied(),
                second: second.and_then(|p| p.math.get(&s.id)).copied(),
                made: mine
                    .and_then(|k| k.made_function(s.id))
                    .map(|f| f.to_string()),
                group: t.chosen.get(&(at, s.id)).map(|(g, _)| *g),
                fixed: fixed.map(|e| e.why.clone()),
            });
        }
    }
    out
}

/// The front as a table: time, error, then a column a group.
fn csv(r: &TuneResult) -> String {
    let quoted = |s: &str| format!("\"{}\"", s.replace('"', "\"\""));
    let mut out = format!("time_ratio,{},within", r.criteria.metric);
    for g in &r.groups {
        out += ",";
        out += &quoted(&g.group.name);
    }
    out.push('\n');
    for p in &r.front {
        let within = p.error <= r.criteria.tolerance;
        out += &format!("{},{:e},{within}", p.time, p.error);
        for (g, l) in r.groups.iter().zip(&p.assignment) {
            out += &format!(",{}", g.group.formats[*l as usize]);
        }
        out.push('\n');
    }
    out
}

/// Writes everything that ran as a recorded search space.
pub fn save_space(dir: &Path, space: &RecordedSpace) -> Result<(), ResultError> {
    let text = space
        .json()
        .map_err(|e| ResultError::Program(e.to_string()))?;
    write(&dir.join("space.json"), (text + "\n").as_bytes())
}

/// Writes the folder's files: the plan, the tuned program, the front, and last the result.
pub fn save(
    dir: &Path,
    subject: &Subject,
    plan: &Plan,
    tools: &Toolchain,
    r: &TuneResult,
    evidence: &Evidence,
) -> Result<(), ResultError> {
    let json = |v: serde_json::Result<String>| v.map_err(|e| ResultError::Program(e.to_string()));
    let text = json(serde_json::to_string_pretty(plan))? + "\n";
    write(&dir.join("plan.json"), text.as_bytes())?;
    let program = |e: String| ResultError::Program(e);
    // Launch parameters may be macros.
    let m = kerf_run::compile::program(&subject.workload, tools, &plan.launch);
    let m = m.and_then(|p| p.module());
    let m = m.map_err(|e| program(e.to_string()))?;
    plan.apply(&m).map_err(|e| program(e.to_string()))?;
    let own = subject.program.module();
    let own = own.map_err(|e| program(e.to_string()))?;
    write(&dir.join("program.bc"), &own.bitcode())?;
    write(&dir.join("tuned.bc"), &m.bitcode())?;
    finish_with_tools(&m, tools).map_err(|e| program(e.to_string()))?;
    let ptx = finish::ptx(&m, &tools.arch).map_err(|e| program(e.0))?;
    write(&dir.join("tuned.ptx"), ptx.as_bytes())?;
    write(&dir.join("front.csv"), csv(r).as_bytes())?;
    let text = json(serde_json::to_string(evidence))? + "\n";
    write(&dir.join(evidence::FILE), text.as_bytes())?;
    let text = json(serde_json::to_string_pretty(r))? + "\n";
    write(&dir.join("result.json"), text.as_bytes())
}

/// Reads a result and its plan.
pub fn read(dir: &Path) -> Result<(TuneResult, Plan), ResultError> {
    let load = |name: &str| {
        let path = dir.join(name);
        std::fs::read_to_string(&path).map_err(file_error(&path))
    };
    let bad = |name: &str, why: String| ResultError::Malformed {
        path: dir.join(name).display().to_string(),
        why,
    };
    let text = load("result.json")?;
    let v: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| bad("result.json", e.to_string()))?;
    if v["schema"] != SCHEMA {
        return Err(bad("result.json", format!("its schema is {}", v["schema"])));
    }
    let r: TuneResult =
        serde_json::from_str(&text).map_err(|e| bad("result.json", e.to_string()))?;
    let plan = Plan::parse(&load("plan.json")?).map_err(|e| bad("plan.json", e.to_string()))?;
    Ok((r, plan))
}

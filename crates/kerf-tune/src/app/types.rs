//! What is asked of the tuner of applications, and what it gives.
use super::acceptance::Criterion;
use super::run::RunFailure;
use super::search::Local;
use super::values::{NoValues, Source};
use crate::duration::TooLong;
use crate::front::Point;
use crate::precheck::Checked;
use crate::problem::{Grouping, ProblemError};
use crate::result::ResultError;
use crate::store::StoreError;
use kerf_device::profile::DeviceProfile;
use kerf_files::LockError;
use kerf_num::Metric;
use kerf_num::metrics::ComparedCounts;
use kerf_pass::SiteFormat;
use kerf_search::Reason;
use kerf_search::strategy::StrategyError;
use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How time is told.
#[derive(Debug, Clone)]
pub enum TimeBy {
    /// Predicted by the static score, kernel by kernel, weighted by their part of the run time.
    Predicted,
    /// Kernel times together, measured.
    Kernels,
    /// The application's own figure: the first number that a pattern finds.
    Pattern(Regex),
    /// From start to end, measured.
    Wall,
}

impl TimeBy {
    /// As the description of a search has it.
    pub(crate) fn name(&self) -> String {
        match self {
            TimeBy::Predicted => "predicted".into(),
            TimeBy::Kernels => "kernels".into(),
            TimeBy::Wall => "wall".into(),
            TimeBy::Pattern(p) => format!("the pattern `{}`", p.as_str()),
        }
    }
}

/// Seconds that one launch of kernels takes on another device, by symbol, as far as they can be predicted; from the folder
/// of a run that recorded launches.
pub type Estimate = dyn Fn(&std::path::Path) -> BTreeMap<String, f64>;

/// What is asked for.
pub struct Request {
    /// Kinds of faults that the check before the search lets pass.
    pub allow: Vec<String>,
    /// Shell command that runs the application.
    pub command: String,
    /// `cpu` or `cuda:N`.
    pub device: String,
    /// Largest error.
    pub tolerance: f64,
    /// Its measure.
    pub metric: Metric,
    /// Least divisor of relative errors.
    pub floor: Option<f64>,
    /// Whether numbers may be NaN where those of the original program are.
    pub allow_nan: bool,
    /// What is compared.
    pub source: Source,
    /// How time is told.
    pub time: TimeBy,
    /// Runs for a measured time.
    pub repeats: usize,
    /// Kernels to tune; empty: by run time.
    pub kernels: Vec<String>,
    /// Formats that operations may have.
    pub formats: Vec<SiteFormat>,
    /// What changes together.
    pub grouping: Grouping,
    /// Hold allocations and arrays in narrower formats too.
    pub storage: bool,
    /// Strategy.
    pub strategy: String,
    /// Evaluations, at most.
    pub budget: usize,
    /// Seed of the search.
    pub seed: u64,
    /// Device that times are predicted for.
    pub profile: DeviceProfile,
    /// What kernels are chosen by where times are predicted; without it by their times in the run.
    pub estimate: Option<Box<Estimate>>,
    /// Result folder.
    pub out: PathBuf,
    /// Go on with what is in the folder.
    pub resume: bool,
    /// Start it even if it is estimated to take hours.
    pub confirmed: bool,
    /// Time limit of the program itself.
    pub limit: Duration,
    /// Tune each kernel alone too, and compare.
    pub local: bool,
    /// What standard output has to have for a run to count.
    pub require: Option<regex_lite::Regex>,
    /// After this, what ran decides, and nothing more is evaluated.
    pub most: Option<Duration>,
}

impl Request {
    /// What the numbers have to satisfy.
    pub(super) fn criterion(&self) -> Criterion {
        Criterion {
            metric: self.metric,
            tolerance: self.tolerance,
            floor: self.floor,
            allow_nan: self.allow_nan,
        }
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The program itself does not run.
    #[error("{0}; help: {1}")]
    Program(RunFailure, &'static str),
    /// The program has undefined behaviour.
    #[error(
        "{0}; help: mend the kernel; KERF_DEVICE=cpu KERF_MEMCHECK=1 shows the same; --allow KIND searches all the same"
    )]
    Undefined(String),
    /// Nothing to compare.
    #[error("{0}; help: {1}")]
    Values(NoValues, &'static str),
    /// The program's own numbers are none to compare with.
    #[error("the application's own output cannot be compared with: {0}; help: {1}")]
    Reference(String, &'static str),
    /// It gives something else each time.
    #[error(
        "the application's output changes from run to run: {0}, and the tolerance is {1:e}; help: fix its seed, compare something steadier (--stdout-pattern, --metric), or raise the tolerance"
    )]
    Unsteady(String, f64),
    /// A kernel that it does not launch.
    #[error("the application launches no kernel `{0}`; it launches {1}")]
    NoKernel(String, String),
    /// No kernels.
    #[error(
        "the application launches no kernel with floating-point operations; help: check its arguments"
    )]
    NoKernels,
    /// Device code.
    #[error("{0}")]
    Module(String),
    /// Nothing to tune.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The strategy.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// Hours, which nobody confirmed.
    #[error(transparent)]
    Long(#[from] TooLong),
    /// Another process uses the folder.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// No measured time.
    #[error(
        "the time pattern `{0}` matches nothing in the application's output; help: try it with grep -E"
    )]
    NoTime(String),
}

/// A kernel and its part of the run time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Share {
    /// Name.
    pub name: String,
    /// Launches.
    pub launches: u64,
    /// Part of the kernels' run time.
    pub part: f64,
    /// Is it tuned?
    pub tuned: bool,
}

/// The result; the file is this, as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AppResult {
    /// Name and version of the schema.
    pub schema: String,
    /// Kerf's version.
    pub kerf: String,
    /// `tuned` or `unchanged`.
    pub verdict: String,
    /// The command.
    pub command: String,
    /// Device that it ran on.
    pub device: String,
    /// What was compared.
    pub compared: String,
    /// Floating-point numbers in it.
    pub numbers: usize,
    /// How many values were compared, integers included, and how many are NaN or infinite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<ComparedCounts>,
    /// What the check for undefined behaviour before the search came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Checked>,
    /// Measure.
    pub metric: Metric,
    /// Bound.
    pub tolerance: f64,
    /// What the numbers were compared with.
    pub reference: String,
    /// Kernels.
    pub kernels: Vec<Share>,
    /// What their parts are of.
    #[serde(default)]
    pub kernels_by: String,
    /// Strategy.
    pub strategy: String,
    /// Seed.
    pub seed: u64,
    /// Budget.
    pub budget: usize,
    /// Evaluations made.
    pub evaluations: usize,
    /// Of which failed.
    pub failed: usize,
    /// Why the search ended.
    pub ended: Reason,
    /// Error of the plan.
    pub error: f64,
    /// Time of the program over that of the plan.
    pub speedup: f64,
    /// `measured` or `predicted`, and by what.
    pub time_by: String,
    /// Groups and the format that each has in the plan.
    pub groups: Vec<(String, String)>,
    /// Plans that none is better than in both time and error.
    pub front: Vec<Point>,
    /// Kernels tuned alone, and their plans together, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<Local>,
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// Seconds of the command.
    pub wall_s: f64,
}

/// What happens, for who watches.
#[derive(Debug)]
pub enum AppEvent<'e> {
    /// What a reader must know.
    Warning(&'e str),
    /// The program itself ran: seconds, kernels that are tuned, groups.
    Prepared(f64, &'e [Share], usize),
    /// An evaluation: how many, error or failure, time.
    Evaluated(usize, Result<f64, &'e str>, Option<f64>),
    /// A kernel is tuned alone from here on.
    Alone(&'e str),
    /// A kernel has nothing but memory that others share, so it is not tuned alone.
    Shared(&'e str),
    /// The plans of kernels that were tuned alone run together.
    Together,
}

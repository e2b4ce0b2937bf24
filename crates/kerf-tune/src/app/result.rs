//! What the tuner of applications gives.
use super::replay::ReplaySummary;
use super::values::ArrayScale;
use crate::front::FrontPoint;
use crate::precheck::SanitizerCheck;
use kerf_num::Metric;
use kerf_num::metrics::ComparedCounts;
use kerf_search::Reason;
use serde::{Deserialize, Serialize};

/// A kernel tuned alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LocalKernel {
    /// Name.
    pub name: String,
    /// Time of the program over that with the kernel's best plan; 1 if it has none.
    pub speedup: f64,
    /// Error of that plan, of the whole application.
    pub error: f64,
    /// Evaluations of its search.
    pub evaluations: usize,
}

/// Kernels tuned alone against the application tuned as a whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Local {
    /// The kernels.
    pub kernels: Vec<LocalKernel>,
    /// Error of their plans together; none if the application failed.
    pub error: Option<f64>,
    /// Speed-up of their plans together.
    pub speedup: Option<f64>,
    /// Is that within the tolerance?
    pub within: bool,
}

/// A kernel and its part of the run time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KernelShare {
    /// Name.
    pub name: String,
    /// Launches.
    pub launches: u64,
    /// Part of the kernels' run time.
    pub part: f64,
    /// Is it tuned?
    pub tuned: bool,
}

/// Something that was asked for and is not searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotSearched {
    /// What: as `--what` names it.
    pub what: String,
    /// The kernel.
    pub kernel: String,
    /// Why.
    pub why: String,
}

/// Another command of the application that a plan is tried on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Validated {
    /// The command.
    pub command: String,
    /// Numbers that were compared.
    pub numbers: usize,
    /// Error of the plan there; none without a plan.
    pub error: Option<f64>,
}

/// A plan that the search found and the program did not confirm.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RejectedPlan {
    /// Its speed-up in the search.
    pub speedup: f64,
    /// Its error in the search.
    pub error: f64,
    /// What the program did with it.
    pub why: String,
}

/// What the program itself said of the plans that were found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Confirmation {
    /// Runs of the program with the plan.
    pub runs: usize,
    /// The largest error in them; none without a plan.
    pub error: Option<f64>,
    /// Faster plans that the program did not confirm.
    pub rejected: Vec<RejectedPlan>,
    /// Other commands.
    pub validated: Vec<Validated>,
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
    pub checked: Option<SanitizerCheck>,
    /// Arrays that were compared, each by itself, with their scales; the first hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrays: Vec<ArrayScale>,
    /// Measure; of the arrays, the worst counts.
    pub metric: Metric,
    /// Bound.
    pub tolerance: f64,
    /// What the numbers were compared with.
    pub reference: String,
    /// Kernels.
    pub kernels: Vec<KernelShare>,
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
    /// Whether candidates were replayed from one recorded run, or why they restarted the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplaySummary>,
    /// Evaluations a minute, of those that this command made; none if it made none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluations_per_minute: Option<f64>,
    /// What the program itself said of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmation>,
    /// Error of the plan.
    pub error: f64,
    /// Time of the program over that of the plan.
    pub speedup: f64,
    /// `measured` or `predicted`, and by what.
    pub time_by: String,
    /// What was searched, as `--what` names it.
    #[serde(default)]
    pub what: Vec<String>,
    /// What was asked for and is not searched, by kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<NotSearched>,
    /// Evaluations of layouts, after the strategy's.
    #[serde(default)]
    pub layouts: usize,
    /// Groups and what each is in the plan: a format, a variant, a form of expressions, elements of a thread.
    pub groups: Vec<(String, String)>,
    /// Those of them that the plan changes.
    #[serde(default)]
    pub changed: Vec<(String, String)>,
    /// Plans that none is better than in both time and error.
    pub front: Vec<FrontPoint>,
    /// Kernels tuned alone, and their plans together, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<Local>,
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// Seconds of the command.
    pub wall_s: f64,
}

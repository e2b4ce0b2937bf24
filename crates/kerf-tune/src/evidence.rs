//! What a reader of a result wants to see beside it: the source as it was, what each operation did and
//! costs, what limits the time, how the error is spread. Written beside the result as [`FILE`]; [`gather`] makes it.
pub mod gather;

use kerf_num::metrics::Scatter;
use kerf_pass::count::LocalError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// File in the result folder.
pub const FILE: &str = "evidence.json";

/// Name and version of the schema.
pub const SCHEMA: &str = "kerf.evidence/1";

/// A source file, as it was when it was tuned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceText {
    /// As the compiler named it.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteEvidence {
    /// Kernel.
    pub kernel: String,
    /// Number.
    pub site: usize,
    /// Source file, by position in [`Evidence::sources`].
    pub file: Option<usize>,
    /// Source variable.
    pub variable: Option<String>,
    /// How often it ran, over all threads; none where nothing was counted.
    pub count: Option<u64>,
    /// Smallest and largest magnitude that it had, zero left out.
    pub range: Option<(f64, f64)>,
    /// Most leading bits that a sum lost.
    pub cancellation: Option<u32>,
    /// What it would lose in narrower formats by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local: Vec<LocalError>,
    /// Part of the cost of all operations in the program as it is: counts times the profile's throughputs.
    pub share: Option<f64>,
    /// What it costs in the plan, over the cost of all operations in the program as it is.
    pub share_after: Option<f64>,
}

/// What limits launches of a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelTime {
    /// Kernel.
    pub kernel: String,
    /// Launches that are alike.
    pub launches: u64,
    /// Seconds that the device works on one, predicted.
    pub seconds: f64,
    /// What decides them.
    pub limit: String,
    /// Seconds on each resource, if it alone mattered.
    pub shares: Vec<(String, f64)>,
    /// Registers of a thread, estimated.
    pub registers: u32,
    /// Warps on a multiprocessor.
    pub warps: u32,
}

/// Operations and bytes of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Amount {
    /// Floating-point operations by format; a multiply-add is two, a math function one.
    pub operations: BTreeMap<String, f64>,
    /// Bytes of global memory that threads ask for.
    pub bytes: f64,
    /// Conversions that the program has.
    pub conversions: usize,
}

/// A version of the program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// Times by kernel, predicted; empty where nothing was counted.
    pub kernels: Vec<KernelTime>,
    /// Operations and bytes.
    pub amount: Amount,
    /// How the error is spread over each output, by name.
    pub outputs: Vec<(String, Vec<Scatter>)>,
}

/// Peaks of the device that times are predicted for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Peaks {
    /// Multiply-adds a second, twice, by format.
    pub operations: BTreeMap<String, f64>,
    /// Bytes a second of a copy.
    pub bandwidth: Option<f64>,
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// [`SCHEMA`].
    pub schema: String,
    /// Text of the workload file.
    pub workload: String,
    /// Source files that operations are in, those of the workload first.
    pub sources: Vec<SourceText>,
    /// The operations, in the order of the result's.
    pub sites: Vec<SiteEvidence>,
    /// Their ranges are those of some executions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_sampled_ranges: bool,
    /// The program as it is.
    pub before: Version,
    /// The plan.
    pub after: Version,
    /// Peaks of the device.
    pub peaks: Peaks,
}

/// Reads the evidence of a folder; none where an older result has none.
pub fn read(dir: &Path) -> Option<Evidence> {
    let text = std::fs::read(dir.join(FILE)).ok()?;
    serde_json::from_slice(&text).ok()
}

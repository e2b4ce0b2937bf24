//! What a reader of a result wants to see beside it: the source as it was, what each operation did and
//! costs, what limits the time, how the error is spread. Written beside the result as [`FILE`].
use crate::evaluate::{Evaluator, Input};
use crate::result::TuneResult;
use crate::score::Weights;
use crate::setting::Setting;
use crate::subject::Subject;
use kerf_device::profile::DeviceProfile;
use kerf_num::Format;
use kerf_num::metrics::Scatter;
use kerf_pass::count::{LocalError, Memory};
use kerf_pass::{Plan, SiteFormat};
use kerf_predict::cost::{self, Work};
use kerf_run::job::{Counts, Traffic};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
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
    /// The program as it is.
    pub before: Version,
    /// The plan.
    pub after: Version,
    /// Peaks of the device.
    pub peaks: Peaks,
}

/// Reads a source file by the compiler's name for it: as it is, or beside the workload's source.
fn text(name: &str, source: &Path) -> Option<String> {
    let beside = source.parent().unwrap_or(Path::new("."));
    let own = || {
        let same = Path::new(name).file_name() == source.file_name();
        same.then(|| std::fs::read(source).ok()).flatten()
    };
    let bytes = std::fs::read(beside.join(name)).ok().or_else(own)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Operations that a site stands for on a roofline.
fn operations(op: &str) -> f64 {
    match op {
        "fma" | "fmuladd" => 2.0,
        "phi" | "load" | "store" | "select" | "fcmp" | "fneg" | "fabs" | "copysign" | "call"
        | "asm" | "fpext" | "fptrunc" | "sitofp" | "uitofp" | "fptosi" | "fptoui" => 0.0,
        _ => 1.0,
    }
}

/// What evidence is gathered from.
pub struct Gather<'g> {
    /// What was tuned.
    pub subject: &'g Subject,
    /// The plan.
    pub plan: &'g Plan,
    /// Its result.
    pub result: &'g TuneResult,
    /// What was counted.
    pub counts: Option<&'g Counts>,
    /// The model of the device.
    pub device: Option<&'g cost::CostModel>,
    /// Its profile.
    pub profile: &'g DeviceProfile,
}

impl Gather<'_> {
    fn sites(&self, files: &BTreeMap<&str, usize>) -> Vec<SiteEvidence> {
        let weights = Weights::of_profile(self.profile);
        let mut out = Vec::new();
        let (mut whole, mut costs) = (0.0, Vec::new());
        let mut results = self.result.sites.iter();
        for k in &self.subject.kernels {
            let counted = self.counts.and_then(|c| {
                let mut all = c.kernels.iter();
                all.find(|c| c.symbol == k.symbol)
            });
            for s in &k.sites {
                let seen = counted.and_then(|c| c.sites.iter().find(|c| c.id == s.id));
                let count = seen.map(|c| c.seen.count);
                let to = results.next().map_or(SiteFormat::from(s.format), |r| r.to);
                let cost = |f: Format| Some(count? as f64 * weights.site(&s.op, f));
                whole += cost(s.format).unwrap_or(0.0);
                costs.push((cost(s.format), cost(to.word())));
                out.push(SiteEvidence {
                    kernel: k.name.clone(),
                    site: s.id,
                    file: s
                        .location
                        .as_ref()
                        .and_then(|l| files.get(l.file.as_str()).copied()),
                    variable: s.variable.clone(),
                    count,
                    range: seen.and_then(|c| Some((c.seen.smallest?, c.seen.largest?))),
                    cancellation: seen.and_then(|c| c.seen.cancellation),
                    local: seen.map(|c| c.seen.local.clone()).unwrap_or_default(),
                    share: None,
                    share_after: None,
                });
            }
        }
        for (s, (own, after)) in out.iter_mut().zip(costs) {
            let part = |c: Option<f64>| c.filter(|_| whole > 0.0).map(|c| c / whole);
            (s.share, s.share_after) = (part(own), part(after));
        }
        out
    }

    fn kernels(&self, plan: &Plan) -> Vec<KernelTime> {
        let (Some(device), Some(counts)) = (self.device, self.counts) else {
            return Vec::new();
        };
        let work: Work = crate::counts::work(counts);
        let Ok(m) = self.subject.program.module() else {
            return Vec::new();
        };
        let Ok(p) = device.predict(&m, plan, &work) else {
            return Vec::new();
        };
        // Getting launches to the device is no part of what it does with them.
        fn busy(l: &cost::LaunchPrediction) -> impl Iterator<Item = &cost::Share> {
            l.shares
                .iter()
                .filter(|s| s.resource != cost::Resource::Launch)
        }
        let name = |symbol: &str| {
            let mut all = self.subject.kernels.iter();
            let known = all.find(|k| k.symbol == symbol);
            known.map_or_else(|| symbol.to_owned(), |k| k.name.clone())
        };
        let all = p.launches.iter().map(|l| KernelTime {
            kernel: name(&l.symbol),
            launches: l.repeats,
            seconds: l.device_seconds,
            limit: busy(l).next().map_or(l.limit, |s| s.resource).to_string(),
            shares: busy(l)
                .map(|s| (s.resource.to_string(), s.seconds))
                .collect(),
            registers: l.registers,
            warps: l.warps,
        });
        all.collect()
    }

    /// Bytes that an object takes in the plan, over those that it takes in the program.
    fn narrowed(&self, kernel: &str, t: &Traffic) -> f64 {
        let held = self.result.groups.iter().find(|g| {
            let mut places = g.group.holds.iter();
            places.any(|p| p.kernel == kernel && Some(&p.name) == t.name.as_ref())
        });
        let bytes = |s: &Setting| s.format().map(|f| f.word().bytes() as f64);
        held.and_then(|g| Some(bytes(&g.format)? / bytes(g.group.formats.first()?)?))
            .unwrap_or(1.0)
    }

    fn amount(&self, sites: &[SiteEvidence], after: bool) -> Amount {
        let mut a = Amount::default();
        for (s, r) in sites.iter().zip(&self.result.sites) {
            let f = if after { r.to.word() } else { r.from };
            let n = s.count.unwrap_or(0) as f64 * operations(&r.op);
            if n > 0.0 {
                *a.operations.entry(f.to_string()).or_default() += n;
            }
        }
        for k in self.counts.iter().flat_map(|c| &c.kernels) {
            for t in k.traffic.iter().filter(|t| t.memory == Memory::Global) {
                let part = if after {
                    self.narrowed(&k.name, t)
                } else {
                    1.0
                };
                a.bytes += part * (t.loaded + t.stored + t.atomic) as f64;
            }
        }
        a
    }

    fn peaks(&self) -> Peaks {
        let l = &self.profile.limits;
        let mut operations = BTreeMap::new();
        for f in [Format::F64, Format::F32, Format::F16, Format::Bf16] {
            let rate = self.profile.operations.get(&format!("fma.{f}"));
            let rate = rate.and_then(|o| o.throughput.value);
            if let (Some(r), Some(n), Some(mhz)) = (rate, l.sms.value, l.clock_mhz.value) {
                operations.insert(f.to_string(), 2.0 * r * n * mhz * 1e6);
            }
        }
        Peaks {
            operations,
            bandwidth: l.copy_bandwidth.value,
        }
    }

    /// Runs program and plan once more on the tuning inputs to see where their errors lie. What cannot be
    /// had is left out: the result does not depend on it.
    pub fn evidence(&self, evaluator: &Evaluator, input: Input) -> Evidence {
        let named: BTreeSet<&str> = self
            .subject
            .kernels
            .iter()
            .flat_map(|k| k.sites.iter().filter_map(|s| s.location.as_ref()))
            .map(|l| l.file.as_str())
            .collect();
        let source = &self.subject.program.source;
        let mut sources = Vec::new();
        let mut files = BTreeMap::new();
        for name in named {
            if let Some(text) = text(name, source) {
                files.insert(name, sources.len());
                sources.push(SourceText {
                    file: name.to_owned(),
                    text,
                });
            }
        }
        let sites = self.sites(&files);
        let conversions = |plan: &Plan| {
            let m = self.subject.program.module().ok()?;
            plan.apply(&m).ok()?;
            let ops = self.subject.kernels.iter().filter_map(|k| {
                let f = m.function(&k.symbol)?;
                let all = kerf_ir::sites::sites(&m, f).sites;
                let is = |op: &str| matches!(op, "fpext" | "fptrunc");
                Some(all.iter().filter(|s| is(&s.op)).count())
            });
            Some(ops.sum())
        };
        let version = |plan: &Plan, after: bool| {
            let mut amount = self.amount(&sites, after);
            amount.conversions = conversions(plan).unwrap_or(0);
            Version {
                kernels: self.kernels(plan),
                amount,
                outputs: evaluator.scatter(plan, input).unwrap_or_default(),
            }
        };
        let identity = Plan::default();
        let before = version(&identity, false);
        let after = match self.plan.is_identity() {
            true => before.clone(),
            false => version(self.plan, true),
        };
        Evidence {
            schema: SCHEMA.into(),
            workload: std::fs::read_to_string(&self.subject.workload.path).unwrap_or_default(),
            sources,
            before,
            after,
            sites,
            peaks: self.peaks(),
        }
    }
}

/// Reads the evidence of a folder; none where an older result has none.
pub fn read(dir: &Path) -> Option<Evidence> {
    let text = std::fs::read(dir.join(FILE)).ok()?;
    serde_json::from_slice(&text).ok()
}

//! Evidence from what a search knows at its end.
use super::{Amount, Evidence, KernelTime, Peaks, SCHEMA, SiteEvidence, SourceText, Version};
use crate::counted::work;
use crate::evaluate::{Evaluator, Input};
use crate::result::TuneResult;
use crate::score::Weights;
use crate::setting::Setting;
use crate::subject::Subject;
use kerf_device::profile::DeviceProfile;
use kerf_num::Format;
use kerf_pass::count::MemoryKind;
use kerf_pass::{Plan, SiteFormat};
use kerf_predict::cost::{self, ProgramWork};
use kerf_run::job::{ProgramCounts, Traffic};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

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
    pub counts: Option<&'g ProgramCounts>,
    /// The model of the device.
    pub device: Option<&'g cost::CostModel>,
    /// Its profile.
    pub profile: &'g DeviceProfile,
}

impl Gather<'_> {
    fn sites(&self, files: &BTreeMap<&str, usize>) -> Vec<SiteEvidence> {
        let weights = Weights::from_profile(self.profile);
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
                let cost = |f: SiteFormat| Some(count? as f64 * weights.site(&s.op, f));
                let own = SiteFormat::from(s.format);
                whole += cost(own).unwrap_or(0.0);
                costs.push((cost(own), cost(to)));
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
        let counted: ProgramWork = work(counts);
        let Ok(m) = self.subject.program.module() else {
            return Vec::new();
        };
        let Ok(p) = device.predict(&m, plan, &counted) else {
            return Vec::new();
        };
        // Getting launches to the device is no part of what it does with them.
        fn busy(l: &cost::LaunchPrediction) -> impl Iterator<Item = &cost::ResourceShare> {
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
        let bytes = |s: &Setting| s.storage().map(|f| f.bytes() as f64);
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
            for t in k.traffic.iter().filter(|t| t.memory == MemoryKind::Global) {
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
            has_sampled_ranges: self.counts.is_some_and(|c| c.has_sampled_values),
            peaks: self.peaks(),
        }
    }
}

//! From a result folder to a patch: the plan's nearest source, tried, and taken back where it does not hold.
use crate::PatchError;
use crate::ast::{self, Ast, clean};
use crate::edits::{self, Edits, diff};
use crate::launch;
use crate::marks::Marks;
use crate::math;
use crate::model::{Kind, Model};
use crate::solve::{Solved, solve};
use crate::source::Source;
use crate::toml;
use crate::tries::{Bench, Tried};
use kerf_device::cost::CostModel;
use kerf_device::profile::DeviceProfile;
use kerf_ir::compile::Language;
use kerf_ir::kernels;
use kerf_ir::program::sha256;
use kerf_num::Format;
use kerf_pass::{KernelPlan, Plan};
use kerf_tune::evaluate::WorkerProgram;
use kerf_tune::evidence;
use kerf_tune::result::{self, TuneResult, Verdict};
use kerf_tune::setting::Setting;
use kerf_tune::subject::Subject;
use kerf_workload::job::{Device, Job};
use kerf_workload::run::Session;
use kerf_workload::{ConcreteStep, expand, storage};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// `measured` or `predicted`.
    pub kind: String,
}

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
        last: Option<Tried>,
        /// What source does not say.
        unsaid: Vec<String>,
        /// The plan.
        plan: Promise,
    },
}

/// The plan of a point of the front.
fn plan_of(r: &TuneResult, assignment: &[u8]) -> Plan {
    let mut plan = Plan::default();
    for (g, level) in r.groups.iter().zip(assignment).filter(|(_, l)| **l > 0) {
        let Some(s) = g.group.formats.get(*level as usize) else {
            continue;
        };
        match s {
            Setting::Format(f) if g.group.holds.is_empty() => {
                let k = plan.kernels.entry(g.group.kernel.clone()).or_default();
                k.sites.extend(g.group.sites.iter().map(|s| (*s, *f)));
            }
            Setting::Format(f) => {
                for h in &g.group.holds {
                    let k = plan.kernels.entry(h.kernel.clone()).or_default();
                    k.storage.insert(h.name.clone(), *f);
                }
            }
            Setting::Math(v) => {
                let k = plan.kernels.entry(g.group.kernel.clone()).or_default();
                k.math.extend(g.group.sites.iter().map(|s| (*s, *v)));
            }
            Setting::Shape(text) => {
                let pairs = text.split(',').filter_map(|p| p.split_once('='));
                let values = pairs.filter_map(|(n, v)| Some((n.to_owned(), v.parse().ok()?)));
                plan.launch.extend(values);
            }
            Setting::Warps(_) => {}
        }
    }
    plan
}

/// A plan without some groups.
fn without(plan: &Plan, r: &TuneResult, kept: &BTreeSet<usize>) -> Plan {
    let mut p = plan.clone();
    for (i, g) in r.groups.iter().enumerate().filter(|(i, _)| !kept.contains(i)) {
        let _ = i;
        let is_math = g.group.formats.iter().any(|f| matches!(f, Setting::Math(_)));
        if let Some(k) = p.kernels.get_mut(&g.group.kernel).filter(|_| g.group.holds.is_empty()) {
            for s in &g.group.sites {
                k.math.remove(s);
                if !is_math {
                    k.sites.remove(s);
                }
            }
        }
        for h in &g.group.holds {
            if let Some(k) = p.kernels.get_mut(&h.kernel) {
                k.storage.remove(&h.name);
            }
        }
        if let Setting::Shape(text) = g.format {
            for (n, _) in text.split(',').filter_map(|p| p.split_once('=')) {
                p.launch.remove(n);
            }
        }
    }
    p
}

/// Everything that stays the same from try to try.
struct Ground<'g> {
    subject: &'g Subject,
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
    unsaid: Vec<String>,
    notes: Vec<String>,
    /// Buffers that host code of the source converts.
    converted: BTreeSet<String>,
}

impl Ground<'_> {
    /// The source nearest to a plan.
    fn candidate(&self, plan: &Plan) -> Result<Candidate, PatchError> {
        let symbols: Vec<String> = self.subject.kernels.iter().map(|k| k.symbol.clone()).collect();
        let mut model = Model::new(self.ast, self.sources, &symbols);
        let module = self.subject.program.module().map_err(|e| PatchError::Clang(e.to_string()))?;
        let mut marks = Marks::default();
        let none = KernelPlan::default();
        let own = |file: usize| self.sources.contains_key(&file);
        for (at, k) in self.subject.kernels.iter().enumerate() {
            let mine = plan.kernels.get(&k.name).unwrap_or(&none);
            marks.add(self.ast, &module, (at, &k.symbol), mine, &own);
        }
        let symbol = |name: &str| {
            let found = self.subject.kernels.iter().find(|k| k.name == name);
            found.map_or_else(|| name.to_owned(), |k| k.symbol.clone())
        };
        for g in &self.result.groups {
            for h in &g.group.holds {
                let to = plan.kernels.get(&h.kernel).and_then(|k| k.storage.get(&h.name));
                model.hold(&symbol(&h.kernel), &h.name, to.map(|f| f.word()));
            }
        }
        for (k, p) in &plan.kernels {
            for (name, f) in &p.storage {
                model.hold(&symbol(k), name, Some(f.word()));
            }
        }
        let Solved {
            narrow,
            mut edits,
            helpers,
            unsaid,
        } = solve(&model, &marks, self.cl);
        let mut notes = Vec::new();
        self.helpers(&model, &helpers, &mut edits);
        self.shapes(&model, plan, &mut edits, &mut notes);
        for (name, k) in &plan.kernels {
            if k.partition.is_some() {
                notes.push(format!(
                    "{name} runs in two versions in the plan; source has the first for all warps"
                ));
            }
            if k.regroup.is_some() {
                notes.push(format!("{name}: the plan puts blocks together, which source does not"));
            }
        }
        let names: BTreeSet<usize> = narrow.clone();
        let (held, converted) = self.held(&model, &names);
        let unsaid = unsaid
            .into_iter()
            .map(|u| {
                let file = self.ast.files.get(u.file).and_then(|f| f.file_name());
                let file = file.map_or_else(String::new, |f| f.to_string_lossy().into_owned());
                format!("{file}:{}: {}", u.line, u.why)
            })
            .collect();
        Ok(Candidate {
            texts: edits::patched(&edits, self.sources),
            edits,
            held,
            launch: plan.launch.clone(),
            unsaid,
            notes,
            converted,
        })
    }

    /// Buffers whose parameters are in f32 now.
    fn held(&self, m: &Model, narrow: &BTreeSet<usize>) -> (Vec<(String, Format)>, BTreeSet<String>) {
        let mut converted = BTreeSet::new();
        let Ok(module) = self.subject.program.module() else {
            return (Vec::new(), converted);
        };
        let (infos, globals) = (kernels::kernels(&module), kernels::globals(&module));
        let w = &self.subject.workload;
        let session = Session::plain(w, &infos, &globals);
        let Ok(touches) = storage::touches(&session) else {
            return (Vec::new(), converted);
        };
        let mut out: Vec<(String, Format)> = Vec::new();
        for (symbol, number, buffer) in &touches.parameters {
            let f = m.functions.iter().find(|f| f.mangled == *symbol || f.name == *symbol);
            let Some(p) = f.and_then(|f| f.params().nth(*number)) else {
                continue;
            };
            let small = m.entity_of(p).is_some_and(|e| {
                let t = &m.things[e];
                narrow.contains(&m.class(e)) && t.own == Format::F64 && t.kind == Kind::KernelParameter
            });
            let record = m.pointed_fields(p);
            let fields = !record.is_empty() && record.iter().all(|e| narrow.contains(&m.class(*e)));
            let name = &w.buffers[*buffer].name;
            if (small || fields) && !out.iter().any(|o| o.0 == *name) {
                out.push((name.clone(), Format::F32));
            }
            let class = m.entity_of(p).map(|e| m.class(e));
            if m.copies.iter().any(|c| Some(m.class(c.0)) == class) {
                converted.insert(name.clone());
            }
        }
        (out, converted)
    }

    /// Puts functions that have no name in CUDA C++ before the kernels.
    fn helpers(&self, m: &Model, names: &BTreeSet<&'static str>, edits: &mut Edits) {
        let text: Vec<String> = names.iter().filter_map(|n| math::helper(n)).collect();
        let main = &self.subject.program.source;
        let main = std::fs::canonicalize(main).unwrap_or_else(|_| main.clone());
        let Some((file, s)) = self.sources.iter().find(|s| s.1.path == main).or(self.sources.iter().next()) else {
            return;
        };
        if text.is_empty() {
            return;
        }
        let first = m.functions.iter().filter_map(|f| f.begin).filter(|b| b.file == *file).map(|b| b.offset).min();
        let first = first.unwrap_or(s.text.len());
        let head = &s.text[..first.min(s.text.len())];
        let mut at = 0;
        let mut after = None;
        for l in head.split_inclusive('\n') {
            at += l.len();
            if l.trim_start().starts_with("#include") {
                after = Some(at);
            }
        }
        let place = after.unwrap_or(0);
        let vector = names.iter().any(|n| n.ends_with("load")) && !head.contains("<vector>");
        let vector = if vector { "#include <vector>\n" } else { "" };
        let text = format!("{vector}\n{}", text.join("\n"));
        let text = if place == 0 { text.trim_start().to_owned() + "\n" } else { text };
        let _ = edits.before(*file, place, 0, &text);
    }

    /// Blocks that the plan's launch parameters give.
    fn shapes(&self, m: &Model, plan: &Plan, edits: &mut Edits, notes: &mut Vec<String>) {
        if plan.launch.is_empty() && plan.kernels.values().all(|k| k.block.is_none()) {
            return;
        }
        let w = &self.subject.workload;
        let mut params = w.launch_space.default_params();
        params.extend(plan.launch.clone());
        let mut blocks: BTreeMap<String, [u32; 3]> = BTreeMap::new();
        let Ok(steps) = expand(w, &params) else {
            return;
        };
        for step in steps.flatten() {
            let ConcreteStep::Launch(l) = step else {
                continue;
            };
            let found = self.subject.kernels.iter().find(|k| {
                k.name == l.kernel || kernels::source_name(&kerf_ir::llvm::demangle(&k.symbol)) == l.kernel
            });
            let Some(k) = found.or(self.subject.kernels.first().filter(|_| self.subject.kernels.len() == 1)) else {
                continue;
            };
            let b = blocks.entry(k.symbol.clone()).or_insert(l.block);
            if b.iter().product::<u32>() < l.block.iter().product::<u32>() {
                *b = l.block;
            }
        }
        for (symbol, block) in &blocks {
            let f = m.functions.iter().find(|f| f.mangled == *symbol || f.name == *symbol);
            if let Some(f) = f
                && let Err(why) = launch::bound(m, f, *block, self.cl, edits)
            {
                notes.push(format!("{}: no bound for its blocks: {why}", f.name));
            }
        }
        notes.extend(launch::launches(m, &blocks, edits));
        if !launch::any_launch(m, &blocks) {
            for (symbol, [x, y, z]) in &blocks {
                let name = kernels::source_name(&kerf_ir::llvm::demangle(symbol));
                notes.push(format!(
                    "{name} is launched elsewhere: with blocks of {x} x {y} x {z} threads"
                ));
            }
        }
    }
}

/// Groups of a plan, the most valuable first: by the part of the cost that they save.
fn by_value(dir: &Path, r: &TuneResult, lowered: &[usize]) -> Vec<usize> {
    let saved: BTreeMap<usize, f64> = match evidence::read(dir) {
        None => BTreeMap::new(),
        Some(e) => {
            let mut all: BTreeMap<usize, f64> = BTreeMap::new();
            for (s, site) in r.sites.iter().zip(&e.sites) {
                let gain = site.share.unwrap_or(0.0) - site.share_after.unwrap_or(0.0);
                if let Some(g) = s.group {
                    *all.entry(g).or_default() += gain;
                }
            }
            all
        }
    };
    let mut out = lowered.to_vec();
    // Memory first: what it saves is not among the operations.
    let key = |g: &usize| {
        let held = r.groups[*g].group.holds.is_empty();
        (held, -saved.get(g).copied().unwrap_or(0.0))
    };
    out.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal));
    out
}

/// The user's files that may change, by number.
fn sources(ast: &Ast, request: &Request, main: &Path) -> (BTreeMap<usize, Source>, Vec<PathBuf>) {
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
    let (mut all, mut outside) = (BTreeMap::new(), Vec::new());
    for (k, f) in ast.files.iter().enumerate() {
        if f.as_os_str().is_empty() || ast::is_system(f, &tools) {
            continue;
        }
        let real = std::fs::canonicalize(f).unwrap_or_else(|_| f.clone());
        let Ok(text) = std::fs::read_to_string(f) else {
            continue;
        };
        match roots.iter().any(|r| real.starts_with(r)) {
            true => {
                all.insert(k, Source::new(f, text));
            }
            false => outside.push(f.clone()),
        }
    }
    (all, outside)
}

/// A path as a diff names it: from the working folder, where it lies in it.
fn shown(path: &Path, folder: &Path) -> PathBuf {
    let whole = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    path.strip_prefix(folder).or_else(|_| path.strip_prefix(&whole)).unwrap_or(path).to_owned()
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
    let language = Language::of(&named).filter(|l| *l != Language::Ir);
    let language = language.ok_or_else(|| PatchError::NoSource(named.clone()))?;
    let main = clean(&r.folder.join(&named));
    let ast = ast::parse(&tools, &r.folder, &named, &subject.workload.flags)?;
    let (sources, outside) = sources(&ast, r, &std::fs::canonicalize(&main).unwrap_or(main.clone()));
    unchanged(&r.dir, &sources)?;
    let ground = Ground {
        subject: &subject,
        ast: &ast,
        sources: &sources,
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
        flags: subject.workload.flags.clone(),
        own_s: None,
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
    let (tries, last, unsaid) = (search.tries, search.last.take(), std::mem::take(&mut search.unsaid));
    let Some((candidate, tried, dropped)) = found else {
        return Ok(Outcome::None {
            why: "no source that is near the plan is within the tolerance and faster than the program as it is".into(),
            last,
            unsaid,
            plan: promise,
        });
    };
    let mut files: Vec<FilePatch> = Vec::new();
    for (k, text) in &candidate.texts {
        let s = &sources[k];
        files.push(FilePatch {
            path: s.path.clone(),
            before: sha256(s.text.as_bytes()),
            text: text.clone(),
            diff: diff(&shown(&s.path, &r.folder), &s.text, text),
        });
    }
    files.sort_by_key(|f| f.path != main);
    let mut notes = candidate.notes.clone();
    let path = clean(&r.folder.join(&subject.workload.path));
    if let Ok(old) = std::fs::read_to_string(&path) {
        let (text, more) = toml::patched(&old, &subject.workload, &candidate.held, &candidate.launch);
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
    for f in outside {
        notes.push(format!("{} is not in the source's folder and was left as it is (--root)", f.display()));
    }
    Ok(Outcome::Patch(Box::new(Patch {
        schema: SCHEMA.into(),
        files,
        plan: promise,
        kind: if tried.timing.is_some() { "measured" } else { "predicted" }.into(),
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

/// The plan that is asked for, and what it gave.
fn chosen(result: &TuneResult, best: Plan, which: Which) -> Result<(Plan, Promise), PatchError> {
    let kind = result.speedup.kind.clone();
    match which {
        Which::Best if result.verdict != Verdict::Tuned || best.is_identity() => Err(PatchError::NoPlan(
            match result.verdict {
                Verdict::Unmet => "the program itself is not within the tolerance",
                _ => "nothing faster than the program was found; help: --plan N takes one of the front",
            }
            .into(),
        )),
        Which::Best => {
            let promise = Promise {
                error: result.error,
                time: 1.0 / result.speedup.value,
                kind,
            };
            Ok((best, promise))
        }
        Which::Front(n) => {
            let p = result.front.get(n).ok_or_else(|| {
                let have = result.front.len();
                PatchError::NoPlan(format!("the front has {have} plans, numbered from 0"))
            })?;
            let plan = plan_of(result, &p.assignment);
            if plan.is_identity() {
                return Err(PatchError::NoPlan("that plan is the program as it is".into()));
            }
            let promise = Promise {
                error: Some(p.error),
                time: p.time,
                kind,
            };
            Ok((plan, promise))
        }
    }
}

/// Refuses sources that are not those that were tuned.
fn unchanged(dir: &Path, sources: &BTreeMap<usize, Source>) -> Result<(), PatchError> {
    let Some(e) = evidence::read(dir) else {
        return Ok(());
    };
    for then in &e.sources {
        let name = Path::new(&then.file);
        let now = sources.values().find(|s| s.path.ends_with(name) || s.path.file_name() == name.file_name());
        if let Some(s) = now
            && s.text != then.text
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

impl Search<'_> {
    fn attempt(&mut self, kept: &BTreeSet<usize>, tell: &mut dyn FnMut(&str)) -> Result<Option<(Candidate, Tried)>, PatchError> {
        let plan = without(self.plan, self.ground.result, kept);
        let c = self.ground.candidate(&plan)?;
        self.unsaid.clone_from(&c.unsaid);
        if c.edits.is_empty() {
            return Ok(None);
        }
        self.left -= 1;
        self.tries += 1;
        let t = self.bench.patched(self.ground.sources, &c.texts, &c.held, &c.launch)?;
        let words = match (&t.failure, t.error, t.time) {
            (Some(why), _, _) => format!("fails: {}", why.lines().take(3).collect::<Vec<_>>().join(" ")),
            (_, Some(e), Some(time)) => format!("error {e:.3e}, {:.2}x", 1.0 / time),
            (_, Some(e), None) => format!("error {e:.3e}"),
            _ => "an infinite error".into(),
        };
        tell(&format!("{} of {} groups: {words}", kept.len(), self.order.len()));
        self.last = Some(t.clone());
        Ok(Some((c, t)))
    }

    /// The whole plan; else as many of its groups, the most valuable first, as hold together.
    fn run(&mut self, tell: &mut dyn FnMut(&str)) -> Result<Option<Found>, PatchError> {
        let tolerance = self.ground.result.criteria.tolerance;
        let all: BTreeSet<usize> = self.order.iter().copied().collect();
        let fixed: BTreeSet<usize> = (0..self.ground.result.groups.len()).filter(|g| !all.contains(g)).collect();
        let with = |some: &BTreeSet<usize>| some.union(&fixed).copied().collect::<BTreeSet<usize>>();
        match self.attempt(&with(&all), tell)? {
            None => return Ok(None),
            Some((c, t)) if t.is_good(tolerance) => return Ok(Some((c, t, Vec::new()))),
            Some(_) => {}
        }
        let mut kept: BTreeSet<usize> = BTreeSet::new();
        let mut bad: BTreeSet<usize> = BTreeSet::new();
        let mut best: Option<(Candidate, Tried)> = None;
        // The longest beginning of what is left that holds, by bisection; what stops it is put aside.
        while self.left > 0 {
            let open: Vec<usize> = self.order.iter().copied().filter(|g| !kept.contains(g) && !bad.contains(g)).collect();
            if open.is_empty() {
                break;
            }
            let (mut low, mut high) = (0, open.len());
            // The whole of the first round is known not to hold.
            if kept.is_empty() && bad.is_empty() {
                high -= 1;
                if high == 0 {
                    break;
                }
            }
            while low < high && self.left > 0 {
                let middle = (low + high).div_ceil(2);
                let some: BTreeSet<usize> = kept.iter().chain(&open[..middle]).copied().collect();
                let holds = match self.attempt(&with(&some), tell)? {
                    Some((c, t)) => {
                        // On the way, time need not be won yet.
                        let within = t.error.is_some_and(|e| e <= tolerance);
                        let better = best.as_ref().is_none_or(|b| match (t.time, b.1.time) {
                            (Some(a), Some(b)) => a < b,
                            _ => true,
                        });
                        if within && t.is_good(tolerance) && better {
                            best = Some((c, t));
                        }
                        within
                    }
                    None => true,
                };
                match holds {
                    true => low = middle,
                    false => high = middle - 1,
                }
            }
            kept.extend(&open[..low]);
            match open.get(low) {
                Some(g) => bad.insert(*g),
                None => break,
            };
        }
        let dropped = bad.iter().map(|g| self.ground.result.groups[*g].group.name.clone()).collect();
        Ok(best.map(|(c, t)| (c, t, dropped)))
    }
}

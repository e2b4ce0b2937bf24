//! From a subject to a search problem, and from an assignment back to a plan.
use crate::approx::{self, Approx, MathSite, Warps};
use crate::launch::choice::{ChoiceError, LaunchChoice};
use crate::setting::Setting;
use crate::storage::{FixedStorage, Place};
use crate::subject::{Kernel, Subject, precision};
use kerf_num::Format;
use kerf_pass::{KernelPlan, Plan, SiteFormat};
use kerf_search::{Edge, Level, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What changes its format as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grouping {
    /// Source variables.
    Variable,
    /// Chains of operations without a conversion between them: the def-use rule of AMPT-GA.
    Chain,
    /// Source lines.
    Line,
    /// Every site by itself.
    Site,
}

/// A group of sites, or memory, that is one variable of the search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// For people: `body_forces: acc`, `buffer in`.
    pub name: String,
    /// Kernel, as plans name it; the first of them for memory.
    pub kernel: String,
    /// Position of the kernel in the subject.
    #[serde(skip)]
    pub at: usize,
    /// What it is by level: formats, variants, parts of the warps. The first is the program's own.
    pub formats: Vec<Setting>,
    /// Its sites in that kernel.
    pub sites: Vec<usize>,
    /// Source lines, ascending.
    pub lines: Vec<u32>,
    /// For memory: what it is in each kernel. Empty for operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<Place>,
}

impl Group {
    /// Something that is chosen of launches.
    pub fn of_launch(name: &str, levels: Vec<Setting>) -> Group {
        Group {
            name: name.to_owned(),
            kernel: String::new(),
            at: 0,
            formats: levels,
            sites: Vec::new(),
            lines: Vec::new(),
            holds: Vec::new(),
        }
    }
    /// Its operations; those of memory may be in several kernels.
    pub fn operations(&self) -> usize {
        let held: usize = self.holds.iter().map(|p| p.sites.len()).sum();
        held.max(self.sites.len())
    }
}

/// A site that keeps its format, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Excluded {
    /// Kernel.
    pub kernel: String,
    /// Site.
    pub site: usize,
    /// Why.
    pub why: String,
}

/// A search problem and what its variables stand for.
pub struct Tunable {
    /// The groups, one for each variable of the problem.
    pub groups: Vec<Group>,
    /// Sites that cannot be lowered.
    pub excluded: Vec<Excluded>,
    /// Memory that keeps its format.
    pub fixed: Vec<FixedStorage>,
    /// Format of a site at each level of its group, by kernel and site; sites of no group are absent.
    pub chosen: BTreeMap<(usize, usize), (usize, Vec<SiteFormat>)>,
    /// Math calls that have variants, where they were asked for, by kernel and site.
    pub math: BTreeMap<(usize, usize), MathSite>,
    /// The part of the warps that runs a second version, where that was asked for.
    pub warps: Option<Warps>,
    /// Kernels that cannot have a second version, and why.
    pub single: Vec<approx::Single>,
    /// Shapes of the launches, where they may change.
    pub launch: Option<LaunchChoice>,
}

/// What may change.
#[derive(Debug, Clone)]
pub struct Wish<'w> {
    /// Formats of operations; empty: they keep theirs.
    pub formats: &'w [SiteFormat],
    /// What changes together.
    pub by: Grouping,
    /// Hold memory in narrower formats too.
    pub storage: bool,
    /// Math calls and the part of the warps that runs a second version.
    pub approx: Option<Approx>,
}

/// Why nothing can be searched.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ProblemError {
    /// No site can change.
    #[error("there is nothing to tune in {kernels}: {why}")]
    Nothing {
        /// Kernels of the workload.
        kernels: String,
        /// Why.
        why: String,
    },
    /// No shape of a launch can change.
    #[error(transparent)]
    Launch(#[from] ChoiceError),
}

const MEMORY: &str = "a load or store keeps the format of its buffer";

/// Why a site is not lowered to any of the formats; none if it can be to one of them.
fn obstacle(k: &Kernel, site: usize, formats: &[SiteFormat]) -> Option<String> {
    let own = k.sites[site].format;
    if k.variables[site].is_none() {
        return Some(MEMORY.to_owned());
    }
    let narrower: Vec<SiteFormat> = narrower(own, formats);
    if narrower.is_empty() {
        return Some(format!(
            "its format is {own}, and none of the formats asked for is narrower"
        ));
    }
    let why: Vec<&String> = narrower
        .iter()
        .filter_map(|f| k.refused.get(&(site, *f)))
        .collect();
    (why.len() == narrower.len()).then(|| why[0].clone())
}

/// Those of the formats that are narrower, the widest first.
fn narrower(own: Format, formats: &[SiteFormat]) -> Vec<SiteFormat> {
    let bits = |f: &SiteFormat| precision(f.word());
    let mut some: Vec<SiteFormat> = formats.to_vec();
    some.retain(|f| bits(f) < precision(own));
    some.sort_by_key(|f| std::cmp::Reverse(bits(f)));
    some.dedup();
    some
}

/// What a site is grouped by: something to order by, and a name.
pub(crate) fn key(k: &Kernel, site: usize, by: Grouping) -> (String, Format, usize) {
    let s = &k.sites[site];
    let line = || match &s.location {
        Some(l) if l.line > 0 => format!("line {}", l.line),
        _ => "no line".to_owned(),
    };
    match by {
        Grouping::Variable => {
            let v = k.variables[site].as_ref();
            let name = v.map_or_else(String::new, |v| match &v.function {
                Some(f) => format!("{} in {f}", v.name),
                None => v.name.clone(),
            });
            (name, s.format, 0)
        }
        Grouping::Chain => (format!("group {}", s.group), s.format, s.group),
        Grouping::Line => (line(), s.format, 0),
        Grouping::Site => (
            format!("site {site} ({}, {})", s.op, line()),
            s.format,
            site,
        ),
    }
}

/// The groups of a subject's operations at the formats asked for.
pub fn tunable(
    subject: &Subject,
    formats: &[SiteFormat],
    by: Grouping,
) -> Result<Tunable, ProblemError> {
    with_storage(subject, formats, by, false)
}

/// The groups of a subject at the formats asked for; memory with `storage`.
pub fn with_storage(
    subject: &Subject,
    formats: &[SiteFormat],
    by: Grouping,
    storage: bool,
) -> Result<Tunable, ProblemError> {
    of_wish(
        subject,
        &Wish {
            formats,
            by,
            storage,
            approx: None,
        },
    )
}

/// The groups of a subject for everything that may change.
pub fn of_wish(subject: &Subject, wish: &Wish) -> Result<Tunable, ProblemError> {
    with_launch(subject, wish, |_| Ok(None))
}

/// The groups of a subject for everything that may change, and those that `launch` adds.
pub fn with_launch(
    subject: &Subject,
    wish: &Wish,
    launch: impl FnOnce(&mut Vec<Group>) -> Result<Option<LaunchChoice>, ChoiceError>,
) -> Result<Tunable, ProblemError> {
    let mut t = Tunable {
        groups: Vec::new(),
        excluded: Vec::new(),
        fixed: Vec::new(),
        chosen: BTreeMap::new(),
        math: BTreeMap::new(),
        warps: None,
        single: Vec::new(),
        launch: None,
    };
    if !wish.formats.is_empty() {
        formatted(subject, wish, &mut t);
    }
    if let Some(asked) = wish.approx {
        t.single = approx::add(subject, wish.formats, wish.by, asked, &mut t);
    }
    for g in &mut t.groups {
        g.lines.sort_unstable();
        g.lines.dedup();
    }
    tell_apart(&mut t.groups);
    t.launch = launch(&mut t.groups)?;
    match t.groups.is_empty() {
        false => Ok(t),
        true => Err(nothing(subject, wish, &t)),
    }
}

/// Operations and memory at the formats asked for.
fn formatted(subject: &Subject, wish: &Wish, t: &mut Tunable) {
    let (formats, by) = (wish.formats, wish.by);
    if wish.storage {
        hold(subject, formats, t);
    }
    for (at, k) in subject.kernels.iter().enumerate() {
        let mut index: BTreeMap<(String, Format, usize), usize> = BTreeMap::new();
        for s in &k.sites {
            if t.chosen.contains_key(&(at, s.id)) {
                continue; // goes with its memory
            }
            if let Some(why) = obstacle(k, s.id, formats) {
                t.excluded.push(Excluded {
                    kernel: k.name.clone(),
                    site: s.id,
                    why,
                });
                continue;
            }
            let key = key(k, s.id, by);
            let g = *index.entry(key.clone()).or_insert_with(|| {
                let mut all = vec![SiteFormat::from(s.format)];
                all.extend(narrower(s.format, formats));
                t.groups.push(Group {
                    name: format!("{}: {}", k.name, key.0),
                    kernel: k.name.clone(),
                    at,
                    formats: all.into_iter().map(Setting::Format).collect(),
                    sites: Vec::new(),
                    lines: Vec::new(),
                    holds: Vec::new(),
                });
                t.groups.len() - 1
            });
            let group = &mut t.groups[g];
            group.sites.push(s.id);
            let line = s.location.as_ref().map(|l| l.line);
            group.lines.extend(line.filter(|l| *l > 0));
            // A site that cannot follow its group to the narrowest format goes as far as it can.
            let mut site = vec![SiteFormat::from(s.format)];
            for f in narrower(s.format, formats) {
                let can = !k.refused.contains_key(&(s.id, f));
                site.push(if can { f } else { site[site.len() - 1] });
            }
            t.chosen.insert((at, s.id), (g, site));
        }
    }
}

/// Memory as variables: loads and stores go with what they touch.
fn hold(subject: &Subject, formats: &[SiteFormat], t: &mut Tunable) {
    for s in &subject.stored {
        let lower = s.own.map_or_else(Vec::new, |own| narrower(own, formats));
        let can: Vec<SiteFormat> = lower
            .iter()
            .filter(|f| !s.refused.contains_key(f))
            .copied()
            .collect();
        let (Some(own), false) = (s.own, can.is_empty()) else {
            let why = match lower.iter().find_map(|f| s.refused.get(f)) {
                Some(why) => why.clone(),
                None if s.own.is_none() => {
                    let why = s.refused.values().next().cloned();
                    why.unwrap_or_else(|| "no kernel reads or writes numbers in it".into())
                }
                None => "none of the formats asked for is narrower".into(),
            };
            t.fixed.push(FixedStorage {
                name: s.name.clone(),
                why,
            });
            continue;
        };
        let mut all = vec![SiteFormat::from(own)];
        all.extend(can);
        let first = s.places.iter().find(|p| !p.sites.is_empty());
        let Some(first) = first.or(s.places.first()) else {
            continue;
        };
        let mut lines = Vec::new();
        for p in &s.places {
            for site in &p.sites {
                let l = &subject.kernels[p.at].sites[*site].location;
                lines.extend(l.as_ref().map(|l| l.line).filter(|l| *l > 0));
                t.chosen
                    .insert((p.at, *site), (t.groups.len(), all.clone()));
            }
        }
        t.groups.push(Group {
            name: s.name.clone(),
            kernel: first.kernel.clone(),
            at: first.at,
            formats: all.into_iter().map(Setting::Format).collect(),
            sites: first.sites.clone(),
            lines,
            holds: s.places.clone(),
        });
    }
}

/// Two formats of one variable are two groups, and the names say so.
fn tell_apart(groups: &mut [Group]) {
    let names: Vec<String> = groups.iter().map(|g| g.name.clone()).collect();
    for g in groups.iter_mut() {
        if names.iter().filter(|n| **n == g.name).count() > 1 {
            g.name = format!("{} ({})", g.name, g.formats[0]);
        }
    }
}

fn nothing(subject: &Subject, wish: &Wish, t: &Tunable) -> ProblemError {
    let (formats, excluded) = (wish.formats, &t.excluded);
    let names: Vec<&str> = subject.kernels.iter().map(|k| k.name.as_str()).collect();
    let asked: Vec<&str> = formats.iter().map(|f| f.name()).collect();
    let sites = || subject.kernels.iter().flat_map(|k| &k.sites);
    let why = if sites().next().is_none() {
        "it has no floating-point operations".to_owned()
    } else if let Some((_, why)) = t.single.first() {
        why.clone()
    } else if wish.approx.is_some() && formats.is_empty() {
        let wide = sites().any(|s| s.format == Format::F64);
        let help = match wide {
            true => " in f64; help: --what precision,approx tries those of f32 too",
            false => "",
        };
        format!("none of its functions and divisions has an approximate variant{help}")
    } else if sites().all(|s| narrower(s.format, formats).is_empty()) {
        format!(
            "no operation is wider than {}; help: --formats f16,bf16 goes lower",
            asked.join(", ")
        )
    } else {
        let some = excluded.iter().find(|e| e.why != MEMORY);
        some.map_or_else(|| MEMORY.to_owned(), |e| e.why.clone())
    };
    ProblemError::Nothing {
        kernels: names.join(", "),
        why,
    }
}

impl Tunable {
    /// The format of a site under an assignment; none where it keeps its own.
    pub fn format(&self, kernel: usize, site: usize, a: &[u8]) -> Option<SiteFormat> {
        let (g, formats) = self.chosen.get(&(kernel, site))?;
        let level = *a.get(*g)? as usize;
        (level > 0).then(|| formats[level.min(formats.len() - 1)])
    }

    /// The plan that an assignment stands for.
    pub fn plan(&self, subject: &Subject, a: &[u8]) -> Plan {
        let mut plan = Plan::default();
        for ((at, site), (g, _)) in &self.chosen {
            if !self.groups[*g].holds.is_empty() {
                continue; // by its memory, below
            }
            let own = SiteFormat::from(subject.kernels[*at].sites[*site].format);
            if let Some(f) = self.format(*at, *site, a).filter(|f| *f != own) {
                let name = subject.kernels[*at].name.clone();
                let k = plan.kernels.entry(name).or_insert_with(KernelPlan::default);
                k.sites.insert(*site, f);
            }
        }
        for (g, level) in self.groups.iter().zip(a).filter(|(_, l)| **l > 0) {
            for p in &g.holds {
                let k = plan.kernels.entry(p.kernel.clone()).or_default();
                if let Some(f) = g.formats[*level as usize].format() {
                    k.storage.insert(p.name.clone(), f);
                }
            }
        }
        self.approximate(subject, a, &mut plan);
        if let Some(l) = &self.launch {
            l.plan(a, &mut plan);
        }
        plan
    }

    /// Groups that are shapes of launches.
    pub fn shapes(&self) -> Vec<usize> {
        let launch = self.launch.as_ref();
        let all = launch.map(|l| {
            let one_by_one = l.parameters.iter().flat_map(|p| &p.all);
            let shapes = l.variables.iter().map(|v| v.group);
            shapes.chain(one_by_one.map(|p| p.group)).chain(l.fixed)
        });
        all.into_iter().flatten().collect()
    }

    /// The search problem without costs: levels, depth along the data flow, which groups meet.
    pub fn problem(&self, subject: &Subject, tolerance: f64) -> Problem {
        let depths: Vec<Vec<u32>> = subject.kernels.iter().map(depths).collect();
        let variable = |g: &Group| {
            let names = g.formats.iter().map(|f| Level::named(f.to_string()));
            let mut v = kerf_search::Variable::new(g.name.clone(), names.collect());
            let k = &subject.kernels[g.at];
            v.members = g.operations() as u32;
            v.depth = g.sites.iter().map(|s| depths[g.at][*s]).min().unwrap_or(0);
            // Blocks of different kernels are different blocks.
            v.block = (g.at as u32) << 16 | g.sites.first().map_or(0, |s| k.blocks[*s]);
            v
        };
        let mut edges: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (at, k) in subject.kernels.iter().enumerate() {
            for (site, from) in k.operands.iter().enumerate() {
                let Some((b, _)) = self.chosen.get(&(at, site)) else {
                    continue;
                };
                for (a, _) in from.iter().filter_map(|f| self.chosen.get(&(at, *f))) {
                    if a != b {
                        *edges.entry((*a.min(b), *a.max(b))).or_insert(0.0) += 1.0;
                    }
                }
            }
        }
        let edges = edges
            .into_iter()
            .map(|((a, b), weight)| Edge { a, b, weight });
        let mut variables: Vec<kerf_search::Variable> = self.groups.iter().map(variable).collect();
        for i in self.shapes() {
            variables[i].unordered = true;
        }
        let parameters = self.launch.as_ref().and_then(|l| l.parameters.as_ref());
        for p in parameters.iter().flat_map(|p| &p.all) {
            let levels = variables[p.group].levels.iter_mut();
            for (l, v) in levels.zip(&p.values) {
                l.value = Some(*v as f64);
            }
        }
        Problem {
            points: parameters.map(|p| p.points.clone()),
            ..Problem::precision(variables, edges.collect(), tolerance)
        }
    }
}

/// Distance of each site from the loads. A loop's way back counts as nothing.
fn depths(k: &Kernel) -> Vec<u32> {
    let mut out: Vec<u32> = Vec::new();
    for (site, from) in k.operands.iter().enumerate() {
        let before = from.iter().filter(|f| **f < site).map(|f| out[*f]).max();
        out.push(before.map_or(0, |d| d + 1));
    }
    out
}

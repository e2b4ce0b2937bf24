//! From a subject to a search problem, and from an assignment back to a plan.
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

/// A group of sites that is one variable of the search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// For people: `body_forces: acc`.
    pub name: String,
    /// Kernel, as plans name it.
    pub kernel: String,
    /// Position of the kernel in the subject.
    #[serde(skip)]
    pub at: usize,
    /// Format by level; the first is the program's own.
    pub formats: Vec<SiteFormat>,
    /// Its sites.
    pub sites: Vec<usize>,
    /// Source lines, ascending.
    pub lines: Vec<u32>,
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
    /// Format of a site at each level of its group, by kernel and site; sites of no group are absent.
    pub chosen: BTreeMap<(usize, usize), (usize, Vec<SiteFormat>)>,
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
fn key(k: &Kernel, site: usize, by: Grouping) -> (String, Format, usize) {
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

/// The groups of a subject at the formats asked for.
pub fn tunable(
    subject: &Subject,
    formats: &[SiteFormat],
    by: Grouping,
) -> Result<Tunable, ProblemError> {
    let mut t = Tunable {
        groups: Vec::new(),
        excluded: Vec::new(),
        chosen: BTreeMap::new(),
    };
    for (at, k) in subject.kernels.iter().enumerate() {
        let mut index: BTreeMap<(String, Format, usize), usize> = BTreeMap::new();
        for s in &k.sites {
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
                    formats: all,
                    sites: Vec::new(),
                    lines: Vec::new(),
                });
                t.groups.len() - 1
            });
            let group = &mut t.groups[g];
            group.sites.push(s.id);
            let line = s.location.as_ref().map(|l| l.line);
            group.lines.extend(line.filter(|l| *l > 0));
            // A site that cannot follow its group to the narrowest format goes as far as it can.
            let mut site = vec![group.formats[0]];
            for f in &group.formats[1..] {
                let can = !k.refused.contains_key(&(s.id, *f));
                site.push(if can { *f } else { site[site.len() - 1] });
            }
            t.chosen.insert((at, s.id), (g, site));
        }
    }
    for g in &mut t.groups {
        g.lines.sort_unstable();
        g.lines.dedup();
    }
    tell_apart(&mut t.groups);
    match t.groups.is_empty() {
        false => Ok(t),
        true => Err(nothing(subject, formats, &t.excluded)),
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

fn nothing(subject: &Subject, formats: &[SiteFormat], excluded: &[Excluded]) -> ProblemError {
    let names: Vec<&str> = subject.kernels.iter().map(|k| k.name.as_str()).collect();
    let asked: Vec<&str> = formats.iter().map(|f| f.name()).collect();
    let sites = || subject.kernels.iter().flat_map(|k| &k.sites);
    let why = if sites().next().is_none() {
        "it has no floating-point operations".to_owned()
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
        for (at, site) in self.chosen.keys() {
            let own = SiteFormat::from(subject.kernels[*at].sites[*site].format);
            if let Some(f) = self.format(*at, *site, a).filter(|f| *f != own) {
                let name = subject.kernels[*at].name.clone();
                let k = plan.kernels.entry(name).or_insert_with(KernelPlan::default);
                k.sites.insert(*site, f);
            }
        }
        plan
    }

    /// The search problem without costs: levels, depth along the data flow, which groups meet.
    pub fn problem(&self, subject: &Subject, tolerance: f64) -> Problem {
        let depths: Vec<Vec<u32>> = subject.kernels.iter().map(depths).collect();
        let variable = |g: &Group| {
            let names = g.formats.iter().map(|f| Level::named(f.name()));
            let mut v = kerf_search::Variable::new(g.name.clone(), names.collect());
            let k = &subject.kernels[g.at];
            v.members = g.sites.len() as u32;
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
        let variables = self.groups.iter().map(variable).collect();
        Problem::precision(variables, edges.collect(), tolerance)
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

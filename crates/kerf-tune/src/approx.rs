//! Approximation as variables: math calls by their variants, and the part of the warps that runs the fully
//! approximate version.
//!
//! A kernel may have two versions: the first is what the other variables say, the second has every math
//! call at its cheapest variant, in the same formats. So time falls and error rises with every variable,
//! the part of the warps too, and level 0 of all of them is the program as it is.
use crate::group::{Group, Grouping, key};
use crate::setting::{PARTS, Setting};
use crate::subject::{Kernel, Subject};
use kerf_pass::{KernelPlan, MathVariant, Plan, Select, SiteFormat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Variants from the most to the least accurate: levels of a group are some of them.
pub const ORDER: [MathVariant; 8] = [
    MathVariant::Accurate,
    MathVariant::Reciprocal,
    MathVariant::Newton2,
    MathVariant::Newton1,
    MathVariant::Newton0,
    MathVariant::Full,
    MathVariant::Approx,
    MathVariant::ApproxFtz,
];

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approx {
    /// Math calls are variables; without, only the part of the warps is.
    pub calls: bool,
    /// The part of the warps is a variable: by what a warp chooses.
    pub warps: Option<Select>,
}

/// A math call that has variants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MathSite {
    /// Its group; none where it changes with the part of the warps only.
    pub group: Option<usize>,
    /// Variants by level of the group, the accurate one first.
    pub levels: Vec<MathVariant>,
}

/// The part of the warps as a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warps {
    /// Its group.
    pub group: usize,
    /// By what a warp chooses.
    pub select: Select,
    /// Kernels that have two versions, by position.
    pub kernels: Vec<usize>,
}

/// A kernel that cannot have two versions, and why.
pub type Single = (String, String);

/// The last of the levels that a call can have in a format.
pub(crate) fn reachable(can: &[MathVariant], levels: &[MathVariant]) -> MathVariant {
    let last = levels.iter().rev().find(|v| can.contains(v));
    last.copied().unwrap_or(MathVariant::Accurate)
}

/// Math calls by kernel and site.
pub type MathSites = BTreeMap<(usize, usize), MathSite>;

/// What approximation adds to the variables of a search.
#[derive(Debug, Default)]
pub(crate) struct Added {
    /// Math calls that have variants.
    pub math: MathSites,
    /// The part of the warps that runs a second version.
    pub warps: Option<Warps>,
    /// Kernels that keep one version.
    pub single: Vec<Single>,
}

/// Kernels that may change, with their positions.
fn tuned_kernels(subject: &Subject) -> impl Iterator<Item = (usize, &Kernel)> {
    let all = subject.kernels.iter().enumerate();
    all.filter(|(_, k)| k.is_tuned)
}

/// Adds the variables of math calls and warps to the groups.
pub(crate) fn add(
    subject: &Subject,
    formats: &[SiteFormat],
    by: Grouping,
    asked: Approx,
    groups: &mut Vec<Group>,
) -> Added {
    let mut math = MathSites::new();
    for (at, k) in tuned_kernels(subject) {
        let mut index: BTreeMap<(String, String), usize> = BTreeMap::new();
        for (site, by_format) in &k.math {
            let own = SiteFormat::from(k.sites[*site].format);
            let own_or_asked = |f: &SiteFormat| *f == own || formats.contains(f);
            let can = |v: &MathVariant| {
                let mut some = by_format.iter().filter(|(f, _)| own_or_asked(f));
                *v == MathVariant::Accurate || some.any(|(_, all)| all.contains(v))
            };
            let levels: Vec<MathVariant> = ORDER.into_iter().filter(can).collect();
            if levels.len() < 2 {
                continue;
            }
            let group = asked.calls.then(|| {
                let op = k.sites[*site].op.clone();
                let name = match by {
                    Grouping::Site => key(k, *site, by).0,
                    _ => format!("{op} of {}", key(k, *site, by).0),
                };
                *index
                    .entry((name.clone(), format!("{levels:?}")))
                    .or_insert_with(|| {
                        groups.push(Group {
                            name: format!("{}: {name}", k.name),
                            kernel: k.name.clone(),
                            at,
                            formats: levels.iter().map(|v| Setting::Math(*v)).collect(),
                            sites: Vec::new(),
                            lines: Vec::new(),
                            holds: Vec::new(),
                            rewrites: Vec::new(),
                            made: Vec::new(),
                        });
                        groups.len() - 1
                    })
            });
            if let Some(g) = group {
                groups[g].sites.push(*site);
                let line = k.sites[*site].location.as_ref().map(|l| l.line);
                groups[g].lines.extend(line.filter(|l| *l > 0));
            }
            math.insert((at, *site), MathSite { group, levels });
        }
    }
    let (warps, single) = match asked.warps.filter(|_| !math.is_empty()) {
        Some(select) => add_warps(subject, select, &math, groups),
        None => (None, Vec::new()),
    };
    Added {
        math,
        warps,
        single,
    }
}

/// Adds the part of the warps, where a kernel can have two versions; gives those that cannot, too.
fn add_warps(
    subject: &Subject,
    select: Select,
    math: &MathSites,
    groups: &mut Vec<Group>,
) -> (Option<Warps>, Vec<Single>) {
    let (mut kernels, mut single) = (Vec::new(), Vec::new());
    let modules = subject.modules().map_err(|e| e.to_string());
    for (at, k) in tuned_kernels(subject) {
        let own = KernelPlan {
            math: cheapest_variants(math, subject, at, |site| own_format(subject, at, site)),
            ..KernelPlan::default()
        };
        if own.math.is_empty() {
            continue;
        }
        let mut plan = Plan::default();
        plan.kernels.insert(k.name.clone(), own);
        let plan = plan.partitioned(0.5, select);
        let tried = modules.as_ref().map_err(String::clone).and_then(|all| {
            let mut mine = all.iter().filter(|(_, kernels)| kernels.contains(&at));
            let applied = mine.try_for_each(|(m, _)| plan.apply(&m.duplicate()));
            applied.map_err(|e| e.to_string())
        });
        match tried {
            Ok(()) => kernels.push(at),
            Err(why) => single.push((k.name.clone(), why)),
        }
    }
    let mut warps = None;
    if let Some(first) = kernels.first() {
        let sites = || math.keys().filter(|s| kernels.contains(&s.0));
        let line = |(at, site): &(usize, usize)| {
            let l = subject.kernels[*at].sites[*site].location.as_ref();
            l.map(|l| l.line).filter(|l| *l > 0)
        };
        let mut lines: Vec<u32> = sites().filter_map(line).collect();
        lines.sort_unstable();
        lines.dedup();
        let group = Group {
            name: "warps: lambda".into(),
            kernel: subject.kernels[*first].name.clone(),
            at: *first,
            formats: (0..=PARTS).map(Setting::Warps).collect(),
            sites: sites().filter(|s| s.0 == *first).map(|s| s.1).collect(),
            lines,
            holds: Vec::new(),
            rewrites: Vec::new(),
            made: Vec::new(),
        };
        groups.push(group);
        warps = Some(Warps {
            group: groups.len() - 1,
            select,
            kernels,
        });
    }
    (warps, single)
}

/// The format that a site has in the source.
pub(crate) fn own_format(subject: &Subject, at: usize, site: usize) -> SiteFormat {
    subject.kernels[at].sites[site].format.into()
}

/// The cheapest variant of each math call of a kernel, where that is not the accurate one.
pub(crate) fn cheapest_variants(
    math: &MathSites,
    subject: &Subject,
    at: usize,
    format: impl Fn(usize) -> SiteFormat,
) -> BTreeMap<usize, MathVariant> {
    let mut out = BTreeMap::new();
    for ((_, site), m) in math.range((at, 0)..(at + 1, 0)) {
        let can = subject.kernels[at].variants(*site, format(*site));
        let v = reachable(can, &m.levels);
        if v != MathVariant::Accurate {
            out.insert(*site, v);
        }
    }
    out
}

/// What a kernel takes of a multiprocessor, as the driver says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelNeeds {
    /// Symbol.
    pub symbol: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory of a block.
    pub shared: u32,
}

//! Approximation as variables: math calls by their variants, and the part of the warps that runs the fully
//! approximate version.
//!
//! A kernel may have two versions: the first is what the other variables say, the second has every math
//! call at its cheapest variant, in the same formats. So time falls and error rises with every variable,
//! the part of the warps too, and level 0 of all of them is the program as it is.
use crate::problem::{Group, Grouping, Tunable, key};
use crate::setting::{PARTS, Setting};
use crate::subject::Subject;
use kerf_device::occupancy::{Demand, Machine};
use kerf_device::profile::DeviceProfile;
use kerf_pass::{KernelPlan, MathVariant, Partition, Plan, Select, SiteFormat};
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
fn reachable(can: &[MathVariant], levels: &[MathVariant]) -> MathVariant {
    let last = levels.iter().rev().find(|v| can.contains(v));
    last.copied().unwrap_or(MathVariant::Accurate)
}

/// Adds the variables of math calls and warps. Gives kernels that keep one version.
pub(crate) fn add(
    subject: &Subject,
    formats: &[SiteFormat],
    by: Grouping,
    asked: Approx,
    t: &mut Tunable,
) -> Vec<Single> {
    let mut found = false;
    for (at, k) in subject.kernels.iter().enumerate() {
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
            found = true;
            let group = asked.calls.then(|| {
                let op = k.sites[*site].op.clone();
                let name = match by {
                    Grouping::Site => key(k, *site, by).0,
                    _ => format!("{op} of {}", key(k, *site, by).0),
                };
                *index
                    .entry((name.clone(), format!("{levels:?}")))
                    .or_insert_with(|| {
                        t.groups.push(Group {
                            name: format!("{}: {name}", k.name),
                            kernel: k.name.clone(),
                            at,
                            formats: levels.iter().map(|v| Setting::Math(*v)).collect(),
                            sites: Vec::new(),
                            lines: Vec::new(),
                            holds: Vec::new(),
                        });
                        t.groups.len() - 1
                    })
            });
            if let Some(g) = group {
                t.groups[g].sites.push(*site);
                let line = k.sites[*site].location.as_ref().map(|l| l.line);
                t.groups[g].lines.extend(line.filter(|l| *l > 0));
            }
            t.math.insert((at, *site), MathSite { group, levels });
        }
    }
    match (asked.warps, found) {
        (Some(select), true) => warps(subject, select, t),
        _ => Vec::new(),
    }
}

fn warps(subject: &Subject, select: Select, t: &mut Tunable) -> Vec<Single> {
    let (mut kernels, mut single) = (Vec::new(), Vec::new());
    for (at, k) in subject.kernels.iter().enumerate() {
        let mut own = KernelPlan::default();
        cheap_of(
            t,
            at,
            |site| own_format(subject, at, site),
            subject,
            &mut own,
        );
        if own.math.is_empty() {
            continue;
        }
        let mut plan = Plan::default();
        plan.kernels.insert(k.name.clone(), own);
        let tried = subject.program.module().map_err(|e| e.to_string());
        let plan = plan.partitioned(0.5, select);
        match tried.and_then(|m| plan.apply(&m).map_err(|e| e.to_string())) {
            Ok(()) => kernels.push(at),
            Err(why) => single.push((k.name.clone(), why)),
        }
    }
    if let Some(first) = kernels.first() {
        let sites = || t.math.keys().filter(|s| kernels.contains(&s.0));
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
        };
        t.groups.push(group);
        t.warps = Some(Warps {
            group: t.groups.len() - 1,
            select,
            kernels,
        });
    }
    single
}

fn own_format(subject: &Subject, at: usize, site: usize) -> SiteFormat {
    subject.kernels[at].sites[site].format.into()
}

/// The cheapest variant of each math call of a kernel.
fn cheap_of(
    t: &Tunable,
    at: usize,
    format: impl Fn(usize) -> SiteFormat,
    subject: &Subject,
    into: &mut KernelPlan,
) {
    into.math.clear();
    for ((_, site), m) in t.math.range((at, 0)..(at + 1, 0)) {
        let can = subject.kernels[at].variants(*site, format(*site));
        let v = reachable(can, &m.levels);
        if v != MathVariant::Accurate {
            into.math.insert(*site, v);
        }
    }
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

/// Registers of a thread, at least, where nobody says.
const FEWEST_REGISTERS: u32 = 16;

impl Tunable {
    /// With `%warpid`: how many of all warp slots warps can have at once, from what is known of the kernels'
    /// registers and shared memory. Parts beyond are all the same (Li et al. 2016, section 5.3).
    pub fn slots(
        &self,
        subject: &Subject,
        p: &DeviceProfile,
        known: &[KernelNeeds],
    ) -> Option<(u32, u32)> {
        let w = self.warps.as_ref().filter(|w| w.select == Select::Slot)?;
        let machine = Machine::from_profile(p).ok()?;
        let mut most = 0;
        for (symbol, block) in subject.blocks(&w.kernels) {
            let needs = known.iter().find(|k| k.symbol == symbol);
            let demand = Demand {
                registers: needs.map_or(FEWEST_REGISTERS, |n| n.registers),
                shared: needs.map_or(0, |n| u64::from(n.shared)),
                carveout: None,
            };
            most = most.max(machine.occupancy(demand, block).ok()?.warps);
        }
        Some((most, machine.warps))
    }

    /// How a math call is computed under an assignment, by warps that run the first version.
    pub fn variant(&self, subject: &Subject, at: usize, site: usize, a: &[u8]) -> MathVariant {
        let Some(m) = self.math.get(&(at, site)) else {
            return MathVariant::Accurate;
        };
        let level = m.group.and_then(|g| a.get(g)).map_or(0, |l| *l as usize);
        let format = self.format(at, site, a);
        let format = format.unwrap_or_else(|| own_format(subject, at, site));
        let can = subject.kernels[at].variants(site, format);
        reachable(can, &m.levels[..=level.min(m.levels.len() - 1)])
    }

    /// How it is computed by warps that run the second version; none if the kernel has one version only.
    pub fn second(
        &self,
        subject: &Subject,
        at: usize,
        site: usize,
        a: &[u8],
    ) -> Option<MathVariant> {
        let m = self.math.get(&(at, site))?;
        self.part(at, a).filter(|p| *p > 0)?;
        let format = self.format(at, site, a);
        let format = format.unwrap_or_else(|| own_format(subject, at, site));
        Some(reachable(
            subject.kernels[at].variants(site, format),
            &m.levels,
        ))
    }

    /// Of [`PARTS`] warps, how many run the second version of a kernel; none if it has one version only.
    pub fn part(&self, at: usize, a: &[u8]) -> Option<u8> {
        let w = self.warps.as_ref().filter(|w| w.kernels.contains(&at))?;
        match self.groups[w.group].formats.get(*a.get(w.group)? as usize) {
            Some(Setting::Warps(n)) => Some(*n),
            _ => None,
        }
    }

    /// The assignment with every call at its cheapest: what a ratio of quality is measured against.
    pub fn cheapest(&self) -> Vec<u8> {
        let last = |g: &Group| match g.formats.last() {
            Some(Setting::Format(_) | Setting::Shape(_)) | None => 0,
            _ => (g.formats.len() - 1) as u8,
        };
        self.groups.iter().map(last).collect()
    }

    /// Adds variants and second versions to a plan.
    pub(crate) fn approximate(&self, subject: &Subject, a: &[u8], plan: &mut Plan) {
        for (at, k) in subject.kernels.iter().enumerate() {
            let mut mine = plan.kernels.remove(&k.name).unwrap_or_default();
            for (_, site) in self.math.range((at, 0)..(at + 1, 0)).map(|m| *m.0) {
                let v = self.variant(subject, at, site, a);
                if v != MathVariant::Accurate {
                    mine.math.insert(site, v);
                }
            }
            let part = self.part(at, a).unwrap_or(0);
            if part > 0 {
                let format = |site: usize| {
                    let f = self.format(at, site, a);
                    f.unwrap_or_else(|| own_format(subject, at, site))
                };
                let mut cheap = KernelPlan::default();
                cheap_of(self, at, format, subject, &mut cheap);
                if part == PARTS {
                    mine.math = cheap.math;
                } else if cheap.math != mine.math {
                    mine.partition = Some(Partition {
                        lambda: f64::from(part) / f64::from(PARTS),
                        select: self
                            .warps
                            .as_ref()
                            .map_or_else(Select::default, |w| w.select),
                        sites: mine.sites.clone(),
                        math: cheap.math,
                    });
                }
            }
            if !mine.is_identity() {
                plan.kernels.insert(k.name.clone(), mine);
            }
        }
    }
}

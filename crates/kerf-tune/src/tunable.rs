//! What can be chosen of a subject, and the plan and the search problem that this comes to.
use crate::algebra::{self, RewriteChoice};
use crate::approx::{self, KernelNeeds, MathSite, Warps, own_format, reachable};
use crate::blocks;
use crate::coarse;
use crate::code::{self, CodeChoice};
use crate::group::Group;
use crate::launch::choice::LaunchChoice;
use crate::layout_choice::{LayoutChoice, UnchangedKernel};
use crate::made::{self, MadeChoice};
use crate::records::{self, RecordChoice};
use crate::setting::{PARTS, Setting};
use crate::storage::FixedStorage;
use crate::subject::{Kernel, Subject};
use kerf_device::occupancy::{Demand, Multiprocessor};
use kerf_device::profile::DeviceProfile;
use kerf_num::made::MadeFunction;
use kerf_pass::{KernelPlan, MathVariant, Partition, Plan, Select, SiteFormat};
use kerf_search::{Edge, Level, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// A search problem and what its variables stand for; by default none.
#[derive(Default)]
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
    /// Elements that a thread computes, by kernel, where that may change.
    pub coarse: Vec<LayoutChoice<kerf_pass::Coarsening>>,
    /// Kernels that cannot be coarsened, and why, where they may be.
    pub uncoarsened: Vec<UnchangedKernel>,
    /// How records of buffers are stored, where that may change.
    pub records: Vec<RecordChoice>,
    /// Buffers whose records stay as they are, and why, where they may change.
    pub fixed_records: Vec<FixedStorage>,
    /// Threads of blocks that host code asks for, by kernel, where they may be others.
    pub blocks: Vec<LayoutChoice<u32>>,
    /// Kernels that keep their blocks, and why, where they may change.
    pub fixed_blocks: Vec<UnchangedKernel>,
    /// How the code of kernels is laid out, where that may change.
    pub code: Vec<CodeChoice>,
    /// Clusters of expressions that have a cheaper form, where they may change.
    pub rewritten: Vec<RewriteChoice>,
    /// Math calls that a function made for their arguments computes in less time, where they may change.
    pub made: Vec<MadeChoice>,
}

/// Registers of a thread, at least, where nobody says.
const FEWEST_REGISTERS: u32 = 16;

impl Tunable {
    /// The format of a site under an assignment; none where it keeps its own.
    pub fn format(&self, kernel: usize, site: usize, a: &[u8]) -> Option<SiteFormat> {
        let (g, formats) = self.chosen.get(&(kernel, site))?;
        let level = *a.get(*g)? as usize;
        (level > 0).then(|| formats[level.min(formats.len() - 1)])
    }

    /// Bytes of a number that a site moves, where it goes with memory in a scaled format.
    pub fn scaled_bytes(&self, kernel: usize, site: usize, a: &[u8]) -> Option<usize> {
        let (g, _) = self.chosen.get(&(kernel, site))?;
        match self.groups[*g].formats.get(*a.get(*g)? as usize) {
            Some(Setting::Scaled(s)) => Some(s.bytes()),
            _ => None,
        }
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
                if let Some(f) = g.formats[*level as usize].storage() {
                    k.storage.insert(p.name.clone(), f);
                }
            }
        }
        self.approximate(subject, a, &mut plan);
        let function = |at, site| self.made_function(subject, at, site, a);
        made::plan(&self.made, subject, function, &mut plan);
        algebra::plan(&self.rewritten, a, &mut plan);
        if let Some(l) = &self.launch {
            l.plan(a, &mut plan);
        }
        coarse::plan(&self.coarse, a, &mut plan);
        records::plan(&self.records, a, &mut plan);
        blocks::plan(&self.blocks, a, &mut plan);
        code::plan(&self.code, a, &mut plan);
        plan
    }

    /// Whether a plan of it may compute in double words, of which machine code tells nothing.
    pub fn has_double_words(&self) -> bool {
        let mut formats = self.chosen.values().flat_map(|c| &c.1);
        formats.any(|f| f.is_pair())
    }

    /// Groups that are shapes of launches.
    pub fn shapes(&self) -> Vec<usize> {
        let launch = self.launch.as_ref();
        let all = launch.map(|l| {
            let one_by_one = l.parameters.iter().flat_map(|p| &p.all);
            let shapes = l.variables.iter().map(|v| v.group);
            shapes.chain(one_by_one.map(|p| p.group)).chain(l.fixed)
        });
        all.into_iter().flatten().chain(self.layouts()).collect()
    }

    /// Groups that lay a kernel out in another way: elements of its threads, the records that it accesses, its blocks, and its
    /// code.
    pub fn layouts(&self) -> impl Iterator<Item = usize> {
        let coarse = self.coarse.iter().map(|c| c.group);
        let blocks = self.blocks.iter().map(|c| c.group);
        let records = self.records.iter().map(|c| c.group);
        coarse
            .chain(records)
            .chain(blocks)
            .chain(self.code.iter().map(|c| c.group))
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

    /// With `%warpid`: how many of all warp slots warps can have at once, from what is known of the kernels'
    /// registers and shared memory. Parts beyond are all the same (Li et al. 2016, section 5.3).
    pub fn slots(
        &self,
        subject: &Subject,
        p: &DeviceProfile,
        known: &[KernelNeeds],
    ) -> Option<(u32, u32)> {
        let w = self.warps.as_ref().filter(|w| w.select == Select::Slot)?;
        let machine = Multiprocessor::from_profile(p).ok()?;
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

    /// The made function of a math call under an assignment; none where the library's computes it.
    pub fn made_function(
        &self,
        subject: &Subject,
        at: usize,
        site: usize,
        a: &[u8],
    ) -> Option<&MadeFunction> {
        let mut choices = self.made.iter();
        let c = choices.find(|c| c.at == at && c.sites.contains(&site))?;
        let level = usize::from(*a.get(c.group)?).checked_sub(1)?;
        let format = self.format(at, site, a);
        let format = format.unwrap_or_else(|| own_format(subject, at, site));
        c.levels.get(level)?.function(format)
    }

    /// Cost of a site over that of the program, where the expressions that it belongs to are written differently under an
    /// assignment.
    pub fn rewritten_cost(&self, kernel: usize, site: usize, a: &[u8]) -> f64 {
        let mut chosen = self.rewritten.iter().filter_map(|c| {
            let level = usize::from(*a.get(c.group)?).checked_sub(1)?;
            let group = &self.groups[c.group];
            let level = group.rewrites.get(level).filter(|_| group.at == kernel)?;
            let has = level.rewriting.sites.binary_search(&site).is_ok();
            has.then_some(level.cost)
        });
        chosen.next().unwrap_or(1.0)
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
            Some(
                Setting::Format(_)
                | Setting::Scaled(_)
                | Setting::Shape(_)
                | Setting::Rewrite(_)
                | Setting::Made(_),
            )
            | None => 0,
            _ => (g.formats.len() - 1) as u8,
        };
        self.groups.iter().map(last).collect()
    }

    /// Adds variants and second versions to a plan.
    fn approximate(&self, subject: &Subject, a: &[u8], plan: &mut Plan) {
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
                let cheap = approx::cheapest_variants(&self.math, subject, at, format);
                if part == PARTS {
                    mine.math = cheap;
                } else if cheap != mine.math {
                    mine.partition = Some(Partition {
                        lambda: f64::from(part) / f64::from(PARTS),
                        select: self
                            .warps
                            .as_ref()
                            .map_or_else(Select::default, |w| w.select),
                        sites: mine.sites.clone(),
                        math: cheap,
                        made: Vec::new(),
                    });
                }
            }
            if !mine.is_identity() {
                plan.kernels.insert(k.name.clone(), mine);
            }
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

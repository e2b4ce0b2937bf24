//! The tuners one after the other: from all shapes of a component to the few that are worth a run.
use super::space::{self, Look};
use super::tuners::{self, Candidate, Contention, ExcludedShapes, Factor};
use kerf_ir::kernels::KernelInfo;
use kerf_llvm::Module;
use kerf_run::job::LaunchKind;

/// What the tuners leave.
#[derive(Debug, Clone)]
pub struct Funnel {
    /// Levels worth running, by position among the shapes.
    pub levels: Vec<usize>,
    /// More of them, where launches are so long that samples cost little.
    pub more: Vec<usize>,
    /// The level to take where launches are too short to be sampled.
    pub unseen: Option<usize>,
    /// Waves of the first shape.
    pub waves: f64,
    /// What each tuner did.
    pub cuts: Vec<ExcludedShapes>,
}

/// Shapes that are left for the exhaustive tuner, at most.
pub const LEFT: usize = 5;

/// Shapes with the least work that are compared too, where work depends on the shape.
const LEAST: usize = 3;

/// Shapes that are sampled besides where launches are long, and from how many waves on they are.
const MORE: usize = 8;
/// See [`MORE`].
pub const LONG_WAVES: f64 = 60.0;

/// Lines that a warp of a launch holds for later turns of its loops: accesses in loops where neighbouring
/// threads lie a line or more apart.
pub fn scattered(m: &Module, infos: &[KernelInfo], k: &LaunchKind) -> f64 {
    let refs = space::references(m, infos, k);
    let warps = f64::from(k.threads().div_ceil(32));
    let looped = refs.iter().filter(|r| !r.shared && r.depth > 0);
    let lines = looped
        .filter_map(|r| r.transactions(128))
        .map(|t| t as f64 / warps);
    lines.filter(|l| *l >= 8.0).sum()
}

impl Funnel {
    /// Runs some of the tuners. `scattered` tells how many lines a warp of a launch holds for later.
    pub fn new(
        all: Vec<Candidate>,
        c: Contention,
        some: &[Factor],
        scattered: &dyn Fn(&Look) -> f64,
    ) -> Funnel {
        let lines = all
            .first()
            .map_or(0.0, |x| x.looks.iter().map(scattered).fold(0.0, f64::max));
        let waves = all.first().map_or(0.0, |x| x.waves(c.sms));
        let mut cuts = Vec::new();
        // Part of a warp is idle in blocks that are no multiple of one: such shapes are only kept where
        // there are no others.
        let before = all.len();
        let whole = |x: &Candidate| x.looks.iter().all(|l| l.kind.threads().is_multiple_of(32));
        let all = match !some.is_empty() && all.iter().any(whole) {
            true => all.into_iter().filter(whole).collect(),
            false => all,
        };
        if all.len() < before {
            cuts.push(ExcludedShapes {
                tuner: "whole warps",
                before,
                after: all.len(),
                why: "blocks that are multiples of 32 threads".into(),
            });
        }
        let least = match some.contains(&Factor::Workload) {
            true => tuners::least_work(&all, LEAST),
            false => Vec::new(),
        };
        let (mut all, mut more) = (all, Vec::new());
        let mut cut;
        if some.contains(&Factor::Coalescing) {
            (all, cut) = tuners::coalescing(all);
            cuts.push(cut);
        }
        if some.contains(&Factor::Concurrency) {
            (all, cut) = tuners::concurrency(all, c, lines);
            cuts.push(cut);
        }
        if some.contains(&Factor::Spread) {
            (all, more, cut) = tuners::spread(all, LEFT, MORE);
            cuts.push(cut);
        }
        let mut levels: Vec<usize> = all.iter().map(|c| c.at).collect();
        let new = least.into_iter().filter(|l| !levels.contains(l));
        let new: Vec<usize> = new.collect();
        levels.extend(&new);
        let more = more.iter().map(|c| c.at).filter(|l| !new.contains(l));
        Funnel {
            unseen: tuners::unseen(&all, c.sms),
            levels,
            more: more.collect(),
            waves,
            cuts,
        }
    }

    /// The levels that samples compare: more of them where launches are long.
    pub fn sampled(&self) -> Vec<usize> {
        let more = match self.waves >= LONG_WAVES {
            true => self.more.as_slice(),
            false => &[],
        };
        self.levels.iter().chain(more).copied().collect()
    }
}

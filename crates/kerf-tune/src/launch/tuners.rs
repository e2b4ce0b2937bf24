//! The tuners, one factor each: they take shapes and leave the promising ones.
//!
//! After Dao, "Performance Modeling, Performance Tuning and Quantization for GPU Programs" (2021), chapter 3:
//! work that grows with the block, coalescing, concurrency against cache contention, and what is left. Each
//! is a function from shapes to shapes and can be used alone.
use super::space::Look;
use kerf_device::profile::DeviceProfile;
use serde::{Deserialize, Serialize};

/// One shape of one component: what it does to each of the component's kernels.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its position among the component's points.
    pub at: usize,
    /// Its kernels.
    pub looks: Vec<Look>,
    /// Work of all threads, where it was counted.
    pub work: Option<f64>,
}

impl Candidate {
    /// Blocks over those that fill the device, of the kernel that has most.
    pub fn waves(&self, sms: f64) -> f64 {
        let one =
            |l: &Look| l.kind.blocks() as f64 / (f64::from(l.occupancy.blocks) * sms).max(1.0);
        self.looks.iter().map(one).fold(0.0, f64::max)
    }
    /// Warps that the busiest multiprocessor runs, if blocks are dealt out evenly, all kernels together.
    fn busiest(&self, sms: f64) -> f64 {
        let one = |l: &Look| {
            let fit = f64::from(l.occupancy.blocks).max(1.0);
            let blocks = l.kind.blocks() as f64;
            let full = (blocks / (fit * sms)).floor();
            let rest = ((blocks - full * fit * sms) / sms).ceil();
            (full * fit + rest) * f64::from(l.kind.threads().div_ceil(32))
        };
        self.looks.iter().map(one).sum()
    }
    /// Warps on a multiprocessor over those that it can hold, of the kernel that has fewest.
    pub fn occupancy(&self) -> f64 {
        let all = self.looks.iter().map(|l| l.occupancy.occupancy);
        all.fold(1.0, f64::min)
    }
    /// Sectors a thread, all kernels together.
    pub fn sectors(&self) -> f64 {
        self.looks.iter().map(|l| l.sectors).sum()
    }
    /// What coalescing is judged by, a thread: sectors, which memory moves, and segments, which a warp's access
    /// takes turns for.
    pub fn moved(&self) -> f64 {
        self.looks.iter().map(|l| l.sectors + l.segments).sum()
    }
    /// How far the block's extent along x is from a warp, in factors of two, of the worst kernel.
    fn off_warp(&self) -> f64 {
        let off = |l: &Look| (f64::from(l.kind.launch.block[0]) / 32.0).log2().abs();
        self.looks.iter().map(off).fold(0.0, f64::max)
    }
    /// Threads of a block, of the largest.
    pub fn threads(&self) -> u32 {
        self.looks
            .iter()
            .map(|l| l.kind.threads())
            .max()
            .unwrap_or(1)
    }
    /// Part of the threads that are launched for nothing: those of warps that are not whole count too.
    pub fn padding(&self, least: f64) -> f64 {
        self.launched() / least.max(1.0) - 1.0
    }
    /// Threads that the device has to make room for, in whole warps.
    pub fn launched(&self) -> f64 {
        let one = |l: &Look| l.kind.blocks() as f64 * f64::from(l.kind.threads().div_ceil(32) * 32);
        self.looks.iter().map(one).sum()
    }
}

/// A tuner by its name: the factor that it looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Factor {
    /// Work that grows with the block: shapes with the least of it, and warp-sized blocks put together.
    Workload,
    /// [`coalescing`].
    Coalescing,
    /// [`concurrency`].
    Concurrency,
    /// [`spread`].
    Spread,
}

impl Factor {
    /// All of them, in the order in which they work.
    pub const ALL: [Factor; 4] = [
        Factor::Workload,
        Factor::Coalescing,
        Factor::Concurrency,
        Factor::Spread,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Factor::Workload => "workload",
            Factor::Coalescing => "coalescing",
            Factor::Concurrency => "concurrency",
            Factor::Spread => "spread",
        }
    }
}

/// A name that a user gave and no tuner has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no tuner `{name}`; there are {}", Factor::ALL.map(Factor::name).join(", "))]
pub struct UnknownFactor {
    /// The name.
    pub name: String,
}

impl std::str::FromStr for Factor {
    type Err = UnknownFactor;

    fn from_str(text: &str) -> Result<Factor, UnknownFactor> {
        let found = Factor::ALL.into_iter().find(|t| t.name() == text);
        found.ok_or_else(|| UnknownFactor {
            name: text.to_owned(),
        })
    }
}

/// Why shapes were left out, for the result.
#[derive(Debug, Clone, PartialEq)]
pub struct ExcludedShapes {
    /// Which tuner.
    pub tuner: &'static str,
    /// Shapes before.
    pub before: usize,
    /// Shapes after.
    pub after: usize,
    /// What decided.
    pub why: String,
}

/// Shapes whose transactions exceed the least by no more than this stay.
const NEARLY: f64 = 1.10;

/// The non-coalescing factor tuner: shapes that move the fewest pieces of memory. Several references in
/// conflict are weighed by their sum; where too little of them could be told, nothing is left out.
pub fn coalescing(all: Vec<Candidate>) -> (Vec<Candidate>, ExcludedShapes) {
    let before = all.len();
    let told = all.iter().flat_map(|c| &c.looks).map(|l| l.told);
    let told = told.fold(1.0, f64::min);
    let least = all
        .iter()
        .map(Candidate::moved)
        .fold(f64::INFINITY, f64::min);
    let most = all.iter().map(Candidate::moved).fold(0.0, f64::max);
    let same = most <= NEARLY * least;
    let kept: Vec<Candidate> = match told < 0.5 || same {
        true => all,
        false => all
            .into_iter()
            .filter(|c| c.moved() <= NEARLY * least)
            .collect(),
    };
    let why = match (told < 0.5, same) {
        (true, _) => format!("only {:.0} % of the accesses can be told", 100.0 * told),
        (_, true) => "all shapes move about as much".to_owned(),
        _ => format!("{least:.2} to {most:.2} sectors and segments a thread"),
    };
    let cut = ExcludedShapes {
        tuner: "coalescing",
        before,
        after: kept.len(),
        why,
    };
    (kept, cut)
}

/// What decides between many warps and few.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contention {
    /// Part of the time that goes to memory; none where nobody could tell.
    pub lambda: Option<f64>,
    /// From where on a kernel counts as memory intensive.
    pub lambda_0: f64,
    /// Bytes of L1 that lines of loads can have.
    pub l1: f64,
    /// Multiprocessors.
    pub sms: f64,
}

/// Cache beside shared memory on a multiprocessor of the architectures that profiles exist for, in bytes:
/// shared memory and L1 are one (CUDA guide: 256 KiB on 9.0, 192 KiB on 8.0, 128 KiB on others).
fn unified(arch: &str) -> f64 {
    let kib = match arch {
        "9.0" | "10.0" => 256.0,
        "8.0" => 192.0,
        _ => 128.0,
    };
    kib * 1024.0
}

impl Contention {
    /// From a profile, and the part of the time that memory takes.
    pub fn from_profile(p: &DeviceProfile, lambda: Option<f64>) -> Contention {
        Contention {
            lambda,
            lambda_0: p.limits.contention_lambda.value.unwrap_or(LAMBDA_0),
            l1: unified(&p.arch),
            sms: p.limits.sms.value.unwrap_or(1.0),
        }
    }
}

/// From this part of the time on, many warps that evict each other's lines cost more than they hide, where
/// `kerf device` did not measure it: Dao's value for the GTX Titan X (table 3.3).
pub const LAMBDA_0: f64 = 0.88;

/// Lines that the warps of a multiprocessor hold for later turns of their loops, in bytes: accesses in loops
/// where neighbouring threads lie a line or more apart.
pub fn held(l: &Look, scattered: f64) -> f64 {
    f64::from(l.occupancy.warps) * scattered * 128.0
}

/// Shapes within this part of the highest occupancy count as having it.
const FULL: f64 = 0.85;

/// The concurrency tuner: many warps, unless they take cache lines from each other.
///
/// `scattered` is the number of lines that one warp holds for later turns, which no shape changes for
/// one-dimensional kernels. With contention both ends stay, so that a run decides.
pub fn concurrency(
    all: Vec<Candidate>,
    c: Contention,
    scattered: f64,
) -> (Vec<Candidate>, ExcludedShapes) {
    let before = all.len();
    let highest = all.iter().map(Candidate::occupancy).fold(0.0, f64::max);
    let lowest = all.iter().map(Candidate::occupancy).fold(1.0, f64::min);
    let holds = |x: &Candidate| {
        let all = x.looks.iter().map(|l| held(l, scattered));
        all.fold(0.0, f64::max)
    };
    // Shared memory takes its room from L1.
    let room = |x: &Candidate| {
        let taken = |l: &Look| l.occupancy.shared_per_block as f64 * f64::from(l.occupancy.blocks);
        c.l1 - x.looks.iter().map(taken).fold(0.0, f64::max)
    };
    let full = all.iter().filter(|x| x.occupancy() >= FULL * highest);
    let most = full.clone().map(holds).fold(0.0, f64::max);
    let over = full.clone().any(|x| holds(x) > room(x));
    let intensive = c.lambda.is_none_or(|l| l > c.lambda_0);
    let contended = intensive && over && lowest < FULL * highest;
    let kept: Vec<Candidate> = all
        .into_iter()
        .filter(|x| {
            let o = x.occupancy();
            o >= FULL * highest || contended && o <= lowest / FULL
        })
        .collect();
    let lambda = c
        .lambda
        .map_or_else(|| "unknown".to_owned(), |l| format!("{l:.2}"));
    let why = match contended {
        true => format!(
            "up to {:.0} KiB of lines are held at a time (L1: {:.0} KiB), lambda {lambda}: few and many warps are compared",
            most / 1024.0,
            c.l1 / 1024.0
        ),
        false => format!(
            "occupancy {:.0} % to {:.0} %",
            100.0 * lowest,
            100.0 * highest
        ),
    };
    let cut = ExcludedShapes {
        tuner: "concurrency",
        before,
        after: kept.len(),
        why,
    };
    (kept, cut)
}

/// The workload tuner's second part: where the work of all threads depends on the shape and was counted, the
/// few shapes that do least. They are compared with what the other tuners leave: counts at small sizes do not say
/// how much less work is worth against coalescing.
pub fn least_work(all: &[Candidate], most: usize) -> Vec<usize> {
    let mut counted: Vec<(f64, usize)> = all.iter().filter_map(|c| Some((c.work?, c.at))).collect();
    counted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let range = counted.first().zip(counted.last());
    match range.is_some_and(|(low, high)| high.0 > GROWTH * low.0) {
        true => counted.into_iter().take(most).map(|c| c.1).collect(),
        false => Vec::new(),
    }
}

/// Loads of the busiest multiprocessor that differ by less than this part count as equal.
const SAME_LOAD: f64 = 0.05;

/// The shape to take where nothing can be run: the one that loads the busiest multiprocessor least, and of
/// equals the one with small blocks, which are dealt out most evenly: 64 threads where all blocks run at
/// once, 128 where not.
pub fn unseen(all: &[Candidate], sms: f64) -> Option<usize> {
    let key = |c: &Candidate| {
        let load = (c.busiest(sms).max(1.0).ln() / SAME_LOAD).round();
        let wanted = if c.waves(sms) < 1.0 { 64.0 } else { 128.0 };
        (load, (f64::from(c.threads()) / wanted).log2().abs())
    };
    let best = all.iter().min_by(|a, b| {
        let (x, y) = (key(a), key(b));
        x.0.total_cmp(&y.0).then(x.1.total_cmp(&y.1))
    });
    best.map(|c| c.at)
}

/// Growth of the work from the smallest block to the largest from which on it counts.
pub const GROWTH: f64 = 1.10;

/// The workload tuner: whether the work of all threads grows with the block, from counts at two blocks
/// (threads of the block, instructions of all threads); gives by how much.
pub fn growth(small: (u32, f64), large: (u32, f64)) -> Option<f64> {
    let g = large.1 / small.1.max(1.0);
    (large.0 > small.0 && g > GROWTH).then_some(g)
}

/// Shapes of equal merit in their order: rows as long as a warp first, then those that launch the fewest threads
/// for nothing.
fn in_order(all: &mut [Candidate]) -> bool {
    let least = all
        .iter()
        .map(Candidate::launched)
        .fold(f64::INFINITY, f64::min);
    let flat = all
        .iter()
        .all(|c| c.looks.iter().all(|l| l.kind.launch.block[1..] == [1, 1]));
    all.sort_by(|a, b| {
        let row = |c: &Candidate| if flat { 0.0 } else { c.off_warp() };
        let key = |c: &Candidate| (row(c), c.padding(least), -c.occupancy());
        let (x, y) = (key(a), key(b));
        x.0.total_cmp(&y.0)
            .then(x.1.total_cmp(&y.1))
            .then(x.2.total_cmp(&y.2))
    });
    flat
}

fn within(a: u32, b: u32, factor: f64) -> bool {
    f64::from(a.max(b)) < factor * f64::from(a.min(b).max(1))
}

/// Shapes of equal merit, a few of them, spread over block sizes, and as many more that long launches can afford
/// to sample: other rows of two-dimensional blocks, sizes between those of others. What is left for the
/// exhaustive tuner.
pub fn spread(
    mut all: Vec<Candidate>,
    most: usize,
    more: usize,
) -> (Vec<Candidate>, Vec<Candidate>, ExcludedShapes) {
    let before = all.len();
    let flat = in_order(&mut all);
    let mut kept: Vec<Candidate> = Vec::new();
    let mut rest: Vec<Candidate> = Vec::new();
    for c in all {
        let near = |k: &Candidate| within(k.threads(), c.threads(), 2.0);
        match kept.len() < most && !kept.iter().any(near) {
            true => kept.push(c),
            false => rest.push(c),
        }
    }
    let mut others: Vec<Candidate> = Vec::new();
    let row = |c: &Candidate| {
        c.looks
            .iter()
            .map(|l| l.kind.launch.block[0])
            .max()
            .unwrap_or(1)
    };
    for c in rest {
        let near = |k: &Candidate| match flat {
            true => within(k.threads(), c.threads(), 1.3),
            false => within(k.threads(), c.threads(), 2.0) && within(row(k), row(&c), 2.0),
        };
        if others.len() < more && !kept.iter().chain(&others).any(near) {
            others.push(c);
        }
    }
    kept.sort_by_key(|c| c.at);
    let cut = ExcludedShapes {
        tuner: "spread",
        before,
        after: kept.len(),
        why: "block sizes a factor of two apart, those with the fewest idle threads".into(),
    };
    (kept, others, cut)
}

#[cfg(test)]
#[path = "tuners/tests.rs"]
mod tests;

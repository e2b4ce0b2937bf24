//! Launches of a workload sampled: what a prediction of their times starts from.
use super::space::{self, LaunchParams};
use kerf_predict::sampled::{BlockSample, SIDES, Samples, other_work};
use kerf_run::job::{Job, JobError, LaunchKind, LaunchTimer, MachineShare, Run, bench};
use serde::{Deserialize, Serialize};

/// One kind of launch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SampledLaunch {
    /// Kernel.
    pub kernel: String,
    /// Its symbol.
    pub symbol: String,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks.
    pub grid: [u32; 3],
    /// How many there are in a run.
    pub repeats: u64,
    /// How many of this grid would take as long as those: others that it stands for count by their blocks.
    pub weight: f64,
    /// Grids that it stands for.
    pub grids: usize,
    /// Blocks over those that fill the device.
    pub waves: f64,
    /// Launches of this kind have different arguments.
    pub varies: bool,
    /// Samples; none where the launch is too small for any.
    pub samples: Option<Samples>,
    /// Its time, where it was measured whole, or estimated by one sample where that was asked for.
    pub whole: Option<f64>,
    /// Its whole time beside its samples, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
}

/// All of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaunchSamples {
    /// Device.
    pub device: String,
    /// Launches.
    pub launches: Vec<SampledLaunch>,
    /// Seconds of one pass over all samples.
    pub sampled_s: f64,
}

/// What a worker is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ask {
    /// Workload, device, toolchain.
    pub job: Job,
    /// Launch parameters where not the file's own, one set after the other; none: the file's own.
    pub points: Vec<LaunchParams>,
    /// Launches that are sampled also run whole, so that the prediction can be compared.
    pub check: bool,
}

/// Waves of the samples of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleWaves {
    /// Of the smaller sample from the grid's start, and of the one from its middle.
    pub short: u32,
    /// Of the larger.
    pub long: u32,
}

impl SampleWaves {
    /// Waves of all three.
    pub fn waves(self) -> u32 {
        2 * self.short + self.long
    }
}

/// How a launch is sampled, by its number of waves; none: too short, it runs whole.
///
/// Dao samples at 2 and 3. Waves of an H200 are so short, and its caches so large, that the line through 2 and 6
/// is better by a half; shorter launches get less, since samples would be most of them (docs/reference/launch.md).
pub fn cut(waves: f64) -> Option<SampleWaves> {
    let (short, long) = match waves {
        w if w < LEAST_WAVES => return None,
        w if w < 50.0 => (1, 3),
        w if w < LONG_WAVES => (1, 4),
        w => (2, many(w)),
    };
    Some(SampleWaves { short, long })
}

/// Waves of the larger sample of a long launch: as many as leave all samples at 5 % of it, by their share, 24 at most. What
/// the first waves do to caches is in its beginning, and less of that in a longer line.
fn many(waves: f64) -> u32 {
    (0.05 * waves - 4.0).clamp(6.0, MOST_MANY) as u32
}

/// From so many waves on samples are less than a tenth of the launch.
pub const LONG_WAVES: f64 = 100.0;

/// From so many waves on two more places of the grid are sampled where its start and its middle differ: all samples
/// are 8 % of the launch then.
const SIDES_WAVES: f64 = 175.0;

/// All samples of such a launch, of its waves.
const PART: f64 = 0.08;

/// A larger sample that takes longer than so many times its share of the smaller one is taken again.
const DISTURBED: f64 = 1.3;

/// Waves of a larger sample, at most.
const MOST_MANY: f64 = 24.0;

/// Waves of the larger sample in the middle of a launch of so many. A layer of blocks may use what the one before it left
/// in the cache, and a sample shows that only if it has several: longer launches have longer ones.
fn many_in_middle(waves: f64, cut: SampleWaves) -> u32 {
    match waves >= SIDES_WAVES {
        true => {
            (PART * waves - f64::from(4 * cut.short)).clamp(f64::from(cut.long), MOST_MANY) as u32
        }
        false => cut.long,
    }
}

/// Whether two more places are still within [`PART`] of the launch's time, by the line through two samples of the middle:
/// short samples of short waves take more than their share.
pub fn worth_sides(
    short: BlockSample,
    middle: BlockSample,
    long: BlockSample,
    blocks: u64,
) -> bool {
    let more = long.blocks.saturating_sub(middle.blocks).max(1) as f64;
    let whole = (long.seconds - middle.seconds) / more * blocks as f64;
    short.seconds + 3.0 * middle.seconds + long.seconds <= PART * whole
}

/// What is sampled of a launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// From the start.
    pub short: BlockSample,
    /// As many waves, from the middle.
    pub middle: BlockSample,
    /// More waves: from the start, or from the middle where its blocks do other work.
    pub long: BlockSample,
    /// It is from the middle.
    pub long_in_middle: bool,
    /// At [`SIDES`], as many waves as the smaller.
    pub sides: Option<[BlockSample; 2]>,
}

/// First block of a sample of the middle.
pub fn middle(blocks: u64) -> u64 {
    blocks / 2
}

/// First blocks of samples of `count` blocks at [`SIDES`].
pub fn sides(blocks: u64, count: u64) -> [u64; 2] {
    SIDES.map(|x| ((x * blocks as f64) as u64).saturating_sub(count / 2))
}

/// Samples a launch: `part` runs blocks from a first one on, so many.
///
/// A grid's start can be a boundary that does other work than the rest. Then the line through samples of the start
/// says nothing, and is taken in the middle instead, for the same price.
pub fn take<E>(
    blocks: u64,
    wave: u64,
    cut: SampleWaves,
    mut part: impl FnMut(u64, u64) -> Result<BlockSample, E>,
) -> Result<Taken, E> {
    let few = wave * u64::from(cut.short);
    let short = part(0, few)?;
    let centre = part(middle(blocks), few)?;
    let long_in_middle = other_work(short, centre);
    let waves = blocks as f64 / wave.max(1) as f64;
    let (base, from, many) = match long_in_middle {
        true => (centre, middle(blocks), many_in_middle(waves, cut)),
        false => (short, 0, cut.long),
    };
    let mut long = part(from, wave * u64::from(many))?;
    // Blocks do not take longer for being more: something else ran on the GPU.
    let times = long.blocks as f64 / base.blocks.max(1) as f64;
    if long.seconds > DISTURBED * times * base.seconds {
        let again = part(from, wave * u64::from(many))?;
        long.seconds = long.seconds.min(again.seconds);
    }
    let sides =
        match long_in_middle && waves >= SIDES_WAVES && worth_sides(short, centre, long, blocks) {
            true => {
                let [a, b] = sides(blocks, few);
                Some([part(a, few)?, part(b, few)?])
            }
            false => None,
        };
    Ok(Taken {
        short,
        middle: centre,
        long,
        long_in_middle,
        sides,
    })
}

/// Waves at which [`cut`] changes, and some beyond, for tables.
pub const BOUNDS: [f64; 5] = [LEAST_WAVES, 50.0, LONG_WAVES, 150.0, 300.0];

/// Launches of fewer waves than this are measured whole: samples would be most of them.
pub const LEAST_WAVES: f64 = 20.0;

/// Waves of the one sample that shapes are compared by; none: the launch runs whole.
pub fn quick_waves(waves: f64) -> Option<u32> {
    match waves {
        w if w < STILL => None,
        w if w < 8.0 => Some(2),
        _ => Some(3),
    }
}

/// Shapes of launches of fewer waves than this are chosen without running them: a sample would be nearly a
/// launch, and a launch of each is what a search of all shapes costs.
pub const STILL: f64 = 3.0;

/// Seconds of a launch that are the same for any number of blocks, on an H200.
const START_S: f64 = 4e-6;

/// Seconds of a whole launch by one sample alone: enough to tell shapes apart.
pub fn quick(sample: BlockSample, blocks: u64) -> f64 {
    let each = (sample.seconds - START_S).max(0.0) / sample.blocks.max(1) as f64;
    START_S + each * blocks as f64
}

/// One sample of a launch, to compare shapes by; none if it is too small.
fn one(b: &mut LaunchTimer, k: &LaunchKind) -> Result<Option<BlockSample>, JobError> {
    let wave = u64::from(b.resident(k)?.max(1)) * u64::from(b.sms);
    let Some(waves) = quick_waves(k.blocks() as f64 / wave as f64) else {
        return Ok(None);
    };
    let count = (wave * u64::from(waves)) as u32;
    let t = b.time(k, Run::Part { first: 0, count })?;
    Ok(Some(BlockSample {
        blocks: u64::from(count),
        // What is slower than the fastest of a few is noise, and noise decides among many.
        seconds: t.least_s,
    }))
}

/// Samples of one launch; none if it is too small.
pub fn sample_launch(b: &mut LaunchTimer, k: &LaunchKind) -> Result<Option<Samples>, JobError> {
    let resident = b.resident(k)?.max(1);
    let wave = u64::from(resident) * u64::from(b.sms);
    let Some(cut) = cut(k.blocks() as f64 / wave as f64) else {
        return Ok(None);
    };
    let t = take(k.blocks(), wave, cut, |first, count| {
        let run = Run::Part {
            first: first as u32,
            count: count as u32,
        };
        let time = b.time(k, run)?;
        Ok::<_, JobError>(BlockSample {
            blocks: count,
            seconds: time.median_s,
        })
    })?;
    let stats = b.stats(&k.symbol).unwrap_or_default();
    let refs = space::references(b.module, b.kernels, k);
    Ok(Some(Samples {
        blocks: k.blocks(),
        wave,
        short: t.short,
        long: t.long,
        middle: Some(t.middle),
        long_in_middle: t.long_in_middle,
        sides: t.sides,
        threads: k.threads(),
        registers: stats.registers.unwrap_or(0),
        shared: stats.shared_bytes.unwrap_or(0) + k.launch.shared,
        resident,
        sectors: space::transactions(&refs, k.threads(), 32).0,
        segments: space::transactions(&refs, k.threads(), 128).0,
        counters: None,
    }))
}

/// Samples every kind of launch of a workload, in this process.
pub fn sample(ask: &Ask) -> Result<Vec<LaunchSamples>, JobError> {
    bench(
        &ask.job,
        |_, _, _| Vec::new(),
        |b| {
            // Other measurements on the GPU would be in the samples.
            let _turn = MachineShare::alone(ask.job.lock.as_deref())?;
            match ask.points.is_empty() {
                true => Ok(vec![at(b, &LaunchParams::new(), ask.check)?]),
                false => ask.points.iter().map(|p| at(b, p, false)).collect(),
            }
        },
    )
}

/// Grids of one kernel that are sampled, at most.
const GRIDS: usize = 6;

/// A kind of launch that stands for others.
struct Standing {
    kind: LaunchKind,
    weight: f64,
    grids: usize,
}

impl Standing {
    fn alone(kind: LaunchKind) -> Standing {
        Standing {
            weight: kind.repeats as f64,
            grids: 1,
            kind,
        }
    }
}

/// Kinds of launches, few of each kernel: where a kernel is launched with many grids (an elimination, whose grid
/// shrinks from step to step), those of similar size are one kind, which the middle one stands for.
fn few(all: Vec<LaunchKind>) -> Vec<Standing> {
    let mut groups: Vec<Vec<LaunchKind>> = Vec::new();
    let same = |a: &LaunchKind, b: &LaunchKind| {
        let of = |k: &LaunchKind| (k.symbol.clone(), k.launch.block, k.launch.shared);
        of(a) == of(b)
    };
    for k in all {
        match groups.iter_mut().find(|g| same(&g[0], &k)) {
            Some(g) => g.push(k),
            None => groups.push(vec![k]),
        }
    }
    let mut out = Vec::new();
    for mut g in groups {
        if g.len() <= GRIDS {
            out.extend(g.into_iter().map(Standing::alone));
            continue;
        }
        g.sort_by_key(|k| std::cmp::Reverse(k.blocks()));
        for part in g.chunks(g.len().div_ceil(GRIDS)) {
            let mut kind = part[part.len() / 2].clone();
            let blocks = kind.blocks().max(1) as f64;
            kind.repeats = part.iter().map(|k| k.repeats).sum();
            kind.varies = true;
            let each = part.iter().map(|k| (k.repeats * k.blocks()) as f64);
            out.push(Standing {
                weight: each.sum::<f64>() / blocks,
                grids: part.len(),
                kind,
            });
        }
    }
    out
}

/// The launches at some parameters. One that does not run has neither samples nor a time.
fn at(b: &mut LaunchTimer, point: &LaunchParams, check: bool) -> Result<LaunchSamples, JobError> {
    let mut params = b.workload.launch_space.default_params();
    params.extend(point.clone());
    let mut out = LaunchSamples {
        device: b.device(),
        launches: Vec::new(),
        sampled_s: 0.0,
    };
    let all = b.kinds(&params)?;
    let all = match point.is_empty() {
        true => few(all),
        false => all.into_iter().map(Standing::alone).collect(),
    };
    for Standing {
        kind: k,
        weight,
        grids,
    } in all
    {
        if !point.is_empty() {
            // To compare shapes, one sample or the whole launch.
            let (spent, whole) = match one(b, &k)? {
                Some(s) => (s.seconds, quick(s, k.blocks())),
                None => {
                    let t = b.time(&k, Run::Whole)?.least_s;
                    (t, t)
                }
            };
            out.sampled_s += spent;
            out.launches.push(SampledLaunch {
                kernel: k.name.clone(),
                symbol: k.symbol.clone(),
                block: k.launch.block,
                grid: k.launch.grid,
                repeats: k.repeats,
                weight,
                grids,
                waves: 0.0,
                varies: k.varies,
                samples: None,
                whole: Some(whole),
                measured: None,
            });
            continue;
        }
        let samples = sample_launch(b, &k)?;
        let whole = match samples {
            None => Some(b.time(&k, Run::Whole)?.median_s),
            Some(_) => None,
        };
        let measured = match check && samples.is_some() {
            true => Some(b.time(&k, Run::Whole)?.median_s),
            false => None,
        };
        let wave = f64::from(b.resident(&k)?.max(1) * b.sms);
        let sampled = samples.as_ref().map_or(0.0, Samples::sampled_s);
        out.sampled_s += sampled + whole.unwrap_or(0.0);
        out.launches.push(SampledLaunch {
            kernel: k.name.clone(),
            symbol: k.symbol.clone(),
            block: k.launch.block,
            grid: k.launch.grid,
            repeats: k.repeats,
            weight,
            grids,
            waves: k.blocks() as f64 / wave,
            varies: k.varies,
            samples,
            whole,
            measured,
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_cost_less_of_longer_launches() {
        assert_eq!(cut(19.9), None);
        let part = |w: f64| cut(w).map(|c| f64::from(c.waves()) / w);
        assert!(part(20.0).is_some_and(|p| p <= 0.25));
        assert!(part(50.0).is_some_and(|p| p <= 0.12));
        assert!(part(100.0).is_some_and(|p| p <= 0.1));
        for w in [125.0, 150.0, 200.0, 300.0, 1000.0] {
            assert!(part(w).is_some_and(|p| p <= 0.08), "{w}");
        }
    }

    #[test]
    fn the_line_is_taken_in_the_middle_where_the_start_is_a_boundary() {
        let taken = |blocks: u64, start: f64| {
            let mut asked = Vec::new();
            let t = take(
                blocks,
                100,
                SampleWaves { short: 2, long: 6 },
                |first, count| {
                    asked.push((first, count));
                    let each = if first == 0 { start } else { 1e-8 };
                    Ok::<_, ()>(BlockSample {
                        blocks: count,
                        seconds: each * count as f64,
                    })
                },
            );
            (t, asked)
        };
        let (even, asked) = taken(20_000, 1.1e-8);
        assert_eq!(asked, [(0, 200), (10_000, 200), (0, 600)]);
        assert!(even.is_ok_and(|t| !t.long_in_middle && t.sides.is_none()));
        let (uneven, asked) = taken(20_000, 0.5e-8);
        assert_eq!(asked[2], (10_000, 800));
        assert_eq!(asked[3..], [(2154, 200), (17_645, 200)]);
        assert!(uneven.is_ok_and(|t| t.long_in_middle && t.sides.is_some()));
        // The start alone takes so long that other places would be too much.
        assert_eq!(taken(20_000, 9e-8).1.len(), 3);
        let (_, asked) = taken(17_000, 2e-8);
        assert_eq!(asked.len(), 3);
        for blocks in [17_500, 20_000, 30_000, 100_000] {
            let all: u64 = taken(blocks, 2e-8).1.iter().map(|a| a.1).sum();
            assert!(all as f64 <= PART * blocks as f64, "{blocks}: {all}");
        }
    }

    #[test]
    fn a_sample_that_something_disturbed_is_taken_again() {
        let mut asked = 0;
        let t = take(
            10_000,
            100,
            SampleWaves { short: 2, long: 6 },
            |_, count| {
                asked += 1;
                let late = if asked == 3 { 2.0 } else { 1.0 };
                Ok::<_, ()>(BlockSample {
                    blocks: count,
                    seconds: late * 1e-8 * count as f64,
                })
            },
        );
        assert_eq!(asked, 4);
        assert!(t.is_ok_and(|t| t.long.seconds == 1e-8 * 600.0));
    }

    #[test]
    fn many_grids_of_a_kernel_are_few_kinds() {
        let kind = |blocks: u32, symbol: &str| LaunchKind {
            symbol: symbol.into(),
            name: symbol.into(),
            repeats: 1,
            launch: kerf_workload::ConcreteLaunch {
                kernel: symbol.into(),
                grid: [blocks, 1, 1],
                block: [64, 1, 1],
                shared: 0,
                args: Vec::new(),
                line: 0,
            },
            varies: false,
        };
        let mut all: Vec<LaunchKind> = (1..=100).map(|n| kind(n, "shrinks")).collect();
        all.push(kind(7, "other"));
        let got = few(all);
        assert_eq!(got.len(), GRIDS + 1);
        assert_eq!(got.iter().map(|s| s.kind.repeats).sum::<u64>(), 101);
        assert_eq!(got.iter().map(|s| s.grids).sum::<usize>(), 101);
        // All blocks count, wherever they were.
        let blocks = |s: &Standing| s.weight * s.kind.blocks() as f64;
        assert!((got.iter().map(blocks).sum::<f64>() - 5057.0).abs() < 1e-9);
    }

    #[test]
    fn one_sample_gives_a_launch() {
        let s = BlockSample {
            blocks: 100,
            seconds: 14e-6,
        };
        assert!((quick(s, 1000) - 104e-6).abs() < 1e-12);
        assert_eq!(quick_waves(2.9), None);
        assert_eq!((quick_waves(3.0), quick_waves(8.0)), (Some(2), Some(3)));
    }
}

//! The time of a launch from two samples of its blocks, and a correction learned from whole launches.
//!
//! After Dao, "Performance Modeling, Performance Tuning and Quantization for GPU Programs" (2021), chapter 2: with P blocks on
//! each multiprocessor a device is saturated; a launch is sampled at two multiples of that, and its time is extrapolated along
//! the line through both. Effects that the line ignores (caches that warm up, a last wave that is not full, samples too short to
//! measure) an epsilon-SVR learns, as a factor, from the samples and from figures of the kernel.
pub mod counters;
pub mod svr;
pub mod train;

use counters::CounterRatios;
use serde::{Deserialize, Serialize};
use svr::Svr;

/// A sample: so many blocks took so many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockSample {
    /// Blocks.
    pub blocks: u64,
    /// Seconds.
    pub seconds: f64,
}

/// What is known of a launch before it runs whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Blocks of the whole launch.
    pub blocks: u64,
    /// Blocks that fill the device once.
    pub wave: u64,
    /// The smaller sample, from the grid's start.
    pub short: BlockSample,
    /// The larger, from the start too, or from the middle.
    pub long: BlockSample,
    /// One as large as the smaller, from the middle of the grid.
    pub middle: Option<BlockSample>,
    /// The larger sample is of the middle, since blocks there do other work than those at the start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub long_in_middle: bool,
    /// Two more as large as the smaller, at [`SIDES`] of the grid, where the line is the middle's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<[BlockSample; 2]>,
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a block.
    pub shared: u32,
    /// Blocks on a multiprocessor.
    pub resident: u32,
    /// Sectors of 32 bytes that a thread touches, by analysis.
    pub sectors: f64,
    /// Segments of 128 bytes.
    pub segments: f64,
    /// What hardware counters said of the launch, where they were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<CounterRatios>,
}

/// Names of the features, in order.
pub const FEATURES: [&str; 10] = [
    "log of a block's time in the long sample over that in the short",
    "log of the middle sample over the short",
    "log of the launch in waves",
    "part of the last wave that is filled",
    "warps on a multiprocessor",
    "log of registers",
    "log of threads of a block",
    "log of sectors a thread",
    "segments over sectors",
    "log of the seconds of a wave",
];

/// Relative difference of the time of samples at different positions of the grid from which on the work is reported as uneven.
/// Chosen by hand.
pub const UNEVEN: f64 = 0.08;

/// Relative difference beyond which blocks in the middle are taken to do other work than those at the start.
/// Smaller differences are as often the state of caches. Chosen by hand.
const OTHER_WORK: f64 = 0.2;

/// Positions of a grid that, with its middle, stand for all of it: the Gauss-Legendre rule of three points, which is exact for
/// work that changes along the grid as a polynomial of degree 5, and does not sample its ends.
pub const SIDES: [f64; 2] = [0.112_701_665_379_258_3, 0.887_298_334_620_741_7];
const SIDE_WEIGHT: f64 = 5.0 / 18.0;

/// Blocks of the larger sample over those of the smaller in most launches, and in all but long ones at most.
const USUAL_RATIO: u64 = 3;
const LARGEST_USUAL_RATIO: u64 = 4;

/// Whether a sample of the middle and one as large from the start are of different work, so that the line through samples of the
/// start does not extrapolate.
pub fn other_work(start: BlockSample, middle: BlockSample) -> bool {
    (middle.seconds / start.seconds - 1.0).abs() > OTHER_WORK
}

impl Samples {
    /// The smaller of the two samples that the line goes through.
    fn base(&self) -> BlockSample {
        match self.middle {
            Some(m) if self.long_in_middle => m,
            _ => self.short,
        }
    }

    /// Seconds that each further block takes.
    pub fn slope(&self) -> f64 {
        let base = self.base();
        let blocks = self.long.blocks.saturating_sub(base.blocks).max(1);
        let slope = (self.long.seconds - base.seconds) / blocks as f64;
        // Noise can make the larger sample the faster one; no block takes negative time.
        slope.max(0.05 * base.seconds / base.blocks.max(1) as f64)
    }

    /// Seconds of the whole launch by the line through both samples.
    pub fn linear_s(&self) -> f64 {
        let base = self.base();
        base.seconds + self.slope() * (self.blocks as f64 - base.blocks as f64)
    }

    /// Seconds of the whole launch by the line, adjusted where blocks at the start of the grid do other work than others.
    ///
    /// The line through samples of the middle has an intercept: the launch, and data that earlier blocks would have left in
    /// caches. Samples at other positions are taken by their rate beyond that. Where only the start has two samples, the
    /// line is scaled to the middle's rate if that differs by more than [`OTHER_WORK`]; smaller differences are as often the
    /// state of caches as work.
    pub fn position_adjusted_s(&self) -> f64 {
        if self.long_in_middle {
            let base = self.base();
            let slope = self.slope();
            let intercept = (base.seconds - slope * base.blocks as f64).max(0.0);
            let Some(sides) = self.sides else {
                return self.linear_s();
            };
            let rate = |s: BlockSample| (s.seconds - intercept).max(0.0) / s.blocks.max(1) as f64;
            let sides: f64 = sides.iter().map(|s| SIDE_WEIGHT * rate(*s)).sum();
            let mean = sides + (1.0 - 2.0 * SIDE_WEIGHT) * slope;
            return intercept + mean * self.blocks as f64;
        }
        let u = self.unevenness().filter(|u| u.abs() > OTHER_WORK);
        self.linear_s() * (1.0 + u.unwrap_or(0.0))
    }

    /// All samples.
    fn all(&self) -> impl Iterator<Item = BlockSample> {
        let sides = self.sides.into_iter().flatten();
        [self.short, self.long]
            .into_iter()
            .chain(self.middle)
            .chain(sides)
    }

    /// Seconds of all samples.
    pub fn sampled_s(&self) -> f64 {
        self.all().map(|s| s.seconds).sum()
    }

    /// How much the middle of the grid differs from its start; none where nothing was sampled there.
    pub fn unevenness(&self) -> Option<f64> {
        let m = self.middle?;
        Some(m.seconds / self.short.seconds - 1.0)
    }

    /// Sampled blocks over those of the whole launch.
    pub fn sampled_fraction(&self) -> f64 {
        self.all().map(|s| s.blocks).sum::<u64>() as f64 / self.blocks.max(1) as f64
    }

    /// The first `wanted` features, or all there are; none if these include hardware counters and there are none.
    pub fn features_of(&self, wanted: usize) -> Option<Vec<f64>> {
        let mut all = self.features();
        if wanted > all.len() {
            all.extend(self.counters.as_ref()?.features());
        }
        Some(all)
    }

    /// Features of the correction, without hardware counters.
    pub fn features(&self) -> Vec<f64> {
        let base = self.base();
        // Long launches may have a larger sample: it is replaced by the line's value at the usual ratio.
        let usual = USUAL_RATIO * base.blocks;
        let long = match self.long.blocks > LARGEST_USUAL_RATIO * base.blocks {
            true => BlockSample {
                blocks: usual,
                seconds: base.seconds + self.slope() * (usual - base.blocks) as f64,
            },
            false => self.long,
        };
        let waves = self.blocks as f64 / self.wave.max(1) as f64;
        let log = |x: f64| x.max(1e-12).ln();
        let warps = f64::from(self.resident * self.threads.div_ceil(32));
        vec![
            log(long.seconds / base.seconds) - log(long.blocks as f64 / base.blocks.max(1) as f64),
            self.unevenness().map_or(0.0, |u| log(1.0 + u)),
            log(waves),
            waves - waves.floor(),
            warps / 64.0,
            log(f64::from(self.registers.max(1))),
            log(f64::from(self.threads)),
            (1.0 + self.sectors).ln(),
            self.segments / self.sectors.max(1e-6),
            log(self.slope() * self.wave as f64),
        ]
    }
}

/// A correction for one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleCorrection {
    /// `kerf-launch-model`.
    pub schema: String,
    /// Device that the launches ran on.
    pub device: String,
    /// [`FEATURES`] at the time of training.
    pub features: Vec<String>,
    /// The regression: logarithm of the measured time over [`Samples::position_adjusted_s`].
    pub svr: Svr,
    /// Launches that it was trained on.
    pub launches: usize,
    /// Kernels among them.
    pub kernels: usize,
    /// Mean absolute error of the line, over all launches.
    pub linear_error: f64,
    /// Mean absolute error with correction, each kernel predicted by a model that had not seen it.
    pub error: f64,
    /// 90th percentile of the same errors.
    pub error_90: f64,
}

/// Name of the schema.
pub const SCHEMA: &str = "kerf-launch-model/1";

/// Corrections are clamped to this factor, against extrapolation. Chosen by hand.
const MAX_CORRECTION: f64 = 1.6;

impl SampleCorrection {
    /// The model of a device that comes with Kerf.
    pub fn bundled(profile: &str) -> Option<SampleCorrection> {
        let text = match profile {
            "h200" => include_str!("../models/h200.json"),
            _ => return None,
        };
        serde_json::from_str(text)
            .ok()
            .filter(SampleCorrection::fits)
    }

    /// Whether it is of this version.
    pub fn fits(&self) -> bool {
        let named = |n: usize| {
            let all = FEATURES.iter().chain(&counters::FEATURES).take(n);
            self.features.len() == n && all.zip(&self.features).all(|(a, b)| a == b)
        };
        let base = FEATURES.len();
        self.schema == SCHEMA && (named(base) || named(base + counters::FEATURES.len()))
    }

    /// Whether it looks at hardware counters.
    pub fn counted(&self) -> bool {
        self.features.len() > FEATURES.len()
    }

    /// Seconds of a whole launch; by the line alone where the model wants counters and there are none.
    pub fn seconds(&self, s: &Samples) -> f64 {
        let Some(features) = s.features_of(self.features.len()) else {
            return s.position_adjusted_s();
        };
        let factor = self.svr.value(&features).exp();
        s.position_adjusted_s() * factor.clamp(1.0 / MAX_CORRECTION, MAX_CORRECTION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(short: f64, long: f64) -> Samples {
        Samples {
            blocks: 10_000,
            wave: 100,
            short: BlockSample {
                blocks: 200,
                seconds: short,
            },
            long: BlockSample {
                blocks: 300,
                seconds: long,
            },
            middle: Some(BlockSample {
                blocks: 200,
                seconds: short,
            }),
            long_in_middle: false,
            sides: None,
            threads: 128,
            registers: 32,
            shared: 0,
            resident: 16,
            sectors: 1.0,
            segments: 0.5,
            counters: None,
        }
    }

    #[test]
    fn the_line_goes_through_both_samples() {
        // 5 us to begin, 10 us a wave.
        let s = samples(25e-6, 35e-6);
        assert!((s.linear_s() - (5e-6 + 100.0 * 10e-6)).abs() < 1e-12);
        assert_eq!(s.unevenness(), Some(0.0));
        assert!((s.sampled_fraction() - 0.07).abs() < 1e-12);
        assert_eq!(s.features().len(), FEATURES.len());
    }

    #[test]
    fn a_start_that_is_the_exception_does_not_decide() {
        let mut s = samples(25e-6, 35e-6);
        let line = s.linear_s();
        s.middle = Some(BlockSample {
            blocks: 200,
            seconds: 26e-6,
        });
        assert_eq!(s.position_adjusted_s(), line);
        s.middle = Some(BlockSample {
            blocks: 200,
            seconds: 12.5e-6,
        });
        assert!((s.position_adjusted_s() - 0.5 * line).abs() < 1e-12);
    }

    /// A stencil as it was measured on an H200: its first blocks copy the boundary, and a short sample of the middle reads
    /// planes that blocks before it would have left in the cache. The whole took 374 us.
    #[test]
    fn a_line_of_the_middle_leaves_out_what_samples_begin_with() {
        let mut s = samples(7.2e-6, 15.3e-6);
        s.long.blocks = 600;
        s.blocks = 24_800;
        s.middle = Some(BlockSample {
            blocks: 200,
            seconds: 10.3e-6,
        });
        assert!(
            s.position_adjusted_s() > 600e-6,
            "{}",
            s.position_adjusted_s()
        );
        s.long_in_middle = true;
        s.long.seconds = 16.3e-6;
        assert!(
            (s.position_adjusted_s() / 379e-6 - 1.0).abs() < 0.02,
            "{}",
            s.position_adjusted_s()
        );
    }

    #[test]
    fn three_places_stand_for_work_that_changes_along_the_grid() {
        // 5 us to begin; blocks at x take 1 + 60 x (1 - x) ns: 11 in the mean, 16 in the middle.
        let at = |x: f64, blocks: u64| BlockSample {
            blocks,
            seconds: 5e-6 + blocks as f64 * (1.0 + 60.0 * x * (1.0 - x)) * 1e-9,
        };
        let mut s = samples(0.0, 0.0);
        s.short = at(0.0, 2_000);
        s.middle = Some(at(0.5, 2_000));
        s.long = at(0.5, 6_000);
        s.blocks = 1_000_000;
        s.long_in_middle = true;
        assert!(other_work(s.short, at(0.5, 2_000)));
        assert!((s.position_adjusted_s() - (5e-6 + 16e-3)).abs() < 1e-9);
        s.sides = Some(SIDES.map(|x| at(x, 2_000)));
        assert!((s.position_adjusted_s() - (5e-6 + 11e-3)).abs() < 1e-9);
        assert!((s.sampled_fraction() - 0.014).abs() < 1e-12);
    }

    #[test]
    fn the_model_that_ships_is_of_this_version() {
        let m = SampleCorrection::bundled("h200").expect("a model for the H200");
        let s = samples(25e-6, 35e-6);
        assert!(m.launches >= 40 && m.kernels >= 30);
        assert!((m.seconds(&s) / s.position_adjusted_s()).ln().abs() < 0.5);
        assert!(SampleCorrection::bundled("sm_70").is_none());
    }

    #[test]
    fn noise_never_makes_blocks_free() {
        assert!(samples(25e-6, 24e-6).linear_s() > 25e-6);
    }
}

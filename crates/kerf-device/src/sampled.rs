//! The time of a launch from two samples of its blocks, and a correction learned from whole launches.
//!
//! After Dao, "Performance Modeling, Performance Tuning and Quantization for GPU Programs" (2021), chapter 2:
//! with P blocks on each multiprocessor a device is saturated; a launch is sampled at two multiples of that,
//! and its time goes on along the line through both. What the line does not know (caches
//! that warm up, a last wave that is not full, samples too short to measure) an epsilon-SVR learns, as a
//! factor, from the samples and from what is known of the kernel.
pub mod counters;
pub mod svr;
pub mod train;

use counters::Counters;
use serde::{Deserialize, Serialize};
use svr::Svr;

/// A sample: so many blocks took so many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
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
    /// The smaller sample.
    pub short: Sample,
    /// The larger.
    pub long: Sample,
    /// One as large as the smaller, from the middle of the grid.
    pub middle: Option<Sample>,
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
    pub counters: Option<Counters>,
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

/// Work-groups at different places of the grid differ by more than this: the work is uneven.
pub const UNEVEN: f64 = 0.08;

/// Beyond this, blocks in the middle do other work than those at the start.
const OTHER_WORK: f64 = 0.2;

impl Samples {
    /// Seconds that each further block takes.
    pub fn slope(&self) -> f64 {
        let blocks = self.long.blocks.saturating_sub(self.short.blocks).max(1);
        let slope = (self.long.seconds - self.short.seconds) / blocks as f64;
        // Noise can make the larger sample the faster one; blocks do not take back time.
        slope.max(0.05 * self.short.seconds / self.short.blocks.max(1) as f64)
    }

    /// The line through both samples at the whole launch.
    pub fn linear(&self) -> f64 {
        self.short.seconds + self.slope() * (self.blocks as f64 - self.short.blocks as f64)
    }

    /// The line, at the middle's rate where that is far from the start's: in a grid of many waves the start is
    /// the exception then. Smaller differences are as often the state of caches as work.
    pub fn placed(&self) -> f64 {
        let u = self.unevenness().filter(|u| u.abs() > OTHER_WORK);
        self.linear() * (1.0 + u.unwrap_or(0.0))
    }

    /// How much the middle of the grid differs from its start; none where nothing was sampled there.
    pub fn unevenness(&self) -> Option<f64> {
        let m = self.middle?;
        Some(m.seconds / self.short.seconds - 1.0)
    }

    /// Samples over the whole launch, in blocks.
    pub fn part(&self) -> f64 {
        let middle = self.middle.map_or(0, |m| m.blocks);
        (self.short.blocks + self.long.blocks + middle) as f64 / self.blocks.max(1) as f64
    }

    /// What a correction with these features looks at; none if that takes counters, and there are none.
    pub fn features_of(&self, wanted: usize) -> Option<Vec<f64>> {
        let mut all = self.features();
        if wanted > all.len() {
            all.extend(self.counters.as_ref()?.features());
        }
        Some(all)
    }

    /// What the correction looks at, but for counters.
    pub fn features(&self) -> Vec<f64> {
        let waves = self.blocks as f64 / self.wave.max(1) as f64;
        let log = |x: f64| x.max(1e-12).ln();
        let warps = f64::from(self.resident * self.threads.div_ceil(32));
        vec![
            log(self.long.seconds / self.short.seconds)
                - log(self.long.blocks as f64 / self.short.blocks.max(1) as f64),
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
pub struct Model {
    /// `kerf-launch-model`.
    pub schema: String,
    /// Device that the launches ran on.
    pub device: String,
    /// [`FEATURES`] at the time of training.
    pub features: Vec<String>,
    /// The regression: logarithm of the measured time over that of [`Samples::placed`].
    pub svr: Svr,
    /// Launches that it was trained on.
    pub launches: usize,
    /// Kernels among them.
    pub kernels: usize,
    /// Mean absolute error of the line, over all launches.
    pub linear_error: f64,
    /// Mean absolute error with correction, each kernel predicted by a model that had not seen it.
    pub error: f64,
    /// Nine of ten of those predictions were off by no more than this.
    pub error_90: f64,
}

/// Name of the schema.
pub const SCHEMA: &str = "kerf-launch-model/1";

/// Corrections beyond this factor are not believed.
const MOST: f64 = 1.6;

impl Model {
    /// The model of a device that comes with Kerf.
    pub fn bundled(profile: &str) -> Option<Model> {
        let text = match profile {
            "h200" => include_str!("../models/h200.json"),
            _ => return None,
        };
        serde_json::from_str(text).ok().filter(Model::fits)
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
            return s.placed();
        };
        let factor = self.svr.value(&features).exp();
        s.placed() * factor.clamp(1.0 / MOST, MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(short: f64, long: f64) -> Samples {
        Samples {
            blocks: 10_000,
            wave: 100,
            short: Sample {
                blocks: 200,
                seconds: short,
            },
            long: Sample {
                blocks: 300,
                seconds: long,
            },
            middle: Some(Sample {
                blocks: 200,
                seconds: short,
            }),
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
        assert!((s.linear() - (5e-6 + 100.0 * 10e-6)).abs() < 1e-12);
        assert_eq!(s.unevenness(), Some(0.0));
        assert!((s.part() - 0.07).abs() < 1e-12);
        assert_eq!(s.features().len(), FEATURES.len());
    }

    #[test]
    fn a_start_that_is_the_exception_does_not_decide() {
        let mut s = samples(25e-6, 35e-6);
        let line = s.linear();
        s.middle = Some(Sample {
            blocks: 200,
            seconds: 26e-6,
        });
        assert_eq!(s.placed(), line);
        s.middle = Some(Sample {
            blocks: 200,
            seconds: 12.5e-6,
        });
        assert!((s.placed() - 0.5 * line).abs() < 1e-12);
    }

    #[test]
    fn the_model_that_ships_is_of_this_version() {
        let m = Model::bundled("h200").expect("a model for the H200");
        let s = samples(25e-6, 35e-6);
        assert!(m.launches >= 40 && m.kernels >= 30);
        assert!((m.seconds(&s) / s.placed()).ln().abs() < 0.5);
        assert!(Model::bundled("sm_70").is_none());
    }

    #[test]
    fn noise_never_makes_blocks_free() {
        assert!(samples(25e-6, 24e-6).linear() > 25e-6);
    }
}

//! Launches of a workload sampled: what a prediction of their times starts from.
use super::space::{self, Params};
use kerf_device::sampled::{Sample, Samples};
use kerf_workload::job::{Bench, Job, JobError, Kind, Run, bench};
use serde::{Deserialize, Serialize};

/// One kind of launch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Launch {
    /// Kernel.
    pub kernel: String,
    /// Its symbol.
    pub symbol: String,
    /// How many there are in a run.
    pub repeats: u64,
    /// Blocks over those that fill the device.
    pub waves: f64,
    /// Launches of this kind have different arguments.
    pub varies: bool,
    /// Samples; none where the launch is too small for any.
    pub samples: Option<Samples>,
    /// Its time, where it was measured whole, or estimated by one sample where that was asked for.
    pub whole: Option<f64>,
}

/// All of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sampled {
    /// Device.
    pub device: String,
    /// Launches.
    pub launches: Vec<Launch>,
    /// Seconds of one pass over all samples.
    pub sampled_s: f64,
}

/// What a worker is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ask {
    /// Workload, device, toolchain.
    pub job: Job,
    /// Launch parameters where not the file's own, one set after the other; none: the file's own.
    pub points: Vec<Params>,
}

/// Waves of the smaller sample. Dao samples at 2 and 3; on an H200, whose waves are short and whose caches
/// begin empty, 3 and 6 are off by 7 % where 2 and 3 are off by 12 % (docs/launch.md).
pub const SHORT: u32 = 3;
/// Waves of the larger.
pub const LONG: u32 = 6;

/// Launches of fewer waves than this are measured whole: samples would be most of them.
pub const LEAST_WAVES: f64 = 8.0;

/// Seconds of a launch that are the same for any number of blocks.
const START_S: f64 = 2e-6;

/// Seconds of a whole launch by its smaller sample alone: enough to tell shapes apart.
pub fn quick(sample: Sample, blocks: u64) -> f64 {
    let each = (sample.seconds - START_S).max(0.0) / sample.blocks.max(1) as f64;
    START_S + each * blocks as f64
}

/// The smaller sample of one launch; none if it is too small.
fn one(b: &mut Bench, k: &Kind) -> Result<Option<Sample>, JobError> {
    let wave = u64::from(b.resident(k)?.max(1)) * u64::from(b.sms);
    if (k.blocks() as f64) < LEAST_WAVES * wave as f64 {
        return Ok(None);
    }
    let count = (wave * u64::from(SHORT)) as u32;
    let t = b.time(k, Run::Part { first: 0, count })?;
    Ok(Some(Sample {
        blocks: u64::from(count),
        seconds: t.median_s,
    }))
}

/// Samples of one launch; none if it is too small.
pub fn of(b: &mut Bench, k: &Kind) -> Result<Option<Samples>, JobError> {
    let resident = b.resident(k)?.max(1);
    let wave = u64::from(resident) * u64::from(b.sms);
    if (k.blocks() as f64) < LEAST_WAVES * wave as f64 {
        return Ok(None);
    }
    let mut part = |first: u64, waves: u32| -> Result<Sample, JobError> {
        let count = wave * u64::from(waves);
        let run = Run::Part {
            first: first as u32,
            count: count as u32,
        };
        Ok(Sample {
            blocks: count,
            seconds: b.time(k, run)?.median_s,
        })
    };
    let (short, long) = (part(0, SHORT)?, part(0, LONG)?);
    let middle = part(k.blocks() / 2, SHORT)?;
    let stats = b.stats(&k.symbol).unwrap_or_default();
    let refs = space::references(b.module, b.kernels, k);
    Ok(Some(Samples {
        blocks: k.blocks(),
        wave,
        short,
        long,
        middle: Some(middle),
        threads: k.threads(),
        registers: stats.registers.unwrap_or(0),
        shared: stats.shared_bytes.unwrap_or(0) + k.launch.shared,
        resident,
        sectors: space::transactions(&refs, k.threads(), 32).0,
        segments: space::transactions(&refs, k.threads(), 128).0,
    }))
}

/// Samples every kind of launch of a workload, in this process.
pub fn sample(ask: &Ask) -> Result<Vec<Sampled>, JobError> {
    bench(
        &ask.job,
        |_, _, _| Vec::new(),
        |b| match ask.points.is_empty() {
            true => Ok(vec![at(b, &Params::new())?]),
            false => ask.points.iter().map(|p| at(b, p)).collect(),
        },
    )
}

/// The launches at some parameters. One that does not run has neither samples nor a time.
fn at(b: &mut Bench, point: &Params) -> Result<Sampled, JobError> {
    let mut params = b.workload.launch_space.default_params();
    params.extend(point.clone());
    let mut out = Sampled {
        device: b.device(),
        launches: Vec::new(),
        sampled_s: 0.0,
    };
    for k in b.kinds(&params)? {
        if !point.is_empty()
            && let Some(s) = one(b, &k)?
        {
            out.sampled_s += s.seconds;
            out.launches.push(Launch {
                kernel: k.name.clone(),
                symbol: k.symbol.clone(),
                repeats: k.repeats,
                waves: 0.0,
                varies: k.varies,
                samples: None,
                whole: Some(quick(s, k.blocks())),
            });
            continue;
        }
        let samples = of(b, &k)?;
        let whole = match samples {
            None => Some(b.time(&k, Run::Whole)?.median_s),
            Some(_) => None,
        };
        let wave = f64::from(b.resident(&k)?.max(1) * b.sms);
        let sampled = samples.as_ref().map_or(0.0, |s| {
            s.short.seconds + s.long.seconds + s.middle.map_or(0.0, |m| m.seconds)
        });
        out.sampled_s += sampled + whole.unwrap_or(0.0);
        out.launches.push(Launch {
            kernel: k.name.clone(),
            symbol: k.symbol.clone(),
            repeats: k.repeats,
            waves: k.blocks() as f64 / wave,
            varies: k.varies,
            samples,
            whole,
        });
    }
    Ok(out)
}

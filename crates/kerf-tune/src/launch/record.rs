//! Records of [`table`](super::table): read back, and as launches to train predictions on.
use super::sample::{cut, middle, sides, worth_sides};
use super::table::ShapeTiming;
use kerf_predict::sampled::train::Instance;
use kerf_predict::sampled::{BlockSample, Samples, other_work};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Why a record cannot be read back; the file is the caller's.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file or folder is not there or cannot be read.
    #[error("{}: {why}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// A line in it is no timing.
    #[error("{}:{line}: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with it.
        why: serde_json::Error,
    },
    /// It is no document of a checked prediction.
    #[error(
        "{}: {why}; expected what kerf --format json predict W.toml --device cuda --check writes",
        path.display()
    )]
    Document {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: serde_json::Error,
    },
}

impl RecordError {
    /// For the system's reason, the error of a path.
    fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> RecordError {
        let path = path.to_owned();
        move |why| RecordError::Unreadable { path, why }
    }
}

fn files(path: &Path, out: &mut Vec<PathBuf>) -> Result<(), RecordError> {
    if !path.is_dir() {
        out.push(path.to_owned());
        return Ok(());
    }
    let mut all: Vec<PathBuf> = std::fs::read_dir(path)
        .map_err(RecordError::unreadable(path))?
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.to_string_lossy().ends_with(".jsonl"))
        .collect();
    all.sort();
    out.extend(all);
    Ok(())
}

/// Timings of files and folders, in order. A last line that a kill cut off is left out.
pub fn read(paths: &[PathBuf]) -> Result<Vec<ShapeTiming>, RecordError> {
    let mut all = Vec::new();
    for p in paths {
        files(p, &mut all)?;
    }
    let mut rows = Vec::new();
    for p in all {
        let mut text = String::new();
        std::fs::File::open(&p)
            .and_then(|mut f| f.read_to_string(&mut text))
            .map_err(RecordError::unreadable(&p))?;
        let lines: Vec<&str> = text.lines().collect();
        for (n, l) in lines.iter().enumerate() {
            match serde_json::from_str::<ShapeTiming>(l) {
                // What another state of the cache does is no sample of a prediction.
                Ok(r) if r.state.is_some() => {}
                Ok(r) => rows.push(r),
                Err(_) if n + 1 == lines.len() => {}
                Err(why) => {
                    return Err(RecordError::Line {
                        path: p,
                        line: n + 1,
                        why,
                    });
                }
            }
        }
    }
    Ok(rows)
}

/// Whether two timings are of the same launch.
pub fn same(a: &ShapeTiming, b: &ShapeTiming) -> bool {
    (
        &a.workload,
        &a.sizes,
        &a.kernel,
        &a.grid,
        &a.block,
        a.dynamic,
    ) == (
        &b.workload,
        &b.sizes,
        &b.kernel,
        &b.grid,
        &b.block,
        b.dynamic,
    )
}

/// Launches by kernel: workload, sizes and kernel, with their timings in order.
pub fn by_kernel(rows: &[ShapeTiming]) -> Vec<Vec<&ShapeTiming>> {
    let mut out: Vec<Vec<&ShapeTiming>> = Vec::new();
    for r in rows {
        let mine = out.iter_mut().find(|g| {
            (&g[0].workload, &g[0].sizes, &g[0].kernel) == (&r.workload, &r.sizes, &r.kernel)
        });
        match mine {
            Some(g) => g.push(r),
            None => out.push(vec![r]),
        }
    }
    out
}

/// The timing of some waves from the start of a launch's grid, or from elsewhere; none where there is none.
pub fn part<'r>(
    all: &[&'r ShapeTiming],
    whole: &ShapeTiming,
    waves: u32,
    start: bool,
) -> Option<&'r ShapeTiming> {
    let wave = u64::from(whole.resident) * u64::from(whole.sms);
    let mine = all.iter().filter(|r| r.run == "part" && same(r, whole));
    let mine = mine.filter(|r| r.count == u64::from(waves) * wave && (r.first == 0) == start);
    // Of several places, the one nearest to the middle.
    mine.min_by_key(|r| u64::from(r.first).abs_diff(whole.count / 2))
        .copied()
}

/// The same as a sample.
pub fn sample(
    all: &[&ShapeTiming],
    whole: &ShapeTiming,
    waves: u32,
    start: bool,
) -> Option<BlockSample> {
    part(all, whole, waves, start).map(|r| BlockSample {
        blocks: r.count,
        seconds: r.time.median_s,
    })
}

/// Samples of a launch from one block on, the largest last.
fn from(all: &[&ShapeTiming], whole: &ShapeTiming, first: u64) -> Vec<BlockSample> {
    let mine = all.iter().filter(|r| r.run == "part" && same(r, whole));
    let mine = mine.filter(|r| u64::from(r.first) == first);
    let mut out: Vec<BlockSample> = mine
        .map(|r| BlockSample {
            blocks: r.count,
            seconds: r.time.median_s,
        })
        .collect();
    out.sort_by_key(|s| s.blocks);
    out
}

/// Waves of samples away from the start in records that have none as large as the smaller sample.
const ELSEWHERE: u32 = 2;

/// What was known of a launch from its samples; none where there are none.
pub fn samples(all: &[&ShapeTiming], whole: &ShapeTiming) -> Option<Samples> {
    let wave = u64::from(whole.resident) * u64::from(whole.sms);
    let cut = cut(whole.count as f64 / wave.max(1) as f64)?;
    let short = sample(all, whole, cut.short, true)?;
    // Places are compared at as many waves; what counts is how they differ.
    let differ = |waves: u32| {
        let pair = sample(all, whole, waves, true).zip(sample(all, whole, waves, false));
        pair.map(|(h, t)| t.seconds / h.seconds)
    };
    let ratio = differ(cut.short).or_else(|| differ(ELSEWHERE));
    let centre = ratio.map(|r| BlockSample {
        blocks: short.blocks,
        seconds: r * short.seconds,
    });
    let uneven = centre.is_some_and(|m| other_work(short, m));
    // Records from before samples in the middle have none.
    let many = wave * u64::from(cut.long);
    let inside = from(all, whole, middle(whole.count)).pop();
    let inside = inside.filter(|s| uneven && s.blocks >= many);
    let worth = inside
        .zip(centre)
        .is_some_and(|(long, m)| worth_sides(short, m, long, whole.count));
    let [a, b] = sides(whole.count, short.blocks).map(|f| {
        let mut mine = from(all, whole, f).into_iter();
        mine.rfind(|s| s.blocks == short.blocks)
    });
    Some(Samples {
        blocks: whole.count,
        wave,
        short,
        long: match inside {
            Some(s) => s,
            None => sample(all, whole, cut.long, true).or_else(|| {
                // Records from before longer samples.
                let longest = from(all, whole, 0).pop()?;
                (longest.blocks >= 3 * short.blocks).then_some(longest)
            })?,
        },
        middle: centre,
        long_in_middle: inside.is_some(),
        sides: a.zip(b).filter(|_| worth).map(|(a, b)| [a, b]),
        threads: whole.block.iter().product(),
        registers: whole.registers,
        shared: whole.shared + whole.dynamic,
        resident: whole.resident,
        sectors: whole.sectors,
        segments: whole.segments,
        counters: None,
    })
}

/// Launches of documents that `kerf --format json predict W.toml --device cuda --check` wrote.
pub fn checked(paths: &[PathBuf]) -> Result<Vec<Instance>, RecordError> {
    #[derive(serde::Deserialize)]
    struct Launch {
        kernel: String,
        grid: [u32; 3],
        block: [u32; 3],
        samples: Option<Samples>,
        measured_s: Option<f64>,
    }
    #[derive(serde::Deserialize)]
    struct Document {
        workload: PathBuf,
        launches: Vec<Launch>,
    }
    let mut out = Vec::new();
    for p in paths {
        let text = std::fs::read_to_string(p).map_err(RecordError::unreadable(p))?;
        let d: Document = serde_json::from_str(&text).map_err(|why| RecordError::Document {
            path: p.clone(),
            why,
        })?;
        let stem = d.workload.file_stem().unwrap_or_default().to_string_lossy();
        for l in d.launches {
            if let (Some(samples), Some(measured)) = (l.samples, l.measured_s) {
                out.push(Instance {
                    name: format!("{stem} {:?} {:?}", l.grid, l.block),
                    kernel: l.kernel,
                    grid: l.grid,
                    block: l.block,
                    samples,
                    measured,
                });
            }
        }
    }
    Ok(out)
}

/// The launches of a record to train on and be judged by: each kernel in the file's own shape, as `kerf
/// predict` would sample it.
pub fn instances(rows: &[ShapeTiming]) -> Vec<Instance> {
    let mut out = Vec::new();
    for group in by_kernel(rows) {
        let Some(whole) = group.iter().find(|r| r.run == "whole" && r.own) else {
            continue;
        };
        let Some(s) = samples(&group, whole) else {
            continue;
        };
        let sizes: Vec<String> = whole
            .sizes
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        out.push(Instance {
            kernel: whole.kernel.clone(),
            name: format!("{} {} {:?}", whole.workload, sizes.join(" "), whole.block),
            grid: whole.grid,
            block: whole.block,
            samples: s,
            measured: whole.time.median_s,
        });
    }
    out
}

//! What limits launches, by the analytic model.
//!
//! The workload is counted at the file's own sizes: counting a large run would take longer than the run. The counts are
//! taken to grow with threads, or with the buffers where these grow more (one block that adds up all elements).
use super::{Args, from_code, in_worker};
use crate::device;
use crate::fail::Failure;
use crate::toolchain;
use kerf_ir::kernels;
use kerf_pass::Plan;
use kerf_pass::count::{BlockCount, Detail, LaunchCounts};
use kerf_predict::cost::{CostModel, LaunchPrediction, ProgramWork, Resource};
use kerf_run::job::{Job, JobError, LaunchKind, kinds};
use kerf_workload::ArgValue;
use kerf_workload::Workload;
use std::path::Path;
use std::time::Duration;

/// What limits launches of one kind.
pub struct Limit {
    /// The kernel.
    pub symbol: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// The resource.
    pub resource: Resource,
}

/// Bytes of the buffers behind an argument.
fn bytes(w: &Workload, a: &ArgValue) -> u64 {
    match a {
        ArgValue::Buffer { index, .. } => {
            let b = w.buffers.get(*index).and_then(|b| b.bytes());
            b.unwrap_or(0) as u64
        }
        ArgValue::Struct(all) => all.iter().map(|a| bytes(w, a)).sum(),
        _ => 0,
    }
}

fn product(x: [u32; 3]) -> f64 {
    x.iter().map(|x| f64::from(*x)).product()
}

/// Counts of a launch as those of a larger or smaller one of the same kernel.
fn grown(counted: &LaunchCounts, k: &LaunchKind, w: &Workload) -> LaunchCounts {
    let l = &k.launch;
    let buffers: Vec<u64> = l.args.iter().map(|a| bytes(w, a)).collect();
    let threads = product(l.grid) * product(l.block)
        / (product(counted.grid) * product(counted.block)).max(1.0);
    let total = |b: &[u64]| b.iter().sum::<u64>().max(1) as f64;
    // Of each thread.
    let more = (total(&buffers) / total(&counted.buffers) / threads).max(1.0);
    let of = |n: u64, by: f64| (n as f64 * by).round() as u64;
    let block = |b: &BlockCount| BlockCount {
        threads: of(b.threads, threads * more),
        warps: of(b.warps, threads * more),
        longest: of(b.longest, more),
    };
    LaunchCounts {
        grid: l.grid,
        block: l.block,
        repeats: k.repeats,
        blocks: counted.blocks.iter().map(block).collect(),
        buffers,
        ..counted.clone()
    }
}

/// Predictions by launch. They come in an order of their own: those of a kernel are told apart by their waves, which grow
/// with its grids.
fn matched(launches: &[LaunchCounts], mut all: Vec<LaunchPrediction>) -> Vec<Limit> {
    let mut sorted: Vec<&LaunchCounts> = launches.iter().collect();
    sorted.sort_by(|a, b| product(a.grid).total_cmp(&product(b.grid)));
    all.sort_by(|a, b| a.waves.total_cmp(&b.waves));
    let one = |l: &LaunchCounts| {
        let at = all.iter().position(|p| p.symbol == l.symbol)?;
        Some(Limit {
            symbol: l.symbol.clone(),
            grid: l.grid,
            block: l.block,
            resource: all.remove(at).limit,
        })
    };
    sorted.into_iter().filter_map(one).collect()
}

/// What limits each kind of launch; empty where nothing can be counted.
pub fn limits(a: &Args, workload: &Path, asked: &Workload) -> Vec<Limit> {
    let work = || -> Result<Vec<Limit>, Failure> {
        let profile = device::load(&a.profile)?;
        let model = CostModel::new(&profile)?;
        let tools = toolchain::discover("sm_90");
        let job = Job {
            count: Some(Detail::Blocks),
            count_only: true,
            ..Job::plain(workload.to_owned(), &tools)
        };
        let counts = in_worker(&job, Duration::from_secs_f64(a.timeout))?.counts;
        let counts = counts.ok_or_else(|| Failure::new("no counts"))?;
        let program = kerf_run::compile::own_program(asked, &tools).map_err(JobError::from)?;
        let m = program.module().map_err(JobError::from)?;
        let params = asked.launch_space.default_params();
        let mut launches = Vec::new();
        for k in kinds(asked, &kernels::kernels(&m), &params)? {
            let near = |l: &&LaunchCounts| (product(l.grid) - k.blocks() as f64).abs() as u64;
            let mine = counts.launches.iter().filter(|l| l.symbol == k.symbol);
            launches.extend(mine.min_by_key(near).map(|l| grown(l, &k, asked)));
        }
        let work = ProgramWork {
            launches,
            ..ProgramWork::default()
        };
        let subject = model.subject(&m, &work)?;
        let plan = Plan::default();
        let coded = from_code(&subject, &plan, &profile.arch, &tools);
        let p = match coded.ok().flatten() {
            Some(p) => p,
            None => subject.predict(&plan)?,
        };
        Ok(matched(&work.launches, p.launches))
    };
    work().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_grow_with_threads_or_with_buffers() {
        let text = r#"
source = "k.cu"
[sizes]
n = 8192
[[buffer]]
name = "x"
type = "f64"
len = "n"
output = true
[[launch]]
kernel = "k"
grid = ["n / 128"]
block = [128]
args = ["x", "n"]
[[launch]]
kernel = "sum"
grid = [1]
block = [32]
args = ["x", "n"]
"#;
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("k.cu"), "").expect("a source");
        let at = |n: i64| {
            let path = dir.path().join("k.toml");
            let w = Workload::parse(text, &path, &[("n".into(), n)]);
            w.expect("a workload")
        };
        let (small, large) = (at(1024), at(8192));
        let kind = |w: &Workload, i: usize| {
            let launches = kerf_workload::expand(w, &Default::default()).expect("steps");
            let all = launches.filter_map(|s| match s {
                Ok(kerf_workload::ConcreteStep::Launch(l)) => Some(l),
                _ => None,
            });
            let launch = all.into_iter().nth(i).expect("a launch");
            LaunchKind {
                symbol: launch.kernel.clone(),
                name: launch.kernel.clone(),
                repeats: 1,
                launch,
                varies: false,
            }
        };
        let counted = |i: usize| LaunchCounts {
            symbol: String::new(),
            grid: kind(&small, i).launch.grid,
            block: kind(&small, i).launch.block,
            dynamic_shared: 0,
            buffers: vec![8192, 0],
            repeats: 1,
            blocks: vec![BlockCount {
                threads: 1000,
                warps: 100,
                longest: 10,
            }],
            patterns: Vec::new(),
            together: Vec::new(),
            spread: None,
        };
        let wide = grown(&counted(0), &kind(&large, 0), &large);
        assert_eq!(
            (wide.grid, &wide.buffers[..]),
            ([64, 1, 1], &[65536, 0][..])
        );
        let b = wide.blocks[0];
        assert_eq!((b.threads, b.warps, b.longest), (8000, 800, 10));
        let b = grown(&counted(1), &kind(&large, 1), &large).blocks[0];
        assert_eq!((b.threads, b.warps, b.longest), (8000, 800, 80));
    }
}

//! `kerf launch-table`, hidden: every shape of a workload's launches timed, one line of JSON each.
//!
//! The kernels run in this process: it is a tool for benchmarks.
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::table::Table;
use crate::{DeviceArg, device};
use kerf_device::occupancy::Multiprocessor;
use kerf_ir::kernels::shortened;
use kerf_tune::launch::auto;
use kerf_tune::launch::table::{self, TableOptions};
use kerf_tune::launch::tuners::Contention;
use kerf_tune::launch::work::{self, CountedShape};
use kerf_tune::launch::{compare, record};
use std::path::PathBuf;

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// Workload file (.toml).
    workload: PathBuf,
    /// Where to run.
    #[arg(long, value_enum, default_value = "cuda")]
    device: DeviceArg,
    /// More shapes than the file lists.
    #[arg(long)]
    rich: bool,
    /// Multiples of the blocks that fill the device, sampled in every shape.
    #[arg(long, value_delimiter = ',', default_value = "2,3")]
    samples: Vec<u32>,
    /// More of them in the file's own shape.
    #[arg(long, value_delimiter = ',')]
    more: Vec<u32>,
    /// Parts of the cache to be written back (0 to 1) at which those samples are taken as well.
    #[arg(long, value_delimiter = ',')]
    states: Vec<f64>,
    /// Shapes that are also compiled for their block.
    #[arg(long, default_value_t = 0)]
    fixed: usize,
    /// Compare outputs with those of the file's own shape.
    #[arg(long)]
    check: bool,
    /// The file's own shape alone, sampled as predictions are.
    #[arg(long)]
    own: bool,
    /// Replace a size or launch parameter, on a GPU (`[sizes]`) and on the CPU (`[cpu_sizes]`): n=4096.
    #[arg(long = "size", value_parser = crate::parse_size)]
    sizes: Vec<(String, i64)>,
    /// Profile whose limits shapes are held to.
    #[arg(long, default_value = "h200")]
    profile: String,
}

/// Runs the command.
pub fn run(a: Args) -> Result<i32, Failure> {
    crate::in_utf8(&a.workload)?;
    let profile = device::load(&a.profile)?;
    let machine =
        Multiprocessor::from_profile(&profile).map_err(|e| Failure::new(e.to_string()))?;
    let cuda = a.device == DeviceArg::Cuda;
    // Shapes are written into another folder, from where the source has to be found.
    let workload = std::path::absolute(&a.workload).unwrap_or(a.workload);
    let mut job = crate::tune::job(workload, a.sizes, cuda, 0, 5, None)?.at_sizes_of_device()?;
    let name = job.workload.file_stem().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let folder = tempfile::tempdir().map_err(|e| Failure::new(e.to_string()))?;
    if !a.own {
        // A file that lists no shapes gets those that `kerf tune --what launch` would try.
        match auto::give_shapes(&job, folder.path()) {
            Ok(None) => {}
            Ok(Some((path, notes))) => {
                // The folder's name says nothing, and is gone afterwards.
                let told = notes.iter().skip(1);
                note(&format!(
                    "note: {name} has no [launch_space]; blocks of usual sizes are timed"
                ));
                told.for_each(|n| note(&format!("note: {n}")));
                job.workload = path;
            }
            Err(e) => {
                note(&format!("note: {e}"));
                note("note: only the file's own shapes are timed");
            }
        }
    }
    let o = TableOptions {
        name: Some(name),
        rich: a.rich,
        samples: a.samples,
        more: a.more,
        states: a.states,
        fixed: a.fixed,
        check: a.check,
        own: a.own,
    };
    let mut failed = None;
    table::table(&job, &o, &machine, &mut |row| {
        let text = serde_json::to_string(row).unwrap_or_default() + "\n";
        failed = failed.take().or(say(&text).err());
    })?;
    failed.map_or(Ok(0), Err)
}

/// Arguments of counting.
#[derive(clap::Args)]
pub struct WorkArgs {
    /// Workload files (.toml).
    #[arg(required = true)]
    workloads: Vec<PathBuf>,
}

/// Work of all threads of kernels with barriers, by shape, one line of JSON each: what the workload tuner
/// counts, at the files' own sizes.
pub fn work(a: WorkArgs) -> Result<i32, Failure> {
    for path in a.workloads {
        crate::in_utf8(&path)?;
        let job = crate::tune::job(path, Vec::new(), false, 0, 1, None)?;
        let mut failed = None;
        work::work(&job, &mut |c| {
            let text = serde_json::to_string(c).unwrap_or_default() + "\n";
            failed = failed.take().or(say(&text).err());
        })?;
        if let Some(f) = failed {
            return Err(f);
        }
    }
    Ok(0)
}

/// Arguments of the comparison.
#[derive(clap::Args)]
pub struct CompareArgs {
    /// Record: a folder or files of timings (.jsonl).
    #[arg(required = true)]
    record: Vec<PathBuf>,
    /// Profile whose limits shapes are held to.
    #[arg(long, default_value = "h200")]
    profile: String,
    /// Work by shape, where it was counted (from `kerf launch-work`).
    #[arg(long, value_name = "FILE")]
    work: Option<PathBuf>,
    /// Leave out kernels whose own shape has fewer waves than this.
    #[arg(long, default_value_t = 0.0)]
    least: f64,
}

/// Geometric mean.
fn mean(of: impl Iterator<Item = f64>) -> f64 {
    let (mut n, mut sum) = (0.0f64, 0.0);
    of.for_each(|x| {
        n += 1.0;
        sum += x.ln();
    });
    (sum / n.max(1.0)).exp()
}

/// Sets strategies side by side.
pub fn compare(a: &CompareArgs, format: Format, style: Style) -> Result<i32, Failure> {
    let rows = record::read(&a.record).map_err(|e| Failure::new(e.to_string()))?;
    let profile = device::load(&a.profile)?;
    let machine =
        Multiprocessor::from_profile(&profile).map_err(|e| Failure::new(e.to_string()))?;
    let work: Vec<CountedShape> = match &a.work {
        None => Vec::new(),
        Some(path) => {
            let bad = |e: String| Failure::new(format!("{}: {e}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
            let lines = text.lines().map(serde_json::from_str);
            lines
                .collect::<Result<_, _>>()
                .map_err(|e| bad(e.to_string()))?
        }
    };
    let of = |r: &table::ShapeTiming| {
        let mine = |w: &&CountedShape| {
            (&w.workload, &w.kernel, w.block) == (&r.workload, &r.kernel, r.block)
        };
        work.iter().find(mine).map(|w| w.work)
    };
    let mut all = compare::compare(
        &rows,
        &machine,
        Contention::from_profile(&profile, None),
        &of,
    );
    all.retain(|c| c.waves >= a.least);
    if format == Format::Json {
        let v = serde_json::json!({ "schema": "kerf.launch-compare/1", "kernels": all });
        say(&format!("{v:#}\n"))?;
        return Ok(0);
    }
    say(&comparison(&all).render(style))?;
    Ok(0)
}

/// Kernels, and means over them.
fn comparison(all: &[compare::Compared]) -> Table {
    let columns = [
        "kernel",
        "shapes",
        "best",
        "own",
        "worst",
        "launch",
        "runs",
        "cost",
        "ryoo",
        "runs",
        "cost",
        "evolutionary",
        "random",
        "fixed",
        "workload",
    ];
    let mut t = Table::new(2, columns);
    let percent = |x: f64| format!("{:.1} %", 100.0 * x);
    for c in all {
        let [x, y, z] = c.best;
        t.row([
            shortened(&c.kernel),
            c.shapes.to_string(),
            format!("{x}x{y}x{z}"),
            format!("{:.3}", c.own),
            format!("{:.2}", c.worst),
            format!("{:.3}", c.launch.over),
            format!("{}", c.launch.runs),
            percent(c.launch.cost),
            format!("{:.3}", c.ryoo.over),
            format!("{}", c.ryoo.runs),
            percent(c.ryoo.cost),
            format!("{:.3}", c.evolutionary.over),
            format!("{:.3}", c.random.over),
            c.fixed.map_or_else(String::new, |f| format!("{f:.3}")),
            c.workload.clone(),
        ]);
    }
    let n = all.len().max(1) as f64;
    let arithmetic = |f: &dyn Fn(&compare::Compared) -> f64| all.iter().map(f).sum::<f64>() / n;
    t.row([
        format!("all {}", all.len()),
        String::new(),
        String::new(),
        format!("{:.3}", mean(all.iter().map(|c| c.own))),
        format!("{:.2}", mean(all.iter().map(|c| c.worst))),
        format!("{:.3}", mean(all.iter().map(|c| c.launch.over))),
        format!("{:.1}", arithmetic(&|c| c.launch.runs)),
        percent(arithmetic(&|c| c.launch.cost)),
        format!("{:.3}", mean(all.iter().map(|c| c.ryoo.over))),
        format!("{:.1}", arithmetic(&|c| c.ryoo.runs)),
        percent(arithmetic(&|c| c.ryoo.cost)),
        format!("{:.3}", mean(all.iter().map(|c| c.evolutionary.over))),
        format!("{:.3}", mean(all.iter().map(|c| c.random.over))),
        String::new(),
        "geometric means of time over best; mean cost".into(),
    ]);
    t
}

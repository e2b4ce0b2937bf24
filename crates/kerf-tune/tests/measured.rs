//! A whole search with measured times, where there is no GPU: workers run the jobs on the CPU and make the times up, so
//! that what only GPUs reach (finals, races, ties, their store and resumption) is run too.
mod common;

use kerf_device::bundled;
use kerf_pass::SiteFormat;
use kerf_run::job::{Device, Job, JobError, JobReport, Times, Workshop, execute_with};
use kerf_search::recorded::RecordedSpace;
use kerf_search::{Models, StrategyName};
use kerf_tune::coded::Assembler;
use kerf_tune::evaluate::WorkerProgram;
use kerf_tune::launch::strategy::TuneStrategy;
use kerf_tune::models::CostKind;
use kerf_tune::problem::Grouping;
use kerf_tune::result::{SearchVerdict, TuneResult};
use kerf_tune::subject::Subject;
use kerf_tune::tune::{TuneRequest, tune};
use kerf_tune::validate::Trials;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Duration;

/// Four products that share nothing, so that there are plans which differ and take as long.
const IR: &str = r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %x, ptr %a, ptr %b, ptr %c, ptr %d) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %px = getelementptr double, ptr %x, i32 %t
  %v = load double, ptr %px
  %va = fmul double %v, 3.1
  %vb = fmul double %v, 3.3
  %vc = fadd double %v, 3.7
  %vd = fadd double %v, 3.9
  %pa = getelementptr double, ptr %a, i32 %t
  %pb = getelementptr double, ptr %b, i32 %t
  %pc = getelementptr double, ptr %c, i32 %t
  %pd = getelementptr double, ptr %d, i32 %t
  store double %va, ptr %pa
  store double %vb, ptr %pb
  store double %vc, ptr %pc
  store double %vd, ptr %pd
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"#;

/// A sum that is exact in f32 for integers, which the tuning inputs are and others are not, and a product that always is.
const EXACT_FOR_INTEGERS: &str = r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %x, ptr %a, ptr %b) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %px = getelementptr double, ptr %x, i32 %t
  %v = load double, ptr %px
  %va = fadd double %v, 1.0
  %f = sitofp i32 %t to double
  %vb = fmul double %f, 0.5
  %pa = getelementptr double, ptr %a, i32 %t
  %pb = getelementptr double, ptr %b, i32 %t
  store double %va, ptr %pa
  store double %vb, ptr %pb
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"#;

/// Samples of one lap.
const REPEATS: u32 = 5;

/// Any lowered operation makes the program a tenth faster, and more of them nothing. In the workload of demotions a sum makes it another fifth
/// faster, and code that is laid out otherwise takes half the time where something is lowered.
fn factor(job: &Job) -> f64 {
    let Some(plan) = job.plan.kernels.get("k") else {
        return 1.0;
    };
    if !job.workload.ends_with(DEMOTED) {
        return 0.9;
    }
    let subject = Subject::load(&job.workload, &[], &common::bare()).expect("a subject");
    let sums = subject.kernels[0].sites.iter().filter(|s| s.op == "fadd");
    let lowers_sum = sums.into_iter().any(|s| plan.sites.contains_key(&s.id));
    match (lowers_sum, plan.sites.is_empty(), plan.code.is_some()) {
        (_, true, _) => 1.0,
        (true, _, laid_out) => 0.72 * if laid_out { 0.5 } else { 1.0 },
        (false, _, laid_out) => 0.9 * if laid_out { 0.5 } else { 1.0 },
    }
}

/// Times that repeat to one percent.
fn samples(count: u32, factor: f64, lap: u32) -> Option<Times> {
    let time = factor * 1e-3;
    let noise = |i: u32| f64::from((i * 7 + lap * 3) % 11) - 5.0;
    Times::new(
        (0..count)
            .map(|i| time * (1.0 + 0.002 * noise(i)))
            .collect(),
    )
}

/// The file with a line for each job that ran.
fn log(dir: &Path, write: bool) -> File {
    let mut open = File::options();
    open.read(true).append(write).create(write);
    open.open(dir.join("jobs.txt")).expect("a file")
}

/// The worker: jobs for a GPU, on the CPU.
fn serve() {
    let mut kept = Workshop::default();
    let mut lap = 0;
    kerf_exec::worker::serve(|job: Job| -> Result<JobReport, JobError> {
        let here = Job {
            device: Device::Cpu,
            baseline: false,
            warmup: 0,
            repeats: 1,
            ..job.clone()
        };
        let mut r = execute_with(&here, &mut kept)?;
        lap += 1;
        // How errors are spread, for the page, is no evaluation.
        if !job.scatter {
            let mut log = log(job.workload.parent().expect("a folder"), true);
            writeln!(log, "{lap}").expect("written");
        }
        r.times = samples(job.repeats, factor(&job), lap);
        r.baseline = job
            .baseline
            .then(|| samples(job.repeats, 1.0, lap + 5))
            .flatten();
        Ok(r)
    });
}

fn request(dir: &Path, resume: bool) -> TuneRequest {
    let tools = common::bare();
    TuneRequest {
        checks: kerf_exec::cpu::SanitizeOptions::everything(),
        job: Job {
            device: Device::Cuda,
            repeats: REPEATS,
            ..Job::plain(dir.join("w.toml"), &tools)
        },
        tolerance: Some(1e-6),
        metric: None,
        strategy: TuneStrategy::Search(StrategyName::Exhaustive),
        budget: 40,
        ratio: None,
        formats: vec![SiteFormat::F32],
        approx: None,
        launch: false,
        layout: false,
        code: false,
        algebra: false,
        tuners: kerf_tune::launch::tuners::Factor::ALL.to_vec(),
        grouping: Grouping::Site,
        storage: false,
        scaled: Vec::new(),
        energy_s: 0.0,
        profile: bundled::find("h200")
            .expect("known")
            .bundled
            .load()
            .expect("a profile"),
        cost: CostKind::Static,
        assembler: None,
        out: dir.join("result"),
        seed: 1,
        sensitivity: false,
        resume,
        confirmed: false,
        trials: Trials {
            inputs: 4,
            perturb: 1e-3,
            confidence: 0.95,
            skip: 0,
        },
        limit: Duration::from_secs(60),
        workers: 1,
        program: WorkerProgram {
            path: std::env::current_exe().expect("this program"),
            args: vec!["worker".into()],
        },
        remote: Vec::new(),
    }
}

fn run(dir: &Path, resume: bool) -> (TuneResult, usize) {
    let result = tune(&request(dir, resume), &mut |_| ()).expect("a result");
    let jobs = BufReader::new(log(dir, false)).lines().count();
    (result, jobs)
}

/// Where plans can be compiled, guided has their times from machine code, and they are recorded.
fn guided(dir: &Path) {
    let cuda = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.kerf/cuda");
    let ptxas = cuda.join("bin/ptxas");
    assert!(ptxas.is_file(), "no ptxas in .kerf/cuda (make setup)");
    let by_code = TuneRequest {
        strategy: TuneStrategy::GUIDED,
        cost: CostKind::Counts,
        assembler: Some(Assembler {
            ptxas,
            // The kernel has no call.
            libdevice: Vec::new(),
            arch: "sm_90".into(),
        }),
        out: dir.join("guided"),
        ..request(dir, false)
    };
    let result = tune(&by_code, &mut |_| ()).expect("a result");
    assert_eq!(
        result.verdict,
        SearchVerdict::Tuned,
        "{:?}",
        result.warnings
    );
    let space = std::fs::read(dir.join("guided/space.json")).expect("a space");
    let space = RecordedSpace::parse(&space).expect("a space");
    let told = |a: &[u8]| space.other_time(a).expect("a time from machine code");
    assert_eq!(told(&space.problem.identity()), 1.0);
    assert!(told(&result.assignment) > 0.0);
}

/// A workload of 64 threads that read `x` and write the outputs.
fn workload(source: &str, init: &str, outputs: &[&str]) -> String {
    let buffer = |name: &str, more: &str| {
        format!("[[buffer]]\nname = \"{name}\"\ntype = \"f64\"\nlen = 64\n{more}\n")
    };
    let mut text = format!("source = \"{source}\"\n");
    text += &buffer("x", &format!("init = {{ {init} }}"));
    for name in outputs {
        text += &buffer(name, "output = true");
    }
    let args = [&["x"], outputs].concat();
    text + &format!("[[launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [64]\nargs = {args:?}\n")
}

/// Where the fastest plan fails on other inputs, the next one gets the layout that was found for it.
fn demoted(dir: &Path) {
    std::fs::write(dir.join("exact.ll"), EXACT_FOR_INTEGERS).expect("written");
    let text = workload("exact.ll", "expr = \"i\"", &["a", "b"]);
    std::fs::write(dir.join(DEMOTED), text).expect("written");
    let own = request(dir, false);
    let searched = TuneRequest {
        job: Job {
            workload: dir.join(DEMOTED),
            ..own.job.clone()
        },
        tolerance: Some(1e-9),
        code: true,
        out: dir.join("demoted"),
        ..own
    };
    let result = tune(&searched, &mut |_| ()).expect("a result");
    assert!(!result.demoted.is_empty(), "{:?}", result.warnings);
    let found = 1.0 / result.speedup.value;
    assert!((found - 0.45).abs() < 0.01, "{found} of the time");
    // Plans that differ from a demoted one in layout alone go with it: the sum with and without the other two operations.
    assert_eq!(result.demoted.len(), 4, "{:?}", result.demoted);
}

/// The workload of demotions.
const DEMOTED: &str = "demoted.toml";

fn main() {
    if std::env::args().nth(1).is_some_and(|a| a == "worker") {
        return serve();
    }
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("k.ll"), IR).expect("written");
    let text = workload("k.ll", "uniform = [1.0, 2.0]", &["a", "b", "c", "d"]);
    std::fs::write(dir.path().join("w.toml"), text).expect("written");
    let (first, jobs) = run(dir.path(), false);
    assert_eq!(first.verdict, SearchVerdict::Tuned, "{:?}", first.warnings);
    assert_eq!(first.effort.search, 15, "every plan but the program");
    let s = &first.speedup;
    assert_eq!(s.kind, "measured");
    assert!((s.value - 1.0 / 0.9).abs() < 0.02, "{s:?}");
    assert!(s.low.is_some_and(|l| l <= s.value) && s.high.is_some_and(|h| h >= s.value));
    // All plans take as long: the finalists were measured several times, and what cannot be told apart is said.
    let laps = s
        .timing
        .as_ref()
        .map_or(0, |t| t.samples / REPEATS as usize);
    assert!(laps > 1, "{s:?}");
    assert_eq!(first.effort.finals, 5);
    assert!(!first.ties.is_empty());
    assert!(
        first
            .ties
            .iter()
            .all(|t| t.point.assignment != first.assignment)
    );
    // Nothing is run again, and the result is the same.
    let (second, jobs_then) = run(dir.path(), true);
    assert_eq!(jobs_then, jobs);
    assert_eq!(second.assignment, first.assignment);
    assert_eq!(second.speedup, first.speedup);
    guided(dir.path());
    demoted(dir.path());
    println!(
        "a search with measured times: {laps} laps of the chosen plan, {} ties",
        first.ties.len()
    );
}

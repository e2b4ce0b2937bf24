//! `kerf selftest`: random kernels on the CPU executor and on a GPU, compared bit by bit; or on one of
//! them, compared with a record made elsewhere.
use crate::fail::Failure;
use crate::files;
use crate::output::{Format, Style, note, say};
use crate::progress::{self, Work};
use kerf_clang::compile::Toolchain;
use kerf_exec::ExecError;
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_fuzz::identity::{self, Outputs, Prepared};
use kerf_run::job::Turn;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Kernels of one module: compiling a few together costs less.
const PER_MODULE: usize = 4;

/// How often it is said how far the test is.
const TELL: std::time::Duration = std::time::Duration::from_secs(5);

/// What to do.
pub struct Options {
    /// Kernels.
    pub count: usize,
    /// First seed.
    pub seed: u64,
    /// Change each kernel by a random plan.
    pub plans: bool,
    /// Also run on the GPU.
    pub cuda: bool,
    /// GPU number.
    pub ordinal: i32,
    /// Stop after this many seconds, with what was compared by then.
    pub seconds: Option<u64>,
    /// File to write digests to (the GPU's, where there is one).
    pub record: Option<PathBuf>,
    /// File to compare with.
    pub against: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    seed: u64,
    kernel: usize,
    digest: String,
    approx: bool,
    /// Changed by a random plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    plan: bool,
}

#[derive(Default, Serialize)]
struct Tally {
    kernels: usize,
    equal: usize,
    different: usize,
    approx_kernels: usize,
    approx_equal: usize,
    approx_different: usize,
    failures: Vec<String>,
}

fn on_cuda(p: &Prepared, arch: &str, ordinal: i32, level: u32) -> Result<Vec<Outputs>, ExecError> {
    let ptx = kerf_ir::finish::ptx(&p.module, arch).map_err(|e| ExecError::Compile(e.0))?;
    let names: Vec<String> = p.random.kernels.iter().map(|k| k.name.clone()).collect();
    let mut e = CudaExecutor::at_level(&ptx, &names, ordinal, level)?;
    // Whoever measures on this GPU is not disturbed.
    let _turn = Turn::alone(Some(&crate::tune::gpu_lock(ordinal)))
        .map_err(|e| ExecError::Compile(e.to_string()))?;
    all(p, &mut e)
}

/// Outputs, and the kernels in which something is modelled.
fn on_cpu(p: &Prepared) -> Result<(Vec<Outputs>, Vec<String>), ExecError> {
    let mut e = CpuExecutor::new(&p.module, CpuOptions::default())?;
    let stats = e.kernel_stats();
    let modelled = stats.into_iter().filter(|k| !k.modelled.is_empty());
    let modelled = modelled.map(|k| k.symbol).collect();
    Ok((all(p, &mut e)?, modelled))
}

fn all(p: &Prepared, e: &mut dyn Executor) -> Result<Vec<Outputs>, ExecError> {
    (0..p.random.kernels.len())
        .map(|k| identity::run(p, k, e))
        .collect()
}

fn read_record(path: &PathBuf, plans: bool) -> Result<BTreeMap<(u64, usize), String>, Failure> {
    let advice = "make a record with kerf selftest --record FILE";
    let text = std::fs::read_to_string(path)
        .map_err(|e| Failure::new(format!("cannot read {}: {e}", path.display())).help(advice))?;
    if text.trim().is_empty() {
        return Err(Failure::new(format!("{} holds no digests", path.display())).help(advice));
    }
    text.lines()
        .enumerate()
        .map(|(i, l)| {
            let l: Line = serde_json::from_str(l).map_err(|e| {
                // The parser counts lines of its own, of which there is one.
                let why = e.to_string();
                let why = why.split(" at line ").next().unwrap_or_default();
                Failure::new(format!(
                    "{}:{}:{}: not a line of a record: {why}",
                    path.display(),
                    i + 1,
                    e.column()
                ))
                .help(advice)
            })?;
            if l.plan != plans {
                let (with, option) = match l.plan {
                    true => ("with", "add --plans"),
                    false => ("without", "leave --plans away"),
                };
                return Err(Failure::new(format!(
                    "{}:{}: recorded {with} plans",
                    path.display(),
                    i + 1
                ))
                .help(option));
            }
            Ok(((l.seed, l.kernel), l.digest))
        })
        .collect()
}

fn unwritable(path: &Path, why: &str) -> Failure {
    Failure::new(format!("cannot write {}: {why}", path.display()))
        .help("choose another file with --record, in a folder that exists")
}

fn writable(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(unwritable(path, "it is a folder"));
    }
    if !files::folder(path).is_dir() {
        return Err(unwritable(
            path,
            &format!("{} is not a folder", files::folder(path).display()),
        ));
    }
    Ok(())
}

/// Runs the command: 0 if every kernel without modelled operations agrees, 1 otherwise.
pub fn run(tools: &Toolchain, o: &Options, format: Format, style: Style) -> Result<i32, Failure> {
    let lib = tools.libdevice.as_ref().ok_or_else(|| {
        Failure::new("libdevice.10.bc was not found").help("run scripts/setup.sh (make setup)")
    })?;
    let lib = std::fs::read(lib).map_err(|e| Failure::new(format!("{}: {e}", lib.display())))?;
    let record = o
        .against
        .as_ref()
        .map(|p| read_record(p, o.plans))
        .transpose()?;
    if let Some(path) = &o.record {
        // Asked before the work rather than after it.
        writable(path)?;
    }
    let mut t = Tally::default();
    let mut lines = Vec::new();
    let modules = o.count.div_ceil(PER_MODULE);
    let clock = std::time::Instant::now();
    let mut told = clock.elapsed();
    // Where lines stay, those below are enough.
    let work = progress::live().then(|| Work::of(modules * PER_MODULE, "kernels compared"));
    for i in 0..modules as u64 {
        if o.seconds.is_some_and(|s| clock.elapsed().as_secs() >= s) {
            break;
        }
        let seed = o.seed.wrapping_add(i);
        let p = identity::prepare(seed, PER_MODULE, &lib, &tools.arch, o.plans)?;
        let (cpu, modelled) = on_cpu(&p)?;
        let gpu = if o.cuda {
            Some(on_cuda(&p, &tools.arch, o.ordinal, 4)?)
        } else {
            None
        };
        for (k, kernel) in p.random.kernels.iter().enumerate() {
            let approx = modelled.contains(&kernel.name);
            let mine = gpu.as_ref().map_or(&cpu[k], |g| &g[k]);
            let digest = format!("{:016x}", mine.digest());
            let (equal, why) = match (&gpu, &record) {
                (Some(g), _) => {
                    let mut note = cpu[k].differences(&g[k]);
                    if let (Some(n), false) = (&mut note, approx) {
                        // A kernel that does not even agree with itself has a race, here or there.
                        let again = on_cuda(&p, &tools.arch, o.ordinal, 4)?;
                        if again[k] != g[k] {
                            n.push_str("; the GPU does not repeat its own result");
                        }
                        // The assembler's optimiser must not change results either.
                        let plain = on_cuda(&p, &tools.arch, o.ordinal, 0)?;
                        n.push_str(match (plain[k] == cpu[k], plain[k] == g[k]) {
                            (true, _) => {
                                "; the GPU agrees with the CPU when ptxas does not optimise"
                            }
                            (_, true) => "; the same at every level of ptxas",
                            _ => "; a third result when ptxas does not optimise",
                        });
                    }
                    (note.is_none(), note)
                }
                (None, Some(r)) => match r.get(&(seed, k)) {
                    Some(d) => (
                        *d == digest,
                        Some("digest differs from the record".to_owned()),
                    ),
                    None => (false, Some("not in the record".to_owned())),
                },
                (None, None) => (true, None),
            };
            t.kernels += 1;
            match (approx, equal) {
                (true, true) => t.approx_equal += 1,
                (true, false) => t.approx_different += 1,
                (false, true) => t.equal += 1,
                (false, false) => {
                    t.different += 1;
                    let what = format!("seed {seed} kernel {k}: {}", why.unwrap_or_default());
                    note(&what);
                    t.failures.push(what);
                }
            }
            t.approx_kernels += usize::from(approx);
            lines.push(Line {
                seed,
                kernel: k,
                digest,
                approx,
                plan: o.plans,
            });
        }
        if let Some(w) = &work {
            w.done(t.kernels);
        }
        // A run that is stopped from outside leaves these lines.
        if work.is_none() && clock.elapsed() - told >= TELL {
            told = clock.elapsed();
            progress::line(&format!(
                "{} of {} kernels after {:.0} s: {} different, {} of {} with modelled operations different",
                t.kernels,
                modules * PER_MODULE,
                told.as_secs_f64(),
                t.different,
                t.approx_different,
                t.approx_kernels
            ));
        }
    }
    drop(work);
    if let Some(path) = &o.record {
        let text: Vec<String> = lines
            .iter()
            .filter_map(|l| serde_json::to_string(l).ok())
            .collect();
        files::write_whole(path, &(text.join("\n") + "\n"))
            .map_err(|e| unwritable(path, &e.to_string()))?;
    }
    if format == Format::Json {
        say(&format!(
            "{}\n",
            serde_json::json!({ "schema": "kerf.selftest/1", "seed": o.seed, "plans": o.plans, "tally": t })
        ))?;
    } else {
        let with = match (o.cuda, &o.against) {
            (true, _) => "CPU executor against this GPU".to_owned(),
            (_, Some(p)) => format!("CPU executor against {}", p.display()),
            _ => "CPU executor alone (nothing compared)".to_owned(),
        };
        let under = if o.plans { " under random plans" } else { "" };
        let mut text = format!("{with}: {} random kernels{under}\n", t.kernels);
        if o.cuda || o.against.is_some() {
            let _ = writeln!(
                text,
                "  computed exactly as the hardware does: {} equal, {} different",
                t.equal, t.different
            );
            let _ = writeln!(
                text,
                "  with operations that the CPU models: {} equal, {} different",
                t.approx_equal, t.approx_different
            );
        }
        for f in t.failures.iter().take(20) {
            let _ = writeln!(text, "  {}", style.bad(f));
        }
        say(&text)?;
    }
    Ok(i32::from(t.different > 0))
}

/// Writes a random module as a source, input files and one workload a kernel, so that a kernel that
/// fails can be run and cut down by hand; with `plans`, the plan for `kerf run --plan` too.
pub fn dump(seed: u64, plans: bool, dir: &std::path::Path) -> Result<i32, Failure> {
    use kerf_workload::ElemType;
    use kerf_workload::Scalar;
    use kerf_workload::npy;
    let fail = |e: String| {
        Failure::new(format!("cannot write into {}: {e}", dir.display()))
            .help("choose another folder with --dump")
    };
    std::fs::create_dir_all(dir).map_err(|e| fail(e.to_string()))?;
    let m = kerf_fuzz::random_kernel::module(seed, PER_MODULE);
    kerf_files::write_whole(dir.join("module.ll"), &m.ir).map_err(|e| fail(e.to_string()))?;
    if plans {
        let bad = |e: kerf_llvm::LlvmError| Failure::new(e.to_string());
        let module = kerf_llvm::Module::parse(m.ir.as_bytes(), "random").map_err(bad)?;
        kerf_ir::prepare::prepare(&module, "sm_90").map_err(bad)?;
        let plan = kerf_fuzz::random_plan::random_plan(&module, seed);
        let text = serde_json::to_string(&plan).map_err(|e| fail(e.to_string()))?;
        kerf_files::write_whole(dir.join("plan.json"), text).map_err(|e| fail(e.to_string()))?;
    }
    let types = [
        ("64", Scalar::F64),
        ("32", Scalar::F32),
        ("16", Scalar::F16),
        ("I", Scalar::I32),
    ];
    for (k, kernel) in m.kernels.iter().enumerate() {
        let n = kernel.threads();
        let i = kerf_fuzz::random_kernel::inputs(seed, k, n);
        let bytes: [Vec<u8>; 4] = [
            i.f64.iter().flat_map(|v| v.to_le_bytes()).collect(),
            i.f32.iter().flat_map(|v| v.to_le_bytes()).collect(),
            i.f16.iter().flat_map(|v| v.to_le_bytes()).collect(),
            i.i32.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ];
        let mut text = String::from("source = \"module.ll\"\n");
        for ((name, t), data) in types.iter().zip(&bytes) {
            let file = format!("{}_in{name}.npy", kernel.name);
            npy::write(&dir.join(&file), &ElemType::Scalar(*t), &[n], data)
                .map_err(|e| fail(e.to_string()))?;
            text += &format!(
                "[[buffer]]\nname = \"in{name}\"\ntype = \"{t}\"\nlen = {n}\ninit = {{ file = \"{file}\" }}\n"
            );
        }
        for (name, t) in &types {
            text += &format!(
                "[[buffer]]\nname = \"out{name}\"\ntype = \"{t}\"\nlen = {n}\noutput = true\n"
            );
        }
        let ([gx, gy, gz], [bx, by, bz]) = (kernel.grid, kernel.block);
        text += &format!(
            "[[launch]]\nkernel = \"{}\"\ngrid = [{gx}, {gy}, {gz}]\nblock = [{bx}, {by}, {bz}]\nargs = [\"in64\", \"in32\", \"in16\", \"inI\", \"out64\", \"out32\", \"out16\", \"outI\"]\n",
            kernel.name
        );
        kerf_files::write_whole(dir.join(format!("{}.toml", kernel.name)), text)
            .map_err(|e| fail(e.to_string()))?;
    }
    say(&format!(
        "{} kernels of seed {seed} in {}\n",
        m.kernels.len(),
        dir.display()
    ))?;
    Ok(0)
}

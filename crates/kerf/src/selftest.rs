//! `kerf selftest`: random kernels on the CPU executor and on a GPU, compared bit by bit; or on one of
//! them, compared with a record made elsewhere.
use crate::DeviceArg;
use crate::fail::Failure;
use crate::files;
use crate::output::{Format, Style, note, say};
use crate::parse::{parse_count, parse_seed};
use crate::progress::{self, Work};
use crate::toolchain;
use kerf_clang::compile::Toolchain;
use kerf_exec::ExecError;
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_fuzz::identity::{self, Outputs, PreparedRandom};
use kerf_run::job::MachineShare;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Kernels of one module: compiling a few together costs less.
const PER_MODULE: usize = 4;

/// How often it is said how far the test is.
const TELL: std::time::Duration = std::time::Duration::from_secs(5);

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// Number of kernels.
    #[arg(long, default_value_t = 200, allow_negative_numbers = true, value_parser = parse_count)]
    count: usize,
    /// Seed of the first module.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = parse_seed)]
    seed: u64,
    /// Compare with this device.
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceArg,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
    /// Give each kernel a plan at random before comparing: narrower formats, variants, made
    /// functions, rewritten expressions, versions for a part of the warps, elements a thread,
    /// code shapes.
    #[arg(long)]
    plans: bool,
    /// Stop after this many seconds, with what was compared by then.
    #[arg(long, value_name = "S")]
    seconds: Option<u64>,
    /// Write the digests to this file.
    #[arg(long)]
    record: Option<PathBuf>,
    /// Compare with the digests of this file.
    #[arg(long)]
    against: Option<PathBuf>,
    /// Write the module of --seed to this folder, as workloads with their inputs, and stop.
    #[arg(long)]
    dump: Option<PathBuf>,
}

/// Runs the command.
pub fn command(a: Args, format: Format, style: Style) -> Result<i32, Failure> {
    if let Some(dir) = &a.dump {
        return dump(a.seed, a.plans, dir);
    }
    run(&crate::toolchain::discover("sm_90"), &a, format, style)
}

impl Args {
    fn cuda(&self) -> bool {
        self.device == DeviceArg::Cuda
    }
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

fn on_cuda(
    p: &PreparedRandom,
    arch: &str,
    ordinal: i32,
    level: u32,
) -> Result<Vec<Outputs>, ExecError> {
    let ptx = kerf_ir::finish::ptx(&p.module, arch).map_err(|e| ExecError::Compile(e.0))?;
    let names: Vec<String> = p.random.kernels.iter().map(|k| k.name.clone()).collect();
    let mut e = CudaExecutor::at_level(&ptx, &names, ordinal, level)?;
    // Whoever measures on this GPU is not disturbed.
    let _turn = MachineShare::alone(Some(&crate::tune::gpu_lock(ordinal)))
        .map_err(|e| ExecError::Compile(e.to_string()))?;
    all(p, &mut e)
}

/// Outputs, and the kernels in which something is modelled.
fn on_cpu(p: &PreparedRandom) -> Result<(Vec<Outputs>, Vec<String>), ExecError> {
    let mut e = CpuExecutor::new(&p.module, CpuOptions::default())?;
    let stats = e.kernel_stats();
    let modelled = stats.into_iter().filter(|k| !k.modelled.is_empty());
    let modelled = modelled.map(|k| k.symbol).collect();
    Ok((all(p, &mut e)?, modelled))
}

fn all(p: &PreparedRandom, e: &mut dyn Executor) -> Result<Vec<Outputs>, ExecError> {
    (0..p.random.kernels.len())
        .map(|k| identity::run(p, k, e))
        .collect()
}

/// Digests of outputs, by seed and kernel.
type Digests = BTreeMap<(u64, usize), String>;

fn read_record(path: &PathBuf, plans: bool) -> Result<Digests, Failure> {
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

/// What a kernel's outputs are compared with.
struct Comparison<'a> {
    tools: &'a Toolchain,
    ordinal: i32,
    /// Digests made elsewhere.
    record: Option<BTreeMap<(u64, usize), String>>,
}

impl Comparison<'_> {
    /// Where the outputs of a kernel differ from the GPU's, or from the record. A difference says whether the GPU repeats
    /// its result, and whether the assembler's optimiser has a part in it.
    fn difference(
        &self,
        (p, seed, k): (&PreparedRandom, u64, usize),
        cpu: &Outputs,
        gpu: Option<&Outputs>,
        approx: bool,
    ) -> Result<Option<String>, Failure> {
        if let Some(g) = gpu {
            let mut note = cpu.differences(g);
            if let (Some(n), false) = (&mut note, approx) {
                // A kernel that does not even agree with itself has a race, here or there.
                let again = on_cuda(p, &self.tools.arch, self.ordinal, 4)?;
                if again[k] != *g {
                    n.push_str("; the GPU does not repeat its own result");
                }
                // The assembler's optimiser must not change results either.
                let plain = on_cuda(p, &self.tools.arch, self.ordinal, 0)?;
                n.push_str(match (plain[k] == *cpu, plain[k] == *g) {
                    (true, _) => "; the GPU agrees with the CPU when ptxas does not optimise",
                    (_, true) => "; the same at every level of ptxas",
                    _ => "; a third result when ptxas does not optimise",
                });
            }
            return Ok(note);
        }
        let Some(record) = &self.record else {
            return Ok(None);
        };
        Ok(match record.get(&(seed, k)) {
            Some(d) if *d == digest(cpu) => None,
            Some(_) => Some("digest differs from the record".to_owned()),
            None => Some("not in the record".to_owned()),
        })
    }
}

fn digest(o: &Outputs) -> String {
    format!("{:016x}", o.digest())
}

impl Tally {
    /// Counts a kernel; a difference without modelled operations is a failure.
    fn add(&mut self, approx: bool, difference: Option<String>, which: &str) {
        self.kernels += 1;
        match (approx, difference) {
            (true, None) => self.approx_equal += 1,
            (true, Some(_)) => self.approx_different += 1,
            (false, None) => self.equal += 1,
            (false, Some(why)) => {
                self.different += 1;
                let what = format!("{which}: {why}");
                note(&what);
                self.failures.push(what);
            }
        }
        self.approx_kernels += usize::from(approx);
    }

    fn human(&self, a: &Args, style: Style) -> String {
        let with = match (a.cuda(), &a.against) {
            (true, _) => "CPU executor against this GPU".to_owned(),
            (_, Some(p)) => format!("CPU executor against {}", p.display()),
            _ => "CPU executor alone (nothing compared)".to_owned(),
        };
        let under = if a.plans { " under random plans" } else { "" };
        let mut text = format!("{with}: {} random kernels{under}\n", self.kernels);
        if a.cuda() || a.against.is_some() {
            let _ = writeln!(
                text,
                "  computed exactly as the hardware does: {} equal, {} different",
                self.equal, self.different
            );
            let _ = writeln!(
                text,
                "  with operations that the CPU models: {} equal, {} different",
                self.approx_equal, self.approx_different
            );
        }
        for f in self.failures.iter().take(20) {
            let _ = writeln!(text, "  {}", style.bad(f));
        }
        text
    }
}

/// Compares the kernels of random modules until all are done, or the time is over.
fn compare_all(
    comparison: &Comparison,
    lib: &[u8],
    a: &Args,
) -> Result<(Tally, Vec<Line>), Failure> {
    let arch = &comparison.tools.arch;
    let mut t = Tally::default();
    let mut lines = Vec::new();
    let modules = a.count.div_ceil(PER_MODULE);
    let clock = std::time::Instant::now();
    let mut told = clock.elapsed();
    // Where lines stay, those below are enough.
    let work = progress::live().then(|| Work::in_parts(modules * PER_MODULE, "kernels compared"));
    for i in 0..modules as u64 {
        if a.seconds.is_some_and(|s| clock.elapsed().as_secs() >= s) {
            break;
        }
        let seed = a.seed.wrapping_add(i);
        let p = identity::prepare(seed, PER_MODULE, lib, arch, a.plans)?;
        let (cpu, modelled) = on_cpu(&p)?;
        let gpu = match a.cuda() {
            true => Some(on_cuda(&p, arch, a.gpu, 4)?),
            false => None,
        };
        for (k, kernel) in p.random.kernels.iter().enumerate() {
            let approx = modelled.contains(&kernel.name);
            let there = gpu.as_ref().map(|g| &g[k]);
            let difference = comparison.difference((&p, seed, k), &cpu[k], there, approx)?;
            t.add(approx, difference, &format!("seed {seed} kernel {k}"));
            lines.push(Line {
                seed,
                kernel: k,
                digest: digest(there.unwrap_or(&cpu[k])),
                approx,
                plan: a.plans,
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
    Ok((t, lines))
}

/// Compares: 0 if every kernel without modelled operations agrees, 1 otherwise.
fn run(tools: &Toolchain, a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let lib = (tools.libdevice.as_ref())
        .ok_or_else(|| toolchain::no_libdevice("set KERF_LIBDEVICE to it"))?;
    let lib = std::fs::read(lib).map_err(|e| Failure::new(format!("{}: {e}", lib.display())))?;
    let against = a.against.as_ref();
    let comparison = Comparison {
        tools,
        ordinal: a.gpu,
        record: against.map(|p| read_record(p, a.plans)).transpose()?,
    };
    if let Some(path) = &a.record {
        // Asked before the work rather than after it.
        writable(path)?;
    }
    let (t, lines) = compare_all(&comparison, &lib, a)?;
    if let Some(path) = &a.record {
        let text: Vec<String> = lines
            .iter()
            .filter_map(|l| serde_json::to_string(l).ok())
            .collect();
        files::write_whole(path, &(text.join("\n") + "\n"))
            .map_err(|e| unwritable(path, &e.to_string()))?;
    }
    match format {
        Format::Json => say(&format!(
            "{}\n",
            serde_json::json!({ "schema": "kerf.selftest/1", "seed": a.seed, "plans": a.plans, "tally": t })
        ))?,
        Format::Human | Format::Csv => say(&t.human(a, style))?,
    }
    Ok(i32::from(t.different > 0))
}

/// Writes a random module as a source, input files and one workload a kernel, so that a kernel that
/// fails can be run and cut down by hand; with `plans`, the plan for `kerf run --plan` too.
fn dump(seed: u64, plans: bool, dir: &std::path::Path) -> Result<i32, Failure> {
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
        let plan = kerf_fuzz::random_dimensions::whole_plan(&module, seed);
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

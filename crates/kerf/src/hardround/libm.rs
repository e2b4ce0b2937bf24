//! `kerf hardround check-libm`: libdevice's f64 functions on hard cases.
use super::find;
use crate::DeviceArg;
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::progress;
use crate::table::Table;
use crate::toolchain;
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_hardround::confirm::value;
use kerf_hardround::format::{BINARY64, hex};
use kerf_hardround::function::{ElementaryFunction, FUNCTIONS};
use kerf_hardround::leaf::{Query, search};
use kerf_hardround::libm::{JudgedResult, judge};
use kerf_hardround::list::List;
use kerf_hardround::search::Isa;
use kerf_hardround::units::{Units, work};
use kerf_hardround_gpu::libm;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Arguments of each stretch that is searched for hard cases, where no list is given.
const STRETCH: u64 = 1 << 32;
/// Identical bits of those cases.
const BITS: u32 = 25;
/// Places where stretches begin, as far as the function is defined there.
const PLACES: [f64; 12] = [
    0.001, 0.02, 0.3, 0.75, 1.1, 1.9, 3.3, 14.7, 130.0, -0.04, -0.6, -5.5,
];
/// Misroundings shown of each function.
const SHOWN: usize = 3;

/// Arguments.
#[derive(clap::Args)]
pub struct Args {
    /// Functions: exp, log, x^3, ...; all by default, or the list's.
    pub functions: Vec<String>,
    /// A library to check: a shared object with the names of C, such as libm.so.6, with a pattern of its symbols where they
    /// differ (./libcore.so:cr_%), or libdevice. May be repeated: one table. By default libdevice alone, in detail.
    #[arg(long, value_name = "LIBRARY[:PATTERN]")]
    pub library: Vec<String>,
    /// With --library: exit code 1 where a result is misrounded to nearest, or in any rounding mode.
    #[arg(long, value_name = "MODES", requires = "library")]
    pub require_correct: Option<RequiredModes>,
    /// Arguments to check: a list of kerf hardround (.csv, .json, text) or of CORE-MATH (.wc). Without one, hard
    /// cases are searched for in some stretches of each function's domain.
    #[arg(long, value_name = "FILE")]
    pub list: Option<PathBuf>,
    /// Where the functions run: lowered for the CPU, or on a GPU.
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceArg,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
}

/// Rounding modes in which results have to be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RequiredModes {
    /// To nearest.
    Nearest,
    /// In all modes that were checked.
    All,
}

/// What became of a function.
struct Checked {
    function: ElementaryFunction,
    arguments: usize,
    /// Of those, arguments whose value lies next to the middle of two numbers.
    midway: usize,
    wrong: Vec<(f64, JudgedResult, u64)>,
    worst: Option<(f64, JudgedResult)>,
    /// Numbers between the result and the rounded value, at most.
    steps: u64,
}

impl Checked {
    fn holds(&self) -> bool {
        self.steps <= libm::documented(self.function)
    }
}

/// Runs the command: 1 if a result is farther off than NVIDIA documents.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let list = a.list.as_deref().map(read).transpose()?;
    let functions = functions(a, list.as_ref())?;
    let mut exec = executor(a, &functions)?;
    let device = exec.device().name;
    let mut all = Vec::new();
    for f in functions {
        let arguments = match &list {
            Some(l) => l.arguments.clone(),
            None => {
                progress::status(&format!("{}: searching for hard cases", f.name()));
                generate(f)
            }
        };
        let results = libm::apply(exec.as_mut(), f, &arguments)?;
        all.push(judged(f, &arguments, &results));
    }
    progress::clear();
    let good = all.iter().all(Checked::holds);
    say(&match format {
        Format::Json => json(&all, a, &device),
        Format::Csv => csv(&all),
        Format::Human => human(&all, &device, style),
    })?;
    Ok(i32::from(!good))
}

/// An executor that has libdevice's functions loaded.
pub fn executor(a: &Args, functions: &[ElementaryFunction]) -> Result<Box<dyn Executor>, Failure> {
    let arch = match a.device {
        DeviceArg::Cuda => format!("sm_{}", CudaExecutor::capability(a.gpu)?),
        DeviceArg::Cpu => "sm_90".to_owned(),
    };
    let libdevice = library(&arch)?;
    let module = libm::program(functions, &libdevice, &arch)?;
    let exec: Box<dyn Executor> = match a.device {
        DeviceArg::Cpu => Box::new(CpuExecutor::new(&module, CpuOptions::default())?),
        DeviceArg::Cuda => {
            let ptx =
                kerf_ir::finish::ptx(&module, &arch).map_err(|e| Failure::new(e.to_string()))?;
            let mut kernels: Vec<String> = functions.iter().map(|f| libm::kernel(*f)).collect();
            kernels.sort();
            kernels.dedup();
            Box::new(CudaExecutor::new(&ptx, &kernels, a.gpu)?)
        }
    };
    Ok(exec)
}

/// Reads a list of arguments.
pub fn read(path: &Path) -> Result<List, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::new(format!("cannot read {shown}: {e}")).help("check the path and its permissions")
    })?;
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    List::parse(&text, ending).map_err(|e| {
        Failure::new(format!("{shown}: {e}"))
            .help("a list has one argument a line, such as 0x1.8p+0; # begins a comment")
    })
}

/// A function that libdevice has.
fn provided(name: &str) -> Result<ElementaryFunction, Failure> {
    let f = find(name)?;
    match libm::is_there(f) {
        true => Ok(f),
        false => Err(Failure::new(format!("libdevice has no {}", f.name()))
            .help("choose a function that CUDA has in double precision, such as exp or erfc")),
    }
}

fn functions(a: &Args, list: Option<&List>) -> Result<Vec<ElementaryFunction>, Failure> {
    if !a.functions.is_empty() {
        return a.functions.iter().map(|f| provided(f)).collect();
    }
    match list {
        None => {
            let all = FUNCTIONS.iter().map(|f| f.1);
            Ok(all.filter(|f| libm::is_there(*f)).collect())
        }
        Some(List {
            function: Some(f), ..
        }) => Ok(vec![provided(f)?]),
        Some(_) => Err(Failure::new("the list does not say whose arguments it has")
            .help("name the function: kerf hardround check-libm exp --list FILE")),
    }
}

fn library(arch: &str) -> Result<Vec<u8>, Failure> {
    let tools = toolchain::discover(arch);
    let path =
        (tools.libdevice).ok_or_else(|| toolchain::no_libdevice("set KERF_LIBDEVICE to it"))?;
    std::fs::read(&path).map_err(|e| Failure::new(format!("cannot read {}: {e}", path.display())))
}

/// Hard cases of some stretches of the domain.
pub fn generate(f: ElementaryFunction) -> Vec<f64> {
    let query = Query {
        function: f,
        format: BINARY64,
        bits: BITS,
        isa: Some(Isa::best()),
    };
    let mut all = Vec::new();
    for from in PLACES {
        let Some((_, e)) = BINARY64.split(from) else {
            continue;
        };
        let to = from + STRETCH as f64 * 2f64.powi(e);
        let Ok(units) = Units::new(&query, from, to) else {
            continue;
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let range = 0..units.len();
        let each = |g: &_, s: &mut _| search(&query, g, s);
        work(
            &units,
            range,
            cores,
            |_| true,
            each,
            |_, _, found| {
                all.extend(found.cases.iter().map(|c| c.x));
                ControlFlow::Continue(())
            },
        );
    }
    all.sort_by(f64::total_cmp);
    all
}

/// Numbers from one to the other.
fn steps(a: f64, b: f64) -> u64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0;
    }
    if a.is_nan() || b.is_nan() {
        return u64::MAX;
    }
    let order = |x: f64| match x.to_bits() as i64 {
        n if n < 0 => i128::from(i64::MIN) - i128::from(n),
        n => i128::from(n),
    };
    u64::try_from((order(a) - order(b)).unsigned_abs()).unwrap_or(u64::MAX)
}

fn judged(f: ElementaryFunction, arguments: &[f64], results: &[f64]) -> Checked {
    let pairs: Vec<(f64, f64)> = arguments
        .iter()
        .copied()
        .zip(results.iter().copied())
        .collect();
    let all = parallel(&pairs, |(x, y)| {
        let odd = x.is_finite()
            && value(f, BINARY64, &rug::Float::with_val(64, *x))
                .is_ok_and(|v| v.round_bit != v.ones);
        (judge(f, *x, *y), odd)
    });
    let mut c = Checked {
        function: f,
        arguments: arguments.len(),
        midway: all.iter().filter(|a| a.1).count(),
        wrong: Vec::new(),
        worst: None,
        steps: 0,
    };
    for ((x, _), (j, _)) in pairs.iter().zip(all) {
        if c.worst.is_none_or(|(_, w)| j.ulps > w.ulps) {
            c.worst = Some((*x, j));
        }
        if !j.is_right() {
            let away = steps(j.got, j.right);
            c.steps = c.steps.max(away);
            c.wrong.push((*x, j, away));
        }
    }
    // The farthest off first.
    c.wrong
        .sort_by(|a, b| b.1.ulps.total_cmp(&a.1.ulps).then(a.0.total_cmp(&b.0)));
    c
}

/// Applies `f` on all cores, in order.
pub fn parallel<T: Sync, R: Send>(all: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let size = all.len().div_ceil(cores).max(1);
    let parts: Vec<Mutex<Vec<R>>> = all.chunks(size).map(|_| Mutex::default()).collect();
    std::thread::scope(|s| {
        for (part, slot) in all.chunks(size).zip(&parts) {
            let f = &f;
            s.spawn(move || {
                let results: Vec<R> = part.iter().map(f).collect();
                *slot.lock().unwrap_or_else(|e| e.into_inner()) = results;
            });
        }
    });
    parts
        .into_iter()
        .flat_map(|p| p.into_inner().unwrap_or_else(|e| e.into_inner()))
        .collect()
}

pub fn ulps(x: f64) -> String {
    if x.is_finite() {
        format!("{x:.6}")
    } else {
        "inf".into()
    }
}

fn human(all: &[Checked], device: &str, style: Style) -> String {
    let head = [
        "function",
        "arguments",
        "next to a midpoint",
        "misrounded",
        "worst ulp",
        "numbers off",
        "documented",
        "",
    ];
    let mut t = Table::new(1, head.map(str::to_owned).to_vec());
    for c in all {
        t.row(vec![
            libm::called(c.function),
            c.arguments.to_string(),
            c.midway.to_string(),
            c.wrong.len().to_string(),
            c.worst.map_or(String::new(), |w| ulps(w.1.ulps)),
            c.steps.to_string(),
            libm::documented(c.function).to_string(),
            match c.holds() {
                true => style.good("within"),
                false => style.bad("beyond"),
            },
        ]);
    }
    let mut out = format!("libdevice on {device}, against MPFR\n{}", t.render(style));
    for c in all.iter().filter(|c| !c.wrong.is_empty()) {
        out += &format!("{}\n", style.bold(&libm::called(c.function)));
        for (x, j, _) in c.wrong.iter().take(SHOWN) {
            out += &format!(
                "  {}: {}, rounded {}, {} ulp from the value\n",
                hex(*x),
                hex(j.got),
                hex(j.right),
                ulps(j.ulps)
            );
        }
    }
    out
}

fn csv(all: &[Checked]) -> String {
    let mut out = "function,x,result,rounded,ulp\n".to_owned();
    for c in all {
        for (x, j, _) in &c.wrong {
            out += &format!(
                "{},{},{},{},{}\n",
                c.function.name(),
                hex(*x),
                hex(j.got),
                hex(j.right),
                ulps(j.ulps)
            );
        }
    }
    out
}

fn json(all: &[Checked], a: &Args, device: &str) -> String {
    // JSON has no infinity.
    let number = |x: f64| match x.is_finite() {
        true => serde_json::json!(x),
        false => serde_json::json!("inf"),
    };
    let functions: Vec<_> = all
        .iter()
        .map(|c| {
            let wrong: Vec<_> = c
                .wrong
                .iter()
                .map(|(x, j, away)| {
                    serde_json::json!({
                        "x": hex(*x), "result": hex(j.got), "rounded": hex(j.right),
                        "ulp": number(j.ulps), "numbers_off": away,
                    })
                })
                .collect();
            serde_json::json!({
                "function": c.function.name(),
                "arguments": c.arguments,
                "next_to_midpoint": c.midway,
                "misrounded": c.wrong.len(),
                "worst_ulp": c.worst.map(|w| number(w.1.ulps)),
                "worst_at": c.worst.map(|w| hex(w.0)),
                "numbers_off": c.steps,
                "documented": libm::documented(c.function),
                "within": c.holds(),
                "cases": wrong,
            })
        })
        .collect();
    let document = serde_json::json!({
        "schema": "kerf.check-libm/1",
        "device": device,
        "list": a.list,
        "functions": functions,
    });
    format!("{document}\n")
}

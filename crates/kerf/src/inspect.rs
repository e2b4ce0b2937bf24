//! `kerf inspect`: what a file holds, as Kerf sees it.
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::parse::{parse_arch, parse_lambda};
use crate::progress::Work;
use kerf_clang::compile::{Language, Toolchain};
use kerf_ir::kernels;
use kerf_ir::kernels::{GlobalInfo, KernelInfo, ParamKind, ScalarAt};
use kerf_ir::obstacles;
use kerf_ir::obstacles::{Obstacle, ObstacleScope};
use kerf_ir::program;
use kerf_ir::sites;
use kerf_ir::sites::Site;
use kerf_llvm::Module;
use kerf_num::StorageFormat;
use kerf_pass::records::RecordLayout;
use kerf_pass::{KernelPlan, MathVariant, Plan, Select, SiteFormat, math};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// CUDA (.cu), OpenCL (.cl), PTX (.ptx) or LLVM (.ll, .bc) file.
    pub file: PathBuf,
    /// Only this kernel.
    #[arg(long)]
    kernel: Option<String>,
    /// List every site.
    #[arg(long)]
    all: bool,
    /// Print the prepared IR, the PTX or a plan instead.
    #[arg(long, value_enum)]
    emit: Option<Emit>,
    /// Give every site that can have it this format, in what --emit prints (by default the plan):
    /// f32, f16, bf16; dw32, dw64 are pairs of f32, f64; dw32.cmp, dw64.cmp the same by the
    /// published formulas of composite precision.
    #[arg(long, value_name = "FORMAT")]
    all_as: Option<SiteFormat>,
    /// Hold every buffer and array that can be in this format, in what --emit prints: f32, f16, bf16, or codes with a power of
    /// two as their scale: i16*2^-12, i8*2^-5, e4m3, e5m2*2^3.
    #[arg(long, value_name = "FORMAT")]
    store_as: Option<StorageFormat>,
    /// Store the records of every buffer that can be so, in what --emit prints: planes (one for each field) or padded.
    #[arg(long, value_name = "LAYOUT")]
    records_as: Option<RecordLayout>,
    /// Compute every math site that can be by this variant, in what --emit prints: approx and
    /// approx.ftz (special-function unit, f32), full and full.ftz (divisions), newton0 to newton2
    /// (f64), reciprocal (division by what does not change in the loop).
    #[arg(long, value_name = "VARIANT")]
    math_as: Option<MathVariant>,
    /// Do all that to this fraction of the warps only, in what --emit prints.
    #[arg(long, allow_negative_numbers = true, value_parser = parse_lambda)]
    lambda: Option<f64>,
    /// How those warps are chosen: hash (reproducible), slot (%warpid) or warp (index in the block).
    #[arg(long, default_value = "hash", requires = "lambda")]
    select: Select,
    /// Apply this plan (JSON) to what --emit prints.
    #[arg(long, requires = "emit", conflicts_with_all = ["all_as", "store_as", "records_as", "math_as", "lambda"])]
    plan: Option<PathBuf>,
    /// Target architecture.
    #[arg(long, default_value = "sm_90", value_parser = parse_arch)]
    arch: String,
    /// Flags for the compiler: -I, -D, -std=...
    #[arg(last = true)]
    flags: Vec<String>,
    /// Include folder.
    #[arg(short = 'I')]
    include: Vec<String>,
    /// Macro.
    #[arg(short = 'D')]
    define: Vec<String>,
}

/// Runs the command.
pub fn command(a: Args, format: Format, style: Style) -> Result<i32, Failure> {
    let tools = crate::toolchain::discover(&a.arch);
    let flags = crate::compiler_flags(a.include, a.define, a.flags);
    let changed = a.all_as.is_some() || a.store_as.is_some() || a.math_as.is_some();
    let changed = changed || a.lambda.is_some() || a.records_as.is_some();
    let kernel = a.kernel.as_deref();
    match a.emit.or(changed.then_some(Emit::Plan)) {
        Some(e) => {
            let wish = Wish {
                plan: a.plan.as_deref().map(crate::run::read_plan).transpose(),
                all_as: a.all_as,
                store_as: a.store_as,
                records_as: a.records_as,
                math_as: a.math_as,
                warps: a.lambda.map(|l| (l, a.select)),
            };
            emit(&tools, &a.file, &flags, kernel, e, wish)
        }
        None => run(&tools, &a.file, &flags, kernel, format, style, a.all),
    }
}

#[derive(Serialize)]
struct Group {
    id: usize,
    format: String,
    sites: Vec<usize>,
    variables: Vec<String>,
}

/// A site, and the variants that it has in its own format and in f32.
#[derive(Serialize)]
struct Listed {
    #[serde(flatten)]
    site: Site,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    math: Vec<MathVariant>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    math_in_f32: Vec<MathVariant>,
}

#[derive(Serialize)]
struct Kernel {
    #[serde(flatten)]
    info: KernelInfo,
    sites: Vec<Listed>,
    groups: Vec<Group>,
    histogram: BTreeMap<String, usize>,
    obstacles: Vec<Obstacle>,
}

#[derive(Serialize)]
struct Inspection {
    schema: &'static str,
    source: String,
    cached: bool,
    kernels: Vec<Kernel>,
    globals: Vec<GlobalInfo>,
}

fn groups(sites: &[Listed]) -> Vec<Group> {
    let mut out: BTreeMap<usize, Group> = BTreeMap::new();
    for s in sites.iter().map(|l| &l.site) {
        let g = out.entry(s.group).or_insert_with(|| Group {
            id: s.group,
            format: s.format.to_string(),
            sites: Vec::new(),
            variables: Vec::new(),
        });
        g.sites.push(s.id);
        if let Some(v) = &s.variable
            && !g.variables.contains(v)
        {
            g.variables.push(v.clone());
        }
    }
    out.into_values().collect()
}

fn layout(scalars: &[ScalarAt]) -> String {
    match scalars {
        [] => "unknown".into(),
        [one] => one.kind.to_string(),
        many if many.iter().all(|s| s.kind == many[0].kind) => {
            format!("{}x{}", many[0].kind, many.len())
        }
        many => format!(
            "{{{}}}",
            many.iter()
                .map(|s| s.kind.to_string())
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

fn describe(k: &ParamKind) -> String {
    match k {
        ParamKind::Pointer { element, space, .. } => {
            format!(
                "buffer of {}{}",
                layout(element),
                if *space == 3 { " in local memory" } else { "" }
            )
        }
        ParamKind::Scalar { scalar } => scalar.to_string(),
        ParamKind::Struct { bytes, fields, .. } => {
            format!("struct {} ({bytes} bytes)", layout(fields))
        }
    }
}

/// The variants of a site, for people.
fn by(l: &Listed) -> String {
    let names = |all: &[MathVariant]| {
        let all: Vec<&str> = all.iter().map(|v| v.name()).collect();
        all.join(" ")
    };
    match (l.math.is_empty(), l.math_in_f32.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!("  [{}]", names(&l.math)),
        (true, false) => format!("  [as f32: {}]", names(&l.math_in_f32)),
        _ => format!("  [{}; as f32: {}]", names(&l.math), names(&l.math_in_f32)),
    }
}

fn listed(site: Site, i: kerf_llvm::Value) -> Listed {
    let own = SiteFormat::from(site.format);
    let narrow = kerf_pass::formats::check(i, SiteFormat::F32).is_ok();
    Listed {
        math: math::variants(i, own),
        math_in_f32: match narrow {
            true => math::variants(i, SiteFormat::F32),
            false => Vec::new(),
        },
        site,
    }
}

fn human(i: &Inspection, style: Style, all_sites: bool) -> String {
    let mut o = String::new();
    for k in &i.kernels {
        let _ = writeln!(o, "{} {}", style.bold("kernel"), style.bold(&k.info.name));
        if k.info.signature != k.info.name {
            let _ = writeln!(o, "  {}", style.dim(&k.info.signature));
        }
        for p in &k.info.params {
            let _ = writeln!(
                o,
                "  param {:<14} {:<28} {}",
                p.name,
                p.type_name,
                describe(&p.kind)
            );
        }
        if k.info.static_shared_bytes > 0 || k.info.dynamic_shared {
            let dynamic = if k.info.dynamic_shared {
                ", dynamic shared memory used"
            } else {
                ""
            };
            let _ = writeln!(
                o,
                "  shared memory: {} bytes static{dynamic}",
                k.info.static_shared_bytes
            );
        }
        let _ = writeln!(
            o,
            "  {} floating-point sites in {} groups",
            k.sites.len(),
            k.groups.len()
        );
        let shown = if all_sites { k.sites.len() } else { 40 };
        let _ = writeln!(
            o,
            "  {:>5}  {:<16} {:<5} {:>9}  {:>4}  {:>5}  variable",
            "site", "operation", "type", "line:col", "loop", "group"
        );
        for l in k.sites.iter().take(shown) {
            let s = &l.site;
            let at = s
                .location
                .as_ref()
                .map_or_else(|| "-".into(), |l| format!("{}:{}", l.line, l.column));
            let ty = if s.lanes > 1 {
                format!("{}x{}", s.format, s.lanes)
            } else {
                s.format.to_string()
            };
            let var = s.variable.as_deref().unwrap_or("");
            let f = s
                .function
                .as_ref()
                .map_or_else(String::new, |f| format!("  in {f}"));
            let math = if all_sites { by(l) } else { String::new() };
            let _ = writeln!(
                o,
                "  {:>5}  {:<16} {:<5} {at:>9}  {:>4}  {:>5}  {var}{f}{math}",
                s.id, s.op, ty, s.loop_depth, s.group
            );
        }
        if k.sites.len() > shown {
            let _ = writeln!(o, "  ... {} more; --all shows them", k.sites.len() - shown);
        }
        let h: Vec<String> = k
            .histogram
            .iter()
            .map(|(n, c)| format!("{n} {c}"))
            .collect();
        let _ = writeln!(o, "  instructions: {}", h.join(", "));
        for b in &k.obstacles {
            let at = b
                .location
                .as_ref()
                .map_or_else(String::new, |l| format!(" (line {})", l.line));
            let what = match b.scope {
                ObstacleScope::CpuRun => style.bad("cannot run on the CPU"),
                ObstacleScope::Run => style.bad("cannot run"),
                ObstacleScope::Tuning => "cannot be tuned".to_owned(),
            };
            let _ = writeln!(o, "  {what}: {}{at}: {}", b.what, b.why);
        }
        let _ = writeln!(o);
    }
    for g in &i.globals {
        let space = if g.space == 4 { "constant" } else { "device" };
        let _ = writeln!(
            o,
            "{space} variable {:<16} {:<20} {} bytes",
            g.name, g.type_name, g.bytes
        );
    }
    o
}

/// What `--emit` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Emit {
    /// The prepared module, in which sites are numbered.
    Ir,
    /// The PTX that the CUDA executor loads.
    Ptx,
    /// A plan for `kerf run --plan`: the identity, or what --all-as, --math-as, --store-as and --records-as say.
    Plan,
}

/// What is done to a program before it is printed.
pub struct Wish {
    /// A plan of the user's.
    pub plan: Result<Option<Plan>, Failure>,
    /// A format for all sites.
    pub all_as: Option<SiteFormat>,
    /// A format for all buffers and arrays.
    pub store_as: Option<StorageFormat>,
    /// A layout for all buffers of records.
    pub records_as: Option<RecordLayout>,
    /// A variant for all math sites.
    pub math_as: Option<MathVariant>,
    /// The fraction of warps for which all this is done, and by what they are chosen.
    pub warps: Option<(f64, Select)>,
}

/// The kernel that a user named.
fn one_kernel<'i>(
    infos: &'i [KernelInfo],
    file: &Path,
    wanted: &str,
) -> Result<&'i KernelInfo, Failure> {
    kernels::find(infos, wanted).map_err(|have| {
        Failure::new(format!("{} has no kernel {wanted}", file.display()))
            .help(format!("it has {}", have.join(", ")))
    })
}

/// Whether a plan gives some site a format that is not its own.
fn changes(m: &Module, infos: &[KernelInfo], plan: &Plan) -> bool {
    plan.kernels.iter().any(|(name, k)| {
        let f = kernels::find(infos, name).ok();
        let Some(f) = f.and_then(|i| m.function(&i.symbol)) else {
            return false;
        };
        let own = sites::sites(m, f).sites;
        let other = |s: &Site| k.sites.get(&s.id).is_some_and(|f| *f != s.format.into());
        own.iter().any(other)
    })
}

/// Shows that a file is being compiled, if that takes long.
pub fn compiling(file: &Path) -> Work {
    Work::begin(format!("compiling {}", file.display()))
}

/// Prints the program in one of its forms.
fn emit(
    tools: &Toolchain,
    file: &Path,
    flags: &[String],
    kernel: Option<&str>,
    what: Emit,
    wish: Wish,
) -> Result<i32, Failure> {
    let given = wish.plan?;
    let shown = compiling(file);
    let m = program::load(tools, file, flags)?.module()?;
    drop(shown);
    let infos = kernels::kernels(&m);
    let only = kernel.map(|k| one_kernel(&infos, file, k)).transpose()?;
    let mut plan = given.unwrap_or_else(|| {
        let mut plan = wish
            .all_as
            .map_or_else(Plan::default, |f| Plan::all_sites(&m, f));
        if let Some(f) = wish.store_as {
            plan.hold_all(&m, f);
        }
        if let Some(l) = wish.records_as {
            plan.lay_out_records(&m, l);
        }
        if let Some(v) = wish.math_as {
            plan.compute_all(&m, v);
        }
        match wish.warps {
            Some((lambda, select)) => plan.partitioned(lambda, select),
            None => plan,
        }
    });
    if let Some(k) = only {
        plan.kernels
            .retain(|name, _| kernels::find(&infos, name).is_ok_and(|i| i.symbol == k.symbol));
    }
    let asked = wish.all_as.map(|f| ("--all-as", f));
    if let Some((option, f)) = asked
        && !changes(&m, &infos, &plan)
    {
        note(&format!(
            "{option} {f} changes nothing: no site{} can have that format, or all have it already",
            only.map_or_else(String::new, |k| format!(" of {}", k.name))
        ));
    }
    let records = |k: &KernelPlan| !k.records.is_empty();
    if let Some(l) = wish.records_as
        && !plan.kernels.values().any(records)
    {
        note(&format!(
            "--records-as {l} changes nothing: no parameter{} is a buffer of records that can be stored so",
            only.map_or_else(String::new, |k| format!(" of {}", k.name))
        ));
    }
    if what == Emit::Plan {
        let text = serde_json::to_string(&plan).map_err(|e| Failure::new(e.to_string()))?;
        say(&(text + "\n"))?;
        return Ok(0);
    }
    plan.apply(&m).map_err(|e| Failure::new(e.to_string()))?;
    if what == Emit::Ir {
        say(&m.print())?;
        return Ok(0);
    }
    let lib = match &tools.libdevice {
        Some(p) => std::fs::read(p).map_err(|e| Failure::new(format!("{}: {e}", p.display())))?,
        None => return Err(crate::toolchain::no_libdevice("set KERF_LIBDEVICE to it")),
    };
    let fail = |e: kerf_llvm::LlvmError| Failure::new(e.to_string());
    kerf_ir::finish::finish(&m, &lib, &tools.arch, kerf_ir::finish::Reflect::default())
        .map_err(fail)?;
    say(&kerf_ir::finish::ptx(&m, &tools.arch).map_err(fail)?)?;
    Ok(0)
}

/// Shows what a file holds.
fn run(
    tools: &Toolchain,
    file: &Path,
    flags: &[String],
    kernel: Option<&str>,
    format: Format,
    style: Style,
    all: bool,
) -> Result<i32, Failure> {
    let shown = compiling(file);
    let p = program::load(tools, file, flags)?;
    let m = p.module()?;
    drop(shown);
    let mut infos = kernels::kernels(&m);
    if infos.is_empty() {
        let help = match Language::from_path(file) {
            Some(Language::OpenCl) => "a kernel is a __kernel function that is defined here",
            Some(Language::Ptx) => "a kernel is an .entry that has a body",
            Some(Language::Ir) => {
                "a kernel is a function with the calling convention ptx_kernel that is defined here; the file may be empty"
            }
            _ => {
                "a kernel is a __global__ function that is defined here; templates must be instantiated (template __global__ void k<double>(...);)"
            }
        };
        return Err(Failure::new(format!("{} defines no kernel", file.display())).help(help));
    }
    if let Some(wanted) = kernel {
        let k = one_kernel(&infos, file, wanted)?.symbol.clone();
        infos.retain(|i| i.symbol == k);
    }
    let kernels: Vec<Kernel> = infos
        .into_iter()
        .filter_map(|info| {
            let f = m.function(&info.symbol)?;
            let map = sites::sites(&m, f);
            let all = map.sites.into_iter().zip(map.instructions);
            let s: Vec<Listed> = all.map(|(s, i)| listed(s, i)).collect();
            Some(Kernel {
                groups: groups(&s),
                sites: s,
                histogram: sites::histogram(f),
                obstacles: obstacles::obstacles(&m, f, &p.unlifted),
                info,
            })
        })
        .collect();
    let i = Inspection {
        schema: "kerf.inspect/1",
        source: file.display().to_string(),
        cached: p.cached,
        kernels,
        globals: kernels::globals(&m),
    };
    match format {
        Format::Json => say(&(serde_json::to_string_pretty(&i)
            .map_err(|e| Failure::new(e.to_string()))?
            + "\n"))?,
        Format::Human | Format::Csv => say(&human(&i, style, all))?,
    }
    Ok(0)
}

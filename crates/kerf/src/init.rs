//! `kerf init`: a first workload file for a kernel, tried once.
use crate::fail::Failure;
use crate::files;
use crate::output::{Format, note, say};
use crate::progress;
use crate::run::report_of;
use crate::toolchain;
use kerf_ir::program;
use kerf_llvm::Module;
use kerf_run::job::Job;
use kerf_run::skeleton::{
    KernelKnowledge, KernelsError, Skeleton, TrialOutcome, kernel_knowledge, settle, skeleton,
    used_globals,
};
use std::path::{Path, PathBuf};

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// CUDA (.cu), OpenCL (.cl), PTX (.ptx) or LLVM (.ll, .bc) file.
    pub file: PathBuf,
    /// Kernels to launch, in order; by default all of the file.
    #[arg(long)]
    kernel: Vec<String>,
    /// Write here; by default FILE with .toml, in the current folder. `-` prints it.
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Replace a file that is there.
    #[arg(long)]
    force: bool,
    /// Include folder.
    #[arg(short = 'I')]
    include: Vec<String>,
    /// Macro.
    #[arg(short = 'D')]
    define: Vec<String>,
    /// Flags for the compiler: -I, -D, -std=...
    #[arg(last = true)]
    flags: Vec<String>,
}

/// A path from a folder to a file, where one is below the other; else the whole path.
fn from_folder(folder: &Path, file: &Path) -> PathBuf {
    let whole = |p: &Path| std::fs::canonicalize(p).unwrap_or_else(|_| p.to_owned());
    let (folder, file) = (whole(folder), whole(file));
    file.strip_prefix(&folder)
        .map_or(file.clone(), Path::to_owned)
}

/// The kernels to launch, with what their code tells.
fn chosen(file: &Path, kernels: &[String], m: &Module) -> Result<Vec<KernelKnowledge>, Failure> {
    kernel_knowledge(m, kernels).map_err(|e| match e {
        KernelsError::None => Failure::new(format!("{} has no kernel", file.display()))
            .help("a template counts once it is instantiated: launch it somewhere in the file, or write `template __global__ void k<double>(...);`"),
        KernelsError::Unknown { ref known } => {
            Failure::new(e.to_string()).help(format!("there are {}", known.join(", ")))
        }
    })
}

/// Says what was written, and whether it runs.
fn report(
    path: &Path,
    guesses: usize,
    outcome: &TrialOutcome,
    format: Format,
) -> Result<(), Failure> {
    let TrialOutcome { problem, one_block } = outcome;
    if format == Format::Json {
        return say(&format!(
            "{}\n",
            serde_json::json!({"schema": "kerf.init/1", "workload": path, "guesses": guesses, "problem": problem.as_ref().map(ToString::to_string)})
        ));
    }
    say(&format!("{}\n", path.display()))?;
    progress::line(&format!(
        "{guesses} lines are guesses and say so: look at them first"
    ));
    match problem {
        None => progress::line(&format!(
            "it runs{}, and no access leaves its buffer; next: kerf tune {} --tolerance 1e-6",
            if *one_block {
                " with this block size"
            } else {
                ""
            },
            path.display()
        )),
        Some(e) => note(&format!("it does not run as it is: {e}")),
    }
    Ok(())
}

/// A draft of a workload file at a path, for kernels of a source; all of them where none is named.
fn draft(
    file: &Path,
    flags: &[String],
    kernels: &[String],
    folder: &Path,
) -> Result<Skeleton, Failure> {
    let tools = toolchain::discover("sm_90");
    let shown = crate::inspect::compiling(file);
    let p = program::load(&tools, file, flags)?;
    drop(shown);
    let m = p.module().map_err(kerf_run::job::JobError::from)?;
    let known = chosen(file, kernels, &m)?;
    let globals = used_globals(&m, &known);
    let source = from_folder(folder, file);
    let numbers = kerf_workload::macros::numbers(file);
    let source = source.to_string_lossy();
    Ok(skeleton(&source, flags, &known, &globals, &numbers))
}

/// Tries a draft, every access checked, and writes what came of it: what does not fit is the first thing to edit.
fn settled(s: Skeleton, path: &Path) -> Result<TrialOutcome, Failure> {
    let job = Job {
        memcheck: Some(kerf_exec::cpu::SanitizeOptions::everything()),
        ..Job::plain(path.to_owned(), &toolchain::discover("sm_90"))
    };
    settle(s, job, &report_of).map_err(|e| {
        Failure::new(format!("cannot write {}: {e}", path.display()))
            .help("choose another place with --out")
    })
}

/// Writes a first workload file for kernels of a source, tried once; gives the number of guesses in it.
pub fn first_workload(
    file: &Path,
    flags: &[String],
    kernels: &[String],
    path: &Path,
) -> Result<(usize, TrialOutcome), Failure> {
    let s = draft(file, flags, kernels, files::folder(path))?;
    Ok((s.guesses, settled(s, path)?))
}

/// Runs the command.
pub fn run(a: &Args, format: Format) -> Result<i32, Failure> {
    crate::in_utf8(&a.file)?;
    let flags = crate::compiler_flags(a.include.clone(), a.define.clone(), a.flags.clone());
    let stem = a.file.file_stem().unwrap_or_default();
    let path = a
        .out
        .clone()
        .unwrap_or_else(|| Path::new(stem).with_extension("toml"));
    let print = path.as_os_str() == "-";
    let folder = if print {
        Path::new(".")
    } else {
        files::folder(&path)
    };
    let s = draft(&a.file, &flags, &a.kernel, folder)?;
    if print {
        say(&s.text())?;
        return Ok(0);
    }
    if path.exists() && !a.force {
        return Err(Failure::new(format!("{} is there already", path.display()))
            .help("--force replaces it, --out names another file"));
    }
    let guesses = s.guesses;
    let outcome = settled(s, &path)?;
    report(&path, guesses, &outcome, format)?;
    Ok(0)
}

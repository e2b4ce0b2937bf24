//! `kerf init`: a first workload file for a kernel, tried once.
use crate::fail::Failure;
use crate::files;
use crate::output::{Format, note, say};
use crate::progress;
use crate::run::in_worker;
use crate::toolchain;
use kerf_exec::cpu::SanitizeOptions;
use kerf_ir::{extent, kernels, program};
use kerf_workload::job::{Job, JobError};
use kerf_workload::skeleton::{BLOCKS, Known, block_axes, skeleton};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often as long as the first guess a buffer may get, beyond `FEW` elements.
const MOST_GROWTH: u64 = 4096;

/// Elements that any buffer may have.
const FEW: u64 = 1 << 22;

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// CUDA (.cu), OpenCL (.cl) or LLVM (.ll, .bc) file.
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

/// Block shapes to try, for kernels that take only some.
fn shapes(known: &[Known]) -> Vec<Vec<(String, i64)>> {
    let axes = block_axes(known);
    let named = |all: &&[i64]| {
        let names = axes.iter().map(|a| ["bx", "by", "bz"][*a].to_owned());
        names.zip(all.iter().copied()).collect()
    };
    let all: &[&[i64]] = match axes.len() {
        0 => return Vec::new(),
        1 => &[&[32], &[64], &[256], &[512], &[1024], &[16], &[1]],
        2 => &[
            &[32, 32],
            &[8, 8],
            &[32, 8],
            &[16, 8],
            &[32, 4],
            &[64, 4],
            &[256, 1],
            &[4, 4],
            &[1, 1],
        ],
        _ => &[
            &[8, 8, 8],
            &[4, 4, 4],
            &[8, 8, 4],
            &[16, 4, 4],
            &[32, 4, 1],
            &[1, 1, 1],
        ],
    };
    all.iter().map(named).collect()
}

/// The file with its launch space held to one block.
fn with_block(text: &str, shape: &[(String, i64)]) -> String {
    let mut out = String::new();
    let mut inside = false;
    for l in text.lines() {
        inside = (inside || l.starts_with("[launch_space]")) && !l.starts_with("[accept]");
        let own = shape
            .iter()
            .find(|(n, _)| inside && l.starts_with(&format!("{n} = ")));
        match own {
            Some((n, v)) => out += &format!("{n} = [{v}]   # other sizes left an array\n"),
            None if inside && (l.starts_with("default") || l.starts_with("constraints")) => {}
            None => {
                out += l;
                out.push('\n');
            }
        }
    }
    out
}

/// The buffer that an access left, its elements, and the index of the access, as a report of it says them.
fn left(problem: &str) -> Option<(&str, u64, u64)> {
    let (name, rest) = problem.rsplit_once("buffer ")?.1.split_once(" has ")?;
    let (len, index) = rest.split_once(" elements, the access is to index ")?;
    let digits = index.find(|c: char| !c.is_ascii_digit());
    let index = &index[..digits.unwrap_or(index.len())];
    Some((name, len.parse().ok()?, index.parse().ok()?))
}

/// The file with a buffer longer; `times` are those of its first length.
fn with_length(text: &str, name: &str, times: u64) -> Option<String> {
    let mut out = String::new();
    let (mut inside, mut done) = (false, false);
    for l in text.lines() {
        if l.starts_with('[') {
            inside = false;
        }
        inside |= l == format!("name = \"{name}\"");
        match l.strip_prefix("len  = \"").and_then(|r| r.split_once('"')) {
            Some((len, note)) if inside => {
                let grown = note.contains("grown");
                let one = len.split_once(" * ").filter(|_| grown);
                let one = match one.map_or(len, |(_, one)| one) {
                    sum if sum.contains(' ') && !sum.starts_with('(') => format!("({sum})"),
                    one => one.to_owned(),
                };
                out += &format!(
                    "len  = \"{times} * {one}\"   # a guess: grown until no access left it\n"
                );
                done = true;
            }
            _ => {
                out += l;
                out.push('\n');
            }
        }
    }
    done.then_some(out)
}

/// The file with the buffer longer that an access left, until it would be too long; `grown` keeps the lengths.
fn longer(text: &str, problem: &str, grown: &mut BTreeMap<String, u64>) -> Option<String> {
    let (name, len, index) = left(problem)?;
    let before = grown.get(name).copied().unwrap_or(1);
    let one = (len / before).max(1);
    let times = (index / one + 1).next_power_of_two();
    if times <= before || (times > MOST_GROWTH && times * one > FEW) {
        return None;
    }
    grown.insert(name.to_owned(), times);
    with_length(text, name, times)
}

/// The file with guessed numbers of rounds at 1, where they were 10 and an array of the kernel itself was left: they may be indices.
fn fewer(text: &str, problem: &str) -> Option<String> {
    if !problem.contains("out-of-bounds") || left(problem).is_some() {
        return None;
    }
    let line = |l: &str| match l.split_once("]   # a guess: ") {
        Some((args, note)) if l.starts_with("args  = [") => {
            let args = args.replace(", 10,", ", 1,").replace("[10,", "[1,");
            let args = args
                .strip_suffix(", 10")
                .map_or(args.clone(), |a| format!("{a}, 1"));
            let note: Vec<String> = note
                .split(", ")
                .map(|n| {
                    n.strip_suffix(" = 10")
                        .map_or(n.to_owned(), |n| format!("{n} = 1"))
                })
                .collect();
            format!("{args}]   # a guess: {}\n", note.join(", "))
        }
        _ => format!("{l}\n"),
    };
    let out: String = text.lines().map(line).collect();
    (out != text).then_some(out)
}

/// The file with lengths that grew to as many times as a size is said by that size: a square stays one when the size changes.
fn by_sizes(text: &str) -> String {
    let sizes = text
        .lines()
        .skip_while(|l| !l.starts_with("[sizes]"))
        .skip(1);
    let sizes = sizes.take_while(|l| !l.starts_with('['));
    let sizes = sizes.filter_map(|l| l.split_once(" = "));
    let sizes: Vec<(&str, u64)> = sizes
        .filter_map(|(n, v)| Some((n, v.trim().parse().ok()?)))
        .collect();
    let named = |l: &str| {
        let (len, note) = l.strip_prefix("len  = \"")?.split_once('"')?;
        let (times, one) = len
            .split_once(" * ")
            .filter(|_| note.contains("grown until"))?;
        let times: u64 = times.parse().ok()?;
        // Twice and four times: borders round it.
        let of = |v: u64| {
            (v >= 32 && times.is_multiple_of(v))
                .then(|| times / v)
                .filter(|k| matches!(k, 1 | 2 | 4))
        };
        let all = sizes
            .iter()
            .filter_map(|(n, v)| Some((of(*v)?, *n == one, *n)));
        let (k, _, name) = all.min()?;
        let more = if k > 1 {
            format!("{k} * ")
        } else {
            String::new()
        };
        Some(format!("len  = \"{more}{name} * {one}\"{note}"))
    };
    let lines = text
        .lines()
        .map(|l| named(l).unwrap_or_else(|| l.to_owned()) + "\n");
    lines.collect()
}

/// Whether a run was ended because it took too long.
fn too_long(e: &JobError) -> bool {
    e.to_string().starts_with("no result within")
}

/// The file with its larger sizes a quarter of what they were, where one was over 64.
fn smaller(text: &str) -> Option<String> {
    let mut out = String::new();
    let (mut inside, mut done) = (false, false);
    for l in text.lines() {
        if l.starts_with('[') {
            inside = l.starts_with("[sizes]");
        }
        let size = l
            .split_once(" = ")
            .and_then(|(name, v)| Some((name, v.trim().parse::<u64>().ok()?)));
        match size {
            Some((name, v)) if inside && v > 64 => {
                out += &format!("{name} = {}\n", (v / 4).max(64));
                done = true;
            }
            Some((BLOCKS, v)) if inside && v > 4 => {
                out += &format!("{BLOCKS} = {}\n", v / 2);
                done = true;
            }
            _ => {
                out += l;
                out.push('\n');
            }
        }
    }
    done.then_some(out)
}

/// Threads that an H200 runs at once: what is much smaller is timed as the latency of one thread.
const FILLED: u64 = 132 * 2048;

/// Operations beyond which a reference on the CPU takes more than seconds.
const MOST_WORK: u64 = 8_000_000;

/// Operations that one call of a math function stands for.
const MATH: u64 = 25;

/// Threads of the largest launch, and operations of all, by a counting run.
fn work(job: &Job, limit: Duration) -> Option<(u64, u64)> {
    let job = Job {
        memcheck: None,
        count: Some(kerf_pass::count::Detail::Blocks),
        count_only: true,
        ..job.clone()
    };
    let counts = in_worker(&job, limit).ok()?.counts?;
    let threads = counts
        .kernels
        .iter()
        .map(|k| k.threads / k.launches.max(1))
        .max()?;
    let weight = |op: &str| match op {
        "load" | "store" | "phi" | "select" => 0,
        o if o.len() <= 4 && o.starts_with('f') || o.contains("to") => 1,
        _ => MATH,
    };
    let sites = counts.kernels.iter().flat_map(|k| &k.sites);
    let work = sites.map(|s| s.seen.count * weight(&s.op)).sum();
    Some((threads, work))
}

/// The file with its guessed sizes `times` as large along each dimension; the numbers are those of the skeleton.
fn with_sizes(text: &str, times: u64) -> String {
    let mut out = String::new();
    let mut inside = false;
    for l in text.lines() {
        inside = (inside || l.starts_with("[sizes]"))
            && (l.starts_with("[sizes]") || !l.starts_with('['));
        let value = l.split_once(" = ").filter(|_| inside);
        let larger = value.and_then(|(name, v)| {
            let v: u64 = v.trim().parse().ok()?;
            match v {
                16384 => Some((name, v * times * times)),
                128 | 32 => Some((name, v * times)),
                _ => None,
            }
        });
        match larger {
            Some((name, v)) => out += &format!("{name} = {v}\n"),
            None => {
                out += l;
                out.push('\n');
            }
        }
    }
    out
}

/// The file with a word on how much of a GPU its sizes fill.
fn with_fill(text: &str, threads: u64) -> String {
    let (head, rest) = match text.split_once("[sizes]") {
        Some((head, rest)) => (head, rest.split_once('\n').map_or("", |r| r.1)),
        None => return text.to_owned(),
    };
    let size = rest.split(' ').next().unwrap_or("n");
    let word = match 2 * threads >= FILLED {
        true => format!(
            "{threads} threads, enough to fill a large GPU; a reference on the CPU takes seconds"
        ),
        false => format!(
            "{threads} threads, for a reference on the CPU in seconds; a large GPU has room for {FILLED},\n                           # and times are those of a small launch: --size {size}=... for larger ones"
        ),
    };
    format!("{head}[sizes]                    # {word}\n{rest}")
}

/// The file with sizes that fill a GPU, as far as a run on the CPU stays short.
fn filled(
    text: &str,
    job: &Job,
    limit: Duration,
    write: &dyn Fn(&str) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let Some((mut threads, ops)) = work(job, limit) else {
        return Ok(text.to_owned());
    };
    let mut best = text.to_owned();
    for times in [4, 2] {
        let larger = with_sizes(text, times);
        let growth = times * times;
        if larger == text || threads * growth > FILLED || ops.saturating_mul(growth) > MOST_WORK {
            continue;
        }
        write(&larger)?;
        // With more threads something else may not fit.
        if in_worker(job, limit).is_ok()
            && let Some((t, o)) = work(job, limit)
            && o <= MOST_WORK
        {
            (best, threads) = (larger, t);
            break;
        }
    }
    let best = with_fill(&best, threads);
    write(&best)?;
    Ok(best)
}

/// Runs the command.
pub fn run(a: &Args, format: Format) -> Result<i32, Failure> {
    crate::in_utf8(&a.file)?;
    let tools = toolchain::discover("sm_90");
    let flags = crate::compiler_flags(a.include.clone(), a.define.clone(), a.flags.clone());
    let shown = crate::inspect::compiling(&a.file);
    let p = program::load(&tools, &a.file, &flags)?;
    drop(shown);
    let m = p.module().map_err(kerf_workload::job::JobError::from)?;
    let all = kernels::kernels(&m);
    if all.is_empty() {
        return Err(Failure::new(format!("{} has no kernel", a.file.display()))
            .help("a template counts once it is instantiated: launch it somewhere in the file, or write `template __global__ void k<double>(...);`"));
    }
    let chosen = match a.kernel.is_empty() {
        true => all.clone(),
        false => {
            let find = |name: &String| kernels::find(&all, name).cloned();
            let found: Result<Vec<_>, _> = a.kernel.iter().map(find).collect();
            found.map_err(|there| {
                Failure::new("a kernel of that name is not in the file")
                    .help(format!("there are {}", there.join(", ")))
            })?
        }
    };
    let used: Vec<String> = chosen
        .iter()
        .filter_map(|k| m.function(&k.symbol))
        .flat_map(kernels::used_globals)
        .map(|g| g.name())
        .collect();
    let globals: Vec<_> = kernels::globals(&m)
        .into_iter()
        .filter(|g| used.contains(&g.symbol))
        .collect();
    let known: Vec<Known> = chosen
        .into_iter()
        .filter_map(|kernel| {
            let extents = extent::extents(&m, m.function(&kernel.symbol)?);
            Some(Known { kernel, extents })
        })
        .collect();
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
    let source = from_folder(folder, &a.file);
    let numbers = kerf_workload::macros::numbers(&a.file);
    let s = skeleton(
        &source.to_string_lossy(),
        &flags,
        &known,
        &globals,
        &numbers,
    );
    if print {
        say(&s.text)?;
        return Ok(0);
    }
    if path.exists() && !a.force {
        return Err(Failure::new(format!("{} is there already", path.display()))
            .help("--force replaces it, --out names another file"));
    }
    let write = |text: &str| {
        files::write_whole(&path, text).map_err(|e| {
            Failure::new(format!("cannot write {}: {e}", path.display()))
                .help("choose another place with --out")
        })
    };
    write(&s.text)?;
    // Tried once, every access checked: what does not fit is the first thing to edit.
    let job = Job {
        memcheck: Some(SanitizeOptions::everything()),
        ..Job::plain(path.clone(), &tools)
    };
    let limit = Duration::from_secs(10);
    let mut text = s.text;
    let mut tried = in_worker(&job, limit).err();
    let mut grown: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(problem) = &tried {
        let other = if too_long(problem) {
            // Work that grows faster than its sizes: a search needs many runs, so each has to be short.
            smaller(&text)
        } else {
            // Buffers whose length was not seen grow to what the run asks for.
            let problem = problem.to_string();
            let other = longer(&text, &problem, &mut grown).or_else(|| fewer(&text, &problem));
            // An array of the program, that cannot grow.
            let own = problem.contains("out-of-bounds") && left(&problem).is_none();
            other.or_else(|| smaller(&text).filter(|_| own))
        };
        let Some(other) = other else { break };
        text = other;
        write(&text)?;
        tried = in_worker(&job, limit).err();
    }
    let mut fixed = None;
    if tried.as_ref().is_some_and(|e| !too_long(e)) {
        // Kernels whose arrays are made for one block size run with that one only.
        for shape in shapes(&known) {
            let other = Job {
                overrides: shape.clone(),
                ..job.clone()
            };
            if in_worker(&other, limit).is_ok() {
                tried = None;
                fixed = Some(shape);
                break;
            }
        }
    }
    if let Some(shape) = &fixed {
        text = with_block(&text, shape);
        write(&text)?;
    }
    if tried.is_none() {
        text = by_sizes(&text);
        write(&text)?;
        filled(&text, &job, limit, &write)?;
    }
    let lines = s.guesses;
    match format {
        Format::Json => say(&format!(
            "{}\n",
            serde_json::json!({"schema": "kerf.init/1", "workload": path, "guesses": lines, "problem": tried.as_ref().map(ToString::to_string)})
        ))?,
        Format::Human | Format::Csv => {
            say(&format!("{}\n", path.display()))?;
            progress::line(&format!(
                "{lines} lines are guesses and say so: look at them first"
            ));
            match &tried {
                None => progress::line(&format!(
                    "it runs{}, and no access leaves its buffer; next: kerf tune {} --tolerance 1e-6",
                    if fixed.is_some() {
                        " with this block size"
                    } else {
                        ""
                    },
                    path.display()
                )),
                Some(e) => note(&format!("it does not run as it is: {e}")),
            }
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::{by_sizes, fewer, smaller};

    #[test]
    fn rounds_that_are_indices() {
        let text = "args  = [\"a\", 10, 1.0, 10, \"n\", 10]   # a guess: step = 10, dt = 1.0, order = 10\n";
        let problem = "k: out-of-bounds load of 8 bytes: cB has 40 bytes, the access is at byte 80";
        let want =
            "args  = [\"a\", 1, 1.0, 1, \"n\", 1]   # a guess: step = 1, dt = 1.0, order = 1\n";
        assert_eq!(fewer(text, problem).as_deref(), Some(want));
        assert_eq!(fewer(want, problem), None);
        assert_eq!(fewer(text, "it is slow"), None);
    }

    #[test]
    fn lengths_follow_sizes() {
        let text = "[sizes]\nm = 128\nn = 128\nk = 20\n\n[[buffer]]\n";
        for (line, want) in [
            (
                "len  = \"128 * n\"   # a guess: grown until no access left it",
                "len  = \"m * n\"   #",
            ),
            (
                "len  = \"256 * m\"   # a guess: grown until no access left it",
                "len  = \"2 * n * m\"   #",
            ),
            (
                "len  = \"16 * n\"   # a guess: grown until no access left it",
                "len  = \"16 * n\"   #",
            ),
            ("len  = \"128 * n\"", "len  = \"128 * n\""),
        ] {
            let out = by_sizes(&format!("{text}{line}\n"));
            assert!(out.starts_with(&format!("{text}{want}")), "{out}");
        }
        let one = by_sizes("[sizes]\nn = 64\n[[buffer]]\nlen  = \"64 * n\"  # grown until\n");
        assert!(one.contains("\"n * n\""), "{one}");
    }

    #[test]
    fn sizes_shrink_and_end() {
        let text =
            "[sizes]  # n = 4096 in words\nn = 1000\nm = 65\nk = 8\n\n[[buffer]]\nlen = 4096\n";
        let once = smaller(text).expect("smaller");
        assert_eq!(
            once,
            "[sizes]  # n = 4096 in words\nn = 250\nm = 64\nk = 8\n\n[[buffer]]\nlen = 4096\n"
        );
        assert!(smaller(&once).is_some_and(|t| t.contains("n = 64\n")));
        assert_eq!(smaller("[sizes]\nn = 64\n"), None);
    }
}

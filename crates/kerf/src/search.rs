//! `kerf search`: strategies on recorded search spaces, without a device.
mod compare;

use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::table::Table;
use kerf_search::recorded::{Recorded, RecordedError};
use kerf_search::repeat::{Repeated, repeat};
use kerf_search::strategy::StrategyError;
use kerf_search::{DEGREE_NAMES, NAMES, Reason};
use kerf_workload::suggest;
use std::path::{Path, PathBuf};

/// A recorded space is some megabytes; what is larger than this is another file.
const LARGEST_FILE: u64 = 1 << 30;

/// Repetitions and executions beyond this take hours.
const MOST: usize = 1_000_000;

/// Arguments.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Repeat strategies over a recorded space: how near to the optimum, after how many executions.
    Replay(ReplayArgs),
    /// Strategies side by side on recorded spaces, at tolerances by the quartiles of their errors.
    Compare(compare::CompareArgs),
}

#[derive(clap::Args)]
struct ReplayArgs {
    /// Recorded search space: Kerf's JSON, or a cache file of Kernel Tuner.
    file: PathBuf,
    /// guided, exhaustive, random, delta-debug, dataflow, naive-ga, ampt-ga; several with commas.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "guided"
    )]
    strategy: Vec<String>,
    /// Executions at most.
    #[arg(long, default_value_t = 200, allow_negative_numbers = true, value_parser = parse_many)]
    budget: usize,
    /// Searches with each strategy.
    #[arg(long, default_value_t = 10, allow_negative_numbers = true, value_parser = parse_many)]
    repeats: usize,
    /// Seed of the first search; the others have the numbers after it.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = crate::parse_seed)]
    seed: u64,
}

fn parse_many(s: &str) -> Result<usize, String> {
    let n = s.parse().ok().filter(|n| (1..=MOST).contains(n));
    n.ok_or_else(|| format!("expected a number from 1 to {MOST}"))
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    match &a.command {
        Command::Replay(r) => replay(r, format, style),
        Command::Compare(c) => compare::run(c, format, style),
    }
}

fn load(path: &Path) -> Result<Recorded, Failure> {
    let unread = |e: std::io::Error| {
        Failure::new(format!("cannot read {}: {e}", path.display()))
            .help("check the path and its permissions")
    };
    let length = std::fs::metadata(path).map_err(unread)?.len();
    if length > LARGEST_FILE {
        return Err(
            Failure::new(format!("{} has {length} bytes", path.display()))
                .help("a recorded search space is some megabytes of JSON"),
        );
    }
    let bytes = std::fs::read(path).map_err(unread)?;
    Recorded::parse(&bytes).map_err(|e| {
        let f = Failure::new(format!("{}: {e}", path.display()));
        match e {
            RecordedError::Compressed => {
                f.help(format!("gunzip --stdout {} > space.json", path.display()))
            }
            _ => f.help("docs/search.md describes the format"),
        }
    })
}

fn refused(e: StrategyError) -> Failure {
    let f = Failure::new(e.to_string());
    match &e {
        StrategyError::Unknown(name) => match suggest::did_you_mean(&name.replace('_', "-"), NAMES)
        {
            Some(help) => f.help(help),
            None => f,
        },
        StrategyError::TooLarge(..) => f.help("use guided, or another strategy"),
        StrategyError::NotOrdered(_) => f.help("use guided, random, naive-ga or exhaustive"),
        StrategyError::NotOneDegree(_) => f.help("use guided, or another strategy"),
    }
}

fn replay(a: &ReplayArgs, format: Format, style: Style) -> Result<i32, Failure> {
    // A mistyped name is told before the first strategy has worked for minutes.
    for name in &a.strategy {
        if !NAMES
            .iter()
            .chain(&DEGREE_NAMES)
            .any(|n| *n == name.replace('_', "-"))
        {
            return Err(refused(StrategyError::Unknown(name.clone())));
        }
    }
    let space = load(&a.file)?;
    let mut all = Vec::new();
    for name in &a.strategy {
        let r = repeat(&space, name, a.budget, a.repeats, a.seed).map_err(refused)?;
        let missing: usize = r.repetitions.iter().map(|x| x.missing).sum();
        if missing > 0 {
            note(&format!(
                "warning: {name} asked {missing} times for assignments that the file does not have; \
                 they counted as failed"
            ));
        }
        all.push(r);
    }
    match format {
        Format::Json => say(&format!("{}\n", json(&space, a, &all)))?,
        Format::Human | Format::Csv => say(&human(&space, a, &all, style))?,
    }
    Ok(0)
}

fn json(space: &Recorded, a: &ReplayArgs, all: &[Repeated]) -> serde_json::Value {
    serde_json::json!({
        "schema": "kerf.search-replay/1",
        "space": space.name,
        "variables": space.problem.variables.len(),
        "outcomes": space.len(),
        "optimum": space.optimum(),
        "tolerance": space.problem.tolerance,
        "budget": a.budget,
        "repeats": a.repeats,
        "seed": a.seed,
        "strategies": all,
    })
}

fn human(space: &Recorded, a: &ReplayArgs, all: &[Repeated], style: Style) -> String {
    let name = match space.name.as_str() {
        "" => "a search space",
        name => name,
    };
    let mut out = format!(
        "{}: {} variables, {} outcomes, {} searches each, seeds from {}\n\n",
        style.bold(name),
        space.problem.variables.len(),
        space.len(),
        a.repeats,
        a.seed
    );
    out += "Mean of best found over optimum, by executions\n";
    let budgets = all.first().map_or(&[][..], |r| &r.marks);
    let mut head = vec!["strategy".to_owned()];
    head.extend(budgets.iter().map(|m| m.executions.to_string()));
    head.extend(["worst", "executions", "ended"].map(str::to_owned));
    let mut table = Table::new(1, head);
    for r in all {
        let mut row = vec![r.strategy.clone()];
        row.extend(r.marks.iter().map(|m| match m.nothing {
            0 => format!("{:.3}", m.mean),
            n if m.mean.is_finite() => format!("{:.3} ({n} none)", m.mean),
            _ => "none".to_owned(),
        }));
        let last = r.marks.last();
        row.push(last.map_or("-".into(), |m| format!("{:.3}", m.worst)));
        let runs = r.repetitions.iter().map(|x| x.executions);
        let mean = runs.sum::<usize>() as f64 / r.repetitions.len().max(1) as f64;
        row.push(format!("{mean:.1}"));
        row.push(reasons(r));
        table.row(row);
    }
    out += &table.render(style);
    out
}

/// Why the searches ended, the reasons in a fixed order.
fn reasons(r: &Repeated) -> String {
    let all = [
        Reason::Bracketed,
        Reason::LocalOptimum,
        Reason::Stalled,
        Reason::Exhausted,
        Reason::Budget,
    ];
    let counted = all.into_iter().filter_map(|reason| {
        let n = r.repetitions.iter().filter(|x| x.reason == reason).count();
        (n > 0).then_some((n, reason))
    });
    let words: Vec<String> = counted
        .map(|(n, reason)| match n == r.repetitions.len() {
            true => reason.words().to_owned(),
            false => format!("{n} {}", reason.words()),
        })
        .collect();
    words.join(", ")
}

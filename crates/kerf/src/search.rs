//! `kerf search`: strategies on recorded search spaces, without a device.
mod compare;
mod drive;
mod export;
mod race;
mod score;
mod show;

use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::parse::{ArgumentError, parse_if};
use crate::progress::Work;
use crate::table::Table;
use kerf_search::recorded::RecordedSpace;
use kerf_search::repeat::{ProgressMark, Repetitions, repeat};
use kerf_search::{Reason, Search, StrategyError, StrategyName, suitable};
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
    /// What a recorded or described space holds: parameters, points, failures, the fastest.
    Show(show::ShowArgs),
    /// Which of the fastest is the winner, by the recorded repeats; ties are told as ties.
    Race(race::RaceArgs),
    /// Let another program measure what a strategy asks for: lines of JSON on standard input and output.
    Drive(drive::DriveArgs),
    /// Write a result folder or a recorded space as a cache of Kernel Tuner, as T4 or as T1.
    Export(export::ExportArgs),
    /// Add the static score of AMPT-GA to a recorded space of a workload, for spaces that have none.
    Score(score::ScoreArgs),
}

#[derive(clap::Args)]
struct ReplayArgs {
    /// Recorded search space: Kerf's JSON, a cache file of Kernel Tuner, or T4; may be compressed (.gz).
    file: PathBuf,
    /// guided, exhaustive, random, delta-debug, dataflow, naive-ga, ampt-ga (its published static score),
    /// ampt-ga-model (Kerf's predicted time in its place), annealing, differential, local, ryoo;
    /// several with commas; `all` for those that suit the space.
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
    /// What is optimised, in files of other tuners; `+NAME` where more is better, `-NAME` where less. The file's own
    /// by default.
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    objective: Option<String>,
}

fn parse_many(s: &str) -> Result<usize, ArgumentError> {
    let expected = format!("a number from 1 to {MOST}");
    parse_if(s, |n| (1..=MOST).contains(n), expected)
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    match &a.command {
        Command::Replay(r) => replay(r, format, style),
        Command::Compare(c) => compare::run(c, format, style),
        Command::Show(s) => show::run(s, format, style),
        Command::Race(r) => race::run(r, format, style),
        Command::Drive(d) => drive::run(d),
        Command::Export(e) => export::run(e, format),
        Command::Score(s) => score::run(s, format),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
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
    std::fs::read(path).map_err(unread)
}

fn load(path: &Path) -> Result<RecordedSpace, Failure> {
    load_for(path, None)
}

fn load_for(path: &Path, objective: Option<&str>) -> Result<RecordedSpace, Failure> {
    RecordedSpace::parse_for(&read(path)?, objective).map_err(|e| unusable(path, &e))
}

/// What is wrong with a file. Many of its errors bring their own help.
fn unusable(path: &Path, e: &dyn std::error::Error) -> Failure {
    let text = format!("{}: {e}", path.display());
    match text.split_once("; help: ") {
        Some((what, help)) => Failure::new(what).help(help.to_owned()),
        None => Failure::new(text).help("docs/reference/search.md describes the formats"),
    }
}

/// The strategy that a mistyped name is likely to mean.
pub(crate) fn did_you_mean(name: &str) -> Option<String> {
    let names = StrategyName::ANY_SPACE.map(StrategyName::name);
    suggest::did_you_mean(&name.replace('_', "-"), names)
}

/// A strategy for spaces of any kind, by its name.
fn for_any_space(name: &str) -> Result<StrategyName, Failure> {
    let known = name.parse().map_err(refused)?;
    match StrategyName::ANY_SPACE.contains(&known) {
        true => Ok(known),
        false => Err(refused(StrategyError::Unknown(name.to_owned()))),
    }
}

fn refused(e: StrategyError) -> Failure {
    let f = Failure::new(e.to_string());
    match &e {
        StrategyError::Unknown(name) => match did_you_mean(name) {
            Some(help) => f.help(help),
            None => f,
        },
        StrategyError::TooLarge(..) => f.help("use guided, or another strategy"),
        StrategyError::NotOrdered(_) => f.help("use guided, random, naive-ga or exhaustive"),
        StrategyError::NoMetrics(_) => {
            f.help("recorded files have none; use guided, random, local or another strategy")
        }
        StrategyError::NotOneDegree(_) | StrategyError::NotBoth(_) => {
            f.help("use guided, or another strategy")
        }
    }
}

fn replay(a: &ReplayArgs, format: Format, style: Style) -> Result<i32, Failure> {
    // A mistyped name is told before the first strategy has worked for minutes.
    let mut asked: Vec<Option<StrategyName>> = Vec::new();
    for name in &a.strategy {
        asked.push(match name.as_str() {
            "all" => None,
            one => Some(one.parse().map_err(refused)?),
        });
    }
    let space = load_for(&a.file, a.objective.as_deref())?;
    let mut names: Vec<StrategyName> = Vec::new();
    for name in asked {
        let search = Search {
            problem: &space.problem,
            models: &space,
            seed: a.seed,
            budget: a.budget,
        };
        for n in name.map_or_else(|| suitable(&search), |n| vec![n]) {
            if !names.contains(&n) {
                names.push(n);
            }
        }
    }
    let points = space.problem.size();
    if (a.budget as u64) > points {
        note(&format!(
            "the space has {points} points, fewer than the budget of {}",
            a.budget
        ));
    }
    let mut all = Vec::new();
    let work = Work::in_parts(names.len(), "strategies");
    for (i, name) in names.into_iter().enumerate() {
        work.now(name.name());
        work.done(i);
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
    drop(work);
    match format {
        Format::Json => say(&format!("{}\n", json(&space, a, &all)))?,
        Format::Human | Format::Csv => say(&human(&space, a, &all, style))?,
    }
    Ok(0)
}

fn json(space: &RecordedSpace, a: &ReplayArgs, all: &[Repetitions]) -> serde_json::Value {
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

fn human(space: &RecordedSpace, a: &ReplayArgs, all: &[Repetitions], style: Style) -> String {
    let name = match space.name.as_str() {
        "" => "a search space",
        name => name,
    };
    let mut out = format!(
        "{}: {}, {} outcomes, {} searches each, seeds from {}\n\n",
        style.bold(name),
        match space.problem.variables.len() {
            1 => "1 variable".to_owned(),
            n => format!("{n} variables"),
        },
        space.len(),
        a.repeats,
        a.seed
    );
    out += "Mean of best found over optimum, by executions; then the spread at the last\n";
    let budgets = all.first().map_or(&[][..], |r| &r.marks);
    let mut head = vec!["strategy".to_owned()];
    head.extend(budgets.iter().map(|m| m.executions.to_string()));
    head.extend(["median", "10 %", "90 %", "worst", "executions", "ended"].map(str::to_owned));
    let mut table = Table::new(1, head);
    for r in all {
        let mut row = vec![r.strategy.to_string()];
        row.extend(r.marks.iter().map(|m| match m.nothing {
            0 => format!("{:.3}", m.mean),
            n if m.mean.is_finite() => format!("{:.3} ({n} none)", m.mean),
            _ => "none".to_owned(),
        }));
        let last = r.marks.last();
        let spread = |of: fn(&ProgressMark) -> f64| {
            let x = last.map(of).filter(|x| x.is_finite());
            x.map_or("-".into(), |x| format!("{x:.3}"))
        };
        row.extend([
            spread(|m| m.median),
            spread(|m| m.low),
            spread(|m| m.high),
            spread(|m| m.worst),
        ]);
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
fn reasons(r: &Repetitions) -> String {
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

//! `kerf search drive`: a strategy asked by another program, which measures; lines of JSON both ways.
use super::{for_any_space, refused};
use crate::fail::Failure;
use crate::output::say;
use kerf_search::{Level, NoModels, Outcome, Problem, Search, SearchSession, Variable};
use serde::Deserialize;
use std::io::BufRead;

/// Arguments.
#[derive(clap::Args)]
pub struct DriveArgs {}

/// The first line: what is searched.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    schema: String,
    parameters: Vec<Parameter>,
    /// Points that exist, as positions of values; all, if left out.
    #[serde(default)]
    points: Option<Vec<Vec<u8>>>,
    strategy: String,
    #[serde(default = "one")]
    seed: u64,
    budget: usize,
    /// Points that may be measured at once.
    #[serde(default = "once")]
    at_once: usize,
    /// Questions that the strategy asks before it is told the outcome of the first, where it can.
    #[serde(default = "once")]
    lag: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameter {
    name: String,
    /// By name; numbers are numbers to the strategy.
    values: Vec<String>,
}

/// An answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    point: Vec<u8>,
    /// What is to be small; none where it did not run.
    time: Option<f64>,
}

fn one() -> u64 {
    1
}

fn once() -> usize {
    1
}

/// Points that are said to be likely to come next, at most.
const LIKELY: usize = 32;

/// Name and version of what is spoken.
const SCHEMA: &str = "kerf.search-drive/1";

fn wrong(what: impl std::fmt::Display) -> Failure {
    Failure::new(format!("standard input: {what}"))
        .help("docs/reference/search.md describes the lines of kerf search drive")
}

fn problem(t: &Task) -> Result<Problem, Failure> {
    if t.schema != SCHEMA {
        return Err(wrong(format_args!(
            "the schema is `{}`, not `{SCHEMA}`",
            t.schema
        )));
    }
    let variables = t.parameters.iter().map(|p| {
        let level = |v: &String| Level {
            value: v.parse().ok(),
            ..Level::named(v)
        };
        Variable::new(&p.name, p.values.iter().map(level).collect())
    });
    let variables: Vec<Variable> = variables.collect();
    let points = match &t.points {
        Some(p) => p.clone(),
        None => every(&variables),
    };
    let p = Problem::categorical(variables, points);
    p.check().map_err(wrong)?;
    if p.points.as_ref().is_none_or(Vec::is_empty) {
        return Err(wrong("there is no point to search"));
    }
    Ok(p)
}

fn every(variables: &[Variable]) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    for v in variables {
        let longer = |a: &Vec<u8>| {
            let a = a.clone();
            (0..v.levels.len().min(255)).map(move |l| [a.as_slice(), &[l as u8]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Runs the command.
pub fn run(_: &DriveArgs) -> Result<i32, Failure> {
    let mut lines = std::io::stdin().lock().lines();
    let mut line = || match lines.next() {
        Some(l) => l.map(Some).map_err(wrong),
        None => Ok(None),
    };
    let first = line()?.ok_or_else(|| wrong("it is empty"))?;
    let task: Task = serde_json::from_str(&first).map_err(wrong)?;
    let problem = problem(&task)?;
    let search = Search {
        problem: &problem,
        models: &NoModels,
        seed: task.seed,
        budget: task.budget,
    };
    let strategy = for_any_space(&task.strategy)?;
    let mut strategy = strategy.start(search).map_err(refused)?;
    let session = SearchSession::new(&problem, &mut *strategy, task.budget);
    let mut session = session.with_lag(task.lag);
    loop {
        let open = session.open(task.at_once.max(1));
        if open.is_empty() {
            break;
        }
        let mut likely = session.likely();
        likely.retain(|a| !open.contains(a));
        likely.truncate(LIKELY);
        let asked = serde_json::json!({ "ask": open, "likely": likely });
        say(&format!("{asked}\n"))?;
        // The strategy thinks while the other program measures.
        session.ask_ahead();
        for _ in 0..open.len() {
            // The other program has seen enough.
            let Some(l) = line()? else { return Ok(0) };
            let told: Told = serde_json::from_str(&l).map_err(wrong)?;
            if !open.contains(&told.point) {
                return Err(wrong(format_args!(
                    "nobody asked for the point {:?}",
                    told.point
                )));
            }
            let finite = told.time.filter(|t| t.is_finite() && *t > 0.0);
            let outcome = finite.map_or(Outcome::Failed, |t| Outcome::ran(0.0, t));
            session.tell(&told.point, outcome);
        }
    }
    let t = session.finish();
    let best = t.best.map(|b| b.assignment);
    let done = serde_json::json!({
        "schema": SCHEMA, "done": t.reason, "best": best, "executions": t.executed.len(),
    });
    say(&format!("{done}\n"))?;
    Ok(0)
}

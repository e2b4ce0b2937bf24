//! `kerf search compare`: strategies side by side on recorded spaces.
use super::{for_any_space, load, refused};
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::progress::Work;
use crate::table::Table;
use kerf_search::compare::{ComparedCase, compare, geometric_mean};
use kerf_search::{Models, StrategyName};
use std::fmt::Write;
use std::path::PathBuf;

/// The quantiles of the publication.
const QUANTILES: [f64; 3] = [0.25, 0.5, 0.75];

/// Speed-ups nearer than this are equal: single measurements do not tell them apart.
const EQUAL: f64 = 0.01;

#[derive(clap::Args)]
pub struct CompareArgs {
    /// Recorded search spaces (`space.json` of an exhaustive `kerf tune`).
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Strategies, with commas; the first is compared with the others.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "guided,ampt-ga,ampt-ga-model,naive-ga,delta-debug,dataflow,random"
    )]
    strategy: Vec<String>,
    /// Executions of the first strategy, at most.
    #[arg(long, default_value_t = 25, allow_negative_numbers = true, value_parser = super::parse_many)]
    budget: usize,
    /// Executions of the others, at most; they end by themselves before, but for random.
    #[arg(long, default_value_t = 1000, allow_negative_numbers = true, value_parser = super::parse_many)]
    others: usize,
    /// Seeds.
    #[arg(long, default_value_t = 5, allow_negative_numbers = true, value_parser = super::parse_many)]
    repeats: usize,
    /// The first seed.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = crate::parse_seed)]
    seed: u64,
}

pub fn run(a: &CompareArgs, format: Format, style: Style) -> Result<i32, Failure> {
    let mut strategies = Vec::new();
    for (i, name) in a.strategy.iter().enumerate() {
        let name = for_any_space(name)?;
        // Random has no end of its own; it gets what the first has.
        let budget = match i == 0 || name == StrategyName::Random {
            true => a.budget,
            false => a.others,
        };
        strategies.push((name, budget));
    }
    let mut all: Vec<ComparedCase> = Vec::new();
    let work = Work::in_parts(a.files.len(), "spaces");
    for (i, f) in a.files.iter().enumerate() {
        work.now(f.display().to_string());
        work.done(i);
        let space = load(f)?;
        let low = space.problem.all_low();
        if Models::static_score(&space, &low).is_none()
            && strategies.iter().any(|s| s.0 == StrategyName::AmptGa)
        {
            note(&format!(
                "{}: no static score, so ampt-ga goes by predicted times; `kerf search score` adds it",
                f.display()
            ));
        }
        let cases = compare(&space, &QUANTILES, &strategies, a.repeats, a.seed).map_err(refused)?;
        if cases.len() < QUANTILES.len() {
            note(&format!(
                "{}: {} of {} quantiles give a tolerance of their own that something is within",
                f.display(),
                cases.len(),
                QUANTILES.len()
            ));
        }
        all.extend(cases);
    }
    drop(work);
    match format {
        Format::Json => {
            let v = serde_json::json!({
                "schema": "kerf.search-compare/1",
                "budget": a.budget,
                "others": a.others,
                "repeats": a.repeats,
                "seed": a.seed,
                "cases": all,
            });
            say(&format!("{v:#}\n"))?;
        }
        Format::Human | Format::Csv => say(&human(&all, &strategies, style))?,
    }
    Ok(0)
}

/// Parts of the optimum's speed-up after few executions.
fn cuts(all: &[ComparedCase], strategy: StrategyName) -> String {
    let scores = || all.iter().filter_map(|c| Some((c, c.score(strategy)?)));
    let most = scores().map(|(_, s)| s.cut.len()).max().unwrap_or(0);
    let part = |i: usize| {
        let of = scores().filter_map(|(c, s)| Some(s.cut.get(i)?.1 / c.optimum));
        format!("{:.1}", 100.0 * geometric_mean(of))
    };
    let parts: Vec<String> = (0..most).map(part).collect();
    format!("{} %", parts.join(", "))
}

/// What a table has of a case and a strategy.
type Cell = fn(&ComparedCase, StrategyName) -> String;

/// The tables: title and cells.
const TABLES: [(&str, Cell); 4] = [
    ("Speed-up found (geometric mean of the seeds)", |c, s| {
        c.score(s)
            .map_or("-".into(), |x| format!("{:.3}", x.speedup))
    }),
    ("Executions (geometric mean of the seeds)", |c, s| {
        c.score(s)
            .map_or("-".into(), |x| format!("{:.1}", x.executions))
    }),
    (
        "Executions until as fast as what the first gives, begun again where it ends before (* never, of some seed: counts as all)",
        |c, s| {
            let star = |n: usize| if n > 0 { "*" } else { "" };
            c.score(s)
                .map_or("-".into(), |x| format!("{:.1}{}", x.reach, star(x.never)))
        },
    ),
    ("Efficiency: speed-up over executions", |c, s| {
        c.score(s)
            .map_or("-".into(), |x| format!("{:.3}", x.speedup / x.executions))
    }),
];

/// One line a case, one column a strategy.
fn by_case(all: &[ComparedCase], names: &[StrategyName], cell: Cell, style: Style) -> String {
    let mut head = vec!["space".to_owned(), "quantile".into(), "tolerance".into()];
    head.push("optimum".into());
    head.extend(names.iter().map(|n| n.to_string()));
    let mut t = Table::new(1, head);
    for c in all {
        let mut row = vec![
            format!("{} ({} of {})", c.space, c.variables, c.outcomes),
            format!("{:.0} %", 100.0 * c.quantile),
            format!("{:.2e}", c.tolerance),
            format!("{:.3}", c.optimum),
        ];
        row.extend(names.iter().map(|n| cell(c, *n)));
        t.row(row);
    }
    t.render(style)
}

/// One line a strategy.
fn over_all(all: &[ComparedCase], names: &[StrategyName], style: Style) -> String {
    let mut t = Table::new(
        1,
        [
            "strategy",
            "of the optimum's speed-up",
            "least",
            "at least 97 %",
            "executions",
            "most",
            "until as fast as the first",
            "cut at 3, 5, 8",
        ],
    );
    for n in names {
        let scores = || all.iter().filter_map(|c| Some((c, c.score(*n)?)));
        let part = |f: f64| format!("{:.1} %", 100.0 * f);
        let good = scores()
            .filter(|(c, s)| s.worst >= 0.97 * c.optimum)
            .count();
        let least = scores().map(|(c, s)| s.worst / c.optimum);
        t.row([
            n.to_string(),
            part(geometric_mean(scores().map(|(c, s)| s.speedup / c.optimum))),
            part(least.fold(f64::INFINITY, f64::min)),
            format!("{good} of {}", all.len()),
            format!("{:.1}", geometric_mean(scores().map(|(_, s)| s.executions))),
            scores().map(|(_, s)| s.most).max().unwrap_or(0).to_string(),
            format!("{:.1}", geometric_mean(scores().map(|(_, s)| s.reach))),
            cuts(all, *n),
        ]);
    }
    t.render(style)
}

/// Where the first strategy finds less than another.
fn lost(all: &[ComparedCase], first: StrategyName, others: &[StrategyName]) -> String {
    let mut out = String::new();
    let mut lost = 0;
    for c in all {
        for n in others {
            let (Some(a), Some(b)) = (c.score(first), c.score(*n)) else {
                continue;
            };
            if b.speedup > a.speedup * (1.0 + EQUAL) {
                lost += 1;
                let _ = writeln!(
                    out,
                    "{} at {:.2e}: {n} {:.3} against {first}'s {:.3}",
                    c.space, c.tolerance, b.speedup, a.speedup
                );
            }
        }
    }
    let _ = match lost {
        0 => writeln!(
            out,
            "{first} is at least as fast as every other in every case (to {:.0} %)",
            100.0 * EQUAL
        ),
        n => writeln!(
            out,
            "{first} is slower in these {n} comparisons (by over {:.0} %)",
            100.0 * EQUAL
        ),
    };
    out
}

fn human(all: &[ComparedCase], strategies: &[(StrategyName, usize)], style: Style) -> String {
    let mut out = String::new();
    let names: Vec<StrategyName> = strategies.iter().map(|s| s.0).collect();
    for (title, cell) in TABLES {
        let _ = writeln!(out, "{}", style.bold(title));
        let _ = writeln!(out, "{}", by_case(all, &names, cell, style));
    }
    let _ = writeln!(out, "{}", style.bold("Over all cases"));
    let _ = writeln!(out, "{}", over_all(all, &names, style));
    if let Some((first, others)) = names.split_first() {
        out += &lost(all, *first, others);
    }
    out
}

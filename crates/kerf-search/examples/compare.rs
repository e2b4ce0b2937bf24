//! Strategies side by side on synthetic problems: part of the optimum's speed-up, executions, and where
//! guided loses.
//!
//!     cargo run --release -p kerf-search --example compare [SEEDS [STRATEGY...]]
//!
//! Guided has 25 executions; the others go on until they end by themselves.
use kerf_search::synthetic::{ErrorLaw, Synthetic, SyntheticRecipe};
use kerf_search::{Search, by_name, run};

/// Executions of guided.
const GUIDED: usize = 25;

/// Executions of the others, at most.
const OTHERS: usize = 10_000;

/// What guided has to reach.
const GOAL: f64 = 0.97;

/// A difference that noise in the measured times explains.
const EVEN: f64 = 0.005;

/// Tolerances: the quartiles of AMPT-GA's publication, and a tighter one.
const QUANTILES: [f64; 4] = [0.05, 0.25, 0.5, 0.75];

/// Results of one strategy over many problems.
#[derive(Default)]
struct Results {
    parts: Vec<f64>,
    runs: Vec<usize>,
}

impl Results {
    fn line(&self) -> String {
        let mut parts = self.parts.clone();
        parts.sort_by(f64::total_cmp);
        let n = parts.len();
        let mean = parts.iter().sum::<f64>() / n as f64;
        let logs = self.runs.iter().map(|r| (*r.max(&1) as f64).ln());
        format!(
            "{mean:.4} {:.4} {:.4} {:.4}  {:>4}/{n:<4} {:>7.1} {:>6}",
            parts[0],
            parts[n / 10],
            parts[n / 2],
            parts.iter().filter(|p| **p >= GOAL).count(),
            (logs.sum::<f64>() / n as f64).exp(),
            self.runs.iter().max().unwrap_or(&0),
        )
    }
    fn add(&mut self, other: &Results) {
        self.parts.extend(&other.parts);
        self.runs.extend(&other.runs);
    }
}

fn recipes() -> Vec<(String, SyntheticRecipe)> {
    let mut out = Vec::new();
    for (variables, levels) in [(16, 2), (10, 3)] {
        let base = SyntheticRecipe {
            variables,
            levels,
            ..SyntheticRecipe::default()
        };
        let mut add =
            |what: &str, r: SyntheticRecipe| out.push((format!("{variables}x{levels} {what}"), r));
        for (name, errors) in [
            ("quadrature", ErrorLaw::Quadrature),
            ("largest", ErrorLaw::Largest),
            ("sum", ErrorLaw::Sum),
            ("cancelling", ErrorLaw::Cancelling),
        ] {
            let r = SyntheticRecipe { errors, ..base };
            add(name, r);
            let blind = SyntheticRecipe {
                sensitivity: None,
                ..r
            };
            add(&format!("{name}, no sensitivity"), blind);
        }
        let (memory_bound, casts) = (true, 1.5);
        add(
            "memory-bound",
            SyntheticRecipe {
                memory_bound,
                ..base
            },
        );
        add("dear conversions", SyntheticRecipe { casts, ..base });
        let overflows = 3;
        add("3 overflow", SyntheticRecipe { overflows, ..base });
        let nothing = SyntheticRecipe {
            sensitivity: None,
            model: None,
            ..base
        };
        add("no models at all", nothing);
    }
    out
}

fn main() {
    let mut args = std::env::args().skip(1);
    let seeds: u64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(8);
    let chosen: Vec<String> = args.collect();
    let mut names: Vec<&str> = chosen.iter().map(String::as_str).collect();
    if names.is_empty() {
        names = vec!["guided", "ampt-ga", "naive-ga", "delta-debug", "dataflow"];
    }
    let mut totals: Vec<Results> = names.iter().map(|_| Results::default()).collect();
    let mut losses: Vec<String> = Vec::new();
    println!("part of the optimum's speed-up: mean, least, 10 %, median; how many reach {GOAL};");
    println!("executions: geometric mean, most\n");
    for (label, recipe) in recipes() {
        let problems: Vec<Synthetic> = (0..seeds)
            .map(|seed| {
                let quantile = QUANTILES[seed as usize % QUANTILES.len()];
                Synthetic::new(SyntheticRecipe { quantile, ..recipe }, seed)
            })
            .collect();
        let optima: Vec<f64> = problems.iter().map(|s| s.optimum().1).collect();
        let mut here: Vec<Results> = Vec::new();
        for (name, total) in names.iter().zip(&mut totals) {
            let budget = if *name == "guided" { GUIDED } else { OTHERS };
            let mut results = Results::default();
            for ((seed, s), optimum) in (0..).zip(&problems).zip(&optima) {
                let search = Search {
                    problem: &s.problem,
                    models: s,
                    seed,
                    budget,
                };
                let Ok(mut strategy) = by_name(name, search) else {
                    eprintln!("there is no strategy {name}");
                    std::process::exit(2);
                };
                let t = run(&s.problem, &mut *strategy, budget, |a| s.evaluate(a));
                let time = t.best.map_or(1.0, |b| s.true_time(&b.assignment));
                results.parts.push(optimum / time);
                results.runs.push(t.executed.len());
            }
            println!("{label:<34} {name:<12} {}", results.line());
            total.add(&results);
            here.push(results);
        }
        for (name, other) in names.iter().zip(&here).skip(1) {
            for (seed, (o, g)) in other.parts.iter().zip(&here[0].parts).enumerate() {
                if *o > g + EVEN {
                    losses.push(format!("{label}, seed {seed}: {name} {o:.3}, {g:.3}"));
                }
            }
        }
    }
    println!();
    for (name, t) in names.iter().zip(&totals) {
        println!("{:<34} {name:<12} {}", "all", t.line());
    }
    if names.len() > 1 {
        println!("\nwhere another one is better than {}:", names[0]);
        losses.iter().for_each(|l| println!("  {l}"));
    }
}

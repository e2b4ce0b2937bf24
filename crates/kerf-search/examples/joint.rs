//! One search over formats and launch shapes against two in a row, at equal budgets, on made-up problems.
//!
//!     cargo run --release -p kerf-search --example joint [SEEDS [BUDGET...]] [guided] [trace] [of=WORDS]
//!
//! Time of the best that was found, by the truth, over the optimum's: geometric mean of the problems. `ahead` and `behind`
//! count problems where one search is 1 % better or worse than the better of the two others.
use kerf_search::synthetic::{ErrorLaw, SyntheticRecipe};
use kerf_search::synthetic_joint::{Joint, JointRecipe};
use kerf_search::{Search, by_name, run};

const NAMES: [&str; 3] = ["guided", "launch-last", "launch-first"];

/// A difference that noise explains.
const EVEN: f64 = 1.01;

fn recipes() -> Vec<(&'static str, JointRecipe)> {
    let joint = JointRecipe::default();
    let formats = |f: SyntheticRecipe| JointRecipe {
        formats: f,
        ..joint
    };
    let base = SyntheticRecipe::default();
    let tight = SyntheticRecipe {
        quantile: 0.0,
        ..base
    };
    vec![
        ("half of the assignments pass", joint),
        (
            "few pass",
            formats(SyntheticRecipe {
                quantile: 0.05,
                ..base
            }),
        ),
        (
            "nothing passes, nothing is known",
            formats(SyntheticRecipe {
                sensitivity: None,
                quantile: -1.0,
                ..tight
            }),
        ),
        (
            "nothing passes, errors are known",
            formats(SyntheticRecipe {
                quantile: -1.0,
                ..tight
            }),
        ),
        (
            "nothing is known of errors",
            formats(SyntheticRecipe {
                sensitivity: None,
                errors: ErrorLaw::Sum,
                quantile: 0.25,
                ..base
            }),
        ),
        (
            "three formats",
            formats(SyntheticRecipe {
                variables: 8,
                levels: 3,
                quantile: 0.25,
                ..base
            }),
        ),
        (
            "four variables",
            formats(SyntheticRecipe {
                variables: 4,
                quantile: 0.25,
                ..base
            }),
        ),
        (
            "memory-bound",
            formats(SyntheticRecipe {
                memory_bound: true,
                ..base
            }),
        ),
        (
            "shapes matter most",
            JointRecipe {
                spread: 0.25,
                ..formats(SyntheticRecipe {
                    memory_bound: true,
                    ..base
                })
            },
        ),
        (
            "shapes do not matter",
            JointRecipe {
                spread: 0.01,
                registers: 0.0,
                ..joint
            },
        ),
        (
            "registers decide",
            JointRecipe {
                spread: 0.03,
                registers: 0.4,
                ..joint
            },
        ),
        (
            "shapes in no order, no model",
            JointRecipe {
                order: 0.0,
                ..formats(SyntheticRecipe {
                    model: None,
                    quantile: 0.25,
                    ..base
                })
            },
        ),
    ]
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // The two others take most of the time, and what is changed here is mostly guided.
    let alone = args.iter().any(|a| a == NAMES[0]);
    let mut budgets: Vec<usize> = args.iter().filter_map(|a| a.parse().ok()).collect();
    let seeds = if budgets.is_empty() {
        10
    } else {
        budgets.remove(0)
    } as u64;
    if budgets.is_empty() {
        budgets = vec![8, 16, 32];
    }
    for budget in budgets {
        let mut total = [0.0; 3];
        let (mut ahead, mut behind, mut of) = (0, 0, 0);
        println!(
            "budget {budget}: {}, ahead, behind of {seeds}",
            NAMES.join(", ")
        );
        for (name, recipe) in recipes() {
            let only = args.iter().find_map(|a| a.strip_prefix("of="));
            if only.is_some_and(|o| !name.contains(o)) {
                continue;
            }
            let mut sums = [0.0; 3];
            let (mut won, mut lost) = (0, 0);
            for seed in 1..=seeds {
                let mut joint = Joint::new(recipe, seed);
                if recipe.formats.quantile < 0.0 {
                    joint.problem.tolerance = Some(1e-14);
                }
                let best = joint.optimum().1;
                let found = NAMES.map(|strategy| {
                    if alone && strategy != NAMES[0] {
                        return 1.0;
                    }
                    let search = Search {
                        problem: &joint.problem,
                        models: &joint,
                        seed,
                        budget,
                    };
                    let mut s = by_name(strategy, search).expect("a strategy");
                    let done = run(&joint.problem, &mut *s, budget, |a| joint.evaluate(a));
                    if args.iter().any(|a| a == "trace") {
                        println!("{name}, seed {seed}, {strategy}: {:?}", done.reason);
                        for e in &done.executed {
                            println!("    {:?} {:?}", e.assignment, e.outcome);
                        }
                    }
                    done.best.map_or(1.0, |b| joint.true_time(&b.assignment)) / best
                });
                for (sum, f) in sums.iter_mut().zip(found) {
                    *sum += f.ln() / seeds as f64;
                }
                let others = found[1].min(found[2]);
                won += usize::from(found[0] * EVEN < others);
                lost += usize::from(found[0] > EVEN * others);
            }
            let [a, b, c] = sums.map(f64::exp);
            println!("  {a:.4} {b:.4} {c:.4}  {won:>3} {lost:>3}  {name}");
            total.iter_mut().zip(sums).for_each(|(t, s)| *t += s);
            (ahead, behind, of) = (ahead + won, behind + lost, of + seeds);
        }
        let [a, b, c] = total.map(|t| (t / recipes().len() as f64).exp());
        println!("  {a:.4} {b:.4} {c:.4}  {ahead:>3} {behind:>3}  all {of}");
    }
}

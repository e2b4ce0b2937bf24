//! What holds for every strategy, and how good guided is.
use kerf_search::session::{Diverged, SearchSession};
use kerf_search::synthetic::{ErrorLaw, Synthetic, SyntheticRecipe};
use kerf_search::{
    Assignment, Edge, Level, NoModels, Outcome, Problem, Reason, Search, SearchTrace,
    StrategyError, StrategyName, StrategyStep, Variable, by_name, replay, run,
};
use std::collections::BTreeSet;

fn search(s: &Synthetic, seed: u64, budget: usize) -> Search<'_> {
    Search {
        problem: &s.problem,
        models: s,
        seed,
        budget,
    }
}

fn searched(s: &Synthetic, name: &str, seed: u64, budget: usize) -> SearchTrace {
    let mut strategy = by_name(name, search(s, seed, budget)).expect("a strategy");
    run(&s.problem, &mut *strategy, budget, |a| s.evaluate(a))
}

/// All but static pruning, which has nothing to prune by here.
fn without_metrics() -> impl Iterator<Item = &'static str> {
    StrategyName::ANY_SPACE
        .into_iter()
        .filter(|n| *n != StrategyName::Ryoo)
        .map(StrategyName::name)
}

fn kinds() -> Vec<SyntheticRecipe> {
    let small = SyntheticRecipe {
        variables: 6,
        ..SyntheticRecipe::default()
    };
    vec![
        small,
        SyntheticRecipe {
            levels: 3,
            errors: ErrorLaw::Cancelling,
            ..small
        },
        SyntheticRecipe {
            sensitivity: None,
            model: None,
            errors: ErrorLaw::Largest,
            ..small
        },
        SyntheticRecipe {
            overflows: 2,
            ..small
        },
    ]
}

#[test]
fn results_are_within_the_tolerance_and_nothing_runs_twice() {
    for (i, recipe) in kinds().into_iter().enumerate() {
        let s = Synthetic::new(recipe, i as u64);
        for name in without_metrics() {
            let t = searched(&s, name, 5, 200);
            let best = t.best.unwrap_or_else(|| panic!("{name}: no result"));
            assert!(s.problem.accepts(&best.outcome), "{name} {best:?}");
            let time = best.outcome.time().expect("it ran");
            assert!(time <= 1.0, "{name}: slower than the program as it is");
            let all: BTreeSet<&Assignment> = t.executed.iter().map(|e| &e.assignment).collect();
            assert_eq!(all.len(), t.executed.len(), "{name}");
            assert!(!all.contains(&s.problem.identity()), "{name}: baseline");
            assert!(t.executed.len() <= 200);
        }
    }
}

#[test]
fn the_same_outcomes_give_the_same_questions() {
    let s = Synthetic::new(kinds()[1], 3);
    for name in without_metrics() {
        let whole = searched(&s, name, 9, 60);
        assert_eq!(whole, searched(&s, name, 9, 60), "{name}");
        // Broken off after any number of runs, it goes on as if it had not been.
        for cut in [0, 1, whole.executed.len() / 2, whole.executed.len()] {
            let recorded = &whole.executed[..cut];
            let mut strategy = by_name(name, search(&s, 9, 60)).expect("a strategy");
            let mut session = SearchSession::new(&s.problem, &mut *strategy, 60);
            session.resume(recorded.iter().cloned());
            let mut executed = 0;
            while let Some(a) = session.wanted() {
                assert_eq!(session.wanted().as_ref(), Some(&a), "{name}");
                executed += 1;
                session.tell(&a, s.evaluate(&a));
            }
            assert_eq!(session.finish(), whole, "{name}, cut at {cut}");
            assert_eq!(executed, whole.executed.len() - cut, "{name}");

            let mut again = by_name(name, search(&s, 9, 60)).expect("a strategy");
            assert_eq!(replay(&s.problem, &mut *again, recorded), Ok(()), "{name}");
            let told = again.history().all().iter();
            let told = told.filter(|e| e.assignment != s.problem.identity());
            assert_eq!(told.count(), cut, "{name}");
        }
    }
}

#[test]
fn a_record_of_another_search_is_told() {
    let s = Synthetic::new(kinds()[0], 3);
    let mut record = searched(&s, "guided", 1, 20).executed;
    record[1].assignment = s.problem.uniform(0);
    record[1].assignment[0] = 1;
    let mut strategy = by_name("guided", search(&s, 1, 20)).expect("a strategy");
    let said = replay(&s.problem, &mut *strategy, &record);
    assert!(matches!(said, Err(Diverged { at: 1, .. })), "{said:?}");
}

#[test]
fn exhaustive_finds_the_optimum_or_refuses() {
    let quiet = SyntheticRecipe {
        noise: 0.0,
        ..kinds()[0]
    };
    let s = Synthetic::new(quiet, 1);
    let t = searched(&s, "exhaustive", 0, 1000);
    assert_eq!(t.reason, Reason::Exhausted);
    assert_eq!(t.executed.len(), (1 << 6) - 1);
    assert_eq!(t.best.map(|b| b.assignment), Some(s.optimum().0));
    let large = SyntheticRecipe {
        variables: 30,
        ..quiet
    };
    let s = Synthetic::new(large, 1);
    let said = by_name("exhaustive", search(&s, 0, 10)).err();
    assert!(said.is_some_and(|e| e.to_string().contains("1073741824")));
}

/// Variables with two levels that halve their time; each has an error.
fn simple(errors: &[f64], casts: &[(usize, usize, f64)]) -> Problem {
    let variable = |(i, e): (usize, &f64)| {
        let high = Level {
            cost: 1.0,
            ..Level::named("f64")
        };
        let low = Level {
            cost: 0.5,
            error: Some(*e),
            ..Level::named("f32")
        };
        let mut v = Variable::new(format!("v{i}"), vec![high, low]);
        v.depth = i as u32;
        v
    };
    let edges = casts.iter().map(|&(a, b, weight)| Edge { a, b, weight });
    let variables = errors.iter().enumerate().map(variable).collect();
    Problem::precision(variables, edges.collect(), 1.0)
}

/// Errors that add up, times as counted.
fn exact(p: &Problem, a: &[u8]) -> Outcome {
    let lowered = a.iter().zip(&p.variables).filter(|(l, _)| **l > 0);
    let error = lowered.filter_map(|(_, v)| v.levels[1].error).sum();
    Outcome::ran(error, p.score_ratio(a).unwrap_or(1.0))
}

fn solved(p: &Problem, name: &str) -> (Assignment, usize) {
    let s = Search {
        problem: p,
        models: &NoModels,
        seed: 1,
        budget: 500,
    };
    let mut strategy = by_name(name, s).expect("a strategy");
    let t = run(p, &mut *strategy, 500, |a| exact(p, a));
    (t.best.expect("a result").assignment, t.executed.len())
}

#[test]
fn easy_problems_have_their_known_answers() {
    // Everything can be lowered: one run shows it.
    let all = simple(&[0.1; 6], &[]);
    for name in ["guided", "delta-debug", "dataflow"] {
        assert_eq!(solved(&all, name), (vec![1; 6], 1), "{name}");
    }
    // One variable cannot; everybody finds out which.
    let but_one = simple(&[0.1, 0.1, 9.0, 0.1, 0.1, 0.1], &[]);
    for name in without_metrics() {
        assert_eq!(solved(&but_one, name).0, [1, 1, 0, 1, 1, 1], "{name}");
    }
    // Nothing can.
    let none = simple(&[9.0; 4], &[]);
    for name in without_metrics() {
        assert_eq!(solved(&none, name).0, [0; 4], "{name}");
    }
}

#[test]
fn vetoed_levels_are_never_asked_for() {
    let mut p = simple(&[0.1; 5], &[(0, 1, 0.1)]);
    p.variables[3].levels[1].veto = true;
    for name in without_metrics() {
        let s = Search {
            problem: &p,
            models: &NoModels,
            seed: 2,
            budget: 100,
        };
        let mut strategy = by_name(name, s).expect("a strategy");
        let t = run(&p, &mut *strategy, 100, |a| {
            assert_eq!(a[3], 0, "{name}");
            exact(&p, a)
        });
        let best = t.best.expect("a result");
        assert_eq!(best.assignment, [1, 1, 1, 0, 1], "{name}");
    }
}

#[test]
fn data_flow_steps_are_those_of_the_publication() {
    // Twelve depths in one block, the tenth of which cannot be lowered.
    let mut errors = [0.01; 12];
    errors[9] = 9.0;
    let p = simple(&errors, &[]);
    let s = Search {
        problem: &p,
        models: &NoModels,
        seed: 1,
        budget: 100,
    };
    let mut strategy = by_name("dataflow", s).expect("a strategy");
    let t = run(&p, &mut *strategy, 100, |a| exact(&p, a));
    let lowered = |a: &Assignment| a.iter().filter(|l| **l > 0).count();
    let counts: Vec<usize> = t.executed.iter().map(|e| lowered(&e.assignment)).collect();
    // 8 pass; the other 4 fail, by steps of 8 and of 4, which is the same and runs once; 2 fail; 1 passes,
    // the next does not. The block goes on alone: 2 fail, 1 is skipped, the last two pass one by one.
    assert_eq!(counts, [8, 12, 10, 9, 11, 10, 11]);
    assert_eq!(t.best.map(|b| lowered(&b.assignment)), Some(11));
}

#[test]
fn unknown_names_are_refused() {
    let p = simple(&[0.1], &[]);
    let s = Search {
        problem: &p,
        models: &NoModels,
        seed: 1,
        budget: 1,
    };
    let said = by_name("gided", s).err().expect("a refusal").to_string();
    assert!(
        said.contains("`gided`") && said.contains("ampt-ga"),
        "{said}"
    );
    assert!(by_name("delta_debug", s).is_ok());
    let said = by_name("launch_last", s).err().expect("a refusal");
    assert_eq!(said, StrategyError::NotBoth(StrategyName::LaunchLast));
    let mut done = by_name("exhaustive", s).expect("a strategy");
    done.tell(&[0], &Outcome::ran(0.0, 1.0));
    done.tell(&[1], &Outcome::Failed);
    assert_eq!(done.ask(), StrategyStep::Done(Reason::Exhausted));
}

/// Part of the optimum's speed-up, and executions.
fn quality(recipe: SyntheticRecipe, name: &str, seed: u64, budget: usize) -> (f64, usize) {
    let s = Synthetic::new(recipe, seed);
    let t = searched(&s, name, seed, budget);
    let best = t.best.expect("a result");
    let part = s.optimum().1 / s.true_time(&best.assignment);
    (part, t.executed.len())
}

/// Quantiles that the publication of AMPT-GA sets tolerances by.
const QUARTILES: [f64; 3] = [0.25, 0.5, 0.75];

#[test]
fn guided_is_near_the_optimum_within_25_executions() {
    let wide = SyntheticRecipe {
        variables: 12,
        ..SyntheticRecipe::default()
    };
    let deep = SyntheticRecipe {
        variables: 8,
        levels: 3,
        ..SyntheticRecipe::default()
    };
    for base in [wide, deep] {
        for errors in [ErrorLaw::Quadrature, ErrorLaw::Largest, ErrorLaw::Sum] {
            for sensitivity in [Some(0.5), None] {
                for (seed, quantile) in QUARTILES.into_iter().enumerate() {
                    let recipe = SyntheticRecipe {
                        errors,
                        sensitivity,
                        quantile,
                        ..base
                    };
                    let (part, runs) = quality(recipe, "guided", 40 + seed as u64, 25);
                    assert!(part >= 0.97, "{part} after {runs}: {recipe:?}, seed {seed}");
                }
            }
        }
    }
}

#[test]
fn guided_needs_a_quarter_of_the_executions_of_ampt_ga() {
    let (mut ours, mut theirs) = ((0.0, 0.0), (0.0, 0.0));
    let mut cases = 0.0;
    for errors in [ErrorLaw::Quadrature, ErrorLaw::Sum, ErrorLaw::Cancelling] {
        for (seed, quantile) in QUARTILES.into_iter().enumerate() {
            let recipe = SyntheticRecipe {
                errors,
                quantile,
                ..SyntheticRecipe::default()
            };
            let add = |sum: &mut (f64, f64), name| {
                let (part, runs) = quality(recipe, name, 70 + seed as u64, 3000);
                *sum = (sum.0 + part, sum.1 + (runs.max(1) as f64).ln());
            };
            add(&mut ours, "guided");
            add(&mut theirs, "ampt-ga");
            cases += 1.0;
        }
    }
    assert!(ours.0 >= theirs.0 - 0.005 * cases, "{ours:?} {theirs:?}");
    let ratio = ((ours.1 - theirs.1) / cases).exp();
    assert!(ratio <= 0.25, "{ratio}");
}

//! Guided search and its rivals over listed spaces: failures, predictions, large and odd spaces.
use kerf_search::problem::{Metrics, NoModels};
use kerf_search::rng::Rng;
use kerf_search::space::{Space, SpaceParameter};
use kerf_search::synthetic_launch::launch_space;
use kerf_search::{
    Models, Outcome, Problem, Search, SearchSession, SearchTrace, by_name, replay, run,
};

fn trace_of_strategy(
    problem: &Problem,
    models: &dyn Models,
    name: &str,
    seed: u64,
    budget: usize,
    time: &dyn Fn(&[u8]) -> Outcome,
) -> SearchTrace {
    let search = Search {
        problem,
        models,
        seed,
        budget,
    };
    let mut s = by_name(name, search).expect("a strategy");
    run(problem, &mut *s, budget, time)
}

fn best(t: &SearchTrace) -> f64 {
    let found = t.best.as_ref().and_then(|e| e.outcome.time());
    found.unwrap_or(f64::INFINITY)
}

fn failed(t: &SearchTrace) -> usize {
    t.executed
        .iter()
        .filter(|e| e.outcome == Outcome::Failed)
        .count()
}

#[test]
fn guided_beats_the_others_on_made_up_kernels() {
    let names = ["guided", "random", "annealing", "local"];
    let mut sums = [0.0; 4];
    for seed in 100..104 {
        let r = launch_space(seed, 1500).expect("a space");
        let optimum = r.optimum().expect("an optimum");
        for (sum, name) in sums.iter_mut().zip(names) {
            for s in 0..2 {
                let t = trace_of_strategy(&r.problem, &r, name, s, 60, &|a| r.outcome(a));
                *sum += (best(&t) / optimum).ln();
            }
        }
    }
    assert!(sums[1..].iter().all(|x| sums[0] < *x), "{names:?} {sums:?}");
}

/// Time falls towards a corner that cannot be compiled.
#[test]
fn what_fails_does_not_hide_the_optimum() {
    let space = Space::new(vec![
        SpaceParameter::ints("x", 1..=20),
        SpaceParameter::ints("y", 1..=20),
        SpaceParameter::ints("flag", 0..=1),
    ]);
    let problem = space.problem().expect("a problem");
    let time = |a: &[u8]| {
        let (x, y) = (f64::from(a[0]), f64::from(a[1]));
        match x + y > 24.0 {
            true => Outcome::Failed,
            false => Outcome::ran(
                0.0,
                10.0 - 0.2 * (x + y) + 0.1 * f64::from(a[2]) + 0.01 * (x - y).abs(),
            ),
        }
    };
    let mut wasted = 0;
    for seed in 0..4 {
        let t = trace_of_strategy(&problem, &NoModels, "guided", seed, 60, &time);
        assert!(best(&t) < 5.4, "{}", best(&t));
        wasted += failed(&t);
    }
    // The optimum lies at the edge of what fails, so that looking beyond the edge costs runs; not all of them.
    assert!(wasted < 180, "{wasted}");
}

struct Predicted<'r>(&'r dyn Fn(&[u8]) -> f64);

impl Models for Predicted<'_> {
    fn time(&self, a: &[u8]) -> Option<f64> {
        Some(self.0(a))
    }
    fn metrics(&self, a: &[u8]) -> Option<Metrics> {
        Some(Metrics {
            efficiency: 1.0 / self.0(a),
            utilisation: f64::from(a[0] % 3),
        })
    }
}

#[test]
fn predictions_help_and_wrong_ones_do_not_stop_it() {
    let r = launch_space(200, 1500).expect("a space");
    let optimum = r.optimum().expect("an optimum");
    let truth = |a: &[u8]| r.outcome(a).time().unwrap_or(5.0 * optimum);
    let noise = |a: &[u8]| {
        let seed = a
            .iter()
            .fold(7, |h: u64, l| h.wrapping_mul(31) + u64::from(*l));
        (0.3 * Rng::new(seed).normal()).exp()
    };
    let mean = |models: &dyn Models, budget| {
        let all = (0..4).map(|s| {
            best(&trace_of_strategy(
                &r.problem,
                models,
                "guided",
                s,
                budget,
                &|a| r.outcome(a),
            )) / optimum
        });
        all.sum::<f64>() / 4.0
    };
    let none = mean(&NoModels, 20);
    let good = mean(&Predicted(&|a| truth(a) * noise(a)), 20);
    assert!(good < none, "{good} {none}");
    let wrong = mean(&Predicted(&|a| 1.0 / truth(a)), 80);
    assert!(wrong < 1.2, "{wrong}");
    // Static pruning runs its front and nothing else.
    let t = trace_of_strategy(&r.problem, &Predicted(&truth), "ryoo", 1, 500, &|a| {
        r.outcome(a)
    });
    assert!(t.executed.len() < 60, "{}", t.executed.len());
    assert!(best(&t) <= 1.2 * optimum);
}

#[test]
fn large_spaces_are_searched_in_part_and_the_same_way_again() {
    let space = Space::new(
        (0..4)
            .map(|i| SpaceParameter::ints(format!("p{i}"), 1..=16))
            .collect(),
    );
    let problem = space.problem().expect("a problem");
    assert_eq!(problem.size(), 65536);
    let time = |a: &[u8]| {
        let far = a
            .iter()
            .zip([3.0, 9.0, 14.0, 6.0])
            .map(|(l, b)| (f64::from(*l) - b).powi(2));
        Outcome::ran(0.0, 1.0 + 0.01 * far.sum::<f64>())
    };
    let t = trace_of_strategy(&problem, &NoModels, "guided", 1, 60, &time);
    assert!(best(&t) < 1.05, "{}", best(&t));
    let search = Search {
        problem: &problem,
        models: &NoModels,
        seed: 1,
        budget: 60,
    };
    let mut again = by_name("guided", search).expect("a strategy");
    replay(&problem, &mut *again, &t.executed[..40]).expect("the same questions");
}

#[test]
fn odd_spaces_end() {
    let names = [
        "guided",
        "random",
        "naive-ga",
        "annealing",
        "differential",
        "local",
        "exhaustive",
    ];
    let one = Space::new(vec![SpaceParameter::ints("x", [7])])
        .problem()
        .expect("a problem");
    let text = Space::new(vec![
        SpaceParameter {
            name: "x".into(),
            values: vec![kerf_search::expression::ExpressionValue::Text("a".into())],
        },
        SpaceParameter::ints("y", [1, 2, 3]),
    ]);
    let text = text.problem().expect("a problem");
    for name in names {
        let t = trace_of_strategy(&one, &NoModels, name, 1, 50, &|_| Outcome::ran(0.0, 2.0));
        assert_eq!((t.executed.len(), best(&t)), (1, 2.0), "{name}");
        let t = trace_of_strategy(&text, &NoModels, name, 1, 50, &|a| {
            Outcome::ran(0.0, f64::from(a[1]) + 1.0)
        });
        assert_eq!((t.executed.len(), best(&t)), (3, 1.0), "{name}");
        // Nothing runs at all.
        let t = trace_of_strategy(&text, &NoModels, name, 1, 50, &|_| Outcome::Failed);
        assert!(t.best.is_none() && t.executed.len() <= 3, "{name}");
    }
    // Times that are all the same, many runs.
    let flat = Space::new(vec![
        SpaceParameter::ints("x", 0..30),
        SpaceParameter::ints("y", 0..30),
    ]);
    let flat = flat.problem().expect("a problem");
    let t = trace_of_strategy(&flat, &NoModels, "guided", 1, 450, &|_| {
        Outcome::ran(0.0, 1.0)
    });
    assert_eq!(t.executed.len(), 450);
}

/// What a search finds that asks for the next points before it is told of the last.
fn go_with_lag(r: &kerf_search::recorded::RecordedSpace, seed: u64, lag: usize) -> SearchTrace {
    let search = Search {
        problem: &r.problem,
        models: r,
        seed,
        budget: 60,
    };
    let mut s = by_name("guided", search).expect("a strategy");
    let mut session = SearchSession::new(&r.problem, &mut *s, 60).with_lag(lag);
    let mut foreseen = 0;
    while let Some(a) = session.wanted() {
        session.ask_ahead();
        let likely = session.likely();
        assert!(!likely.contains(&a));
        session.tell(&a, r.outcome(&a));
        foreseen += usize::from(session.wanted().is_some_and(|next| likely.contains(&next)));
    }
    // With a lag what comes next is known; at the end nothing comes.
    assert!(lag == 1 || foreseen >= 59, "{foreseen}");
    session.finish()
}

#[test]
fn guided_asks_ahead_and_finds_as_much() {
    let mut sums = [0.0; 3];
    for seed in 100..106 {
        let r = launch_space(seed, 1500).expect("a space");
        let optimum = r.optimum().expect("an optimum");
        for (sum, lag) in sums.iter_mut().zip([1, 3, 6]) {
            for s in 0..4 {
                let t = go_with_lag(&r, s, lag);
                assert_eq!(t.executed.len(), 60);
                let mut all: Vec<_> = t.executed.iter().map(|e| &e.assignment).collect();
                all.sort();
                all.dedup();
                assert_eq!(all.len(), 60, "none twice");
                *sum += (best(&t) / optimum).ln() / 24.0;
            }
        }
    }
    let [own, three, six] = sums;
    assert!(three < own + 0.02 && six < own + 0.05, "{sums:?}");
}

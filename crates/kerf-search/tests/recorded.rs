//! Recorded spaces: both formats, and what is refused.
use kerf_search::recorded::{RecordedError, RecordedSpace};
use kerf_search::repeat::repeat;
use kerf_search::synthetic::{Synthetic, SyntheticRecipe};
use kerf_search::{Evaluation, Models, Outcome, StrategyName};

const CACHE: &str = r#"{"device_name": "G", "kernel_name": "k",
"tune_params_keys": ["bx", "how"], "tune_params": {"bx": [32, 64, 128], "how": ["a", "b"]},
"cache": {
"32,a": {"bx": 32, "how": "a", "time": 3.0},
"64,a": {"bx": 64, "how": "a", "time": 2.0},
"32,b": {"bx": 32, "how": "b", "time": 1.0},
"64,b": {"bx": 64, "how": "b", "time": "RuntimeFailedConfig"}"#;

fn tuner() -> String {
    format!("{CACHE}}}}}")
}

#[test]
fn caches_of_kernel_tuner_are_read() {
    // The second was not closed, as while the tuner runs.
    for text in [tuner(), format!("{CACHE},\n")] {
        let r = RecordedSpace::parse(text.as_bytes()).expect("a space");
        assert_eq!((r.name.as_str(), r.len()), ("k on G", 4));
        assert_eq!(r.optimum(), Some(1.0));
        assert_eq!(r.outcome(&[1, 0]), Outcome::ran(0.0, 2.0));
        assert_eq!(r.outcome(&[1, 1]), Outcome::Failed);
        assert_eq!(r.problem.points.as_ref().map(Vec::len), Some(4));
        for s in [
            "guided",
            "random",
            "naive-ga",
            "ampt-ga",
            "exhaustive",
            "annealing",
            "differential",
            "local",
        ] {
            let all = repeat(&r, s.parse().expect("a name"), 10, 3, 1).expect("a strategy");
            for x in &all.repetitions {
                assert_eq!((x.over_optimum, x.missing), (Some(1.0), 0), "{s}");
                assert!(x.executions <= 4, "{s}");
            }
        }
        assert!(repeat(&r, StrategyName::Dataflow, 10, 1, 1).is_err());
    }
}

#[test]
fn own_files_come_back_as_they_were() {
    let recipe = SyntheticRecipe {
        variables: 5,
        ..SyntheticRecipe::default()
    };
    let s = Synthetic::new(recipe, 2);
    let table: Vec<Evaluation> = kerf_search::strategies::every(&s.problem)
        .into_iter()
        .map(|assignment| Evaluation {
            outcome: match assignment[4] {
                0 => s.evaluate(&assignment),
                _ => Outcome::ran(f64::INFINITY, 0.9),
            },
            assignment,
        })
        .collect();
    let r = RecordedSpace::new("five", s.problem.clone(), table).expect("a space");
    let r = r.predicted_by(|a| Some(1.0 - 0.1 * f64::from(a[0])));
    let r = r.coded_by(|a| Some(1.0 - 0.1 * f64::from(a[1])).filter(|_| a[2] == 0));
    let text = r.json().expect("JSON");
    let back = RecordedSpace::parse(text.as_bytes()).expect("a space");
    assert_eq!(back.json().expect("JSON"), text);
    assert_eq!(back.problem, r.problem);
    let both = |a: &[u8]| (back.time(a), back.other_time(a));
    assert_eq!(both(&[1, 0, 0, 0, 0]), (Some(0.9), Some(1.0)));
    assert_eq!(both(&[0, 1, 1, 0, 0]), (Some(1.0), None));
    assert_eq!(back.outcome(&[0, 0, 0, 0, 1]).error(), Some(f64::INFINITY));
    let all = repeat(&back, StrategyName::Guided, 25, 2, 1).expect("a strategy");
    let last = all.marks.last().expect("a mark");
    assert!(last.mean < 1.03, "{all:?}");
}

#[test]
fn what_is_no_space_is_refused_by_name() {
    let own = |problem: &str, outcomes: &str| {
        format!(
            r#"{{"schema": "kerf.search-space/1", "problem": {problem}, "outcomes": {outcomes}}}"#
        )
    };
    let two = r#"{"tolerance": 1, "variables": [{"name": "x", "levels": [{"name": "a"}, {"name": "b"}]}]}"#;
    let cases = [
        (String::new(), "not JSON"),
        ("{".into(), "not JSON"),
        ("[]".into(), "neither"),
        (r#"{"schema": "x"}"#.into(), "its schema is `x`"),
        (r#"{"cache": 1}"#.into(), "a number where an object"),
        (r#"{"cache": {}}"#.into(), "`tune_params`"),
        (tuner().replace("\"bx\": 32,", "\"bx\": 33,"), "bx = `33`"),
        (
            own(two, r#"[{"assignment": [2], "outcome": "failed"}]"#),
            "outcome 0",
        ),
        (
            own(two, r#"[{"assignment": [0], "outcome": "failed"}]"#),
            "nothing in it",
        ),
        (
            own(
                two,
                r#"[{"assignment": [0], "outcome": {"ran": {"error": 0, "time": -1}}}]"#,
            ),
            "time",
        ),
        (
            own(two, r#"[{"assignment": [0], "outcom": "failed"}]"#),
            "outcom",
        ),
        (
            own(
                r#"{"variables": [], "edges": [{"a": 0, "b": 1, "weight": 1}]}"#,
                "[]",
            ),
            "edge 0",
        ),
        (
            own(r#"{"variables": [{"name": "x", "levels": []}]}"#, "[]"),
            "0 levels",
        ),
    ];
    for (text, expected) in cases {
        let said = RecordedSpace::parse(text.as_bytes())
            .err()
            .map(|e| e.to_string());
        let said = said.unwrap_or_else(|| panic!("accepted: {text}"));
        assert!(said.contains(expected), "{said}\n{text}");
    }
    let packed = RecordedSpace::parse(&[0x1f, 0x8b, 8, 0]);
    assert!(matches!(packed, Err(RecordedError::Exchange(_))));
}

/// Two groups: lowering the second is the gain, and a static score that has conversions for everything sees none.
const SCORED: &str = r#"{"schema": "kerf.search-space/1", "name": "two",
"problem": {"variables": [
 {"name": "a", "levels": [{"name": "f64"}, {"name": "f32"}]},
 {"name": "b", "levels": [{"name": "f64"}, {"name": "f32"}]}], "tolerance": 1e-6,
 "baseline": {"ran": {"error": 1e-16, "time": 1.0}}},
"outcomes": [
 {"assignment": [0, 0], "outcome": {"ran": {"error": 1e-16, "time": 1.0}}},
 {"assignment": [1, 0], "outcome": {"ran": {"error": 1e-3, "time": 0.9}}},
 {"assignment": [0, 1], "outcome": {"ran": {"error": 1e-8, "time": 0.6}}},
 {"assignment": [1, 1], "outcome": {"ran": {"error": 1e-3, "time": 0.5}}}],
"predicted": [1.0, 0.9, 0.6, 0.5], "scored": [1.0, 3.0, 2.0, 0.5]}"#;

#[test]
fn ampt_ga_goes_by_the_static_score_and_the_model_where_asked() {
    let r = RecordedSpace::parse(SCORED.as_bytes()).expect("a space");
    let again = RecordedSpace::parse(r.json().expect("JSON").as_bytes()).expect("a space");
    for r in [r, again] {
        let of = |s: &str| {
            repeat(&r, s.parse().expect("a name"), 10, 3, 1)
                .expect("a strategy")
                .repetitions
        };
        for x in of("ampt-ga") {
            // Everything low scores better, and is not within the tolerance; the rest is filtered.
            assert_eq!((x.time, x.executions), (Some(1.0), 1));
        }
        for x in of("ampt-ga-model") {
            assert_eq!(x.time, Some(0.6));
        }
    }
    // Without a score there is the model.
    let old = SCORED.replace(r#", "scored": [1.0, 3.0, 2.0, 0.5]"#, "");
    let r = RecordedSpace::parse(old.as_bytes()).expect("a space");
    let all = repeat(&r, StrategyName::AmptGa, 10, 3, 1).expect("a strategy");
    assert!(all.repetitions.iter().all(|x| x.time == Some(0.6)));
}

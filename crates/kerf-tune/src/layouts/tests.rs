//! What a search of layouts asks for, of plans whose times are made up.
use super::*;
use crate::code::CodeChoice;
use crate::layout_choice::LayoutChoice;
use kerf_pass::Coarsening;
use kerf_search::{Level, Variable};
use std::collections::BTreeMap;

/// A format of the program, and elements and code of two kernels.
const FORMAT: usize = 0;
const ELEMENTS: [usize; 2] = [1, 2];
const CODE: [usize; 2] = [3, 4];

/// Time by levels: f32 is faster, and so are four elements in the long kernel; the short kernel has nothing to gain.
fn time(a: &[u8]) -> f64 {
    let format = [1.0, 0.8][usize::from(a[FORMAT])];
    let elements = [1.0, 0.9, 0.7, 0.75][usize::from(a[ELEMENTS[0]])];
    let short = [1.0, 1.02, 1.02, 1.02][usize::from(a[ELEMENTS[1]])];
    // The second one is less than a gain.
    let code = [1.0, 0.998, 1.1][usize::from(a[CODE[0]])];
    format * elements * short * code
}

struct MadeUp {
    tunable: Tunable,
    known: BTreeMap<Assignment, f64>,
    asked: Vec<Assignment>,
    minor: Option<&'static str>,
}

impl LayoutTrials for MadeUp {
    type Error = std::convert::Infallible;

    fn tunable(&self) -> &Tunable {
        &self.tunable
    }
    fn fastest(&self) -> (Assignment, f64) {
        let best = self.known.iter().min_by(|a, b| a.1.total_cmp(b.1));
        best.map(|(a, t)| (a.clone(), *t)).expect("some are known")
    }
    fn known_outcome(&self, a: &Assignment) -> Option<Outcome> {
        self.known.get(a).map(|t| Outcome::ran(0.0, *t))
    }
    fn known_plans(&self) -> Vec<Assignment> {
        self.known.keys().cloned().collect()
    }
    fn is_minor(&self, kernel: &str) -> bool {
        self.minor == Some(kernel)
    }
    fn predictor(&self) -> Option<&dyn TimePredictor> {
        None
    }
    fn run(
        &mut self,
        all: &[Assignment],
        done: usize,
        _likely: &[Assignment],
    ) -> Result<(), Self::Error> {
        assert_eq!(done, self.asked.len());
        for a in all {
            assert!(!self.known.contains_key(a), "{a:?} is known");
            self.known.insert(a.clone(), time(a));
            self.asked.push(a.clone());
        }
        Ok(())
    }
}

/// What is known after a search of layouts that begins with the program itself and the same in f32.
fn searched(minor: Option<&'static str>) -> MadeUp {
    let variable = |name: &str, levels: usize, unordered: bool| Variable {
        unordered,
        ..Variable::new(
            name,
            (0..levels).map(|l| Level::named(l.to_string())).collect(),
        )
    };
    let problem = Problem::precision(
        vec![
            variable("format", 2, false),
            variable("long elements", 4, true),
            variable("short elements", 4, true),
            variable("long code", 3, true),
            variable("short code", 3, true),
        ],
        Vec::new(),
        1e-3,
    );
    let factors = FACTORS.map(|k| Some(Coarsening::blocked(k)));
    let elements = |group, kernel: &str| LayoutChoice {
        group,
        kernel: kernel.to_owned(),
        levels: std::iter::once(None).chain(factors).collect(),
    };
    let code = |group, kernel: &str| CodeChoice {
        group,
        kernel: kernel.to_owned(),
        levels: Vec::new(),
    };
    let own = [vec![0; 5], vec![1, 0, 0, 0, 0]];
    let mut trials = MadeUp {
        tunable: Tunable {
            coarse: vec![
                elements(ELEMENTS[0], "long"),
                elements(ELEMENTS[1], "short"),
            ],
            code: vec![code(CODE[0], "long"), code(CODE[1], "short")],
            ..Tunable::default()
        },
        known: own.into_iter().map(|a| (a.clone(), time(&a))).collect(),
        asked: Vec::new(),
        minor,
    };
    let evaluations = LayoutSearch::new(&mut trials, &problem).settle();
    assert_eq!(evaluations, Ok(trials.asked.len()));
    trials
}

#[test]
fn the_fastest_layout_of_both_kernels_is_found() {
    let (best, _) = searched(None).fastest();
    assert_eq!(best[..4], [1, 2, 0, 1]);
}

#[test]
fn kernels_that_take_no_time_keep_their_layout() {
    let all = searched(None);
    let major = searched(Some("short"));
    assert_eq!(all.fastest().1, major.fastest().1);
    let changes_short = |a: &&Assignment| a[ELEMENTS[1]] > 0 || a[CODE[1]] > 0;
    let changed: Vec<&Assignment> = major.asked.iter().filter(changes_short).collect();
    assert!(changed.is_empty(), "{changed:?}");
    assert!(all.asked.iter().any(|a| changes_short(&a)));
    assert!(major.asked.len() < all.asked.len());
}

#[test]
fn what_gains_less_than_times_repeat_to_is_not_built_upon() {
    let trials = searched(None);
    let short = trials.asked.iter().filter(|a| a[CODE[1]] > 0);
    let short: Vec<&Assignment> = short.collect();
    assert!(!short.is_empty());
    assert!(short.iter().all(|a| a[CODE[0]] == 0), "{short:?}");
}

//! What a strategy is, and the strategies by name.
use crate::history::{Evaluation, History};
use crate::outcome::Outcome;
use crate::problem::{Assignment, Search};
use crate::strategies::{self, Parts, StageOrder};
use serde::{Deserialize, Serialize};

/// What a strategy wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum StrategyStep {
    /// One evaluation.
    Evaluate(Assignment),
    /// Several, in any order; all are told, in this order, before the next question.
    Batch(Vec<Assignment>),
    /// Nothing more.
    Done(Reason),
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Everything there is was evaluated.
    Exhausted,
    /// No change of the kind that the strategy makes is better.
    LocalOptimum,
    /// Nothing better was found for so long that the strategy gave up.
    Stalled,
    /// Nothing that was not evaluated is likely to be better and within the tolerance.
    Bracketed,
    /// No executions are left.
    Budget,
}

impl Reason {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Exhausted => "all evaluated",
            Reason::LocalOptimum => "local optimum",
            Reason::Stalled => "stalled",
            Reason::Bracketed => "optimum bracketed",
            Reason::Budget => "budget used",
        }
    }
}

/// A way to search. The same seed and the same outcomes give the same questions.
pub trait Strategy {
    /// What to evaluate next.
    fn ask(&mut self) -> StrategyStep;
    /// The outcome of something asked for.
    fn tell(&mut self, a: &[u8], o: &Outcome);
    /// What it may well ask for after what it asked for last, the likeliest first; nothing where it has no idea.
    fn likely(&self) -> Vec<Assignment> {
        Vec::new()
    }
    /// Whether it can be asked again before it was told what came of earlier questions.
    fn asks_ahead(&self) -> bool {
        false
    }
    /// All that was told.
    fn history(&self) -> &History;
    /// What it would give as its result: always something whose outcome was within the tolerance.
    fn best(&self) -> Option<&Evaluation> {
        self.history().best()
    }
}

/// Why there is no such strategy for a problem.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StrategyError {
    /// No strategy has this name.
    #[error("there is no strategy `{0}`; there are {list}, and {few} for one degree", list = NAMES.join(", "), few = DEGREE_NAMES.join(", "))]
    Unknown(String),
    /// Exhaustive search of what is too large.
    #[error("the space has {0} assignments, more than the {1} that exhaustive search goes through")]
    TooLarge(u64, u64),
    /// A strategy that lowers precision, for a problem without any.
    #[error("the strategy `{0}` lowers precision step by step, and this space has no precisions")]
    NotOrdered(String),
    /// A search over one degree, for a problem with other variables.
    #[error(
        "the strategy `{0}` searches one degree of approximation, and this space has other variables"
    )]
    NotOneDegree(String),
    /// Shapes apart from the rest, where one of the two is missing.
    #[error(
        "the strategy `{0}` searches launch shapes apart from the rest, and this space has not both"
    )]
    NotBoth(String),
    /// A strategy that prunes by static metrics, and nobody knows any.
    #[error("the strategy `{0}` prunes by static metrics, and nothing gives any for this space")]
    NoMetrics(String),
}

/// The strategies, the default first.
pub const NAMES: [&str; 12] = [
    "guided",
    "exhaustive",
    "random",
    "delta-debug",
    "dataflow",
    "naive-ga",
    "ampt-ga",
    "ampt-ga-model",
    "annealing",
    "differential",
    "local",
    "ryoo",
];

/// The strategies that search shapes of launches apart from the rest, for comparison with one search over both.
pub const STAGED_NAMES: [&str; 2] = ["launch-first", "launch-last"];

/// The strategies for one degree of approximation.
pub const DEGREE_NAMES: [&str; 3] = ["heu", "smp", "omg"];

/// The strategies that make sense for a problem side by side: not exhaustive search, and not those that need
/// precisions or predictions which it has not.
pub fn suitable(search: &Search) -> Vec<&'static str> {
    let listed = search.problem.points.is_some();
    let fits = |name: &&str| match *name {
        "exhaustive" => false,
        "delta-debug" | "dataflow" => !listed,
        "ampt-ga" => search.static_score(&first(search.problem)).is_some(),
        // Without a static score it is the same.
        "ampt-ga-model" => {
            let a = first(search.problem);
            search.models.static_score(&a).is_some() && search.predict(&a).is_some()
        }
        "ryoo" => search.models.metrics(&first(search.problem)).is_some(),
        _ => true,
    };
    NAMES.into_iter().filter(fits).collect()
}

/// An assignment that exists.
fn first(problem: &crate::Problem) -> Assignment {
    let listed = problem.points.as_ref().and_then(|p| p.first());
    listed.cloned().unwrap_or_else(|| problem.identity())
}

/// A strategy by its name. `_` and `-` are one. `ampt-ga-model` is AMPT-GA with the model of time in the place of its
/// score; `ampt-ga-no-groups`, `-no-filter`, `-no-first` and `-no-score`
/// leave out a part of AMPT-GA, for comparison.
pub fn by_name<'p>(
    name: &str,
    search: Search<'p>,
) -> Result<Box<dyn Strategy + 'p>, StrategyError> {
    let plain = name.replace('_', "-");
    if search.problem.points.is_some() && ["delta-debug", "dataflow"].contains(&plain.as_str()) {
        return Err(StrategyError::NotOrdered(plain));
    }
    Ok(match plain.as_str() {
        "guided" => match &search.problem.points {
            Some(points) => Box::new(strategies::guided_points(search, points)),
            None => Box::new(strategies::guided(search)),
        },
        "exhaustive" => Box::new(strategies::exhaustive(search)?),
        "random" => Box::new(strategies::random(search)),
        "delta-debug" => Box::new(strategies::delta_debug(search)),
        "dataflow" => Box::new(strategies::dataflow(search)),
        "naive-ga" => Box::new(strategies::naive_ga(search)),
        "ampt-ga" => Box::new(strategies::ampt_ga(search, Parts::ALL)),
        "annealing" => Box::new(strategies::annealing(search)),
        "differential" => Box::new(strategies::differential(search)),
        "local" => Box::new(strategies::local(search)),
        "ryoo" => Box::new(strategies::ryoo(search)?),
        "launch-first" | "launch-last" => {
            let shapes = search.problem.variables.iter().filter(|v| v.unordered);
            if [0, search.problem.variables.len()].contains(&shapes.count()) {
                return Err(StrategyError::NotBoth(plain));
            }
            let order = match plain == "launch-first" {
                true => StageOrder::First,
                false => StageOrder::Last,
            };
            Box::new(strategies::staged(search, order))
        }
        "smp" => Box::new(strategies::smp(search)?),
        "heu" => Box::new(strategies::heu(search)?),
        "omg" => Box::new(strategies::omg(search)?),
        _ => match plain.strip_prefix("ampt-ga-").and_then(Parts::by_name) {
            Some(parts) => Box::new(strategies::ampt_ga(search, parts)),
            None => return Err(StrategyError::Unknown(name.to_owned())),
        },
    })
}

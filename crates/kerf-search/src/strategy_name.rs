//! Names of the strategies, and why there is none for a problem.
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StrategyName {
    /// Kerf's own, the default.
    Guided,
    /// Every assignment.
    Exhaustive,
    /// Assignments by chance.
    Random,
    /// Delta debugging, as in Precimonious.
    DeltaDebug,
    /// Along the flow of data.
    Dataflow,
    /// A plain genetic algorithm.
    NaiveGa,
    /// AMPT-GA as published.
    AmptGa,
    /// AMPT-GA with the model of time in the place of its score.
    AmptGaModel,
    /// AMPT-GA whose mutations do not change whole groups.
    AmptGaNoGroups,
    /// AMPT-GA that executes what scores no better than the best so far, too.
    AmptGaNoFilter,
    /// AMPT-GA whose first generation is by chance.
    AmptGaNoFirst,
    /// AMPT-GA that executes everything, without a score.
    AmptGaNoScore,
    /// Simulated annealing.
    Annealing,
    /// Differential evolution.
    Differential,
    /// Local search from many starts.
    Local,
    /// Ryoo's pruning by static metrics.
    Ryoo,
    /// Launch shapes before the rest.
    LaunchFirst,
    /// Launch shapes after the rest.
    LaunchLast,
    /// One degree of approximation: halving.
    Heu,
    /// One degree of approximation: by samples.
    Smp,
    /// One degree of approximation: by a model.
    Omg,
}

impl StrategyName {
    /// Those for spaces of any kind, the default first.
    pub const ANY_SPACE: [StrategyName; 12] = [
        StrategyName::Guided,
        StrategyName::Exhaustive,
        StrategyName::Random,
        StrategyName::DeltaDebug,
        StrategyName::Dataflow,
        StrategyName::NaiveGa,
        StrategyName::AmptGa,
        StrategyName::AmptGaModel,
        StrategyName::Annealing,
        StrategyName::Differential,
        StrategyName::Local,
        StrategyName::Ryoo,
    ];

    /// Those that search shapes of launches apart from the rest, for comparison with one search over both.
    pub const STAGED: [StrategyName; 2] = [StrategyName::LaunchFirst, StrategyName::LaunchLast];

    /// Those for one degree of approximation.
    pub const ONE_DEGREE: [StrategyName; 3] =
        [StrategyName::Heu, StrategyName::Smp, StrategyName::Omg];

    /// AMPT-GA without one of its parts, for comparison.
    pub const ABLATIONS: [StrategyName; 4] = [
        StrategyName::AmptGaNoGroups,
        StrategyName::AmptGaNoFilter,
        StrategyName::AmptGaNoFirst,
        StrategyName::AmptGaNoScore,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            StrategyName::Guided => "guided",
            StrategyName::Exhaustive => "exhaustive",
            StrategyName::Random => "random",
            StrategyName::DeltaDebug => "delta-debug",
            StrategyName::Dataflow => "dataflow",
            StrategyName::NaiveGa => "naive-ga",
            StrategyName::AmptGa => "ampt-ga",
            StrategyName::AmptGaModel => "ampt-ga-model",
            StrategyName::AmptGaNoGroups => "ampt-ga-no-groups",
            StrategyName::AmptGaNoFilter => "ampt-ga-no-filter",
            StrategyName::AmptGaNoFirst => "ampt-ga-no-first",
            StrategyName::AmptGaNoScore => "ampt-ga-no-score",
            StrategyName::Annealing => "annealing",
            StrategyName::Differential => "differential",
            StrategyName::Local => "local",
            StrategyName::Ryoo => "ryoo",
            StrategyName::LaunchFirst => "launch-first",
            StrategyName::LaunchLast => "launch-last",
            StrategyName::Heu => "heu",
            StrategyName::Smp => "smp",
            StrategyName::Omg => "omg",
        }
    }

    /// Names with commas between them.
    pub fn listed(all: &[StrategyName]) -> String {
        all.iter().map(|n| n.name()).collect::<Vec<_>>().join(", ")
    }

    /// It searches one degree of approximation.
    pub fn is_one_degree(self) -> bool {
        StrategyName::ONE_DEGREE.contains(&self)
    }

    /// It searches shapes of launches apart from the rest.
    pub fn is_staged(self) -> bool {
        StrategyName::STAGED.contains(&self)
    }
}

/// Why there is no such strategy for a problem.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StrategyError {
    /// No strategy has this name.
    #[error("there is no strategy `{0}`; there are {list}, and {few} for one degree", list = StrategyName::listed(&StrategyName::ANY_SPACE), few = StrategyName::listed(&StrategyName::ONE_DEGREE))]
    Unknown(String),
    /// Exhaustive search of what is too large.
    #[error("the space has {0} assignments, more than the {1} that exhaustive search goes through")]
    TooLarge(u64, u64),
    /// A strategy that lowers precision, for a problem without any.
    #[error("the strategy `{0}` lowers precision step by step, and this space has no precisions")]
    NotOrdered(StrategyName),
    /// A search over one degree, for a problem with other variables.
    #[error(
        "the strategy `{0}` searches one degree of approximation, and this space has other variables"
    )]
    NotOneDegree(StrategyName),
    /// Shapes apart from the rest, where one of the two is missing.
    #[error(
        "the strategy `{0}` searches launch shapes apart from the rest, and this space has not both"
    )]
    NotBoth(StrategyName),
    /// A strategy that prunes by static metrics, and nobody knows any.
    #[error("the strategy `{0}` prunes by static metrics, and nothing gives any for this space")]
    NoMetrics(StrategyName),
}

impl fmt::Display for StrategyName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for StrategyName {
    type Err = StrategyError;

    /// `_` and `-` are one.
    fn from_str(name: &str) -> Result<StrategyName, StrategyError> {
        let plain = name.replace('_', "-");
        let all = [
            &StrategyName::ANY_SPACE[..],
            &StrategyName::STAGED,
            &StrategyName::ONE_DEGREE,
            &StrategyName::ABLATIONS,
        ];
        let found = all.concat().into_iter().find(|n| n.name() == plain);
        found.ok_or_else(|| StrategyError::Unknown(name.to_owned()))
    }
}

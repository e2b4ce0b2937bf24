//! The abstract problem: variables with levels, what is known of them beforehand, and predictions.
use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};

/// A level for each variable, in the order of [`Problem::variables`].
pub type Assignment = Vec<u8>;

/// One thing that a variable can be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Its name: `f32`, or a value such as `128`.
    pub name: String,
    /// Time of the variable's operations at this level, by static count, in any unit that is common to
    /// the problem.
    #[serde(default)]
    pub cost: f64,
    /// The error that this level alone is expected to cause, in the unit of the tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Whether the level is known not to work (an analysis of ranges says that it overflows).
    #[serde(default)]
    pub veto: bool,
    /// The level as a number, where it is one, for problems whose levels are values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
}

impl Level {
    /// A level of which only the name is known.
    pub fn named(name: impl Into<String>) -> Level {
        Level {
            name: name.into(),
            cost: 0.0,
            error: None,
            veto: false,
            value: None,
        }
    }
}

/// Something that takes one of several levels: a group of sites, or a launch parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// Its name, for people.
    pub name: String,
    /// From the highest precision to the lowest; the first is what the program has.
    pub levels: Vec<Level>,
    /// Distance from the loads along the data flow.
    #[serde(default)]
    pub depth: u32,
    /// Basic block.
    #[serde(default)]
    pub block: u32,
    /// How many sites belong to it.
    #[serde(default = "one")]
    pub members: u32,
    /// Outputs (stores) that it contributes to; none stands for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<u32>,
    /// Its levels are in no order, and none of them is less precise than another: shapes of launches.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unordered: bool,
}

fn is_false(b: &bool) -> bool {
    !b
}

fn one() -> u32 {
    1
}

impl Variable {
    /// A variable of which only the levels are known.
    pub fn new(name: impl Into<String>, levels: Vec<Level>) -> Variable {
        Variable {
            name: name.into(),
            levels,
            depth: 0,
            block: 0,
            members: 1,
            outputs: Vec::new(),
            unordered: false,
        }
    }
    /// The lowest level that is not vetoed; the program's own where levels are in no order.
    pub fn lowest(&self) -> u8 {
        if self.unordered {
            return 0;
        }
        let found = self.levels.iter().rposition(|l| !l.veto);
        found.unwrap_or(0) as u8
    }
    /// Levels that are not vetoed; the original one always is among them.
    pub fn allowed(&self) -> impl Iterator<Item = u8> + '_ {
        let all = self.levels.iter().enumerate();
        all.filter(|(i, l)| *i == 0 || !l.veto)
            .map(|(i, _)| i as u8)
    }
    /// Whether the level exists and is not vetoed.
    pub fn allows(&self, level: u8) -> bool {
        level == 0 || self.levels.get(level as usize).is_some_and(|l| !l.veto)
    }
}

/// Two variables that exchange values: where their levels differ, conversions cost time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// One end.
    pub a: usize,
    /// The other.
    pub b: usize,
    /// Time of the conversions, in the unit of [`Level::cost`].
    pub weight: f64,
}

/// What is searched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// The variables.
    pub variables: Vec<Variable>,
    /// Which of them exchange values.
    #[serde(default)]
    pub edges: Vec<Edge>,
    /// The largest acceptable error; none if only time counts.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// What the assignment of all zeros gives, where it is known; asking for it is then free.
    #[serde(default)]
    pub baseline: Option<Outcome>,
    /// The assignments that exist, where not all combinations do.
    #[serde(skip)]
    pub points: Option<Vec<Assignment>>,
}

/// What is wrong with a problem.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidProblem {
    /// No level to choose.
    #[error("variable `{0}` has {1} levels; 1 to 255 are possible")]
    Levels(String, usize),
    /// An edge to nowhere.
    #[error("edge {0} names variable {1}, and there are {2}")]
    Edge(usize, usize, usize),
    /// A point that is not an assignment.
    #[error("point {0} does not fit the variables")]
    Point(usize),
    /// Not a number to compare with.
    #[error("the tolerance is not a number of 0 or more")]
    Tolerance,
}

impl Problem {
    /// A precision problem: level 0 is the program as it is, with time 1 and error 0.
    pub fn precision(variables: Vec<Variable>, edges: Vec<Edge>, tolerance: f64) -> Problem {
        Problem {
            variables,
            edges,
            tolerance: Some(tolerance),
            baseline: Some(Outcome::ran(0.0, 1.0)),
            points: None,
        }
    }
    /// A problem where only time counts, over the assignments that exist.
    pub fn categorical(variables: Vec<Variable>, points: Vec<Assignment>) -> Problem {
        Problem {
            variables,
            edges: Vec::new(),
            tolerance: None,
            baseline: None,
            points: Some(points),
        }
    }
    /// Whether the parts fit together. Strategies take that for granted.
    pub fn check(&self) -> Result<(), InvalidProblem> {
        let n = self.variables.len();
        for v in &self.variables {
            if !(1..=255).contains(&v.levels.len()) {
                return Err(InvalidProblem::Levels(v.name.clone(), v.levels.len()));
            }
        }
        for (i, e) in self.edges.iter().enumerate() {
            if let Some(end) = [e.a, e.b].into_iter().find(|x| *x >= n) {
                return Err(InvalidProblem::Edge(i, end, n));
            }
        }
        if self.tolerance.is_some_and(|t| t.is_nan() || t < 0.0) {
            return Err(InvalidProblem::Tolerance);
        }
        let points = self.points.iter().flatten();
        match points.clone().position(|p| !self.fits(p)) {
            Some(i) => Err(InvalidProblem::Point(i)),
            None => Ok(()),
        }
    }
    /// Whether these are levels of these variables.
    pub fn fits(&self, a: &[u8]) -> bool {
        a.len() == self.variables.len()
            && a.iter()
                .zip(&self.variables)
                .all(|(l, v)| (*l as usize) < v.levels.len())
    }
    /// Whether no level of it is vetoed. Says nothing of [`Problem::points`].
    pub fn allows(&self, a: &[u8]) -> bool {
        a.iter().zip(&self.variables).all(|(l, v)| v.allows(*l))
    }
    /// The program as it is.
    pub fn identity(&self) -> Assignment {
        vec![0; self.variables.len()]
    }
    /// Every variable at its lowest level that is not vetoed.
    pub fn all_low(&self) -> Assignment {
        self.variables.iter().map(Variable::lowest).collect()
    }
    /// Every variable at this level, or at the nearest higher one that is not vetoed; those without an order as they
    /// are.
    pub fn uniform(&self, level: u8) -> Assignment {
        let at = |v: &Variable| match v.unordered {
            true => 0,
            false => v.allowed().filter(|l| *l <= level).max().unwrap_or(0),
        };
        self.variables.iter().map(at).collect()
    }
    /// The number of assignments without vetoed levels, capped.
    pub fn size(&self) -> u64 {
        match &self.points {
            Some(p) => p.len() as u64,
            None => self
                .variables
                .iter()
                .fold(1, |s: u64, v| s.saturating_mul(v.allowed().count() as u64)),
        }
    }
    /// The greatest number of levels of any variable.
    pub fn depth_of_levels(&self) -> usize {
        let levels = self.variables.iter().map(|v| v.levels.len());
        levels.max().unwrap_or(0)
    }
    /// Time by static counts: costs of the levels and conversions where levels differ.
    pub fn score(&self, a: &[u8]) -> f64 {
        let own = a.iter().zip(&self.variables);
        let own: f64 = own.map(|(l, v)| v.levels[*l as usize].cost).sum();
        let met = self.edges.iter().filter(|e| a[e.a] != a[e.b]);
        own + met.map(|e| e.weight).sum::<f64>()
    }
    /// [`Problem::score`] over that of the program as it is; none where nothing was counted.
    pub fn score_ratio(&self, a: &[u8]) -> Option<f64> {
        let base = self.score(&self.identity());
        (base > 0.0).then(|| self.score(a) / base)
    }
    /// Whether an outcome is within the tolerance.
    pub fn accepts(&self, o: &Outcome) -> bool {
        match (*o, self.tolerance) {
            (Outcome::Failed, _) => false,
            (Outcome::Ran { time, .. }, None) => time.is_finite(),
            (Outcome::Ran { error, time }, Some(t)) => error <= t && time.is_finite(),
        }
    }
}

/// The two static metrics of Ryoo et al. (2008); larger is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metrics {
    /// One over the instructions of the whole launch.
    pub efficiency: f64,
    /// Independent work between two waits, over all warps that are resident.
    pub utilisation: f64,
}

/// What a model that takes long is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answers {
    /// Answers that it gives in all.
    pub in_all: usize,
    /// Answers that take it no longer than one, if they are asked for together.
    pub at_once: usize,
}

/// What the caller can predict without running anything. `None` is always a possible answer.
pub trait Models {
    /// Time over that of the program as it is.
    fn time(&self, _a: &[u8]) -> Option<f64> {
        None
    }
    /// How many of [`Models::time`] take no longer than one, if they are prepared together.
    fn times_at_once(&self) -> usize {
        1
    }
    /// Says that [`Models::time`] will be asked for these.
    fn prepare_times(&self, _all: &[Assignment]) {}
    /// The same by another model, that is wrong of other things: of machine code, beside one of the program.
    fn other_time(&self, _a: &[u8]) -> Option<f64> {
        None
    }
    /// How much may be asked of [`Models::other_time`].
    fn other_answers(&self) -> Answers {
        Answers {
            in_all: usize::MAX,
            at_once: 1,
        }
    }
    /// Says that [`Models::other_time`] will be asked for these.
    fn prepare_other(&self, _all: &[Assignment]) {}
    /// Error in the unit of the tolerance.
    fn error(&self, _a: &[u8]) -> Option<f64> {
        None
    }
    /// A static, cast-aware score over that of the program as it is, as AMPT-GA has it (Kotipalli et al. 2019, section
    /// 4.3): nothing that only a run tells is in it.
    fn static_score(&self, _a: &[u8]) -> Option<f64> {
        None
    }
    /// Static metrics, for pruning by them.
    fn metrics(&self, _a: &[u8]) -> Option<Metrics> {
        None
    }
}

/// No predictions but those that the problem itself carries.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModels;

impl Models for NoModels {}

/// Everything a strategy starts from.
#[derive(Clone, Copy)]
pub struct Search<'p> {
    /// The problem.
    pub problem: &'p Problem,
    /// Predictions.
    pub models: &'p dyn Models,
    /// Seed of every random choice.
    pub seed: u64,
    /// How many executions there will be at most.
    pub budget: usize,
}

impl Search<'_> {
    /// Predicted time over that of the program as it is: the caller's model, or static counts.
    pub fn predict(&self, a: &[u8]) -> Option<f64> {
        let told = self.models.time(a);
        told.or_else(|| self.problem.score_ratio(a))
            .filter(|t| t.is_finite() && *t > 0.0)
    }
    /// Predicted time by the caller's other model.
    pub fn predict_other(&self, a: &[u8]) -> Option<f64> {
        let told = self.models.other_time(a);
        told.filter(|t| t.is_finite() && *t > 0.0)
    }
    /// The static score; where nobody gives one, what there is in its place: [`Search::predict`].
    pub fn static_score(&self, a: &[u8]) -> Option<f64> {
        let told = self.models.static_score(a);
        told.filter(|s| s.is_finite() && *s > 0.0)
            .or_else(|| self.predict(a))
    }
}

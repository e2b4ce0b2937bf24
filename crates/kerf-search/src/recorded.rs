//! Recorded search spaces: what every assignment gives, so that strategies can be compared without a device.
//!
//! Kerf's own format (`docs/reference/search.md`) is JSON; cache files of Kernel Tuner and T4 files come by
//! [`crate::exchange`]. All may be compressed by gzip.
use crate::exchange::{self, ConfigurationEntry, ExchangeError, FailureKind, Tuning, kernel_tuner};
use crate::expression::ExpressionValue as Item;
use crate::history::Evaluation;
use crate::outcome::Outcome;
use crate::problem::{Assignment, InvalidProblem, Models, Problem};
use crate::space::{Space, SpaceParameter};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The schema of Kerf's own files.
pub const SCHEMA: &str = "kerf.search-space/1";

/// A space with all its outcomes.
#[derive(Debug, Clone)]
pub struct RecordedSpace {
    /// What it is of.
    pub name: String,
    /// The problem.
    pub problem: Problem,
    table: BTreeMap<Assignment, Outcome>,
    predicted: BTreeMap<Assignment, f64>,
    coded: BTreeMap<Assignment, f64>,
    scored: BTreeMap<Assignment, f64>,
    samples: BTreeMap<Assignment, Vec<f64>>,
}

/// Times that a cost model predicted and static scores, where they were recorded.
impl Models for RecordedSpace {
    fn time(&self, a: &[u8]) -> Option<f64> {
        self.predicted.get(a).copied()
    }
    fn other_time(&self, a: &[u8]) -> Option<f64> {
        self.coded.get(a).copied()
    }
    fn static_score(&self, a: &[u8]) -> Option<f64> {
        self.scored.get(a).copied()
    }
}

/// Kerf's own file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    #[serde(default)]
    name: String,
    problem: Problem,
    outcomes: Vec<Evaluation>,
    /// For each outcome; empty if nothing was predicted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    predicted: Vec<Option<f64>>,
    /// The same from machine code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    from_code: Vec<Option<f64>>,
    /// The static score of each outcome, over that of the program as it is; empty if there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scored: Vec<Option<f64>>,
}

/// Why a file is no search space.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// A file of another tuner, or compressed.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// JSON of something else.
    #[error(
        "it is neither a search space of Kerf (schema {SCHEMA}) nor a cache of Kernel Tuner nor a T4 file: {0}"
    )]
    Format(String),
    /// Parts that do not fit together.
    #[error(transparent)]
    Problem(#[from] InvalidProblem),
    /// A time that is none.
    #[error("outcome {0} has a time that is not above 0")]
    Time(usize),
    /// An outcome of nothing.
    #[error("outcome {0} is of an assignment that does not fit the variables")]
    Outcome(usize),
    /// Nothing within the tolerance.
    #[error("nothing in it ran within the tolerance, so there is no optimum to compare with")]
    Nothing,
}

fn format(why: impl Into<String>) -> RecordedError {
    RecordedError::Format(why.into())
}

impl RecordedSpace {
    /// A space from its outcomes. Where there is a tolerance, what the table lacks counts as failed; where
    /// only time counts, it does not exist.
    pub fn new(
        name: impl Into<String>,
        mut problem: Problem,
        outcomes: Vec<Evaluation>,
    ) -> Result<RecordedSpace, RecordedError> {
        if let Some(i) = outcomes.iter().position(|e| !problem.fits(&e.assignment)) {
            problem.check()?;
            return Err(RecordedError::Outcome(i));
        }
        let wrong = |o: &Outcome| o.time().is_some_and(|t| !t.is_finite() || t <= 0.0);
        if let Some(i) = outcomes.iter().position(|e| wrong(&e.outcome)) {
            return Err(RecordedError::Time(i));
        }
        let table: BTreeMap<Assignment, Outcome> = outcomes
            .into_iter()
            .map(|e| (e.assignment, e.outcome))
            .collect();
        if problem.tolerance.is_none() {
            problem.points = Some(table.keys().cloned().collect());
        }
        problem.check()?;
        let recorded = RecordedSpace {
            name: name.into(),
            problem,
            table,
            predicted: BTreeMap::new(),
            coded: BTreeMap::new(),
            scored: BTreeMap::new(),
            samples: BTreeMap::new(),
        };
        match recorded.optimum() {
            Some(_) => Ok(recorded),
            None => Err(RecordedError::Nothing),
        }
    }

    /// Reads any of the formats.
    pub fn parse(bytes: &[u8]) -> Result<RecordedSpace, RecordedError> {
        RecordedSpace::parse_for(bytes, None)
    }

    /// Reads any of the formats; files of other tuners for an objective of theirs, `+name` where more of it
    /// is better and `-name` where less.
    pub fn parse_for(
        bytes: &[u8],
        objective: Option<&str>,
    ) -> Result<RecordedSpace, RecordedError> {
        let value = json(bytes)?;
        if let Some(t) = exchange::read(&value)? {
            return RecordedSpace::from_tuning(&t, objective);
        }
        if value.get("ConfigurationSpace").is_some() {
            return Err(format(
                "it is a T1 file, which describes a space without outcomes; help: `kerf search show` reads it",
            ));
        }
        if let Some(o) = objective {
            return Err(format(format!(
                "it is a search space of Kerf, which has no objective `{o}`; help: leave --objective out"
            )));
        }
        own(value)
    }

    /// Results of another tuner. Of an objective whose more is better the reciprocal is what counts as time.
    pub fn from_tuning(
        t: &Tuning,
        objective: Option<&str>,
    ) -> Result<RecordedSpace, RecordedError> {
        let objective = t.objective(objective)?;
        let mut outcomes = Vec::new();
        let mut samples = BTreeMap::new();
        for (i, e) in t.entries.iter().enumerate() {
            let value = e.number(&objective.name).filter(|_| e.failed.is_none());
            let time = value.map(|v| if objective.more { 1.0 / v } else { v });
            if time.is_some_and(|t| !t.is_finite() || t <= 0.0) {
                return Err(RecordedError::Time(i));
            }
            outcomes.push(Evaluation {
                assignment: e.point.clone(),
                outcome: time.map_or(Outcome::Failed, |t| Outcome::ran(0.0, t)),
            });
            if objective.name == "time" && time.is_some() && !e.times.is_empty() {
                samples.insert(e.point.clone(), e.times.clone());
            }
        }
        let space = Space::new(t.params.clone());
        let problem = Problem {
            points: None,
            ..Problem::categorical(space.variables(), Vec::new())
        };
        let name = format!("{} on {}", t.kernel, t.device);
        let mut r = RecordedSpace::new(name, problem, outcomes)?;
        r.samples = samples;
        Ok(r)
    }

    /// As results that other tuners read: variables are parameters, and `error` stands beside `time`.
    /// `unit` is the milliseconds of the program as it is, where they were measured; else times are over it.
    pub fn tuning(&self, unit: Option<f64>) -> Tuning {
        let value = |l: &crate::problem::Level| match l.value {
            Some(x) if x.fract() == 0.0 && x.abs() < 9e15 => Item::Int(x as i64),
            Some(x) => Item::Real(x),
            None => Item::Text(l.name.clone()),
        };
        let params = self.problem.variables.iter().map(|v| SpaceParameter {
            name: v.name.clone(),
            values: v.levels.iter().map(value).collect(),
        });
        let with_error = self.problem.tolerance.is_some();
        let entries = self.table.iter().map(|(a, o)| {
            let mut measured: Vec<(String, Value)> = Vec::new();
            if let (Some(t), Some(e)) = (o.time(), o.error()) {
                measured.push(("time".into(), (t * unit.unwrap_or(1.0)).into()));
                if with_error {
                    // JSON has no infinity: such an entry is one of a wrong result.
                    measured.extend(e.is_finite().then(|| ("error".to_owned(), e.into())));
                }
            }
            let wrong = o.error().is_some_and(|e| !e.is_finite());
            let failed = match o.time() {
                None => Some(FailureKind::Runtime),
                Some(_) => wrong.then_some(FailureKind::Correctness),
            };
            if failed.is_some() {
                measured.clear();
            }
            ConfigurationEntry {
                point: a.clone(),
                failed,
                measured,
                times: self.samples.get(a).cloned().unwrap_or_default(),
                spent: exchange::EntryTimes::default(),
                timestamp: None,
            }
        });
        Tuning {
            kernel: self.name.clone(),
            device: "unknown".into(),
            problem_size: None,
            objective: "time".into(),
            params: params.collect(),
            entries: entries.collect(),
            remark: String::new(),
        }
    }

    /// Times of single runs, where the file has them.
    pub fn samples(&self, a: &[u8]) -> &[f64] {
        self.samples.get(a).map_or(&[], Vec::as_slice)
    }

    /// The fastest assignments within the tolerance, the fastest first.
    pub fn fastest(&self, most: usize) -> Vec<(&Assignment, f64)> {
        let passed = self.table.iter().filter(|(_, o)| self.problem.accepts(o));
        let mut all: Vec<(&Assignment, f64)> =
            passed.filter_map(|(a, o)| Some((a, o.time()?))).collect();
        all.sort_by(|x, y| x.1.total_cmp(&y.1));
        all.truncate(most);
        all
    }

    /// The outcome of an assignment; failed if the table has none.
    pub fn outcome(&self, a: &[u8]) -> Outcome {
        self.table.get(a).copied().unwrap_or(Outcome::Failed)
    }

    /// Whether the table has an assignment.
    pub fn has(&self, a: &[u8]) -> bool {
        self.table.contains_key(a)
    }

    /// How many outcomes there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The least time within the tolerance.
    pub fn optimum(&self) -> Option<f64> {
        let passed = self.table.values().filter(|o| self.problem.accepts(o));
        passed.filter_map(Outcome::time).min_by(f64::total_cmp)
    }

    /// Adds what a cost model predicts for everything in the table.
    pub fn predicted_by(mut self, time: impl Fn(&[u8]) -> Option<f64>) -> RecordedSpace {
        self.predicted = self.of_each(time);
        self
    }

    /// Adds what is predicted from machine code for everything in the table.
    pub fn coded_by(mut self, time: impl Fn(&[u8]) -> Option<f64>) -> RecordedSpace {
        self.coded = self.of_each(time);
        self
    }

    /// Adds the static score of everything in the table.
    pub fn scored_by(mut self, score: impl Fn(&[u8]) -> Option<f64>) -> RecordedSpace {
        self.scored = self.of_each(score);
        self
    }

    fn of_each(&self, f: impl Fn(&[u8]) -> Option<f64>) -> BTreeMap<Assignment, f64> {
        let known = |a: &[u8]| f(a).filter(|t| t.is_finite() && *t > 0.0);
        let all = self.table.keys();
        all.filter_map(|a| Some((a.clone(), known(a)?))).collect()
    }

    /// The same outcomes with another tolerance; none if nothing is within it.
    pub fn within(&self, tolerance: f64) -> Option<RecordedSpace> {
        let mut r = self.clone();
        r.problem.tolerance = Some(tolerance);
        r.optimum().is_some().then_some(r)
    }

    /// The error that this part of all assignments but the program itself stays within. Those that failed
    /// have an infinite one.
    pub fn error_quantile(&self, q: f64) -> Option<f64> {
        let identity = self.problem.identity();
        let others = self.table.iter().filter(|(a, _)| **a != identity);
        let mut all: Vec<f64> = others
            .map(|(_, o)| o.error().unwrap_or(f64::INFINITY))
            .collect();
        all.sort_by(f64::total_cmp);
        let at = (all.len().checked_sub(1)? as f64 * q).round() as usize;
        Some(all[at]).filter(|e| e.is_finite())
    }

    /// As Kerf's own file.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let outcomes = self.table.iter().map(|(a, o)| Evaluation {
            assignment: a.clone(),
            outcome: *o,
        });
        let column = |of: &BTreeMap<Assignment, f64>| match of.is_empty() {
            true => Vec::new(),
            false => self.table.keys().map(|a| of.get(a).copied()).collect(),
        };
        serde_json::to_string(&File {
            schema: SCHEMA.to_owned(),
            name: self.name.clone(),
            problem: self.problem.clone(),
            outcomes: outcomes.collect(),
            predicted: column(&self.predicted),
            from_code: column(&self.coded),
            scored: column(&self.scored),
        })
    }
}

/// The JSON of a file, unpacked; a cache that was not closed counts as closed.
pub fn json(bytes: &[u8]) -> Result<Value, ExchangeError> {
    let bytes = exchange::unpack(bytes)?;
    match serde_json::from_slice(&bytes) {
        Ok(v) => Ok(v),
        Err(e) => kernel_tuner::closed(&bytes).ok_or(ExchangeError::Json(e)),
    }
}

fn own(value: Value) -> Result<RecordedSpace, RecordedError> {
    match value.get("schema").and_then(Value::as_str) {
        Some(SCHEMA) => {}
        Some(other) => return Err(format(format!("its schema is `{other}`"))),
        None => return Err(format("it has neither `schema` nor `cache` nor `results`")),
    }
    let file: File = serde_json::from_value(value).map_err(|e| format(e.to_string()))?;
    let column = |values: &[Option<f64>]| -> BTreeMap<Assignment, f64> {
        let each = file.outcomes.iter().zip(values);
        each.filter_map(|(e, t)| Some((e.assignment.clone(), (*t)?)))
            .collect()
    };
    let (predicted, scored) = (column(&file.predicted), column(&file.scored));
    let coded = column(&file.from_code);
    let r = RecordedSpace::new(file.name, file.problem, file.outcomes)?;
    let r = r.predicted_by(|a| predicted.get(a).copied());
    let r = r.coded_by(|a| coded.get(a).copied());
    Ok(r.scored_by(|a| scored.get(a).copied()))
}

//! Recorded search spaces: what every assignment gives, so that strategies can be compared without a device.
//!
//! Two formats, both JSON: Kerf's own (`docs/search.md`), and the cache files of Kernel Tuner, where
//! `cache` maps a key to parameters and a `time` in milliseconds that is a word for what failed.
use crate::outcome::{Evaluation, Outcome};
use crate::problem::{Assignment, Level, Models, Problem, ProblemError, Variable};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The schema of Kerf's own files.
pub const SCHEMA: &str = "kerf.search-space/1";

/// A space with all its outcomes.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// What it is of.
    pub name: String,
    /// The problem.
    pub problem: Problem,
    table: BTreeMap<Assignment, Outcome>,
    predicted: BTreeMap<Assignment, f64>,
}

/// Times that a cost model predicted, where they were recorded.
impl Models for Recorded {
    fn time(&self, a: &[u8]) -> Option<f64> {
        self.predicted.get(a).copied()
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
}

/// Why a file is no search space.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// Compressed.
    #[error("it is compressed; unpack it first (gunzip)")]
    Compressed,
    /// Not JSON.
    #[error("it is not JSON: {0}")]
    Json(serde_json::Error),
    /// JSON of something else.
    #[error(
        "it is neither a search space of Kerf (schema {SCHEMA}) nor a cache of Kernel Tuner: {0}"
    )]
    Format(String),
    /// Parts that do not fit together.
    #[error(transparent)]
    Problem(#[from] ProblemError),
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

impl Recorded {
    /// A space from its outcomes. Where there is a tolerance, what the table lacks counts as failed; where
    /// only time counts, it does not exist.
    pub fn new(
        name: impl Into<String>,
        mut problem: Problem,
        outcomes: Vec<Evaluation>,
    ) -> Result<Recorded, RecordedError> {
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
        let recorded = Recorded {
            name: name.into(),
            problem,
            table,
            predicted: BTreeMap::new(),
        };
        match recorded.optimum() {
            Some(_) => Ok(recorded),
            None => Err(RecordedError::Nothing),
        }
    }

    /// Reads either format.
    pub fn parse(bytes: &[u8]) -> Result<Recorded, RecordedError> {
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return Err(RecordedError::Compressed);
        }
        let value: Value = match serde_json::from_slice(bytes) {
            Ok(v) => v,
            // Kernel Tuner closes its file only when it ends.
            Err(e) => closed(bytes).ok_or(RecordedError::Json(e))?,
        };
        match value.get("cache") {
            Some(cache) => kernel_tuner(&value, cache),
            None => own(value),
        }
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
    pub fn predicted_by(mut self, time: impl Fn(&[u8]) -> Option<f64>) -> Recorded {
        let all = self.table.keys();
        self.predicted = all
            .filter_map(|a| Some((a.clone(), time(a).filter(|t| t.is_finite() && *t > 0.0)?)))
            .collect();
        self
    }

    /// The same outcomes with another tolerance; none if nothing is within it.
    pub fn within(&self, tolerance: f64) -> Option<Recorded> {
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
        serde_json::to_string(&File {
            schema: SCHEMA.to_owned(),
            name: self.name.clone(),
            problem: self.problem.clone(),
            outcomes: outcomes.collect(),
            predicted: match self.predicted.is_empty() {
                true => Vec::new(),
                false => {
                    let all = self.table.keys();
                    all.map(|a| self.predicted.get(a).copied()).collect()
                }
            },
        })
    }
}

/// A file that was not closed, closed.
fn closed(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end();
    let text = text.strip_suffix(',').unwrap_or(text);
    serde_json::from_str(&format!("{text}}}}}")).ok()
}

fn own(value: Value) -> Result<Recorded, RecordedError> {
    match value.get("schema").and_then(Value::as_str) {
        Some(SCHEMA) => {}
        Some(other) => return Err(format(format!("its schema is `{other}`"))),
        None => return Err(format("it has neither `schema` nor `cache`")),
    }
    let file: File = serde_json::from_value(value).map_err(|e| format(e.to_string()))?;
    let predicted: BTreeMap<Assignment, f64> = file
        .outcomes
        .iter()
        .zip(&file.predicted)
        .filter_map(|(e, t)| Some((e.assignment.clone(), (*t)?)))
        .collect();
    let r = Recorded::new(file.name, file.problem, file.outcomes)?;
    Ok(r.predicted_by(|a| predicted.get(a).copied()))
}

/// A value as Kernel Tuner's users write it.
fn text_of(v: &Value) -> String {
    match v {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

fn kernel_tuner(whole: &Value, cache: &Value) -> Result<Recorded, RecordedError> {
    let cache = cache
        .as_object()
        .ok_or_else(|| format("`cache` is not an object"))?;
    let params = whole
        .get("tune_params")
        .and_then(Value::as_object)
        .ok_or_else(|| format("`tune_params` is missing"))?;
    let keys: Vec<&str> = match whole.get("tune_params_keys").and_then(Value::as_array) {
        Some(k) => k.iter().filter_map(Value::as_str).collect(),
        None => params.keys().map(String::as_str).collect(),
    };
    let mut variables = Vec::new();
    for key in &keys {
        let values = params.get(*key).and_then(Value::as_array);
        let values = values.ok_or_else(|| format(format!("`tune_params` has no list `{key}`")))?;
        let levels = values.iter().map(|v| Level {
            value: v.as_f64().or(v.as_bool().map(f64::from)),
            ..Level::named(text_of(v))
        });
        variables.push(Variable::new(*key, levels.collect()));
    }
    let mut outcomes = Vec::new();
    for (name, entry) in cache {
        let mut assignment = Vec::new();
        for (key, v) in keys.iter().zip(&variables) {
            let value = entry.get(*key).map(text_of).unwrap_or_default();
            let level = v.levels.iter().position(|l| l.name == value);
            let level = level.and_then(|l| u8::try_from(l).ok()).ok_or_else(|| {
                format(format!(
                    "the entry `{name}` has {key} = `{value}`, which is not in `tune_params`"
                ))
            })?;
            assignment.push(level);
        }
        let outcome = match entry.get("time").and_then(Value::as_f64) {
            Some(t) if t.is_finite() && t > 0.0 => Outcome::ran(0.0, t),
            _ => Outcome::Failed,
        };
        outcomes.push(Evaluation {
            assignment,
            outcome,
        });
    }
    let word = |key: &str| whole.get(key).and_then(Value::as_str).unwrap_or("unknown");
    let name = format!("{} on {}", word("kernel_name"), word("device_name"));
    let problem = Problem {
        points: None,
        ..Problem::categorical(variables, Vec::new())
    };
    Recorded::new(name, problem, outcomes)
}

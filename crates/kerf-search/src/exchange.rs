//! Tuning results in the formats of others: caches of Kernel Tuner, and the T1 and T4 files of the auto-tuning
//! community (odgaard/TuningSchema), also compressed by gzip.
//!
//! All are read into one record, [`Tuning`], and written from it. Times are in milliseconds.
pub mod kernel_tuner;
pub mod t1;
pub mod t4;

use crate::expression::{ExpressionError, ExpressionValue};
use crate::problem::Assignment;
use crate::space::{SpaceError, SpaceParameter};
use serde_json::{Map, Value as Json};
use std::io::{Read, Write};

/// What a compressed file may unpack to.
const LARGEST: u64 = 1 << 31;

/// Numbers from this on stand for a failure in old caches.
const FAILED: f64 = 1e20;

/// Why something did not run, in the words of T4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// It could not be compiled.
    Compile,
    /// It could not be launched, or crashed.
    Runtime,
    /// It does not satisfy the constraints.
    Constraints,
    /// It gave wrong results.
    Correctness,
    /// It took too long.
    Timeout,
}

impl FailureKind {
    const ALL: [(FailureKind, &'static str, &'static str); 5] = [
        (FailureKind::Compile, "compile", "CompilationFailedConfig"),
        (FailureKind::Runtime, "runtime", "RuntimeFailedConfig"),
        (FailureKind::Constraints, "constraints", "InvalidConfig"),
        // Kernel Tuner has no word of its own for these two.
        (FailureKind::Correctness, "correctness", "ErrorConfig"),
        (FailureKind::Timeout, "timeout", "ErrorConfig"),
    ];
    /// T4's word.
    pub fn t4(self) -> &'static str {
        let found = FailureKind::ALL.iter().find(|x| x.0 == self);
        found.map_or("runtime", |x| x.1)
    }
    /// Kernel Tuner's word.
    pub fn kernel_tuner(self) -> &'static str {
        let found = FailureKind::ALL.iter().find(|x| x.0 == self);
        found.map_or("RuntimeFailedConfig", |x| x.2)
    }
    fn from_t4(word: &str) -> Option<FailureKind> {
        FailureKind::ALL.iter().find(|x| x.1 == word).map(|x| x.0)
    }
    fn from_kernel_tuner(word: &str) -> Option<FailureKind> {
        FailureKind::ALL.iter().find(|x| x.2 == word).map(|x| x.0)
    }
}

/// Time spent on an entry beside running it, in milliseconds, where it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EntryTimes {
    /// Compiling.
    pub compile: Option<f64>,
    /// Measuring.
    pub benchmark: Option<f64>,
    /// The tuner itself.
    pub framework: Option<f64>,
    /// The strategy.
    pub strategy: Option<f64>,
    /// Checking outputs.
    pub verification: Option<f64>,
}

/// One configuration and what it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigurationEntry {
    /// Its levels.
    pub point: Assignment,
    /// Why it did not run.
    pub failed: Option<FailureKind>,
    /// What was measured, by name: `time` in milliseconds, and others. Objectives are numbers.
    pub measured: Vec<(String, Json)>,
    /// Time of each run, in milliseconds.
    pub times: Vec<f64>,
    /// Time spent otherwise.
    pub spent: EntryTimes,
    /// When.
    pub timestamp: Option<String>,
}

impl ConfigurationEntry {
    /// A measured number.
    pub fn number(&self, name: &str) -> Option<f64> {
        let found = self.measured.iter().find(|(n, _)| n == name);
        found.and_then(|(_, v)| v.as_f64())
    }
}

/// Recorded results of a tuner.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tuning {
    /// Kernel.
    pub kernel: String,
    /// Device.
    pub device: String,
    /// As the file has it.
    pub problem_size: Option<Json>,
    /// What was optimised.
    pub objective: String,
    /// The parameters.
    pub params: Vec<SpaceParameter>,
    /// What was tried.
    pub entries: Vec<ConfigurationEntry>,
    /// What a reader must know of the numbers; empty for nothing.
    pub remark: String,
}

/// Why a file cannot be used. The text names the place and what can be done.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// Broken compression.
    #[error(
        "it is compressed by gzip, and cannot be unpacked: {0}; help: it is cut off or damaged: get it again"
    )]
    Gzip(std::io::Error),
    /// Not JSON.
    #[error("it is not JSON: {0}; help: it is cut off or another file")]
    Json(serde_json::Error),
    /// A part of the wrong kind.
    #[error("{place}: {why}")]
    Place {
        /// Where in the file.
        place: String,
        /// What is wrong, and what helps.
        why: String,
    },
    /// Nothing in it.
    #[error("`{0}` has no entries; help: it is of a tuning that had not begun")]
    Empty(&'static str),
    /// What to optimise is not there.
    #[error("the objective `{objective}` is not measured by any entry; measured are {list}; help: choose one with --objective", list = .measured.join(", "))]
    NoObjective {
        /// What was asked for.
        objective: String,
        /// What there is.
        measured: Vec<String>,
    },
    /// Nobody knows which direction is better.
    #[error(
        "it is not known whether more or less of the objective `{0}` is better; help: --objective -{0} for less, +{0} for more"
    )]
    Direction(String),
    /// Parameters or conditions.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// An expression in a T1 file.
    #[error("{0}: {1}")]
    Expression(String, ExpressionError),
}

fn place(place: impl Into<String>, why: impl Into<String>) -> ExchangeError {
    ExchangeError::Place {
        place: place.into(),
        why: why.into(),
    }
}

/// The contents of a file, unpacked if they are compressed.
pub fn unpack(bytes: &[u8]) -> Result<std::borrow::Cow<'_, [u8]>, ExchangeError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes.into());
    }
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes)
        .take(LARGEST)
        .read_to_end(&mut out)
        .map_err(ExchangeError::Gzip)?;
    Ok(out.into())
}

/// Compressed.
pub fn pack(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut w = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    w.write_all(bytes)?;
    w.finish()
}

/// Whether more of an objective is better, for those that are known.
fn more_is_better(objective: &str) -> Option<bool> {
    let rate = objective.contains("/s") || objective.contains("/W") || objective.contains("/J");
    let rate = rate || objective.ends_with("FLOPS");
    let less = ["time", "energy", "power", "cost", "loss", "edp"];
    let lower = objective.to_lowercase();
    match rate || objective == "fitness" {
        true => Some(true),
        false => less.iter().any(|w| lower.contains(w)).then_some(false),
    }
}

/// What a search over recorded results minimises.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// Its name.
    pub name: String,
    /// Whether more is better.
    pub more: bool,
}

impl Tuning {
    /// The objective: the file's own, or another by name, `+name` if more is better, `-name` if less.
    pub fn objective(&self, asked: Option<&str>) -> Result<Objective, ExchangeError> {
        let asked = asked.unwrap_or(&self.objective);
        let (name, sign) = match (asked.strip_prefix('+'), asked.strip_prefix('-')) {
            (Some(n), _) => (n, Some(true)),
            (_, Some(n)) => (n, Some(false)),
            _ => (asked, None),
        };
        let ran = || self.entries.iter().filter(|e| e.failed.is_none());
        if ran().next().is_some() && !ran().any(|e| e.number(name).is_some()) {
            let mut measured: Vec<String> = Vec::new();
            for (n, v) in ran().flat_map(|e| &e.measured) {
                if v.is_number() && !measured.contains(n) {
                    measured.push(n.clone());
                }
            }
            return Err(ExchangeError::NoObjective {
                objective: name.to_owned(),
                measured,
            });
        }
        let more = sign.or_else(|| more_is_better(name));
        Ok(Objective {
            name: name.to_owned(),
            more: more.ok_or_else(|| ExchangeError::Direction(name.to_owned()))?,
        })
    }

    /// A configuration for people.
    pub fn configuration(&self, point: &[u8]) -> String {
        let each = self.params.iter().zip(point);
        let words = each.filter_map(|(p, l)| {
            let v = p.values.get(*l as usize)?;
            (p.values.len() > 1).then(|| format!("{}={}", p.name, v.name()))
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// The level of a value of a parameter; it is added if it is new and may be.
fn level(p: &mut SpaceParameter, v: &ExpressionValue, add: bool) -> Option<u8> {
    let same = |x: &ExpressionValue| x == v || (x.number().is_some() && x.number() == v.number());
    let at = p.values.iter().position(same).or_else(|| {
        add.then(|| {
            p.values.push(v.clone());
            p.values.len() - 1
        })
    });
    at.and_then(|i| u8::try_from(i).ok())
}

fn object<'j>(v: &'j Json, of: &str) -> Result<&'j Map<String, Json>, ExchangeError> {
    v.as_object()
        .ok_or_else(|| place(of, format!("{} where an object belongs", kind(v))))
}

fn kind(v: &Json) -> &'static str {
    match v {
        Json::Null => "null",
        Json::Bool(_) => "a truth value",
        Json::Number(_) => "a number",
        Json::String(_) => "text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

/// Times of single runs; infinite and negative ones are refused.
fn runs(v: Option<&Json>, of: &str) -> Result<Vec<f64>, ExchangeError> {
    let Some(v) = v.filter(|v| !v.is_null()) else {
        return Ok(Vec::new());
    };
    let all = v
        .as_array()
        .ok_or_else(|| place(of, format!("{} where a list of times belongs", kind(v))))?;
    let one = |(i, v): (usize, &Json)| {
        let t = v.as_f64().filter(|t| *t >= 0.0);
        t.ok_or_else(|| place(format!("{of}[{i}]"), format!("{v} is no time")))
    };
    all.iter().enumerate().map(one).collect()
}

/// Reads a cache of Kernel Tuner or a T4 file, whichever it is; none if it is neither.
pub fn read(value: &Json) -> Result<Option<Tuning>, ExchangeError> {
    if value.get("cache").is_some() {
        return kernel_tuner::read(value).map(Some);
    }
    if value.get("results").is_some() {
        return t4::read(value).map(Some);
    }
    Ok(None)
}

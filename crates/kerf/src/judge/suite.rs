//! `kerf judge --suite`: all candidates of a folder, as a table.
use super::{Args, Subjects, judged, write_page};
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::table::Table;
use kerf_judge::suite::{SuiteEntry, entries};
use kerf_judge::verdict::{CandidateDecision, CandidateVerdict};
use serde::Serialize;
use std::path::Path;

/// Name and version of the document.
const SCHEMA: &str = "kerf.judge-suite/1";

/// What came of one candidate.
#[derive(Serialize)]
struct SuiteResult {
    name: String,
    decision: CandidateDecision,
    /// Why it could not be judged.
    error: Option<String>,
    verdict: Option<CandidateVerdict>,
}

fn result(a: &Args, e: &SuiteEntry) -> SuiteResult {
    let subjects = Subjects {
        candidate: e.candidate.clone(),
        candidate_workload: e.candidate_workload.clone(),
        against: Some(e.original.clone()),
        workload: e.workload.clone(),
    };
    let (verdict, error) = match judged(a, &subjects) {
        Ok(v) => (Some(v), None),
        Err(f) => (None, Some(f.to_string())),
    };
    SuiteResult {
        name: e.name.clone(),
        decision: verdict
            .as_ref()
            .map_or(CandidateDecision::Undecided, |v| v.decision),
        error,
        verdict,
    }
}

/// Why a candidate is not accepted, in a few words.
fn reason(r: &SuiteResult) -> String {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    match (&r.error, &r.verdict) {
        (Some(e), _) => first_line(e),
        (None, Some(v)) => match v.defects.first() {
            Some(d) => d.words.clone(),
            None => first_line(&v.why_undecided().unwrap_or_default()),
        },
        (None, None) => String::new(),
    }
}

fn table(all: &[SuiteResult], style: Style) -> String {
    let mut t = Table::new(3, ["candidate", "verdict", "why", "inputs", "speed-up"]);
    for r in all {
        let v = r.verdict.as_ref();
        let inputs = v.map_or(String::new(), |v| {
            format!(
                "{}/{}",
                v.inputs.counted - v.inputs.failed,
                v.inputs.counted
            )
        });
        let speed = v
            .and_then(|v| v.speed.as_ref())
            .map_or(String::new(), |s| format!("{:.2}x", s.speedup));
        t.row([
            r.name.clone(),
            r.decision.word().into(),
            reason(r),
            inputs,
            speed,
        ]);
    }
    t.render(style)
}

/// The exit code of all: 2 where one could not be judged, else 1 where one is refused.
fn exit_code(all: &[SuiteResult]) -> i32 {
    let codes = all.iter().map(|r| r.decision.exit_code());
    codes.max().unwrap_or(2)
}

/// Judges all candidates of a folder.
pub(super) fn run(a: &Args, folder: &Path, format: Format, style: Style) -> Result<i32, Failure> {
    let all = entries(folder).map_err(|e| {
        Failure::new(e.to_string()).help("each subfolder has original.*, candidate*.* and w.toml")
    })?;
    if let Some(out) = &a.out {
        std::fs::create_dir_all(out).map_err(|e| {
            Failure::new(format!("cannot make {}: {e}", out.display()))
                .help("choose another folder with --out")
        })?;
    }
    let mut results = Vec::new();
    for e in &all {
        let r = result(a, e);
        if let (Some(out), Some(v)) = (&a.out, &r.verdict) {
            write_page(&out.join(format!("{}.html", r.name.replace('/', "-"))), v)?;
        }
        results.push(r);
    }
    let code = exit_code(&results);
    match format {
        Format::Json => {
            let count = |d: CandidateDecision| results.iter().filter(|r| r.decision == d).count();
            let document = serde_json::json!({
                "schema": SCHEMA,
                "accepted": count(CandidateDecision::Accepted),
                "refused": count(CandidateDecision::Refused),
                "undecided": count(CandidateDecision::Undecided),
                "candidates": results,
            });
            say(&format!("{document:#}\n"))?;
        }
        Format::Human | Format::Csv => say(&table(&results, style))?,
    }
    Ok(code)
}

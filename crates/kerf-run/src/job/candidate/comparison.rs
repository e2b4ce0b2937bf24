//! Outputs of a candidate against the reference, beside those of the original.
use super::super::execute::read_workload;
use super::super::reference::compare_output;
use super::super::report::Output;
use super::super::shadowed::{Reference, ReferenceCode, reference};
use super::super::{Job, JobError};
use super::defect::{CandidateFinding, CandidateReport, Defect};
use super::programs::{JudgedProgram, session_of};
use super::runs::Runs;
use super::{CandidateJob, OriginalRuns, on_cpu};
use crate::other_launches::LaunchedWorkload;
use crate::run::WorkloadSession;
use kerf_num::metrics::Rejection;
use kerf_workload::generate::perturb::format_of;
use kerf_workload::workload::BufferSpec;

/// How many times the effect of one unit in the last place of the inputs an error may be: results are as good as exact ones
/// of inputs that differ by so much. Reduced precision is far beyond it: half the digits of f32 are 4,096 units.
const CONDITION_FACTOR: f64 = 64.0;

/// Outputs of a run against the reference.
pub(super) fn compared(
    job: &Job,
    session: &WorkloadSession,
    run: &[Vec<u8>],
    reference: &Reference,
) -> Result<Vec<Output>, JobError> {
    let mut all = Vec::new();
    for (k, o) in session.outputs().into_iter().enumerate() {
        let mut out = Output::empty(&session.workload.buffers[o]);
        compare_output(job, session, o, &run[k], &reference.outputs[k], &mut out)?;
        all.push(out);
    }
    Ok(all)
}

/// Why an output is rejected. Where the original has nothing finite to compare, neither has a candidate that is right.
pub(super) fn rejection(o: &Output) -> Option<Rejection> {
    o.verdict.as_ref().and_then(|v| v.rejection)
}

pub(super) fn error_of(o: &Output) -> Option<f64> {
    o.verdict.as_ref().and_then(|v| v.value)
}

/// A number as JSON writes it, to be read back to the bit.
fn json(x: f64) -> serde_json::Value {
    x.into()
}

/// The element that shows most, in words.
pub(super) fn place(o: &Output) -> String {
    let name = &o.name;
    if let Some(n) = o.integer_mismatches.filter(|n| *n > 0) {
        return format!("{n} integers of {name} differ");
    }
    for e in &o.errors {
        if let Some(i) = e.report.first_mismatch {
            let n = e.report.nan_mismatch + e.report.inf_mismatch;
            return format!("{n} values of {name} differ in being finite, the first is [{i}]");
        }
    }
    match o.errors.iter().find_map(|e| e.report.max_rel_at) {
        Some(p) => format!(
            "{name}[{}] is {} for {}",
            p.index,
            json(p.got),
            json(p.reference)
        ),
        None => name.clone(),
    }
}

/// How far an output is off, in words.
pub(super) fn measured(o: &Output) -> String {
    let Some(v) = &o.verdict else {
        return place(o);
    };
    let metric = v.metric.map_or_else(String::new, |m| m.to_string());
    match (v.rejection, v.value, v.tolerance) {
        (Some(Rejection::BeyondTolerance) | None, Some(x), Some(t)) => {
            format!("{metric} {x:.3e}, tolerance {t:e}: {}", place(o))
        }
        _ => place(o),
    }
}

/// What the candidate writes and the original does not, and the other way round.
pub(super) fn writes(
    session: &WorkloadSession,
    original: &OriginalRuns,
    tried: &Runs,
    report: &mut CandidateReport,
) {
    let buffers = &session.workload.buffers;
    for (k, o) in session.outputs().into_iter().enumerate() {
        let (own, other) = (&original.runs.unwritten[k], &tried.unwritten[k]);
        let name = &buffers[o].name;
        let sides = [
            (
                Defect::Unwritten,
                other,
                own,
                "not written, and the original writes it",
            ),
            (
                Defect::StrayWrite,
                own,
                other,
                "written, and the original leaves it alone",
            ),
        ];
        for (defect, left, written, words) in sides {
            let differ = left.iter().zip(written).map(|(l, w)| *l && !*w);
            let places: Vec<usize> = differ.enumerate().filter(|d| d.1).map(|d| d.0).collect();
            if let Some(first) = places.first() {
                let more = match places.len() {
                    1 => String::new(),
                    n => format!(", and {} others", n - 1),
                };
                report.findings.push(CandidateFinding {
                    defect,
                    buffer: Some(name.clone()),
                    message: format!("{name}[{first}] is {words}{more}"),
                });
            }
        }
    }
    for (i, b) in buffers.iter().enumerate() {
        let own = original.runs.changed.get(i).copied();
        if own == Some(false) && tried.changed[i] {
            report.findings.push(CandidateFinding {
                defect: Defect::StrayWrite,
                buffer: Some(b.name.clone()),
                message: format!(
                    "it writes {}, an input that the original only reads",
                    b.name
                ),
            });
        }
    }
}

/// The first output that is rejected, if its error is neither within the tolerance, nor below the original's, nor explained by
/// the condition of the input.
pub(super) fn rejected(
    outputs: &[Output],
    original: &OriginalRuns,
    limits: &[f64],
) -> Option<CandidateFinding> {
    let all = outputs.iter().zip(&original.outputs).zip(limits);
    let mut bad = all.filter_map(|((o, own), limit)| {
        let why = rejection(o)?;
        let excused = match why {
            Rejection::NothingCompared => rejection(own) == Some(Rejection::NothingCompared),
            Rejection::BeyondTolerance => {
                let lower_is_better = o
                    .verdict
                    .as_ref()
                    .and_then(|v| v.metric)
                    .is_some_and(|m| !m.more_is_better());
                let within = |limit: f64| error_of(o).is_some_and(|e| e <= limit);
                lower_is_better && (within(*limit) || error_of(own).is_some_and(within))
            }
            _ => false,
        };
        (!excused).then(|| CandidateFinding {
            defect: Defect::from_rejection(why),
            buffer: Some(o.name.clone()),
            message: measured(o),
        })
    });
    bad.next()
}

/// How large an error of each output the condition of an input explains: the reference moves by so much where its inputs
/// move by one unit in the last place.
pub(super) fn sensitivity(
    nudged: &CandidateJob,
    own: &JudgedProgram,
    original: &OriginalRuns,
    references: &mut ReferenceCode,
) -> Result<Vec<f64>, JobError> {
    let workload = read_workload(&nudged.job)?;
    let plain = LaunchedWorkload {
        workload,
        declared: None,
    };
    let session = session_of(nudged, &plain, &own.kernels, &own.globals);
    let moved = reference(&on_cpu(&nudged.job), &session, &own.program, references)?;
    let outputs = session.outputs();
    let all = outputs.iter().enumerate();
    let rounded: Vec<Vec<u8>> = all
        .map(|(k, o)| rounded_reference(&plain.workload.buffers[*o], &moved, k))
        .collect();
    let compared = compared(&nudged.job, &session, &rounded, &original.reference)?;
    let limit = |o: &Output| match (rejection(o), error_of(o)) {
        (None | Some(Rejection::BeyondTolerance), Some(e)) => CONDITION_FACTOR * e,
        // It becomes infinite, or a NaN: nothing can be said of the error there.
        _ => f64::INFINITY,
    };
    Ok(compared.iter().map(limit).collect())
}

/// The bytes of an output whose floats are a reference's, rounded.
pub(super) fn rounded_reference(b: &BufferSpec, r: &Reference, output: usize) -> Vec<u8> {
    let (original, by_format) = &r.outputs[output];
    let mut bytes = original.clone();
    let (size, scalars) = (b.elem.size().max(1), b.elem.scalars());
    for (f, values) in by_format {
        let places: Vec<usize> = scalars
            .iter()
            .filter(|(_, s)| format_of(*s) == Some(*f))
            .map(|(at, _)| *at)
            .collect();
        let slots = (0..b.len).flat_map(|e| places.iter().map(move |at| e * size + at));
        for (at, v) in slots.zip(values) {
            let new = f.encode(f.round(v.to_f64())).to_le_bytes();
            bytes[at..at + f.bytes()].copy_from_slice(&new[..f.bytes()]);
        }
    }
    bytes
}

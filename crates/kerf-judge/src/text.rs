//! A judgement as a few lines of text.
use crate::cases::sizes_in_words;
use crate::speed::{Pace, Speed, SpeedKind};
use crate::verdict::{CandidateVerdict, CaseOutcome, FoundDefect, WorstErrors};
use kerf_run::job::LeftOut;
use std::collections::BTreeMap;
use std::fmt::Write;

fn error(x: Option<f64>) -> String {
    match x {
        Some(0.0) => "0".into(),
        Some(x) => format!("{x:.2e}"),
        None => "not measured".into(),
    }
}

/// Errors of both programs, in a line.
pub fn errors_line(v: &CandidateVerdict, e: &WorstErrors) -> String {
    format!(
        "{}: largest {} of the candidate {}, of the original {} ({} inputs; tolerance {:e})",
        e.name,
        v.metric,
        error(e.candidate),
        error(e.original),
        e.inputs,
        v.tolerance
    )
}

/// The speed-up, in a line that says where it is from.
pub fn speed_line(s: &Speed) -> String {
    let kind = match s.kind {
        SpeedKind::Measured => format!("measured on {}, {} samples in turn", s.device, s.samples),
        SpeedKind::Predicted => format!("predicted for {}, nothing was measured", s.device),
    };
    let interval = match (s.low, s.high) {
        (Some(low), Some(high)) => format!(" ({low:.2} to {high:.2})"),
        _ => String::new(),
    };
    format!("{:.2}x{interval}, {kind}", s.speedup)
}

/// The verdict in a sentence.
pub fn headline(v: &CandidateVerdict) -> String {
    let correct = match v.correct {
        Some(true) => "correct",
        Some(false) => "not correct",
        None => "nothing to judge it by",
    };
    let pace = match v.pace {
        Pace::Faster => "faster",
        Pace::Slower => "slower",
        Pace::Unclear => "as fast, within the interval",
        Pace::TooShort => "too short to compare times: a larger size fills the GPU (--size)",
        Pace::PredictedFaster => "predicted to be faster",
        Pace::PredictedSlower => "not predicted to be faster",
        Pace::Unknown => "without times",
    };
    format!("{}: {correct}, {pace}", v.decision.word())
}

/// A defect with its smallest input.
pub fn defect_lines(d: &FoundDefect) -> String {
    let sizes = sizes_in_words(&d.smallest.sizes);
    let values = match d.smallest.values {
        Some(v) => format!(", values: {}", v.name()),
        None => String::new(),
    };
    let at = match sizes.is_empty() {
        true => format!("seed {}", d.smallest.seed),
        false => format!("{sizes}, seed {}", d.smallest.seed),
    };
    let s = if d.inputs == 1 { "" } else { "s" };
    format!(
        "{} ({} input{s}, the first: {})\n    smallest: {at}{values}\n    {}",
        d.words,
        d.inputs,
        d.first,
        d.message.replace('\n', "\n    ")
    )
}

/// Inputs that say nothing, by the reason.
pub fn left_out(v: &CandidateVerdict) -> BTreeMap<&'static str, Vec<&str>> {
    let mut by: BTreeMap<&'static str, Vec<&str>> = BTreeMap::new();
    for c in v.cases.iter().filter(|c| c.outcome == CaseOutcome::LeftOut) {
        let why = match &c.left_out {
            Some(LeftOut::Impossible(_)) | None => "the workload cannot have these sizes",
            Some(LeftOut::OriginalFaults(_)) => "the original faults",
            Some(LeftOut::OriginalInaccurate(_)) => "the original misses the tolerance",
            Some(LeftOut::OriginalUnsteady(_)) => "the original's own results vary",
        };
        by.entry(why).or_default().push(&c.case.name);
    }
    by
}

/// All of it.
pub fn text(v: &CandidateVerdict) -> String {
    let mut o = String::new();
    let _ = writeln!(o, "{}", headline(v));
    let n = &v.inputs;
    let _ = writeln!(
        o,
        "  inputs: {} counted, {} failed, {} left out, {} the same as others; {} with every access checked",
        n.counted, n.failed, n.left_out, n.same, n.checked
    );
    for e in &v.errors {
        let _ = writeln!(o, "  {}", errors_line(v, e));
    }
    if n.not_tried > 0 {
        let _ = writeln!(
            o,
            "  {} more inputs were not tried: time was up (--max-time)",
            n.not_tried
        );
    }
    if n.ill_conditioned > 0 {
        let _ = writeln!(
            o,
            "  on {} ill-conditioned inputs its error is beyond the tolerance and let pass: inputs that differ in their last bits explain it",
            n.ill_conditioned
        );
    }
    match (&v.speed, &v.no_speed) {
        (Some(s), _) => {
            let _ = writeln!(o, "  speed-up: {}", speed_line(s));
        }
        (None, Some(why)) => {
            let _ = writeln!(o, "  speed-up: none: {why}");
        }
        (None, None) => {}
    }
    for d in &v.defects {
        let _ = writeln!(o, "  {}", defect_lines(d));
    }
    for (why, names) in left_out(v) {
        let _ = writeln!(o, "  left out, {why}: {}", names.join(", "));
    }
    if let Some(why) = v.why_undecided() {
        let _ = writeln!(o, "  {why}");
    }
    o
}

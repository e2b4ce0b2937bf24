//! What a result lets anybody say, and nothing beyond it.
//!
//! Architecture Invariant: text, Markdown and page say of speed, error, other inputs and energy only what this module
//! gives them, and it gives nothing without the record that the sentence is about. Where a record is absent, the
//! sentence is absent or says so; an absent number is never read as 0 or as infinite.
use crate::words::{lines, number};
use kerf_num::metrics::Rejection;
use kerf_tune::criteria::OutputError;
use kerf_tune::precheck::SanitizerCheck;
use kerf_tune::result::{GroupResult, SearchVerdict, Speedup, TuneResult};
use kerf_tune::validate::Validation;
use serde::Serialize;

/// What is said of a number that no record has.
pub const NOT_RECORDED: &str = "not recorded";

/// A plan on inputs that it was not chosen by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OtherInputs<'v> {
    /// There were none, and why, where that is known.
    NotTried(Option<&'v str>),
    /// On so many, all that there were, the program itself exceeds the tolerance.
    ProgramExceeds(&'v Validation),
    /// Some counted.
    Tried(&'v Validation),
}

impl<'v> OtherInputs<'v> {
    /// What a validation shows.
    pub fn new(v: Option<&'v Validation>) -> OtherInputs<'v> {
        match v {
            None => OtherInputs::NotTried(None),
            Some(v) if v.tried() == 0 => OtherInputs::NotTried(v.remark.as_deref()),
            Some(v) if v.counted() == 0 => OtherInputs::ProgramExceeds(v),
            Some(v) => OtherInputs::Tried(v),
        }
    }

    /// As a sentence.
    pub fn sentence(&self) -> String {
        match self {
            OtherInputs::NotTried(None) => "no other inputs were tried".into(),
            OtherInputs::NotTried(Some(why)) => format!("no other inputs were tried: {why}"),
            OtherInputs::ProgramExceeds(v) => format!(
                "nothing is known of other inputs: {} exceeds the tolerance on all {} that were tried",
                v.excused_by(),
                v.tried()
            ),
            OtherInputs::Tried(v) => format!(
                "on {} of {} other inputs within the tolerance, worst {}; {}{}",
                v.passed,
                v.counted(),
                worst(v),
                confidence(v),
                saturated(v)
            ),
        }
    }
}

/// The worst error of inputs that counted.
pub fn worst(v: &Validation) -> String {
    match v.worst {
        None if v.holds() => NOT_RECORDED.into(),
        None => "infinite, or a run failed".into(),
        some => number(some),
    }
}

/// On how many inputs values saturated, behind another sentence; nothing where none did.
pub fn saturated(v: &Validation) -> String {
    match v.saturated {
        0 => String::new(),
        n => format!("; values saturated in a scaled format on {n} of them"),
    }
}

/// What passing on these inputs says of others.
pub fn confidence(v: &Validation) -> String {
    format!(
        "with {:.0} % confidence at least {:.1} % of such inputs pass",
        100.0 * v.confidence,
        100.0 * v.pass_probability
    )
}

/// An error, by what the outputs say where it is no number.
pub fn error(error: Option<f64>, outputs: &[OutputError]) -> String {
    if error.is_some() {
        return number(error);
    }
    let other = |r: &Rejection| *r != Rejection::BeyondTolerance;
    let mut reasons = outputs.iter().filter_map(|o| o.rejection).filter(other);
    match reasons.next() {
        Some(why) => format!("infinite ({why})"),
        None if outputs.iter().any(|o| o.error.is_none()) => "infinite".into(),
        None => NOT_RECORDED.into(),
    }
}

/// The interval of a speed-up, where it was measured.
pub fn interval(s: &Speedup) -> Option<(f64, f64)> {
    s.timing.as_ref()?;
    s.low.zip(s.high)
}

/// A speed-up with its interval and where it comes from.
pub fn speedup(s: &Speedup) -> String {
    let value = match interval(s) {
        Some((low, high)) => format!("{:.2}x [{low:.2}, {high:.2}]", s.value),
        None => format!("{:.2}x", s.value),
    };
    match s.recorded_kind() {
        Some(kind) => format!("{value} {kind}"),
        None => format!("{value} (its measurement is {NOT_RECORDED})"),
    }
}

/// What the check for undefined behaviour came to, where it was recorded.
pub fn checked(c: Option<&SanitizerCheck>) -> Option<String> {
    let c = c?;
    Some(c.gap().unwrap_or_else(|| {
        "checked for undefined behaviour on the tuning inputs, at their full size: no fault"
            .to_owned()
    }))
}

/// What was compared on the tuning inputs; none where no output says.
pub fn compared(outputs: &[OutputError]) -> Option<String> {
    let all = outputs.iter().map(|o| o.counts);
    let sum = all.reduce(|a, b| Some(a?.and(&b?)))??;
    Some(sum.to_string())
}

/// What the page says of other inputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtherInputsFact {
    /// In few words.
    pub head: String,
    /// Did the plan pass on all?
    pub good: bool,
    /// What else is known.
    pub more: Vec<String>,
}

impl OtherInputsFact {
    fn new(o: &OtherInputs) -> OtherInputsFact {
        match o {
            OtherInputs::Tried(v) => OtherInputsFact {
                head: format!("{} of {}", v.passed, v.counted()),
                good: v.holds(),
                more: vec![
                    confidence(v),
                    format!(
                        "{} from other seeds, {} perturbed; worst error {}",
                        v.held_out,
                        v.perturbed,
                        worst(v)
                    ),
                ],
            },
            other => OtherInputsFact {
                head: "not shown".into(),
                good: false,
                more: vec![other.sentence()],
            },
        }
    }
}

/// The claims that the page makes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claims {
    /// `measured`, `predicted`, or none.
    pub time_kind: Option<String>,
    /// The interval of the speed-up.
    pub interval: Option<(f64, f64)>,
    /// The plan's error.
    pub error: String,
    /// The program's own.
    pub own_error: String,
    /// What was compared.
    pub compared: Option<String>,
    /// Of a tuned result.
    pub other_inputs: Option<OtherInputsFact>,
    /// Expressions that are written differently.
    pub rewritten: Vec<String>,
    /// Math calls by functions made for their arguments.
    pub made: Vec<String>,
    /// Groups in wider formats.
    pub raised: Vec<String>,
}

impl Claims {
    /// What a result lets the page say.
    pub fn new(r: &TuneResult) -> Claims {
        Claims {
            time_kind: time_kind(r).map(str::to_owned),
            interval: interval(&r.speedup),
            error: error(r.error, &r.outputs),
            own_error: error(r.floor.error, &r.floor.outputs),
            compared: compared(&r.outputs),
            other_inputs: other_inputs(r).as_ref().map(OtherInputsFact::new),
            rewritten: rewritten(r),
            made: made(r),
            raised: raised(r),
        }
    }
}

/// Expressions that the plan writes differently, one sentence each: `line 12: s = m / (sqrt(d) * d) as m * rsqrt(d)`.
pub fn rewritten(r: &TuneResult) -> Vec<String> {
    let mut out = Vec::new();
    for g in r.groups.iter().filter(|g| !g.group.rewrites.is_empty()) {
        let level = g.group.formats.iter().position(|f| *f == g.format);
        let chosen = level.and_then(|l| l.checked_sub(1));
        let Some(chosen) = chosen.and_then(|l| g.group.rewrites.get(l)) else {
            continue;
        };
        for e in &chosen.changes {
            let line = match e.line {
                0 => g.group.kernel.clone(),
                l => format!("line {l}"),
            };
            let name = e
                .variable
                .as_ref()
                .map_or_else(String::new, |v| format!("{v} = "));
            out.push(format!("{line}: {name}{} as {}", e.before, e.after));
        }
    }
    out
}

/// Groups that the plan raises, one sentence each: `line 12, 14: f64 -> dw64 (sum)`.
pub fn raised(r: &TuneResult) -> Vec<String> {
    let level = |g: &GroupResult| g.group.formats.iter().position(|f| *f == g.format);
    let raises = |g: &&GroupResult| level(g).is_some_and(|l| l >= g.group.lower_levels());
    let all = r.groups.iter().filter(raises);
    let one = |g: &GroupResult| {
        let place = match lines(&g.group.lines) {
            l if l.is_empty() => String::new(),
            l => format!("{l}: "),
        };
        let own = g.group.formats[0];
        format!("{place}{own} -> {} ({})", g.format, g.group.name)
    };
    all.map(one).collect()
}

/// How many operations the plan raises, of how many that can be; none where nothing had to be.
pub fn raised_operations(r: &TuneResult) -> Option<String> {
    let raised = r.raised.as_ref()?;
    let s = if raised.operations == 1 { "" } else { "s" };
    Some(format!(
        "{} operation{s} of {} in wider formats",
        raised.operations, raised.of
    ))
}

/// What wider formats cannot mend, where they were tried and the tolerance is missed all the same.
pub fn beyond_raising(r: &TuneResult) -> Option<String> {
    let raised = r.raised.as_ref()?;
    if let Some(why) = &raised.failure {
        let why = why.lines().next().unwrap_or_default();
        return Some(format!(
            "the program with everything raised does not run: {why}"
        ));
    }
    let within = raised.everything.is_some_and(|e| e <= r.criteria.tolerance);
    Some(match within {
        true => "plans with wider formats are within the tolerance on the tuning inputs, and none passed on others".into(),
        false => format!(
            "with all {} operations that can be raised in wider formats the error is {}: the rest is the rounding of inputs and outputs to the formats of their buffers, or of operations that cannot be raised",
            raised.of,
            raised.everything.map_or_else(|| "infinite".to_owned(), |e| number(Some(e)))
        ),
    })
}

/// Math calls that a made function computes in the plan, one sentence each: `line 12: exp in f64 for -7.9e0 to 0e0, relative
/// error at most 5.652e-10, degree 7`.
pub fn made(r: &TuneResult) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for s in &r.sites {
        let Some(made) = &s.made else { continue };
        let place = match s.line {
            Some(l) => format!("line {l}"),
            None => s.kernel.clone(),
        };
        let text = format!("{place}: {made}");
        if !out.contains(&text) {
            out.push(text);
        }
    }
    out.extend(r.validation.iter().flat_map(made_uses));
    out
}

/// How often arguments were outside of the ranges of made functions, one line each.
pub fn made_uses(v: &Validation) -> Vec<String> {
    v.made.iter().map(|u| u.to_string()).collect()
}

/// How the times of evaluations came about. A result without a plan has no measurement of one; then what was nearest to
/// one says it, or the device that evaluations ran on.
fn time_kind(r: &TuneResult) -> Option<&str> {
    match (r.verdict, &r.tie) {
        (SearchVerdict::Tuned | SearchVerdict::Raised, _) => r.speedup.recorded_kind(),
        (_, Some(tie)) => tie.speedup.recorded_kind(),
        (_, None) => Some(&r.speedup.kind),
    }
}

/// What there is to say of other inputs: nothing where nothing was changed.
pub fn other_inputs(r: &TuneResult) -> Option<OtherInputs<'_>> {
    let changed = matches!(r.verdict, SearchVerdict::Tuned | SearchVerdict::Raised);
    (changed || r.validation.is_some()).then(|| OtherInputs::new(r.validation.as_ref()))
}

/// That what is held in scaled formats lost nothing beyond its rounding on the tuning inputs, where that was counted; what was
/// lost is a warning.
pub fn losses(r: &TuneResult) -> Option<String> {
    let counted = !r.losses.is_empty() && r.losses.iter().all(|l| l.is_empty());
    counted.then(|| "no value saturated in a scaled format on the tuning inputs".to_owned())
}

//! Why groups kept their formats, in words alike in every report.
use crate::gather::Gathered;
use crate::words::{bound, number};
use kerf_tune::result::{KeptReason, TuneResult};
use kerf_tune::setting::Setting;

/// The next level of a group below the plan's, if it has one.
fn next(r: &TuneResult, group: usize) -> Option<Setting> {
    let level = *r.assignment.get(group)? as usize;
    r.groups[group].group.formats.get(level + 1).copied()
}

/// The element that pays for lowering a group as well as the plan.
fn payer(g: &Gathered, group: usize) -> Option<&(String, u64)> {
    let mut wanted = g.result.assignment.clone();
    *wanted.get_mut(group)? += 1;
    let mut all = g.evaluations.iter();
    all.find(|e| e.levels == wanted && e.worst.is_some())?
        .worst
        .as_ref()
}

/// Why a group did not go lower; empty if it went as low as was allowed.
pub fn kept(g: &Gathered, group: usize) -> String {
    let r = &g.result;
    let Some(k) = &r.groups[group].kept else {
        return String::new();
    };
    let lower = next(r, group).map_or_else(|| "lower".to_owned(), |s| s.to_string());
    match k {
        KeptReason::Needed { error } => {
            let own = r.groups[group].group.formats[0];
            let limit = bound(r.criteria.tolerance);
            match error {
                Some(_) => format!("{own} costs {}, limit {limit}", number(*error)),
                None => format!("{own} is not within the tolerance"),
            }
        }
        KeptReason::Error {
            error: None,
            rejection: Some(why),
        } => format!("{lower}: {why}"),
        KeptReason::Error { error: None, .. } => format!("{lower} is not within the tolerance"),
        KeptReason::Error { error, .. } => {
            let place = payer(g, group).map_or_else(String::new, |(o, i)| format!(" on {o}[{i}]"));
            format!(
                "{lower} costs {}{place}, limit {}",
                number(*error),
                bound(r.criteria.tolerance)
            )
        }
        KeptReason::Slower {
            time,
            chosen,
            measured,
        } => {
            let how = if *measured { "measured" } else { "predicted" };
            match k.gains_nothing() {
                true => format!("{lower} gains nothing, {how}"),
                false => {
                    format!("{lower} takes {time:.3} of the time instead of {chosen:.3}, {how}")
                }
            }
        }
        KeptReason::Failed { why } => {
            format!("{lower}: {}", why.lines().next().unwrap_or_default())
        }
        KeptReason::Veto { why } => format!("{lower}: {why}"),
        KeptReason::Validation => format!("{lower} fails on other inputs"),
        KeptReason::NotTried => format!("{lower} was not tried"),
    }
}

//! Which kernels of an application count: their parts of its time, by a run or by predictions for another device.
use super::counting::AppCounts;
use super::error::AppError;
use super::request::{AppRequest, TimeBy};
use super::run::{AppRunner, AppTrace, TracedKernel, bare};
use crate::result::write;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Kernels are taken, the longest first, until they have this part of the run time.
pub const COVERED: f64 = 0.75;

/// Kernels to tune, the longest first.
pub(super) fn chosen(trace: &AppTrace, listed: &[String]) -> Result<Vec<TracedKernel>, AppError> {
    if !listed.is_empty() {
        return listed
            .iter()
            .map(|n| {
                let hit = |k: &&TracedKernel| k.name == *n || k.symbol == *n || bare(&k.name) == n;
                let found = trace.kernels.iter().find(hit).cloned();
                let have: Vec<&str> = trace.kernels.iter().map(|k| k.name.as_str()).collect();
                found.ok_or_else(|| AppError::NoKernel(n.clone(), have.join(", ")))
            })
            .collect();
    }
    let all: f64 = trace.kernels.iter().map(|k| k.seconds).sum();
    let (mut some, mut sum) = (Vec::new(), 0.0);
    for k in &trace.kernels {
        if sum >= COVERED * all && !some.is_empty() {
            break;
        }
        sum += k.seconds;
        some.push(k.clone());
    }
    // Not by the clock: groups are numbered in this order.
    some.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    Ok(some)
}

/// What a folder keeps of the program itself: a search that goes on has the same kernels and the same weights, whatever
/// the clock says this time.
#[derive(Serialize, Deserialize)]
struct Kept {
    by: String,
    kernels: Vec<TracedKernel>,
}

/// Puts predicted seconds in the place of measured ones, of all launches as if each were like the recorded one. Kernels without
/// a prediction get what their part of the measured time comes to; gives their names.
fn predicted(kernels: &mut [TracedKernel], each: &BTreeMap<String, f64>) -> Vec<String> {
    let known = |k: &&TracedKernel| each.contains_key(&k.symbol);
    let measured: f64 = kernels.iter().filter(known).map(|k| k.seconds).sum();
    let all: f64 = kernels
        .iter()
        .filter_map(|k| Some(each.get(&k.symbol)? * k.launches as f64))
        .sum();
    let rate = if measured > 0.0 { all / measured } else { 1.0 };
    let mut without = Vec::new();
    for k in kernels.iter_mut() {
        k.seconds = match each.get(&k.symbol) {
            Some(s) => s * k.launches as f64,
            None => {
                without.push(k.name.clone());
                k.seconds * rate
            }
        };
    }
    kernels.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    without
}

/// The kernels' seconds as they count, the longest first; gives what they are, and what was counted for them.
pub(super) fn profile(
    trace: &mut AppTrace,
    request: &AppRequest,
    runner: &AppRunner,
    warnings: &mut Vec<String>,
) -> Result<(String, Option<AppCounts>), AppError> {
    let predicts = matches!(request.time, TimeBy::Predicted);
    let counts = match predicts && request.count.is_some() {
        true => Some(AppCounts::obtain(request, runner)?),
        false => None,
    };
    let path = request.out.join("kernels.json");
    let bad = |e: String| AppError::Module(format!("{}: {e}", path.display()));
    if let (true, Ok(text)) = (request.resume, std::fs::read_to_string(&path)) {
        let kept: Kept = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        trace.kernels = kept.kernels;
        return Ok((kept.by, counts));
    }
    let mut by = format!("time on {}", request.device);
    let each = counts.as_ref().map(AppCounts::seconds).unwrap_or_default();
    if !each.is_empty() {
        by = format!(
            "time predicted for {}, by launches of each",
            request.profile.name
        );
        let without = predicted(&mut trace.kernels, &each);
        if !without.is_empty() {
            warnings.push(format!(
                "{} counts by processor time: a launch could not be predicted (kerf record says why)",
                without.join(", ")
            ));
        }
    }
    let kept = Kept {
        by: by.clone(),
        kernels: trace.kernels.clone(),
    };
    let text = serde_json::to_string_pretty(&kept).map_err(|e| bad(e.to_string()))?;
    write(&path, text.as_bytes())?;
    Ok((by, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, launches: u64, seconds: f64) -> TracedKernel {
        TracedKernel {
            name: name.into(),
            symbol: format!("_Z{name}"),
            unit: 0,
            launches,
            seconds,
            blocks: Vec::new(),
        }
    }

    #[test]
    fn predictions_decide_which_kernels_count() {
        let mut all = vec![
            kernel("shuffles", 10, 9.0),
            kernel("flux", 10, 0.8),
            kernel("odd", 1, 0.2),
        ];
        let each = BTreeMap::from([("_Zshuffles".into(), 1e-6), ("_Zflux".into(), 97e-6)]);
        assert_eq!(predicted(&mut all, &each), ["odd"]);
        let names: Vec<&str> = all.iter().map(|k| k.name.as_str()).collect();
        assert_eq!(names, ["flux", "odd", "shuffles"]);
        // 9.8 measured seconds are 980e-6 predicted ones.
        let is = |k: &TracedKernel, s: f64| assert!((k.seconds - s).abs() < 1e-12, "{k:?}");
        is(&all[0], 970e-6);
        is(&all[1], 20e-6);
        is(&all[2], 10e-6);
    }
}

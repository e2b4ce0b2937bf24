//! Launch tuning: the shape of blocks, and other launch parameters.
//!
//! * [`space`] is what there is to choose from and what cannot run, [`tuners`] leave the promising part of it,
//!   [`funnel`] is all of them one after the other.
//! * [`choice`] makes variables of a search of it, [`strategy`] are the strategies that know of launches, [`ryoo`] are the
//!   metrics of one of them.
//! * [`parameters`] are variables of a search one by one, where the source is compiled for their values.
//! * [`auto`] gives shapes to a workload that lists none; [`prepare`] finds out what the tuners want to know.
//! * [`sample`] takes samples of launches, for predictions and, by [`narrow`], for searches on a GPU.
//! * [`table`] times every shape, [`work`] counts it, for comparison; [`record`] reads that back, [`compare`] sets strategies side
//!   by side on it.
pub mod auto;
pub mod choice;
pub mod compare;
pub mod funnel;
pub mod narrow;
pub mod parameters;
pub mod prepare;
pub mod record;
pub mod ryoo;
pub mod sample;
pub mod space;
pub mod strategy;
pub mod table;
pub mod tuners;
pub mod work;

use choice::LaunchChoice;
use std::collections::BTreeMap;

/// Reasons that are named one by one.
const NAMED: usize = 6;

/// What a reader of the result should know of the shapes: which cannot run, what the tuners did.
pub fn notes(l: &LaunchChoice, growing: &BTreeMap<String, f64>, cuda: bool) -> Vec<String> {
    let mut out = Vec::new();
    // One line for each reason.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (shape, why) in &l.refused {
        match reasons.iter_mut().find(|r| r.0 == why) {
            Some(r) => r.1.push(shape),
            None => reasons.push((why, vec![shape])),
        }
    }
    for (why, shapes) in reasons.iter().take(NAMED) {
        let more = match shapes.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        out.push(format!("not tried: {}{more}: {why}", shapes[0]));
    }
    if reasons.len() > NAMED {
        let left: usize = reasons[NAMED..].iter().map(|r| r.1.len()).sum();
        out.push(format!("not tried: {left} more that cannot run"));
    }
    for v in &l.variables {
        let name = v.component.params.join(", ");
        for c in v.funnel.cuts.iter().filter(|c| c.after < c.before) {
            out.push(format!(
                "{name}: {} of {} shapes are left by {}: {}",
                c.after, c.before, c.tuner, c.why
            ));
        }
    }
    for (symbol, g) in growing {
        let name = kerf_ir::kernels::source_name(&kerf_llvm::demangle(symbol));
        let can = l.variables.iter().any(|v| v.regroupable.contains(symbol));
        let then = match (cuda, can) {
            (true, true) => "warp-sized blocks put together are tried",
            (true, false) => "its blocks cannot be put together",
            _ => {
                "warp-sized blocks put together are tried with --device cuda, where times are measured"
            }
        };
        out.push(format!(
            "{name}: the work of all threads grows {g:.1} times from the smallest block to the largest; {then}"
        ));
    }
    out
}

//! A result in a few lines of text: what was cut, what was not, and why.
use crate::claims::{self, checked, compared, error, other_inputs, speedup};
use crate::gather::Gathered;
use crate::kept::kept;
use crate::words::{bound, lines, number};
use kerf_tune::result::{SearchVerdict, TuneResult};
use std::fmt::Write;

/// What became of a group.
fn line(g: &Gathered, i: usize) -> String {
    let group = &g.result.groups[i];
    let own = group.group.formats[0];
    let what = match group.format == own {
        true => format!("kept {own}"),
        false => format!("{own} -> {}", group.format),
    };
    let place = lines(&group.group.lines);
    let comma = if place.is_empty() { "" } else { ", " };
    let why = kept(g, i);
    let sep = if why.is_empty() { "" } else { "; " };
    format!("  {place}{comma}{}: {what}{sep}{why}", group.group.name)
}

/// What the search came to, in a few lines.
fn headline(o: &mut String, r: &TuneResult) {
    let name = r.workload.file_name().unwrap_or_default().to_string_lossy();
    let limit = format!(
        "{} at most {}",
        r.criteria.metric,
        bound(r.criteria.tolerance)
    );
    let _ = match r.verdict {
        SearchVerdict::Tuned => writeln!(
            o,
            "{name}: {}, error {} ({limit})",
            speedup(&r.speedup),
            error(r.error, &r.outputs)
        ),
        SearchVerdict::Raised => writeln!(
            o,
            "{name}: raised: the program itself has an error of {}, the plan {}, at {} ({limit})",
            error(r.floor.error, &r.floor.outputs),
            error(r.error, &r.outputs),
            speedup(&r.speedup)
        ),
        SearchVerdict::Unchanged => writeln!(
            o,
            "{name}: nothing faster is within the tolerance ({limit})"
        ),
        SearchVerdict::Unmet => writeln!(
            o,
            "{name}: the program itself is not within the tolerance: error {} ({limit})",
            error(r.floor.error, &r.floor.outputs)
        ),
    };
    if r.verdict == SearchVerdict::Unmet
        && let Some(why) = claims::beyond_raising(r)
    {
        let _ = writeln!(o, "{why}");
    }
    if let (SearchVerdict::Raised, Some(n)) = (r.verdict, claims::raised_operations(r)) {
        let _ = writeln!(o, "{n}");
    }
}

/// The explanation.
pub fn explain(g: &Gathered) -> String {
    let r = &g.result;
    let mut o = String::new();
    headline(&mut o, r);
    if let Some(c) = compared(&r.outputs) {
        let _ = writeln!(o, "on the tuning inputs {c}");
    }
    if let Some(other) = other_inputs(r) {
        let _ = writeln!(o, "{}", other.sentence());
    }
    if let Some(c) = claims::losses(r) {
        let _ = writeln!(o, "{c}");
    }
    let all = 0..r.groups.len();
    let (kept, changed): (Vec<usize>, Vec<usize>) =
        all.partition(|i| r.groups[*i].format == r.groups[*i].group.formats[0]);
    let (raised, cut): (Vec<usize>, Vec<usize>) = changed.into_iter().partition(|i| {
        let g = &r.groups[*i];
        let level = r.assignment.get(*i);
        level.is_some_and(|l| g.group.raises(*l))
    });
    let parts = [("\nraised:", raised), ("\ncut:", cut), ("\nkept:", kept)];
    for (title, some) in parts {
        if !some.is_empty() {
            let _ = writeln!(o, "{title}");
        }
        for i in some {
            let _ = writeln!(o, "{}", line(g, i));
        }
    }
    let changed = [
        ("rewritten", claims::rewritten(r)),
        ("math calls by made functions", claims::made(r)),
    ];
    for (title, all) in changed.into_iter().filter(|c| !c.1.is_empty()) {
        let _ = writeln!(o, "\n{title}:");
        for e in all {
            let _ = writeln!(o, "  {e}");
        }
    }
    let fixed = r.sites.iter().filter(|s| s.fixed.is_some()).count();
    if fixed > 0 || !r.fixed_storage.is_empty() {
        let _ = writeln!(o, "\ncannot change:");
    }
    let mut said: Vec<(&str, usize)> = Vec::new();
    for why in r.sites.iter().filter_map(|s| s.fixed.as_deref()) {
        match said.iter_mut().find(|s| s.0 == why) {
            Some(s) => s.1 += 1,
            None => said.push((why, 1)),
        }
    }
    for (why, n) in said {
        let s = if n == 1 { "" } else { "s" };
        let _ = writeln!(o, "  {n} operation{s}: {why}");
    }
    for f in &r.fixed_storage {
        let _ = writeln!(o, "  {}: {}", f.name, f.why);
    }
    let beyond = r.front.iter().filter(|p| p.error > r.criteria.tolerance);
    let best = r.speedup.value;
    // Beyond a tolerance that has to be raised for lies the program itself.
    let more = r.verdict != SearchVerdict::Raised;
    if let Some(p) = beyond
        .filter(|p| more && 1.0 / p.time > 1.05 * best)
        .min_by(|a, b| a.error.total_cmp(&b.error))
    {
        let _ = writeln!(
            o,
            "\nmore: with a tolerance of {} it would be {:.2}x",
            number(Some(p.error)),
            1.0 / p.time
        );
    }
    if let Some(c) = checked(r.checked.as_ref()) {
        let _ = writeln!(o, "\n{c}");
    }
    for w in &r.warnings {
        let _ = writeln!(o, "warning: {w}");
    }
    o
}

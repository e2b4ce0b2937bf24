//! Results for people.
#[cfg(test)]
mod tests;
mod validated;
use crate::output::Style;
use crate::table::Table;
use kerf_num::Metric;
use kerf_pass::MathVariant;
use kerf_report::claims::{self, OtherInputs};
use kerf_tune::criteria::OutputError;
use kerf_tune::result::{GroupResult, KeptReason, SearchVerdict, SiteResult, Speedup, TuneResult};
use kerf_tune::setting::{PARTS, Setting};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
pub use validated::checked;
use validated::validation;

/// Points of the front that are shown.
const POINTS: usize = 8;

/// Buffers and arrays that keep their format, as many as are shown.
const FIXED: usize = 6;

fn number(x: Option<f64>) -> String {
    match x {
        Some(0.0) => "0".into(),
        Some(x) => format!("{x:.3e}"),
        None => "inf".into(),
    }
}

/// An error to four digits, or why there is none.
fn precise(error: Option<f64>, outputs: &[OutputError]) -> String {
    match error {
        Some(_) => number(error),
        None => claims::error(error, outputs),
    }
}

/// What was compared of an output.
fn compared(e: &OutputError) -> String {
    e.counts.map_or_else(String::new, |c| format!(" ({c})"))
}

/// Each group's effect on every output, where it was asked for.
fn effects(r: &TuneResult, style: Style) -> String {
    if r.effort.alone == 0 {
        return String::new();
    }
    let mut t = Table::new(
        0,
        [
            "group",
            "as",
            "output",
            "error",
            "the program's own",
            "an operation alone",
        ],
    );
    for g in &r.groups {
        for a in &g.alone {
            let local = g
                .local
                .iter()
                .find(|l| a.format.to_string() == l.format.to_string());
            let local = local.map_or(String::new(), |l| {
                format!("{}, mean {}", number(Some(l.largest)), number(Some(l.mean)))
            });
            for (x, own) in a.outputs.iter().zip(&r.floor.outputs) {
                t.row([
                    g.group.name.clone(),
                    a.format.to_string(),
                    x.name.clone(),
                    number(x.error),
                    number(own.error),
                    local.clone(),
                ]);
            }
            if let Some(why) = &a.failure {
                let none = String::new;
                t.row([
                    g.group.name.clone(),
                    a.format.to_string(),
                    why.clone(),
                    none(),
                    none(),
                    none(),
                ]);
            }
        }
    }
    format!(
        "\n{}\n{}",
        style.bold("Each group lowered alone"),
        t.render(style)
    )
}

/// Why a group was kept, in few words.
fn why(k: Option<&KeptReason>) -> String {
    let nothing = k.is_some_and(KeptReason::gains_nothing);
    match k {
        None => String::new(),
        Some(KeptReason::Needed { error }) => format!("needed: error {} without", number(*error)),
        Some(KeptReason::Error {
            error: None,
            rejection: Some(why),
        }) => format!("lower: {why}"),
        Some(KeptReason::Error { error: None, .. }) => "lower: not within the tolerance".into(),
        Some(KeptReason::Error { error, .. }) => format!("lower: error {}", number(*error)),
        Some(KeptReason::Slower {
            time,
            chosen,
            measured,
        }) => {
            let how = if *measured { "measured" } else { "predicted" };
            match nothing {
                true => format!("lower: no gain, {how}"),
                false => format!("lower: time {time:.3} instead of {chosen:.3}, {how}"),
            }
        }
        Some(KeptReason::Failed { why }) => {
            format!("lower: {}", why.lines().next().unwrap_or_default())
        }
        Some(KeptReason::Veto { why }) => format!("lower: {why}"),
        Some(KeptReason::Validation) => "lower: fails on other inputs".into(),
        Some(KeptReason::NotTried) => "lower: not tried".into(),
    }
}

/// A speed-up with its interval, where it was measured: 1.00 [0.98, 1.02].
fn measured(s: &Speedup) -> String {
    match claims::interval(s) {
        Some((l, h)) => format!("{:.2} [{l:.2}, {h:.2}]", s.value),
        None => claims::speedup(s),
    }
}

fn lines(all: &[u32]) -> String {
    let few: Vec<String> = all.iter().take(4).map(u32::to_string).collect();
    let more = if all.len() > 4 { ",..." } else { "" };
    few.join(",") + more
}

/// A tolerance as somebody would write it; a computed one to four digits.
fn short(x: f64) -> String {
    let whole = format!("{x:e}");
    match whole.len() <= 8 {
        true => whole,
        false => format!("{x:.3e}"),
    }
}

/// What is asked of the outputs, in words.
fn bound(r: &TuneResult) -> String {
    let c = &r.criteria;
    let first = c.accept.outputs.values().next();
    let metric = first.map_or(c.metric, |c| c.metric);
    let mut t = match (metric, first) {
        (Metric::Psnr, Some(f)) => format!("psnr at least {:.1} dB", f.tolerance),
        (Metric::Ssim, Some(f)) => format!("ssim at least {}", f.tolerance),
        _ => format!("{metric} at most {}", short(c.tolerance)),
    };
    if let Some((part, error)) = r.cheapest.as_ref().and_then(|c| Some((c.ratio?, c.error?))) {
        let _ = write!(
            t,
            " ({part} of the way to {error:.3e}, with every math call approximate)"
        );
    }
    t
}

/// How many warps run the second version, if only some do.
fn part(r: &TuneResult) -> Option<Setting> {
    let warps = |g: &&GroupResult| matches!(g.format, Setting::Warps(n) if n > 0 && n < PARTS);
    r.groups.iter().find(warps).map(|g| g.format)
}

/// Which calls are approximate, by line and operation.
fn approximate(o: &mut String, r: &TuneResult) {
    let list = |of: fn(&SiteResult) -> Option<MathVariant>| {
        let mut all: Vec<String> = Vec::new();
        for s in &r.sites {
            if let Some(v) = of(s).filter(|v| *v != MathVariant::Accurate) {
                let line = s.line.map_or_else(String::new, |l| format!(" line {l}"));
                let text = format!("{}{line} {v}", s.op);
                if !all.contains(&text) {
                    all.push(text);
                }
            }
        }
        all
    };
    let every = list(|s| s.variant);
    if !every.is_empty() {
        let _ = writeln!(o, "  approximate: {}", every.join(", "));
    }
    let some = list(|s| s.second);
    if let (false, Some(p)) = (some.is_empty(), part(r)) {
        let _ = writeln!(o, "  approximate in {p} of the warps: {}", some.join(", "));
    }
}

/// Buffers that the plan holds in other formats, a line for each format.
fn held(o: &mut String, r: &TuneResult) {
    let mut all: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for g in r.groups.iter().filter(|g| !g.group.holds.is_empty()) {
        let name = g.group.name.strip_prefix("buffer ");
        if let Some(name) = name.filter(|_| g.format != g.group.formats[0]) {
            all.entry(g.format.to_string()).or_default().push(name);
        }
    }
    for (format, names) in all {
        let s = if names.len() > 1 { "s" } else { "" };
        let _ = writeln!(
            o,
            "  the host gives and takes buffer{s} {} as {format}",
            names.join(", ")
        );
    }
}

/// Energy, measured and estimated.
fn energy(o: &mut String, r: &TuneResult) {
    let Some(e) = &r.energy else { return };
    if let (Some(p), Some(own)) = (&e.plan, &e.program) {
        let _ = writeln!(
            o,
            "  energy measured: {:.3e} J a run at {:.0} W; the program itself {:.3e} J at {:.0} W",
            p.per_run_j, p.mean_w, own.per_run_j, own.mean_w
        );
    }
    if let Some(part) = e.estimated {
        let _ = writeln!(
            o,
            "  energy of the operations{} estimated: {part:.3} of the program's, by {}",
            // Conversions cost more than the narrower operations save; bytes, which they halve, are not in it.
            if part > 1.0 {
                " alone, without memory,"
            } else {
                ""
            },
            e.by
        );
    }
}

/// What the mean is, and what the worst element pays for it.
fn worst(o: &mut String, r: &TuneResult) {
    let mean = r
        .criteria
        .accept
        .outputs
        .values()
        .any(|c| c.metric == Metric::MeanRel);
    for e in r.outputs.iter().filter(|_| mean) {
        let (Some(m), Some(w)) = (e.mean_rel, &e.worst) else {
            continue;
        };
        let _ = writeln!(
            o,
            "  output {}: quality {:.9} (mean relative error {m:.3e}); its worst element pays {:.3e} ([{}]: got {:e} for {:e})",
            e.name,
            1.0 - m,
            w.max_rel,
            w.index,
            w.got,
            w.reference
        );
    }
}

/// Whether launch shapes are all that was tuned.
fn shapes_alone(r: &TuneResult) -> bool {
    let shape = |g: &GroupResult| {
        let name = &g.group.name;
        name.starts_with("launch: ") || name == "block size"
    };
    !r.groups.is_empty() && r.groups.iter().all(shape)
}

/// That the tolerance cannot be met, and what was achieved.
fn unmet(o: &mut String, r: &TuneResult, style: Style) {
    let _ = writeln!(
        o,
        "  {}: the error of the program itself is {}, so no plan can be within {:e}",
        style.bad("the tolerance cannot be met"),
        claims::error(r.floor.error, &r.floor.outputs),
        r.criteria.tolerance
    );
    if let Some(why) = claims::beyond_raising(r) {
        let _ = writeln!(o, "  {why}");
    }
    for e in &r.floor.outputs {
        let error = claims::error(e.error, std::slice::from_ref(e));
        let _ = writeln!(
            o,
            "  best achieved: output {} {error}{}",
            e.name,
            compared(e)
        );
    }
}

/// That nothing faster was found.
fn unchanged(o: &mut String, r: &TuneResult, style: Style) {
    let what = match &r.tie {
        Some(t) => format!("no faster version: {}", measured(&t.speedup)),
        None if shapes_alone(r) => "no faster shape was found".into(),
        None => "nothing faster is within the tolerance".into(),
    };
    let _ = writeln!(o, "  {}: {what}", style.bold("unchanged"));
}

/// That the tolerance is met by wider formats, by which, and at what cost.
fn raised(o: &mut String, r: &TuneResult, style: Style) {
    let operations = claims::raised_operations(r).unwrap_or_default();
    let _ = writeln!(
        o,
        "  {}: {operations} meet the tolerance, which the program itself misses",
        style.good("raised")
    );
    for e in claims::raised(r) {
        let _ = writeln!(o, "  raised: {e}");
    }
    let s = &r.speedup;
    let _ = writeln!(
        o,
        "  {} {:.2}x{} the program's speed, by {}",
        s.recorded_kind().unwrap_or(claims::NOT_RECORDED),
        s.value,
        claims::interval(s).map_or_else(String::new, |(l, h)| format!(" [{l:.2}, {h:.2}]")),
        s.by
    );
    held(o, r);
}

/// How much faster the plan is.
fn tuned(o: &mut String, r: &TuneResult, style: Style) {
    let s = &r.speedup;
    // A gain that is told apart reads as one.
    let digits = if s.value < 1.01 { 3 } else { 2 };
    let interval = claims::interval(s).map_or_else(String::new, |(l, h)| {
        format!(" [{l:.digits$}, {h:.digits$}]")
    });
    let _ = writeln!(
        o,
        "  {} {}{interval}, by {}",
        s.recorded_kind().unwrap_or(claims::NOT_RECORDED),
        style.good(&format!("{:.digits$}x faster", s.value)),
        s.by
    );
    ties(o, r);
    held(o, r);
}

/// The error on the tuning inputs and on others, and what it costs.
fn accuracy(o: &mut String, r: &TuneResult) {
    let _ = writeln!(
        o,
        "  error {} on the tuning inputs; the program itself {}",
        precise(r.error, &r.outputs),
        precise(r.floor.error, &r.floor.outputs)
    );
    if let Some(c) = claims::compared(&r.outputs) {
        let _ = writeln!(o, "  on the tuning inputs {c}");
    }
    worst(o, r);
    approximate(o, r);
    for e in claims::made(r) {
        let _ = writeln!(o, "  made function: {e}");
    }
    for e in claims::rewritten(r) {
        let _ = writeln!(o, "  rewritten: {e}");
    }
    energy(o, r);
    match (&r.validation, r.verdict) {
        (Some(v), _) => {
            let _ = writeln!(o, "  validated: {}", validation(v));
        }
        (None, SearchVerdict::Tuned | SearchVerdict::Raised) => {
            let _ = writeln!(o, "  validated: {}", OtherInputs::NotTried(None).sentence());
        }
        (None, _) => {}
    }
    for d in &r.demoted {
        let _ = writeln!(
            o,
            "  demoted: time {:.3}, error {}: passed on {} of {} inputs, worst {}{}",
            d.point.time,
            number(Some(d.point.error)),
            d.validation.passed,
            d.validation.counted(),
            claims::worst(&d.validation),
            match d.alike {
                0 => String::new(),
                n => format!(" (and {n} with the same outputs)"),
            }
        );
    }
}

/// What each group became, and what keeps its format.
fn groups(o: &mut String, r: &TuneResult, style: Style) {
    let mut t = Table::new(
        5,
        ["group", "from", "to", "lines", "why not lower", "sites"],
    );
    for g in &r.groups {
        t.row([
            g.group.name.clone(),
            g.group.formats[0].to_string(),
            g.format.to_string(),
            lines(&g.group.lines),
            why(g.kept.as_ref()),
            g.group.operations().to_string(),
        ]);
    }
    let _ = write!(o, "\n{}", t.render(style));
    if !r.formats.is_empty() {
        let fixed = r.sites.iter().filter(|s| s.group.is_none()).count();
        if fixed > 0 {
            let _ = writeln!(
                o,
                "  {fixed} more operations keep their format (result.json says why)"
            );
        }
    }
    for f in r.fixed_storage.iter().take(FIXED) {
        let _ = writeln!(o, "  {} keeps its format: {}", f.name, f.why);
    }
    if r.fixed_storage.len() > FIXED {
        let more = r.fixed_storage.len() - FIXED;
        let _ = writeln!(o, "  {more} more buffers and arrays keep theirs");
    }
}

/// Plans that none is better than in both time and error.
fn front(o: &mut String, r: &TuneResult, style: Style) {
    let mut t = Table::new(0, ["time", "speed-up", "error", "within"]);
    for p in r.front.iter().take(POINTS) {
        t.row([
            format!("{:.3}", p.time),
            format!("{:.2}", 1.0 / p.time),
            number(Some(p.error)),
            if p.error <= r.criteria.tolerance {
                "yes"
            } else {
                "no"
            }
            .into(),
        ]);
    }
    let more = r.front.len().saturating_sub(POINTS);
    let title = match more {
        0 => "Time against error: plans that none is better than in both".to_owned(),
        n => format!(
            "Time against error: plans that none is better than in both ({n} more in front.csv)"
        ),
    };
    let _ = write!(o, "\n{}\n{}", style.bold(&title), t.render(style));
}

/// Evaluations, and the time that went into them.
fn effort(o: &mut String, r: &TuneResult) {
    let e = &r.effort;
    let again = match e.finals {
        0 => String::new(),
        n => format!(", {n} to measure again"),
    };
    let _ = writeln!(
        o,
        "\n{} evaluations to search ({}){}{}{}, {} to explain, {} to validate{again}; {:.1} s in all",
        e.search,
        r.ended.map_or("not searched", |e| e.words()),
        match e.raising {
            0 => String::new(),
            n => format!(", {n} of wider formats"),
        },
        match e.alone {
            0 => String::new(),
            n => format!(", {n} of single groups"),
        },
        match e.layouts {
            0 => String::new(),
            n => format!(", {n} of layouts"),
        },
        e.probes,
        e.validation,
        e.wall_s
    );
    let p = &e.phases;
    let _ = writeln!(
        o,
        "preparing {:.1} s, models {:.1}, waiting for the check {:.1}, the program itself {:.1}, search {:.1}, choice {:.1} (validation {:.1})",
        p.prepare_s, p.models_s, p.check_s, p.program_s, p.search_s, p.choice_s, p.validation_s
    );
    let s = &e.spent;
    let spent = format!(
        "{:.1} s of evaluations: rewrite {:.2}, codegen {:.2}, load {:.2}, run {:.2}, reference {:.2}, compare {:.2}",
        e.evaluation_s,
        s.rewrite_s,
        s.codegen_s + s.baseline_s,
        s.load_s,
        s.run_s,
        s.reference_s,
        s.compare_s
    );
    if e.evaluation_s > 0.0 {
        let _ = writeln!(o, "{spent}");
    }
}

/// The result of `kerf tune`.
pub fn human(r: &TuneResult, name: &str, out: &Path, style: Style) -> String {
    let mut o = String::new();
    let _ = writeln!(o, "{}: {}", style.bold(name), bound(r));
    match r.verdict {
        SearchVerdict::Unmet => {
            unmet(&mut o, r, style);
            return o;
        }
        SearchVerdict::Unchanged => unchanged(&mut o, r, style),
        SearchVerdict::Tuned => tuned(&mut o, r, style),
        SearchVerdict::Raised => raised(&mut o, r, style),
    }
    accuracy(&mut o, r);
    groups(&mut o, r, style);
    o.push_str(&effects(r, style));
    front(&mut o, r, style);
    effort(&mut o, r);
    let _ = writeln!(
        o,
        "{}: plan.json, tuned.ptx, tuned.bc, result.json",
        out.display()
    );
    o
}

/// Plans that are as fast, as far as measurement can tell, by what they do otherwise.
fn ties(o: &mut String, r: &TuneResult) {
    for t in &r.ties {
        let other = r.groups.iter().enumerate().filter_map(|(i, g)| {
            let level = *t.point.assignment.get(i)?;
            (level != r.assignment[i])
                .then(|| format!("{} {}", g.group.name, g.group.formats[level as usize]))
        });
        let other: Vec<String> = other.collect();
        let Some(timing) = &t.speedup.timing else {
            continue;
        };
        let _ = writeln!(
            o,
            "  a tie, as far as {} samples tell: {} ({:.2}x)",
            timing.samples,
            other.join("; "),
            t.speedup.value
        );
    }
}

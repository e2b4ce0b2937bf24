//! The study's tables and what they come to.
use kerf_tune::tradeoff::{Tradeoff, time_at};

fn percent(x: Option<f64>) -> String {
    x.map_or_else(|| "-".into(), |x| format!("{:.1}", 100.0 * x))
}

fn number(x: Option<f64>, digits: usize) -> String {
    x.map_or_else(|| "-".into(), |x| format!("{x:.digits$}"))
}

/// Headings of the table.
pub const HEAD: [&str; 15] = [
    "workload",
    "ms",
    "speed-up",
    "two versions",
    "mean error",
    "worst error",
    "R2 time",
    "R2 error",
    "bend error",
    "smp",
    "heu",
    "omg",
    "smp runs",
    "heu runs",
    "omg runs",
];

/// A row of the table; speed-ups of the searches are over the program as it is.
pub fn row(t: &Tradeoff) -> [String; 15] {
    let s = &t.swept;
    let own = s.own.as_ref().map(|t| t.median_s);
    let over = |m: Option<f64>| Some(own? / m?);
    let first = s.degrees.first().and_then(|d| d.times.as_ref());
    let found = |name: &str| t.searches.iter().find(|x| x.strategy == name);
    let speed = |name: &str| match found(name) {
        Some(x) => match x.time {
            Some(time) => format!("{:.3} at {:.3}", 1.0 / time, x.lambda),
            None => format!("at {:.3}", x.lambda),
        },
        None => "-".into(),
    };
    let runs = |name: &str| found(name).map_or_else(|| "-".into(), |x| x.runs.to_string());
    [
        t.name.clone(),
        number(own.map(|s| 1e3 * s), 3),
        number(over(s.cheap.as_ref().map(|t| t.median_s)), 3),
        number(over(first.map(|t| t.median_s)), 3),
        format!("{:.2e}", s.cheap_error.mean_rel),
        format!("{:.2e}", s.cheap_error.max_rel),
        number(t.time_fit.map(|f| f.r2), 3),
        number(t.error_fit.map(|f| f.r2), 3),
        percent(t.error_fit.map(|f| f.bend)),
        speed("smp"),
        speed("heu"),
        speed("omg"),
        runs("smp"),
        runs("heu"),
        runs("omg"),
    ]
}

/// Every point, as CSV.
pub fn curves(all: &[Tradeoff]) -> String {
    let mut out =
        String::from("workload,lambda,seconds,time_ratio,mean_rel,max_rel,not_finite,integers\n");
    for t in all {
        for (i, d) in t.swept.degrees.iter().enumerate() {
            let seconds = d
                .times
                .as_ref()
                .map_or_else(String::new, |t| format!("{:e}", t.median_s));
            let ratio = time_at(&t.swept, i).map_or_else(String::new, |r| format!("{r}"));
            out += &format!(
                "{},{},{seconds},{ratio},{:e},{:e},{},{}\n",
                t.name,
                d.lambda,
                d.error.mean_rel,
                d.error.max_rel,
                d.error.not_finite,
                d.error.integers
            );
        }
    }
    out
}

/// The table as CSV.
pub fn csv_of(all: &[Tradeoff]) -> String {
    let mut out = HEAD.map(|h| h.replace(' ', "_")).join(",") + "\n";
    for t in all {
        out += &(row(t).join(",") + "\n");
    }
    out
}

/// Energy of a run and mean power, at each degree where they were measured.
pub fn energy(all: &[Tradeoff]) -> String {
    let mut out = String::from("workload,lambda,joules,watts,window_s,runs\n");
    for t in all {
        for (lambda, e) in &t.swept.energy {
            out += &format!(
                "{},{lambda},{:e},{:.1},{:.2},{}\n",
                t.name, e.per_run_j, e.mean_w, e.window_s, e.runs
            );
        }
    }
    out
}

/// Different outputs among runs at the middle degree.
pub fn repeats(all: &[Tradeoff]) -> String {
    let mut out = String::from("workload,select,runs,different_outputs,mean_rel\n");
    for t in all {
        let hash = Some(("hash", &t.swept.hash));
        let slot = t.swept.slots.as_ref().map(|s| ("slot", s));
        for (name, r) in [hash, slot].into_iter().flatten() {
            let errors: Vec<String> = r.errors.iter().map(|e| format!("{e:e}")).collect();
            out += &format!(
                "{},{name},{},{},{}\n",
                t.name,
                r.runs,
                r.different,
                errors.join(" ")
            );
        }
    }
    out
}

fn geometric(all: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = all.map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// What the table comes to.
pub fn summary(all: &[Tradeoff]) -> String {
    let mut out = String::new();
    let of = |t: &Tradeoff, name: &str| t.searches.iter().find(|s| s.strategy == name).cloned();
    for name in ["smp", "heu", "omg"] {
        let speed = geometric(all.iter().filter_map(|t| Some(1.0 / of(t, name)?.time?)));
        let mut runs: Vec<usize> = all.iter().filter_map(|t| Some(of(t, name)?.runs)).collect();
        runs.sort_unstable();
        let median = runs.get(runs.len() / 2).copied().unwrap_or(0);
        out += &format!(
            "{name}: speed-up {} (geometric mean), median of {median} runs\n",
            number(speed, 3)
        );
    }
    let near = |t: &&Tradeoff| {
        let times = (
            of(t, "heu").and_then(|s| s.time),
            of(t, "omg").and_then(|s| s.time),
        );
        matches!(times, (Some(h), Some(o)) if h <= 1.01 * o)
    };
    let timed = all.iter().filter(|t| t.swept.own.is_some()).count();
    if timed > 0 {
        let n = all.iter().filter(near).count();
        out += &format!("heu within 1 % of omg: {n} of {timed}\n");
    }
    let unsteady: Vec<&str> = all
        .iter()
        .filter(|t| !t.swept.steady)
        .map(|t| t.name.as_str())
        .collect();
    if !unsteady.is_empty() {
        out += &format!(
            "times not to be trusted, the program's own moved: {}\n",
            unsteady.join(", ")
        );
    }
    let straight = |t: &&Tradeoff| t.error_fit.is_some_and(|f| f.r2 >= 0.95);
    out += &format!(
        "errors on a line (R2 of 0.95 or more): {} of {}\n",
        all.iter().filter(straight).count(),
        all.len()
    );
    let same = all.iter().filter(|t| t.swept.hash.different == 1).count();
    out += &format!(
        "same bits on repetition, by hash: {same} of {}\n",
        all.len()
    );
    let slots = || all.iter().filter_map(|t| t.swept.slots.as_ref());
    if slots().next().is_some() {
        let same = slots().filter(|s| s.different == 1).count();
        out += &format!(
            "same bits on repetition, by slot: {same} of {}\n",
            slots().count()
        );
    }
    out
}

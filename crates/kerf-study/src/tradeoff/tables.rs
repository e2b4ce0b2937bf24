//! The study's tables and what they come to.
use kerf_run::job::{ComparedCalls, TimedVersion, Times};
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

/// Call by call against whole-kernel fast-math.
pub fn sites(all: &[Tradeoff]) -> String {
    let mut out = String::from(
        "workload,reference,own_ms,fast_ms,chosen_ms,fast_over_chosen,low,high,own_worst,fast_worst,chosen_worst,fast_mean,chosen_mean,tried,narrower_ms,fast_over_narrower,narrower_low,narrower_high,narrower_worst,narrower_mean,what,narrower\n",
    );
    for t in all {
        let Some(c) = &t.swept.chosen else { continue };
        let ms = |x: &TimedVersion| 1e3 * x.times.median_s;
        let (gain, low, high) = gain(&c.fast, &c.chosen);
        let narrower = c.narrower.as_ref().map_or_else(
            || [",,,,,".to_owned(), String::new()],
            |(n, what)| {
                let (g, l, h) = self::gain(&c.fast, n);
                let (worst, mean) = (n.error.max_rel, n.error.mean_rel);
                let numbers = format!("{:.5},{g:.4},{l:.4},{h:.4},{worst:.3e},{mean:.3e}", ms(n));
                [numbers, what.clone()]
            },
        );
        out += &format!(
            "{},{},{:.5},{:.5},{:.5},{gain:.4},{low:.4},{high:.4},{:.3e},{:.3e},{:.3e},{:.3e},{:.3e},{},{},\"{}\",\"{}\"\n",
            t.name,
            if c.exact { "double words" } else { "own" },
            ms(&c.own),
            ms(&c.fast),
            ms(&c.chosen),
            c.own.error.max_rel,
            c.fast.error.max_rel,
            c.chosen.error.max_rel,
            c.fast.error.mean_rel,
            c.chosen.error.mean_rel,
            c.tried,
            narrower[0],
            c.what,
            narrower[1]
        );
    }
    out
}

/// How many times as fast the choice is as fast-math: the median over rounds in turn, and an interval of
/// about 95 % by order statistics.
fn gain(fast: &TimedVersion, other: &TimedVersion) -> (f64, f64, f64) {
    let pairs = fast.times.samples_s.iter().zip(&other.times.samples_s);
    let ratios = Times::new(pairs.map(|(f, c)| f / c).collect());
    ratios.map_or((f64::NAN, f64::NAN, f64::NAN), |r| {
        (r.median_s, r.low_s, r.high_s)
    })
}

/// Digests of the outputs, by which two devices are compared.
pub fn digests(all: &[Tradeoff]) -> String {
    let mut out = String::from("workload,version,output,digest\n");
    for t in all {
        let both = [
            ("own", &t.swept.own_digests),
            ("cheapest", &t.swept.cheap_digests),
        ];
        for (version, digests) in both {
            for (i, d) in digests.iter().enumerate() {
                out += &format!("{},{version},{i},{d}\n", t.name);
            }
        }
    }
    out
}

fn geometric(all: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = all.map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// A curve with this much of its variance on a line is called straight.
const STRAIGHT: f64 = 0.95;

/// Times closer than this part of them count as equal.
const APART: f64 = 0.01;

/// What the table comes to.
pub fn summary(all: &[Tradeoff]) -> String {
    let mut out = summary_of_searches(all);
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
    out + &summary_of_calls(all) + &summary_of_fits(all) + &summary_of_repeats(all)
}

fn summary_of_searches(all: &[Tradeoff]) -> String {
    let mut out = String::new();
    let found = |t: &Tradeoff, name: &str| t.searches.iter().find(|s| s.strategy == name).cloned();
    for name in ["smp", "heu", "omg"] {
        let times = all.iter().filter_map(|t| found(t, name)?.time);
        let speed = geometric(times.map(|time| 1.0 / time));
        let mut runs: Vec<usize> = all
            .iter()
            .filter_map(|t| Some(found(t, name)?.runs))
            .collect();
        runs.sort_unstable();
        let median = runs.get(runs.len() / 2).copied().unwrap_or(0);
        out += &format!(
            "{name}: speed-up {} (geometric mean), median of {median} runs\n",
            number(speed, 3)
        );
    }
    let near = |t: &&Tradeoff| {
        let time = |name| found(t, name).and_then(|s| s.time);
        matches!((time("heu"), time("omg")), (Some(h), Some(o)) if h <= 1.01 * o)
    };
    let timed = all.iter().filter(|t| t.swept.own.is_some()).count();
    if timed > 0 {
        let n = all.iter().filter(near).count();
        out += &format!("heu within 1 % of omg: {n} of {timed}\n");
    }
    out
}

/// Choices against whole-kernel fast-math, where they were compared.
fn summary_of_calls(all: &[Tradeoff]) -> String {
    let chosen: Vec<&ComparedCalls> = all.iter().filter_map(|t| t.swept.chosen.as_ref()).collect();
    if chosen.is_empty() {
        return String::new();
    }
    let count = |what: &str, gains: Vec<(f64, f64, f64)>| {
        let faster = |g: &&(f64, f64, f64)| g.0 > 1.0 + APART && g.1 > 1.0;
        let slower = |g: &&(f64, f64, f64)| g.0 < 1.0 - APART && g.2 < 1.0;
        let faster = gains.iter().filter(faster).count();
        let slower = gains.iter().filter(slower).count();
        format!(
            "{what} against whole-kernel fast-math, the worst element no worse: faster by more than {} % on {faster}, slower on {slower}, as fast on {} of {}\n",
            100.0 * APART,
            gains.len() - faster - slower,
            gains.len()
        )
    };
    let calls = chosen.iter().map(|c| gain(&c.fast, &c.chosen));
    let joint = chosen.iter().map(|c| {
        let n = c.narrower.as_ref().map_or(&c.chosen, |n| &n.0);
        gain(&c.fast, n)
    });
    count("call by call", calls.collect()) + &count("calls, operations and memory", joint.collect())
}

fn summary_of_fits(all: &[Tradeoff]) -> String {
    let mut out = String::new();
    let fitted = all.iter().filter(|t| t.time_fit.is_some()).count();
    if fitted > 0 {
        let straight = |t: &&Tradeoff| t.time_fit.is_some_and(|f| f.r2 >= STRAIGHT);
        out += &format!(
            "times on a line (R2 of {STRAIGHT} or more): {} of {fitted}\n",
            all.iter().filter(straight).count(),
        );
    }
    let straight = |t: &&Tradeoff| t.error_fit.is_some_and(|f| f.r2 >= STRAIGHT);
    let curved = all.iter().filter(|t| t.error_fit.is_some()).count();
    out += &format!(
        "errors on a line (R2 of {STRAIGHT} or more): {} of {curved} that have any\n",
        all.iter().filter(straight).count()
    );
    out
}

/// Whether runs at the middle degree gave the same bits.
fn summary_of_repeats(all: &[Tradeoff]) -> String {
    let same = all.iter().filter(|t| t.swept.hash.different == 1).count();
    let mut out = format!(
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

//! `kerf tune --app`: a whole application.
use super::args::{AppTime, Args, Cost, Switch, What};
use super::layouts;
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::progress;
use crate::{DeviceArg, device, toolchain};
use kerf_ir::kernels::shortened;
use kerf_num::Metric;
use kerf_search::StrategyName;
use kerf_tune::app::values::{ValueSource, format_named};
use kerf_tune::app::{self, AppDevice, AppEvent, AppRequest, AppResult, TimeBy};
use kerf_tune::approx::Approx;
use regex_lite::Regex;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn pattern(option: &str, text: &str) -> Result<Regex, Failure> {
    Regex::new(text).map_err(|e| {
        Failure::new(format!("{option}: {e}"))
            .help(r"e.g. 'error +(\S+)': what is in brackets is taken as numbers")
    })
}

fn source(a: &Args) -> Result<ValueSource, Failure> {
    if let Some(p) = &a.stdout_pattern {
        return Ok(ValueSource::Stdout(pattern("--stdout-pattern", p)?));
    }
    let Some(text) = &a.output_file else {
        return Ok(ValueSource::Copies);
    };
    Ok(match text.rsplit_once(':') {
        None => ValueSource::File(PathBuf::from(text), None),
        Some((path, kind)) => match format_named(kind) {
            Some(f) => ValueSource::File(PathBuf::from(path), Some(f)),
            None => {
                return Err(
                    Failure::new(format!("--output-file: there is no type `{kind}`"))
                        .help("f64, f32, f16 or bf16, or no colon for text and .npy"),
                );
            }
        },
    })
}

/// The first word of a command, for a folder's name.
fn stem(command: &str) -> String {
    let first = command.split_whitespace().next().unwrap_or("app");
    let name = first.rsplit('/').next().unwrap_or(first);
    name.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect()
}

/// A metric, with what it means where it is the default of applications.
fn in_words(metric: Metric) -> String {
    match metric {
        Metric::RelLinf => "rel_linf: the largest error over the largest value of its array".into(),
        other => other.to_string(),
    }
}

/// How candidates were evaluated, and what the program itself says of the plan.
fn evaluated(r: &AppResult) -> String {
    let mut t = String::new();
    if let Some(replay) = &r.replay {
        let how = match (&replay.used, &replay.why_not) {
            (true, _) => "replays of one recorded run".into(),
            (false, Some(why)) => format!("runs of the program ({why})"),
            (false, None) => "runs of the program".into(),
        };
        let rate = r.evaluations_per_minute;
        let rate = rate.map_or_else(String::new, |n| format!("; {n:.0} evaluations a minute"));
        t += &format!("evaluated by {how}{rate}\n");
    }
    let Some(c) = &r.confirmed else {
        return t;
    };
    if let Some(error) = c.error {
        let runs = c.runs;
        t += &format!("confirmed by {runs} runs of the program, error at most {error:.3e}\n");
    }
    for v in &c.validated {
        if let Some(error) = v.error {
            let (command, numbers) = (&v.command, v.numbers);
            t += &format!("validated with {command}: error {error:.3e} ({numbers} numbers)\n");
        }
    }
    if let (n @ 1.., Some(first)) = (c.rejected.len(), c.rejected.first()) {
        t += &format!(
            "faster plans that the program did not confirm: {n}; the first: {}\n",
            first.why
        );
    }
    t
}

/// What was asked for and is not searched: kernels with the same reason together.
fn not_searched(r: &AppResult, style: Style) -> String {
    let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for l in &r.left_out {
        let kernel = shortened(&l.kernel);
        match reasons.iter_mut().find(|o| (o.0, o.1) == (&l.what, &l.why)) {
            Some((_, _, kernels)) => kernels.push(kernel),
            None => reasons.push((&l.what, &l.why, vec![kernel])),
        }
    }
    let line = |(what, why, kernels): &(&str, &str, Vec<String>)| {
        let text = format!("  not searched: {what} of {}: {why}", kernels.join(", "));
        style.dim(&text) + "\n"
    };
    reasons.iter().map(line).collect()
}

fn human(r: &AppResult, out: &std::path::Path, style: Style) -> String {
    let mut t = String::new();
    let head = match r.verdict.as_str() {
        "tuned" => style.good(&format!("{:.2} times as fast", r.speedup)),
        _ if r.evaluations + r.layouts == 0 => {
            style.bad("no plan was evaluated in the time that the search had")
        }
        _ => style.bad("nothing faster is within the tolerance"),
    };
    t += &format!("{}: {head} ({})\n", style.bold(&r.command), r.time_by);
    t += &format!(
        "error {:.3e} ({}; tolerance {:e}) against {}\n",
        r.error,
        in_words(r.metric),
        r.tolerance,
        r.reference
    );
    let counts = r
        .counts
        .map_or_else(|| format!("{} numbers", r.numbers), |c| c.to_string());
    t += &format!("compared: {} ({counts})\n", r.compared);
    let layouts = match r.layouts {
        0 => String::new(),
        n => format!(", {n} of layouts"),
    };
    t += &format!(
        "{} evaluations by {}{layouts}, {} failed; {}\n",
        r.evaluations,
        r.strategy,
        r.failed,
        r.ended.words()
    );
    t += &evaluated(r);
    t += &format!(
        "\nkernels, by {} (--kernels chooses others):\n",
        r.kernels_by
    );
    for k in &r.kernels {
        let mark = match (k.tuned, r.verdict.as_str()) {
            (true, "tuned") => "tuned",
            (true, _) => "searched",
            (false, _) => "as it is",
        };
        t += &format!(
            "  {:5.1} %  {:6} launches  {}  {}\n",
            100.0 * k.part,
            k.launches,
            shortened(&k.name),
            style.dim(mark)
        );
    }
    let all = r.groups.len();
    t += &format!(
        "\nsearched: {}; {}\n",
        r.what.join(", "),
        match r.changed.len() {
            0 => format!("none of {all} groups changed"),
            n => format!("{n} of {all} groups changed (result.json has all):"),
        }
    );
    for (name, level) in &r.changed {
        t += &format!("  {level:4}  {name}\n");
    }
    t += &not_searched(r, style);
    if let Some(l) = &r.local {
        t += "\nkernels tuned alone (error of the whole application):\n";
        for k in &l.kernels {
            t += &format!(
                "  {:.3} times as fast  error {:.3e}  {} evaluations  {}\n",
                k.speedup,
                k.error,
                k.evaluations,
                shortened(&k.name)
            );
        }
        t += &match (l.error, l.speedup) {
            (Some(e), Some(s)) => format!(
                "  together {s:.3} times as fast, error {e:.3e}: {}; tuned as a whole {:.3}\n",
                match l.within {
                    true => style.good("within the tolerance"),
                    false => style.bad("beyond the tolerance"),
                },
                r.speedup
            ),
            _ => "  together the application fails\n".to_owned(),
        };
    }
    if r.verdict == "tuned" {
        t += &format!(
            "\n{} has plan.json: KERF_PLAN={}/plan.json {}\n",
            out.display(),
            out.display(),
            r.command
        );
    }
    t
}

/// Refuses what applications do not have yet.
fn check(a: &Args, metric: Metric) -> Result<(), Failure> {
    if metric.more_is_better() {
        return Err(
            Failure::new(format!("{metric} is not for applications yet")).help(
                "use a metric of which less is better, e.g. rel_linf, max_rel, max_abs or rel_l2",
            ),
        );
    }
    let other = [
        ("--qos-ratio", a.qos_ratio.is_some()),
        ("--sensitivity", a.sensitivity),
        ("--size", !a.sizes.is_empty()),
    ];
    match other.into_iter().find(|o| o.1) {
        Some((option, _)) => Err(
            Failure::new(format!("{option} is not for applications yet"))
                .help("kerf record makes workloads of its kernels, which have it"),
        ),
        None => Ok(()),
    }
}

/// What is asked of the tuner.
fn request(
    a: Args,
    command: String,
    approx: Option<Approx>,
    (tolerance, metric): (f64, Metric),
) -> Result<AppRequest, Failure> {
    let cuda = a.device == DeviceArg::Cuda;
    let strategy = a
        .strategy
        .as_deref()
        .map_or(Ok(StrategyName::Guided), str::parse);
    let strategy = strategy.map_err(|e| super::refused(e.into()))?;
    let time = match (&a.time_pattern, a.time) {
        (Some(p), _) => TimeBy::Pattern(pattern("--time-pattern", p)?),
        (None, Some(AppTime::Kernels)) => TimeBy::Kernels,
        (None, Some(AppTime::Wall)) => TimeBy::Wall,
        (None, None) if cuda => TimeBy::Kernels,
        _ => TimeBy::Predicted,
    };
    let source = source(&a)?;
    let profile = device::load(&a.profile)?;
    let require = a.require.as_deref().map(|r| pattern("--require", r));
    let require = require.transpose()?;
    let assembler = match a.no_assembler || matches!(a.cost, Cost::Static) {
        true => None,
        false => toolchain::assembler(&profile.arch, &toolchain::discover("sm_90")),
    };
    let is_measured = !matches!(time, TimeBy::Predicted);
    let (layout, code) = layouts(&a, is_measured || assembler.is_some())?;
    if a.what.contains(&What::Launch) && !a.by_default && !is_measured {
        return Err(Failure::new(
            "--what launch of an application needs measured times: no model tells what other blocks gain",
        )
        .help("--device cuda or --time kernels measures; or leave launch out"));
    }
    Ok(AppRequest {
        allow: a.allow,
        device: match cuda {
            true => AppDevice::Cuda(a.gpu),
            false => AppDevice::Cpu,
        },
        tolerance,
        metric,
        floor: a.floor,
        allow_nan: a.allow_nan,
        source,
        time,
        repeats: a.repeats.min(5) as usize,
        kernels: a.kernels,
        formats: match a.what.contains(&What::Precision) {
            true => a.formats,
            false => Vec::new(),
        },
        approx,
        layout,
        code,
        algebra: a.what.contains(&What::Algebra),
        launch: a.what.contains(&What::Launch),
        assembler,
        grouping: a.by.into(),
        storage: a.storage == Switch::On,
        strategy,
        budget: a.budget,
        seed: a.seed,
        count: match a.cost {
            Cost::Counts => Some(super::count_launches::by(&profile, cuda.then_some(a.gpu))),
            Cost::Static => None,
        },
        profile,
        out: a
            .out
            .unwrap_or_else(|| PathBuf::from(format!("{}-tuned", stem(&command)))),
        resume: a.resume,
        confirmed: a.yes,
        limit: Duration::from_secs_f64(a.timeout),
        local: a.local,
        require,
        program: super::worker_program()?.path,
        replay: !a.no_replay,
        record_limit: (a.record_limit * (1u64 << 30) as f64) as u64,
        validate_with: a.validate_with,
        most: a.max_time.map(Duration::from_secs_f64),
        command,
    })
}

/// How far the search is.
struct Progress {
    begun: Instant,
    budget: usize,
    tolerance: f64,
    /// Time of the fastest plan within the tolerance.
    best: Option<f64>,
}

impl Progress {
    fn new(budget: usize, tolerance: f64) -> Progress {
        Progress {
            begun: Instant::now(),
            budget,
            tolerance,
            best: None,
        }
    }

    /// The state after so many evaluations.
    fn status(&self, n: usize, text: &str) {
        let budget = self.budget;
        let took = self.begun.elapsed().as_secs_f64();
        let left = took / n.max(1) as f64 * budget.saturating_sub(n) as f64;
        let bar = match progress::live() {
            true => progress::bar(n as f64 / budget as f64) + " ",
            false => String::new(),
        };
        let left = progress::about(left);
        progress::status(&format!("{bar}{n}/{budget}  {text}; at most {left} left"));
    }

    fn show(&mut self, e: &AppEvent) {
        match e {
            AppEvent::Prepared(s, shares, groups) => {
                let some: Vec<String> = shares
                    .iter()
                    .filter(|k| k.tuned)
                    .map(|k| shortened(&k.name))
                    .collect();
                progress::line(&format!(
                    "one run takes {s:.2} s; {groups} groups in {}",
                    some.join(", ")
                ));
            }
            AppEvent::Warning(text) => note(&format!("warning: {text}")),
            AppEvent::Evaluated(n, Ok(error), time) => {
                let t = time.map_or_else(String::new, |t| format!(", time {t:.3}"));
                let time = time.unwrap_or(f64::INFINITY);
                if *error <= self.tolerance && time < self.best.unwrap_or(1.0) {
                    self.best = Some(time);
                }
                let b = self
                    .best
                    .map_or_else(String::new, |b| format!("; best {b:.3}"));
                self.status(*n, &format!("error {error:.3e}{t}{b}"));
            }
            AppEvent::Evaluated(n, Err(why), _) => self.status(*n, &format!("failed: {why}")),
            AppEvent::Replayed(calls, bytes, seconds) => progress::line(&format!(
                "candidates are replayed from the recorded run: {calls} calls, {:.1} MB, {seconds:.3} s each",
                *bytes as f64 / 1e6
            )),
            AppEvent::Rejected(speedup, why) => {
                self.best = None;
                progress::line(&format!(
                    "the program does not confirm a plan that is {speedup:.3} times as fast: {why}"
                ));
            }
            AppEvent::Alone(name) => {
                self.best = None;
                progress::line(&format!("{name} alone:"));
            }
            AppEvent::Shared(name) => progress::line(&format!(
                "{name} has nothing but memory that it shares: not tuned alone"
            )),
            AppEvent::Together => progress::line("plans of the kernels together:"),
        }
    }
}

/// Runs it: 0 with a plan or unchanged, 2 if the application cannot be tuned.
pub fn run(
    a: Args,
    command: String,
    approx: Option<Approx>,
    format: Format,
    style: Style,
) -> Result<i32, Failure> {
    let tolerance = a.tolerance.ok_or_else(|| {
        Failure::new("an application needs a tolerance").help("e.g. --tolerance 1e-6")
    })?;
    let metric = super::metric_of(&a)?.unwrap_or(app::DEFAULT_METRIC);
    let tolerance = tolerance.value;
    check(&a, metric)?;
    let request = request(a, command, approx, (tolerance, metric))?;
    let mut progress = Progress::new(request.budget, tolerance);
    if request.device == AppDevice::Cpu && std::env::var("KERF_DEVICE").is_ok_and(|d| d == "cuda") {
        progress::line(
            "note: KERF_DEVICE is what the application reads by itself; this search runs it on the CPU (--device cuda: on the GPU)",
        );
    }
    let r = app::tune(&request, &mut |e: &AppEvent| progress.show(e));
    progress::clear();
    let r = r.map_err(|e| Failure::new(e.to_string()))?;
    for w in &r.warnings {
        note(&format!("warning: {w}"));
    }
    match format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&r).map_err(|e| Failure::new(e.to_string()))?;
            say(&(text + "\n"))?;
        }
        Format::Human | Format::Csv => say(&human(&r, &request.out, style))?,
    }
    Ok(0)
}

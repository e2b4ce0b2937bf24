//! The natural exponential: the built-in function, double words on top of it, and the Taylor series.
use crate::bench::{StudyBench, buffer, int};
use crate::finding::{Finding, FindingVerdict};
use crate::inputs::InputStream;
use crate::measured::{StudyMetric, StudyRow};
use crate::number::EXPONENTIALS;
use crate::plot::{Panel, Plot, PlotAxis};
use crate::report::{OWN, SURINENI, StudyReport};
use crate::table::{Table, TableCell};
use crate::{Setup, StudyError, bench, bitcode, published, reference};
use kerf_exec::ExecError;

/// Ranges of figures 15 to 18, then those that only table VIII has.
const RANGES: [(&str, (f64, f64)); 5] = [
    ("0.1..1", (0.1, 1.0)),
    ("1..100", (1.0, 100.0)),
    ("0..0.1", (0.0, 0.1)),
    ("0..1", (0.0, 1.0)),
    ("0..100", (0.0, 100.0)),
];

/// Threads and evaluations of each, for a time.
const TIMED: (usize, usize) = (1 << 17, 32);

struct Terms {
    range: &'static str,
    label: &'static str,
    mean: f64,
    deviation: f64,
}

/// Runs the study.
pub fn run(setup: &Setup) -> Result<StudyReport, StudyError> {
    let mut bench = StudyBench::new(bitcode!("exponential"), "exponential", setup)?;
    let n = setup.pick(64, 512, 4096, 16384);
    let mut rows = Vec::new();
    let mut terms = Vec::new();
    for (range, interval) in RANGES {
        (setup.progress)(&format!("{n} values in {range}"));
        let s = InputStream::new(setup.seed, &format!("exponential {range}"));
        let x: Vec<f64> = (0..n as u64)
            .map(|i| s.single_within(i, interval))
            .collect();
        let exact: Vec<_> = x.iter().map(|x| reference::exp(*x)).collect();
        for k in &EXPONENTIALS {
            let input = bench.upload(&k.storage.encode(&x), k.storage.bytes())?;
            let out = bench.room(k.storage, n)?;
            let counts = bench.upload(&vec![0; 4 * n], 4)?;
            let symbol = format!("exponential_{}", k.label);
            let blocks = n.div_ceil(128) as u32;
            let args = [buffer(input), buffer(out), buffer(counts), int(n)];
            bench.launch(&symbol, [blocks, 1], [128, 1], &args)?;
            let mut row = StudyRow::new(range, n, k.label);
            let bytes = bench.read(out)?;
            for (i, exact) in exact.iter().enumerate() {
                row.errors.add(k.storage.decode(&bytes, i).as_ref(), exact);
            }
            if setup.timed() {
                let (threads, rounds) = TIMED;
                let sink = bench.upload(&vec![0; threads * k.storage.word_bytes()], 4)?;
                let symbol = format!("exponential_time_{}", k.label);
                let args = [buffer(input), buffer(sink), int(n), int(rounds)];
                let grid = [threads as u32 / 128, 1];
                let time = bench.measure(None, |b| b.launch(&symbol, grid, [128, 1], &args))?;
                row.time_s = time.map(|t| t / (threads * rounds) as f64);
            }
            row.registers = bench.registers(&symbol);
            if k.label.ends_with("_ts") {
                let c: Vec<f64> = bench
                    .read(counts)?
                    .chunks_exact(4)
                    .map(|b| f64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]])))
                    .collect();
                let mean = c.iter().sum::<f64>() / n as f64;
                let square = c.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
                terms.push(Terms {
                    range,
                    label: k.label,
                    mean,
                    deviation: square.sqrt(),
                });
            }
            rows.push(row);
        }
    }
    let mut report = StudyReport::new("exponential", SURINENI, bench.device(), setup);
    report.tables.push(Table::of_measured(
        "errors",
        "Errors, and time of one evaluation (figures 15 to 18)",
        ("range", "n"),
        StudyMetric::MeanAbs,
        &rows,
    ));
    report.tables.push(terms_table(&terms));
    report.tables.push(instructions(setup)?);
    let panels = RANGES[..2]
        .iter()
        .flat_map(|(range, _)| {
            let some: Vec<&StudyRow> = rows.iter().filter(|r| r.case == *range).collect();
            let along = PlotAxis::Cases(vec![(*range).to_owned()]);
            [StudyMetric::MeanAbs, StudyMetric::Time]
                .into_iter()
                .filter_map(move |m| {
                    let title = format!("{} in {range}", m.name());
                    Panel::of_measured(&title, ("range", along.clone()), m, &some)
                })
                .collect::<Vec<_>>()
        })
        .collect();
    report.plots.push(Plot {
        name: "error".into(),
        title: format!("Exponential function on {}", report.device.name),
        panels,
    });
    report.findings = findings(&rows, &terms);
    report.notes.push(
        "Means are over finite results; not_finite counts the others. Beyond 88.7 the exponential is \
         outside float's range. The series forms powers and factorials apart, as described there."
            .into(),
    );
    report.note_device(setup, &bench.modelled());
    Ok(report)
}

fn terms_table(terms: &[Terms]) -> Table {
    let mut t = Table::new(
        "terms",
        "Terms of the Taylor series (table VIII)",
        &[
            "range",
            "number",
            "mean",
            "deviation",
            "published_mean",
            "published_deviation",
        ],
    );
    for x in terms {
        let theirs = published::TAYLOR_TERMS
            .iter()
            .find(|p| p.0 == x.range && x.label.starts_with(&format!("{}_cmp", p.1)));
        t.rows.push(vec![
            x.range.into(),
            x.label.into(),
            TableCell::Real(x.mean),
            TableCell::Real(x.deviation),
            TableCell::maybe(theirs.map(|p| p.2)),
            TableCell::maybe(theirs.map(|p| p.3)),
        ]);
    }
    t
}

/// Table VII, from PTX: instructions of each kernel as they stand, loops counted once.
fn instructions(setup: &Setup) -> Result<Table, StudyError> {
    let m = bench::module(bitcode!("exponential"), "exponential", setup)?;
    let ptx =
        kerf_ir::finish::ptx(&m, &setup.arch).map_err(|e| ExecError::Compile(e.to_string()))?;
    let kinds = ["add", "mul", "fma", "div", "ex2", "branch"];
    let mut t = Table::new(
        "instructions",
        "Floating-point instructions of each kernel in PTX, each loop's body once (table VII)",
        &["number", "add", "mul", "fma", "div", "ex2", "branch"],
    );
    for k in &EXPONENTIALS {
        let entry = format!(".entry exponential_{}(", k.label);
        let body = ptx.split(&entry).nth(1).unwrap_or_default();
        let body = body.split("\n}").next().unwrap_or_default();
        let mut counts = [0u64; 6];
        for line in body.lines() {
            let mut parts = line.split_whitespace();
            let mut op = parts.next().unwrap_or_default();
            if op.starts_with('@') {
                op = parts.next().unwrap_or_default();
            }
            let float = op.contains("f32") || op.contains("f64");
            let name = op.split('.').next().unwrap_or_default();
            let kind = match name {
                "sub" if float => "add",
                "rcp" if float => "div",
                "bra" => "branch",
                n if float => n,
                _ => continue,
            };
            if let Some(i) = kinds.iter().position(|x| *x == kind) {
                counts[i] += 1;
            }
        }
        let mut row = vec![TableCell::from(k.label)];
        row.extend(counts.map(TableCell::Integer));
        t.rows.push(row);
    }
    Ok(t)
}

/// The built-in function in composite precision, and its word.
const BUILT_IN: [(&str, &str); 2] = [("float2_cmp_bf", "float"), ("double2_cmp_bf", "double")];

/// The series, and the built-in function.
const SERIES: [(&str, &str); 2] = [
    ("float2_cmp_ts", "float2_cmp_bf"),
    ("double2_cmp_ts", "double2_cmp_bf"),
];

fn findings(rows: &[StudyRow], terms: &[Terms]) -> Vec<Finding> {
    let figures = |r: &&StudyRow| r.case == RANGES[0].0 || r.case == RANGES[1].0;
    let rows: Vec<StudyRow> = rows.iter().filter(figures).cloned().collect();
    let mut all = accuracy(&rows);
    all.extend([lost(&rows), terms_as_published(terms)]);
    all.extend(speed(&rows));
    all
}

/// What is claimed of errors.
fn accuracy(rows: &[StudyRow]) -> Vec<Finding> {
    let place = "section 4.4, figures 15 and 16";
    vec![
        Finding::by_ratio(
            "on the built-in function, composite is as accurate as its word (within a factor of 3)",
            place,
            rows,
            StudyMetric::MeanRel,
            &BUILT_IN,
            |r| (1.0 / 3.0..=3.0).contains(&r),
        ),
        Finding::by_ratio(
            "the series is less accurate than the built-in function",
            place,
            rows,
            StudyMetric::MeanRel,
            &SERIES,
            |r| r > 1.0,
        ),
        Finding::by_ratio(
            "the series computed with the proven algorithms is less accurate than the built-in function of its word",
            OWN,
            rows,
            StudyMetric::MeanRel,
            &[("float2_ts", "float"), ("double2_ts", "double")],
            |r| r > 1.0,
        ),
        Finding::by_ratio(
            "an exponential made for double words is more accurate than that of their word, 1e5 times and more",
            OWN,
            rows,
            StudyMetric::MeanRel,
            &[("float2", "float"), ("double2", "double")],
            |r| r < 1e-5,
        ),
        Finding::by_ratio(
            "double and double2 are more accurate than float and float2",
            place,
            rows,
            StudyMetric::MeanRel,
            &[("double", "float"), ("double2_cmp_bf", "float2_cmp_bf")],
            |r| r < 1.0,
        ),
    ]
}

/// Results of large arguments that are not finite.
fn lost(rows: &[StudyRow]) -> Finding {
    let lost = |label: &str| {
        let mut large = rows.iter().filter(|r| r.case == RANGES[1].0);
        let r = large.find(|r| r.label == label);
        r.map_or((0, 0), |r| (r.errors.not_finite, r.size))
    };
    let ((series, n), (plain, _)) = (lost("float2_cmp_ts"), lost("float"));
    Finding::new(
        "in float2 the series fails for large arguments: more results are lost than in float",
        "section 4.4, figure 16",
        FindingVerdict::by_cases(usize::from(series > plain), usize::from(n > 0)),
        format!(
            "in {}, float2_cmp_ts lost {series} of {n} results and float {plain}",
            RANGES[1].0
        ),
    )
}

/// Terms of the series, beside the published ones.
fn terms_as_published(terms: &[Terms]) -> Finding {
    let near = terms.iter().filter_map(|t| {
        let p = published::TAYLOR_TERMS
            .iter()
            .find(|p| p.0 == t.range && t.label.starts_with(&format!("{}_cmp", p.1)))?;
        Some((format!("{} in {}", t.label, t.range), t.mean, p.2))
    });
    let near: Vec<(String, f64, f64)> = near.collect();
    let same = near
        .iter()
        .filter(|x| (x.1 / x.2 - 1.0).abs() < 0.1)
        .count();
    Finding::new(
        "the series takes as many terms as published (within a tenth)",
        "table VIII",
        FindingVerdict::by_cases(same, near.len()),
        near.iter()
            .map(|x| format!("{} {:.1} (published {:.1})", x.0, x.1, x.2))
            .collect::<Vec<_>>()
            .join(", "),
    )
}

/// What is claimed of times.
fn speed(rows: &[StudyRow]) -> Vec<Finding> {
    let place = "section 4.4, figures 17 and 18";
    vec![
        Finding::by_ratio(
            "on the built-in function, composite takes at most twice as long as its word",
            place,
            rows,
            StudyMetric::Time,
            &BUILT_IN,
            |r| r <= 2.0,
        ),
        Finding::by_ratio(
            "the series takes 2 to 15 times as long as the built-in function",
            place,
            rows,
            StudyMetric::Time,
            &SERIES,
            |r| (2.0..=15.0).contains(&r),
        ),
        Finding::by_ratio(
            "double takes about four times as long as float (3 to 5 times)",
            place,
            rows,
            StudyMetric::Time,
            &[("double", "float")],
            |r| (3.0..=5.0).contains(&r),
        ),
    ]
}

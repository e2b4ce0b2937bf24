//! Sums whose exact result is zero, by one thread and by many.
use crate::bench::{StudyBench, buffer, int};
use crate::finding::Finding;
use crate::inputs::InputStream;
use crate::measured::{StudyMetric, StudyRow};
use crate::number::NUMBERS;
use crate::plot::{Panel, Plot, PlotAxis};
use crate::report::{OWN, SURINENI, StudyReport};
use crate::table::Table;
use crate::{Setup, StudyError, bitcode, reference};

/// Pairs of intervals, further apart from one to the next. The publication names only the last, for its
/// figure 8.
const INTERVALS: [(&str, [(f64, f64); 2]); 3] = [
    ("1e-1..1 & 1..1e1", [(1e-1, 1e0), (1e0, 1e1)]),
    ("1e-2..1e-1 & 1e1..1e2", [(1e-2, 1e-1), (1e1, 1e2)]),
    ("1e-3..1e-2 & 1e2..1e3", [(1e-3, 1e-2), (1e2, 1e3)]),
];

const BLOCKS: usize = 64;
const THREADS: u32 = 32;

/// `n` numbers (n even) as words, each with its opposite, in random order. They are wider than most types;
/// a number and its opposite cancel in each.
fn inputs(seed: u64, n: usize, intervals: &[(f64, f64); 2]) -> Vec<(f64, f64)> {
    let value = InputStream::new(seed, "summation value");
    let side = InputStream::new(seed, "summation interval");
    let mut all = vec![(0.0, 0.0); n];
    let order = InputStream::new(seed, "summation order").order(n);
    for i in 0..n / 2 {
        let at = i as u64;
        let (hi, lo) = value.wide_within(at, intervals[(side.bits(at) & 1) as usize]);
        all[order[2 * i]] = (hi, lo);
        all[order[2 * i + 1]] = (-hi, -lo);
    }
    all
}

struct Plan<'a> {
    case: &'a str,
    intervals: &'a [(f64, f64); 2],
    n: usize,
    parallel: bool,
    draws: u64,
}

fn one(bench: &mut StudyBench, setup: &Setup, p: &Plan) -> Result<Vec<StudyRow>, StudyError> {
    let mut rows: Vec<StudyRow> = NUMBERS
        .iter()
        .map(|k| StudyRow::new(p.case, p.n, k.label))
        .collect();
    let buffers = NUMBERS
        .iter()
        .map(|k| {
            let x = bench.room(k.storage, p.n)?;
            let partial = bench.room(k.storage, BLOCKS)?;
            Ok((x, partial, bench.room(k.storage, 1)?))
        })
        .collect::<Result<Vec<_>, StudyError>>()?;
    for draw in 0..p.draws {
        let values = inputs(setup.seed.wrapping_add(draw), p.n, p.intervals);
        let exact = reference::sum(&values);
        for (k, (row, (x, partial, out))) in NUMBERS.iter().zip(rows.iter_mut().zip(&buffers)) {
            bench.write(*x, &k.storage.encode_wide(&values))?;
            let serial = format!("summation_serial_{}", k.label);
            let parallel = format!("summation_parallel_{}", k.label);
            let body = |b: &mut StudyBench| {
                if p.parallel {
                    let args = [buffer(*x), buffer(*partial), int(p.n)];
                    b.launch(&parallel, [BLOCKS as u32, 1], [THREADS, 1], &args)?;
                    let args = [buffer(*partial), buffer(*out), int(BLOCKS)];
                    b.launch(&serial, [1, 1], [1, 1], &args)
                } else {
                    let args = [buffer(*x), buffer(*out), int(p.n)];
                    b.launch(&serial, [1, 1], [1, 1], &args)
                }
            };
            // The first draw is timed: time does not depend on the values.
            if draw == 0 {
                row.time_s = bench.measure(None, body)?;
            } else {
                body(bench)?;
            }
            let bytes = bench.read(*out)?;
            row.errors.add(k.storage.decode(&bytes, 0).as_ref(), &exact);
            let main = if p.parallel { &parallel } else { &serial };
            row.registers = bench.registers(main);
            row.shared_bytes = bench.shared_bytes(main);
        }
    }
    Ok(rows)
}

/// Runs the study.
pub fn run(setup: &Setup) -> Result<StudyReport, StudyError> {
    let mut bench = StudyBench::new(bitcode!("summation"), "summation", setup)?;
    let n = setup.pick(2_000, 100_000, 1_000_000, 1_000_000);
    let draws = setup.pick(2, 3, 10, 10);
    let mut serial = Vec::new();
    for (case, intervals) in &INTERVALS {
        (setup.progress)(&format!("serial, {n} values, {case}"));
        let plan = Plan {
            case,
            intervals,
            n,
            parallel: false,
            draws,
        };
        serial.extend(one(&mut bench, setup, &plan)?);
    }
    let sizes: &[usize] = match setup.scale {
        crate::Scale::Tiny => &[2_000, 8_000],
        crate::Scale::Quick => &[10_000, 100_000],
        _ => &[10_000, 100_000, 1_000_000, 10_000_000],
    };
    let (case, intervals) = &INTERVALS[2];
    let mut parallel = Vec::new();
    for &n in sizes {
        (setup.progress)(&format!("parallel, {n} values"));
        let plan = Plan {
            case,
            intervals,
            n,
            parallel: true,
            draws: if n > 1_000_000 { 2 } else { draws },
        };
        parallel.extend(one(&mut bench, setup, &plan)?);
    }
    let mut report = StudyReport::new("summation", SURINENI, bench.device(), setup);
    report.tables.push(Table::of_measured(
        "serial",
        &format!("One thread, {n} values, mean of {draws} draws (figure 7, table VI)"),
        ("intervals", "n"),
        StudyMetric::MeanAbs,
        &serial,
    ));
    report.tables.push(Table::of_measured(
        "parallel",
        &format!("{BLOCKS} blocks of {THREADS} threads (figure 8)"),
        ("intervals", "n"),
        StudyMetric::MeanAbs,
        &parallel,
    ));
    let cases = INTERVALS.map(|(c, _)| c.to_owned()).to_vec();
    let serial_rows: Vec<&StudyRow> = serial.iter().collect();
    let parallel_rows: Vec<&StudyRow> = parallel.iter().collect();
    let panels = [
        ("one thread", StudyMetric::MeanAbs, true),
        ("one thread", StudyMetric::Time, true),
        ("64 x 32 threads", StudyMetric::MeanAbs, false),
        ("64 x 32 threads", StudyMetric::Time, false),
    ]
    .into_iter()
    .filter_map(|(title, metric, one_thread)| match one_thread {
        true => Panel::of_measured(
            title,
            ("intervals", PlotAxis::Cases(cases.clone())),
            metric,
            &serial_rows,
        ),
        false => Panel::of_measured(title, ("values", PlotAxis::Log), metric, &parallel_rows),
    })
    .collect();
    report.plots.push(Plot {
        name: "error".into(),
        title: format!("Summation to zero on {}", report.device.name),
        panels,
    });
    report.findings = findings(&serial, &parallel);
    report.notes.push(
        "Sums by a multiple-precision library on the GPU are not repeated; the reference is 256-bit MPFR \
         on the host."
            .into(),
    );
    report.note_device(setup, &bench.modelled());
    Ok(report)
}

/// Sections of the publication.
const PLACE: &str = "section 4.1.1, figure 7";

/// Composite numbers, and their words.
const COMPOSITE: [(&str, &str); 2] = [("float2_cmp", "float"), ("double2_cmp", "double")];

fn findings(serial: &[StudyRow], parallel: &[StudyRow]) -> Vec<Finding> {
    let mut all = accuracy(serial);
    all.extend(cost(serial));
    all.extend(in_parallel(serial, parallel));
    all
}

/// What is claimed of the errors of one thread.
fn accuracy(serial: &[StudyRow]) -> Vec<Finding> {
    let all: Vec<&str> = NUMBERS.iter().map(|n| n.label).collect();
    let proven = [("float2", "float"), ("double2", "double")];
    vec![
        Finding::grows(
            "the error grows with the distance between the intervals",
            PLACE,
            serial,
            StudyMetric::MeanAbs,
            &all,
            false,
        ),
        Finding::by_ratio(
            "composite sums are at least 1e4 times as accurate as those of their word",
            PLACE,
            serial,
            StudyMetric::MeanAbs,
            &COMPOSITE,
            |r| r <= 1e-4,
        ),
        Finding::by_ratio(
            "the same with the proven algorithms",
            OWN,
            serial,
            StudyMetric::MeanAbs,
            &proven,
            |r| r <= 1e-4,
        ),
        Finding::by_ratio(
            "renormalising, as the proven algorithms do, is more accurate than the composite formulas",
            OWN,
            serial,
            StudyMetric::MeanAbs,
            &[("float2", "float2_cmp"), ("double2", "double2_cmp")],
            |r| r < 1.0,
        ),
        Finding::by_ratio(
            "float2 is less accurate than double",
            PLACE,
            serial,
            StudyMetric::MeanAbs,
            &[("float2_cmp", "double"), ("float2", "double")],
            |r| r > 1.0,
        ),
    ]
}

/// What is claimed of its time and registers.
fn cost(serial: &[StudyRow]) -> Vec<Finding> {
    let registers = [
        ("float2_cmp", "float"),
        ("float2_cmp", "double"),
        ("double2_cmp", "float2_cmp"),
    ];
    vec![
        Finding::by_ratio(
            "float2 is as slow as double or slower",
            PLACE,
            serial,
            StudyMetric::Time,
            &[("float2_cmp", "double")],
            |r| r > 0.95,
        ),
        Finding::by_ratio(
            "a float2 sum takes at most a third longer than a float sum",
            PLACE,
            serial,
            StudyMetric::Time,
            &[("float2_cmp", "float")],
            |r| r <= 4.0 / 3.0,
        ),
        Finding::by_ratio(
            "a double2 sum takes at most about twice as long as a double sum",
            PLACE,
            serial,
            StudyMetric::Time,
            &[("double2_cmp", "double")],
            |r| r <= 2.2,
        ),
        Finding::by_ratio(
            "the proven algorithms cost no more time than the composite formulas",
            OWN,
            serial,
            StudyMetric::Time,
            &[("float2", "float2_cmp"), ("double2", "double2_cmp")],
            |r| r <= 1.05,
        ),
        Finding::by_ratio(
            "float2 takes more registers than float and than double, and double2 more than float2",
            "table VI",
            serial,
            StudyMetric::Registers,
            &registers,
            |r| r > 1.0,
        ),
    ]
}

/// The same type twice: parallel against serial.
fn against_serial(serial: &[StudyRow], parallel: &[StudyRow]) -> Vec<StudyRow> {
    serial
        .iter()
        .filter(|r| r.case == INTERVALS[2].0)
        .filter_map(|s| {
            let p = parallel
                .iter()
                .find(|p| p.size == s.size && p.label == s.label)?;
            let errors = p.errors;
            Some([
                StudyRow {
                    label: "serial",
                    case: s.label.into(),
                    ..s.clone()
                },
                StudyRow {
                    label: "parallel",
                    case: s.label.into(),
                    errors,
                    ..s.clone()
                },
            ])
        })
        .flatten()
        .collect()
}

/// What is claimed of many threads.
fn in_parallel(serial: &[StudyRow], parallel: &[StudyRow]) -> Vec<Finding> {
    let both = against_serial(serial, parallel);
    vec![
        Finding::by_ratio(
            "composite sums are also more accurate in parallel",
            "section 4.1.2, figure 8",
            parallel,
            StudyMetric::MeanAbs,
            &COMPOSITE,
            |r| r < 1.0,
        ),
        Finding::by_ratio(
            "many threads, with a tree at the end, are more accurate than one",
            "section 4.1.2",
            &both,
            StudyMetric::MeanAbs,
            &[("parallel", "serial")],
            |r| r <= 1.0,
        ),
    ]
}

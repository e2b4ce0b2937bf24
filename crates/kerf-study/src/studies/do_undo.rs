//! x := (x * y) / y for many y, which exact arithmetic leaves alone.
use crate::bench::{StudyBench, buffer, int};
use crate::finding::{Finding, short};
use crate::inputs::InputStream;
use crate::measured::{StudyMetric, StudyRow};
use crate::number::{NUMBERS, real};
use crate::plot::{Panel, Plot, PlotAxis};
use crate::report::{OWN, SURINENI, StudyReport};
use crate::table::Table;
use crate::{Setup, StudyError, bitcode, reference};

/// Ranges of x and of y, with the figure they are of.
const CASES: [(&str, f64, f64); 4] = [
    ("x<10, y<1e6", 1e1, 1e6),
    ("x<10, y<10", 1e1, 1e1),
    ("x<1e6, y<10", 1e6, 1e1),
    ("x<1e6, y<1e6", 1e6, 1e6),
];

/// Start values side by side, one a thread.
const STARTS: usize = 32;

/// Runs the study.
pub fn run(setup: &Setup) -> Result<StudyReport, StudyError> {
    let mut bench = StudyBench::new(bitcode!("do_undo"), "do-undo", setup)?;
    let n = setup.pick(2_000, 50_000, 1_000_000, 1_000_000);
    let mut rows = Vec::new();
    let mut strayed = 0f64;
    for (case, x_max, y_max) in CASES {
        (setup.progress)(&format!("{case}, {n} iterations"));
        let draw = |name: &str, count: usize, max: f64| -> Vec<(f64, f64)> {
            let s = InputStream::new(setup.seed, &format!("do-undo {case} {name}"));
            (0..count as u64)
                .map(|i| s.wide_within(i, (0.0, max)))
                .collect()
        };
        let (x, y) = (draw("x", STARTS, x_max), draw("y", n, y_max));
        // The exact result is the start; MPFR goes through the first to show how far 256 bits stray.
        let start = real(x[0].0) + x[0].1;
        let kept = reference::do_undo(&start, &y) - &start;
        strayed = strayed.max((kept / start).abs().to_f64());
        for k in &NUMBERS {
            let size = k.storage.bytes();
            let starts = k.storage.encode_wide(&x);
            let from = bench.upload(&starts, size)?;
            let with = bench.upload(&k.storage.encode_wide(&y), size)?;
            let out = bench.room(k.storage, STARTS)?;
            let symbol = format!("do_undo_{}", k.label);
            let args = [buffer(from), buffer(with), buffer(out), int(STARTS), int(n)];
            let mut row = StudyRow::new(case, n, k.label);
            row.time_s = bench.measure(None, |b| {
                b.launch(&symbol, [1, 1], [STARTS as u32, 1], &args)
            })?;
            row.registers = bench.registers(&symbol);
            let bytes = bench.read(out)?;
            for i in 0..STARTS {
                // What the type holds of the start is what it should come back to.
                if let Some(start) = k.storage.decode(&starts, i) {
                    row.errors.add(k.storage.decode(&bytes, i).as_ref(), &start);
                }
            }
            rows.push(row);
        }
    }
    let mut report = StudyReport::new("do-undo", SURINENI, bench.device(), setup);
    let title = format!("n times multiply and divide, {STARTS} starts (figures 11 to 14)");
    report.tables.push(Table::of_measured(
        "errors",
        &title,
        ("ranges", "n"),
        StudyMetric::MeanAbs,
        &rows,
    ));
    let all: Vec<&StudyRow> = rows.iter().collect();
    let cases = PlotAxis::Cases(CASES.map(|c| c.0.to_owned()).to_vec());
    let panels = [StudyMetric::MeanAbs, StudyMetric::Time]
        .into_iter()
        .filter_map(|m| Panel::of_measured(m.name(), ("ranges", cases.clone()), m, &all))
        .collect();
    report.plots.push(Plot {
        name: "error".into(),
        title: format!("Do and undo on {}", report.device.name),
        panels,
    });
    report.findings = findings(&rows);
    report.notes.push(format!(
        "The exact result is the start value, as each type holds it; 256-bit MPFR, run over the first start of \
         each case, stays within {} of it, relatively. Division is the IEEE one.",
        short(strayed)
    ));
    report.note_device(setup, &bench.modelled());
    Ok(report)
}

fn findings(rows: &[StudyRow]) -> Vec<Finding> {
    let place = "section 4.3, figures 11 to 14";
    let cmp = [("float2_cmp", "float"), ("double2_cmp", "double")];
    vec![
        Finding::by_ratio(
            "composite division is less accurate than that of its word",
            place,
            rows,
            StudyMetric::MeanAbs,
            &cmp,
            |r| r > 1.0,
        ),
        Finding::by_ratio(
            "division by the proven algorithms is more accurate than that of its word",
            OWN,
            rows,
            StudyMetric::MeanAbs,
            &[("float2", "float"), ("double2", "double")],
            |r| r < 1.0,
        ),
        Finding::by_ratio(
            "composite division also takes longer",
            place,
            rows,
            StudyMetric::Time,
            &cmp,
            |r| r > 1.0,
        ),
        Finding::by_ratio(
            "float2 division with the proven algorithms is faster than double division",
            OWN,
            rows,
            StudyMetric::Time,
            &[("float2", "double")],
            |r| r < 1.0,
        ),
    ]
}

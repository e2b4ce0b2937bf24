//! Chains of multiplications by numbers below and above one in turn.
use crate::bench::{StudyBench, buffer, int};
use crate::finding::Finding;
use crate::inputs::InputStream;
use crate::measured::{StudyMetric, StudyRow};
use crate::number::NUMBERS;
use crate::plot::{Panel, Plot, PlotAxis};
use crate::report::{OWN, SURINENI, StudyReport};
use crate::table::Table;
use crate::{Setup, StudyError, bitcode, reference};

const INTERVALS: [(f64, f64); 2] = [(0.01, 1.0), (1.0, 10.0)];
const CASE: &str = "0.01..1 & 1..10";
/// Chains side by side, one a thread: a single one would be a matter of luck.
const CHAINS: usize = 32;
/// Each chain is multiplied out this often for a time; tables give the time of one round.
const ROUNDS: usize = 2000;

/// Runs the study.
pub fn run(setup: &Setup) -> Result<StudyReport, StudyError> {
    let mut bench = StudyBench::new(bitcode!("products"), "products", setup)?;
    let step = setup.pick(100, 40, 20, 20);
    let counts: Vec<usize> = (20..=220).step_by(step).collect();
    let stream = InputStream::new(setup.seed, "products");
    let x: Vec<f64> = (0..220 * CHAINS)
        .map(|i| stream.single_within(i as u64, INTERVALS[(i / CHAINS) % 2]))
        .collect();
    let one = bench.upload(&1f32.to_le_bytes(), 4)?;
    let rounds = if setup.timed() { ROUNDS } else { 1 };
    let mut rows = Vec::new();
    for &count in &counts {
        (setup.progress)(&format!("{count} multiplications"));
        let exact: Vec<_> = (0..CHAINS)
            .map(|c| reference::product((0..count).map(|i| x[i * CHAINS + c])))
            .collect();
        for k in &NUMBERS {
            let input = bench.upload(&k.storage.encode(&x), k.storage.bytes())?;
            let out = bench.room(k.storage, CHAINS)?;
            let symbol = format!("products_{}", k.label);
            let args = [
                buffer(input),
                buffer(one),
                buffer(out),
                int(count),
                int(CHAINS),
                int(rounds),
            ];
            let mut row = StudyRow::new(CASE, count, k.label);
            let time = bench.measure(None, |b| {
                b.launch(&symbol, [1, 1], [CHAINS as u32, 1], &args)
            })?;
            row.time_s = time.map(|t| t / rounds as f64);
            row.registers = bench.registers(&symbol);
            let bytes = bench.read(out)?;
            for (c, exact) in exact.iter().enumerate() {
                row.errors.add(k.storage.decode(&bytes, c).as_ref(), exact);
            }
            rows.push(row);
        }
    }
    let mut report = StudyReport::new("products", SURINENI, bench.device(), setup);
    let title = format!("{CHAINS} chains of n multiplications, one a thread (figures 9 and 10)");
    report.tables.push(Table::of_measured(
        "chains",
        &title,
        ("intervals", "n"),
        StudyMetric::MeanRel,
        &rows,
    ));
    let all: Vec<&StudyRow> = rows.iter().collect();
    let panels = [StudyMetric::MeanRel, StudyMetric::Time]
        .into_iter()
        .filter_map(|m| {
            Panel::of_measured(m.name(), ("multiplications", PlotAxis::Linear), m, &all)
        })
        .collect();
    report.plots.push(Plot {
        name: "error".into(),
        title: format!("Chains of multiplications on {}", report.device.name),
        panels,
    });
    report.findings = findings(&rows);
    report.notes.push(
        "Errors are relative: the products grow to about 1e28, where absolute errors show only the largest \
         chain. All types start from the same numbers, which float holds exactly."
            .into(),
    );
    report.note_device(setup, &bench.modelled());
    Ok(report)
}

fn findings(rows: &[StudyRow]) -> Vec<Finding> {
    let place = "section 4.2, figures 9 and 10";
    let cmp = [("float2_cmp", "float"), ("double2_cmp", "double")];
    let proven = [("float2", "float"), ("double2", "double")];
    vec![
        Finding::by_ratio(
            "composite products are no more accurate than those of their word (within a factor of 3)",
            place,
            rows,
            StudyMetric::MeanRel,
            &cmp,
            |r| (1.0 / 3.0..=3.0).contains(&r),
        ),
        Finding::by_ratio(
            "with the proven algorithms they are: by a factor of 1e5 and more",
            OWN,
            rows,
            StudyMetric::MeanRel,
            &proven,
            |r| r < 1e-5,
        ),
        Finding::by_ratio(
            "proven float2 products are less accurate than double ones",
            OWN,
            rows,
            StudyMetric::MeanRel,
            &[("float2", "double")],
            |r| r > 1.0,
        ),
        Finding::grows(
            "the error is carried from one multiplication to the next",
            place,
            rows,
            StudyMetric::MeanRel,
            &["float", "double"],
            true,
        ),
        Finding::by_ratio(
            "composite products take 1.2 to 4 times as long as those of their word",
            place,
            rows,
            StudyMetric::Time,
            &cmp,
            |r| (1.1..=4.4).contains(&r),
        ),
        Finding::by_ratio(
            "float2 products are no faster than double ones",
            place,
            rows,
            StudyMetric::Time,
            &[("float2_cmp", "double"), ("float2", "double")],
            |r| r >= 0.95,
        ),
        Finding::by_ratio(
            "float2 takes more registers than float, and double2 more than double",
            place,
            rows,
            StudyMetric::Registers,
            &cmp,
            |r| r > 1.0,
        ),
    ]
}

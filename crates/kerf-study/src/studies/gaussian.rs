//! Gaussian elimination, two kernels a step.
use super::matrix::{self, CASE};
use crate::bench::{StudyBench, buffer, int};
use crate::finding::Finding;
use crate::measured::{StudyMetric, StudyRow};
use crate::number::NUMBERS;
use crate::plot::{Panel, Plot, PlotAxis};
use crate::report::{OWN, SURINENI, StudyReport};
use crate::table::Table;
use crate::{Scale, Setup, StudyError, bitcode, reference};

const BLOCK: u32 = 256;
const SIDE: u32 = 16;

/// Runs the study.
pub fn run(setup: &Setup) -> Result<StudyReport, StudyError> {
    let mut bench = StudyBench::new(bitcode!("gaussian"), "gaussian", setup)?;
    let sizes: &[usize] = match setup.scale {
        Scale::Tiny => &[16, 32],
        Scale::Quick => &[16, 64, 128],
        Scale::Full => &[16, 32, 64, 128, 256, 512],
        Scale::Large => &[16, 32, 64, 128, 256, 512, 1024],
    };
    let mut rows = Vec::new();
    for &n in sizes {
        (setup.progress)(&format!("{n} equations, reference"));
        // The right-hand side is the last column.
        let width = n + 1;
        let a = matrix::random(setup.seed, "gaussian", n, width);
        let exact = reference::eliminate(&a, n, width);
        for k in &NUMBERS {
            (setup.progress)(&format!("{n} equations, {}", k.label));
            let clean = bench.upload(&k.storage.encode(&a), k.storage.bytes())?;
            let work = bench.room(k.storage, n * width)?;
            let m = bench.room(k.storage, n)?;
            let first = format!("gaussian_multipliers_{}", k.label);
            let second = format!("gaussian_rows_{}", k.label);
            let mut row = StudyRow::new(CASE, n, k.label);
            row.time_s = bench.measure(Some((clean, work)), |b| {
                for t in 0..n - 1 {
                    let below = (n - 1 - t) as u32;
                    let right = (width - t) as u32;
                    let tail = [int(n), int(width), int(t)];
                    let args = [&[buffer(work), buffer(m)], &tail[..]].concat();
                    b.launch(&first, [below.div_ceil(BLOCK), 1], [BLOCK, 1], &args)?;
                    let grid = [right.div_ceil(SIDE), below.div_ceil(SIDE)];
                    b.launch(&second, grid, [SIDE, SIDE], &args)?;
                }
                Ok(())
            })?;
            row.registers = bench.registers(&second);
            let bytes = bench.read(work)?;
            row.errors = matrix::compare(k.storage, &bytes, &exact, width, |i, j| j >= i);
            rows.push(row);
        }
    }
    let mut report = StudyReport::new("gaussian", SURINENI, bench.device(), setup);
    report.tables.push(Table::of_measured(
        "errors",
        "Upper triangle and right-hand side after elimination (figures 19 and 20)",
        ("intervals", "n"),
        StudyMetric::SumAbs,
        &rows,
    ));
    let all: Vec<&StudyRow> = rows.iter().collect();
    let panels = [StudyMetric::SumAbs, StudyMetric::Time]
        .into_iter()
        .filter_map(|m| Panel::of_measured(m.name(), ("equations", PlotAxis::Log), m, &all))
        .collect();
    report.plots.push(Plot {
        name: "error".into(),
        title: format!("Gaussian elimination on {}", report.device.name),
        panels,
    });
    report.findings = findings(&rows);
    report.notes.push(format!(
        "Sizes end at {}: the published ones go to 4096, whose 256-bit reference is not feasible. No \
         pivoting, no fused multiply-adds; blocks of {BLOCK} and {SIDE}x{SIDE} threads.",
        sizes.last().unwrap_or(&0)
    ));
    report.note_device(setup, &bench.modelled());
    Ok(report)
}

fn findings(rows: &[StudyRow]) -> Vec<Finding> {
    let place = "section 5.1, figures 19 and 20";
    let cmp = [("float2_cmp", "float"), ("double2_cmp", "double")];
    vec![
        Finding::by_ratio(
            "composite elimination is about as accurate as that of its word (within a factor of 10)",
            place,
            rows,
            StudyMetric::SumAbs,
            &cmp,
            |r| (0.1..=10.0).contains(&r),
        ),
        Finding::by_ratio(
            "with the proven algorithms it is more accurate than its word, 1e4 times and more",
            OWN,
            rows,
            StudyMetric::SumAbs,
            &[("float2", "float"), ("double2", "double")],
            |r| r < 1e-4,
        ),
        Finding::by_ratio(
            "double is more accurate than float by three orders of magnitude and more",
            place,
            rows,
            StudyMetric::SumAbs,
            &[("double", "float")],
            |r| r <= 1e-3,
        ),
        Finding::by_ratio(
            "composite takes about as long as its word (within a quarter)",
            place,
            rows,
            StudyMetric::Time,
            &cmp,
            |r| r <= 1.25,
        ),
        Finding::by_ratio(
            "the proven algorithms take about as long as their word (within a quarter)",
            OWN,
            rows,
            StudyMetric::Time,
            &[("float2", "float"), ("double2", "double")],
            |r| r <= 1.25,
        ),
    ]
}

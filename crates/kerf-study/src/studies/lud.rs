//! LU decomposition by tiles in shared memory.
use super::matrix::{self, CASE};
use crate::bench::{StudyBench, buffer, int};
use crate::finding::Finding;
use crate::measured::{StudyMetric, StudyRow};
use crate::number::NUMBERS;
use crate::plot::{Panel, Plot, PlotAxis};
use crate::report::{OWN, SURINENI, StudyReport};
use crate::table::Table;
use crate::{Scale, Setup, StudyError, bitcode, reference};

const TILE: usize = 16;

/// Runs the study.
pub fn run(setup: &Setup) -> Result<StudyReport, StudyError> {
    let mut bench = StudyBench::new(bitcode!("lud"), "lud", setup)?;
    let sizes: &[usize] = match setup.scale {
        Scale::Tiny => &[16, 48],
        Scale::Quick => &[64, 128],
        Scale::Full => &[64, 128, 256, 512],
        Scale::Large => &[64, 128, 256, 512, 1024],
    };
    let mut rows = Vec::new();
    for &n in sizes {
        (setup.progress)(&format!("{n} by {n}, reference"));
        let a = matrix::random(setup.seed, "lud", n, n);
        let exact = reference::eliminate(&a, n, n);
        for k in &NUMBERS {
            (setup.progress)(&format!("{n} by {n}, {}", k.label));
            let clean = bench.upload(&k.storage.encode(&a), k.storage.bytes())?;
            let work = bench.room(k.storage, n * n)?;
            let name = |part: &str| format!("lud_{part}_{}", k.label);
            let (diagonal, perimeter, internal) =
                (name("diagonal"), name("perimeter"), name("internal"));
            let mut row = StudyRow::new(CASE, n, k.label);
            row.time_s = bench.measure(Some((clean, work)), |b| {
                let side = TILE as u32;
                for t in 0..n / TILE {
                    let args = [buffer(work), int(n), int(t)];
                    b.launch(&diagonal, [1, 1], [side, side], &args)?;
                    let rest = (n / TILE - 1 - t) as u32;
                    if rest > 0 {
                        b.launch(&perimeter, [rest, 1], [2 * side, 1], &args)?;
                        b.launch(&internal, [rest, rest], [side, side], &args)?;
                    }
                }
                Ok(())
            })?;
            // The kernel that needs most: its shared memory and registers bound the blocks on an SM.
            row.registers = bench.registers(&perimeter);
            row.shared_bytes = bench.shared_bytes(&perimeter);
            let bytes = bench.read(work)?;
            row.errors = matrix::compare(k.storage, &bytes, &exact, n, |_, _| true);
            rows.push(row);
        }
    }
    let mut report = StudyReport::new("lud", SURINENI, bench.device(), setup);
    report.tables.push(Table::of_measured(
        "errors",
        "L and U; registers and shared memory of the perimeter kernel (figures 21 and 22)",
        ("intervals", "n"),
        StudyMetric::SumAbs,
        &rows,
    ));
    let all: Vec<&StudyRow> = rows.iter().collect();
    let panels = [StudyMetric::SumAbs, StudyMetric::Time]
        .into_iter()
        .filter_map(|m| {
            Panel::of_measured(m.name(), ("order of the matrix", PlotAxis::Log), m, &all)
        })
        .collect();
    report.plots.push(Plot {
        name: "error".into(),
        title: format!("LU decomposition on {}", report.device.name),
        panels,
    });
    report.findings = findings(&rows);
    report.notes.push(format!(
        "Sizes end at {}: the published ones go to 2048, whose 256-bit reference is not feasible. No \
         pivoting, no fused multiply-adds; tiles of {TILE}x{TILE}.",
        sizes.last().unwrap_or(&0)
    ));
    report.note_device(setup, &bench.modelled());
    Ok(report)
}

fn findings(rows: &[StudyRow]) -> Vec<Finding> {
    let place = "section 5.2, figures 21 and 22";
    let cmp = [("float2_cmp", "float"), ("double2_cmp", "double")];
    let proven = [("float2", "float"), ("double2", "double")];
    vec![
        Finding::by_ratio(
            "composite decomposition is less accurate than that of its word",
            place,
            rows,
            StudyMetric::SumAbs,
            &cmp,
            |r| r > 1.0,
        ),
        Finding::by_ratio(
            "with the proven algorithms it is more accurate, 1e4 times and more",
            OWN,
            rows,
            StudyMetric::SumAbs,
            &proven,
            |r| r < 1e-4,
        ),
        Finding::by_ratio(
            "double takes longer than float",
            place,
            rows,
            StudyMetric::Time,
            &[("double", "float")],
            |r| r > 1.0,
        ),
        Finding::by_ratio(
            "composite takes longer than its word",
            place,
            rows,
            StudyMetric::Time,
            &cmp,
            |r| r > 1.0,
        ),
        Finding::by_ratio(
            "composite needs more registers than its word",
            place,
            rows,
            StudyMetric::Registers,
            &cmp,
            |r| r > 1.0,
        ),
        Finding::by_ratio(
            "composite needs more shared memory than its word",
            place,
            rows,
            StudyMetric::Shared,
            &cmp,
            |r| r > 1.0,
        ),
    ]
}

//! Potentials and forces of particles in neighbouring boxes.
use crate::bench::{StudyBench, buffer};
use crate::finding::Finding;
use crate::inputs::InputStream;
use crate::measured::{StudyMetric, StudyRow};
use crate::number::EXPONENTIALS;
use crate::plot::{Panel, Plot, PlotAxis};
use crate::reference::{self, Particle};
use crate::report::{OWN, SURINENI, StudyReport};
use crate::table::Table;
use crate::{Scale, Setup, StudyDevice, StudyError, bitcode};
use rayon::prelude::*;
use rug::Float;

const PER_BOX: usize = 128;
const NEIGHBOURS: usize = 27;
/// 2 alpha^2 with alpha = 0.5, as the benchmark has it.
const FACTOR: f64 = 0.5;
const RANGES: [(&str, (f64, f64)); 2] = [("0..0.1", (0.0, 0.1)), ("0..1", (0.0, 1.0))];

/// Boxes of a cube around each box, itself included; -1 outside the cube.
fn neighbours(side: usize) -> Vec<i32> {
    let side = side as i32;
    let mut all = Vec::new();
    for b in 0..side * side * side {
        let (x, y, z) = (b % side, b / side % side, b / (side * side));
        for k in 0..NEIGHBOURS as i32 {
            let (i, j, l) = (x + k % 3 - 1, y + k / 3 % 3 - 1, z + k / 9 - 1);
            let inside = [i, j, l].iter().all(|c| (0..side).contains(c));
            all.push(if inside {
                (l * side + j) * side + i
            } else {
                -1
            });
        }
    }
    all
}

struct Scene {
    particles: Vec<Particle>,
    charges: Vec<f64>,
    neighbours: Vec<i32>,
    /// Particles that the reference looks at.
    sample: Vec<usize>,
    exact: Vec<[Float; 4]>,
}

fn scene(setup: &Setup, range: &str, interval: (f64, f64), side: usize, sampled: usize) -> Scene {
    let n = side * side * side * PER_BOX;
    let s = InputStream::new(setup.seed, &format!("lavamd {range} {side}"));
    let at = |i: usize| s.single_within(i as u64, interval);
    let particles: Vec<Particle> = (0..n)
        .map(|i| [0, 1, 2, 3].map(|k| at(5 * i + k)))
        .collect();
    let charges: Vec<f64> = (0..n).map(|i| at(5 * i + 4)).collect();
    let neighbours = neighbours(side);
    let sampled = sampled.min(n);
    let sample: Vec<usize> = (0..sampled).map(|i| i * n / sampled).collect();
    let exact = sample
        .par_iter()
        .map(|&i| {
            let near = &neighbours[i / PER_BOX * NEIGHBOURS..][..NEIGHBOURS];
            let others = near.iter().filter(|b| **b >= 0).flat_map(|b| {
                let first = *b as usize * PER_BOX;
                (first..first + PER_BOX).map(|j| (particles[j], charges[j]))
            });
            reference::potential(&particles[i], others, FACTOR)
        })
        .collect();
    Scene {
        particles,
        charges,
        neighbours,
        sample,
        exact,
    }
}

/// Runs the study.
pub fn run(setup: &Setup) -> Result<StudyReport, StudyError> {
    let mut bench = StudyBench::new(bitcode!("lavamd"), "lavamd", setup)?;
    let sides: &[usize] = match (setup.scale, setup.device) {
        (Scale::Tiny, _) => &[1],
        (Scale::Quick, _) => &[1, 2],
        (Scale::Full, StudyDevice::Cpu) => &[1, 2, 3],
        _ => &[1, 2, 3, 4, 5, 6, 7, 8],
    };
    let sampled = setup.pick(8, 32, 64, 256);
    let mut rows = Vec::new();
    for (range, interval) in RANGES {
        for &side in sides {
            let boxes = side * side * side;
            (setup.progress)(&format!("{range}, {boxes} boxes, reference"));
            let scene = scene(setup, range, interval, side, sampled);
            let flat: Vec<f64> = scene.particles.iter().flatten().copied().collect();
            let near: Vec<u8> = scene
                .neighbours
                .iter()
                .flat_map(|b| b.to_le_bytes())
                .collect();
            let near = bench.upload(&near, 4)?;
            for k in &EXPONENTIALS {
                (setup.progress)(&format!("{range}, {boxes} boxes, {}", k.label));
                let size = k.storage.bytes();
                let particles = bench.upload(&k.storage.encode(&flat), size)?;
                let charges = bench.upload(&k.storage.encode(&scene.charges), size)?;
                let factor = bench.upload(&k.storage.encode(&[FACTOR]), size)?;
                let forces = bench.room(k.storage, flat.len())?;
                let symbol = format!("lavamd_{}", k.label);
                let args = [particles, charges, near, forces, factor].map(buffer);
                let mut row = StudyRow::new(range, boxes, k.label);
                row.time_s = bench.measure(None, |b| {
                    b.launch(&symbol, [boxes as u32, 1], [PER_BOX as u32, 1], &args)
                })?;
                row.registers = bench.registers(&symbol);
                row.shared_bytes = bench.shared_bytes(&symbol);
                let bytes = bench.read(forces)?;
                for (i, exact) in scene.sample.iter().zip(&scene.exact) {
                    for (c, exact) in exact.iter().enumerate() {
                        let got = k.storage.decode(&bytes, 4 * i + c);
                        row.errors.add(got.as_ref(), exact);
                    }
                }
                rows.push(row);
            }
        }
    }
    let mut report = StudyReport::new("lavamd", SURINENI, bench.device(), setup);
    report.tables.push(Table::of_measured(
        "errors",
        &format!("Boxes of {PER_BOX} particles, errors of up to {sampled} sampled particles (figures 23 to 26)"),
        ("range", "boxes"),
        StudyMetric::SumAbs,
        &rows,
    ));
    let panels = RANGES
        .iter()
        .flat_map(|(range, _)| {
            let some: Vec<&StudyRow> = rows.iter().filter(|r| r.case == *range).collect();
            [StudyMetric::SumAbs, StudyMetric::Time]
                .into_iter()
                .filter_map(move |m| {
                    let title = format!("{} for {range}", m.name());
                    Panel::of_measured(&title, ("boxes", PlotAxis::Log), m, &some)
                })
                .collect::<Vec<_>>()
        })
        .collect();
    report.plots.push(Plot {
        name: "error".into(),
        title: format!("LavaMD on {}", report.device.name),
        panels,
    });
    report.findings = findings(&rows);
    report.notes.push(format!(
        "The reference covers {sampled} particles, evenly spread over all boxes. Positions, the term v and \
         charges are drawn from the range."
    ));
    if setup.device == StudyDevice::Cpu {
        report.notes.push(
            "Published sizes go to 512 boxes, which the CPU executor would take too long for; --device cuda \
             runs them."
                .into(),
        );
    }
    report.note_device(setup, &bench.modelled());
    Ok(report)
}

fn findings(rows: &[StudyRow]) -> Vec<Finding> {
    let accuracy = "section 5.3.1";
    let speed = "section 5.3.2";
    vec![
        Finding::by_ratio(
            "versions built on double are more accurate than those built on float",
            accuracy,
            rows,
            StudyMetric::SumAbs,
            &[
                ("double", "float"),
                ("double2_cmp_bf", "float2_cmp_bf"),
                ("double2_cmp_ts", "float2_cmp_ts"),
            ],
            |r| r < 1.0,
        ),
        Finding::by_ratio(
            "double2 on the built-in exponential is more accurate than double",
            accuracy,
            rows,
            StudyMetric::SumAbs,
            &[("double2_cmp_bf", "double")],
            |r| r < 1.0,
        ),
        Finding::by_ratio(
            "double2 with the series is the least accurate of the three in double",
            accuracy,
            rows,
            StudyMetric::SumAbs,
            &[
                ("double2_cmp_ts", "double"),
                ("double2_cmp_ts", "double2_cmp_bf"),
            ],
            |r| r > 1.0,
        ),
        Finding::by_ratio(
            "composite is generally more accurate than plain float",
            accuracy,
            rows,
            StudyMetric::SumAbs,
            &[("float2_cmp_bf", "float"), ("float2_cmp_ts", "float")],
            |r| r < 1.0,
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
            "composite is significantly slower than its word (1.5 times and more)",
            speed,
            rows,
            StudyMetric::Time,
            &[("float2_cmp_bf", "float"), ("double2_cmp_bf", "double")],
            |r| r >= 1.5,
        ),
        Finding::by_ratio(
            "the series is slower than the built-in exponential",
            speed,
            rows,
            StudyMetric::Time,
            &[
                ("float2_cmp_ts", "float2_cmp_bf"),
                ("double2_cmp_ts", "double2_cmp_bf"),
            ],
            |r| r > 1.0,
        ),
        Finding::by_ratio(
            "double is only slightly slower than float (at most a half)",
            speed,
            rows,
            StudyMetric::Time,
            &[("double", "float")],
            |r| r <= 1.5,
        ),
        Finding::by_ratio(
            "composite needs more shared memory than its word",
            speed,
            rows,
            StudyMetric::Shared,
            &[("float2_cmp_bf", "float"), ("double2_cmp_bf", "double")],
            |r| r > 1.0,
        ),
    ]
}

//! Additions in single, in double, and in both interleaved.
use super::latency::judge;
use crate::finding::Finding;
use crate::plot::{Panel, Plot, PlotAxis, Series};
use crate::published::MIXED_THROUGHPUT;
use crate::report::{SURINENI, StudyReport};
use crate::table::{Table, TableCell};
use crate::{Setup, StudyError, profile_device};
use kerf_device::profile::DeviceProfile;

/// Operations a second of the whole device, in the order of [`MIXED_THROUGHPUT`]; peaks count a fused
/// multiply-add as two, as the publication's do.
fn rates(p: &DeviceProfile) -> [Option<f64>; 5] {
    let clock = p.limits.sms.value.zip(p.limits.clock_mhz.value);
    let device = |per_clock: Option<f64>| {
        let (sms, mhz) = clock?;
        Some(per_clock? * sms * mhz * 1e6)
    };
    let alone = |key: &str| device(p.operations.get(key)?.throughput.value);
    [
        alone("fma.f32").map(|x| 2.0 * x),
        alone("fma.f64").map(|x| 2.0 * x),
        alone("add.f32"),
        alone("add.f64"),
        device(together(p)),
    ]
}

/// Results per clock of interleaved f32 and f64 additions; fused multiply-adds where additions were not
/// measured.
fn together(p: &DeviceProfile) -> Option<f64> {
    ["add", "fma"].iter().find_map(|f| {
        let is = |a: &str, b: &str| a == format!("{f}.f32") && b == format!("{f}.f64");
        p.co_issue
            .iter()
            .find(|c| is(&c.first, &c.second) || is(&c.second, &c.first))?
            .together
            .value
    })
}

/// Runs the study.
pub fn run(setup: &Setup) -> Result<StudyReport, StudyError> {
    let p = setup
        .profile
        .as_ref()
        .ok_or(StudyError::NoProfile("mixed-throughput"))?;
    let rates = rates(p);
    let mut report = StudyReport::new("mixed-throughput", SURINENI, profile_device(p), setup);
    let mut t = Table::new(
        "throughput",
        "Operations a second (table IX)",
        &["kernel", "maxwell_titan_x", p.name.as_str()],
    );
    for ((name, theirs), mine) in MIXED_THROUGHPUT.iter().zip(rates) {
        t.rows.push(vec![
            (*name).into(),
            TableCell::Real(*theirs),
            TableCell::maybe(mine),
        ]);
    }
    report.tables.push(t);
    let series = |label: &str, v: Vec<Option<f64>>| Series {
        label: label.into(),
        points: v
            .into_iter()
            .enumerate()
            .filter_map(|(i, x)| Some((i as f64, x?)))
            .collect(),
    };
    report.plots.push(Plot {
        name: "throughput".into(),
        title: format!("Single, double and mixed additions, {}", p.gpu),
        panels: vec![Panel {
            title: "additions".into(),
            x: (
                "kernel".into(),
                PlotAxis::Cases(MIXED_THROUGHPUT.map(|m| m.0.to_owned()).to_vec()),
            ),
            y: "operations a second".into(),
            series: vec![
                series(
                    "Maxwell Titan X",
                    MIXED_THROUGHPUT.iter().map(|m| Some(m.1)).collect(),
                ),
                series(&p.name, rates.to_vec()),
            ],
        }],
    });
    report.findings = findings(rates);
    report.notes.push(
        "Peaks of the profile are its fused multiply-adds counted twice; the publication's are the vendor's."
            .into(),
    );
    Ok(report)
}

fn findings([peak_single, peak_double, single, double, mixed]: [Option<f64>; 5]) -> Vec<Finding> {
    let place = "section 6.2, table IX";
    let pair = |name: &str, a: Option<f64>, b: Option<f64>| -> Vec<(String, f64, f64)> {
        a.zip(b)
            .map(|(a, b)| (name.to_owned(), a, b))
            .into_iter()
            .collect()
    };
    vec![
        judge(
            "one to one mixed with single, the double kernel runs twice as fast (within a tenth)",
            place,
            pair("mixed to double", mixed, double),
            |a, b| (a / b - 2.0).abs() <= 0.2,
        ),
        judge(
            "double additions are at least 20 times slower than single ones, as on Maxwell",
            place,
            pair("single to double", single, double),
            |a, b| a >= 20.0 * b,
        ),
        judge(
            "mixing is faster than double alone and slower than single alone",
            place,
            [
                pair("mixed to double", mixed, double),
                pair("single to mixed", single, mixed),
            ]
            .concat(),
            |a, b| a > b,
        ),
        judge(
            "additions stay well below the peak, which counts fused multiply-adds as two (60 % and less)",
            place,
            [
                pair("single to its peak", single, peak_single),
                pair("double to its peak", double, peak_double),
            ]
            .concat(),
            |a, b| a <= 0.6 * b,
        ),
    ]
}

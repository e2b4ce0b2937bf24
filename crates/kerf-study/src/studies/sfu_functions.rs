//! Functions in their accurate version and on the special-function unit, beside three older generations.
use super::latency::judge;
use crate::finding::Finding;
use crate::plot::{Panel, Plot, PlotAxis, Series};
use crate::published::{SFU_FUNCTIONS, SfuRow};
use crate::report::{LI, StudyReport};
use crate::table::{Table, TableCell};
use crate::{Setup, StudyError, profile_device};
use kerf_device::profile::DeviceProfile;

/// A profile's figures of one version, in the publication's units.
struct Mine {
    latency: Option<f64>,
    error: Option<f64>,
    max_error: Option<f64>,
    registers: Option<f64>,
    units: Option<[f64; 3]>,
    gops: Option<f64>,
    energy: Option<f64>,
}

fn key(function: &str, format: &str, sfu: bool) -> String {
    let variant = if sfu { ".sfu" } else { "" };
    format!("{function}.{format}{variant}")
}

fn mine(p: &DeviceProfile, key: &str) -> Option<Mine> {
    let o = p.operations.get(key)?;
    let accuracy = o.accuracy.as_ref();
    let clock = p.limits.clock_mhz.value;
    Some(Mine {
        latency: o.latency.value,
        error: accuracy.and_then(|a| a.mean_rel),
        max_error: accuracy.and_then(|a| a.max_rel),
        registers: o.registers.value,
        units: o.sass.as_ref().map(|s| [s.sfu, s.sp, s.dp]),
        gops: o.throughput.value.zip(clock).map(|(t, mhz)| t * mhz / 1e3),
        energy: o.energy_pj.value,
    })
}

/// Functions of the tables with their format, in order.
fn functions() -> Vec<(&'static str, &'static str)> {
    let mut all: Vec<(&str, &str)> = SFU_FUNCTIONS
        .iter()
        .map(|r| (r.function, r.format))
        .collect();
    all.dedup();
    all
}

fn table(p: &DeviceProfile, format: &str, name: &str, title: &str) -> Table {
    let mut t = Table::new(
        name,
        title,
        &[
            "function",
            "device",
            "version",
            "latency",
            "mean_rel_error",
            "registers",
            "sfu",
            "sp",
            "dp",
            "gops_per_sm",
            "energy_pj",
        ],
    );
    let version = |sfu: bool| TableCell::from(if sfu { "sfu" } else { "accurate" });
    for (function, _) in functions().into_iter().filter(|f| f.1 == format) {
        let theirs = |r: &&SfuRow| r.function == function && r.format == format;
        for r in SFU_FUNCTIONS.iter().filter(theirs) {
            let mut row = vec![function.into(), r.generation.into(), version(r.sfu)];
            row.extend([TableCell::Real(r.latency), TableCell::Real(r.error)]);
            row.push(TableCell::Integer(r.registers.into()));
            row.extend(r.units.map(|u| TableCell::Integer(u.into())));
            row.extend([TableCell::Real(r.gops), TableCell::Missing]);
            t.rows.push(row);
        }
        for sfu in [false, true] {
            let m = mine(p, &key(function, format, sfu));
            let of = |f: fn(&Mine) -> Option<f64>| TableCell::maybe(m.as_ref().and_then(f));
            let mut row = vec![
                function.into(),
                TableCell::Text(p.name.clone()),
                version(sfu),
            ];
            row.extend([
                of(|m| m.latency),
                of(|m| m.error),
                of(|m| m.registers),
                of(|m| m.units.map(|u| u[0])),
                of(|m| m.units.map(|u| u[1])),
                of(|m| m.units.map(|u| u[2])),
                of(|m| m.gops),
                of(|m| m.energy),
            ]);
            t.rows.push(row);
        }
    }
    t
}

fn panel(p: &DeviceProfile, format: &str, title: &str) -> Panel {
    let names: Vec<&str> = functions()
        .into_iter()
        .filter(|f| f.1 == format)
        .map(|f| f.0)
        .collect();
    let series = |label: &str, of: &dyn Fn(&str) -> Option<f64>| Series {
        label: label.into(),
        points: names
            .iter()
            .enumerate()
            .filter_map(|(i, n)| Some((i as f64, of(n)?)))
            .collect(),
    };
    let theirs = |function: &str, sfu: bool| {
        SFU_FUNCTIONS
            .iter()
            .find(|r| {
                r.function == function
                    && r.format == format
                    && r.generation == "Maxwell"
                    && r.sfu == sfu
            })
            .map(|r| r.gops)
    };
    let ours = |function: &str, sfu: bool| mine(p, &key(function, format, sfu))?.gops;
    Panel {
        title: title.into(),
        x: (
            "function".into(),
            PlotAxis::Cases(names.iter().map(|n| (*n).to_owned()).collect()),
        ),
        y: "throughput of an SM, 10^9 a second".into(),
        series: vec![
            series("Maxwell accurate", &|f| theirs(f, false)),
            series("Maxwell sfu", &|f| theirs(f, true)),
            series(&format!("{} accurate", p.name), &|f| ours(f, false)),
            series(&format!("{} sfu", p.name), &|f| ours(f, true)),
        ],
    }
}

/// Runs the study.
pub fn run(setup: &Setup) -> Result<StudyReport, StudyError> {
    let p = setup
        .profile
        .as_ref()
        .ok_or(StudyError::NoProfile("sfu-functions"))?;
    let mut report = StudyReport::new("sfu-functions", LI, profile_device(p), setup);
    report.tables.push(table(
        p,
        "f32",
        "single",
        "Single precision (table 4); energy in pJ a result (figure 3)",
    ));
    report.tables.push(table(
        p,
        "f64",
        "double",
        "Double precision (table 5); energy in pJ a result (figure 3)",
    ));
    report.plots.push(Plot {
        name: "throughput".into(),
        title: format!("Functions and the special-function unit, {}", p.gpu),
        panels: vec![
            panel(p, "f32", "single precision"),
            panel(p, "f64", "double precision"),
        ],
    });
    report.findings = findings(p);
    report.notes.push(
        "Figures 2 and 3 give power and energy as pictures without numbers, so only their statements are \
         judged. The publication compares with a host CPU's function; a profile with \
         exact values, over the arguments that it states."
            .into(),
    );
    Ok(report)
}

fn findings(p: &DeviceProfile) -> Vec<Finding> {
    let place = "section 4, tables 4 and 5";
    let pairs = |format: &str, of: fn(&Mine) -> Option<f64>| -> Vec<(String, f64, f64)> {
        functions()
            .into_iter()
            .filter(|f| f.1 == format)
            .filter_map(|(f, format)| {
                let sfu = mine(p, &key(f, format, true))?;
                let accurate = mine(p, &key(f, format, false))?;
                Some((format!("{f}.{format}"), of(&sfu)?, of(&accurate)?))
            })
            .collect()
    };
    let all = |of: fn(&Mine) -> Option<f64>| [pairs("f32", of), pairs("f64", of)].concat();
    let gain = |format: &str| -> Vec<(String, f64, f64)> {
        functions()
            .into_iter()
            .filter(|f| f.1 == format)
            .filter_map(|(f, format)| {
                let sfu = mine(p, &key(f, format, true))?;
                let accurate = mine(p, &key(f, format, false))?;
                Some((
                    format!("{f}.{format}"),
                    sfu.gops? / accurate.gops?,
                    accurate.latency? / sfu.latency?,
                ))
            })
            .collect()
    };
    let small: Vec<_> = functions()
        .into_iter()
        .filter_map(|(f, format)| {
            let seen = mine(p, &key(f, format, true))?;
            let limit = if format == "f32" { 2e-6 } else { 1e-6 };
            Some((format!("{f}.{format}"), seen.error?, limit))
        })
        .collect();
    let double = functions()
        .into_iter()
        .filter(|f| f.1 == "f64")
        .filter_map(|(f, _)| {
            let e = |format| mine(p, &key(f, format, false))?.energy;
            Some((f.to_owned(), e("f64")?, e("f32")?))
        })
        .collect();
    vec![
        judge(
            "the special-function unit's mean error is small (at most 2e-6 in single, 1e-6 in double)",
            place,
            small,
            |a, b| a <= b,
        ),
        judge(
            "it is less accurate than the accurate version",
            place,
            all(|m| m.max_error),
            |a, b| a > b,
        ),
        judge(
            "it has a higher throughput in single precision",
            place,
            pairs("f32", |m| m.gops),
            |a, b| a > b,
        ),
        judge(
            "it has a higher throughput in double precision",
            place,
            pairs("f64", |m| m.gops),
            |a, b| a > b,
        ),
        judge(
            "it has a lower latency",
            place,
            all(|m| m.latency),
            |a, b| a < b,
        ),
        judge(
            "throughput shows a greater difference than latency does",
            "section 4",
            [gain("f32"), gain("f64")].concat(),
            |a, b| a > b,
        ),
        judge(
            "it takes less energy for a result",
            "section 4, figure 3",
            all(|m| m.energy),
            |a, b| a < b,
        ),
        judge(
            "double precision takes more energy than single",
            "section 4, figure 3",
            double,
            |a, b| a > b,
        ),
    ]
}

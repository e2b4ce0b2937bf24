//! Instruction latencies of a profile beside those of four older generations.
use crate::finding::{Finding, FindingVerdict, ratio, short, span};
use crate::plot::{Panel, Plot, PlotAxis, Series};
use crate::published::{DOUBLE_LATENCY, GENERATIONS, Latency, SINGLE_LATENCY};
use crate::report::{SURINENI, StudyReport};
use crate::table::{Table, TableCell};
use crate::{Setup, StudyError, profile_device};
use kerf_device::profile::DeviceProfile;

fn cycles(p: &DeviceProfile, key: Option<&str>) -> Option<f64> {
    p.operations.get(key?)?.latency.value
}

fn table(p: &DeviceProfile, name: &str, title: &str, rows: &[Latency], fast: bool) -> Table {
    let mut columns = vec!["instruction".to_owned()];
    for g in GENERATIONS.iter().chain([&p.name.as_str()]) {
        columns.push((*g).to_owned());
        if fast {
            columns.push(format!("{g}_fast"));
        }
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut t = Table::new(name, title, &columns);
    for r in rows {
        let mut row = vec![TableCell::from(r.instruction)];
        for g in 0..GENERATIONS.len() {
            row.push(TableCell::Real(r.standard[g]));
            if fast {
                row.push(TableCell::maybe(r.fast.map(|f| f[g])));
            }
        }
        row.push(TableCell::maybe(cycles(p, r.keys[0])));
        if fast {
            row.push(TableCell::maybe(cycles(p, r.keys[1])));
        }
        t.rows.push(row);
    }
    t
}

fn panel(p: &DeviceProfile, title: &str, rows: &[Latency]) -> Panel {
    let mut series: Vec<Series> = GENERATIONS
        .iter()
        .enumerate()
        .map(|(g, name)| Series {
            label: (*name).into(),
            points: (0..)
                .map(f64::from)
                .zip(rows.iter().map(|r| r.standard[g]))
                .collect(),
        })
        .collect();
    series.push(Series {
        label: p.name.clone(),
        points: rows
            .iter()
            .enumerate()
            .filter_map(|(i, r)| Some((i as f64, cycles(p, r.keys[0])?)))
            .collect(),
    });
    let names = rows
        .iter()
        .map(|r| r.instruction.replace(", ", "/"))
        .collect();
    Panel {
        title: title.into(),
        x: ("instruction".into(), PlotAxis::Cases(names)),
        y: "latency, cycles".into(),
        series,
    }
}

/// Runs the study.
pub fn run(setup: &Setup) -> Result<StudyReport, StudyError> {
    let p = setup
        .profile
        .as_ref()
        .ok_or(StudyError::NoProfile("latency"))?;
    let mut report = StudyReport::new("latency", SURINENI, profile_device(p), setup);
    let (single, double) = (
        "Single precision, cycles (table IV)",
        "Double precision, cycles (table V)",
    );
    report
        .tables
        .push(table(p, "single", single, &SINGLE_LATENCY, true));
    report
        .tables
        .push(table(p, "double", double, &DOUBLE_LATENCY, false));
    report.plots.push(Plot {
        name: "cycles".into(),
        title: format!("Latencies, {} beside older generations", p.gpu),
        panels: vec![
            panel(p, "single precision", &SINGLE_LATENCY),
            panel(p, "double precision", &DOUBLE_LATENCY),
        ],
    });
    report.findings = findings(p);
    report.notes.push(
        "The publication's sin and cos are the bare instruction; the profile's are the accurate function and, \
         as fast, the instruction."
            .into(),
    );
    Ok(report)
}

/// A claim about pairs of numbers, each with a name.
pub(super) fn judge(
    claim: &str,
    place: &str,
    pairs: Vec<(String, f64, f64)>,
    holds: impl Fn(f64, f64) -> bool,
) -> Finding {
    let good = pairs.iter().filter(|p| holds(p.1, p.2)).count();
    let mut shown: Vec<String> = pairs
        .iter()
        .filter(|p| !holds(p.1, p.2))
        .chain(pairs.iter().filter(|p| holds(p.1, p.2)))
        .take(4)
        .map(|p| format!("{} {} against {}", p.0, short(p.1), short(p.2)))
        .collect();
    if pairs.len() > shown.len() {
        shown.push("...".into());
    }
    let ratios: Vec<f64> = pairs.iter().map(|p| ratio(p.1, p.2)).collect();
    let evidence = match pairs.is_empty() {
        true => "the profile does not have the figures".into(),
        false => format!(
            "as claimed for {good} of {}, ratio {}: {}",
            pairs.len(),
            span(&ratios),
            shown.join(", ")
        ),
    };
    Finding::new(
        claim,
        place,
        FindingVerdict::by_cases(good, pairs.len()),
        evidence,
    )
}

fn findings(p: &DeviceProfile) -> Vec<Finding> {
    let place = "section 3.2, tables IV and V";
    let against = |rows: &[Latency], g: usize| -> Vec<(String, f64, f64)> {
        rows.iter()
            .filter(|r| r.instruction != "sin, cos")
            .filter_map(|r| {
                Some((
                    r.instruction.to_owned(),
                    cycles(p, r.keys[0])?,
                    r.standard[g],
                ))
            })
            .collect()
    };
    let both = |a: &str, b: &str, name: &str| {
        Some((name.to_owned(), cycles(p, Some(a))?, cycles(p, Some(b))?))
    };
    let fast = SINGLE_LATENCY
        .iter()
        .filter_map(|r| both(r.keys[1]?, r.keys[0]?, r.instruction))
        .collect();
    let simple: Vec<_> = ["add", "mul", "fma"]
        .iter()
        .filter_map(|f| both(&format!("{f}.f64"), &format!("{f}.f32"), f))
        .collect();
    let special = ["rcp", "sqrt", "sin", "exp2", "log2", "pow"]
        .iter()
        .filter_map(|f| both(&format!("{f}.f64"), &format!("{f}.f32"), f))
        .collect();
    let fused = ["f32", "f64"]
        .iter()
        .filter_map(|f| {
            let of = |name: &str| cycles(p, Some(&format!("{name}.{f}")));
            Some((format!("fma.{f}"), of("fma")?, of("mul")? + of("add")?))
        })
        .collect();
    vec![
        judge(
            "single-precision latencies get better with every generation: no worse than Pascal's",
            place,
            against(&SINGLE_LATENCY, 3),
            |a, b| a <= b,
        ),
        judge(
            "double-precision latencies are those of Maxwell and Pascal or worse",
            place,
            against(&DOUBLE_LATENCY, 3),
            |a, b| a >= b,
        ),
        judge(
            "a double operation takes at least four times as long as a single one, as on Maxwell and Pascal",
            place,
            simple.clone(),
            |a, b| a >= 4.0 * b,
        ),
        judge(
            "double and single operations take similar times (within a half), as on Kepler",
            place,
            simple,
            |a, b| a <= 1.5 * b,
        ),
        judge(
            "a fused multiply-add takes less than a multiplication and an addition",
            "section 3.2.1",
            fused,
            |a, b| a < b,
        ),
        judge(
            "fast versions take less than standard ones",
            "section 3.2.2",
            fast,
            |a, b| a < b,
        ),
        judge(
            "double special functions take longer than single ones",
            "section 3.2.3",
            special,
            |a, b| a > b,
        ),
    ]
}

//! Every study in its smallest form on the CPU executor, its findings checked for consistency.
use crate::common;

use common::setup;
use kerf_device::profile::{
    Accuracy, CoIssue, Coverage, DeviceProfile, Figure, FigureSource, Limits, OperationProfile,
    ProfileOrigin, SCHEMA, VERSION,
};
use kerf_study::finding::FindingVerdict;
use kerf_study::report::StudyReport;
use kerf_study::table::{Table, TableCell};
use kerf_study::{Setup, StudyError, names, run};
use std::collections::BTreeMap;

fn tiny(name: &str) -> StudyReport {
    let r = run(name, &setup(None)).expect("runs");
    well_formed(&r);
    r
}

/// Parses a line of CSV as written here: quotes only around fields that need them.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    all.push(field);
    all
}

fn well_formed(r: &StudyReport) {
    let files = r.files();
    for t in &r.tables {
        let name = format!("{}-{}.csv", r.study, t.name);
        let (_, csv) = files.iter().find(|f| f.0 == name).expect("a CSV file");
        let lines: Vec<Vec<String>> = csv.lines().map(fields).collect();
        assert_eq!(lines[0], t.columns);
        assert_eq!(lines.len(), t.rows.len() + 1);
        for (line, row) in lines[1..].iter().zip(&t.rows) {
            assert_eq!(line.len(), t.columns.len());
            for (field, cell) in line.iter().zip(row) {
                match cell {
                    TableCell::Real(x) => assert_eq!(field.parse::<f64>(), Ok(*x)),
                    TableCell::Integer(n) => assert_eq!(field.parse::<u64>(), Ok(*n)),
                    TableCell::Text(t) => assert_eq!(field, t),
                    TableCell::Missing => assert_eq!(field, ""),
                }
            }
        }
    }
    assert!(!r.plots.is_empty());
    for (name, svg) in files.iter().filter(|f| f.0.ends_with(".svg")) {
        assert!(
            svg.starts_with("<svg") && svg.ends_with("</svg>\n"),
            "{name}"
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
    }
    let summary = r.summary();
    for f in &r.findings {
        assert!(summary.contains(&f.claim) && !f.evidence.is_empty());
    }
    assert!(!summary.contains('\n'));
    assert_eq!(r.json()["schema"], "kerf.study/1");
}

fn column(t: &Table, name: &str) -> usize {
    t.columns.iter().position(|c| c == name).expect("column")
}

/// Errors of a number type, by row.
fn errors(r: &StudyReport, table: usize, label: &str) -> Vec<f64> {
    let t = &r.tables[table];
    let (number, error) = (column(t, "number"), 3);
    t.rows
        .iter()
        .filter(|row| row[number] == TableCell::from(label))
        .map(|row| match row[error] {
            TableCell::Real(x) => x,
            ref other => panic!("{other:?} is no error"),
        })
        .collect()
}

fn each_below(r: &StudyReport, a: &str, b: &str, factor: f64) {
    let (x, y) = (errors(r, 0, a), errors(r, 0, b));
    assert!(!x.is_empty());
    for (x, y) in x.iter().zip(&y) {
        assert!(*x < factor * y, "{a} {x:e}, {b} {y:e}");
    }
}

fn verdict(r: &StudyReport, claim: &str) -> FindingVerdict {
    let f = r.findings.iter().find(|f| f.claim.contains(claim));
    f.unwrap_or_else(|| panic!("no finding {claim}")).verdict
}

#[test]
fn summation() {
    let r = tiny("summation");
    each_below(&r, "double2", "double", 1e-12);
    each_below(&r, "float2", "float", 1e-5);
    each_below(&r, "float2_cmp", "float", 1e-3);
    each_below(&r, "double", "float2", 1.0);
    assert_eq!(
        verdict(&r, "composite sums are at least"),
        FindingVerdict::Holds
    );
    assert_eq!(
        verdict(&r, "float2 is less accurate"),
        FindingVerdict::Holds
    );
    // No time on the CPU executor: neither in the table nor in a verdict.
    assert_eq!(verdict(&r, "float2 is as slow"), FindingVerdict::NotJudged);
    let t = &r.tables[0];
    let time = column(t, "time_s");
    assert!(t.rows.iter().all(|row| row[time] == TableCell::Missing));
    assert!(r.summary().contains("No time was measured"));
}

#[test]
fn products() {
    let r = tiny("products");
    // The composite product drops the rounding error of the high product, so it gains nothing.
    for (cmp, word) in [("float2_cmp", "float"), ("double2_cmp", "double")] {
        for (a, b) in errors(&r, 0, cmp).iter().zip(errors(&r, 0, word)) {
            assert!((0.3..3.0).contains(&(a / b)), "{cmp} {a:e} {b:e}");
        }
    }
    each_below(&r, "float2", "float", 1e-5);
    each_below(&r, "double2", "double", 1e-14);
    assert_eq!(verdict(&r, "no more accurate"), FindingVerdict::Holds);
}

#[test]
fn do_undo() {
    let r = tiny("do-undo");
    each_below(&r, "float2", "float", 1e-5);
    each_below(&r, "double2", "double", 1e-12);
    // Composite division is no better than its word within a factor of ten.
    each_below(&r, "float", "float2_cmp", 10.0);
    each_below(&r, "double", "double2_cmp", 10.0);
}

#[test]
fn exponential() {
    let r = tiny("exponential");
    let first = |label: &str| errors(&r, 0, label)[0];
    assert!(first("float2") < 1e-5 * first("float"));
    assert!(first("double2") < 1e-12 * first("double"));
    assert!((0.5..2.0).contains(&(first("float2_cmp_bf") / first("float"))));
    assert_eq!(
        verdict(&r, "fails for large arguments"),
        FindingVerdict::Holds
    );
    // exp(x) by its series needs about as many terms as published, in the range of figure 15.
    let terms = &r.tables[1];
    let mean = column(terms, "mean");
    let small = terms
        .rows
        .iter()
        .find(|row| row[0] == TableCell::from("0..1"));
    match small.expect("row")[mean] {
        TableCell::Real(m) => assert!((14.0..20.0).contains(&m), "{m}"),
        ref other => panic!("{other:?}"),
    }
    // Table VII: the built-in float version has two ex2 for the composite one's two words, no loop.
    let ptx = &r.tables[2];
    let ex2 = column(ptx, "ex2");
    let count = |label: &str| {
        let row = ptx.rows.iter().find(|row| row[0] == TableCell::from(label));
        row.expect("row")[ex2].clone()
    };
    assert_eq!(count("float"), TableCell::Integer(1));
    assert_eq!(count("float2_cmp_bf"), TableCell::Integer(2));
    assert_eq!(count("double2"), TableCell::Integer(0));
}

#[test]
fn gaussian_and_lud() {
    for name in ["gaussian", "lud"] {
        let r = tiny(name);
        each_below(&r, "double", "float", 1e-3);
        each_below(&r, "float2", "float", 1e-4);
        each_below(&r, "double2", "double", 1e-10);
        assert_eq!(
            verdict(&r, "with the proven algorithms"),
            FindingVerdict::Holds
        );
    }
}

#[test]
fn lavamd() {
    let r = tiny("lavamd");
    each_below(&r, "double", "float", 1e-3);
    each_below(&r, "float2", "float", 1e-4);
    each_below(&r, "double2", "double", 1e-10);
    each_below(&r, "double2_cmp_bf", "double", 1.0);
}

#[test]
fn the_same_seed_gives_the_same_result() {
    let (a, b) = (tiny("do-undo"), tiny("do-undo"));
    assert_eq!(a.json(), b.json());
    let other = Setup {
        seed: 2,
        ..setup(None)
    };
    let c = run("do-undo", &other).expect("runs");
    assert_ne!(a.tables, c.tables);
}

/// A device made up for the tests.
fn profile() -> DeviceProfile {
    let mut operations = BTreeMap::new();
    let mut put = |key: &str, latency: f64, throughput: f64, error: f64, energy: f64| {
        let o = OperationProfile {
            latency: Figure::measured(latency),
            throughput: Figure::measured(throughput),
            energy_pj: Figure::measured(energy),
            accuracy: Some(Accuracy {
                source: FigureSource::Measured,
                coverage: Coverage::Stratified,
                arguments: 1,
                max_ulp_rounded: None,
                max_ulp_real: None,
                mean_ulp_real: None,
                mean_ulp_rounded: None,
                max_rel: Some(2.0 * error),
                mean_rel: Some(error),
                max_abs: None,
                misrounded: None,
                special_mismatches: 0,
                worst: None,
                binades: Vec::new(),
                bounds: Vec::new(),
                note: None,
            }),
            ..OperationProfile::default()
        };
        operations.insert(key.to_owned(), o);
    };
    for (f, latency, per_clock) in [("f32", 4.0, 128.0), ("f64", 8.0, 64.0)] {
        for name in ["add", "mul", "fma", "min"] {
            put(&format!("{name}.{f}"), latency, per_clock, 0.0, 1.0);
        }
        for name in ["div", "rcp", "sqrt", "rsqrt"] {
            put(&format!("{name}.{f}"), 20.0 * latency, 4.0, 1e-9, 20.0);
            put(&format!("{name}.{f}.sfu"), 5.0 * latency, 16.0, 1e-7, 5.0);
        }
    }
    DeviceProfile {
        schema: SCHEMA.into(),
        version: VERSION,
        name: "made-up".into(),
        gpu: "Made Up".into(),
        arch: "9.0".into(),
        origin: ProfileOrigin::default(),
        sources: BTreeMap::new(),
        limits: Limits {
            sms: Figure::measured(100.0),
            clock_mhz: Figure::measured(2000.0),
            ..Limits::default()
        },
        operations,
        co_issue: vec![CoIssue {
            first: "add.f32".into(),
            second: "add.f64".into(),
            together: Figure::measured(128.0),
            serialisation: Figure::measured(0.5),
        }],
    }
}

#[test]
fn latency_from_a_profile() {
    let r = run("latency", &setup(Some(profile()))).expect("runs");
    well_formed(&r);
    // 8 against 4 cycles: neither Kepler's likeness nor Maxwell's distance.
    assert_eq!(verdict(&r, "at least four times"), FindingVerdict::Fails);
    assert_eq!(verdict(&r, "take similar times"), FindingVerdict::Fails);
    assert_eq!(verdict(&r, "a fused multiply-add"), FindingVerdict::Holds);
    assert_eq!(verdict(&r, "fast versions"), FindingVerdict::Holds);
    // add 4 against Pascal's 6, but rcp 80 against 80 and div 80 against 338: all no worse.
    assert_eq!(verdict(&r, "with every generation"), FindingVerdict::Holds);
    let t = &r.tables[0];
    assert_eq!(t.rows[0][column(t, "made-up")], TableCell::Real(4.0));
    // What the profile does not have is missing, not zero.
    let pow = t.rows.last().expect("rows");
    assert_eq!(pow[column(t, "made-up")], TableCell::Missing);
}

#[test]
fn sfu_functions_from_a_profile() {
    let r = run("sfu-functions", &setup(Some(profile()))).expect("runs");
    well_formed(&r);
    assert_eq!(verdict(&r, "mean error is small"), FindingVerdict::Holds);
    assert_eq!(
        verdict(&r, "higher throughput in single"),
        FindingVerdict::Holds
    );
    // Throughput 16 to 4, latency 20 to 5: the same ratio, so not greater.
    assert_eq!(verdict(&r, "greater difference"), FindingVerdict::Fails);
    assert_eq!(
        verdict(&r, "double precision takes more energy"),
        FindingVerdict::Fails
    );
    let t = &r.tables[0];
    let (device, gops) = (column(t, "device"), column(t, "gops_per_sm"));
    let mine = t
        .rows
        .iter()
        .find(|row| row[device] == TableCell::from("made-up"));
    assert_eq!(mine.expect("row")[gops], TableCell::Real(8.0));
}

#[test]
fn mixed_throughput_from_a_profile() {
    let r = run("mixed-throughput", &setup(Some(profile()))).expect("runs");
    well_formed(&r);
    assert_eq!(verdict(&r, "twice as fast"), FindingVerdict::Holds);
    assert_eq!(verdict(&r, "at least 20 times"), FindingVerdict::Fails);
    let t = &r.tables[0];
    // 2 x 128 x 100 SMs x 2 GHz.
    assert_eq!(t.rows[0][2], TableCell::Real(51.2e12));
    assert_eq!(t.rows[4][2], TableCell::Real(25.6e12));
}

#[test]
fn what_cannot_be_run_is_refused() {
    assert!(
        matches!(run("sumation", &setup(None)), Err(StudyError::Unknown(n)) if n == "sumation")
    );
    assert!(matches!(
        run("latency", &setup(None)),
        Err(StudyError::NoProfile("latency"))
    ));
    assert_eq!(names().len(), 11);
}

/// All deployments find the same, whatever the form of the test.
#[test]
fn table_makers_dilemma() {
    let r = run("table-makers-dilemma", &setup(None)).expect("runs");
    assert_eq!(r.tables.len(), 4);
    assert_eq!(
        verdict(&r, "the same number of cases"),
        FindingVerdict::Holds
    );
    assert_eq!(verdict(&r, "fewer and fewer"), FindingVerdict::Holds);
    assert_eq!(
        verdict(&r, "three kernels are faster"),
        FindingVerdict::NotJudged
    );
    assert!(r.summary().contains("2^40"));
}

//! Strong scaling of the hard-to-round search over processes of this machine, for the study of the Table Maker's
//! Dilemma.
use crate::fail::Failure;
use crate::progress;
use kerf_study::Scale;
use kerf_study::finding::{Finding, FindingVerdict, short};
use kerf_study::report::StudyReport;
use kerf_study::studies::dilemma::BITS;
use kerf_study::table::{Table, TableCell};
use std::process::Command;

/// Published: cores, and how many times as fast they were as one.
const PUBLISHED: (usize, f64) = (12, 11.3);

/// Seconds that processes, of one thread each, take for the same range, without their start.
fn seconds(processes: usize, bits: u32) -> Result<(f64, u64), Failure> {
    let fail = |why: String| Failure::new(format!("the search over processes failed: {why}"));
    let program = std::env::current_exe().map_err(|e| fail(e.to_string()))?;
    let to = format!("{}", 1.0 + 2f64.powi(bits as i32 - 52));
    let out = Command::new(program)
        .args([
            "hardround",
            "exp",
            "--from",
            "1",
            "--to",
            &to,
            "--threads",
            "1",
        ])
        .args(["--bits", &BITS.to_string(), "--format", "json", "--yes"])
        .args(["--processes", &processes.to_string()])
        .output()
        .map_err(|e| fail(e.to_string()))?;
    let v: serde_json::Value = serde_json::from_slice(&out.stdout)
        .map_err(|_| fail(String::from_utf8_lossy(&out.stderr).into_owned()))?;
    let cases = v["cases"].as_array().map_or(0, |c| c.len() as u64);
    match v["seconds"].as_f64() {
        Some(s) => Ok((s, cases)),
        None => Err(fail("no time in its result".into())),
    }
}

/// Adds the table and what it says to the report.
pub fn add(report: &mut StudyReport, scale: Scale) -> Result<(), Failure> {
    let bits = match scale {
        Scale::Tiny | Scale::Quick => 38,
        Scale::Full => 42,
        Scale::Large => 44,
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut t = Table::new(
        "scaling",
        &format!("Strong scaling over processes of one thread, 2^{bits} arguments"),
        &["processes", "seconds", "times_as_fast", "cases"],
    );
    let mut one = None;
    let mut last;
    let mut counts = Vec::new();
    let mut n = 1;
    loop {
        progress::line(&format!("{}: {n} processes", report.study));
        let (s, cases) = seconds(n, bits)?;
        let faster = *one.get_or_insert(s) / s;
        t.rows.push(vec![
            TableCell::Integer(n as u64),
            TableCell::Real(s),
            TableCell::Real(faster),
            TableCell::Integer(cases),
        ]);
        last = (n, faster);
        counts.push(cases);
        if n >= cores {
            break;
        }
        n = (2 * n).min(cores);
    }
    report.tables.push(t);
    let (n, faster) = last;
    let verdict = match n > 1 {
        true => FindingVerdict::by_cases(usize::from(faster > 0.8 * n as f64), 1),
        false => FindingVerdict::NotJudged,
    };
    report.findings.push(Finding::new(
        "the search scales with processes (at least 0.8 of their number)",
        "figure of strong scaling",
        verdict,
        format!(
            "{n} processes are {} times as fast as one, published {} on {} cores; the same {} cases each time: {}",
            short(faster),
            PUBLISHED.1,
            PUBLISHED.0,
            counts[0],
            if counts.iter().all(|c| *c == counts[0]) { "yes" } else { "no" },
        ),
    ));
    Ok(())
}

//! `kerf hardround verify`: a certificate checked.
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use crate::progress;
use kerf_hardround::certificate::CertificateRecord;
use kerf_hardround::certificate::Written;
use kerf_hardround::format::{hex, parse};
use kerf_hardround::units::Units;
use kerf_hardround::verify::{CertificateVerdict, VerifyOptions, verify};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Mistakes that are shown.
const SHOWN: usize = 20;

/// Arguments.
#[derive(clap::Args)]
pub struct Args {
    /// Certificate of a search.
    certificate: PathBuf,
    /// Stretches that are searched again, of each piece.
    #[arg(long, default_value_t = 4, allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    samples: u64,
    /// Search everything again by another method: interpolated MPFR values and Lefevre's test in integers.
    #[arg(long, conflicts_with = "samples")]
    all: bool,
    /// The list that belongs to the certificate: it has to have the same cases.
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// Threads; 0 for all cores.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = crate::parse_threads)]
    threads: usize,
    /// Seed of their places.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = crate::parse_seed)]
    seed: u64,
}

/// Verifies, and says how far that is.
fn checked(a: &Args, record: &CertificateRecord) -> CertificateVerdict {
    let options = VerifyOptions {
        samples: (!a.all).then_some(a.samples),
        seed: a.seed,
        threads: super::threads(a.threads),
    };
    let mut said = Instant::now();
    let v = verify(record, options, &mut |share| {
        if said.elapsed() >= super::search::PROGRESS_AFTER {
            said = Instant::now();
            progress::status(&format!("verifying: {:.1} % of the units", 100.0 * share));
        }
    });
    progress::clear();
    v
}

/// Compares the list with the cases of the certificate, zero aside: it is part of no unit.
fn compare_list(
    record: &CertificateRecord,
    list: &Path,
    v: &mut CertificateVerdict,
) -> Result<(), Failure> {
    let zero = record.header.query().is_some_and(|(q, ..)| {
        Units::from_header(&record.header, &q).is_ok_and(|u| {
            let value = u.at_zero(&q).and_then(Result::ok);
            value.is_some_and(|v| v.k >= Some(q.bits))
        })
    });
    let lines = record.groups.iter().flat_map(|g| &g.cases);
    let cases = lines.filter_map(|l| parse(&Written::from_line(l)?.x));
    let mut certified: BTreeSet<u64> = cases.map(f64::to_bits).collect();
    if zero {
        certified.insert(0f64.to_bits());
    }
    // A search without cases writes a list without arguments.
    let listed: BTreeSet<u64> = match super::read_list(list) {
        Ok(l) => l.arguments.into_iter().map(f64::to_bits).collect(),
        Err(_) if certified.is_empty() && list.is_file() => BTreeSet::new(),
        Err(e) => return Err(e),
    };
    let name = list.display();
    for x in certified.difference(&listed) {
        let x = hex(f64::from_bits(*x));
        v.mistakes.push(format!("{x} is not in {name}"));
    }
    for x in listed.difference(&certified) {
        let x = hex(f64::from_bits(*x));
        v.mistakes
            .push(format!("{x} of {name} is not in the certificate"));
    }
    Ok(())
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let path = a.certificate.display();
    let text = std::fs::read_to_string(&a.certificate).map_err(|e| {
        Failure::new(format!("cannot read {path}: {e}")).help("check the path and its permissions")
    })?;
    let record = CertificateRecord::parse(&text).map_err(|e| {
        Failure::new(format!("{path}: {e}"))
            .help("a certificate is what kerf hardround writes beside --out")
    })?;
    let mut v = checked(a, &record);
    if let Some(list) = &a.list {
        compare_list(&record, list, &mut v)?;
    }
    let right = v.mistakes.is_empty();
    let h = &record.header;
    if format == Format::Json {
        say(&format!(
            "{}\n",
            serde_json::json!({
                "schema": "kerf.hardround-verify/1",
                "certificate": h,
                "right": right,
                "units": v.units,
                "cases": v.cases,
                "stretches": v.stretches,
                "arguments": v.arguments.to_string(),
                "evaluated": v.evaluated,
                "uniform": v.uniform,
                "expected": v.expected,
                "mistakes": v.mistakes,
            })
        ))?;
        return Ok(i32::from(!right));
    }
    let verdict = match right {
        true => style.good("right"),
        false => style.bad("wrong"),
    };
    let mut out = format!(
        "{}: {} on [{}, {}), {} bits: {verdict}\n",
        path, h.function, h.from, h.to, h.bits
    );
    let away = (v.tested_cases as f64 - v.expected) / v.expected.sqrt();
    let away = match v.expected >= 10.0 {
        true => format!(", {away:+.1} standard deviations from that"),
        false => String::new(),
    };
    out += &format!(
        "{} of {} units, {} cases computed again ({} where the test was used; chance would give {:.1}{away}), {} arguments in {} stretches searched again, {} pieces proven to be uniform, {} values computed\n",
        v.units,
        h.units,
        v.cases,
        v.tested_cases,
        v.expected,
        v.arguments,
        v.stretches,
        v.uniform,
        v.evaluated
    );
    for m in v.mistakes.iter().take(SHOWN) {
        out += &format!("  {m}\n");
    }
    if v.mistakes.len() > SHOWN {
        out += &format!("  and {} more\n", v.mistakes.len() - SHOWN);
    }
    say(&out)?;
    Ok(i32::from(!right))
}

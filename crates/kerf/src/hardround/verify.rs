//! `kerf hardround verify`: a certificate checked.
use crate::fail::Failure;
use crate::output::{Format, Style, say};
use kerf_hardround::certificate::CertificateRecord;
use kerf_hardround::verify::verify;
use std::path::PathBuf;

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
    /// Search everything again, stretch by stretch: slow, and for short ranges.
    #[arg(long, conflicts_with = "samples")]
    all: bool,
    /// Seed of their places.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = crate::parse_seed)]
    seed: u64,
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
    let shown = crate::progress::Work::begin("verifying the certificate");
    let v = verify(&record, if a.all { u64::MAX } else { a.samples }, a.seed);
    drop(shown);
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
        "{} of {} units, {} cases computed again ({} where the test was used; chance would give {:.1}{away}), {} stretches of {} arguments searched again, {} pieces proven to be uniform, {} values computed\n",
        v.units,
        h.units,
        v.cases,
        v.tested_cases,
        v.expected,
        v.stretches,
        v.arguments,
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

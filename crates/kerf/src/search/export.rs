//! `kerf search export`: evaluations in the formats of other tuners.
use super::{read, unusable};
use crate::fail::Failure;
use crate::output::{Format, note, say};
use kerf_search::exchange::{self, Tuning, kernel_tuner, pack, t1, t4};
use kerf_search::recorded::{RecordedSpace, json};
use kerf_search::space::Space;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum To {
    /// A cache of Kernel Tuner.
    Kerneltuner,
    /// T4: results.
    T4,
    /// T1: the parameters alone.
    T1,
    /// Kerf's own search space.
    Kerf,
}

#[derive(clap::Args)]
pub struct ExportArgs {
    /// A result folder of `kerf tune`, or a recorded space in any format.
    from: PathBuf,
    /// The format to write.
    #[arg(long, value_enum)]
    to: To,
    /// File to write, compressed if it ends in .gz; standard output by default.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(a: &ExportArgs, format: Format) -> Result<i32, Failure> {
    let tuning = match a.from.is_dir() {
        true => folder(&a.from)?,
        false => file(&a.from)?,
    };
    let text = match a.to {
        To::Kerneltuner => kernel_tuner::write(&tuning),
        To::T4 => t4::write(&tuning).to_string(),
        To::T1 => {
            note(
                "T1 describes parameters; which combinations exist is not in recorded results, so it has no conditions",
            );
            let space = Space::new(tuning.params.clone());
            format!("{:#}", t1::write(&space, t1::specification(&tuning)))
        }
        To::Kerf => {
            let r = RecordedSpace::from_tuning(&tuning, None).map_err(|e| unusable(&a.from, &e))?;
            r.json().map_err(|e| unusable(&a.from, &e))?
        }
    };
    let Some(out) = &a.out else {
        say(&format!("{text}\n"))?;
        return Ok(0);
    };
    let zipped = out.extension().is_some_and(|e| e == "gz");
    let bytes = match zipped {
        true => pack(text.as_bytes()).map_err(|e| unwritten(out, &e))?,
        false => text.into_bytes(),
    };
    kerf_files::write_whole(out, bytes).map_err(|e| unwritten(out, &e))?;
    let n = tuning.entries.len();
    match format {
        Format::Json => {
            let v =
                serde_json::json!({ "schema": "kerf.search-export/1", "file": out, "entries": n });
            say(&format!("{v}\n"))?;
        }
        Format::Human | Format::Csv => say(&format!("{n} entries in {}\n", out.display()))?,
    }
    Ok(0)
}

fn unwritten(out: &Path, e: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {e}", out.display())).help("choose another --out")
}

fn file(path: &Path) -> Result<Tuning, Failure> {
    let bytes = read(path)?;
    let value = json(&bytes).map_err(|e| unusable(path, &e))?;
    match exchange::read(&value).map_err(|e| unusable(path, &e))? {
        Some(t) => Ok(t),
        None => {
            let r = RecordedSpace::parse(&bytes).map_err(|e| unusable(path, &e))?;
            let mut t = r.tuning(None);
            t.remark = OVER.to_owned();
            Ok(t)
        }
    }
}

/// What times are where nobody measured the program itself in seconds.
const OVER: &str = "times are over that of the program as it is, not in milliseconds";

/// Everything that a `kerf tune` ran.
fn folder(dir: &Path) -> Result<Tuning, Failure> {
    let space = dir.join("space.json");
    if !space.exists() {
        return Err(Failure::new(format!("{} has no space.json", dir.display()))
            .help("name the result folder of a `kerf tune` that ended, or a recorded space"));
    }
    let r = RecordedSpace::parse(&read(&space)?).map_err(|e| unusable(&space, &e))?;
    let result = dir.join("result.json");
    let about: Value = match result.exists() {
        true => serde_json::from_slice(&read(&result)?).map_err(|e| unusable(&result, &e))?,
        false => Value::Null,
    };
    let speedup = &about["speedup"];
    let baseline = speedup["timing"]["baseline_s"].as_f64();
    let measured = speedup["kind"] == "measured";
    let unit = baseline.filter(|_| measured).map(|s| 1e3 * s);
    let mut t = r.tuning(unit);
    if let Some(w) = about["workload"].as_str() {
        t.kernel = w.to_owned();
    }
    if let Some(d) = about["device"].as_str() {
        t.device = d.to_owned();
    }
    t.remark = match (unit, speedup["by"].as_str()) {
        (Some(_), _) => String::new(),
        (None, Some(by)) if !measured => format!("{OVER}; predicted by {by}, not measured"),
        (None, _) => OVER.to_owned(),
    };
    if !t.remark.is_empty() {
        note(&t.remark);
    }
    Ok(t)
}

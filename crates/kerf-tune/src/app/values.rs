//! The numbers of a run that are compared: by a pattern, from a file, or all that came from the device.
use super::run::Ran;
use kerf_num::{Dd, Format, Metric};
use regex_lite::Regex;
use std::path::{Path, PathBuf};

/// Where the numbers are.
#[derive(Debug, Clone)]
pub enum Source {
    /// Standard output, by a pattern: its groups, or the first number of each match.
    Stdout(Regex),
    /// A file: `.npy`, raw scalars of a type, or text.
    File(PathBuf, Option<Format>),
    /// Everything that was copied from the device.
    Copies,
}

impl Source {
    /// In words.
    pub fn describe(&self) -> String {
        match self {
            Source::Stdout(r) => format!("numbers of standard output that match `{}`", r.as_str()),
            Source::File(p, None) => format!("the numbers of {}", p.display()),
            Source::File(p, Some(f)) => format!("{}, as {f}", p.display()),
            Source::Copies => "everything that is copied from the device to the host".into(),
        }
    }
}

/// The numbers of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    /// Floating-point numbers.
    pub floats: Vec<f64>,
    /// Integers, as bytes.
    pub exact: Vec<u8>,
    /// Bytes whose type nobody knows.
    pub unknown: usize,
}

/// Why there are no numbers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoValues {
    /// The pattern.
    #[error("nothing in the application's output matches `{0}`")]
    NoMatch(String),
    /// The pattern matches words.
    #[error("what matches `{0}` has no number in it")]
    NoNumber(String),
    /// The file.
    #[error("{0}: {1}")]
    File(String, String),
    /// Copies.
    #[error("the application copied no floating-point numbers from the device")]
    NoCopies,
    /// Too much was copied.
    #[error("the application copied more than 1 GiB from the device")]
    TooMuch,
}

/// The numbers in a text.
fn numbers(text: &str) -> Vec<f64> {
    text.split(|c: char| c.is_whitespace() || ",;:()[]{}=".contains(c))
        .filter_map(|w| w.parse().ok())
        .collect()
}

fn by_pattern(r: &Regex, text: &str) -> Vec<f64> {
    let mut out = Vec::new();
    for c in r.captures_iter(text) {
        if c.len() > 1 {
            let groups = c.iter().skip(1).flatten();
            out.extend(groups.filter_map(|g| g.as_str().trim().parse::<f64>().ok()));
        } else if let Some(all) = c.get(0) {
            out.extend(numbers(all.as_str()).first());
        }
    }
    out
}

fn decode(bytes: &[u8], f: Format) -> impl Iterator<Item = f64> + '_ {
    bytes.chunks_exact(f.bytes()).map(move |c| {
        let mut b = [0u8; 8];
        b[..c.len()].copy_from_slice(c);
        f.decode(u64::from_le_bytes(b))
    })
}

/// A format by its name.
pub fn format_named(s: &str) -> Option<Format> {
    Some(match s {
        "f64" | "double" => Format::F64,
        "f32" | "float" => Format::F32,
        "f16" => Format::F16,
        "bf16" => Format::Bf16,
        _ => return None,
    })
}

fn from_file(path: &Path, raw: Option<Format>) -> Result<Values, NoValues> {
    let bad = |why: String| NoValues::File(path.display().to_string(), why);
    let mut v = Values::default();
    if path.extension().is_some_and(|e| e == "npy") {
        let a = kerf_workload::npy::read(path).map_err(|e| bad(e.to_string()))?;
        let name = a.header.type_name();
        let elem = kerf_workload::elem::ElemType::parse(&name)
            .ok_or_else(|| bad(format!("its elements are {name}")))?;
        for at in (0..a.bytes.len()).step_by(elem.size().max(1)) {
            for (o, s) in elem.scalars() {
                let part = &a.bytes[at + o..at + o + s.bytes()];
                match format_named(&s.to_string()) {
                    Some(f) => v.floats.extend(decode(part, f)),
                    None => v.exact.extend(part),
                }
            }
        }
        return Ok(v);
    }
    let bytes = std::fs::read(path).map_err(|e| bad(e.to_string()))?;
    if raw.is_none() && bytes.contains(&0) {
        return Err(bad(
            "it is binary; say what it holds, e.g. FILE:f64 or FILE:f32".into(),
        ));
    }
    v.floats = match raw {
        Some(f) => decode(&bytes, f).collect(),
        None => numbers(&String::from_utf8_lossy(&bytes)),
    };
    match v.floats.is_empty() {
        true => Err(bad("there are no numbers in it".into())),
        false => Ok(v),
    }
}

fn from_copies(ran: &Ran, folder: &Path) -> Result<Values, NoValues> {
    if ran.trace.truncated {
        return Err(NoValues::TooMuch);
    }
    let path = folder.join("copies.bin");
    let data = std::fs::read(&path)
        .map_err(|e| NoValues::File(path.display().to_string(), e.to_string()))?;
    let mut v = Values::default();
    for c in &ran.trace.copies {
        let bytes = data
            .get(c.offset as usize..c.offset as usize + c.bytes)
            .unwrap_or_default();
        let Some((scalars, size)) = c.element.as_ref().filter(|(s, n)| !s.is_empty() && *n > 0)
        else {
            v.unknown += bytes.len();
            continue;
        };
        // A copy may begin inside an element.
        let mut at = (*size - c.at % *size) as usize % *size as usize;
        while at + *size as usize <= bytes.len() {
            for (o, kind) in scalars {
                let from = at + *o as usize;
                match format_named(kind) {
                    Some(f) => v.floats.extend(decode(&bytes[from..from + f.bytes()], f)),
                    None if kind != "ptr" => {
                        let bits: usize = kind[1..].parse().unwrap_or(8);
                        let end = (from + bits.div_ceil(8)).min(bytes.len());
                        v.exact.extend(&bytes[from..end]);
                    }
                    None => {}
                }
            }
            at += *size as usize;
        }
    }
    match v.floats.is_empty() {
        true => Err(NoValues::NoCopies),
        false => Ok(v),
    }
}

/// The numbers of a run.
pub fn values(source: &Source, ran: &Ran, folder: &Path) -> Result<Values, NoValues> {
    match source {
        Source::Stdout(r) => {
            let floats = by_pattern(r, &ran.stdout);
            match floats.is_empty() {
                true if r.is_match(&ran.stdout) => Err(NoValues::NoNumber(r.as_str().to_owned())),
                true => Err(NoValues::NoMatch(r.as_str().to_owned())),
                false => Ok(Values {
                    floats,
                    ..Values::default()
                }),
            }
        }
        Source::File(p, raw) => from_file(p, *raw),
        Source::Copies => from_copies(ran, folder),
    }
}

/// The error of numbers against the reference's; in words where there is none.
pub fn error(
    got: &Values,
    reference: &Values,
    metric: Metric,
    floor: Option<f64>,
) -> Result<f64, String> {
    if got.floats.len() != reference.floats.len() {
        return Err(format!(
            "the output has {} numbers and that of the original program {}",
            got.floats.len(),
            reference.floats.len()
        ));
    }
    if got.exact != reference.exact {
        return Err("integers of the output differ from those of the original program".into());
    }
    let exact: Vec<Dd> = reference.floats.iter().map(|v| Dd::from(*v)).collect();
    let r = kerf_num::metrics::compare(&got.floats, &exact, Format::F64, floor)
        .map_err(|e| e.to_string())?;
    if r.has_mismatch() {
        return Err("NaN or infinity where the original program has none".into());
    }
    Ok(r.value(metric, 0.999))
}

/// The number that is furthest from the reference's by its size, in words.
pub fn worst(got: &Values, reference: &Values, floor: Option<f64>) -> String {
    let floor = floor.unwrap_or(0.0).max(f64::MIN_POSITIVE);
    let off = |(g, r): (&f64, &f64)| (g - r).abs() / r.abs().max(floor);
    let all = got.floats.iter().zip(&reference.floats).map(off);
    let most = all.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    match most {
        Some((i, _)) => format!(
            "number {} of {} is {:e} instead of {:e}",
            i + 1,
            reference.floats.len(),
            got.floats[i],
            reference.floats[i]
        ),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_pattern() {
        let text = "step 1 err 2.5e-3\nstep 2 err 1.5e-3\nPASS";
        let find = |p: &str| by_pattern(&Regex::new(p).expect("a pattern"), text);
        assert_eq!(find(r"err (\S+)"), [2.5e-3, 1.5e-3]);
        assert_eq!(find(r"step \d+ err"), [1.0, 2.0]);
        assert_eq!(find(r"step (\d+) err (\S+)"), [1.0, 2.5e-3, 2.0, 1.5e-3]);
        assert!(find("FAIL").is_empty());
    }

    #[test]
    fn errors_and_what_is_none() {
        let v = |f: &[f64]| Values {
            floats: f.to_vec(),
            ..Values::default()
        };
        let e = |a: &[f64], b: &[f64]| error(&v(a), &v(b), Metric::MaxRel, None);
        assert_eq!(e(&[1.0, 3.0], &[1.0, 2.0]), Ok(0.5));
        assert!(e(&[1.0], &[1.0, 2.0]).is_err());
        assert!(e(&[f64::NAN], &[1.0]).is_err());
    }

    #[test]
    fn the_worst_number_is_named() {
        let v = |f: &[f64]| Values {
            floats: f.to_vec(),
            ..Values::default()
        };
        let (got, reference) = (v(&[1.0, 2e-9, 5.0]), v(&[1.1, 1e-20, 4.0]));
        let said = worst(&got, &reference, None);
        assert_eq!(said, "number 2 of 3 is 2e-9 instead of 1e-20");
        let said = worst(&got, &reference, Some(1.0));
        assert_eq!(said, "number 3 of 3 is 5e0 instead of 4e0");
    }
}

//! The numbers of a run that are compared: by a pattern, from a file, or all that came from the device.
use super::run::Ran;
use kerf_num::metrics::Integers;
use kerf_num::{Format, Metric};
use regex_lite::Regex;
use std::path::{Path, PathBuf};

/// Where the numbers are.
#[derive(Debug, Clone)]
pub enum ValueSource {
    /// Standard output, by a pattern: its groups, or the first number of each match.
    Stdout(Regex),
    /// A file: `.npy`, raw scalars of a type, or text.
    File(PathBuf, Option<Format>),
    /// Everything that was copied from the device.
    Copies,
}

impl ValueSource {
    /// In words.
    pub fn describe(&self) -> String {
        match self {
            ValueSource::Stdout(r) => {
                format!("numbers of standard output that match `{}`", r.as_str())
            }
            ValueSource::File(p, None) => format!("the numbers of {}", p.display()),
            ValueSource::File(p, Some(f)) => format!("{}, as {f}", p.display()),
            ValueSource::Copies => "everything that is copied from the device to the host".into(),
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
    /// How wide these are in bytes, in runs of as many as follow each other.
    pub widths: Vec<(usize, usize)>,
    /// Bytes whose type nobody knows.
    pub unknown: usize,
    /// Of numbers that were printed: half a unit of the last digit of each, 0 where there is none to round.
    pub grains: Vec<f64>,
}

impl Values {
    /// Adds an integer.
    pub(super) fn integer(&mut self, bytes: &[u8]) {
        self.exact.extend(bytes);
        match self.widths.last_mut() {
            Some((width, count)) if *width == bytes.len() => *count += 1,
            _ => self.widths.push((bytes.len(), 1)),
        }
    }

    /// Integers against others of the same widths.
    pub(super) fn integers(&self, other: &Values) -> Integers {
        let mut all = Integers::default();
        let mut at = 0;
        for (width, count) in &self.widths {
            for _ in 0..*count {
                let one = at..at + width;
                let differ = self.exact.get(one.clone()) != other.exact.get(one);
                all.count += 1;
                all.mismatches += usize::from(differ);
                at += width;
            }
        }
        all
    }
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

/// A number and how finely it is printed: half a unit of its last digit, 0 for integers.
fn printed(word: &str) -> Option<(f64, f64)> {
    let number: f64 = word.parse().ok()?;
    let (digits, exponent) = match word.split_once(['e', 'E']) {
        Some((d, e)) => (d, e.parse().unwrap_or(0)),
        None => (word, 0),
    };
    let behind = digits.split_once('.').map(|(_, f)| f.len() as i32);
    let grain = match behind {
        _ if !number.is_finite() => 0.0,
        None if exponent == 0 => 0.0,
        _ => 0.5 * 10f64.powi(exponent - behind.unwrap_or(0)),
    };
    Some((number, grain))
}

/// The numbers in a text, as they are printed.
fn numbers(text: &str) -> Vec<(f64, f64)> {
    text.split(|c: char| c.is_whitespace() || ",;:()[]{}=".contains(c))
        .filter_map(printed)
        .collect()
}

fn by_pattern(r: &Regex, text: &str) -> Vec<(f64, f64)> {
    let mut out = Vec::new();
    for c in r.captures_iter(text) {
        if c.len() > 1 {
            let groups = c.iter().skip(1).flatten();
            out.extend(groups.filter_map(|g| printed(g.as_str().trim())));
        } else if let Some(all) = c.get(0) {
            out.extend(numbers(all.as_str()).first());
        }
    }
    out
}

/// What printed numbers cannot show: how many of them have a last digit that is coarser than the tolerance, and
/// the largest error that none of them would show. Nothing for measures of all numbers together.
pub fn unseen(v: &Values, metric: Metric, floor: Option<f64>, most: f64) -> Option<(usize, f64)> {
    let floor = floor.unwrap_or(0.0);
    let error = |(n, g): (&f64, &f64)| match metric {
        Metric::MaxAbs => *g,
        // An exact zero is what most programs mean by 0.000.
        Metric::MaxRel if n.abs().max(floor) > 0.0 => g / n.abs().max(floor),
        _ => 0.0,
    };
    let hidden = v.floats.iter().zip(&v.grains).map(error);
    let hidden: Vec<f64> = hidden.filter(|e| *e > most).collect();
    let worst = hidden.iter().copied().fold(0.0, f64::max);
    (!hidden.is_empty()).then_some((hidden.len(), worst))
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
                    None => v.integer(part),
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
    match raw {
        Some(f) => v.floats.extend(decode(&bytes, f)),
        None => {
            (v.floats, v.grains) = numbers(&String::from_utf8_lossy(&bytes))
                .into_iter()
                .unzip()
        }
    }
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
                        v.integer(&bytes[from..end]);
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
pub fn values(source: &ValueSource, ran: &Ran, folder: &Path) -> Result<Values, NoValues> {
    match source {
        ValueSource::Stdout(r) => {
            let (floats, grains): (Vec<_>, _) = by_pattern(r, &ran.stdout).into_iter().unzip();
            match floats.is_empty() {
                true if r.is_match(&ran.stdout) => Err(NoValues::NoNumber(r.as_str().to_owned())),
                true => Err(NoValues::NoMatch(r.as_str().to_owned())),
                false => Ok(Values {
                    floats,
                    grains,
                    ..Values::default()
                }),
            }
        }
        ValueSource::File(p, raw) => from_file(p, *raw),
        ValueSource::Copies => from_copies(ran, folder),
    }
}

/// The number that is furthest from the reference's by its size, in words; is it small beside the others?
pub fn worst(got: &Values, reference: &Values, floor: Option<f64>) -> (String, bool) {
    let floor = floor.unwrap_or(0.0).max(f64::MIN_POSITIVE);
    let off = |(g, r): (&f64, &f64)| (g - r).abs() / r.abs().max(floor);
    let all = got.floats.iter().zip(&reference.floats).map(off);
    let most = all.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    let sizes = reference.floats.iter().map(|r| r.abs());
    let mean = sizes.filter(|r| r.is_finite()).sum::<f64>() / reference.floats.len().max(1) as f64;
    match most {
        Some((i, _)) => (
            format!(
                "number {} of {} is {:e} instead of {:e}",
                i + 1,
                reference.floats.len(),
                got.floats[i],
                reference.floats[i]
            ),
            reference.floats[i].abs().max(floor) < SMALL * mean,
        ),
        None => (String::new(), false),
    }
}

/// A number below this part of the mean size is small: its relative error says little of the whole.
const SMALL: f64 = 1e-2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_pattern() {
        let text = "step 1 err 2.5e-3\nstep 2 err 1.5e-3\nPASS";
        let find = |p: &str| -> Vec<f64> {
            let all = by_pattern(&Regex::new(p).expect("a pattern"), text);
            all.into_iter().map(|n| n.0).collect()
        };
        assert_eq!(find(r"err (\S+)"), [2.5e-3, 1.5e-3]);
        assert_eq!(find(r"step \d+ err"), [1.0, 2.0]);
        assert_eq!(find(r"step (\d+) err (\S+)"), [1.0, 2.5e-3, 2.0, 1.5e-3]);
        assert!(find("FAIL").is_empty());
    }

    #[test]
    fn the_worst_number_is_named() {
        let v = |f: &[f64]| Values {
            floats: f.to_vec(),
            ..Values::default()
        };
        let (got, reference) = (v(&[1.0, 2e-9, 5.0]), v(&[1.1, 1e-20, 4.0]));
        let (said, small) = worst(&got, &reference, None);
        assert_eq!(said, "number 2 of 3 is 2e-9 instead of 1e-20");
        assert!(small);
        let (said, small) = worst(&got, &reference, Some(1.0));
        assert_eq!(said, "number 3 of 3 is 5e0 instead of 4e0");
        assert!(!small);
    }

    #[test]
    fn what_is_printed_with_few_digits_is_told() {
        let of = |text: &str| {
            let (floats, grains) = numbers(text).into_iter().unzip();
            Values {
                floats,
                grains,
                ..Values::default()
            }
        };
        let v = of("n = 4096, energy 0.0120 1.25e-3 -1E4 0.000000 nan");
        assert_eq!(v.grains, [0.0, 0.5e-4, 0.5e-5, 0.5e4, 0.5e-6, 0.0]);
        let said = unseen(&of("8 0.0120 1.0000000 0.000"), Metric::MaxRel, None, 1e-6);
        let (count, error) = said.expect("one is coarse");
        assert_eq!(count, 1);
        assert!((error - 0.5e-4 / 0.012).abs() < 1e-12);
        assert_eq!(
            unseen(&of("0.0120"), Metric::MaxAbs, None, 1e-3),
            None,
            "half a unit of the last digit is 5e-5"
        );
        assert!(unseen(&of("0.000"), Metric::MaxRel, Some(1.0), 1e-6).is_some());
    }
}

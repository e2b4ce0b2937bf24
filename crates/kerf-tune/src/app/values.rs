//! The numbers of a run that are compared: by a pattern, from a file, or all that came from the device.
use super::run::Ran;
use kerf_exec::replay::WorstNumber;
use kerf_num::metrics::Integers;
use kerf_num::{Format, Metric};
use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
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

/// An array of a run's output: numbers that have one scale.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputArray {
    /// What it is, in words.
    pub name: String,
    /// How many numbers it has.
    pub count: usize,
}

/// Arrays that a result lists.
const MOST_ARRAYS: usize = 100;

/// An array of the original program's output, and the size that `rel_linf` measures errors against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArrayScale {
    /// What it is, in words.
    pub name: String,
    /// How many numbers it has.
    pub numbers: usize,
    /// The largest absolute value of its finite numbers.
    pub scale: f64,
}

/// The numbers of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values {
    /// Floating-point numbers, one array after the other.
    pub floats: Vec<f64>,
    /// The arrays, in the order of their numbers; without any, all numbers are one.
    pub arrays: Vec<OutputArray>,
    /// Integers, as bytes.
    pub exact: Vec<u8>,
    /// How wide these are in bytes, in runs of as many as follow each other.
    pub widths: Vec<(usize, usize)>,
    /// Bytes whose type nobody knows.
    pub unknown: usize,
    /// Are they what kernels left in memory, of a program that copies no numbers to the host?
    pub last: bool,
    /// Of numbers that were printed: half a unit of the last digit of each, 0 where there is none to round.
    pub grains: Vec<f64>,
}

impl Values {
    /// Adds an array of numbers.
    fn array(&mut self, name: String, floats: Vec<f64>) {
        if !floats.is_empty() {
            self.arrays.push(OutputArray {
                name,
                count: floats.len(),
            });
            self.floats.extend(floats);
        }
    }

    /// Adds an array of numbers that were printed.
    fn printed_array(&mut self, name: String, numbers: Vec<(f64, f64)>) {
        let (floats, grains): (Vec<f64>, Vec<f64>) = numbers.into_iter().unzip();
        self.grains.extend(grains);
        self.array(name, floats);
    }

    /// The arrays with their scales, as results state them.
    pub(super) fn scales(&self) -> Vec<ArrayScale> {
        let named = self.arrays.iter().zip(self.ranges()).take(MOST_ARRAYS);
        let scale = |(a, range): (&OutputArray, Range<usize>)| ArrayScale {
            name: a.name.clone(),
            numbers: a.count,
            scale: scale(&self.floats[range]),
        };
        named.map(scale).collect()
    }

    /// Where the numbers of each array lie.
    pub(super) fn ranges(&self) -> Vec<Range<usize>> {
        if self.arrays.is_empty() {
            return std::iter::once(0..self.floats.len()).collect();
        }
        let mut at = 0;
        let range = |a: &OutputArray| {
            at += a.count;
            at - a.count..at
        };
        self.arrays.iter().map(range).collect()
    }

    /// Are all numbers those of others, to the bit? NaN are one value.
    pub(super) fn has_bits_of(&self, other: &Values) -> bool {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        let as_many = self.floats.len() == other.floats.len();
        let mut pairs = self.floats.iter().zip(&other.floats);
        as_many && self.exact == other.exact && pairs.all(same)
    }

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
    #[error(
        "the application copied no floating-point numbers from the device, and its kernels were given no arrays of them to write"
    )]
    NoCopies,
    /// Too much was copied.
    #[error("the application's outputs have more than 2 GiB")]
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

/// The numbers that a pattern finds, by its groups: each is one quantity.
fn by_pattern(r: &Regex, text: &str) -> Vec<Vec<(f64, f64)>> {
    let mut out = vec![Vec::new(); (r.captures_len() - 1).max(1)];
    for c in r.captures_iter(text) {
        if c.len() > 1 {
            for (numbers, group) in out.iter_mut().zip(c.iter().skip(1)) {
                numbers.extend(group.and_then(|g| printed(g.as_str().trim())));
            }
        } else if let Some(all) = c.get(0) {
            out[0].extend(numbers(all.as_str()).first());
        }
    }
    out
}

/// What printed numbers cannot show: how many of them have a last digit that is coarser than the tolerance, and
/// the largest error that none of them would show. Nothing for measures of all numbers together.
pub fn unseen(v: &Values, metric: Metric, floor: Option<f64>, most: f64) -> Option<(usize, f64)> {
    let floor = floor.unwrap_or(0.0);
    let mut hidden: Vec<f64> = Vec::new();
    for range in v.ranges() {
        let (Some(floats), Some(grains)) = (v.floats.get(range.clone()), v.grains.get(range))
        else {
            continue;
        };
        let scale = scale(floats).max(floor);
        let error = |(n, g): (&f64, &f64)| match metric {
            Metric::MaxAbs => *g,
            // An exact zero is what most programs mean by 0.000.
            Metric::MaxRel if n.abs().max(floor) > 0.0 => g / n.abs().max(floor),
            Metric::RelLinf if scale > 0.0 => g / scale,
            _ => 0.0,
        };
        let errors = floats.iter().zip(grains).map(error);
        hidden.extend(errors.filter(|e| *e > most));
    }
    let worst = hidden.iter().copied().fold(0.0, f64::max);
    (!hidden.is_empty()).then_some((hidden.len(), worst))
}

/// The largest size of finite numbers.
fn scale(floats: &[f64]) -> f64 {
    let sizes = floats.iter().map(|x| x.abs());
    sizes.filter(|x| x.is_finite()).fold(0.0, f64::max)
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
        let scalars = elem.scalars();
        let mut fields = vec![Vec::new(); scalars.len()];
        for at in (0..a.bytes.len()).step_by(elem.size().max(1)) {
            for ((o, s), floats) in scalars.iter().zip(&mut fields) {
                let part = &a.bytes[at + o..at + o + s.bytes()];
                match format_named(&s.to_string()) {
                    Some(f) => floats.extend(decode(part, f)),
                    None => v.integer(part),
                }
            }
        }
        let name = path.display().to_string();
        fields.into_iter().for_each(|f| v.array(name.clone(), f));
        return Ok(v);
    }
    let bytes = std::fs::read(path).map_err(|e| bad(e.to_string()))?;
    if raw.is_none() && bytes.contains(&0) {
        return Err(bad(
            "it is binary; say what it holds, e.g. FILE:f64 or FILE:f32".into(),
        ));
    }
    let name = path.display().to_string();
    match raw {
        Some(f) => v.array(name, decode(&bytes, f).collect()),
        None => v.printed_array(name, numbers(&String::from_utf8_lossy(&bytes))),
    }
    match v.floats.is_empty() {
        true => Err(bad("there are no numbers in it".into())),
        false => Ok(v),
    }
}

/// Numbers that were copied from the device, by array: a scalar of the elements of one allocation, over all copies of it.
#[derive(Default)]
struct CopiedArrays {
    /// Allocation and offset in an element.
    places: BTreeMap<(usize, u64), usize>,
    floats: Vec<Vec<f64>>,
}

impl CopiedArrays {
    /// The arrays of the scalars of an allocation's elements.
    fn fields(&mut self, allocation: usize, scalars: &[(u64, String)]) -> Vec<usize> {
        let mut field = |offset: u64| {
            *self.places.entry((allocation, offset)).or_insert_with(|| {
                self.floats.push(Vec::new());
                self.floats.len() - 1
            })
        };
        scalars.iter().map(|(offset, _)| field(*offset)).collect()
    }

    /// Adds the arrays to a run's numbers, in the order of their allocations.
    fn give_to(mut self, v: &mut Values) {
        for ((allocation, offset), at) in &self.places {
            let field = match offset {
                0 => String::new(),
                o => format!(", byte {o} of each element"),
            };
            let name = match allocation {
                0 => format!("a variable{field}"),
                n => format!("allocation #{n}{field}"),
            };
            v.array(name, std::mem::take(&mut self.floats[*at]));
        }
    }
}

/// Are there floating-point numbers in what came from the device?
pub(super) fn has_numbers(ran: &Ran) -> bool {
    ran.trace.copies.iter().any(|c| {
        let mut scalars = c.element.iter().flat_map(|(scalars, _)| scalars);
        c.bytes > 0 && scalars.any(|(_, kind)| format_named(kind).is_some())
    })
}

fn from_copies(ran: &Ran, folder: &Path) -> Result<Values, NoValues> {
    if ran.trace.truncated {
        return Err(NoValues::TooMuch);
    }
    let path = folder.join("copies.bin");
    let data = std::fs::read(&path)
        .map_err(|e| NoValues::File(path.display().to_string(), e.to_string()))?;
    let mut v = Values::default();
    let mut arrays = CopiedArrays::default();
    for c in &ran.trace.copies {
        let bytes = data
            .get(c.offset as usize..c.offset as usize + c.bytes)
            .unwrap_or_default();
        let Some((scalars, size)) = c.element.as_ref().filter(|(s, n)| !s.is_empty() && *n > 0)
        else {
            v.unknown += bytes.len();
            continue;
        };
        v.last |= c.last;
        let fields = arrays.fields(c.allocation, scalars);
        // A copy may begin inside an element.
        let mut at = (*size - c.at % *size) as usize % *size as usize;
        while at + *size as usize <= bytes.len() {
            for ((o, kind), field) in scalars.iter().zip(&fields) {
                let from = at + *o as usize;
                match format_named(kind) {
                    Some(f) => {
                        arrays.floats[*field].extend(decode(&bytes[from..from + f.bytes()], f))
                    }
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
    arrays.give_to(&mut v);
    match v.floats.is_empty() {
        true => Err(NoValues::NoCopies),
        false => Ok(v),
    }
}

/// The numbers of a run.
pub fn values(source: &ValueSource, ran: &Ran, folder: &Path) -> Result<Values, NoValues> {
    match source {
        ValueSource::Stdout(r) => {
            let mut v = Values::default();
            for (i, numbers) in by_pattern(r, &ran.stdout).into_iter().enumerate() {
                v.printed_array(format!("group {} of the pattern", i + 1), numbers);
            }
            match v.floats.is_empty() {
                true if r.is_match(&ran.stdout) => Err(NoValues::NoNumber(r.as_str().to_owned())),
                true => Err(NoValues::NoMatch(r.as_str().to_owned())),
                false => Ok(v),
            }
        }
        ValueSource::File(p, raw) => from_file(p, *raw),
        ValueSource::Copies => from_copies(ran, folder),
    }
}

/// The number that is furthest from the reference's by its size, in words; is it small beside the others?
pub fn worst(got: &Values, reference: &Values, floor: Option<f64>) -> WorstNumber {
    let floor = floor.unwrap_or(0.0).max(f64::MIN_POSITIVE);
    let off = |(g, r): (&f64, &f64)| (g - r).abs() / r.abs().max(floor);
    let all = got.floats.iter().zip(&reference.floats).map(off);
    let most = all.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    let sizes = reference.floats.iter().map(|r| r.abs());
    let mean = sizes.filter(|r| r.is_finite()).sum::<f64>() / reference.floats.len().max(1) as f64;
    match most {
        Some((i, _)) => WorstNumber {
            words: format!(
                "number {} of {} is {:e} instead of {:e}",
                i + 1,
                reference.floats.len(),
                got.floats[i],
                reference.floats[i]
            ),
            is_small: reference.floats[i].abs().max(floor) < SMALL * mean,
        },
        None => WorstNumber::default(),
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
            all.into_iter().flatten().map(|n| n.0).collect()
        };
        assert_eq!(find(r"err (\S+)"), [2.5e-3, 1.5e-3]);
        assert_eq!(find(r"step \d+ err"), [1.0, 2.0]);
        assert_eq!(find(r"step (\d+) err (\S+)"), [1.0, 2.0, 2.5e-3, 1.5e-3]);
        assert!(find("FAIL").is_empty());
    }

    #[test]
    fn arrays_are_allocations_and_fields_of_their_elements() {
        let mut arrays = CopiedArrays::default();
        let scalars = [(0, "f64".to_owned()), (8, "f64".to_owned())];
        assert_eq!(arrays.fields(2, &scalars), [0, 1]);
        assert_eq!(arrays.fields(1, &scalars[..1]), [2]);
        assert_eq!(arrays.fields(2, &scalars), [0, 1]);
        arrays.floats = vec![vec![1.0, 2.0], vec![3.0], vec![4.0]];
        let mut v = Values::default();
        arrays.give_to(&mut v);
        assert_eq!(v.floats, [4.0, 1.0, 2.0, 3.0]);
        assert_eq!(v.ranges(), [0..1, 1..3, 3..4]);
        assert_eq!(v.arrays[2].name, "allocation #2, byte 8 of each element");
    }

    #[test]
    fn the_worst_number_is_named() {
        let v = |f: &[f64]| Values {
            floats: f.to_vec(),
            ..Values::default()
        };
        let (got, reference) = (v(&[1.0, 2e-9, 5.0]), v(&[1.1, 1e-20, 4.0]));
        let number = worst(&got, &reference, None);
        assert_eq!(number.words, "number 2 of 3 is 2e-9 instead of 1e-20");
        assert!(number.is_small);
        let number = worst(&got, &reference, Some(1.0));
        assert_eq!(number.words, "number 3 of 3 is 5e0 instead of 4e0");
        assert!(!number.is_small);
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

//! A certificate checked by an independent method: every case by MPFR, pieces derived again, uniform ones proven by enclosures
//! of their own, and the others searched a second time ([`crate::repeat`]) with Lefevre's test in integers.
use crate::certificate::{CertificateRecord, Header, Written};
use crate::confirm::value;
use crate::format::{BinadeGrid, hex, parse};
use crate::group::{GroupRecord, PiecesDigest};
use crate::leaf::Query;
use crate::plan::SPLITS;
use crate::unit_check::{UnitQuery, UnitVerdict, check_unit};
use crate::unit_set::UnitSet;
use crate::units::{Units, expected, work};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// How a certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Stretches of each piece that are searched again; none for everything.
    pub samples: Option<u64>,
    /// Seed of their places.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
}

/// What was checked, and what is wrong.
#[derive(Debug, Clone, Default)]
pub struct CertificateVerdict {
    /// Units whose line is there and right.
    pub units: u64,
    /// Units missing.
    pub missing: u64,
    /// Hard cases computed again.
    pub cases: u64,
    /// Stretches of arguments searched again.
    pub stretches: u64,
    /// Arguments in them.
    pub arguments: u128,
    /// Arguments evaluated.
    pub evaluated: u64,
    /// Pieces proven to be uniform, as the certificate says.
    pub uniform: u64,
    /// Hard cases in what was searched by the test.
    pub tested_cases: u64,
    /// Hard cases that chance would give in what was searched; none where all of some piece is hard.
    pub expected: f64,
    /// What is wrong, in words.
    pub mistakes: Vec<String>,
}

/// Checks a record; `progress` is told the share of the units that are done, after each group.
pub fn verify(
    record: &CertificateRecord,
    options: VerifyOptions,
    progress: &mut dyn FnMut(f64),
) -> CertificateVerdict {
    let mut v = CertificateVerdict::default();
    let h = &record.header;
    let Some((q, ..)) = h.query() else {
        v.mistakes
            .push("the header names an unknown function, format or number".into());
        return v;
    };
    let units = match Units::from_header(h, &q) {
        Ok(u) => u,
        Err(e) => {
            v.mistakes.push(e.to_string());
            return v;
        }
    };
    if units.len() != h.units {
        v.mistakes.push(format!(
            "the range has {} units, the header says {}",
            units.len(),
            h.units
        ));
    }
    let mut seen = UnitSet::default();
    for g in &record.groups {
        let range = g.range();
        if range.is_empty() || range.end > units.len() {
            v.mistakes
                .push(format!("{} are not of this range", numbers(g)));
        } else if seen.count_in(&range) > 0 {
            v.mistakes.push(format!("{} are there twice", numbers(g)));
        } else {
            group(&q, &units, g, options, &mut v);
            seen.insert(range);
        }
        progress(seen.len() as f64 / units.len() as f64);
    }
    v.units = seen.len();
    v.missing = units.len().saturating_sub(v.units);
    if v.missing > 0 {
        v.mistakes.push(format!(
            "{} of {} units are missing",
            v.missing,
            units.len()
        ));
    }
    deviation(h, record, &mut v);
    v
}

/// The units of a group, in words.
fn numbers(g: &GroupRecord) -> String {
    format!("units {} to {}", g.unit, g.range().end.saturating_sub(1))
}

/// How many cases chance would give where arguments were searched.
fn deviation(h: &Header, record: &CertificateRecord, v: &mut CertificateVerdict) {
    let searched = |g: &GroupRecord| {
        let of = |name: &str| u128::from(g.methods.get(name).copied().unwrap_or(0));
        of("test") + of("walk")
    };
    v.expected = expected(record.groups.iter().map(searched).sum(), h.bits);
}

/// Whether the counts of a group fit each other and its tests, and the bounds of the tests what they have to be.
fn counts(g: &GroupRecord, v: &mut CertificateVerdict) {
    let c = &g.counts;
    let parts = SPLITS
        .iter()
        .enumerate()
        .all(|(l, n)| c.failed[l].checked_mul(*n) == Some(c.tested[l + 1]));
    let failed = c.failed.iter().zip(c.tested).all(|(f, t)| *f <= t);
    let tested = g.methods.get("test").copied().unwrap_or(0);
    let longest = g.tests.iter().map(|t| t.n).max().unwrap_or(0);
    let reached = u128::from(c.tested[0]) * u128::from(longest)
        + u128::from(c.walked)
        + u128::from(c.evaluated);
    if !parts || !failed || reached < u128::from(tested) {
        v.mistakes.push(format!(
            "{}: the counts of the phases do not fit each other",
            numbers(g)
        ));
    }
    // NaN is wrong too.
    if !g.tests.iter().all(|t| t.margin >= 1.0) {
        v.mistakes.push(format!(
            "{}: a bound of the test is less than it has to be",
            numbers(g)
        ));
    }
}

/// Whether a case is what its line says; gives its argument's bits.
fn case(q: &Query, line: &str, v: &mut CertificateVerdict) -> Option<u64> {
    v.cases += 1;
    let written = Written::from_line(line);
    let x = written.as_ref().and_then(|c| parse(&c.x));
    let place = x.and_then(|x| Some((x, q.format.split(x)?)));
    let Some((c, (x, (m, exponent)))) = written.as_ref().zip(place) else {
        v.mistakes.push(format!("{line:?} is not a case"));
        return None;
    };
    let grid = BinadeGrid {
        negative: x < 0.0,
        exponent,
        first: m,
        end: m + 1,
    };
    let again = value(q.function, q.format, &grid.float(m, 64));
    let right = again.is_ok_and(|w| {
        w.k == Some(c.k)
            && c.k >= q.bits
            && u8::from(w.ones) == c.repeated
            && u8::from(w.round_bit) == c.round_bit
            && w.exponent == c.binade
            && c.sign == if w.negative { '-' } else { '+' }
    });
    if !right {
        v.mistakes
            .push(format!("{} is not the case that its line says", c.x));
    }
    Some(x.to_bits())
}

/// Checks the units of a group on several threads; what they are, in order.
fn check_units(
    q: &Query,
    units: &Units,
    g: &GroupRecord,
    listed: &BTreeSet<u64>,
    options: VerifyOptions,
) -> BTreeMap<u64, (BinadeGrid, UnitVerdict)> {
    let mut all = BTreeMap::new();
    let each = |grid: &BinadeGrid, _: &mut _| {
        let place = grid.value(grid.first).to_bits();
        let unit = UnitQuery {
            query: q,
            listed,
            samples: options.samples,
            seed: options.seed ^ place.rotate_left(17),
        };
        check_unit(unit, grid)
    };
    work(
        units,
        g.range(),
        options.threads,
        |_| true,
        each,
        |i, grid, v| {
            all.insert(i, (grid, v));
            ControlFlow::Continue(())
        },
    );
    all
}

fn group(
    q: &Query,
    units: &Units,
    g: &GroupRecord,
    options: VerifyOptions,
    v: &mut CertificateVerdict,
) {
    counts(g, v);
    let cases = g.cases.iter().filter_map(|line| case(q, line, v));
    let listed: BTreeSet<u64> = cases.collect();
    if listed.len() != g.cases.len() {
        v.mistakes.push(format!("{} list a case twice", numbers(g)));
    }
    let (mut length, mut inside, mut exact) = (0, 0, 0);
    let mut digest = PiecesDigest::default();
    let mut methods = BTreeMap::new();
    for (grid, unit) in check_units(q, units, g, &listed, options).into_values() {
        length += grid.len();
        inside += unit.cases;
        exact += unit.exact;
        digest.add(&unit.pieces);
        for p in &unit.pieces {
            *methods.entry(p.method.name()).or_insert(0) += p.length;
        }
        v.add(unit);
    }
    let mut wrong = |what: &str| v.mistakes.push(format!("{}: {what}", numbers(g)));
    if inside != listed.len() as u64 {
        wrong("a case is not among their arguments");
    }
    if length != g.length
        || units.get(g.unit).map(|u| hex(u.value(u.first))) != Some(g.first.clone())
    {
        wrong("arguments are left out, or are not theirs");
    }
    if digest.text() != g.pieces {
        wrong("the pieces with their bounds of F'' are not those that the function has there");
    }
    // Whether a smooth piece is tested or walked is the device's choice.
    let mut said = BTreeMap::new();
    for (name, n) in &g.methods {
        let name = if name == "test" { "walk" } else { name };
        *said.entry(name).or_insert(0) += n;
    }
    if said != methods {
        wrong("their arguments were not dealt with as is said");
    }
    if options.samples.is_none() && exact != g.exact {
        wrong(&format!(
            "there are {exact} exact cases, {} are said",
            g.exact
        ));
    }
}

impl CertificateVerdict {
    fn add(&mut self, unit: UnitVerdict) {
        self.stretches += unit.stretches;
        self.arguments += unit.arguments;
        self.evaluated += unit.evaluated;
        self.uniform += unit.uniform;
        self.tested_cases += unit.tested_cases;
        self.mistakes.extend(unit.mistakes);
    }
}

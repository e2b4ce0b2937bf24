//! A range in units of work, and threads that do them.
use crate::confirm::{ConfirmedValue, NoValue, value};
use crate::cost::CoreSeconds;
use crate::format::{BinadeGrid, BinaryFormat, RangeError, grids, parse};
use crate::function::ElementaryFunction;
use crate::leaf::Query;
use crate::search::Scratch;
use crate::split::{PlannedPart, plan};
use crate::symmetry::domain;
use crate::unit_record::Header;
use rug::Float;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;

/// Why a search cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QueryError {
    /// The range.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// Part of the range is outside the domain.
    #[error("{function} is not defined on all of [{from}, {to}): its domain is {domain}")]
    Domain {
        /// The function.
        function: String,
        /// Start of the range.
        from: String,
        /// Its end.
        to: String,
        /// The domain.
        domain: &'static str,
    },
}

/// A part of a binade that is divided into equal units.
#[derive(Debug, Clone, Copy)]
struct Part {
    plan: PlannedPart,
    /// Units before this part.
    before: u64,
}

impl Part {
    fn units(&self) -> u64 {
        let PlannedPart { grid, unit, .. } = self.plan;
        (grid.end - 1) / unit - grid.first / unit + 1
    }
}

/// The units of a range, by number.
#[derive(Debug, Clone)]
pub struct Units {
    parts: Vec<Part>,
    /// First units of groups, each a line of the certificate.
    groups: Vec<u64>,
    /// Whether zero is in the range; it is not part of any unit.
    pub zero: bool,
}

impl Units {
    /// Divides [from, to).
    pub fn new(q: &Query, from: f64, to: f64) -> Result<Units, QueryError> {
        let (parts, zero) = grids(q.format, from, to)?;
        let inside =
            |g: &BinadeGrid| q.function.has(g.value(g.first)) && q.function.has(g.value(g.end - 1));
        if !parts.iter().all(inside) || zero && !q.function.has(0.0) {
            return Err(QueryError::Domain {
                function: q.function.name(),
                from: crate::format::hex(from),
                to: crate::format::hex(to),
                domain: q.function.domain(),
            });
        }
        Ok(Units::from_grids(q, &parts, zero))
    }

    /// All numbers of the format that are in the function's domain; of an odd or even function those that are not
    /// negative, which tell the others.
    pub fn all(q: &Query) -> Units {
        let signs: &[bool] = match q.function.odd() {
            Some(_) => &[false],
            None => &[true, false],
        };
        let top = 1u64 << q.format.precision;
        let mut parts = Vec::new();
        for &negative in signs {
            for exponent in q.format.lowest..=q.format.ulp(q.format.highest) {
                let first = if exponent == q.format.lowest {
                    1
                } else {
                    top / 2
                };
                let g = BinadeGrid {
                    negative,
                    exponent,
                    first,
                    end: top,
                };
                let has = |m: u64| q.function.has(g.value(m));
                match (has(first), has(top - 1)) {
                    (true, true) => parts.push(g),
                    // 1 itself, at the edge of the arcs.
                    (true, false) => parts.push(g.part(first, first + 1)),
                    _ => {}
                }
            }
        }
        parts.sort_by(|a, b| a.value(a.first).total_cmp(&b.value(b.first)));
        Units::from_grids(q, &parts, q.function.has(0.0))
    }

    fn from_grids(q: &Query, parts: &[BinadeGrid], zero: bool) -> Units {
        let mut before = 0;
        let parts = parts.iter().flat_map(|g| plan(q, g)).map(|plan| {
            let part = Part { plan, before };
            before += part.units();
            part
        });
        let parts: Vec<Part> = parts.collect();
        Units {
            groups: groups(&parts),
            parts,
            zero,
        }
    }

    /// The whole domain, without what follows from exact symmetries.
    pub fn domain(q: &Query) -> Units {
        let all = domain(q.function, q.format);
        Units::from_grids(q, &all.searched, q.function.has(0.0))
    }

    /// The units of a certificate's header.
    pub fn from_header(header: &Header, q: &Query) -> Result<Units, QueryError> {
        match (header.all, parse(&header.from), parse(&header.to)) {
            (true, ..) => Ok(Units::domain(q)),
            (false, Some(from), Some(to)) => Units::new(q, from, to),
            _ => Err(RangeError::NotInFormat(header.from.clone(), q.format.name).into()),
        }
    }

    /// Numbers of the units that are a line of the certificate together with a unit.
    pub fn group(&self, i: u64) -> Range<u64> {
        let next = self.groups.partition_point(|first| *first <= i);
        let first = next.checked_sub(1).map_or(0, |n| self.groups[n]);
        first..self.groups.get(next).copied().unwrap_or_else(|| self.len())
    }

    /// The value at zero, where that is in the range: exact for all functions but the arc cosine.
    pub fn at_zero(&self, q: &Query) -> Option<Result<ConfirmedValue, NoValue>> {
        let zero = Float::with_val(64, 0);
        self.zero.then(|| value(q.function, q.format, &zero))
    }
    /// Number of units.
    pub fn len(&self) -> u64 {
        self.parts.last().map_or(0, |p| p.before + p.units())
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
    /// Number of arguments.
    pub fn arguments(&self) -> u128 {
        let all = self.parts.iter().map(|p| p.plan.grid.len());
        all.map(u128::from).sum()
    }
    /// Number of arguments in parts where not all are alike.
    pub fn searched(&self) -> u128 {
        let parts = self.parts.iter().filter(|p| !p.plan.uniform);
        parts.map(|p| u128::from(p.plan.grid.len())).sum()
    }
    /// What all units take.
    pub fn cost(&self) -> CoreSeconds {
        let each = |p: &Part| p.plan.each.times(p.plan.grid.len() as f64);
        let all = self.parts.iter().map(each);
        all.fold(CoreSeconds::default(), CoreSeconds::plus)
    }
    /// The parts, each with the arguments of its units and what it takes.
    pub fn parts(&self) -> impl Iterator<Item = (BinadeGrid, u64, CoreSeconds)> {
        self.parts.iter().map(|p| {
            let cost = p.plan.each.times(p.plan.grid.len() as f64);
            (p.plan.grid, p.plan.unit, cost)
        })
    }
    /// The part that takes longest, and what it takes: where a range is too much.
    pub fn costliest(&self) -> Option<(BinadeGrid, CoreSeconds)> {
        let all = self.parts().map(|(grid, _, cost)| (grid, cost));
        all.max_by(|a, b| a.1.total().total_cmp(&b.1.total()))
    }
    /// The part that a unit is of.
    fn part(&self, i: u64) -> Option<&Part> {
        let after = self.parts.partition_point(|p| p.before <= i);
        let part = &self.parts[after.checked_sub(1)?];
        (i - part.before < part.units()).then_some(part)
    }
    /// A unit.
    pub fn get(&self, i: u64) -> Option<BinadeGrid> {
        let part = self.part(i)?;
        let PlannedPart { grid, unit, .. } = part.plan;
        let at = |k: u64| (grid.first / unit + k) * unit;
        let number = i - part.before;
        Some(grid.part(at(number).max(grid.first), at(number + 1).min(grid.end)))
    }
    /// What a unit takes.
    pub fn cost_of(&self, i: u64) -> CoreSeconds {
        let (Some(part), Some(grid)) = (self.part(i), self.get(i)) else {
            return CoreSeconds::default();
        };
        part.plan.each.times(grid.len() as f64)
    }
}

/// Lines of the certificate that a binade has, at most, but for one.
const LINES: f64 = 100.0;

/// Units of a binade in groups of about equal cost.
fn groups(parts: &[Part]) -> Vec<u64> {
    let cost = |p: &Part| p.plan.each.total() * p.plan.grid.len() as f64;
    let mut starts = Vec::new();
    let same = |a: &Part, b: &Part| {
        let key = |p: &Part| (p.plan.grid.negative, p.plan.grid.exponent);
        key(a) == key(b)
    };
    for binade in parts.chunk_by(same) {
        let least = binade.iter().map(cost).sum::<f64>() / LINES;
        starts.push(binade[0].before);
        let mut sum = 0.0;
        for part in binade {
            let each = cost(part) / part.units() as f64;
            let mut at = 0;
            while at < part.units() {
                // As many as the group lacks.
                let lacking = ((least - sum) / each).ceil().max(1.0);
                let many = (lacking.min(u64::MAX as f64) as u64).min(part.units() - at);
                at += many;
                sum += each * many as f64;
                let last = part.before + at;
                let end = binade.last().map_or(last, |p| p.before + p.units());
                if sum >= least && last < end {
                    starts.push(last);
                    sum = 0.0;
                }
            }
        }
    }
    starts
}

/// Does the units of a range of numbers on several threads, those for which `wanted` says so, and hands results
/// to `sink` as they come; that may break off. Gives whether all was done.
pub fn work<T: Send>(
    units: &Units,
    range: Range<u64>,
    threads: usize,
    wanted: impl Fn(u64) -> bool + Sync,
    each: impl Fn(&BinadeGrid, &mut Scratch) -> T + Sync,
    mut sink: impl FnMut(u64, BinadeGrid, T) -> ControlFlow<()>,
) -> bool {
    let next = AtomicU64::new(range.start);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(threads.max(1) * 2);
        for _ in 0..threads.max(1) {
            let send = send.clone();
            let (next, stop, wanted, each, range) = (&next, &stop, &wanted, &each, &range);
            scope.spawn(move || {
                let mut scratch = Scratch::default();
                while !stop.load(Ordering::Relaxed) {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(grid) = units.get(i).filter(|_| i < range.end) else {
                        return;
                    };
                    if !wanted(i) {
                        continue;
                    }
                    let found = each(&grid, &mut scratch);
                    if send.send((i, grid, found)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        for (i, grid, found) in receive.iter() {
            if sink(i, grid, found).is_break() {
                stop.store(true, Ordering::Relaxed);
                return false;
            }
        }
        true
    })
}

/// Hard cases that chance would give among `arguments`: 2^(1-bits) of them.
pub fn expected(arguments: u128, bits: u32) -> f64 {
    arguments as f64 * 2f64.powi(1 - bits as i32)
}

/// A query's function and format in words.
pub fn words(f: ElementaryFunction, format: BinaryFormat) -> String {
    format!("{} in {}", f.name(), format.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{BINARY16, BINARY64};
    use crate::function::FUNCTIONS;

    /// Half of pi is no number; the other functions have an exact value at zero.
    #[test]
    fn zero() {
        for (name, function) in FUNCTIONS {
            if !function.has(0.0) {
                continue;
            }
            let query = |format| Query {
                function,
                format,
                bits: 40,
                isa: None,
            };
            let q = query(BINARY64);
            let Ok(units) = Units::new(&q, 0.0, 2f64.powi(-1070)) else {
                panic!("{name}");
            };
            let k = |q: &Query| match units.at_zero(q) {
                Some(Ok(v)) => v.k,
                Some(Err(NoValue::Zero)) => None,
                other => panic!("{name} {other:?}"),
            };
            let acos = function == ElementaryFunction::Acos;
            assert_eq!(k(&q), acos.then_some(1), "{name}");
            // 1.1001001000 0 111111 0...
            assert_eq!(k(&query(BINARY16)), acos.then_some(6), "{name}");
        }
    }
}

//! Scaled formats for memory: integers and 8-bit floating-point codes whose scale comes from the values that were counted.
//!
//! A code is offered where a value of the memory would lose no more than the tolerance is likely to allow. That is an
//! estimate from the range alone, relative to the largest value: the search measures what is offered.
use crate::formats::unscaled;
use crate::made::bound_from_tolerance;
use crate::storage::Stored;
use crate::subject::Subject;
use kerf_num::scaled::{ElementCode, ScaledFormat};
use kerf_num::{Format, Metric};
use kerf_pass::count::SiteRecord;
use kerf_run::job::ProgramCounts;

/// What scaled formats are chosen from.
#[derive(Debug, Clone, Copy)]
pub struct ScaledScope<'w> {
    /// Codes that memory may have.
    pub codes: &'w [ElementCode],
    /// Of the program as it is.
    pub counts: &'w ProgramCounts,
    /// The search's tolerance.
    pub tolerance: f64,
    /// What it bounds.
    pub metric: Metric,
}

/// How many times the bound the error of a single value may be: those of many values partly cancel, and not every one
/// reaches an output in full.
const ALLOWANCE: f64 = 8.0;

/// Root of the mean square error of values that are spread over a range, in parts of the largest. Of an integer, a twelfth of
/// the square of its spacing; of floating-point codes, relative to each value, which is at most that to the largest.
fn typical_error(f: ScaledFormat, largest: f64) -> f64 {
    let spacing = match f.code.is_integer() {
        true => f.least() / largest,
        false => 2f64.powi(-(f.code.fraction_bits() as i32)),
    };
    spacing / 12f64.sqrt()
}

/// Values that loads and stores saw.
#[derive(Debug, Default, PartialEq)]
struct SeenValues {
    largest: f64,
    /// NaN, infinities, and what programs write for one.
    endless: u64,
    count: u64,
}

impl SeenValues {
    fn of_memory(subject: &Subject, s: &Stored, counts: &ProgramCounts) -> SeenValues {
        let mut all = SeenValues::default();
        for p in &s.places {
            let symbol = &subject.kernels[p.at].symbol;
            let Some(k) = counts.kernels.iter().find(|k| k.symbol == *symbol) else {
                continue;
            };
            let sites = k.sites.iter().filter(|c| p.sites.contains(&c.id));
            sites.for_each(|c| all.add(&c.seen));
        }
        all
    }

    fn add(&mut self, seen: &SiteRecord) {
        self.largest = self.largest.max(seen.largest.unwrap_or(0.0));
        self.endless += seen.nan + seen.infinite;
        self.count += seen.count;
    }
}

/// Scaled formats that memory may be held in, with scales from the values that were counted.
pub(crate) fn offered(
    subject: &Subject,
    s: &Stored,
    own: Format,
    scope: &ScaledScope,
) -> Vec<ScaledFormat> {
    let seen = SeenValues::of_memory(subject, s, scope.counts);
    if seen.count == 0 || seen.endless > 0 {
        return Vec::new();
    }
    let most = ALLOWANCE * bound_from_tolerance(scope.tolerance, scope.metric);
    let codes = scope.codes.iter();
    let possible = codes.filter(|c| !s.refused.contains_key(&unscaled(**c)));
    let formats = possible.filter_map(|c| ScaledFormat::for_range(*c, seen.largest));
    formats
        .filter(|f| f.bytes() < own.bytes() && f.check_for(own).is_ok())
        .filter(|f| typical_error(*f, seen.largest) <= most)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_range(code: ElementCode, largest: f64) -> f64 {
        typical_error(
            ScaledFormat::for_range(code, largest).expect("a scale"),
            largest,
        )
    }

    #[test]
    fn integers_lose_a_part_of_the_largest_value() {
        // 2^-15 and 2^-16 of the largest at most, over the root of 12.
        for largest in [1.0, 0.03, 7e5] {
            let (wide, narrow) = (
                of_range(ElementCode::I16, largest),
                of_range(ElementCode::I8, largest),
            );
            assert!((8.8e-6..2.3e-5).contains(&wide), "{wide}");
            assert!((2.2e-3..6e-3).contains(&narrow), "{narrow}");
            assert!((0.03..0.04).contains(&of_range(ElementCode::E4m3, largest)));
        }
    }

    #[test]
    fn values_of_all_sites_count() {
        let mut all = SeenValues::default();
        let record = |largest, nan| SiteRecord {
            count: 10,
            largest,
            nan,
            ..SiteRecord::default()
        };
        all.add(&record(Some(2.0), 0));
        all.add(&record(None, 3));
        all.add(&record(Some(0.5), 0));
        let want = SeenValues {
            largest: 2.0,
            endless: 3,
            count: 30,
        };
        assert_eq!(all, want);
    }
}

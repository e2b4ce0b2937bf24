//! What the counted ranges of values forbid: formats that would overflow, or in which most values vanish.
//!
//! They are of the tuning inputs, like every error of the search; validation tries others. Errors are not
//! predicted from them: first-order estimates are off by orders of magnitude where errors cancel, and a
//! run of a group alone tells more.
use crate::formats::significant_bits;
use crate::prediction::ErrorPredictor;
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_num::Format;
use kerf_pass::SiteFormat;
use kerf_pass::count::{LEAST_DW32, LocalError, SiteRecord};
use kerf_run::job::ProgramCounts;
use std::collections::BTreeMap;

/// A format is forbidden where more than this part of the values other than zero lies below its normal
/// range. A few that vanish are often those that do not matter.
const MOST: f64 = 0.5;

/// What was counted, by group and level.
pub struct Ranges {
    vetoes: BTreeMap<(usize, u8), String>,
    /// Local errors, and how many executions they are the mean of.
    local: BTreeMap<(usize, u8), (LocalError, u64)>,
}

/// Local errors of two sets of operations together.
fn both(a: (LocalError, u64), b: (LocalError, u64)) -> (LocalError, u64) {
    let (n, m) = (a.1 as f64, b.1 as f64);
    let mean = match a.1 + b.1 {
        0 => 0.0,
        _ => (a.0.mean * n + b.0.mean * m) / (n + m),
    };
    let largest = a.0.largest.max(b.0.largest);
    (
        LocalError {
            largest,
            mean,
            ..a.0
        },
        a.1 + b.1,
    )
}

/// Why a site's values do not fit a format.
fn misfit(seen: &SiteRecord, to: SiteFormat) -> Option<String> {
    let f = to.word();
    let exponents = match (seen.min_exponent, seen.max_exponent) {
        (Some(a), Some(b)) => format!("2^{a} to 2^{b}"),
        _ => return None,
    };
    if seen.largest.is_some_and(|x| x > f.max_finite()) {
        return Some(format!(
            "its values are from {exponents}, and {f} overflows above {:e}",
            f.max_finite()
        ));
    }
    let below = match f {
        // The low word goes before the high one.
        Format::F32 if to.is_pair() => seen.below_dw32,
        Format::F16 => seen.below_f16,
        Format::F32 | Format::Bf16 => seen.below_f32,
        Format::F64 => 0,
    };
    let all = seen
        .count
        .saturating_sub(seen.zeros + seen.nan + seen.infinite);
    (all > 0 && below as f64 > MOST * all as f64).then(|| {
        let (limit, what) = match to.is_pair() {
            true => (LEAST_DW32, format!("the low word of {to}")),
            false => (f.min_normal(), f.to_string()),
        };
        format!(
            "its values are from {exponents}, and {below} of {all} lie below {limit:e}, where {what} loses digits"
        )
    })
}

/// What to try where f16 lacks the range.
fn wider(seen: &SiteRecord, to: SiteFormat) -> &'static str {
    let fits = misfit(seen, SiteFormat::from(Format::Bf16)).is_none();
    match to.word() == Format::F16 && fits {
        true => " (bf16 has the range: --formats f32,bf16)",
        false => "",
    }
}

impl Ranges {
    /// Compares what was counted with the formats of each group.
    pub fn new(subject: &Subject, tunable: &Tunable, counts: &ProgramCounts) -> Ranges {
        let mut vetoes = BTreeMap::new();
        let mut local: BTreeMap<(usize, u8), (LocalError, u64)> = BTreeMap::new();
        let seen = |at: usize, site: usize| {
            let symbol = &subject.kernels[at].symbol;
            let k = counts.kernels.iter().find(|k| k.symbol == *symbol)?;
            k.sites.iter().find(|s| s.id == site)
        };
        for ((at, site), (group, formats)) in &tunable.chosen {
            let Some(s) = seen(*at, *site) else { continue };
            let own = formats[0];
            // What is raised lost digits by its precision, not by its range.
            let narrower = formats.iter().enumerate().skip(1);
            let narrower = narrower.filter(|f| significant_bits(*f.1) < significant_bits(own));
            for (level, to) in narrower {
                let plain = SiteFormat::from(to.word()) == *to;
                if let Some(l) = s.seen.local(to.word()).filter(|_| plain) {
                    let new = (*l, s.seen.count);
                    let all = local.entry((*group, level as u8));
                    all.and_modify(|old| *old = both(*old, new)).or_insert(new);
                }
                let Some(why) = misfit(&s.seen, *to) else {
                    continue;
                };
                let place = s.line.filter(|l| *l > 0);
                let place = place.map_or(String::new(), |l| format!(" at line {l}"));
                vetoes
                    .entry((*group, level as u8))
                    .or_insert_with(|| format!("{}{place}: {why}{}", s.op, wider(&s.seen, *to)));
            }
        }
        Ranges { vetoes, local }
    }
}

impl ErrorPredictor for Ranges {
    fn error(&self, _group: usize, _level: u8) -> Option<f64> {
        None
    }
    fn veto(&self, group: usize, level: u8) -> Option<String> {
        self.vetoes.get(&(group, level)).cloned()
    }
    fn local(&self, group: usize, level: u8) -> Option<LocalError> {
        self.local.get(&(group, level)).map(|l| l.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(smallest: f64, largest: f64, below_f16: u64) -> SiteRecord {
        let exponent = |x: f64| Some(x.log2().floor() as i32);
        SiteRecord {
            count: 100,
            largest: Some(largest),
            smallest: Some(smallest),
            max_exponent: exponent(largest),
            min_exponent: exponent(smallest),
            below_f16,
            ..SiteRecord::default()
        }
    }

    #[test]
    fn overflow_and_loss_are_told_with_the_range() {
        let wide = record(0.5, 1e6, 0);
        let why = misfit(&wide, SiteFormat::F16).expect("overflows");
        assert!(
            why.contains("2^-1 to 2^19") && why.contains("6.5504e4"),
            "{why}"
        );
        assert_eq!(misfit(&wide, SiteFormat::F32), None);
        assert_eq!(misfit(&wide, SiteFormat::Bf16), None);
        assert!(misfit(&record(1e-9, 1e-5, 90), SiteFormat::F16).is_some());
        assert_eq!(misfit(&record(1e-9, 1.0, 10), SiteFormat::F16), None);
        assert!(misfit(&record(1.0, 1e300, 0), SiteFormat::F32).is_some());
        assert_eq!(misfit(&SiteRecord::default(), SiteFormat::F16), None);
        // 2^-110 is a normal f32, and leaves no room for the low word of a pair.
        let small = SiteRecord {
            below_dw32: 90,
            ..record(2f64.powi(-115), 2f64.powi(-90), 100)
        };
        assert_eq!(misfit(&small, SiteFormat::F32), None);
        let why = misfit(&small, SiteFormat::Dw32).expect("the low word vanishes");
        assert!(why.contains("the low word of dw32"), "{why}");
        let why = misfit(&record(1.0, 1e39, 0), SiteFormat::Dw32).expect("overflows");
        assert!(why.contains("overflows"), "{why}");
    }
}

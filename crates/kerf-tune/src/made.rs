//! Math calls by functions made for the range of their arguments, as variables of the search: one for each group of calls
//! of one function.
//!
//! Ranges are those that the counting run saw, widened; an argument outside takes the library's function, so that a range
//! that is too small costs time and nothing else. Levels are errors from the smallest to the largest, each with a function
//! for every format that the calls may have. Only those are offered that are cheaper than the library's by the profile of
//! the device.
use crate::group::{Group, Grouping, key};
use crate::made_level::{MadeLevel, working_format};
use crate::made_range::ArgumentRange;
use crate::setting::{LIBRARY, Setting};
use crate::subject::{Kernel, Subject};
use kerf_device::profile::DeviceProfile;
use kerf_function::code::{ArgumentGuard, ErrorMeasure, MadeFunction, WorkingFormat};
use kerf_function::core_fit::EvaluationScheme;
use kerf_function::{MadeRequest, MadeTarget};
use kerf_num::{Format, Metric};
use kerf_pass::{Plan, SiteFormat};
use kerf_predict::cost::OperationClocks;
use kerf_run::job::ProgramCounts;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The least part of a tolerance that is asked of a function, and the next one: errors of several calls add up, and operations
/// behind a call may enlarge its error.
const PARTS_OF_TOLERANCE: [f64; 3] = [1.0 / 256.0, 1.0 / 16.0, 1.0];

/// Errors where the metric does not bound errors of numbers.
const DEFAULT_TOLERANCE: f64 = 1e-6;

/// Larger errors make no function much cheaper.
const LARGEST_ERROR: f64 = 1e-2;

/// Operations of the comparison with a range.
const GUARD_SLOTS: f64 = 2.0;

/// Sine, cosine and tangent have a zero in every range as long as this, and no relative error is small there.
const LONGEST_RELATIVE_WAVE: f64 = 3.0;

/// The smallest error that functions of a format reach on most ranges.
fn smallest_error(format: WorkingFormat) -> f64 {
    match format {
        WorkingFormat::F64 => 5e-16,
        WorkingFormat::F32 => 3.5e-7,
    }
}

/// What functions are made from.
#[derive(Debug, Clone, Copy)]
pub struct MadeScope<'w> {
    /// Of the program as it is.
    pub counts: &'w ProgramCounts,
    /// Device whose costs decide what is offered.
    pub profile: &'w DeviceProfile,
    /// The search's tolerance.
    pub tolerance: f64,
    /// What it bounds.
    pub metric: Metric,
}

/// A group of math calls as a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeChoice {
    /// Position of its group.
    pub group: usize,
    /// Kernel, by position.
    pub at: usize,
    /// The calls.
    pub sites: Vec<usize>,
    /// What the levels after the first stand for.
    pub levels: Vec<MadeLevel>,
}

/// A relative error of about the size of a tolerance.
pub(crate) fn bound_from_tolerance(tolerance: f64, metric: Metric) -> f64 {
    match metric {
        Metric::Digits => 10f64.powf(-tolerance),
        Metric::MaxUlp => tolerance * f64::EPSILON,
        Metric::Bp => tolerance * 1e-4,
        Metric::Psnr | Metric::Ssim => DEFAULT_TOLERANCE,
        _ => tolerance,
    }
}

/// The errors that are asked for, the smallest first.
pub(crate) fn errors(tolerance: f64, metric: Metric) -> Vec<f64> {
    let bound = bound_from_tolerance(tolerance, metric);
    let least = smallest_error(WorkingFormat::F64);
    // Two digits, so that names and ranges of functions do not depend on the last bit of a tolerance.
    let rounded = |e: f64| format!("{e:.1e}").parse().unwrap_or(e);
    let all = PARTS_OF_TOLERANCE.map(|p| rounded((p * bound).clamp(least, LARGEST_ERROR)));
    let mut all = all.to_vec();
    all.dedup();
    all
}

/// Calls that change together.
struct Calls {
    name: String,
    function: MadeTarget,
    own: SiteFormat,
    sites: Vec<usize>,
    range: ArgumentRange,
    /// Of the second argument, of functions that have two.
    second: Option<ArgumentRange>,
}

/// Groups of calls of a kernel whose arguments were seen.
fn calls(k: &Kernel, counts: &ProgramCounts, by: Grouping) -> Vec<Calls> {
    let counted = counts.kernels.iter().find(|c| c.symbol == k.symbol);
    let mut all: BTreeMap<(String, String, Format), Calls> = BTreeMap::new();
    for (site, function) in &k.library_calls {
        let seen = counted.and_then(|c| c.sites.iter().find(|s| s.id == *site));
        let Some([from, to]) = seen.and_then(|s| s.seen.arguments) else {
            continue;
        };
        let Some(target) = MadeTarget::find(function) else {
            continue;
        };
        let second = seen.and_then(|s| s.seen.second_arguments);
        if second.is_some() != target.has_two_arguments() {
            continue;
        }
        let second = second.map(|[from, to]| ArgumentRange { from, to });
        let s = &k.sites[*site];
        let place = key(k, *site, by).0;
        let name = match by {
            Grouping::Site => place,
            _ => format!("{function} of {place}"),
        };
        let entry = (name.clone(), function.clone(), s.format);
        let group = all.entry(entry).or_insert_with(|| Calls {
            name,
            function: target,
            own: s.format.into(),
            sites: Vec::new(),
            range: ArgumentRange { from, to },
            second,
        });
        group.sites.push(*site);
        group.range = group.range.with(from, to);
        group.second = group.second.zip(second).map(|(a, b)| a.with(b.from, b.to));
    }
    all.into_values().collect()
}

/// Ranges of the arguments to make a function for, the widest first.
fn ranges(
    function: MadeTarget,
    (x, y): (ArgumentRange, Option<ArgumentRange>),
    format: WorkingFormat,
) -> Vec<(ArgumentRange, Option<ArgumentRange>)> {
    let mut first = x.candidates(format);
    // Powers are of positive numbers: a range that ends at zero is only the longer for it.
    if function.name() == "pow" && x.from > 0.0 {
        first.retain(|r| r.from > 0.0);
    }
    let Some(y) = y else {
        return first.into_iter().map(|x| (x, None)).collect();
    };
    let second = match y.from == y.to {
        true => vec![y.nearest(format)],
        false => y.candidates(format),
    };
    let (Some(last_x), Some(last_y)) = (first.last(), second.last()) else {
        return Vec::new();
    };
    let both = |k: usize| {
        let x = first.get(k).unwrap_or(last_x);
        let y = second.get(k).unwrap_or(last_y);
        (*x, Some(*y))
    };
    (0..first.len().max(second.len())).map(both).collect()
}

/// The function with the fewest operations whose error is proven to be at most `error`: relative, or absolute where the function
/// has a zero in the range.
fn make(
    function: MadeTarget,
    range: (ArgumentRange, Option<ArgumentRange>),
    error: f64,
    format: WorkingFormat,
) -> Option<MadeFunction> {
    if error < smallest_error(format) {
        return None;
    }
    let is_wave = ["sin", "cos", "sincos", "tan"].contains(&function.name());
    let length = range.0.to - range.0.from;
    let measures: &[ErrorMeasure] = match is_wave && length > LONGEST_RELATIVE_WAVE {
        true => &[ErrorMeasure::Absolute],
        false => &[ErrorMeasure::Relative, ErrorMeasure::Absolute],
    };
    let all = ranges(function, range, format);
    let requests = all.into_iter().flat_map(|(x, y)| {
        measures.iter().map(move |measure| MadeRequest {
            target: function,
            x: [x.from, x.to],
            y: y.map(|y| [y.from, y.to]),
            error,
            measure: *measure,
            format,
        })
    });
    // That there is none of a kind takes as long to find out as to make one, so all are tried at once.
    let requests: Vec<MadeRequest> = requests.collect();
    let make = |r: &MadeRequest| kerf_function::make(r, EvaluationScheme::Horner).ok();
    let first: MadeFunction = requests.par_iter().find_map_first(make)?;
    // What is in plans is read from text.
    first.in_plans().ok()
}

/// Whether a function takes less time than the library's.
fn is_cheaper(made: &MadeFunction, clocks: &OperationClocks) -> bool {
    let format = match made.format() {
        WorkingFormat::F64 => Format::F64,
        WorkingFormat::F32 => Format::F32,
    };
    let comparisons = match made.guard {
        ArgumentGuard::Rectangle { larger_from, .. } if larger_from > 0.0 => 3.0,
        ArgumentGuard::Rectangle { .. } => 2.0,
        _ => 1.0,
    };
    let slots = f64::from(made.code.slots()) + comparisons * GUARD_SLOTS;
    let own = slots * clocks.get("fma", format);
    own < clocks.get(&made.function, format)
}

/// One function that is asked for.
struct Wanted {
    calls: usize,
    error: f64,
    format: WorkingFormat,
}

/// Functions for all that is wanted, made on all cores.
fn make_all(groups: &[Calls], wanted: &[Wanted]) -> Vec<Option<MadeFunction>> {
    let one = |w: &Wanted| {
        let c = &groups[w.calls];
        make(c.function, (c.range, c.second), w.error, w.format)
    };
    wanted.par_iter().map(one).collect()
}

/// Levels of a group: those whose functions are cheaper than the library's, and than those of smaller errors.
fn levels(made: Vec<(f64, MadeFunction)>, clocks: &OperationClocks) -> Vec<MadeLevel> {
    let mut all: Vec<MadeLevel> = Vec::new();
    for (error, function) in made {
        if !is_cheaper(&function, clocks) {
            continue;
        }
        let slots = function.code.slots();
        let before = all.iter().flat_map(|l| &l.functions);
        let mut before = before.filter(|f| f.format() == function.format());
        if before.any(|f| f.code.slots() <= slots) {
            continue;
        }
        match all.iter_mut().find(|l| l.error == error) {
            Some(l) => l.functions.push(function),
            None => all.push(MadeLevel {
                error,
                functions: vec![function],
            }),
        }
    }
    // A level has what the ones before have, where it has nothing cheaper.
    for k in 1..all.len() {
        let (before, rest) = all.split_at_mut(k);
        let before = &before[k - 1].functions;
        for f in before {
            if !rest[0].functions.iter().any(|g| g.format() == f.format()) {
                rest[0].functions.push(f.clone());
            }
        }
    }
    all
}

/// Adds a group for math calls that a made function computes in less time.
pub(crate) fn add(
    subject: &Subject,
    formats: &[SiteFormat],
    by: Grouping,
    scope: &MadeScope,
    groups: &mut Vec<Group>,
) -> Vec<MadeChoice> {
    let clocks = OperationClocks::new(scope.profile);
    let asked = errors(scope.tolerance, scope.metric);
    let mut choices = Vec::new();
    let kernels = subject.kernels.iter().enumerate();
    for (at, k) in kernels.filter(|(_, k)| k.is_tuned) {
        let found = calls(k, scope.counts, by);
        let mut wanted = Vec::new();
        for (c, group) in found.iter().enumerate() {
            let own = working_format(group.own);
            let narrower = formats
                .iter()
                .any(|f| working_format(*f) == Some(WorkingFormat::F32));
            for format in [WorkingFormat::F64, WorkingFormat::F32] {
                let lowered = format == WorkingFormat::F32 && narrower;
                if own == Some(format) || lowered {
                    wanted.extend(asked.iter().map(|error| Wanted {
                        calls: c,
                        error: *error,
                        format,
                    }));
                }
            }
        }
        let mut made = make_all(&found, &wanted);
        for (c, group) in found.into_iter().enumerate() {
            let mine = wanted.iter().zip(&mut made).filter(|(w, _)| w.calls == c);
            let mine = mine.filter_map(|(w, f)| Some((w.error, f.take()?)));
            let mut mine: Vec<(f64, MadeFunction)> = mine.collect();
            mine.sort_by(|a, b| a.0.total_cmp(&b.0));
            let levels = levels(mine, &clocks);
            if levels.is_empty() {
                continue;
            }
            choices.push(MadeChoice {
                group: groups.len(),
                at,
                sites: group.sites.clone(),
                levels: levels.clone(),
            });
            groups.push(new_group(k, at, group, levels));
        }
    }
    choices
}

fn new_group(k: &Kernel, at: usize, calls: Calls, levels: Vec<MadeLevel>) -> Group {
    let own = Setting::Made(LIBRARY);
    let settings = levels.iter().map(MadeLevel::setting);
    let lines = calls
        .sites
        .iter()
        .filter_map(|s| k.sites[*s].location.as_ref());
    Group {
        name: format!("{}: {} by a made function", k.name, calls.name),
        kernel: k.name.clone(),
        at,
        formats: std::iter::once(own).chain(settings).collect(),
        lines: lines.map(|l| l.line).filter(|l| *l > 0).collect(),
        sites: calls.sites,
        holds: Vec::new(),
        rewrites: Vec::new(),
        made: levels,
    }
}

/// Adds made functions to a plan, where a call has no other variant, in both versions of a kernel. `function` gives that of a
/// site of a kernel, by position.
pub(crate) fn plan<'t>(
    choices: &'t [MadeChoice],
    subject: &Subject,
    function: impl Fn(usize, usize) -> Option<&'t MadeFunction>,
    plan: &mut Plan,
) {
    for c in choices {
        for site in &c.sites {
            let Some(f) = function(c.at, *site) else {
                continue;
            };
            let name = subject.kernels[c.at].name.clone();
            let k = plan.kernels.entry(name).or_default();
            if !k.math.contains_key(site) {
                k.put_made(*site, f);
            }
            if let Some(p) = &mut k.partition
                && !p.math.contains_key(site)
            {
                p.put_made(*site, f);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_parts_of_the_tolerance_that_f64_can_have() {
        assert_eq!(errors(1e-9, Metric::MaxRel), [3.9e-12, 6.3e-11, 1e-9]);
        assert_eq!(errors(1e-13, Metric::RelLinf), [5e-16, 6.3e-15, 1e-13]);
        assert_eq!(errors(1e-17, Metric::MaxRel), [5e-16]);
        assert_eq!(errors(40.0, Metric::Psnr), [3.9e-9, 6.2e-8, 1e-6]);
        assert_eq!(errors(9.0, Metric::Digits), errors(1e-9, Metric::MaxRel));
    }

    #[test]
    fn a_level_is_cheaper_than_the_ones_before() {
        let range = ArgumentRange {
            from: -7.0,
            to: 0.0,
        };
        let exp = MadeTarget::find("exp").expect("known");
        let one = |error| {
            let made = make(exp, (range, None), error, WorkingFormat::F64);
            (error, made.expect("made"))
        };
        let made = vec![one(1e-12), one(0.9e-9), one(1e-9), one(1e-3)];
        let profile = kerf_device::bundled::find("h200").expect("known");
        let profile = profile.bundled.load().expect("reads");
        let all = levels(made, &OperationClocks::new(&profile));
        let errors: Vec<f64> = all.iter().map(|l| l.error).collect();
        assert_eq!(errors, [1e-12, 0.9e-9, 1e-3]);
        let slots = |l: &MadeLevel| l.function(SiteFormat::F64).map(|f| f.code.slots());
        assert!(all.windows(2).all(|w| slots(&w[0]) > slots(&w[1])));
        assert_eq!(all[0].function(SiteFormat::F32), None);
        assert!(all[0].setting().to_string().parse::<Setting>().is_ok());
    }

    #[test]
    fn powers_are_made_for_positive_ranges_and_fixed_exponents() {
        let pow = MadeTarget::find("pow").expect("known");
        let range = |from, to| ArgumentRange { from, to };
        let all = ranges(
            pow,
            (range(0.01, 9.0), Some(range(0.1, 0.1))),
            WorkingFormat::F32,
        );
        let point = f64::from(0.1f32);
        assert!(
            all.iter()
                .all(|(x, y)| x.from > 0.0 && *y == Some(range(point, point)))
        );
        let fixed = make(
            pow,
            (range(0.01, 9.0), Some(range(2.5, 2.5))),
            1e-9,
            WorkingFormat::F64,
        );
        let fixed = fixed.expect("made");
        assert!(fixed.second == Some([2.5, 2.5]) && fixed.from < 0.01);
        let any = make(
            pow,
            (range(0.01, 9.0), Some(range(-2.0, 2.5))),
            1e-9,
            WorkingFormat::F64,
        );
        assert!(any.is_some_and(|f| f.code.slots() > fixed.code.slots()));
        let negative = (range(-1.0, 9.0), Some(range(-2.0, 2.5)));
        assert_eq!(make(pow, negative, 1e-3, WorkingFormat::F64), None);
    }
}

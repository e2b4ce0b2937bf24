//! Blocks of a first workload file: what the source requires of them, and sizes to choose from where it requires nothing.
//!
//! A kernel's block is fixed by `reqd_work_group_size`, by a number in the code (`blockIdx.x * 64 + threadIdx.x`), by a shared
//! array that only a block of its size fills, or by a template argument where the kernel has shared memory of a fixed size that
//! nothing else explains. It is limited by `__launch_bounds__` and by shared arrays with a place for each thread. Kernels of one
//! file share `bx`, `by` and `bz`; where what they require differs, it stands in their launches as numbers.
use super::draft::BlockSpace;
use super::macros::{by_macros, named_sizes};
use super::{AXES, KernelKnowledge};

/// Threads of a block on any GPU.
const MOST_THREADS: i128 = 1024;

const WARP: i128 = 32;

/// Threads along one axis, and what says so.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    threads: i128,
    why: String,
}

/// What a kernel requires of its block along an axis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct AxisRule {
    /// The kernel tells threads apart along it.
    told: bool,
    /// Just so many.
    fixed: Option<Said>,
    /// The source leaves no choice, rather than the code being written for one.
    required: bool,
    /// At most so many.
    most: Option<Said>,
    /// A first choice.
    start: Option<i128>,
}

fn said(threads: i128, why: impl Into<String>) -> Option<Said> {
    let why = why.into();
    Some(Said { threads, why })
}

/// Integers among the arguments of a template, as its name writes them: `reduce<float, 256>`, `scan<(int)64>`.
fn template_numbers(name: &str) -> Vec<i128> {
    let Some((_, arguments)) = name.split_once('<') else {
        return Vec::new();
    };
    let number = |a: &str| {
        let a = a.trim().trim_end_matches('>').trim();
        let a = a.rsplit_once(')').map_or(a, |(_, n)| n);
        a.trim_end_matches(['u', 'l', 'U', 'L']).parse().ok()
    };
    arguments.split(',').filter_map(number).collect()
}

/// The one template argument that can be the size of a block.
fn template_block(name: &str) -> Option<i128> {
    let mut all = template_numbers(name);
    all.retain(|n| (WARP..=MOST_THREADS).contains(n) && n % WARP == 0);
    all.dedup();
    match all[..] {
        [one] => Some(one),
        _ => None,
    }
}

fn told_axes(k: &KernelKnowledge) -> Vec<usize> {
    (0..3).filter(|a| k.extents.axes[*a].threads()).collect()
}

/// What a kernel requires along an axis.
fn rule(k: &KernelKnowledge, axis: usize) -> AxisRule {
    let mut out = AxisRule {
        told: k.extents.axes[axis].threads(),
        ..AxisRule::default()
    };
    if let Some(r) = k.bounds.required {
        out.fixed = said(r[axis].into(), "the size that the kernel requires");
        out.required = true;
        return out;
    }
    if !out.told {
        out.fixed = said(1, "threads are not told apart there");
        return out;
    }
    if let Some(n) = k.extents.made_for[axis] {
        out.fixed = said(n, "the number in the code");
        return out;
    }
    let alone = told_axes(k).len() == 1;
    let bound = k.bounds.most.map(i128::from).filter(|_| alone);
    if let Some(n) = bound {
        out.most = said(n, format!("__launch_bounds__({n})"));
    }
    match &k.extents.filled[axis] {
        Some(f) if bound.is_some_and(|n| n < f.threads) => {}
        Some(f) if f.exact => {
            let why = format!(
                "threads that fill {}, all of which the kernel reads",
                f.array
            );
            out.fixed = said(f.threads, why);
            return out;
        }
        Some(f) => {
            let why = format!("{} has room for {}", f.array, f.threads);
            out.most = said(f.threads, why);
        }
        None => {}
    }
    if let Some(n) = template_block(&k.kernel.name).filter(|_| alone)
        && out.most.as_ref().is_none_or(|m| n <= m.threads)
    {
        if out.most.is_none() && k.kernel.static_shared_bytes > 0 {
            out.fixed = said(n, "the template argument");
            return out;
        }
        out.start = Some(n);
    }
    out
}

/// The blocks of all kernels of a file.
pub(super) struct BlockChoices {
    /// By kernel, in the order of the file.
    rules: Vec<(String, [AxisRule; 3])>,
    /// Axes along which kernels require different sizes.
    differ: [bool; 3],
    axes: Vec<usize>,
    warps: bool,
    /// Threads of a block over all axes, at most.
    pub(super) most_threads: i128,
    why_most: Option<String>,
    /// Threads of a block over all axes, where a shared array is numbered through them.
    all_threads: Option<Said>,
    /// Threads that a block is a multiple of.
    pub(super) multiple: i128,
}

impl BlockChoices {
    pub(super) fn new(known: &[KernelKnowledge]) -> BlockChoices {
        let rules: Vec<(String, [AxisRule; 3])> = known
            .iter()
            .map(|k| (k.kernel.symbol.clone(), [0, 1, 2].map(|a| rule(k, a))))
            .collect();
        let told = |a: &usize| known.iter().any(|k| k.extents.axes[*a].threads());
        let mut most = said(MOST_THREADS, "");
        let mut all_threads = None;
        for k in known.iter().filter(|k| told_axes(k).len() > 1) {
            let bound = k.bounds.most.map(i128::from);
            let bound = bound.and_then(|n| said(n, format!("__launch_bounds__({n})")));
            let room = k.extents.filled_by_all.as_ref();
            let room_most = room.and_then(|f| {
                let why = format!("{} has room for {}", f.array, f.threads);
                said(f.threads, why)
            });
            let fewer = bound.into_iter().chain(room_most).chain(most.take());
            most = fewer.min_by_key(|s| s.threads);
            if let Some(f) = room.filter(|f| f.exact) {
                let why = format!(
                    "threads that fill {}, all of which the kernel reads",
                    f.array
                );
                all_threads = said(f.threads, why);
            }
        }
        let most = most.unwrap_or(Said {
            threads: MOST_THREADS,
            why: String::new(),
        });
        let warps = known.iter().any(|k| k.extents.warps);
        BlockChoices {
            differ: [0, 1, 2].map(|a| differ(known, &rules, a)),
            axes: (0..3).filter(told).collect(),
            rules,
            warps,
            most_threads: most.threads,
            why_most: (most.threads < MOST_THREADS).then_some(most.why),
            all_threads: all_threads.filter(|a| a.threads <= most.threads),
            multiple: if warps { WARP } else { 1 },
        }
    }

    /// The rules of the kernels that tell threads apart along an axis.
    fn told(&self, axis: usize) -> impl Iterator<Item = &AxisRule> {
        let all = self.rules.iter().map(move |r| &r.1[axis]);
        all.filter(|r| r.told)
    }

    fn rule_of(&self, k: &KernelKnowledge, axis: usize) -> Option<&AxisRule> {
        let own = self.rules.iter().find(|r| r.0 == k.kernel.symbol)?;
        Some(&own.1[axis])
    }

    /// What a kernel's launch says of an axis: a number, or a launch parameter.
    pub(super) fn extent(&self, k: &KernelKnowledge, axis: usize) -> String {
        let fixed = self.rule_of(k, axis).and_then(|r| r.fixed.as_ref());
        let told = k.extents.axes[axis].threads();
        match fixed {
            Some(f) if !told || self.differ[axis] => f.threads.to_string(),
            _ => AXES[axis].to_owned(),
        }
    }

    /// Why numbers stand in a kernel's launch.
    pub(super) fn literal_note(&self, k: &KernelKnowledge) -> String {
        let literal = |a: &usize| k.extents.axes[*a].threads() && self.differ[*a];
        let mut why: Vec<&str> = (0..3)
            .filter(literal)
            .filter_map(|a| Some(self.rule_of(k, a)?.fixed.as_ref()?.why.as_str()))
            .collect();
        why.dedup();
        match why.is_empty() {
            true => String::new(),
            false => format!("   # {}", why.join(", ")),
        }
    }

    /// Axes that launch parameters stand for.
    pub(super) fn axes(&self) -> Vec<usize> {
        let all = self.axes.iter().copied();
        all.filter(|a| !self.differ[*a] || self.told(*a).any(|r| r.fixed.is_none()))
            .collect()
    }

    /// Launch parameters whose values nothing requires.
    pub(super) fn free_axes(&self) -> Vec<String> {
        let all = self.axes().into_iter();
        let free = |a: &usize| self.differ[*a] || !self.told(*a).any(|r| r.required);
        all.filter(free).map(|a| AXES[a].to_owned()).collect()
    }

    fn fixed(&self, axis: usize) -> Option<&Said> {
        if self.differ[axis] {
            return None;
        }
        let fixed = self.told(axis).filter_map(|r| r.fixed.as_ref());
        fixed.max_by_key(|f| f.threads)
    }

    fn most(&self, axis: usize) -> Option<&Said> {
        let all = self.told(axis).filter_map(|r| r.most.as_ref());
        all.min_by_key(|m| m.threads)
    }

    /// Threads along an axis, at most, beside those that some kernel has along the others in any case.
    fn room(&self, axis: usize) -> i128 {
        let beside = |rules: &[AxisRule; 3]| -> i128 {
            let others = (0..3).filter(|a| *a != axis && rules[*a].told);
            let fixed = others.filter_map(|a| rules[a].fixed.as_ref());
            fixed.map(|f| f.threads).product()
        };
        let told = self.rules.iter().filter(|r| r.1[axis].told);
        let most = told.map(|r| beside(&r.1)).max().unwrap_or(1);
        (self.most_threads / most.max(1)).max(1)
    }

    /// The launch space: sizes to choose from along each axis; one where the kernels require it, several where a macro of
    /// the source is that number.
    pub(super) fn launch_space(&self, macros: &[(String, i64)]) -> BlockSpace {
        let axes = self.axes();
        let mut space = BlockSpace::default();
        if axes.is_empty() {
            return space;
        }
        let names: Vec<&str> = axes.iter().map(|a| AXES[*a]).collect();
        let fixed: Vec<Option<i128>> = axes
            .iter()
            .map(|a| self.fixed(*a).map(|f| f.threads))
            .collect();
        let required = |a: &usize| self.told(*a).any(|r| r.required);
        if !axes.iter().any(required)
            && let Some(macros) = named_sizes(&fixed, macros)
        {
            return by_macros(&names, &macros, self.most_threads);
        }
        let (sizes, default) = usual_sizes(axes.len(), self.warps);
        let mut lists: Vec<Vec<i128>> = Vec::new();
        for (at, axis) in axes.iter().enumerate() {
            let (list, why) = match (self.fixed(*axis), self.most(*axis)) {
                (Some(f), _) => (vec![f.threads], f.why.clone()),
                (None, Some(m)) => (
                    up_to(sizes[at], m.threads.min(self.room(*axis))),
                    m.why.clone(),
                ),
                (None, None) => (up_to(sizes[at], self.room(*axis)), String::new()),
            };
            let note = match why.is_empty() {
                true => String::new(),
                false => format!("   # {why}"),
            };
            let all: Vec<String> = list.iter().map(ToString::to_string).collect();
            let values = format!("[{}]{note}", all.join(", "));
            space.parameters.push((names[at].to_owned(), values));
            lists.push(list);
        }
        if fixed.iter().all(Option::is_some) {
            return space;
        }
        let wanted: Vec<i128> = (axes.iter().zip(default))
            .map(|(a, usual)| self.first_choice(*a, *usual, axes.len()))
            .collect();
        space.conditions = self.conditions(&names, &lists, &wanted);
        space
    }

    /// A first size along an axis: what the source suggests, else a usual one.
    fn first_choice(&self, axis: usize, usual: i128, axes: usize) -> i128 {
        let start = self.told(axis).find_map(|r| r.start);
        let most = self.most(axis).map(|m| m.threads);
        start.or(most.filter(|_| axes == 1)).unwrap_or(usual)
    }

    /// Constraints and the default.
    fn conditions(&self, names: &[&str], lists: &[Vec<i128>], wanted: &[i128]) -> Vec<String> {
        let mut out = Vec::new();
        let product = names.join(" * ");
        let exact = self.all_threads.as_ref().and_then(|all| {
            let shape = shape_of(lists, all.threads)?;
            Some((all, shape))
        });
        let shape = match &exact {
            Some((all, shape)) => {
                out.push(format!(
                    "constraints = [\"{product} == {}\"]   # {}",
                    all.threads, all.why
                ));
                shape.clone()
            }
            None => {
                let why = self.why_most.as_ref();
                let why = why.map_or(String::new(), |w| format!("   # {w}"));
                let (least, most) = (WARP.min(self.most_threads), self.most_threads);
                if names.len() > 1 {
                    out.push(format!(
                        "constraints = [\"{product} >= {least}\", \"{product} <= {most}\"]{why}"
                    ));
                }
                within(lists, wanted, self.most_threads)
            }
        };
        let start: Vec<String> = names
            .iter()
            .zip(&shape)
            .map(|(n, v)| format!("{n} = {v}"))
            .collect();
        out.push(format!("default = {{ {} }}", start.join(", ")));
        out
    }
}

/// Do kernels require different sizes along an axis, or one of them more than another has room for?
fn differ(known: &[KernelKnowledge], rules: &[(String, [AxisRule; 3])], axis: usize) -> bool {
    let told = || {
        let all = known.iter().zip(rules);
        all.filter(|(_, r)| r.1[axis].told)
            .map(|(k, r)| (told_axes(k).len(), &r.1[axis]))
    };
    let fixed = || told().filter_map(|(n, r)| Some((n, r.fixed.as_ref()?.threads)));
    let Some((dimensions, one)) = fixed().next() else {
        return false;
    };
    let fewer = |r: &AxisRule| r.most.as_ref().is_some_and(|m| m.threads < one);
    // A row of 256 threads leaves no room for a second dimension.
    fixed().any(|f| f.1 != one) || told().any(|(n, r)| n != dimensions || fewer(r))
}

/// Sizes to choose from and first ones, by axis.
fn usual_sizes(axes: usize, warps: bool) -> (&'static [&'static [i128]], &'static [i128]) {
    match (axes, warps) {
        (0 | 1, _) => (&[&[32, 64, 128, 256, 512, 1024]], &[128]),
        (2, false) => (&[&[8, 16, 32, 64, 128], &[1, 2, 4, 8, 16]], &[16, 16]),
        // Warps lie along x.
        (2, true) => (&[&[32, 64, 128], &[1, 2, 4, 8]], &[32, 4]),
        (_, false) => (
            &[&[8, 16, 32, 64], &[1, 2, 4, 8], &[1, 2, 4, 8]],
            &[8, 4, 4],
        ),
        (_, true) => (&[&[32, 64], &[1, 2, 4, 8], &[1, 2, 4]], &[32, 2, 2]),
    }
}

/// Sizes up to a limit, and the limit itself where it is none of the usual ones.
fn up_to(sizes: &[i128], most: i128) -> Vec<i128> {
    let mut out: Vec<i128> = sizes.iter().copied().filter(|s| *s <= most).collect();
    if out.is_empty()
        || sizes
            .last()
            .is_some_and(|last| most < *last && !out.contains(&most))
    {
        out.push(most);
    }
    out
}

/// Sizes near the wanted ones that together are no more than a block may have.
fn within(lists: &[Vec<i128>], wanted: &[i128], most: i128) -> Vec<i128> {
    let single: i128 = lists
        .iter()
        .filter(|l| l.len() == 1)
        .map(|l| l[0])
        .product();
    let mut room = most / single.max(1);
    let mut out = Vec::new();
    for (list, wanted) in lists.iter().zip(wanted) {
        if let [only] = list[..] {
            out.push(only);
            continue;
        }
        let fits = list.iter().filter(|s| **s <= room.min(*wanted));
        let size = fits.max().or(list.first()).copied().unwrap_or(1);
        room /= size.max(1);
        out.push(size);
    }
    out
}

/// Sizes along two axes with just so many threads, as square as there are.
fn shape_of(lists: &[Vec<i128>], threads: i128) -> Option<Vec<i128>> {
    let [x, y] = lists else { return None };
    let mut all: Vec<(i128, i128)> = Vec::new();
    for a in x {
        all.extend(y.iter().filter(|b| a * **b == threads).map(|b| (*a, *b)));
    }
    let (a, b) = all.into_iter().min_by_key(|(a, b)| (a - b).abs())?;
    Some(vec![a, b])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_templates() {
        assert_eq!(template_numbers("k<float, (int)256, 3u>"), [256, 3]);
        assert_eq!(template_block("reduce<double, 256>"), Some(256));
        assert_eq!(template_block("k<64, 128>"), None);
        assert_eq!(template_block("k<3>"), None);
        assert_eq!(template_block("plain"), None);
    }

    #[test]
    fn sizes_stay_in_their_limits() {
        assert_eq!(up_to(&[32, 64, 128], 64), [32, 64]);
        assert_eq!(up_to(&[32, 64, 128], 96), [32, 64, 96]);
        assert_eq!(up_to(&[32, 64], 16), [16]);
        assert_eq!(up_to(&[32, 64], 1024), [32, 64]);
        let lists = [vec![8, 16, 32], vec![1, 2, 4, 8]];
        assert_eq!(within(&lists, &[16, 16], 64), [16, 4]);
        assert_eq!(shape_of(&lists, 256), Some(vec![32, 8]));
        assert_eq!(shape_of(&lists, 7), None);
    }
}

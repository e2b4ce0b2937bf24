//! The inputs of a judgement: chosen from the workload alone, so that the same workload gives the same ones.
//!
//! Sizes are varied one by one and together, around a base at which a run takes milliseconds even with every access checked;
//! values at the edges of their formats are tried at the base. The workload's own sizes for the CPU are among the inputs,
//! those for a GPU are tried where times are measured.
use kerf_tune::precheck::{derived_sizes, launched_threads};
use kerf_workload::Perturb;
use kerf_workload::expand::{ConcreteStep, expand};
use kerf_workload::generate::special::{InputChange, SpecialValues};
use kerf_workload::workload::Workload;
use serde::{Deserialize, Serialize};

/// Threads of a run at the base sizes, at most, where sizes can be reduced so far.
const BASE_THREADS: u64 = 4096;

/// Threads of a run that is checked for undefined behaviour, at most: about a second, races included.
const CHECKED_THREADS: u64 = 1 << 14;

/// Inputs that are checked where all have more threads.
const CHECKED_AT_LEAST: usize = 3;

/// Sizes below this are not reduced for the base.
const SMALL: i64 = 16;

/// Cases of other sizes, at most.
const MOST_SIZES: usize = 48;

/// Sizes that are tried in any case: tiny ones, and those around a warp and around a block.
const RAGGED: [i64; 8] = [1, 2, 3, 7, 31, 33, 100, 257];

/// Changes over the spread of the values, for the perturbed input: inputs from files change by this alone.
const PERTURB: f64 = 0.05;

/// What sets an input apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseKind {
    /// The workload as it is.
    AsGiven,
    /// Another seed.
    Seed,
    /// Other sizes.
    Sizes,
    /// Values at the edges of their formats.
    Values,
    /// Small changes of all values.
    Perturbed,
}

/// An input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Its name for readers.
    pub name: String,
    /// What sets it apart.
    pub kind: CaseKind,
    /// All sizes that can be chosen.
    pub sizes: Vec<(String, i64)>,
    /// Seed of the generators.
    pub seed: u64,
    /// Values in place of generated ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<SpecialValues>,
    /// Changes to generated values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturb: Option<Perturb>,
    /// Both programs run with every access checked as well.
    pub checked: bool,
}

/// What inputs are wanted.
#[derive(Debug, Clone)]
pub struct CaseOptions {
    /// Values at the edges that are not tried.
    pub skipped: Vec<SpecialValues>,
    /// Inputs from other seeds.
    pub seeds: usize,
    /// Sizes and launch parameters that replace the file's.
    pub overrides: Vec<(String, i64)>,
}

/// Sizes that the file does not compute from others.
fn free_sizes(w: &Workload, given: &[(String, i64)]) -> Vec<(String, i64)> {
    let derived = derived_sizes(w, given);
    let own = w.sizes.iter().filter(|(n, _)| !derived.contains(n));
    own.cloned().collect()
}

/// The workload at other sizes, where it can have them.
fn at(w: &Workload, options: &CaseOptions, sizes: &[(String, i64)]) -> Option<Workload> {
    Workload::read(&w.path, &with_parameters(w, options, sizes)).ok()
}

/// Overrides that are launch parameters, and sizes.
pub fn with_parameters(
    w: &Workload,
    options: &CaseOptions,
    sizes: &[(String, i64)],
) -> Vec<(String, i64)> {
    let is_size = |name: &String| w.sizes.iter().any(|(n, _)| n == name);
    let given = options.overrides.iter().filter(|(n, _)| !is_size(n));
    given.chain(sizes).cloned().collect()
}

/// Sizes at which a run takes milliseconds: halved while a run has too many threads, where they stay above [`SMALL`].
fn base_sizes(w: &Workload, options: &CaseOptions, free: &[(String, i64)]) -> Vec<(String, i64)> {
    let mut sizes = free.to_vec();
    let mut now = w.clone();
    while launched_threads(&now) > BASE_THREADS {
        let halved: Vec<(String, i64)> = sizes
            .iter()
            .map(|(n, v)| (n.clone(), if v / 2 >= SMALL { v / 2 } else { *v }))
            .collect();
        match at(w, options, &halved) {
            Some(smaller) if halved != sizes => (sizes, now) = (halved, smaller),
            _ => break,
        }
    }
    sizes
}

/// Threads of a block of the first launch, by dimension.
fn first_block(w: &Workload) -> Option<[u32; 3]> {
    let steps = expand(w, &w.launch_space.default_params()).ok()?;
    let mut launches = steps.filter_map(|s| match s {
        Ok(ConcreteStep::Launch(l)) => Some(l.block),
        _ => None,
    });
    launches.next()
}

/// Other values of one size.
fn values_of_size(base: i64, block: Option<[u32; 3]>) -> Vec<i64> {
    let mut all = vec![base + 1, base - 1, 2 * base + 1];
    all.extend(RAGGED);
    for threads in block.into_iter().flatten().filter(|b| *b > 1) {
        let threads = i64::from(threads);
        all.extend([threads, threads + 1, threads - 1]);
    }
    let mut out: Vec<i64> = Vec::new();
    for v in all {
        if v >= 1 && v != base && !out.contains(&v) {
            out.push(v);
        }
    }
    out
}

/// Sizes around the base, each alone and all together.
fn other_sizes(base: &[(String, i64)], block: Option<[u32; 3]>) -> Vec<Vec<(String, i64)>> {
    let mut out: Vec<Vec<(String, i64)>> = Vec::new();
    let mut push = |sizes: Vec<(String, i64)>| {
        if sizes != base && !out.contains(&sizes) {
            out.push(sizes);
        }
    };
    if base.len() > 1 {
        for d in [1, -1] {
            let moved = base.iter().map(|(n, v)| (n.clone(), (v + d).max(1)));
            push(moved.collect());
        }
        for all in [1, 2, 7, 33] {
            push(base.iter().map(|(n, _)| (n.clone(), all)).collect());
        }
    }
    let lists: Vec<Vec<i64>> = base.iter().map(|b| values_of_size(b.1, block)).collect();
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    // The first values of all sizes before the second ones: what is cut off is the same for each.
    for k in 0..longest {
        for (d, list) in lists.iter().enumerate() {
            if let Some(v) = list.get(k) {
                let mut sizes = base.to_vec();
                sizes[d].1 = *v;
                push(sizes);
            }
        }
    }
    out.truncate(MOST_SIZES);
    out
}

/// Sizes in words.
pub fn sizes_in_words(sizes: &[(String, i64)]) -> String {
    let all: Vec<String> = sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
    all.join(" ")
}

/// The inputs of a judgement, the workload as it is first.
pub fn cases(w: &Workload, options: &CaseOptions) -> Vec<Case> {
    let free = free_sizes(w, &options.overrides);
    let base = base_sizes(w, options, &free);
    let checked = |sizes: &[(String, i64)]| {
        at(w, options, sizes).is_some_and(|w| launched_threads(&w) <= CHECKED_THREADS)
    };
    let case = |name: String, kind, sizes: &[(String, i64)]| Case {
        name,
        kind,
        sizes: sizes.to_vec(),
        seed: w.seed,
        values: None,
        perturb: None,
        checked: checked(sizes),
    };
    let mut all = vec![case("as given".into(), CaseKind::AsGiven, &free)];
    for k in 1..=options.seeds as u64 {
        // In turn at the workload's own sizes and at the base.
        let sizes = if k % 2 == 1 { &base } else { &free };
        let seed = w.seed.wrapping_add(k);
        all.push(Case {
            seed,
            ..case(format!("seed {seed}"), CaseKind::Seed, sizes)
        });
    }
    let other: Vec<Case> = other_sizes(&base, first_block(w))
        .iter()
        .map(|sizes| case(sizes_in_words(sizes), CaseKind::Sizes, sizes))
        .collect();
    let at_edges = |v: &SpecialValues| {
        let change = InputChange {
            values: Some(*v),
            nudged: false,
        };
        !options.skipped.contains(v) && w.buffers.iter().any(|b| change.concerns(b))
    };
    let edges = SpecialValues::ALL.into_iter().filter(at_edges);
    let edges: Vec<Case> = edges
        .map(|v| Case {
            values: Some(v),
            ..case(v.name().into(), CaseKind::Values, &base)
        })
        .collect();
    // In turn: where time is short, some of both are tried.
    for k in 0..other.len().max(edges.len()) {
        all.extend(other.get(k).cloned());
        all.extend(edges.get(k).cloned());
    }
    all.push(Case {
        perturb: Some(Perturb {
            relative: PERTURB,
            seed: 1,
        }),
        ..case("perturbed".into(), CaseKind::Perturbed, &base)
    });
    if !all.iter().any(|c| c.checked) {
        check_smallest(w, options, &mut all);
    }
    all
}

/// Has the inputs with the fewest threads checked, where all have too many: something has to be.
fn check_smallest(w: &Workload, options: &CaseOptions, all: &mut [Case]) {
    let threads = |c: &Case| at(w, options, &c.sizes).map_or(u64::MAX, |w| launched_threads(&w));
    let mut order: Vec<(u64, usize)> = all.iter().map(threads).zip(0..).collect();
    order.sort();
    for (_, k) in order.into_iter().take(CHECKED_AT_LEAST) {
        all[k].checked = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(text: &str) -> (tempfile::TempDir, Workload) {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("w.toml");
        std::fs::write(dir.path().join("k.cu"), "").expect("a source");
        std::fs::write(&path, text).expect("written");
        let w = Workload::read(&path, &[]).expect("a workload");
        (dir, w)
    }

    const LINES: &str = r#"
source = "k.cu"
[sizes]
n = 65536
m = "n / 2"
[[buffer]]
name = "x"
type = "f32"
len = "n"
init = { uniform = [0.0, 1.0] }
[[buffer]]
name = "y"
type = "f32"
len = "n"
output = true
[[launch]]
kernel = "k"
grid = ["ceil_div(n, 256)"]
block = [256]
args = ["x", "y", "n"]
"#;

    fn options() -> CaseOptions {
        CaseOptions {
            skipped: vec![SpecialValues::Huge],
            seeds: 2,
            overrides: Vec::new(),
        }
    }

    #[test]
    fn inputs_vary_what_can_be_varied() {
        let (_dir, w) = workload(LINES);
        let all = cases(&w, &options());
        assert_eq!(all[0].sizes, [("n".to_owned(), 65536)]);
        assert!(!all[0].checked, "65,536 threads take too long");
        assert!(all.iter().all(|c| c.sizes.len() == 1), "m follows from n");
        let sizes: Vec<i64> = all.iter().map(|c| c.sizes[0].1).collect();
        for n in [1, 2, 33, 255, 257, 4095, 4097, 8193] {
            assert!(sizes.contains(&n), "{n} in {sizes:?}");
        }
        let named = |name: &str| all.iter().any(|c| c.name == name);
        assert!(named("nan") && named("zeros") && !named("huge"));
        assert!(
            all.iter()
                .filter(|c| c.kind == CaseKind::Values)
                .all(|c| c.checked)
        );
        assert_eq!(all, cases(&w, &options()), "the same every time");
    }

    #[test]
    fn several_sizes_vary_alone_and_together() {
        let base = [("n".to_owned(), 64), ("m".to_owned(), 32)];
        let all = other_sizes(&base, Some([16, 16, 1]));
        let pair = |n, m| vec![("n".to_owned(), n), ("m".to_owned(), m)];
        for one in [
            pair(65, 33),
            pair(65, 32),
            pair(64, 33),
            pair(1, 1),
            pair(64, 1),
        ] {
            assert!(all.contains(&one), "{one:?}");
        }
        assert!(all.len() <= MOST_SIZES && !all.contains(&base.to_vec()));
    }
}

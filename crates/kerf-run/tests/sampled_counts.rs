//! Some blocks of a launch stand for all of them.
use crate::common;

use common::tools;
use kerf_pass::count::{Detail, LaunchCounts};
use kerf_run::job::{Job, execute};
use std::path::{Path, PathBuf};

fn counted(example: &str, sizes: &[(&str, i64)], count_sampled: bool) -> Vec<LaunchCounts> {
    let examples: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let job = Job {
        overrides: sizes.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(),
        count: Some(Detail::Blocks),
        count_only: true,
        count_sampled,
        ..Job::plain(examples.join(example), &tools())
    };
    let report = execute(&job).unwrap_or_else(|e| panic!("{example}: {e}"));
    report.counts.expect("counts").launches
}

/// Executions of all blocks of the program by all threads, over all launches.
fn executions(all: &[LaunchCounts]) -> f64 {
    let one = |l: &LaunchCounts| {
        l.repeats as f64 * l.blocks.iter().map(|b| b.threads as f64).sum::<f64>()
    };
    all.iter().map(one).sum()
}

/// A single guard, tiles with a border and barriers, a triangular loop over launches, rejection by data.
#[test]
fn counts_of_some_blocks_are_close_to_those_of_all() {
    let cases: [(&str, &[(&str, i64)]); 4] = [
        ("black_scholes/black_scholes.toml", &[("n", 100_001)]),
        (
            "stencil/stencil.toml",
            &[("nx", 250), ("ny", 130), ("nz", 6), ("steps", 2)],
        ),
        ("gaussian/gaussian.toml", &[("n", 200)]),
        ("monte_carlo/monte_carlo.toml", &[]),
    ];
    for (example, sizes) in cases {
        let (all, some) = (
            counted(example, sizes, false),
            counted(example, sizes, true),
        );
        let ratio = executions(&some) / executions(&all);
        assert!((0.9..1.1).contains(&ratio), "{example}: {ratio}");
        // Addresses are of the same warps.
        let first = |l: &[LaunchCounts]| l[0].patterns.clone();
        assert_eq!(first(&all), first(&some), "{example}");
        assert!(!first(&some).is_empty(), "{example}");
    }
}

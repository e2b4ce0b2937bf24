//! Region mode and coroutine mode give the same bits on random kernels.
use crate::common;

use common::libdevice;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_fuzz::identity;

/// libdevice, from where set-up puts it or from a CUDA toolkit.
#[test]
fn regions_agree_with_coroutines() {
    let lib = libdevice();
    let range = std::env::var("KERF_TEST_SEEDS").unwrap_or_else(|_| "0..10".into());
    let (a, b) = range.split_once("..").expect("A..B");
    let range = a.parse::<u64>().expect("a number")..b.parse::<u64>().expect("a number");
    let mut split = 0;
    // Seeds 7193 and 41728 read a table and an array at `tid & 3` beside an index that may wrap: LLVM's vectoriser gets that
    // wrong, the second one in passes that were thought not to vectorise.
    let plans = std::env::var_os("KERF_TEST_PLANS").is_some();
    for seed in range.chain([7193, 41728]) {
        let p = identity::prepare(seed, 4, &lib, "sm_90", plans).expect("prepares");
        let run = |no_regions| {
            let mut e = CpuExecutor::new(
                &p.module,
                CpuOptions {
                    no_regions,
                    ..CpuOptions::default()
                },
            )
            .expect("compiles");
            (0..4)
                .map(|k| identity::run(&p, k, &mut e).expect("runs"))
                .collect::<Vec<_>>()
        };
        let (regions, coroutines) = (run(false), run(true));
        for k in 0..4 {
            let uses = p.random.kernels[k].uses;
            split += usize::from(uses.shared && !uses.shuffle);
            if let Some(d) = coroutines[k].differences(&regions[k]) {
                panic!("seed {seed} kernel {k}: {d}");
            }
        }
    }
    assert!(
        split > 5,
        "the seeds should hold kernels with barriers alone"
    );
}

use super::*;
use kerf_device::bundled;
use kerf_device::occupancy::{Demand, Multiprocessor};
use kerf_run::job::LaunchKind;
use kerf_workload::ConcreteLaunch;

fn candidate(at: usize, block: [u32; 3], registers: u32, sectors: f64) -> Candidate {
    let h200 = bundled::find("h200")
        .expect("bundled")
        .bundled
        .load()
        .expect("a profile");
    let machine = Multiprocessor::from_profile(&h200).expect("limits");
    let threads: u32 = block.iter().product();
    let demand = Demand {
        registers,
        shared: 0,
        carveout: None,
    };
    let launch = ConcreteLaunch {
        kernel: "k".into(),
        grid: [1_000_000u32.div_ceil(threads), 1, 1],
        block,
        shared: 0,
        args: Vec::new(),
        line: 1,
    };
    Candidate {
        at,
        work: None,
        looks: vec![Look {
            symbol: "k".into(),
            name: "k".into(),
            kind: LaunchKind {
                symbol: "k".into(),
                name: "k".into(),
                repeats: 1,
                varies: false,
                launch,
            },
            occupancy: machine.occupancy(demand, threads).expect("fits"),
            sectors,
            segments: sectors / 2.0,
            told: 1.0,
        }],
    }
}

fn blocks(all: &[Candidate]) -> Vec<u32> {
    all.iter().map(Candidate::threads).collect()
}

#[test]
fn coalescing_leaves_the_shapes_that_move_least() {
    let all = vec![
        candidate(0, [32, 8, 1], 32, 0.25),
        candidate(1, [4, 64, 1], 32, 1.0),
        candidate(2, [64, 4, 1], 32, 0.26),
    ];
    let (left, cut) = coalescing(all);
    assert_eq!(left.iter().map(|c| c.at).collect::<Vec<_>>(), [0, 2]);
    assert_eq!((cut.before, cut.after), (3, 2));
}

#[test]
fn coalescing_leaves_all_where_it_cannot_tell() {
    let mut all = vec![
        candidate(0, [32, 8, 1], 32, 0.25),
        candidate(1, [4, 64, 1], 32, 1.0),
    ];
    all[1].looks[0].told = 0.2;
    assert_eq!(coalescing(all).0.len(), 2);
}

fn contention(lambda: f64) -> Contention {
    Contention {
        lambda: Some(lambda),
        lambda_0: LAMBDA_0,
        l1: 256.0 * 1024.0,
        sms: 132.0,
    }
}

#[test]
fn concurrency_wants_many_warps_unless_they_thrash() {
    // 32 threads a block: 32 blocks, half of the warps; 1024: all of them.
    let all = || {
        vec![
            candidate(0, [32, 1, 1], 32, 1.0),
            candidate(1, [256, 1, 1], 32, 1.0),
        ]
    };
    let (left, _) = concurrency(all(), contention(0.95), 0.0);
    assert_eq!(blocks(&left), [256]);
    // 64 warps that hold 64 lines of 128 bytes each: 512 KiB.
    let (left, cut) = concurrency(all(), contention(0.95), 64.0);
    assert_eq!(blocks(&left), [32, 256], "{}", cut.why);
    // The same lines where memory is not what takes the time.
    let (left, _) = concurrency(all(), contention(0.2), 64.0);
    assert_eq!(blocks(&left), [256]);
}

#[test]
fn growing_work_is_told_from_edges() {
    assert_eq!(growth((32, 100.0), (1024, 104.0)), None);
    assert!(growth((32, 100.0), (1024, 900.0)).is_some_and(|g| (g - 9.0).abs() < 1e-9));
    assert_eq!(growth((1024, 100.0), (32, 900.0)), None);
}

#[test]
fn spread_keeps_few_and_different() {
    let all = (1..=32)
        .map(|w| candidate(w, [32 * w as u32, 1, 1], 32, 1.0))
        .collect();
    let (left, more, _) = spread(all, 4, 8);
    assert!(left.len() <= 4 && left.len() >= 2, "{:?}", blocks(&left));
    let b = blocks(&left);
    assert!(b.windows(2).all(|w| w[1] >= 2 * w[0]), "{b:?}");
    // Sizes between those.
    assert!(!more.is_empty() && more.len() <= 8, "{:?}", blocks(&more));
    assert!(blocks(&more).iter().all(|m| !b.contains(m)));
}

#[test]
fn shapes_that_do_least_work_are_found() {
    let all = |work: [f64; 3]| {
        let one = |(i, w): (usize, f64)| Candidate {
            work: Some(w),
            ..candidate(i, [32 << i, 1, 1], 32, 1.0)
        };
        work.into_iter().enumerate().map(one).collect::<Vec<_>>()
    };
    assert_eq!(least_work(&all([150.0, 105.0, 220.0]), 2), [1, 0]);
    // All as much, or nothing counted.
    assert!(least_work(&all([100.0, 101.0, 104.0]), 2).is_empty());
    assert!(least_work(&[candidate(0, [32, 1, 1], 32, 1.0)], 2).is_empty());
}

#[test]
fn what_cannot_be_run_is_dealt_out_evenly() {
    let small = |at, threads: u32, blocks: u32| {
        let mut c = candidate(at, [threads, 1, 1], 32, 1.0);
        c.looks[0].kind.launch.grid = [blocks, 1, 1];
        c
    };
    // 64 blocks of 64 threads, or 4 of 1024, on 132 multiprocessors.
    let all = [small(0, 1024, 4), small(1, 64, 64), small(2, 256, 16)];
    assert_eq!(unseen(&all, 132.0), Some(1));
    // As much for every multiprocessor, whatever the block.
    let even = [
        small(0, 32, 132 * 8),
        small(1, 128, 132 * 2),
        small(2, 64, 132 * 4),
    ];
    assert_eq!(unseen(&even, 132.0), Some(2));
    assert_eq!(unseen(&[], 132.0), None);
}

//! Blocks of threads on a multiprocessor: those that have more to do, and how many are there at once.
use super::warps::{Company, Step, clocks};
use kerf_pass::count::Spread;

/// The largest of as many normal numbers as there are multiprocessors, in the mean (132 of them).
const LARGEST: f64 = 2.6;

/// What the multiprocessor with the most work takes longer than that with the mean, where it has so many blocks of threads and
/// so many of them at once. Those that begin later go where there is least to do.
pub(super) fn uneven(spread: Option<Spread>, blocks: f64, resident: f64) -> f64 {
    let Some(s) = spread else { return 1.0 };
    let more = LARGEST * f64::from(s.deviation) * resident.min(blocks).sqrt() / blocks;
    (1.0 + more).min(f64::from(s.most)).max(1.0)
}

/// Clocks of a round of one warp, where so many blocks of so many warps are on a multiprocessor: a scheduler's, over its warps.
pub(super) fn together(
    steps: &[Step],
    partitions: f64,
    blocks: f64,
    in_block: u32,
    rounds: usize,
) -> f64 {
    let warps = blocks * f64::from(in_block);
    // Warps of a block that meet are on all schedulers; otherwise those of one tell.
    let (company, each) = match steps.iter().any(|s| s.barrier) && in_block > 1 {
        true => {
            let (some, active) = (warps.clamp(1.0, 64.0), warps.min(partitions));
            let all = Company {
                warps: some as usize,
                schedulers: active as usize,
                block: in_block as usize,
            };
            (all, some / active)
        }
        false => {
            let some = (warps / partitions).ceil().clamp(1.0, 16.0);
            let own = Company {
                warps: some as usize,
                schedulers: 1,
                block: 1,
            };
            (own, some)
        }
    };
    clocks(steps, company, rounds) / each
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::machine::warps::{Unit, tests::step};

    #[test]
    fn blocks_with_more_work_decide_where_there_are_few() {
        let of = |deviation, most| Some(Spread { deviation, most });
        assert_eq!(uneven(None, 1.0, 1.0), 1.0);
        assert_eq!(uneven(of(0.0, 1.0), 4.0, 4.0), 1.0);
        // The largest, where each multiprocessor has one.
        assert_eq!(uneven(of(0.3, 1.5), 1.0, 16.0), 1.5);
        let (few, many) = (
            uneven(of(0.3, 3.0), 16.0, 16.0),
            uneven(of(0.3, 3.0), 160.0, 16.0),
        );
        assert!(few > 1.15 && many < 1.03, "{few} {many}");
    }

    #[test]
    fn a_block_alone_takes_longer_for_each_of_its_warps() {
        let chain = step(Unit::F64, 2.0, 8.0);
        // One warp a scheduler waits for itself; of six, the unit is what they wait for.
        let of = |blocks| together(&[chain; 10], 4.0, blocks, 4, 8);
        let (alone, many) = (of(1.0), of(6.0));
        assert!((alone - 80.0).abs() < 1.0, "{alone}");
        assert!((many - 20.0).abs() < 2.0, "{many}");
    }
}

//! How the threads of a coarsened kernel relate to those that were counted, and how its fallbacks are told from the rest.
use kerf_pass::coarsen::Coarsening;

/// Added to the lines of code that is taken not to be executed: more than a module has instructions.
pub(super) const FALLBACK_LINES: u32 = 1 << 22;

/// How the threads of a coarsened launch relate to those that were counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements {
    /// Elements of a thread.
    pub of_thread: f64,
    /// Neighbouring elements of a thread that lie side by side.
    pub run: f64,
    /// Executions of an operation by warps, over what was counted: more than 1 where warps are not full.
    pub executions_factor: f64,
}

impl Elements {
    /// Threads with one element.
    pub(super) const ONE: Elements = Elements {
        of_thread: 1.0,
        run: 1.0,
        executions_factor: 1.0,
    };

    /// Of a launch with blocks of `logical` threads, of which `physical` are launched.
    pub(super) fn new(c: &Coarsening, logical: [u32; 3], physical: [u32; 3]) -> Elements {
        let warps = |block: [u32; 3]| f64::from(block.iter().product::<u32>().div_ceil(32).max(1));
        let of_thread = f64::from(c.factor);
        Elements {
            of_thread,
            run: f64::from(c.run_length()),
            executions_factor: of_thread * warps(physical) / warps(logical),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_coarsened_launch_relate_to_those_that_were_counted() {
        let eight = Coarsening::blocked(8);
        let of = |block: [u32; 3]| {
            let physical = eight.launch(block).expect("divides");
            Elements::new(&eight, block, physical)
        };
        // 256 threads are 8 warps, 32 of them one.
        assert_eq!(of([256, 1, 1]).executions_factor, 1.0);
        // 64 threads are 2 warps, 8 of them one that is not full.
        assert_eq!(of([64, 1, 1]).executions_factor, 4.0);
        assert_eq!(of([64, 1, 1]).of_thread, 8.0);
    }
}

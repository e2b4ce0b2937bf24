//! What a search costs: seconds of a core by how an argument is searched, and of a machine.
//!
//! The figures are of one core with AVX-512 and of an H200; a run corrects them by what it takes
//! ([`TimeLeft`]). They decide how a range is divided and what is said about time, never what is found.
use crate::isa::Isa;

/// An interval of the test, those that fail and their parts included.
pub const INTERVAL_S: f64 = 40e-9;
/// An argument by runs of vectors.
pub const VISITED_S: f64 = 0.8e-9;
/// An argument by differences of a polynomial, one at a time.
pub const WALKED_S: f64 = 7e-9;
/// An argument of sine, cosine or tangent by turns.
pub const TURNED_S: f64 = 40e-9;
/// An argument by MPFR.
pub const EVALUATED_S: f64 = 14e-6;
/// A piece: the enclosures that describe it by a polynomial.
pub const PIECE_S: f64 = 300e-6;
/// How many times faster than a core a GPU makes the test.
const GPU_SPEEDUP: f64 = 1000.0;

/// Seconds of a core for an argument, or for many.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CoreSeconds {
    /// For the test on intervals, which a GPU can make.
    pub tested: f64,
    /// For everything else.
    pub other: f64,
}

impl CoreSeconds {
    /// Both.
    pub fn total(self) -> f64 {
        self.tested + self.other
    }
    /// For so many.
    pub fn times(self, n: f64) -> CoreSeconds {
        CoreSeconds {
            tested: self.tested * n,
            other: self.other * n,
        }
    }
    /// Of both.
    pub fn plus(self, o: CoreSeconds) -> CoreSeconds {
        CoreSeconds {
            tested: self.tested + o.tested,
            other: self.other + o.other,
        }
    }
    /// Of what remains after a part was done.
    pub fn less(self, o: CoreSeconds) -> CoreSeconds {
        CoreSeconds {
            tested: (self.tested - o.tested).max(0.0),
            other: (self.other - o.other).max(0.0),
        }
    }
}

/// What searches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchMachine {
    /// Threads of all processes.
    pub threads: usize,
    /// GPUs.
    pub gpus: usize,
    /// Instructions of the cores.
    pub isa: Isa,
}

impl SearchMachine {
    /// Seconds that so much work takes.
    pub fn seconds(&self, work: CoreSeconds) -> f64 {
        let slower = match self.isa {
            Isa::Scalar => 5.0,
            Isa::Avx2 => 1.7,
            Isa::Avx512 => 1.0,
        };
        let threads = self.threads.max(1) as f64;
        match self.gpus {
            0 => (work.tested * slower + work.other) / threads,
            // The processor prepares while the device works.
            n => (work.tested / GPU_SPEEDUP / n as f64).max(work.other / threads),
        }
    }
}

/// The time that is left, by what the parts that are done were said to take and what they took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeLeft {
    /// What searches.
    pub machine: SearchMachine,
    /// All work of this run.
    pub whole: CoreSeconds,
}

/// Seconds of work after which what it took counts more than what it was said to take.
const BELIEVED_S: f64 = 10.0;

impl TimeLeft {
    /// Seconds until the end, after `elapsed_s` in which `done` was done. The ratio of time taken to time predicted is
    /// weighed with 1, which counts as [`BELIEVED_S`] of experience.
    pub fn seconds(&self, done: CoreSeconds, elapsed_s: f64) -> f64 {
        let predicted = self.machine.seconds(done);
        let left = self.machine.seconds(self.whole.less(done));
        left * (elapsed_s + BELIEVED_S) / (predicted + BELIEVED_S)
    }
    /// The part of the work that is done, from 0 to 1.
    pub fn share(&self, done: CoreSeconds) -> f64 {
        let whole = self.machine.seconds(self.whole);
        match whole > 0.0 {
            true => (self.machine.seconds(done) / whole).clamp(0.0, 1.0),
            false => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two parts of different cost: a constant rate of arguments would be off by a factor of ten after the cheap one.
    #[test]
    fn the_time_left_follows_the_parts() {
        let core = |tested| CoreSeconds { tested, other: 0.0 };
        let machine = SearchMachine {
            threads: 2,
            gpus: 0,
            isa: Isa::Avx512,
        };
        let left = TimeLeft {
            machine,
            whole: core(2200.0),
        };
        assert_eq!(left.seconds(core(0.0), 0.0), 1100.0);
        // The machine is half as fast as said.
        let after = left.seconds(core(200.0), 200.0);
        assert!((1800.0..2000.0).contains(&after), "{after}");
        assert_eq!(left.share(core(1100.0)), 0.5);
        assert_eq!(left.seconds(core(2200.0), 9.0), 0.0);
        // A GPU makes the test; the rest is the processor's.
        let gpu = SearchMachine { gpus: 1, ..machine };
        assert_eq!(gpu.seconds(core(1000.0)), 1.0);
        let other = CoreSeconds {
            tested: 1000.0,
            other: 50.0,
        };
        assert_eq!(gpu.seconds(other), 25.0);
    }
}

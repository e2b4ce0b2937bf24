//! What host and device exchange, byte for byte as `device/tally.h` has it.

/// Threads of a block.
pub const THREADS: u32 = 128;
/// Documented bounds that a kernel can check at once.
pub const BOUNDS: usize = 3;

/// Consecutive arguments, all of one binade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// First argument: its bit pattern, or its number where arguments are generated.
    pub start: u64,
    /// How many.
    pub count: u32,
    /// Bit i: bound i holds here.
    pub bounds: u32,
    /// How arguments are generated.
    pub mode: u32,
    /// What the mode needs.
    pub parameters: [u32; 3],
}

impl Segment {
    /// Bytes of one.
    pub const BYTES: usize = 32;
    /// Appends the device's form.
    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.start.to_le_bytes());
        for word in [self.count, self.bounds, self.mode] {
            to.extend(word.to_le_bytes());
        }
        for word in self.parameters {
            to.extend(word.to_le_bytes());
        }
    }
}

/// The measure that a bound speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum BoundMeasure {
    /// Steps between neighbouring values, from the correctly rounded result.
    Steps = 0,
    /// Absolute error.
    Absolute = 1,
    /// Relative error.
    Relative = 2,
    /// Steps beyond floor(|1.173 x|).
    StepsBeyondExponent = 3,
}

/// A largest error and the argument's index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedPeak {
    /// The error; negative where there was no argument.
    pub value: f64,
    /// The argument.
    pub index: u64,
}

/// Statistics of one segment.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentRecord {
    /// Finite results judged.
    pub compared: u64,
    /// NaN or infinity as it should be.
    pub special: u64,
    /// NaN or infinity against a number, or flushed to something else.
    pub mismatched: u64,
    /// The first of them.
    pub mismatch: u64,
    /// Flushed arguments and results.
    pub flushed: u64,
    /// Results that are not the correctly rounded ones.
    pub misrounded: u64,
    /// Doubtful ones that found no room on the list.
    pub unsettled: u64,
    /// Results with a relative error.
    pub normal: u64,
    /// Largest error in ulps.
    pub ulp: RecordedPeak,
    /// Largest number of steps.
    pub steps: RecordedPeak,
    /// Largest absolute error.
    pub absolute: f64,
    /// Largest relative error.
    pub relative: f64,
    /// Sum of errors in ulps.
    pub sum_ulp: f64,
    /// Sum of steps.
    pub sum_steps: f64,
    /// Sum of relative errors.
    pub sum_relative: f64,
    /// Worst and number of violations, by bound.
    pub bounds: [(RecordedPeak, u64); BOUNDS],
}

/// An argument that the host has to judge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Doubt {
    /// The argument's index.
    pub index: u64,
    /// Bits of the device's result.
    pub got: u64,
    /// Segment within the launch.
    pub segment: u32,
    /// Bits of the arguments.
    pub arguments: [u32; 3],
}

/// Takes little-endian words off bytes.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn u64(&mut self) -> u64 {
        let (now, rest) = self.0.split_at(8);
        self.0 = rest;
        now.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))
    }
    fn u32(&mut self) -> u32 {
        let (now, rest) = self.0.split_at(4);
        self.0 = rest;
        now.iter().rev().fold(0, |v, b| v << 8 | u32::from(*b))
    }
    fn f64(&mut self) -> f64 {
        f64::from_bits(self.u64())
    }
    fn peak(&mut self) -> RecordedPeak {
        RecordedPeak {
            value: self.f64(),
            index: self.u64(),
        }
    }
}

impl SegmentRecord {
    /// Bytes of one.
    pub const BYTES: usize = 64 + 32 + 40 + BOUNDS * 24;
    /// Reads the device's form.
    pub fn read(bytes: &[u8]) -> SegmentRecord {
        let mut w = Words(bytes);
        SegmentRecord {
            compared: w.u64(),
            special: w.u64(),
            mismatched: w.u64(),
            mismatch: w.u64(),
            flushed: w.u64(),
            misrounded: w.u64(),
            unsettled: w.u64(),
            normal: w.u64(),
            ulp: w.peak(),
            steps: w.peak(),
            absolute: w.f64(),
            relative: w.f64(),
            sum_ulp: w.f64(),
            sum_steps: w.f64(),
            sum_relative: w.f64(),
            bounds: std::array::from_fn(|_| (w.peak(), w.u64())),
        }
    }
}

impl Doubt {
    /// Bytes of one.
    pub const BYTES: usize = 32;
    /// Reads the device's form.
    pub fn read(bytes: &[u8]) -> Doubt {
        let mut w = Words(bytes);
        Doubt {
            index: w.u64(),
            got: w.u64(),
            segment: w.u32(),
            arguments: std::array::from_fn(|_| w.u32()),
        }
    }
}

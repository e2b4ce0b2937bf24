//! What host and device share: constants and the order of fields, as in `device/compare.cu` and its headers.
use kerf_num::Dd;
use kerf_num::metrics::{ComparedElement, ErrorParts, LargestError, SumOfSquares};

/// Values of a chunk.
pub(super) const CHUNK: usize = 4096;
/// Partial results that one launch makes one of.
pub(super) const GROUP: usize = 1024;
/// Threads of a block that counts.
pub(super) const COUNTERS: usize = 256;
/// Bits of a digit of a relative error; 7 of them are all but the sign.
pub(super) const DIGIT_BITS: u32 = 9;
/// Values of a digit.
pub(super) const BINS: usize = 1 << DIGIT_BITS;
/// Prefixes of one count.
pub(super) const PREFIXES: usize = 8;
/// Half decades that errors are counted by, at most.
pub(super) const HALVES: usize = 1264;
/// Windows of a tile, across and down.
pub(super) const TILE: usize = 16;
/// Bytes of a sum.
pub(super) const SUM_BYTES: usize = 2 * 8;
/// Bytes of a partial result.
pub(super) const PARTIAL_BYTES: usize = 23 * 8;

/// No index.
const NOWHERE: u64 = u64::MAX;

/// The 64-bit words of a buffer, one after the other; zeros after its end.
pub(super) struct Words<'a> {
    bytes: &'a [u8],
}

impl<'a> Words<'a> {
    /// From the start of `bytes`.
    pub(super) fn new(bytes: &'a [u8]) -> Words<'a> {
        Words { bytes }
    }

    /// The next word.
    pub(super) fn take(&mut self) -> u64 {
        match self.bytes.split_first_chunk::<8>() {
            Some((word, rest)) => {
                self.bytes = rest;
                u64::from_le_bytes(*word)
            }
            None => 0,
        }
    }

    fn count(&mut self) -> usize {
        self.take() as usize
    }

    fn float(&mut self) -> f64 {
        f64::from_bits(self.take())
    }

    fn largest(&mut self) -> (f64, u64) {
        (self.float(), self.take())
    }

    /// The next two words as a sum.
    pub(super) fn sum(&mut self) -> Dd {
        Dd {
            hi: self.float(),
            lo: self.float(),
        }
    }

    fn squares(&mut self) -> SumOfSquares {
        let sum = self.sum();
        SumOfSquares::from_scaled(sum, self.take() as i32)
    }
}

/// The partial result of all `count` values, with the values that have the largest errors behind it.
pub(super) fn parts(bytes: &[u8], count: usize, floor: f64) -> ErrorParts {
    let mut words = Words::new(bytes);
    let mut parts = ErrorParts::new(count, floor);
    parts.compared = words.count();
    parts.nan_pairs = words.count();
    parts.inf_pairs = words.count();
    parts.nan_mismatch = words.count();
    parts.inf_mismatch = words.count();
    parts.bit_mismatches = words.count();
    let first = words.take();
    parts.first_mismatch = (first != NOWHERE).then_some(first as usize);
    let found = [(); 3].map(|()| words.largest());
    parts.max_ulp_rounded = words.float();
    parts.peak = words.float();
    parts.rel_sum = words.sum();
    parts.abs_squares = words.squares();
    parts.reference_squares = words.squares();
    let largest = found.map(|(error, index)| {
        let element = ComparedElement {
            index: index as usize,
            got: words.float(),
            reference: words.float(),
            reference_lo: words.float(),
        };
        let at = (index != NOWHERE).then_some(element);
        LargestError { error, at }
    });
    [parts.max_abs, parts.max_rel, parts.max_ulp] = largest;
    parts
}

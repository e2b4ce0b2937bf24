//! How records lie in memory: what the counters write and the host reads.
use kerf_num::Format;

/// Lanes of a warp.
pub(super) const LANES: usize = 32;
/// Numbers of one block: executions by each lane, and the most by any one thread.
pub(super) const BLOCK_FIELDS: usize = LANES + 1;

/// Numbers of one site, all of them zero where nothing was seen.
pub(super) const FIELDS: usize = 22;
/// Largest finite magnitude, as bits.
pub(super) const LARGEST: usize = 0;
/// How far the smallest magnitude that is not zero lies below infinity, in bits.
pub(super) const BELOW_INFINITY: usize = 1;
/// All fraction bits that occurred.
pub(super) const FRACTION: usize = 2;
/// Number of NaN.
pub(super) const NAN: usize = 3;
/// Number of infinities.
pub(super) const INFINITE: usize = 4;
/// Number of magnitudes below the smallest normal f16, but not zero.
pub(super) const TINY_F16: usize = 5;
/// Number of magnitudes below the smallest normal f32 (and bf16), but not zero.
pub(super) const TINY_F32: usize = 6;
/// Largest cancellation in bits.
pub(super) const CANCELLATION: usize = 7;
/// Number of zeros.
pub(super) const ZERO: usize = 8;

/// Where the local errors in one format are.
pub(super) struct Local {
    /// Largest, as bits of an f64.
    pub largest: usize,
    /// Their sum in parts of the format's unit.
    pub sum: usize,
}
/// Local errors by [`FORMATS`].
pub(super) const LOCAL: [Local; 3] = [
    Local {
        largest: 9,
        sum: 10,
    },
    Local {
        largest: 11,
        sum: 12,
    },
    Local {
        largest: 13,
        sum: 14,
    },
];
/// Number of values with a local error.
pub(super) const LOCAL_VALUES: usize = 15;

/// The largest finite argument of a math call, as the key of its order.
pub(super) const LARGEST_ARGUMENT: usize = 16;
/// The smallest one, as the complement of its key.
pub(super) const SMALLEST_ARGUMENT: usize = 17;

/// The largest finite second argument of a math call, as the key of its order.
pub(super) const LARGEST_SECOND: usize = 19;
/// The smallest one, as the complement of its key.
pub(super) const SMALLEST_SECOND: usize = 20;

/// Executions whose values were recorded, where only some are; zero where all are.
pub(super) const RECORDED: usize = 21;

/// Number of magnitudes below [`LEAST_DW32`], but not zero.
pub(super) const TINY_DW32: usize = 18;

/// Below this magnitude the low word of a pair of f32 loses digits, or is zero: a product's rounding error, 2^-47 of it, is
/// exact in f32 down to 2^-149.
pub const LEAST_DW32: f64 = 1.0 / (1u128 << 102) as f64;

/// The bit that is set in keys of positive numbers.
pub(super) const KEY_SIGN: u64 = 1 << 63;

/// The number of a key: keys have the order of the numbers, and none is zero.
pub(super) fn number_of_key(key: u64) -> f64 {
    f64::from_bits(match key & KEY_SIGN {
        0 => !key,
        _ => key ^ KEY_SIGN,
    })
}

/// How a field of two runs becomes that of both.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    Largest,
    All,
    Sum,
}

pub(super) fn join(field: usize) -> Join {
    match field {
        LARGEST | BELOW_INFINITY | CANCELLATION | 9 | 11 | 13 => Join::Largest,
        LARGEST_ARGUMENT | SMALLEST_ARGUMENT => Join::Largest,
        LARGEST_SECOND | SMALLEST_SECOND => Join::Largest,
        FRACTION => Join::All,
        _ => Join::Sum,
    }
}

/// Bits of positive infinity in a format.
pub(super) fn infinity(f: Format) -> u64 {
    f.encode(f64::INFINITY)
}

/// Formats that sites are compared with.
pub(super) const FORMATS: [Format; 3] = [Format::F32, Format::F16, Format::Bf16];

/// A single error counts at most this many units in the mean, so that one near-total cancellation does not
/// stand for all.
pub(super) const MOST: f64 = 1048576.0;

/// Parts of a unit in the sum of errors.
pub(super) const PARTS: f64 = 256.0;

/// One of a format's units: half a unit in the last place of 1.
pub(super) fn unit(f: Format) -> f64 {
    (-f64::from(f.mantissa_bits())).exp2()
}

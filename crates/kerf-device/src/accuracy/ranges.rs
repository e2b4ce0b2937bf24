//! Sizes of arguments: their exponents, the binades that error maps show, and how far double words go.
use kerf_num::Format;

/// Binades of f64 that an error map shows: all of moderate size, and every eighth beyond.
pub fn in_map(exponent: i32) -> bool {
    exponent.abs() <= 64 || exponent % 8 == 0 || exponent >= 1022 || exponent <= -1072
}

/// floor(log2 |x|) of a finite number other than zero.
pub fn exponent(x: f64) -> i32 {
    let field = (x.to_bits() >> 52 & 0x7ff) as i32;
    if field == 0 {
        let fraction = x.to_bits() & ((1 << 52) - 1);
        fraction.ilog2() as i32 - 1074
    } else {
        field - 1023
    }
}

/// So far from 1, in powers of two, that no error term underflows.
pub fn reach(format: Format) -> i64 {
    if format == Format::F32 { 25 } else { 250 }
}

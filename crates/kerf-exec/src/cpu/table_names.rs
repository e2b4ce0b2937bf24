//! Names of the tables that stand for the special-function unit. Code has their names, not their addresses, so that
//! it can be kept.

/// First approximations of f64 reciprocals.
pub const RCP_SEEDS: &str = "kerf_table_rcp64";
/// First approximations of f64 reciprocal square roots.
pub const RSQRT_SEEDS: &str = "kerf_table_rsqrt64";
/// Coefficients of the segments of all functions.
pub const SEGMENTS: &str = "kerf_table_segments";
/// Squares of arguments of 16 bits.
pub const SQUARES_16: &str = "kerf_table_squares16";
/// Squares of arguments of 17 bits.
pub const SQUARES_17: &str = "kerf_table_squares17";
/// Segments of tanh by exponent.
pub const BINADES: &str = "kerf_table_binades";

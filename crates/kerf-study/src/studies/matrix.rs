//! What the two matrix studies share: inputs, comparison, findings' pairs.
use crate::inputs::InputStream;
use crate::measured::ErrorSummary;
use crate::number::Storage;
use rug::Float;

/// Elements come from either, with equal chance.
pub const INTERVALS: [(f64, f64); 2] = [(1e-2, 1e-1), (1e1, 1e2)];
/// The intervals in words.
pub const CASE: &str = "1e-2..1e-1 & 1e1..1e2";

/// A matrix of `n` rows of `width`, whose elements float holds exactly.
pub fn random(seed: u64, name: &str, n: usize, width: usize) -> Vec<f64> {
    let value = InputStream::new(seed, &format!("{name} {n} value"));
    let side = InputStream::new(seed, &format!("{name} {n} interval"));
    (0..(n * width) as u64)
        .map(|i| value.single_within(i, INTERVALS[(side.bits(i) & 1) as usize]))
        .collect()
}

/// Errors over the elements that `wanted` (row, column) picks.
pub fn compare(
    storage: Storage,
    bytes: &[u8],
    exact: &[Float],
    width: usize,
    wanted: impl Fn(usize, usize) -> bool,
) -> ErrorSummary {
    let mut e = ErrorSummary::default();
    for (i, exact) in exact.iter().enumerate() {
        if wanted(i / width, i % width) {
            e.add(storage.decode(bytes, i).as_ref(), exact);
        }
    }
    e
}

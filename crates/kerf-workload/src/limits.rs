//! What a launch may be: ranges of grids, blocks and dynamic shared memory.

use thiserror::Error;

use crate::number::Number;

/// Largest grid along each axis, as CUDA has them.
pub const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// Largest block along each axis.
pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

/// Most threads of a block.
pub const MAX_THREADS: u32 = 1024;

/// A number that a launch cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what}; expected {expected}")]
pub struct Unlaunchable {
    /// What is out of range, with its value.
    pub what: String,
    /// The range.
    pub expected: String,
}

const AXES: [char; 3] = ['x', 'y', 'z'];

/// Checks one extent of a grid (axis 0, 1 or 2).
pub fn grid_extent(axis: usize, value: Number) -> Result<u32, Unlaunchable> {
    extent("grid", axis, value, MAX_GRID)
}

/// Checks one extent of a block (axis 0, 1 or 2).
pub fn block_extent(axis: usize, value: Number) -> Result<u32, Unlaunchable> {
    extent("block", axis, value, MAX_BLOCK)
}

/// Checks how many threads a block has.
pub fn block_threads(block: [u32; 3]) -> Result<(), Unlaunchable> {
    let threads: u64 = block.iter().map(|&b| u64::from(b)).product();
    if threads <= u64::from(MAX_THREADS) {
        return Ok(());
    }
    let [x, y, z] = block;
    Err(Unlaunchable {
        what: format!("block of {x} x {y} x {z} is {threads} threads"),
        expected: format!("at most {MAX_THREADS}"),
    })
}

/// Checks a number of bytes: dynamic shared memory or a local argument.
pub fn byte_count(what: &str, value: Number) -> Result<u32, Unlaunchable> {
    value
        .as_int()
        .and_then(|v| u32::try_from(v).ok())
        .ok_or_else(|| Unlaunchable {
            what: format!("{what} is {value}"),
            expected: format!("an integer from 0 to {}, in bytes", u32::MAX),
        })
}

fn extent(what: &str, axis: usize, value: Number, most: [u32; 3]) -> Result<u32, Unlaunchable> {
    let most = most.get(axis).copied().unwrap_or(0);
    let name = AXES.get(axis).copied().unwrap_or('?');
    value
        .as_int()
        .and_then(|v| u32::try_from(v).ok())
        .filter(|v| (1..=most).contains(v))
        .ok_or_else(|| Unlaunchable {
            what: format!("{what}.{name} is {value}"),
            expected: format!("an integer from 1 to {most}"),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let int = |v: i64| Number::from(v);
        assert_eq!(grid_extent(0, int(2147483647)), Ok(2147483647));
        assert!(grid_extent(0, int(2147483648)).is_err());
        assert_eq!(grid_extent(1, int(65535)), Ok(65535));
        assert_eq!(
            grid_extent(2, int(65536)).unwrap_err().to_string(),
            "grid.z is 65536; expected an integer from 1 to 65535"
        );
        assert_eq!(grid_extent(0, int(0)).unwrap_err().what, "grid.x is 0");
        assert_eq!(block_extent(1, int(-1)).unwrap_err().what, "block.y is -1");
        assert_eq!(
            block_extent(0, Number::Float(2.0)).unwrap_err().what,
            "block.x is 2.0"
        );
        assert!(block_extent(2, int(65)).is_err());
        assert!(grid_extent(3, int(1)).is_err());
        assert!(block_threads([32, 32, 1]).is_ok());
        assert_eq!(
            block_threads([32, 32, 2]).unwrap_err().what,
            "block of 32 x 32 x 2 is 2048 threads"
        );
        assert_eq!(byte_count("shared", int(0)), Ok(0));
        assert!(byte_count("shared", int(1 << 32)).is_err());
    }
}

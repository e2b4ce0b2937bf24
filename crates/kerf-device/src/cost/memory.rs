//! What one access of a warp asks of the memory system: passes of the load-store unit, and sectors.
use kerf_pass::count::{Access, Memory, Slope};

/// Bytes of a sector, the unit of transfer from L2.
pub(super) const SECTOR: u64 = 32;
/// Bytes that the load-store unit moves in one pass.
const LINE: u64 = 128;

/// Addresses of a full warp's threads relative to the first, where known.
fn addresses(slope: Slope, block: [u32; 3]) -> Option<Vec<i64>> {
    let width = i64::from(block[0].max(1));
    let lanes = (u64::from(block[0]) * u64::from(block[1]) * u64::from(block[2])).clamp(1, 32);
    (0..lanes as i64)
        .map(|t| {
            let (x, y) = (t % width, t / width);
            let along = |s: Option<i64>, n: i64| if n == 0 { Some(0) } else { Some(s? * n) };
            Some(along(slope.x, x)? + along(slope.y, y)?)
        })
        .collect()
}

/// Rows of a warp that lie apart by an unknown distance, each with known addresses.
fn rows(slope: Slope, block: [u32; 3]) -> Option<(u64, Vec<i64>)> {
    slope.x?;
    let width = u64::from(block[0].max(1)).min(32);
    let one = addresses(
        Slope {
            y: Some(0),
            ..slope
        },
        [width as u32, 1, 1],
    )?;
    Some((32 / width, one))
}

fn sectors_of(addresses: &[i64], bytes: u64) -> u64 {
    // A warp's part of a buffer begins at a sector, whichever thread has its lowest address.
    let lowest = addresses.iter().copied().min().unwrap_or(0);
    let mut touched: Vec<i64> = addresses
        .iter()
        .map(|a| a - lowest)
        .flat_map(|a| (0..bytes.div_ceil(SECTOR).max(1)).map(move |k| a + (k * SECTOR) as i64))
        .map(|a| a.div_euclid(SECTOR as i64))
        .collect();
    touched.sort_unstable();
    touched.dedup();
    touched.len() as u64
}

/// Sectors of 32 bytes that one access of a full warp touches. Where threads' addresses are unknown,
/// each is taken to lie in a sector of its own.
pub(super) fn sectors(a: &Access, block: [u32; 3]) -> u64 {
    if let Some(all) = addresses(a.slope, block) {
        return sectors_of(&all, a.bytes);
    }
    match rows(a.slope, block) {
        Some((n, one)) => n * sectors_of(&one, a.bytes),
        None => 32 * a.bytes.div_ceil(SECTOR).max(1),
    }
}

/// Passes through shared memory: threads that want different words of one bank wait for each other.
/// Unknown addresses are taken to be free of that.
fn bank_passes(addresses: &[i64], bytes: u64) -> u64 {
    const BANK: i64 = 4;
    const BANKS: i64 = 32;
    let mut words: Vec<i64> = addresses
        .iter()
        .flat_map(|a| (0..bytes.div_ceil(BANK as u64)).map(move |k| a.div_euclid(BANK) + k as i64))
        .collect();
    words.sort_unstable();
    words.dedup();
    let mut load = [0u64; BANKS as usize];
    for w in &words {
        load[w.rem_euclid(BANKS) as usize] += 1;
    }
    load.into_iter().max().unwrap_or(1).max(1)
}

/// Passes through shared memory of an instruction that moves so many bytes a thread. Eight bytes are moved for half a warp at
/// a time and sixteen for a quarter; for twice as many threads where each wants the same as its neighbour, or as the one two
/// further on.
pub(super) fn shared_passes(slope: Slope, block: [u32; 3], bytes: u64) -> u64 {
    let parts = bytes.div_ceil(4).clamp(1, 4) as usize;
    let Some(all) = addresses(slope, block) else {
        return parts as u64;
    };
    let alike = |d: usize| (0..all.len()).all(|i| all.get(i ^ d).is_none_or(|o| *o == all[i]));
    let parts = match parts > 1 && (alike(1) || alike(2)) {
        true => parts / 2,
        false => parts,
    };
    let each = all.chunks(32 / parts.max(1));
    each.map(|lanes| bank_passes(lanes, bytes)).sum()
}

/// Passes of the load-store unit that one access of a full warp takes.
pub(super) fn passes(a: &Access, block: [u32; 3]) -> u64 {
    let all = addresses(a.slope, block);
    match (a.memory, all) {
        (Memory::Shared, Some(all)) => bank_passes(&all, a.bytes),
        // Arrays of threads are interleaved, so that a warp's lie side by side.
        (Memory::Shared | Memory::Local, _) => (32 * a.bytes).div_ceil(LINE),
        (Memory::Constant, _) => 1,
        (Memory::Global, _) => {
            let moved = sectors(a, block) * SECTOR;
            // Data for registers passes at 128 bytes a clock even when all threads want the same.
            let delivered = 32 * a.bytes.min(8) / 2;
            moved.max(delivered).div_ceil(LINE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_pass::count::{Direction, Root};

    fn access(memory: Memory, bytes: u64, x: Option<i64>, y: Option<i64>) -> Access {
        Access {
            block: 0,
            direction: Direction::Load,
            bytes,
            memory,
            root: Root::Unknown,
            slope: Slope { x, y },
        }
    }

    #[test]
    fn sectors_by_pattern() {
        let row = [256, 1, 1];
        let g = |bytes, x| sectors(&access(Memory::Global, bytes, x, Some(0)), row);
        assert_eq!(g(8, Some(8)), 8); // side by side
        assert_eq!(g(4, Some(4)), 4);
        assert_eq!(g(8, Some(0)), 1); // the same for all
        assert_eq!(g(8, Some(32)), 32); // one field of a struct
        assert_eq!(g(8, Some(-8)), 8);
        assert_eq!(g(8, None), 32);
        // Two rows of 16, as far apart as nobody knows.
        let tile = access(Memory::Global, 8, Some(8), None);
        assert_eq!(sectors(&tile, [16, 16, 1]), 8);
        let column = access(Memory::Global, 8, Some(0), None);
        assert_eq!(sectors(&column, [16, 16, 1]), 2);
    }

    #[test]
    fn passes_by_bank() {
        let row = [256, 1, 1];
        let s = |bytes, x| passes(&access(Memory::Shared, bytes, x, Some(0)), row);
        assert_eq!(s(4, Some(4)), 1);
        assert_eq!(s(8, Some(8)), 2);
        assert_eq!(s(4, Some(0)), 1);
        assert_eq!(s(4, Some(128)), 32); // a column of a tile 32 wide
        assert_eq!(s(4, Some(132)), 1); // the same with a pad
    }

    #[test]
    fn passes_by_width() {
        let slope = |x, y| Slope {
            x: Some(x),
            y: Some(y),
        };
        let row = [256, 1, 1];
        assert_eq!(shared_passes(slope(8, 0), row, 8), 2);
        assert_eq!(shared_passes(slope(16, 0), row, 16), 4);
        assert_eq!(shared_passes(slope(0, 0), row, 8), 1); // the same for all
        let tile = [16, 16, 1];
        assert_eq!(shared_passes(slope(8, 0), tile, 8), 2); // a row of a tile, for both halves
        assert_eq!(shared_passes(slope(0, 128), tile, 8), 2); // an element of each of two rows
        assert_eq!(shared_passes(slope(0, 128), tile, 16), 2);
        assert_eq!(shared_passes(slope(0, 136), tile, 8), 1); // with a pad
    }
}

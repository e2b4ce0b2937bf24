//! The requests of one access of a warp: passes of the load-store unit, and sectors after coalescing.
use kerf_ir::address::slope::Slope;
use kerf_pass::count::{CountedAccess, MemoryKind, Pattern, warp};

/// Bytes of a sector, the unit of transfer from L2.
pub(super) const SECTOR: u64 = 32;
/// Bytes that the load-store unit moves in one pass, which is a cache line.
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

/// Rows of a block's threads in a warp, where their distance is unknown but addresses within a row are known: how many, and the
/// addresses of one.
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
    // The lowest address of a warp is taken to be aligned to a sector.
    let lowest = addresses.iter().copied().min().unwrap_or(0);
    let all: Vec<i64> = addresses.iter().map(|a| a - lowest).collect();
    warp::units(&all, bytes, warp::SECTOR).len() as u64
}

/// Column of a pattern's figures: a plan may store elements in a half or a quarter of the bytes that were recorded.
fn column(a: &CountedAccess, p: &Pattern) -> usize {
    match p.bytes / a.bytes.max(1) {
        0 | 1 => 0,
        2 | 3 => 1,
        _ => 2,
    }
}

/// Sectors that one access of a full warp touches. Unknown addresses are taken not to coalesce.
fn sectors(a: &CountedAccess, block: [u32; 3]) -> u64 {
    if let Some(all) = addresses(a.slope, block) {
        return sectors_of(&all, a.bytes);
    }
    match rows(a.slope, block) {
        Some((n, one)) => n * sectors_of(&one, a.bytes),
        None => 32 * a.bytes.div_ceil(SECTOR).max(1),
    }
}

/// Sectors that a warp touches with `active` of its lanes.
pub(super) fn sectors_by(
    a: &CountedAccess,
    pattern: Option<&Pattern>,
    active: f64,
    block: [u32; 3],
) -> f64 {
    match pattern {
        Some(p) => f64::from(p.sectors[column(a, p)]).max(1.0),
        None => (sectors(a, block) as f64 * active / 32.0).max(1.0),
    }
}

/// Fraction of the sectors that accesses of the same block have not brought into L1 before.
pub(super) fn l1_miss_fraction(a: &CountedAccess, pattern: Option<&Pattern>) -> f64 {
    pattern.map_or(1.0, |p| f64::from(p.fresh[column(a, p)]).min(1.0))
}

/// First touches of an access, where they were recorded.
#[derive(Clone, Copy)]
pub(super) struct FirstTouches {
    /// Fraction of its sectors that no load of the same block had touched before.
    pub sectors: f64,
    /// Fraction of its executions by warps that touch such a sector.
    pub accesses: f64,
}

pub(super) fn first_touches(a: &CountedAccess, pattern: Option<&Pattern>) -> Option<FirstTouches> {
    let (p, first) = pattern.and_then(|p| Some((p, p.first?)))?;
    let k = column(a, p);
    Some(FirstTouches {
        sectors: f64::from(first.sectors[k]),
        accesses: f64::from(first.accesses[k]),
    })
}

/// Passes through shared memory of an instruction that moves `bytes` a thread. Unknown addresses are taken to be free of bank
/// conflicts.
pub(super) fn shared_passes(
    a: &CountedAccess,
    pattern: Option<&Pattern>,
    block: [u32; 3],
    bytes: u64,
) -> f64 {
    if let Some(p) = pattern {
        let width = match bytes {
            0..=4 => 0,
            5..=8 => 1,
            _ => 2,
        };
        return f64::from(p.passes[width][column(a, p)]);
    }
    let parts = bytes.div_ceil(4).clamp(1, 4);
    match addresses(a.slope, block) {
        Some(all) => {
            let lanes: Vec<Option<i64>> = all.into_iter().map(Some).collect();
            warp::shared_passes(&lanes, bytes) as f64
        }
        None => parts as f64,
    }
}

/// Sectors from which on a warp's access is a gather, and passes of a gather over those that bank conflicts give: the tags of as
/// many lines are looked up (ncu on the H200: 1.5 for the workloads tetrahedra and neighbours, 1 for a constant stride, which
/// touches fewer lines).
const GATHER_SECTORS: f64 = 24.0;
const GATHER_TAG_FACTOR: f64 = 1.5;

/// Passes through L1 of an instruction that moves `bytes` a thread, where its addresses were recorded.
pub(super) fn global_passes(a: &CountedAccess, p: &Pattern, bytes: u64) -> f64 {
    let banks = shared_passes(a, Some(p), [32, 1, 1], bytes);
    match f64::from(p.sectors[column(a, p)]) >= GATHER_SECTORS && a.slope.x.is_none() {
        true => (GATHER_TAG_FACTOR * banks).min(32.0),
        false => banks,
    }
}

/// Do the lanes of a warp access neighbouring elements, rather than the same one or elements anywhere?
pub(super) fn differs_between_lanes(a: &CountedAccess, p: Option<&Pattern>) -> bool {
    match (a.slope.x, p) {
        (Some(x), _) => x != 0,
        (None, Some(p)) => {
            let sectors = f64::from(p.sectors[column(a, p)]);
            sectors > 1.5 && sectors < GATHER_SECTORS
        }
        (None, None) => false,
    }
}

/// Passes of the load-store unit that one access of a full warp takes.
pub(super) fn passes(a: &CountedAccess, pattern: Option<&Pattern>, block: [u32; 3]) -> f64 {
    if let (MemoryKind::Global, Some(p)) = (a.memory, pattern) {
        return global_passes(a, p, a.bytes);
    }
    let all = addresses(a.slope, block);
    let n = match (a.memory, all) {
        (MemoryKind::Shared, _) if pattern.is_some() => {
            return shared_passes(a, pattern, block, a.bytes);
        }
        (MemoryKind::Shared, Some(all)) => warp::bank_passes(&all, a.bytes),
        // Local memory is interleaved by lane, so that a warp's accesses coalesce.
        (MemoryKind::Shared | MemoryKind::Local, _) => (32 * a.bytes).div_ceil(LINE),
        (MemoryKind::Constant, _) => 1,
        (MemoryKind::Global, _) => {
            let moved = sectors(a, block) * SECTOR;
            // Registers are written at 128 bytes a clock even where all lanes load the same address.
            let delivered = 32 * a.bytes.min(8) / 2;
            moved.max(delivered).div_ceil(LINE)
        }
    };
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_ir::address::AccessDirection;
    use kerf_pass::count::Root;

    fn access(memory: MemoryKind, bytes: u64, x: Option<i64>, y: Option<i64>) -> CountedAccess {
        CountedAccess {
            block: 0,
            direction: AccessDirection::Load,
            bytes,
            memory,
            root: Root::Unknown,
            slope: Slope { x, y },
        }
    }

    #[test]
    fn sectors_by_pattern() {
        let row = [256, 1, 1];
        let g = |bytes, x| sectors(&access(MemoryKind::Global, bytes, x, Some(0)), row);
        assert_eq!(g(8, Some(8)), 8); // side by side
        assert_eq!(g(4, Some(4)), 4);
        assert_eq!(g(8, Some(0)), 1); // the same for all
        assert_eq!(g(8, Some(32)), 32); // one field of a struct
        assert_eq!(g(8, Some(-8)), 8);
        assert_eq!(g(8, None), 32);
        // Two rows of 16, their distance unknown.
        let tile = access(MemoryKind::Global, 8, Some(8), None);
        assert_eq!(sectors(&tile, [16, 16, 1]), 8);
        let column = access(MemoryKind::Global, 8, Some(0), None);
        assert_eq!(sectors(&column, [16, 16, 1]), 2);
    }

    #[test]
    fn passes_by_bank() {
        let row = [256, 1, 1];
        let s = |bytes, x| passes(&access(MemoryKind::Shared, bytes, x, Some(0)), None, row) as u64;
        assert_eq!(s(4, Some(4)), 1);
        assert_eq!(s(8, Some(8)), 2);
        assert_eq!(s(4, Some(0)), 1);
        assert_eq!(s(4, Some(128)), 32); // a column of a tile 32 wide
        assert_eq!(s(4, Some(132)), 1); // the same with a pad
    }

    #[test]
    fn passes_by_width() {
        let slope = |x, y| access(MemoryKind::Shared, 8, Some(x), Some(y));
        let shared_passes = |a, block, bytes| super::shared_passes(&a, None, block, bytes) as u64;
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

//! What one access of a warp asks of the memory system, from its threads' addresses.

/// Bytes of a sector, the unit of transfer from L2.
pub const SECTOR: i64 = 32;
const BANK: i64 = 4;
const BANKS: i64 = 32;

/// Units of so many bytes that accesses of `bytes` each touch, in order, each once.
pub fn units(addresses: &[i64], bytes: u64, unit: i64) -> Vec<i64> {
    let mut all: Vec<i64> = addresses
        .iter()
        .flat_map(|a| a.div_euclid(unit)..=(a + bytes.max(1) as i64 - 1).div_euclid(unit))
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Passes through shared memory: threads that want different words of one bank wait for each other.
pub fn bank_passes(addresses: &[i64], bytes: u64) -> u64 {
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

/// Passes through shared memory of an instruction that moves so many bytes a thread; addresses by lane, none where a lane does
/// not take part. Eight bytes are moved for half a warp at a time and sixteen for a quarter; for twice as many threads where
/// each wants the same as its neighbour, or as the one two further on.
pub fn shared_passes(lanes: &[Option<i64>], bytes: u64) -> u64 {
    let parts = bytes.div_ceil(4).clamp(1, 4) as usize;
    let alike = |d: usize| {
        let same = |i: usize, o: Option<i64>| lanes[i].is_none() || o.is_none() || o == lanes[i];
        (0..lanes.len()).all(|i| lanes.get(i ^ d).is_none_or(|o| same(i, *o)))
    };
    let parts = match parts > 1 && (alike(1) || alike(2)) {
        true => parts / 2,
        false => parts,
    };
    let each = lanes.chunks(32 / parts.max(1));
    each.map(|some| some.iter().copied().flatten().collect::<Vec<i64>>())
        .filter(|some| !some.is_empty())
        .map(|some| bank_passes(&some, bytes))
        .sum::<u64>()
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_by_pattern() {
        let at = |stride: i64| (0..32).map(|t| t * stride).collect::<Vec<i64>>();
        assert_eq!(units(&at(8), 8, SECTOR).len(), 8);
        assert_eq!(units(&at(24), 8, SECTOR).len(), 24);
        assert_eq!(units(&at(8), 8, 128).len(), 2);
        // A number that lies across two.
        assert_eq!(units(&[28], 8, SECTOR), [0, 1]);
    }

    #[test]
    fn banks() {
        let at = |stride: i64| (0..32).map(|t| Some(t * stride)).collect::<Vec<_>>();
        assert_eq!(shared_passes(&at(128), 4), 32);
        assert_eq!(shared_passes(&at(132), 4), 1);
        assert_eq!(shared_passes(&at(8), 8), 2);
        assert_eq!(shared_passes(&at(16), 8), 4);
        // Half of the threads, those of the second half.
        let half: Vec<_> = (0..32).map(|t| (t >= 16).then_some(t * 8)).collect();
        assert_eq!(shared_passes(&half, 8), 1);
    }
}

//! The f64 seed tables of the special-function unit, as read off an H200.
//!
//! Shipped as deltas (-1, 0, +1, stored plus one and deflated) from the truncated IEEE value, which
//! every machine computes alike; 45 KB for 3 * 2^20 entries. `bench/probes/read_tables.cu` reads them
//! and checks on every exponent that nothing but sign, exponent and these 20 bits matters.
use std::sync::LazyLock;

const ENTRIES: usize = 1 << 20;

fn unpack(packed: &[u8], exact: impl Fn(f64) -> f64) -> Vec<u32> {
    let deltas = miniz_oxide::inflate::decompress_to_vec_zlib(packed)
        .expect("the shipped table should inflate");
    assert_eq!(
        deltas.len(),
        ENTRIES,
        "the shipped table should have 2^20 entries"
    );
    deltas
        .iter()
        .enumerate()
        .map(|(i, d)| {
            let x = 1.0 + i as f64 / ENTRIES as f64;
            let high = (exact(x).to_bits() >> 32) as u32;
            high.wrapping_add(u32::from(*d)).wrapping_sub(1)
        })
        .collect()
}

static RCP: LazyLock<Vec<u32>> =
    LazyLock::new(|| unpack(include_bytes!("tables/rcp64.z"), |x| 1.0 / x));

static RSQRT: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let mut t = unpack(include_bytes!("tables/rsqrt64_even.z"), |x| 1.0 / x.sqrt());
    t.extend(unpack(include_bytes!("tables/rsqrt64_odd.z"), |x| {
        1.0 / (2.0 * x).sqrt()
    }));
    t
});

/// High words of `rcp.approx.ftz.f64` for arguments in [1, 2), by the upper 20 mantissa bits.
pub fn rcp() -> &'static [u32] {
    &RCP
}

/// High words of `rsqrt.approx.ftz.f64`: 2^20 entries for [1, 2), then 2^20 for [2, 4).
pub fn rsqrt() -> &'static [u32] {
    &RSQRT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_within_20_bits() {
        for (i, (r, s)) in rcp().iter().zip(rsqrt()).enumerate().step_by(977) {
            let x = 1.0 + i as f64 / ENTRIES as f64;
            let v = f64::from_bits(u64::from(*r) << 32);
            assert!((v * x - 1.0).abs() < 2f64.powi(-19), "rcp {x}");
            let w = f64::from_bits(u64::from(*s) << 32);
            assert!((w * w * x - 1.0).abs() < 2f64.powi(-18), "rsqrt {x}");
        }
    }

    #[test]
    fn known_entries_of_the_h200() {
        assert_eq!(rcp()[0], 0x3ff0_0000);
        assert_eq!(rsqrt()[1 << 20], 0x3fe6_a09e);
    }
}

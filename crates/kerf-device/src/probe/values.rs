//! First values and operands of a probe, as bytes.
use super::recipe::{Carrier, ProbeNumbers, ProbeRecipe};
use super::text::{SLOT, STREAMS};
use kerf_num::Format;

fn encode(value: f64, r: &ProbeRecipe) -> [u8; SLOT] {
    let mut slot = [0u8; SLOT];
    let half = |format: Format| format.encode(value) as u16;
    let mut put = |bytes: &[u8]| slot[..bytes.len()].copy_from_slice(bytes);
    match (r.numbers, r.carrier) {
        (ProbeNumbers::F16 | ProbeNumbers::Bf16, c) => {
            let format = if r.numbers == ProbeNumbers::F16 {
                Format::F16
            } else {
                Format::Bf16
            };
            let h = half(format).to_le_bytes();
            if c == Carrier::I32 {
                put(&[h[0], h[1], h[0], h[1]]);
            } else {
                put(&h);
            }
        }
        (ProbeNumbers::F32, _) => put(&(value as f32).to_le_bytes()),
        (ProbeNumbers::F64, _) => put(&value.to_le_bytes()),
        (ProbeNumbers::Dw32, _) => {
            let hi = value as f32;
            let lo = (value - f64::from(hi)) as f32;
            put(&hi.to_le_bytes());
            slot[4..8].copy_from_slice(&lo.to_le_bytes());
        }
        (ProbeNumbers::Dw64, _) => {
            put(&value.to_le_bytes());
            slot[8..16].copy_from_slice(&(value * 1e-18).to_le_bytes());
        }
        (ProbeNumbers::Int, Carrier::I64) => put(&(value as i64).to_le_bytes()),
        (ProbeNumbers::Int, _) => put(&(value as i32).to_le_bytes()),
        (ProbeNumbers::Address, _) => {}
    }
    slot
}

/// First values of all streams of `threads` threads; no two alike where the format can tell them
/// apart, so that no computation can be shared. Streams alternate between the recipes.
pub fn seeds(recipes: &[&ProbeRecipe], threads: usize) -> Vec<u8> {
    (0..threads * STREAMS)
        .flat_map(|i| {
            let r = recipes[i % STREAMS % recipes.len()];
            let spread = (i % 64) as f64 / 1024.0;
            let value = match r.numbers {
                ProbeNumbers::Int => r.values[0] + i as f64,
                _ => r.values[0] * (1.0 + spread),
            };
            encode(value, r)
        })
        .collect()
}

/// First values that are addresses: `address(thread, stream)`.
pub fn addresses(threads: usize, address: impl Fn(usize, usize) -> u64) -> Vec<u8> {
    (0..threads)
        .flat_map(|t| (0..STREAMS).map(move |j| (t, j)))
        .flat_map(|(t, j)| {
            let mut slot = [0u8; SLOT];
            slot[..8].copy_from_slice(&address(t, j).to_le_bytes());
            slot
        })
        .collect()
}

/// The operands `b` and `c` of each recipe.
pub fn operands(recipes: &[&ProbeRecipe]) -> Vec<u8> {
    recipes
        .iter()
        .flat_map(|r| {
            let scale = if r.numbers == ProbeNumbers::Int {
                3.0
            } else {
                1.0
            };
            [r.values[1] * scale, r.values[2] * scale].map(|v| encode(v, r))
        })
        .flatten()
        .collect()
}

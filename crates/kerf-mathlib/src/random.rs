//! Generators of cuRAND's host API, with the bits and the order of its `curandGenerate` functions.
//!
//! Each is a set of sequences that the threads of a GPU would have; where the number at an offset comes from is the
//! generator's ordering. Tests compare with numbers that NVIDIA's library gave (cuRAND 10.4).
mod mrg32k3a;
mod philox;
mod xorwow;

pub use mrg32k3a::Mrg32k3a;
pub use philox::Philox;
pub use xorwow::Xorwow;

/// A generator of the host API.
pub trait Generator: Send {
    /// 32 random bits each.
    fn bits(&mut self, to: &mut [u32]);
    /// Numbers in (0, 1].
    fn uniform(&mut self, to: &mut [f32]);
    /// Numbers in (0, 1] with 53 bits, but for MRG32k3a, whose numbers have 32.
    fn uniform_double(&mut self, to: &mut [f64]);
    /// Numbers drawn so far, and those that were skipped.
    fn offset(&self) -> u64;
}

/// A number in (0, 1] of 32 bits.
fn unit(x: u32) -> f32 {
    const STEP: f32 = 1.0 / 4_294_967_296.0;
    x as f32 * STEP + STEP / 2.0
}

/// A number in (0, 1] of 53 of 64 bits.
fn unit_double(x: u32, y: u32) -> f64 {
    const STEP: f64 = 1.0 / 9_007_199_254_740_992.0;
    let z = u64::from(x) ^ u64::from(y) << 21;
    z as f64 * STEP + STEP / 2.0
}

#[cfg(test)]
mod tests;

//! Operations on each element by itself, and sums and products of two values.
use super::parallel::{self, ELEMENTS};
use crate::graph::Op;
use crate::seed;
use kerf_num::wide;
use rayon::prelude::*;

wide! {
    fn relu(x: &[f32], y: &mut [f32]) {
        // As a comparison: a NaN stays one.
        y.iter_mut().zip(x).for_each(|(y, x)| *y = if *x < 0.0 { 0.0 } else { *x });
    }
}
wide! {
    fn relu6(x: &[f32], y: &mut [f32]) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x.clamp(0.0, 6.0));
    }
}
wide! {
    fn add_slice(to: &mut [f32], x: &[f32]) {
        to.iter_mut().zip(x).for_each(|(t, x)| *t += x);
    }
}
wide! {
    fn mask_between(x: &[f32], g: &mut [f32], high: f32) {
        g.iter_mut().zip(x).for_each(|(g, x)| *g = if (*x > 0.0) & (*x < high) { *g } else { 0.0 });
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The error function to 1.2e-7, by the fit of W. H. Press et al., Numerical Recipes, section 6.2.
fn erf(x: f64) -> f64 {
    const FIT: [f64; 10] = [
        -1.26551223,
        1.00002368,
        0.37409196,
        0.09678418,
        -0.18628806,
        0.27886807,
        -1.13520398,
        1.48851587,
        -0.82215223,
        0.17087277,
    ];
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let fit = FIT.iter().rev().fold(0.0, |s, c| s * t + c);
    (1.0 - t * (fit - x * x).exp()).copysign(x)
}

/// Phi(x), the distribution of a standard normal variable.
fn phi(x: f32) -> f32 {
    (0.5 * (1.0 + erf(f64::from(x) * std::f64::consts::FRAC_1_SQRT_2))) as f32
}

/// Applies an activation.
pub fn forward(op: &Op, x: &[f32], y: &mut [f32]) {
    let each = |f: fn(f32) -> f32, y: &mut [f32]| {
        parallel::map(x, y, |x, y| {
            y.iter_mut().zip(x).for_each(|(y, x)| *y = f(*x))
        });
    };
    match op {
        Op::Relu => parallel::map(x, y, relu),
        Op::Relu6 => parallel::map(x, y, relu6),
        Op::Silu => each(|x| x * sigmoid(x), y),
        Op::Sigmoid => each(sigmoid, y),
        Op::Gelu => each(|x| x * phi(x), y),
        _ => y.copy_from_slice(x),
    }
}

/// Turns the gradient of an activation's result into that of what it read.
pub fn backward(op: &Op, x: &[f32], g: &mut [f32]) {
    let each = |f: fn(f32) -> f32, g: &mut [f32]| {
        parallel::map(x, g, |x, g| {
            g.iter_mut().zip(x).for_each(|(g, x)| *g *= f(*x))
        });
    };
    match op {
        Op::Relu => parallel::map(x, g, |x, g| mask_between(x, g, f32::INFINITY)),
        Op::Relu6 => parallel::map(x, g, |x, g| mask_between(x, g, 6.0)),
        Op::Silu => each(
            |x| {
                let s = sigmoid(x);
                s * (1.0 + x * (1.0 - s))
            },
            g,
        ),
        Op::Sigmoid => each(
            |x| {
                let s = sigmoid(x);
                s * (1.0 - s)
            },
            g,
        ),
        Op::Gelu => each(
            |x| {
                let density = (-0.5 * x * x).exp() * 0.398_942_3;
                phi(x) + x * density
            },
            g,
        ),
        _ => {}
    }
}

/// `to += x`.
pub fn accumulate(to: &mut [f32], x: &[f32]) {
    let parts = x.par_chunks(ELEMENTS);
    to.par_chunks_mut(ELEMENTS)
        .zip(parts)
        .for_each(|(t, x)| add_slice(t, x));
}

/// `y = a + b`.
pub fn add(a: &[f32], b: &[f32], y: &mut [f32]) {
    y.copy_from_slice(a);
    accumulate(y, b);
}

/// `y = a * b`, where `b` may have one value for `spread` of `a`'s.
pub fn mul(a: &[f32], b: &[f32], spread: usize, y: &mut [f32]) {
    let pairs = a.par_chunks(spread).zip(b);
    y.par_chunks_mut(spread)
        .zip(pairs)
        .with_min_len(ELEMENTS / spread + 1)
        .for_each(|(y, (a, b))| {
            y.iter_mut().zip(a).for_each(|(y, a)| *y = a * b);
        });
}

/// Gradients of both factors, likewise.
pub fn mul_back(a: &[f32], b: &[f32], spread: usize, gy: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let mut ga = vec![0.0; a.len()];
    mul(gy, b, spread, &mut ga);
    let pairs = a.par_chunks(spread).zip(gy.par_chunks(spread));
    let dot = |(a, g): (&[f32], &[f32])| a.iter().zip(g).map(|(a, g)| a * g).sum::<f32>();
    let gb = pairs.with_min_len(ELEMENTS / spread + 1).map(dot).collect();
    (ga, gb)
}

/// What is left of values: 0, or 1 / (1 - p). One draw for each `unit` values.
pub fn dropout_mask(len: usize, p: f32, unit: usize, seed: u64) -> Vec<f32> {
    let keep = 1.0 / (1.0 - p);
    let mut mask = vec![0.0; len];
    mask.par_chunks_mut(unit)
        .enumerate()
        .with_min_len(ELEMENTS / unit + 1)
        .for_each(|(i, m)| {
            m.fill(if seed::unit(seed, i as u64) < p {
                0.0
            } else {
                keep
            });
        });
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_function() {
        // Values of Abramowitz and Stegun, table 7.1.
        for (x, v) in [
            (0.5, 0.520_499_877_8),
            (1.0, 0.842_700_792_9),
            (1.9, 0.992_790_429_2),
            (2.0, 0.995_322_265_0),
        ] {
            assert!((erf(x) - v).abs() < 1.3e-7, "{x} {}", erf(x));
            assert!((erf(-x) + v).abs() < 1.3e-7);
        }
    }
}

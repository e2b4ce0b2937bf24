//! Batch and layer normalisation. Sums are in doubles, each channel or row on one thread.
use rayon::prelude::*;

/// What the way back needs of a normalisation: mean and 1 / standard deviation of each channel or row.
#[derive(Debug, Clone, Default)]
pub struct Moments {
    pub mean: Vec<f32>,
    pub inverse: Vec<f32>,
}

/// Values of channel `c` of all samples, plane by plane.
fn planes(x: &[f32], channels: usize, size: usize, c: usize) -> impl Iterator<Item = &[f32]> {
    x.chunks_exact(channels * size)
        .map(move |s| &s[c * size..(c + 1) * size])
}

/// Mean and variance (over all values, biased) of each channel.
pub fn batch_moments(x: &[f32], channels: usize, size: usize) -> (Vec<f32>, Vec<f32>) {
    let n = (x.len() / channels) as f64;
    let of = |c: usize| {
        let sum: f64 = planes(x, channels, size, c).map(sum).sum();
        let mean = sum / n;
        let m = mean as f32;
        let square: f64 = planes(x, channels, size, c).map(|p| sum_square(p, m)).sum();
        // About the rounded mean: what that adds is taken off again.
        let off = mean - f64::from(m);
        (m, (square / n - off * off).max(0.0) as f32)
    };
    let all: Vec<(f32, f32)> = (0..channels).into_par_iter().map(of).collect();
    all.into_iter().unzip()
}

/// Four sums side by side, so that the additions need not wait for each other.
fn sum(p: &[f32]) -> f64 {
    let mut s = [0f64; 4];
    let chunks = p.chunks_exact(4);
    let rest: f64 = chunks.remainder().iter().map(|v| f64::from(*v)).sum();
    for c in chunks {
        (0..4).for_each(|i| s[i] += f64::from(c[i]));
    }
    s.iter().sum::<f64>() + rest
}

fn sum_square(p: &[f32], mean: f32) -> f64 {
    let d = |v: f32| f64::from(v - mean) * f64::from(v - mean);
    let mut s = [0f64; 4];
    let chunks = p.chunks_exact(4);
    let rest: f64 = chunks.remainder().iter().map(|v| d(*v)).sum();
    for c in chunks {
        (0..4).for_each(|i| s[i] += d(c[i]));
    }
    s.iter().sum::<f64>() + rest
}

fn sum_product(p: &[f32], g: &[f32], mean: f32) -> (f64, f64) {
    let (mut s, mut d) = ([0f64; 4], [0f64; 4]);
    let (cp, cg) = (p.chunks_exact(4), g.chunks_exact(4));
    let (rp, rg) = (cp.remainder(), cg.remainder());
    for (p, g) in cp.zip(cg) {
        (0..4).for_each(|i| {
            s[i] += f64::from(g[i]);
            d[i] += f64::from(g[i]) * f64::from(p[i] - mean);
        });
    }
    let mut total = (s.iter().sum::<f64>(), d.iter().sum::<f64>());
    for (p, g) in rp.iter().zip(rg) {
        total.0 += f64::from(*g);
        total.1 += f64::from(*g) * f64::from(p - mean);
    }
    total
}

/// `y = (x - mean) * inverse * weight + bias` for each channel.
pub fn batch_apply(
    x: &[f32],
    m: &Moments,
    weight: &[f32],
    bias: &[f32],
    size: usize,
    y: &mut [f32],
) {
    let channels = m.mean.len();
    let samples = x.par_chunks(channels * size);
    y.par_chunks_mut(channels * size)
        .zip(samples)
        .for_each(|(y, x)| {
            let each = y.chunks_exact_mut(size).zip(x.chunks_exact(size));
            for (c, (y, x)) in each.enumerate() {
                let (mean, scale, bias) = (m.mean[c], m.inverse[c] * weight[c], bias[c]);
                y.iter_mut()
                    .zip(x)
                    .for_each(|(y, x)| *y = (x - mean) * scale + bias);
            }
        });
}

/// Gradients of weight and bias; `g` becomes the gradient of the input.
pub fn batch_back(
    x: &[f32],
    m: &Moments,
    weight: &[f32],
    size: usize,
    g: &mut [f32],
) -> (Vec<f32>, Vec<f32>) {
    let channels = m.mean.len();
    let n = (x.len() / channels) as f64;
    let of = |c: usize| {
        let pairs = planes(x, channels, size, c).zip(planes(g, channels, size, c));
        pairs.fold((0.0, 0.0), |(s, d), (p, q)| {
            let (a, b) = sum_product(p, q, m.mean[c]);
            (s + a, d + b)
        })
    };
    let sums: Vec<(f64, f64)> = (0..channels).into_par_iter().map(of).collect();
    let gw = sums
        .iter()
        .zip(&m.inverse)
        .map(|((_, d), i)| (d * f64::from(*i)) as f32);
    let gw: Vec<f32> = gw.collect();
    let gb: Vec<f32> = sums.iter().map(|(s, _)| *s as f32).collect();
    let samples = x.par_chunks(channels * size);
    g.par_chunks_mut(channels * size)
        .zip(samples)
        .for_each(|(g, x)| {
            let each = g.chunks_exact_mut(size).zip(x.chunks_exact(size));
            for (c, (g, x)) in each.enumerate() {
                let (mean, inverse) = (m.mean[c], m.inverse[c]);
                let scale = weight[c] * inverse;
                let shift = (sums[c].0 / n) as f32;
                let slope = (sums[c].1 / n) as f32 * inverse * inverse;
                g.iter_mut()
                    .zip(x)
                    .for_each(|(g, x)| *g = scale * (*g - shift - (x - mean) * slope));
            }
        });
    (gw, gb)
}

/// Layer normalisation of rows of `weight.len()` values.
pub fn layer_forward(x: &[f32], weight: &[f32], bias: &[f32], eps: f32, y: &mut [f32]) -> Moments {
    let f = weight.len();
    let rows = y.par_chunks_mut(f).zip(x.par_chunks(f));
    let each = rows.map(|(y, x)| {
        let mean = (sum(x) / f as f64) as f32;
        let var = (sum_square(x, mean) / f as f64) as f32;
        let inverse = 1.0 / (var + eps).sqrt();
        let affine = weight.iter().zip(bias);
        for ((y, x), (w, b)) in y.iter_mut().zip(x).zip(affine) {
            *y = (x - mean) * inverse * w + b;
        }
        (mean, inverse)
    });
    let (mean, inverse) = each.collect::<Vec<_>>().into_iter().unzip();
    Moments { mean, inverse }
}

/// Gradients of weight and bias of a layer normalisation; `g` becomes the gradient of the input.
pub fn layer_back(x: &[f32], m: &Moments, weight: &[f32], g: &mut [f32]) -> (Vec<f32>, Vec<f32>) {
    let f = weight.len();
    let column = |i: usize| {
        let (mut a, mut b) = (0f64, 0f64);
        for (r, (x, g)) in x.chunks_exact(f).zip(g.chunks_exact(f)).enumerate() {
            a += f64::from(g[i] * (x[i] - m.mean[r]) * m.inverse[r]);
            b += f64::from(g[i]);
        }
        (a as f32, b as f32)
    };
    let sums: Vec<(f32, f32)> = (0..f).into_par_iter().map(column).collect();
    let rows = g.par_chunks_mut(f).zip(x.par_chunks(f)).enumerate();
    rows.for_each(|(r, (g, x))| {
        let (mean, inverse) = (m.mean[r], m.inverse[r]);
        let (mut s, mut d) = (0f64, 0f64);
        for ((g, x), w) in g.iter().zip(x).zip(weight) {
            let h = f64::from(g * w);
            s += h;
            d += h * f64::from((x - mean) * inverse);
        }
        let (s, d) = ((s / f as f64) as f32, (d / f as f64) as f32);
        for ((g, x), w) in g.iter_mut().zip(x).zip(weight) {
            *g = inverse * (*g * w - s - (x - mean) * inverse * d);
        }
    });
    sums.into_iter().unzip()
}

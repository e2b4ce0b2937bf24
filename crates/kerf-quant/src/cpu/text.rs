//! What text models need: matrices over features, embeddings, positions, attention.
use super::gemm::{Matrix, multiply};
use super::parallel;
use rayon::prelude::*;

/// `y = x * weight^T + bias` for rows of `inputs` values.
pub fn linear(x: &[f32], weight: &[f32], bias: Option<&[f32]>, inputs: usize, y: &mut [f32]) {
    let outputs = weight.len() / inputs;
    let part = parallel::part(x.len() / inputs);
    let parts = x.par_chunks(part * inputs);
    y.par_chunks_mut(part * outputs)
        .zip(parts)
        .for_each(|(y, x)| {
            let rows = x.len() / inputs;
            let w = Matrix::new(weight, outputs, inputs);
            multiply(Matrix::new(x, rows, inputs), w.t(), 0.0, y);
            if let Some(b) = bias {
                let rows = y.chunks_exact_mut(outputs);
                rows.for_each(|r| r.iter_mut().zip(b).for_each(|(y, b)| *y += b));
            }
        });
}

/// Gradients of a matrix: of its weight (added), of its bias (added), and of its input.
pub fn linear_back(
    x: &[f32],
    weight: &[f32],
    gy: &[f32],
    inputs: usize,
    gw: &mut [f32],
    gb: Option<&mut [f32]>,
    gx: Option<&mut [f32]>,
) {
    let outputs = weight.len() / inputs;
    let part = parallel::part(x.len() / inputs);
    let parts = x
        .par_chunks(part * inputs)
        .zip(gy.par_chunks(part * outputs));
    let sums: Vec<Vec<f32>> = parts
        .map(|(x, g)| {
            let rows = x.len() / inputs;
            let mut own = vec![0.0; weight.len()];
            let g = Matrix::new(g, rows, outputs);
            multiply(g.t(), Matrix::new(x, rows, inputs), 0.0, &mut own);
            own
        })
        .collect();
    parallel::add_all(gw, &sums);
    if let Some(gb) = gb {
        for r in gy.chunks_exact(outputs) {
            gb.iter_mut().zip(r).for_each(|(b, g)| *b += g);
        }
    }
    if let Some(gx) = gx {
        let parts = gy.par_chunks(part * outputs);
        gx.par_chunks_mut(part * inputs)
            .zip(parts)
            .for_each(|(gx, g)| {
                let g = Matrix::new(g, g.len() / outputs, outputs);
                multiply(g, Matrix::new(weight, outputs, inputs), 0.0, gx);
            });
    }
}

/// A row of the table for each token.
pub fn embed(tokens: &[u32], table: &[f32], features: usize, y: &mut [f32]) {
    for (y, t) in y.chunks_exact_mut(features).zip(tokens) {
        y.copy_from_slice(&table[*t as usize * features..][..features]);
    }
}

/// Gradient of the table (added).
pub fn embed_back(tokens: &[u32], gy: &[f32], features: usize, gw: &mut [f32]) {
    for (g, t) in gy.chunks_exact(features).zip(tokens) {
        let row = &mut gw[*t as usize * features..][..features];
        row.iter_mut().zip(g).for_each(|(w, g)| *w += g);
    }
}

/// Sizes of an attention.
#[derive(Debug, Clone, Copy)]
pub struct Attention {
    pub length: usize,
    pub features: usize,
    pub heads: usize,
    pub causal: bool,
}

impl Attention {
    fn width(&self) -> usize {
        self.features / self.heads
    }
    /// Q, K or V (0, 1, 2) of one head of one sample, row by row.
    fn take(&self, x: &[f32], head: usize, which: usize) -> Vec<f32> {
        let d = self.width();
        let at = which * self.features + head * d;
        let rows = x.chunks_exact(3 * self.features);
        rows.flat_map(|r| r[at..at + d].iter().copied()).collect()
    }
    fn put(&self, from: &[f32], head: usize, which: usize, gx: &mut [f32]) {
        let d = self.width();
        let at = which * self.features + head * d;
        for (r, f) in gx
            .chunks_exact_mut(3 * self.features)
            .zip(from.chunks_exact(d))
        {
            r[at..at + d].copy_from_slice(f);
        }
    }
    /// Results, and the probabilities of all samples and heads.
    pub fn forward(&self, x: &[f32], y: &mut [f32]) -> Vec<f32> {
        let (t, d) = (self.length, self.width());
        let scale = 1.0 / (d as f32).sqrt();
        let samples = x.len() / (t * 3 * self.features);
        let mut all = vec![0.0; samples * self.heads * t * t];
        let parts = y
            .par_chunks_mut(t * self.features)
            .zip(x.par_chunks(t * 3 * self.features));
        parts
            .zip(all.par_chunks_mut(self.heads * t * t))
            .for_each(|((y, x), all)| {
                for (h, p) in all.chunks_exact_mut(t * t).enumerate() {
                    let [q, k, v] = [0, 1, 2].map(|w| self.take(x, h, w));
                    multiply(Matrix::new(&q, t, d), Matrix::new(&k, t, d).t(), 0.0, p);
                    for (i, row) in p.chunks_exact_mut(t).enumerate() {
                        let seen = if self.causal { i + 1 } else { t };
                        let most = row[..seen].iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
                        let mut sum = 0.0;
                        for v in &mut row[..seen] {
                            *v = ((*v - most) * scale).exp();
                            sum += *v;
                        }
                        row[..seen].iter_mut().for_each(|v| *v /= sum);
                        row[seen..].fill(0.0);
                    }
                    let mut out = vec![0.0; t * d];
                    multiply(Matrix::new(p, t, t), Matrix::new(&v, t, d), 0.0, &mut out);
                    for (y, o) in y.chunks_exact_mut(self.features).zip(out.chunks_exact(d)) {
                        y[h * d..(h + 1) * d].copy_from_slice(o);
                    }
                }
            });
        all
    }
    /// Gradient of what it read.
    pub fn backward(&self, x: &[f32], all: &[f32], gy: &[f32], gx: &mut [f32]) {
        let (t, d) = (self.length, self.width());
        let scale = 1.0 / (d as f32).sqrt();
        let parts = gx
            .par_chunks_mut(t * 3 * self.features)
            .zip(x.par_chunks(t * 3 * self.features));
        let others = gy
            .par_chunks(t * self.features)
            .zip(all.par_chunks(self.heads * t * t));
        parts.zip(others).for_each(|((gx, x), (gy, all))| {
            for (h, p) in all.chunks_exact(t * t).enumerate() {
                let [q, k, v] = [0, 1, 2].map(|w| self.take(x, h, w));
                let rows = gy.chunks_exact(self.features);
                let go: Vec<f32> = rows.flat_map(|r| r[h * d..(h + 1) * d].to_vec()).collect();
                let (go, p) = (Matrix::new(&go, t, d), Matrix::new(p, t, t));
                let mut gv = vec![0.0; t * d];
                multiply(p.t(), go, 0.0, &mut gv);
                let mut gs = vec![0.0; t * t];
                multiply(go, Matrix::new(&v, t, d).t(), 0.0, &mut gs);
                for (gs, p) in gs.chunks_exact_mut(t).zip(p.data.chunks_exact(t)) {
                    let dot: f32 = gs.iter().zip(p).map(|(g, p)| g * p).sum();
                    gs.iter_mut()
                        .zip(p)
                        .for_each(|(g, p)| *g = p * (*g - dot) * scale);
                }
                let gs = Matrix::new(&gs, t, t);
                let (mut gq, mut gk) = (vec![0.0; t * d], vec![0.0; t * d]);
                multiply(gs, Matrix::new(&k, t, d), 0.0, &mut gq);
                multiply(gs.t(), Matrix::new(&q, t, d), 0.0, &mut gk);
                for (w, g) in [gq, gk, gv].iter().enumerate() {
                    self.put(g, h, w, gx);
                }
            }
        });
    }
}

//! Pooling over windows of images.
use rayon::prelude::*;

/// Sizes of a pooling.
#[derive(Debug, Clone, Copy)]
pub struct PoolingSizes {
    pub input: [usize; 3],
    pub output: [usize; 3],
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
}

impl PoolingSizes {
    fn planes(&self) -> (usize, usize) {
        (
            self.input[1] * self.input[2],
            self.output[1] * self.output[2],
        )
    }
    /// Places of the window of an output, within the image.
    fn window(&self, o: usize, size: usize) -> std::ops::Range<usize> {
        let start = o * self.stride;
        let end = (start + self.kernel).saturating_sub(self.padding).min(size);
        start.saturating_sub(self.padding)..end
    }
    /// The largest of each window, and where it is in its plane. A NaN is the largest.
    pub fn max(&self, x: &[f32], y: &mut [f32]) -> Vec<u32> {
        let (inp, out) = self.planes();
        let mut at = vec![0u32; y.len()];
        let (h, w) = (self.input[1], self.input[2]);
        let planes = y.par_chunks_mut(out).zip(at.par_chunks_mut(out));
        planes
            .zip(x.par_chunks(inp))
            .with_min_len(16)
            .for_each(|((y, at), x)| {
                let mut i = 0;
                for oy in 0..self.output[1] {
                    for ox in 0..self.output[2] {
                        let mut best = f32::NEG_INFINITY;
                        let mut place = 0;
                        for r in self.window(oy, h) {
                            for c in self.window(ox, w) {
                                let v = x[r * w + c];
                                if v > best || v.is_nan() && !best.is_nan() {
                                    best = v;
                                    place = r * w + c;
                                }
                            }
                        }
                        y[i] = best;
                        at[i] = place as u32;
                        i += 1;
                    }
                }
            });
        at
    }
    /// Gradients go to where the largest were.
    pub fn max_back(&self, at: &[u32], gy: &[f32], gx: &mut [f32]) {
        let (inp, out) = self.planes();
        let planes = gy.par_chunks(out).zip(at.par_chunks(out));
        gx.par_chunks_mut(inp)
            .zip(planes)
            .with_min_len(16)
            .for_each(|(gx, (gy, at))| {
                gx.fill(0.0);
                for (g, at) in gy.iter().zip(at) {
                    gx[*at as usize] += g;
                }
            });
    }
    /// The mean of each window.
    pub fn mean(&self, x: &[f32], y: &mut [f32]) {
        let (inp, out) = self.planes();
        let (h, w) = (self.input[1], self.input[2]);
        let part = 1.0 / (self.kernel * self.kernel) as f32;
        y.par_chunks_mut(out)
            .zip(x.par_chunks(inp))
            .with_min_len(16)
            .for_each(|(y, x)| {
                for (i, y) in y.iter_mut().enumerate() {
                    let (oy, ox) = (i / self.output[2], i % self.output[2]);
                    let rows = self.window(oy, h).map(|r| &x[r * w..][self.window(ox, w)]);
                    *y = rows.map(|r| r.iter().sum::<f32>()).sum::<f32>() * part;
                }
            });
    }
    /// Gradients spread evenly.
    pub fn mean_back(&self, gy: &[f32], gx: &mut [f32]) {
        let (inp, out) = self.planes();
        let (h, w) = (self.input[1], self.input[2]);
        let part = 1.0 / (self.kernel * self.kernel) as f32;
        gx.par_chunks_mut(inp)
            .zip(gy.par_chunks(out))
            .with_min_len(16)
            .for_each(|(gx, gy)| {
                gx.fill(0.0);
                for (i, g) in gy.iter().enumerate() {
                    let (oy, ox) = (i / self.output[2], i % self.output[2]);
                    for r in self.window(oy, h) {
                        let row = &mut gx[r * w..][self.window(ox, w)];
                        row.iter_mut().for_each(|v| *v += g * part);
                    }
                }
            });
    }
}

/// The mean of each plane of `size` values.
pub fn global(x: &[f32], size: usize, y: &mut [f32]) {
    let part = 1.0 / size as f32;
    let planes = y.par_iter_mut().zip(x.par_chunks(size)).with_min_len(64);
    planes.for_each(|(y, x)| *y = x.iter().sum::<f32>() * part);
}

/// Its gradient.
pub fn global_back(gy: &[f32], size: usize, gx: &mut [f32]) {
    let part = 1.0 / size as f32;
    let planes = gx.par_chunks_mut(size).zip(gy).with_min_len(64);
    planes.for_each(|(x, g)| x.fill(g * part));
}

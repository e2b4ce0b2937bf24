//! Convolution by im2col and matrix products; samples in parallel.
use super::gemm::{Matrix, multiply};
use super::parallel::{self, PARTS};
use rayon::prelude::*;

/// Sizes of a convolution.
#[derive(Debug, Clone, Copy)]
pub struct Conv {
    pub input: [usize; 3],
    pub output: [usize; 3],
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub groups: usize,
}

impl Conv {
    fn in_len(&self) -> usize {
        self.input.iter().product()
    }
    fn out_len(&self) -> usize {
        self.output.iter().product()
    }
    fn places(&self) -> usize {
        self.output[1] * self.output[2]
    }
    /// Inputs of one output.
    fn taps(&self) -> usize {
        self.input[0] / self.groups * self.kernel[0] * self.kernel[1]
    }
    /// The columns are the image itself.
    fn pointwise(&self) -> bool {
        self.kernel == [1, 1] && self.stride == [1, 1] && self.padding == [0, 0]
    }
    fn depthwise(&self) -> bool {
        self.groups > 1 && self.groups == self.input[0] && self.groups == self.output[0]
    }

    /// Output columns that a tap at `kx` reaches without leaving the image: first and one past the last.
    fn reach(&self, kx: usize) -> (usize, usize) {
        let (w, s, p) = (self.input[2], self.stride[1], self.padding[1]);
        let first = p.saturating_sub(kx).div_ceil(s);
        let last = match (w + p).checked_sub(kx + 1) {
            Some(d) => (d / s + 1).min(self.output[2]),
            None => 0,
        };
        (first.min(last), last)
    }

    /// Rows: taps of a group; columns: places of the output.
    fn columns(&self, x: &[f32], group: usize, col: &mut [f32]) {
        let [_, h, w] = self.input;
        let [_, oh, ow] = self.output;
        let channels = self.input[0] / self.groups;
        let mut rows = col.chunks_exact_mut(oh * ow);
        for c in group * channels..(group + 1) * channels {
            let plane = &x[c * h * w..(c + 1) * h * w];
            for ky in 0..self.kernel[0] {
                for kx in 0..self.kernel[1] {
                    let Some(row) = rows.next() else { return };
                    let (from, to) = self.reach(kx);
                    for (oy, out) in row.chunks_exact_mut(ow).enumerate() {
                        let y = oy * self.stride[0] + ky;
                        if y < self.padding[0] || y - self.padding[0] >= h || from >= to {
                            out.fill(0.0);
                            continue;
                        }
                        let line = &plane[(y - self.padding[0]) * w..][..w];
                        let start = from * self.stride[1] + kx - self.padding[1];
                        out[..from].fill(0.0);
                        out[to..].fill(0.0);
                        if self.stride[1] == 1 {
                            out[from..to].copy_from_slice(&line[start..start + to - from]);
                        } else {
                            let source = line[start..].iter().step_by(self.stride[1]);
                            out[from..to]
                                .iter_mut()
                                .zip(source)
                                .for_each(|(o, v)| *o = *v);
                        }
                    }
                }
            }
        }
    }

    /// Adds columns back to where they came from.
    fn gather(&self, col: &[f32], group: usize, gx: &mut [f32]) {
        let [_, h, w] = self.input;
        let [_, oh, ow] = self.output;
        let channels = self.input[0] / self.groups;
        let mut rows = col.chunks_exact(oh * ow);
        for c in group * channels..(group + 1) * channels {
            let plane = &mut gx[c * h * w..(c + 1) * h * w];
            for ky in 0..self.kernel[0] {
                for kx in 0..self.kernel[1] {
                    let Some(row) = rows.next() else { return };
                    let (from, to) = self.reach(kx);
                    for (oy, out) in row.chunks_exact(ow).enumerate() {
                        let y = oy * self.stride[0] + ky;
                        if y < self.padding[0] || y - self.padding[0] >= h || from >= to {
                            continue;
                        }
                        let line = &mut plane[(y - self.padding[0]) * w..][..w];
                        let start = from * self.stride[1] + kx - self.padding[1];
                        let out = &out[from..to];
                        if self.stride[1] == 1 {
                            let target = &mut line[start..start + out.len()];
                            target.iter_mut().zip(out).for_each(|(t, v)| *t += v);
                        } else {
                            let target = line[start..].iter_mut().step_by(self.stride[1]);
                            target.zip(out).for_each(|(t, v)| *t += v);
                        }
                    }
                }
            }
        }
    }

    /// Results of all samples.
    pub fn forward(&self, x: &[f32], weight: &[f32], bias: Option<&[f32]>, y: &mut [f32]) {
        let (taps, places) = (self.taps(), self.places());
        let outputs = self.output[0] / self.groups;
        let samples = x.par_chunks(self.in_len());
        y.par_chunks_mut(self.out_len()).zip(samples).for_each_init(
            || vec![0.0; taps * places],
            |col, (y, x)| {
                for g in 0..self.groups {
                    let w = &weight[g * outputs * taps..(g + 1) * outputs * taps];
                    let out = &mut y[g * outputs * places..(g + 1) * outputs * places];
                    if self.depthwise() {
                        self.columns(x, g, col);
                        out.fill(0.0);
                        for (w, row) in w.iter().zip(col.chunks_exact(places)) {
                            out.iter_mut().zip(row).for_each(|(o, v)| *o += w * v);
                        }
                        continue;
                    }
                    let col: &[f32] = if self.pointwise() {
                        &x[g * taps * places..(g + 1) * taps * places]
                    } else {
                        self.columns(x, g, col);
                        col
                    };
                    let w = Matrix::new(w, outputs, taps);
                    multiply(w, Matrix::new(col, taps, places), 0.0, out);
                }
                if let Some(bias) = bias {
                    for (out, b) in y.chunks_exact_mut(places).zip(bias) {
                        out.iter_mut().for_each(|o| *o += b);
                    }
                }
            },
        );
    }

    /// Gradients: of the weight, of the bias, and of the input if wanted. Samples are in a fixed number of parts,
    /// whose sums are added in order, so that threads do not change bits.
    pub fn backward(
        &self,
        x: &[f32],
        weight: &[f32],
        gy: &[f32],
        gw: &mut [f32],
        gb: Option<&mut [f32]>,
        gx: Option<&mut [f32]>,
    ) {
        let (taps, places) = (self.taps(), self.places());
        let outputs = self.output[0] / self.groups;
        let rows = gy.len() / self.out_len();
        let part = parallel::part(rows);
        let mut none: Vec<f32> = Vec::new();
        let wanted = gx.is_some();
        let gx = gx.unwrap_or(&mut none);
        gx.fill(0.0);
        // One piece of the input's gradient for each part; empty ones if it is not wanted.
        let mut pieces: Vec<&mut [f32]> = if wanted {
            gx.chunks_mut(part * self.in_len()).collect()
        } else {
            (0..rows.div_ceil(part))
                .map(|_| <&mut [f32]>::default())
                .collect()
        };
        let sums: Vec<Vec<f32>> = pieces
            .par_iter_mut()
            .enumerate()
            .map(|(i, piece)| {
                let mut own = vec![0.0; weight.len()];
                let mut col = vec![0.0; taps * places];
                let mut back = vec![0.0; if wanted { taps * places } else { 0 }];
                for n in i * part..((i + 1) * part).min(rows) {
                    let x = &x[n * self.in_len()..(n + 1) * self.in_len()];
                    let gy = &gy[n * self.out_len()..(n + 1) * self.out_len()];
                    for g in 0..self.groups {
                        let span = g * outputs * taps..(g + 1) * outputs * taps;
                        let out = &gy[g * outputs * places..(g + 1) * outputs * places];
                        let source: &[f32] = if self.pointwise() {
                            &x[g * taps * places..(g + 1) * taps * places]
                        } else {
                            self.columns(x, g, &mut col);
                            &col
                        };
                        let out = Matrix::new(out, outputs, places);
                        let source = Matrix::new(source, taps, places);
                        multiply(out, source.t(), 1.0, &mut own[span.clone()]);
                        if wanted {
                            let w = Matrix::new(&weight[span], outputs, taps);
                            let at = (n - i * part) * self.in_len();
                            let target = &mut piece[at..at + self.in_len()];
                            if self.pointwise() {
                                let t = &mut target[g * taps * places..(g + 1) * taps * places];
                                multiply(w.t(), out, 0.0, t);
                            } else {
                                multiply(w.t(), out, 0.0, &mut back);
                                self.gather(&back, g, target);
                            }
                        }
                    }
                }
                own
            })
            .collect();
        debug_assert!(sums.len() <= PARTS);
        parallel::add_all(gw, &sums);
        if let Some(gb) = gb {
            gb.par_iter_mut().enumerate().for_each(|(c, b)| {
                let planes = (0..rows).map(|n| &gy[n * self.out_len() + c * places..][..places]);
                *b = planes.map(|p| p.iter().sum::<f32>()).sum();
            });
        }
    }
}

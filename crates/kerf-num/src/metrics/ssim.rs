//! Structural similarity of images: Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from
//! error visibility to structural similarity", IEEE Transactions on Image Processing 13(4), 2004.
//!
//! As there: windows of 11 by 11 with Gaussian weights of standard deviation 1.5 and sum 1, constants
//! (0.01 L)^2 and (0.03 L)^2 for a dynamic range L, and the mean over all windows that lie within the image.
//! Channels are images of their own, and their mean is taken. Statistics are of `x - r`, r being the
//! reference's mean over the channel: that changes variances by nothing, and loses fewer digits of them.

use crate::dd::Dd;

/// Side of a window. A smaller image has no similarity.
pub const WINDOW: usize = 11;

const SIGMA: f64 = 1.5;
const K1: f64 = 0.01;
const K2: f64 = 0.03;

/// Extents of an image whose channels of a pixel are neighbours in memory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ImageExtents {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Values of a pixel.
    pub channels: usize,
}

impl ImageExtents {
    /// Whether the image has that many values, and a window.
    pub fn has_windows(&self, values: usize) -> bool {
        let pixels = self.height.checked_mul(self.width);
        let size = pixels.and_then(|p| p.checked_mul(self.channels));
        size == Some(values) && values > 0 && self.height.min(self.width) >= WINDOW
    }

    /// Windows of a channel by row and column, of an image that has some.
    pub fn windows(&self) -> (usize, usize) {
        (self.height + 1 - WINDOW, self.width + 1 - WINDOW)
    }

    /// The mean over the pixels of a channel, of their sum.
    pub fn mean_of_pixels(&self, sum: Dd) -> f64 {
        sum.div_f64((self.height * self.width) as f64).to_f64()
    }

    /// The mean over the windows of a channel, of their sum.
    pub fn mean_of_windows(&self, sum: Dd) -> f64 {
        let (rows, columns) = self.windows();
        sum.div_f64((rows * columns) as f64).to_f64()
    }
}

/// A sum in double-double, which no order of the terms changes by much.
fn sum_of(terms: impl Iterator<Item = f64>) -> Dd {
    terms.fold(Dd::ZERO, |sum, x| sum.add_f64(x))
}

/// What the similarity of a window is made with.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct SsimConstants {
    /// Weights of the rows of a window, and of its columns.
    pub weights: [f64; WINDOW],
    /// Keeps the quotient of the means from being of small numbers.
    pub c1: f64,
    /// The same for the quotient of the variances.
    pub c2: f64,
}

impl SsimConstants {
    /// For values between 0 and `peak`.
    pub fn new(peak: f64) -> SsimConstants {
        let middle = (WINDOW / 2) as f64;
        let mut weights: [f64; WINDOW] =
            std::array::from_fn(|i| (-(i as f64 - middle).powi(2) / (2.0 * SIGMA * SIGMA)).exp());
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        SsimConstants {
            weights,
            c1: (K1 * peak).powi(2),
            c2: (K2 * peak).powi(2),
        }
    }
}

/// Weighted means over the windows of an image of one channel, rows of `width - 10` of them.
fn filtered(at: impl Fn(usize) -> f64, i: ImageExtents, w: &[f64; WINDOW]) -> Vec<f64> {
    let (rows, columns) = i.windows();
    let mut across = Vec::with_capacity(i.height * columns);
    for y in 0..i.height {
        let row: Vec<f64> = (0..i.width).map(|x| at(y * i.width + x)).collect();
        let mean = |x: usize| w.iter().zip(&row[x..]).map(|(w, v)| w * v).sum::<f64>();
        across.extend((0..columns).map(mean));
    }
    let mut out = Vec::with_capacity(rows * columns);
    for y in 0..rows {
        for x in 0..columns {
            let below = w.iter().enumerate();
            out.push(below.map(|(k, w)| w * across[(y + k) * columns + x]).sum());
        }
    }
    out
}

/// Mean structural similarity, at most 1, for values between 0 and `peak` (or of that range). `None` for an
/// image smaller than a window, of another size than the values, or with values that are not finite.
pub fn ssim(got: &[f64], reference: &[f64], image: ImageExtents, peak: f64) -> Option<f64> {
    let fits = image.has_windows(got.len()) && reference.len() == got.len();
    let finite = got.iter().chain(reference).all(|v| v.is_finite());
    if !fits || !finite {
        return None;
    }
    let SsimConstants { weights: w, c1, c2 } = SsimConstants::new(peak);
    let mut sum = 0.0;
    for c in 0..image.channels {
        let of = |all: &[f64]| -> Vec<f64> {
            all.iter()
                .skip(c)
                .step_by(image.channels)
                .copied()
                .collect()
        };
        let (x, y) = (of(got), of(reference));
        let shift = image.mean_of_pixels(sum_of(y.iter().copied()));
        let (x, y): (Vec<f64>, Vec<f64>) = (
            x.iter().map(|v| v - shift).collect(),
            y.iter().map(|v| v - shift).collect(),
        );
        let mx = filtered(|i| x[i], image, &w);
        let my = filtered(|i| y[i], image, &w);
        let xx = filtered(|i| x[i] * x[i], image, &w);
        let yy = filtered(|i| y[i] * y[i], image, &w);
        let xy = filtered(|i| x[i] * y[i], image, &w);
        let window = |i: usize| {
            let (vx, vy) = (xx[i] - mx[i] * mx[i], yy[i] - my[i] * my[i]);
            let cov = xy[i] - mx[i] * my[i];
            let (a, b) = (mx[i] + shift, my[i] + shift);
            let mean = (2.0 * a * b + c1) / (a * a + b * b + c1);
            mean * (2.0 * cov + c2) / (vx + vy + c2)
        };
        sum += image.mean_of_windows(sum_of((0..mx.len()).map(window)));
    }
    Some(sum / image.channels as f64)
}

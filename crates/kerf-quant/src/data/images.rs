//! Labelled images in memory: bytes or reals, normalised for each channel, changed at random in training.
//!
//! A batch names the pixels and says what to do to each image ([`ImageBatch`]); whoever computes makes reals of it, on
//! the CPU or, with the pixels kept there, on a GPU. Draws depend on the seed and on the image's number only.
pub mod cifar;
pub mod folder;
pub mod idx;
pub mod npy;
#[cfg(test)]
mod tests;

pub use super::pixels::{ImageBatch, Move, Normal, PixelStore, Pixels};
use super::{DataError, Dataset, Scaling};
use crate::backend::{Batch, BatchInput};
use crate::graph::InputSpec;
use crate::seed;
use std::sync::Arc;

/// What is done to images of a training set at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Augment {
    /// Zeros put around an image before a part of the old size is cut out.
    pub pad: usize,
    /// Whether half of the images are mirrored, left to right.
    pub flip: bool,
    /// Side of a square that is blanked at a random place (DeVries and Taylor, "Improved Regularization of
    /// Convolutional Neural Networks with Cutout"); 0 for none.
    pub cutout: usize,
}

/// A set of labelled images.
#[derive(Debug, Clone)]
pub struct Images {
    name: String,
    store: Arc<PixelStore>,
    labels: Arc<Vec<u32>>,
    classes: usize,
    augment: Augment,
}

impl Images {
    /// From its parts, checked. `from` names the file or folder in messages.
    pub fn new(
        name: impl Into<String>,
        from: &str,
        shape: [usize; 3],
        pixels: Pixels,
        labels: Vec<u32>,
        classes: usize,
    ) -> Result<Images, DataError> {
        let corrupt = |what: String| DataError::Corrupt {
            path: from.into(),
            what,
        };
        let size = shape.iter().product::<usize>();
        if size == 0 || labels.is_empty() {
            return Err(corrupt("there are no images in it".into()));
        }
        if pixels.len() != size * labels.len() {
            let (found, n) = (pixels.len(), labels.len());
            let what = format!(
                "{found} pixels for {n} labels; images of {shape:?} need {}",
                size * n
            );
            return Err(corrupt(what));
        }
        if let Some((i, l)) = labels
            .iter()
            .enumerate()
            .find(|(_, l)| **l as usize >= classes)
        {
            return Err(corrupt(format!(
                "image {i} has the label {l}; there are {classes} classes"
            )));
        }
        if let Pixels::Reals(v) = &pixels
            && let Some(i) = v.iter().position(|x| !x.is_finite())
        {
            return Err(corrupt(format!(
                "image {} has a value that is not finite",
                i / size
            )));
        }
        let store = PixelStore {
            shape,
            normal: measure(shape, &pixels),
            pixels,
        };
        Ok(Images {
            name: name.into(),
            store: Arc::new(store),
            labels: Arc::new(labels),
            classes,
            augment: Augment::default(),
        })
    }
    /// With another augmentation.
    pub fn augmented(mut self, augment: Augment) -> Images {
        self.augment = augment;
        self
    }
    /// With a square of this side blanked in each image of training; 0 for none.
    pub fn cutout(mut self, side: usize) -> Images {
        self.augment.cutout = side;
        self
    }
    /// Normalised by these instead of its own: a test set by its training set's.
    pub fn normalised_as(mut self, other: &Images) -> Images {
        let store = PixelStore {
            shape: self.store.shape,
            pixels: self.store.pixels.clone(),
            normal: other.store.normal.clone(),
        };
        self.store = Arc::new(store);
        self
    }
    /// Its first images only.
    pub fn first(mut self, count: usize) -> Images {
        let keep: Vec<u32> = self.labels.iter().copied().take(count.max(1)).collect();
        self.labels = Arc::new(keep);
        self
    }
    /// `[channels, height, width]`.
    pub fn shape(&self) -> [usize; 3] {
        self.store.shape
    }
    /// How they are normalised.
    pub fn normal(&self) -> &Normal {
        &self.store.normal
    }
    /// The classes of all images.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }
}

/// Mean and deviation of each channel, the deviation 1 where nothing varies.
fn measure(shape: [usize; 3], pixels: &Pixels) -> Normal {
    let [c, h, w] = shape;
    let mut sums = vec![(0f64, 0f64); c];
    let planes = pixels.len() / (h * w);
    for p in 0..planes {
        let range = p * h * w..(p + 1) * h * w;
        let (s, q) = match pixels {
            // Whole numbers: exact in any order.
            Pixels::Bytes(v) => {
                let (mut s, mut q) = (0u64, 0u64);
                for &b in &v[range] {
                    s += u64::from(b);
                    q += u64::from(b) * u64::from(b);
                }
                (s as f64 / 255.0, q as f64 / (255.0 * 255.0))
            }
            Pixels::Reals(v) => v[range]
                .iter()
                .map(|&x| f64::from(x))
                .fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x)),
        };
        sums[p % c].0 += s;
        sums[p % c].1 += q;
    }
    let n = (planes / c * h * w) as f64;
    let (mut mean, mut std) = (Vec::new(), Vec::new());
    for (s, q) in sums {
        let m = s / n;
        let d = (q / n - m * m).max(0.0).sqrt();
        mean.push(m as f32);
        std.push(if d > 1e-6 { d as f32 } else { 1.0 });
    }
    Normal { mean, std }
}

impl Dataset for Images {
    fn name(&self) -> String {
        self.name.clone()
    }
    fn len(&self) -> usize {
        self.labels.len()
    }
    fn input(&self) -> InputSpec {
        InputSpec::Reals(self.store.shape.to_vec())
    }
    fn classes(&self) -> usize {
        self.classes
    }
    fn scaling(&self) -> Option<Scaling> {
        let Normal { mean, std } = self.normal().clone();
        let divisor = match self.store.pixels {
            Pixels::Bytes(_) => 255.0,
            Pixels::Reals(_) => 1.0,
        };
        Some(Scaling { divisor, mean, std })
    }
    fn batch(&self, indices: &[usize], augment: Option<u64>) -> Result<Batch, DataError> {
        if let Some(i) = indices.iter().find(|i| **i >= self.len()) {
            return Err(DataError::Corrupt {
                path: self.name.clone(),
                what: format!("image {i} was asked for; there are {}", self.len()),
            });
        }
        let Augment { pad, flip, cutout } = self.augment;
        let [_, height, width] = self.store.shape;
        let places = (2 * pad + 1) as f32;
        let draw = |seed: u64, index: usize| {
            let own = seed::step(seed, index as u64);
            let at = |k| (seed::unit(own, k) * places) as i32 - pad as i32;
            // Centres are everywhere alike, so that edges are blanked as often as the middle.
            let side = cutout as i32;
            let blank = |k, n: usize| (seed::unit(own, k) * n as f32) as i32 - side / 2;
            let hole = match cutout {
                0 => [0; 4],
                _ => {
                    let (top, left) = (blank(3, height), blank(4, width));
                    [top, left, top + side, left + side]
                }
            };
            Move {
                top: at(0),
                left: at(1),
                flip: flip && seed::unit(own, 2) < 0.5,
                hole,
            }
        };
        let moves = match augment {
            Some(s) if pad > 0 || flip || cutout > 0 => {
                indices.iter().map(|&i| draw(s, i)).collect()
            }
            _ => Vec::new(),
        };
        Ok(Batch {
            rows: indices.len(),
            labels: indices.iter().map(|&i| self.labels[i]).collect(),
            input: BatchInput::Images(ImageBatch {
                store: self.store.clone(),
                indices: indices.iter().map(|&i| i as u32).collect(),
                moves,
            }),
        })
    }
}

//! Pixels that batches share, and images made of them: cut, mirrored, normalised.
use std::sync::Arc;

/// Values of all images, one image after the other, each `[channels, height, width]`.
#[derive(Debug, Clone, PartialEq)]
pub enum Pixels {
    /// 0 to 255, which stand for 0 to 1.
    Bytes(Vec<u8>),
    /// As they are.
    Reals(Vec<f32>),
}

impl Pixels {
    /// How many values there are.
    pub fn len(&self) -> usize {
        match self {
            Pixels::Bytes(v) => v.len(),
            Pixels::Reals(v) => v.len(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Mean and standard deviation of each channel, which images are normalised by.
#[derive(Debug, Clone, PartialEq)]
pub struct Normal {
    /// Means.
    pub mean: Vec<f32>,
    /// Standard deviations.
    pub std: Vec<f32>,
}

/// Pixels that several batches share.
#[derive(Debug, PartialEq)]
pub struct PixelStore {
    /// `[channels, height, width]`.
    pub shape: [usize; 3],
    /// All values.
    pub pixels: Pixels,
    /// How they are normalised.
    pub normal: Normal,
}

/// How one image is cut and mirrored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Move {
    /// First row of the part, counted in the image before padding; from `-pad` to `pad`.
    pub top: i32,
    /// First column, likewise.
    pub left: i32,
    /// Whether it is mirrored after that.
    pub flip: bool,
    /// What is blanked after that: first row and column, and those behind the last; may reach over the edges.
    pub hole: [i32; 4],
}

impl Move {
    /// Whether a pixel of the part is blanked.
    fn blank(&self, y: usize, x: usize) -> bool {
        let [top, left, bottom, right] = self.hole;
        (top..bottom).contains(&(y as i32)) && (left..right).contains(&(x as i32))
    }
}

/// Images by their numbers in a store, and what is done to each.
#[derive(Debug, Clone)]
pub struct ImageBatch {
    /// Where the pixels are.
    pub store: Arc<PixelStore>,
    /// Which images.
    pub indices: Vec<u32>,
    /// What is done to each; empty for nothing.
    pub moves: Vec<Move>,
}

impl PartialEq for ImageBatch {
    fn eq(&self, other: &ImageBatch) -> bool {
        (&self.indices, &self.moves) == (&other.indices, &other.moves)
            && (Arc::ptr_eq(&self.store, &other.store) || self.store == other.store)
    }
}

impl ImageBatch {
    /// The images as reals. What padding adds is zero before normalisation, as in torchvision; what is blanked is zero
    /// after it.
    pub fn reals(&self) -> Vec<f32> {
        let [c, h, w] = self.store.shape;
        let size = c * h * w;
        let mut out = vec![0f32; self.indices.len() * size];
        let normal = &self.store.normal;
        // A table, since bytes have 256 values: normalising costs a look-up.
        let tables: Vec<[f32; 256]> = (0..c)
            .map(|k| std::array::from_fn(|v| normalised(v as f32 / 255.0, normal, k)))
            .collect();
        for (n, (&index, image)) in self
            .indices
            .iter()
            .zip(out.chunks_exact_mut(size))
            .enumerate()
        {
            let m = self.moves.get(n).copied().unwrap_or_default();
            let base = index as usize * size;
            for (k, table) in tables.iter().enumerate() {
                let zero = normalised(0.0, normal, k);
                for y in 0..h {
                    let from_y = y as i32 + m.top;
                    let row = &mut image[(k * h + y) * w..][..w];
                    let inside = (0..h as i32).contains(&from_y);
                    let line = base + (k * h + from_y.max(0) as usize) * w;
                    for (x, to) in row.iter_mut().enumerate() {
                        if m.blank(y, x) {
                            continue;
                        }
                        let x = if m.flip { w - 1 - x } else { x };
                        let from_x = x as i32 + m.left;
                        *to = if !inside || from_x < 0 || from_x >= w as i32 {
                            zero
                        } else {
                            match &self.store.pixels {
                                Pixels::Bytes(v) => table[v[line + from_x as usize] as usize],
                                Pixels::Reals(v) => {
                                    normalised(v[line + from_x as usize], normal, k)
                                }
                            }
                        };
                    }
                }
            }
        }
        out
    }
}

fn normalised(v: f32, normal: &Normal, channel: usize) -> f32 {
    (v - normal.mean[channel]) / normal.std[channel]
}

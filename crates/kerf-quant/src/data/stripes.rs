//! Images that are drawn, not read: stripes in as many directions as classes, with noise. For tests and first steps
//! without data.
use super::{DataError, Dataset};
use crate::backend::{Batch, BatchInput};
use crate::graph::InputSpec;
use crate::seed;

/// Side of an image.
const SIDE: usize = 12;

/// Directions.
const CLASSES: usize = 4;

/// Samples by number; a sample is always the same.
#[derive(Debug, Clone)]
pub struct Stripes {
    name: &'static str,
    len: usize,
    seed: u64,
    noise: f32,
}

impl Stripes {
    /// Sets to train on and to evaluate on.
    pub fn pair(train: usize, test: usize) -> (Stripes, Stripes) {
        let of = |name, len, seed| Stripes {
            name,
            len,
            seed,
            noise: 0.9,
        };
        (of("stripes train", train, 1), of("stripes test", test, 2))
    }
}

impl Dataset for Stripes {
    fn name(&self) -> String {
        self.name.into()
    }
    fn len(&self) -> usize {
        self.len
    }
    fn input(&self) -> InputSpec {
        InputSpec::Reals(vec![1, SIDE, SIDE])
    }
    fn classes(&self) -> usize {
        CLASSES
    }
    fn batch(&self, indices: &[usize], _: Option<u64>) -> Result<Batch, DataError> {
        let mut data = Vec::with_capacity(indices.len() * SIDE * SIDE);
        let mut labels = Vec::with_capacity(indices.len());
        for i in indices {
            let own = seed::step(self.seed, *i as u64);
            let class = (own % CLASSES as u64) as u32;
            labels.push(class);
            let angle = std::f32::consts::PI * class as f32 / CLASSES as f32;
            let (s, c) = angle.sin_cos();
            let phase = 6.3 * seed::unit(own, 1 << 20);
            for p in 0..SIDE * SIDE {
                let (y, x) = ((p / SIDE) as f32, (p % SIDE) as f32);
                let wave = (1.4 * (x * c + y * s) + phase).sin();
                // Uniform noise with the given standard deviation.
                let noise = (seed::unit(own, p as u64) - 0.5) * 3.464 * self.noise;
                data.push(wave + noise);
            }
        }
        Ok(Batch {
            rows: indices.len(),
            input: BatchInput::Reals(data),
            labels,
        })
    }
}

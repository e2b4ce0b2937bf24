//! Samples to train and evaluate on.
pub mod images;
pub mod open;
pub mod part;
pub mod pixels;
pub mod stripes;
pub mod text;

use crate::backend::Batch;
use crate::graph::InputSpec;
use serde::{Deserialize, Serialize};

/// Why samples cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file that is not what it should be.
    #[error("{path}: {what}")]
    Corrupt {
        /// The file.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// Not fetched yet.
    #[error("{name} is not in {path}; fetch it with `kerf quantize data {name}`")]
    Absent {
        /// The data.
        name: String,
        /// Where it was looked for.
        path: String,
    },
    /// Neither a name nor a folder.
    #[error("`{name}` is neither a folder nor data that is known: {list}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names.
        list: String,
    },
    /// Data of another shape than the network takes.
    #[error("the data {data} is {found}, and the network {network} takes {expected}")]
    Mismatch {
        /// The data.
        data: String,
        /// Its form.
        found: InputSpec,
        /// The network.
        network: String,
        /// What it takes.
        expected: InputSpec,
    },
}

/// What is done to the values of an image before a network sees them: `(value / divisor - mean) / std`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// 255 for bytes, 1 for reals.
    pub divisor: f32,
    /// Mean of each channel.
    pub mean: Vec<f32>,
    /// Deviation of each channel.
    pub std: Vec<f32>,
}

/// A set of samples. The same indices and seed give the same batch on every machine.
pub trait Dataset: Sync {
    /// For people and records: `fashion-mnist test`.
    fn name(&self) -> String;
    /// How many samples there are.
    fn len(&self) -> usize;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// What a sample looks like.
    fn input(&self) -> InputSpec;
    /// How many classes there are.
    fn classes(&self) -> usize;
    /// These samples; with a seed, changed at random as is usual in training on this data (crops, mirror images).
    fn batch(&self, indices: &[usize], augment: Option<u64>) -> Result<Batch, DataError>;
    /// What is done to images; none where nothing is.
    fn scaling(&self) -> Option<Scaling> {
        None
    }
}

/// A file's bytes.
pub(crate) fn read_file(path: &std::path::Path) -> Result<Vec<u8>, DataError> {
    std::fs::read(path).map_err(|source| DataError::File {
        path: path.display().to_string(),
        source,
    })
}

//! An experiment: one recipe, several seeds, a folder with everything that came of it.
//!
//! `seed-N/` has `checkpoint.safetensors`, and at the end `weights.safetensors` and `model.json`, which together are the
//! quantized network. `result.json` and pictures are about all seeds.
mod folder;
mod pictures;
#[cfg(test)]
mod tests;

pub use folder::{QuantizedModel, read_model, read_result};

use crate::backend::{Backend, BackendError, BatchScore, Optimizer};
use crate::data::Dataset;
use crate::decision::{Decision, Histogram};
use crate::graph::{Graph, InputSpec};
use crate::interval::{self, ConfidenceInterval};
use crate::networks::{self, NetworkError};
use crate::points::{Policy, PolicyError, QuantizationPoint};
use crate::size::{Size, size};
use crate::steering::{QuantizationSettings, Steering, SteeringError};
use crate::train::{
    CHECKPOINT_S, EpochRow, TrainConfig, TrainError, TrainEvent, Trainer, evaluate,
};
use crate::weights::{self, WeightsError};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Version of `result.json` and `model.json`.
pub const SCHEMA: &str = "kerf.quantize/1";

/// Parts of histograms in results.
const PARTS: usize = 256;

/// What to train and how: all that decides the result, but for the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainingRecipe {
    /// Network, by name.
    pub network: String,
    /// Data, as it was named.
    pub data: String,
    /// Where to quantize; none for FP32.
    pub policy: Option<Policy>,
    /// How.
    pub settings: QuantizationSettings,
    /// How to train; the seed is that of the first run.
    pub train: TrainConfig,
    /// Part of the training data that is held out, for `kerf quantize tune`.
    pub held_out: f64,
    /// Side of the square that is blanked in images of training; 0 for none.
    #[serde(default, skip_serializing_if = "none")]
    pub cutout: usize,
    /// SHA-256 of the weights that training starts from.
    pub start: Option<String>,
}

/// Recipes without it are written as before there was one, so that their runs can go on.
fn none(cutout: &usize) -> bool {
    *cutout == 0
}

/// Makes a backend for a network, points, an optimizer and a seed.
pub type Make<'a> = dyn Fn(&Graph, &[QuantizationPoint], Optimizer, u64) -> Result<Box<dyn Backend>, BackendError>
    + 'a;

/// What came of one seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeedResult {
    /// The seed.
    pub seed: u64,
    /// On the test data after the last epoch, quantized.
    pub test: BatchScore,
    /// The same weights without quantization.
    pub unquantized: BatchScore,
    /// Every epoch.
    pub history: Vec<EpochRow>,
    /// The last histogram of each point of activations.
    pub histograms: Vec<Option<Histogram>>,
}

/// A point, in a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// Its name.
    pub name: String,
    /// Whether it is a weight.
    pub weight: bool,
    /// Bits.
    pub bits: f64,
    /// Grids: one, or one for each channel.
    pub grids: usize,
    /// Nodes that read it.
    pub readers: Vec<String>,
}

/// What came of all seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// What was done.
    pub recipe: TrainingRecipe,
    /// Where.
    pub backend: String,
    /// Numbers that were trained.
    pub parameters: usize,
    /// Accuracy on the test data, 0 to 1, of the last epoch (not the best one).
    pub accuracy: ConfidenceInterval,
    /// Of the same weights without quantization.
    pub unquantized: ConfidenceInterval,
    /// Bytes and bit operations.
    pub size: Size,
    /// Samples a second in training, the last epoch of the last seed.
    pub samples_s: f64,
    /// Where it is quantized.
    pub points: Vec<PointResult>,
    /// Each seed.
    pub seeds: Vec<SeedResult>,
}

/// Why there is no experiment.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The network.
    #[error("{0}")]
    Network(#[from] NetworkError),
    /// Names in the policy.
    #[error("{0}")]
    Policy(#[from] PolicyError),
    /// Bits or method.
    #[error("{0}")]
    Steering(#[from] SteeringError),
    /// Training.
    #[error("{0}")]
    Train(#[from] TrainError),
    /// Weights.
    #[error("{0}")]
    Weights(#[from] WeightsError),
    /// The backend.
    #[error("{0}")]
    Backend(#[from] BackendError),
    /// A file.
    #[error("{path}: {what}")]
    File {
        /// The file or folder.
        path: String,
        /// What is wrong.
        what: String,
    },
}

/// A recipe with data and a folder.
pub struct Experiment<'a> {
    /// What to do.
    pub recipe: &'a TrainingRecipe,
    /// To train on.
    pub train: &'a dyn Dataset,
    /// To evaluate on.
    pub test: &'a dyn Dataset,
    /// Makes backends.
    pub make: &'a Make<'a>,
    /// Where results go.
    pub folder: &'a Path,
    /// Weights to start from.
    pub start: Option<&'a Path>,
    /// Whether runs go on from their checkpoints.
    pub resume: bool,
}

/// The network, its points and its steering for a recipe.
pub fn prepare(
    recipe: &TrainingRecipe,
    input: &InputSpec,
    classes: usize,
) -> Result<(Graph, Vec<QuantizationPoint>, Steering), ExperimentError> {
    let graph = networks::by_name(&recipe.network, input, classes)?;
    let points = match &recipe.policy {
        Some(p) => p.points(&graph)?,
        None => Vec::new(),
    };
    let steering = Steering::new(&graph, &points, &recipe.settings)?;
    Ok((graph, points, steering))
}

impl Experiment<'_> {
    /// Trains with one seed, or goes on; what was finished is not done again.
    pub fn seed(
        &self,
        seed: u64,
        watch: &mut dyn FnMut(&TrainEvent),
    ) -> Result<SeedResult, ExperimentError> {
        let folder = self.folder.join(format!("seed-{seed}"));
        folder::make(&folder)?;
        let (graph, points, mut steering) =
            prepare(self.recipe, &self.train.input(), self.train.classes())?;
        let config = TrainConfig {
            seed,
            ..self.recipe.train.clone()
        };
        let mut backend = (self.make)(&graph, &points, config.optimizer, seed)?;
        if let Some(path) = self.start {
            weights::load(path, &graph, backend.as_mut())?;
        }
        let history = Trainer {
            graph: &graph,
            backend: backend.as_mut(),
            steering: &mut steering,
            train: self.train,
            test: self.test,
            config: &config,
            checkpoint: Some(folder.join("checkpoint.safetensors")),
            checkpoint_s: CHECKPOINT_S,
            identity: self.identity(&config),
        }
        .run(self.resume, watch)?;
        let decisions = steering.inference();
        let pass: Vec<Decision> = points.iter().map(|p| Decision::pass(p.scheme)).collect();
        let unquantized = evaluate(backend.as_mut(), self.test, &pass)?;
        let named = weights::from_backend(&graph, backend.as_ref())?;
        weights::write(&folder.join("weights.safetensors"), &named)?;
        let model = QuantizedModel {
            schema: SCHEMA.into(),
            network: self.recipe.network.clone(),
            input: graph.input.clone(),
            classes: graph.classes(),
            points,
            bits: steering.targets(),
            decisions,
            scaling: self.train.scaling(),
        };
        folder::write_json(&folder.join("model.json"), &model)?;
        let shorter = |h: &Option<Histogram>| h.as_ref().map(|h| h.spread(h.lo, h.hi, PARTS));
        Ok(SeedResult {
            seed,
            test: history.last().map(|r| r.test).unwrap_or_default(),
            unquantized,
            history,
            histograms: steering.histograms().iter().map(shorter).collect(),
        })
    }

    /// Everything that has to be the same for a checkpoint to go on.
    fn identity(&self, config: &TrainConfig) -> String {
        let recipe = TrainingRecipe {
            train: config.clone(),
            ..self.recipe.clone()
        };
        let sets = [self.train, self.test].map(|d| (d.name(), d.len()));
        serde_json::to_string(&(recipe, sets)).unwrap_or_default()
    }

    /// Puts seeds together and writes `result.json` and pictures.
    pub fn finish(&self, seeds: Vec<SeedResult>) -> Result<RunResult, ExperimentError> {
        let (graph, points, steering) =
            prepare(self.recipe, &self.train.input(), self.train.classes())?;
        let of = |score: fn(&SeedResult) -> BatchScore| {
            let values: Vec<f64> = seeds.iter().map(|s| score(s).accuracy()).collect();
            let first = seeds.first().map(score).unwrap_or_default();
            interval::over_seeds(&values)
                .unwrap_or_else(|| interval::of_part(first.correct, first.count))
        };
        let targets = steering.targets();
        let point = |(p, bits): (&QuantizationPoint, &f64)| PointResult {
            name: p.name.clone(),
            weight: p.is_weight(),
            bits: *bits,
            grids: p.channels.unwrap_or(1),
            readers: p
                .readers
                .iter()
                .map(|r| graph.nodes[*r].name.clone())
                .collect(),
        };
        let last = seeds.last().and_then(|s| s.history.last());
        let backend = (self.make)(&graph, &points, self.recipe.train.optimizer, 0)?.name();
        let result = RunResult {
            schema: SCHEMA.into(),
            recipe: self.recipe.clone(),
            backend,
            parameters: graph.trained(),
            accuracy: of(|s| s.test),
            unquantized: of(|s| s.unquantized),
            size: size(&graph, &points, &targets),
            samples_s: last.map_or(0.0, |r| r.samples_s),
            points: points.iter().zip(&targets).map(point).collect(),
            seeds,
        };
        folder::write_json(&self.folder.join("result.json"), &result)?;
        pictures::write(self.folder, &result)?;
        Ok(result)
    }
}

/// Where a seed's files are.
pub fn seed_folder(run: &Path, seed: u64) -> PathBuf {
    run.join(format!("seed-{seed}"))
}

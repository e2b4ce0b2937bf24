//! What a backend does: one training step, one evaluation, named parameters in and out.
//!
//! The training loop, the methods and the schedules are the same for every backend. What to quantize to is decided
//! by them ([`Decision`]) and told to the backend with each step; what the tensors looked like is told back.
use crate::data::pixels::ImageBatch;
use crate::decision::{Decision, PointReport};
use crate::tensor::Tensor;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What is given to a network.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchInput {
    /// Samples one after the other, each of the network's input shape.
    Reals(Vec<f32>),
    /// Samples one after the other, each as many tokens as the network reads.
    Tokens(Vec<u32>),
    /// Images that are still bytes, and what is to be done to them: the same as [`ImageBatch::reals`].
    Images(ImageBatch),
}

impl BatchInput {
    /// The samples as reals; `None` for tokens.
    pub fn reals(&self) -> Option<Cow<'_, [f32]>> {
        match self {
            BatchInput::Reals(v) => Some(Cow::Borrowed(v)),
            BatchInput::Images(i) => Some(Cow::Owned(i.reals())),
            BatchInput::Tokens(_) => None,
        }
    }
}

/// Samples and what they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// How many samples.
    pub rows: usize,
    /// The samples.
    pub input: BatchInput,
    /// The right classes: one for each sample, or one for each position of each sample.
    pub labels: Vec<u32>,
}

/// How parameters follow gradients. PyTorch's formulas.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Optimizer {
    /// Stochastic gradient descent.
    Sgd {
        /// Of the past gradients.
        momentum: f32,
        /// Nesterov's form.
        nesterov: bool,
        /// Added to the gradient, times the parameter.
        weight_decay: f32,
    },
    /// Adam (Kingma and Ba, 2015); AdamW (Loshchilov and Hutter, 2019) if decoupled.
    Adam {
        /// Of the mean.
        beta1: f32,
        /// Of the square.
        beta2: f32,
        /// Added to the root.
        eps: f32,
        /// Decay of parameters.
        weight_decay: f32,
        /// Decays parameters themselves instead of adding to the gradient.
        decoupled: bool,
    },
}

/// One training step.
#[derive(Debug, Clone)]
pub struct StepPlan<'a> {
    /// Number of the step, from 1 on; Adam corrects by it.
    pub step: u64,
    /// For each point, in the order of the points that the backend was made with.
    pub decisions: &'a [Decision],
    /// Learning rate.
    pub rate: f32,
    /// Part of the probability that is spread over all classes (Szegedy et al., 2016).
    pub label_smoothing: f32,
    /// Gradients longer than this (2-norm over all parameters) are shortened to it.
    pub clip_norm: Option<f32>,
    /// Seed of what drops out.
    pub seed: u64,
    /// Whether losses and point reports are wanted now. A backend may keep losses back until they are, so that a
    /// device need not wait; point reports are of this step only.
    pub report: bool,
    /// Histograms with so many parts, for points of activations.
    pub histogram: Option<usize>,
    /// Whether [`crate::decision::PointGradient`]s are wanted.
    pub gradients: bool,
}

/// Loss and hits of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct BatchScore {
    /// Mean cross entropy of the predictions, in nats.
    pub loss: f64,
    /// Predictions whose highest class is the right one.
    pub correct: u64,
    /// Predictions.
    pub count: u64,
}

/// What came of steps.
#[derive(Debug, Clone, Default)]
pub struct StepReport {
    /// Of every step since the last report, oldest first; empty if none was wanted.
    pub scores: Vec<BatchScore>,
    /// For each point; empty if no report was wanted.
    pub points: Vec<PointReport>,
}

/// What an evaluation gives.
#[derive(Debug, Clone, Default)]
pub struct BatchEvaluation {
    /// Loss and hits.
    pub score: BatchScore,
    /// The network's result for each sample, if asked for.
    pub logits: Option<Tensor>,
}

/// Why a backend could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// A batch that is not for this network.
    #[error("the batch does not fit the network {network}: {what}")]
    Batch {
        /// The network.
        network: String,
        /// What does not fit.
        what: String,
    },
    /// No such parameter.
    #[error("the network {network} has no parameter `{name}`")]
    NoParameter {
        /// The network.
        network: String,
        /// What was named.
        name: String,
    },
    /// A parameter of another shape.
    #[error(
        "`{name}` has the shape {expected:?}, and {found:?} was given: weights of another architecture?"
    )]
    Shape {
        /// The parameter.
        name: String,
        /// What the network has.
        expected: Vec<usize>,
        /// What was given.
        found: Vec<usize>,
    },
    /// Decisions for other points.
    #[error("{found} decisions were given for {expected} points of quantization")]
    Decisions {
        /// Points.
        expected: usize,
        /// Decisions.
        found: usize,
    },
    /// The device or its library failed.
    #[error("{backend}: {what}")]
    Device {
        /// The backend.
        backend: &'static str,
        /// What it says.
        what: String,
    },
}

/// Executes a network. Made from a [`crate::graph::Graph`], its points and an [`Optimizer`], with parameters as
/// [`crate::graph::ParamSpec::first`] gives them.
pub trait Backend {
    /// For people: `cpu`, `libtorch cuda:0`.
    fn name(&self) -> String;
    /// Forward with quantization, backward straight through, optimizer.
    fn train_step(&mut self, batch: &Batch, plan: &StepPlan) -> Result<StepReport, BackendError>;
    /// Forward only, running values of normalisations, nothing dropped.
    fn evaluate(
        &mut self,
        batch: &Batch,
        decisions: &[Decision],
        logits: bool,
    ) -> Result<BatchEvaluation, BackendError>;
    /// A parameter or buffer by its name.
    fn read(&self, name: &str) -> Result<Tensor, BackendError>;
    /// Replaces a parameter or buffer.
    fn write(&mut self, name: &str, value: &Tensor) -> Result<(), BackendError>;
    /// What the optimizer remembers, by names of its own choice; what [`Backend::restore`] takes back.
    fn memory(&self) -> Result<Vec<(String, Tensor)>, BackendError>;
    /// Makes the optimizer remember this.
    fn restore(&mut self, memory: &[(String, Tensor)]) -> Result<(), BackendError>;
}

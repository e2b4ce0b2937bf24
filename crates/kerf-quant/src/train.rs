//! The training loop: the same for every backend, network, data set and method.
//!
//! Everything random comes from the seed and the number of the epoch or step, so that a run that goes on from a
//! checkpoint computes the same bits as one that was never stopped.
mod checkpoint;
mod loader;
mod rate;
#[cfg(test)]
mod tests;

pub use rate::Schedule;

use crate::backend::{Backend, BackendError, BatchScore, Optimizer, StepPlan, StepReport};
use crate::data::{DataError, Dataset};
use crate::graph::Graph;
use crate::methods::At;
use crate::seed;
use crate::steering::Steering;
use crate::weights::WeightsError;
use kerf_search::rng::Rng;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Instant;

/// Samples of a batch of an evaluation.
const EVALUATION_BATCH: usize = 250;

/// Steps between reports of a backend that need not be earlier.
const REPORT: u64 = 25;

/// Seconds between checkpoints within an epoch, for whoever has no other wish.
pub const CHECKPOINT_S: f64 = 60.0;

/// How to train.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainConfig {
    /// Passes over the data.
    pub epochs: u64,
    /// Samples in a batch.
    pub batch: usize,
    /// Highest learning rate.
    pub rate: f32,
    /// How it changes.
    pub schedule: Schedule,
    /// How parameters follow gradients.
    pub optimizer: Optimizer,
    /// Part of the probability spread over all classes.
    pub label_smoothing: f32,
    /// Longest gradient.
    pub clip_norm: Option<f32>,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for TrainConfig {
    fn default() -> TrainConfig {
        TrainConfig {
            epochs: 10,
            batch: 128,
            rate: 0.1,
            schedule: Schedule::Cosine { warmup: 0.0 },
            optimizer: Optimizer::Sgd {
                momentum: 0.9,
                nesterov: true,
                weight_decay: 5e-4,
            },
            label_smoothing: 0.0,
            clip_norm: None,
            seed: 1,
        }
    }
}

/// One epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpochRow {
    /// Number, from 1 on.
    pub epoch: u64,
    /// Steps done at its end.
    pub step: u64,
    /// Training, as it went.
    pub train: BatchScore,
    /// Evaluation with quantization.
    pub test: BatchScore,
    /// Seconds of training.
    pub train_s: f64,
    /// Samples a second in training.
    pub samples_s: f64,
    /// Bits of each point in the last step.
    pub bits: Vec<f64>,
    /// Step of each point's grid at the bits asked for; none before the first report, and without quantization.
    pub steps: Vec<Option<f32>>,
}

/// What happens, for whoever watches.
#[derive(Debug, Clone, PartialEq)]
pub enum TrainEvent {
    /// Goes on from a checkpoint.
    Resumed {
        /// Steps done.
        step: u64,
        /// Steps in all.
        steps: u64,
    },
    /// Some steps were done.
    Steps {
        /// Epoch, from 1 on.
        epoch: u64,
        /// Of so many.
        epochs: u64,
        /// Steps done.
        step: u64,
        /// Of so many.
        steps: u64,
        /// Mean of the epoch so far.
        so_far: BatchScore,
        /// Samples a second.
        samples_s: f64,
        /// Seconds left.
        left_s: f64,
    },
    /// An epoch ended.
    Epoch {
        /// Of so many.
        epochs: u64,
        /// The epoch.
        row: EpochRow,
        /// Seconds left.
        left_s: f64,
    },
}

/// Why training stopped.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The loss is no number.
    #[error(
        "the loss is {loss} at step {step} (epoch {epoch}); {}",
        match kept { Some(s) => format!("the checkpoint of step {s} is kept"), None => "no checkpoint was written before".into() }
    )]
    NotANumber {
        /// The first step where it is not.
        step: u64,
        /// Its epoch, from 1 on.
        epoch: u64,
        /// NaN or infinity.
        loss: f64,
        /// Step of the checkpoint.
        kept: Option<u64>,
    },
    /// Data and network do not go together.
    #[error("{0}")]
    Data(#[from] DataError),
    /// The backend.
    #[error("{0}")]
    Backend(#[from] BackendError),
    /// A checkpoint that cannot be written or read.
    #[error("{0}")]
    Checkpoint(#[from] WeightsError),
    /// A checkpoint of something else.
    #[error("{path} is a checkpoint of another run: {what}")]
    OtherRun {
        /// The checkpoint.
        path: String,
        /// What differs.
        what: String,
    },
    /// Numbers that cannot be.
    #[error("{0}")]
    Config(String),
}

/// Everything that a training needs.
pub struct Trainer<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// Computes.
    pub backend: &'a mut dyn Backend,
    /// Decides how to quantize; without points for FP32.
    pub steering: &'a mut Steering,
    /// To train on.
    pub train: &'a dyn Dataset,
    /// To evaluate on after each epoch. Nothing is chosen by it: the last epoch is the result.
    pub test: &'a dyn Dataset,
    /// How.
    pub config: &'a TrainConfig,
    /// Where to keep a checkpoint.
    pub checkpoint: Option<PathBuf>,
    /// Seconds between checkpoints within an epoch; one is written at its end in any case.
    pub checkpoint_s: f64,
    /// Something that the checkpoint has to agree in: settings, data, network.
    pub identity: String,
}

/// Where a run is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Position {
    step: u64,
    /// Of the epoch under way.
    so_far: BatchScore,
    train_s: f64,
    history: Vec<EpochRow>,
}

fn add(a: &BatchScore, b: &BatchScore) -> BatchScore {
    let count = a.count + b.count;
    let weigh = |s: &BatchScore| s.loss * s.count as f64;
    BatchScore {
        loss: if count == 0 {
            0.0
        } else {
            (weigh(a) + weigh(b)) / count as f64
        },
        correct: a.correct + b.correct,
        count,
    }
}

impl BatchScore {
    /// Part of the predictions that are right.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.count.max(1) as f64
    }
}

/// Evaluates on all of a data set.
pub fn evaluate(
    backend: &mut dyn Backend,
    data: &dyn Dataset,
    decisions: &[crate::decision::Decision],
) -> Result<BatchScore, TrainError> {
    let all: Vec<usize> = (0..data.len()).collect();
    let mut sum = BatchScore::default();
    for part in all.chunks(EVALUATION_BATCH) {
        let batch = data.batch(part, None)?;
        sum = add(&sum, &backend.evaluate(&batch, decisions, false)?.score);
    }
    Ok(sum)
}

impl Trainer<'_> {
    fn steps_in_epoch(&self) -> u64 {
        (self.train.len() / self.config.batch).max(1) as u64
    }

    fn check(&self) -> Result<(), TrainError> {
        let c = self.config;
        let bad = |what: String| Err(TrainError::Config(what));
        if c.epochs == 0 || c.batch == 0 {
            return bad("epochs and batch have to be at least 1".into());
        }
        if !(c.rate.is_finite() && c.rate > 0.0) {
            return bad(format!("a learning rate of {} is not positive", c.rate));
        }
        if !(0.0..1.0).contains(&c.label_smoothing) {
            return bad(format!(
                "a label smoothing of {} is not in [0, 1)",
                c.label_smoothing
            ));
        }
        for data in [self.train, self.test] {
            if data.is_empty() {
                return bad(format!("the data {} has no samples", data.name()));
            }
            if data.input() != self.graph.input {
                return Err(DataError::Mismatch {
                    data: data.name(),
                    found: data.input(),
                    network: self.graph.name.clone(),
                    expected: self.graph.input.clone(),
                }
                .into());
            }
            if data.classes() > self.graph.classes() {
                return bad(format!(
                    "the data {} has {} classes, and the network {} tells {} apart",
                    data.name(),
                    data.classes(),
                    self.graph.name,
                    self.graph.classes()
                ));
            }
        }
        Ok(())
    }

    /// Trains to the end, from the checkpoint on if there is one and `resume` is set.
    pub fn run(
        &mut self,
        resume: bool,
        watch: &mut dyn FnMut(&TrainEvent),
    ) -> Result<Vec<EpochRow>, TrainError> {
        self.check()?;
        let steps = self.steps_in_epoch() * self.config.epochs;
        let mut position = Position::default();
        if resume && let Some(p) = self.resume()? {
            position = p;
            let step = position.step;
            watch(&TrainEvent::Resumed { step, steps });
        }
        let first = position.history.len() as u64;
        for epoch in first..self.config.epochs {
            self.epoch(epoch, &mut position, watch)?;
        }
        Ok(position.history)
    }

    fn order(&self, epoch: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.train.len()).collect();
        let own = seed::step(seed::derive(self.config.seed, "order"), epoch);
        Rng::new(own).shuffle(&mut order);
        order
    }

    fn epoch(
        &mut self,
        epoch: u64,
        position: &mut Position,
        watch: &mut dyn FnMut(&TrainEvent),
    ) -> Result<(), TrainError> {
        let per_epoch = self.steps_in_epoch();
        let steps = per_epoch * self.config.epochs;
        let order = self.order(epoch);
        let begun = position.step;
        let batch = self.config.batch.min(order.len());
        let augment = seed::derive(self.config.seed, "augment");
        let jobs: Vec<(Vec<usize>, u64)> = (begun..(epoch + 1) * per_epoch)
            .map(|s| {
                let at = ((s - epoch * per_epoch) as usize) * batch;
                (order[at..at + batch].to_vec(), seed::step(augment, s + 1))
            })
            .collect();
        let data = self.train;
        let clock = Instant::now();
        let before_s = position.train_s;
        let mut saved = Instant::now();
        loader::each(data, &jobs, |batch| {
            let at = self.at(position.step + 1, per_epoch, steps);
            let report = self.step(&at, epoch, per_epoch, &batch?)?;
            let reported = !report.scores.is_empty();
            let first = at.step + 1 - report.scores.len() as u64;
            for (i, s) in report.scores.iter().enumerate() {
                if !s.loss.is_finite() {
                    return Err(TrainError::NotANumber {
                        step: first + i as u64,
                        epoch: epoch + 1,
                        loss: s.loss,
                        kept: self.kept(),
                    });
                }
                position.so_far = add(&position.so_far, s);
            }
            position.step = at.step;
            position.train_s = before_s + clock.elapsed().as_secs_f64();
            if reported {
                let own_s = clock.elapsed().as_secs_f64();
                let step_s = own_s / (at.step - begun) as f64;
                watch(&TrainEvent::Steps {
                    epoch: epoch + 1,
                    epochs: self.config.epochs,
                    step: at.step,
                    steps,
                    so_far: position.so_far,
                    samples_s: self.config.batch as f64 / step_s,
                    left_s: step_s * (steps - at.step) as f64,
                });
                if saved.elapsed().as_secs_f64() > self.checkpoint_s
                    && !at.step.is_multiple_of(per_epoch)
                {
                    self.keep(position)?;
                    saved = Instant::now();
                }
            }
            Ok(())
        })?;
        let test = evaluate(self.backend, self.test, &self.steering.inference())?;
        let train_s = std::mem::take(&mut position.train_s);
        let row = EpochRow {
            epoch: epoch + 1,
            step: position.step,
            train: std::mem::take(&mut position.so_far),
            test,
            train_s,
            samples_s: (per_epoch as usize * batch) as f64 / train_s.max(1e-9),
            bits: self.steering.bits().to_vec(),
            steps: self.steering.steps(),
        };
        position.history.push(row.clone());
        self.keep(position)?;
        let left_s = clock.elapsed().as_secs_f64() * (self.config.epochs - epoch - 1) as f64;
        watch(&TrainEvent::Epoch {
            epochs: self.config.epochs,
            row,
            left_s,
        });
        Ok(())
    }

    fn at(&self, step: u64, per_epoch: u64, steps: u64) -> At {
        let c = self.config;
        At {
            step,
            steps,
            epoch: (step - 1) / per_epoch,
            epochs: c.epochs,
            rate: c.schedule.rate(c.rate, step - 1, steps, per_epoch),
            seed: c.seed,
        }
    }

    fn step(
        &mut self,
        at: &At,
        epoch: u64,
        per_epoch: u64,
        batch: &crate::backend::Batch,
    ) -> Result<StepReport, TrainError> {
        let decisions = self.steering.decide(at);
        let needs = self.steering.needs();
        let histogram = self.steering.histogram(at);
        let in_epoch = at.step - epoch * per_epoch;
        let report = needs.every_step
            || histogram.is_some()
            || in_epoch.is_multiple_of(REPORT)
            || in_epoch == per_epoch;
        let plan = StepPlan {
            step: at.step,
            decisions: &decisions,
            rate: at.rate,
            label_smoothing: self.config.label_smoothing,
            clip_norm: self.config.clip_norm,
            seed: seed::step(seed::derive(self.config.seed, "drop"), at.step),
            report,
            histogram,
            gradients: needs.gradients,
        };
        let told = self.backend.train_step(batch, &plan)?;
        if report {
            self.steering.learn(at, &told.points);
        }
        Ok(told)
    }
}

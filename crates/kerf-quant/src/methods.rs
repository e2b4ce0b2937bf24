//! Methods: how ranges and bits of activations are chosen while a network trains. One file each, one line here.
//!
//! Weights are quantized by their largest value at the bits asked for, whatever the method, so that methods are
//! compared on what they do to activations (Dao 2021, section 4.4.3). After training every method is evaluated alike:
//! at the bits asked for, with the last range that it trained with.
mod bernoulli;
mod dq;
mod fracbits;
mod max;
mod mix;
mod mix_printed;
mod moving_average;
mod pact;
mod quant_noise;
mod rand;
mod rand_mix;
mod schedule_a;
mod schedule_b;
#[cfg(test)]
mod tests;

use crate::decision::{GridRange, Histogram, Noise, PointReport};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Where training is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct At {
    /// Step, from 1 on.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// Epoch, from 0 on.
    pub epoch: u64,
    /// Epochs in all.
    pub epochs: u64,
    /// Learning rate of this step.
    pub rate: f32,
    /// Seed of the run.
    pub seed: u64,
}

impl At {
    /// Part of the training that is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        (self.step.saturating_sub(1)) as f64 / self.steps.max(1) as f64
    }
}

/// A point, as methods see it. Only activations come to methods.
#[derive(Debug, Clone, PartialEq)]
pub struct ActivationPoint {
    /// Its number among all points.
    pub index: usize,
    /// Bits asked for.
    pub bits: f64,
    /// It is the result of a ReLU, perhaps pooled.
    pub relu: bool,
    /// All that read it are convolutions or matrices.
    pub matrices: bool,
}

/// What a method wants at a point in a step.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeChoice {
    /// Bits; a fraction is rounded up unless fractions were asked for.
    pub bits: f64,
    /// Range; the tensor's own if none.
    pub range: Option<GridRange>,
    /// Blended with so many bits more than `bits`, rounded down, to this part.
    pub blend: Option<f64>,
    /// What is random.
    pub noise: Noise,
}

impl RangeChoice {
    /// The tensor's own range at these bits.
    pub fn at(bits: f64) -> RangeChoice {
        RangeChoice {
            bits,
            range: None,
            blend: None,
            noise: Noise::None,
        }
    }
}

/// What a method needs to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MethodNeeds {
    /// Every step, not only now and then.
    pub every_step: bool,
    /// Gradients of points.
    pub gradients: bool,
    /// Histograms.
    pub histograms: bool,
}

impl MethodNeeds {
    /// Of methods that learn something with the weights: gradients at every step.
    pub fn learning() -> MethodNeeds {
        MethodNeeds {
            every_step: true,
            gradients: true,
            ..MethodNeeds::default()
        }
    }
}

/// Histograms of eta steps, and their mean.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramWindow {
    /// One for each step.
    pub each: Vec<Histogram>,
    /// Their mean.
    pub mean: Histogram,
}

/// A way to choose.
pub trait RangeMethod: Send {
    /// What it needs to be told.
    fn needs(&self) -> MethodNeeds {
        MethodNeeds::default()
    }
    /// What to do at a point in this step.
    fn choose(&mut self, at: &At, place: &ActivationPoint) -> RangeChoice;
    /// What came of it.
    fn learn(&mut self, _at: &At, _place: &ActivationPoint, _report: &PointReport) {}
    /// Histograms of a point, every tau + eta steps.
    fn window(&mut self, _at: &At, _place: &ActivationPoint, _window: &HistogramWindow) {}
    /// All that it has learned.
    fn save(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
    /// Goes on from there. False if that was not written by this method.
    fn load(&mut self, _saved: &serde_json::Value) -> bool {
        true
    }
}

/// Numbers of the methods; those that publications give are the defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MethodNumbers {
    /// rand: the part of values that may be above the lowered maximum; 0.001 %.
    pub threshold: f64,
    /// mix: part of the bits above the target that one update can take off.
    pub beta: f64,
    /// moving average: weight of the past.
    pub momentum: f64,
    /// quant-noise: part of the values that is quantized.
    pub portion: f64,
    /// pact: decay of the clipping level.
    pub decay: f64,
    /// dq, fracbits: pull towards the bits asked for.
    pub pull: f64,
}

impl Default for MethodNumbers {
    fn default() -> MethodNumbers {
        MethodNumbers {
            threshold: 1e-5,
            beta: 0.25,
            momentum: 0.99,
            portion: 0.2,
            decay: 1e-4,
            pull: 0.1,
        }
    }
}

/// A method that can be named.
pub struct MethodEntry {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// Makes one for so many points.
    pub make: fn(&MethodNumbers, usize) -> Box<dyn RangeMethod>,
}

/// All methods.
pub const METHODS: &[MethodEntry] = &[
    max::ENTRY,
    moving_average::ENTRY,
    bernoulli::ENTRY,
    pact::ENTRY,
    quant_noise::ENTRY,
    fracbits::ENTRY,
    dq::ENTRY,
    schedule_a::ENTRY,
    schedule_b::ENTRY,
    rand::ENTRY,
    mix_printed::ENTRY,
    mix::ENTRY,
    rand_mix::ENTRY,
];

/// No method has this name.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("there is no method `{0}`; there are {list}", list = names().join(", "))]
pub struct NoMethod(pub String);

/// The names.
pub fn names() -> Vec<&'static str> {
    METHODS.iter().map(|m| m.name).collect()
}

/// A method by its name; `_` and `-` are one.
pub fn by_name(
    name: &str,
    numbers: &MethodNumbers,
    points: usize,
) -> Result<Box<dyn RangeMethod>, NoMethod> {
    let plain = name.replace('_', "-");
    let found = METHODS.iter().find(|m| m.name == plain);
    let found = found.ok_or_else(|| NoMethod(name.to_owned()))?;
    Ok((found.make)(numbers, points))
}

/// State as JSON.
fn pack(state: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(state).unwrap_or_default()
}

/// State from JSON; keeps what there was if that is something else.
fn unpack<T: DeserializeOwned>(state: &mut T, saved: &serde_json::Value) -> bool {
    match T::deserialize(saved) {
        Ok(s) => {
            *state = s;
            true
        }
        Err(_) => false,
    }
}

//! Files of an experiment.
use super::{ExperimentError, RunResult, SCHEMA};
use crate::data::Scaling;
use crate::decision::Decision;
use crate::files::write_whole;
use crate::graph::{Graph, InputSpec};
use crate::networks;
use crate::points::QuantizationPoint;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A trained network but for its weights: how to quantize it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantizedModel {
    /// [`SCHEMA`].
    pub schema: String,
    /// Network, by name.
    pub network: String,
    /// What it takes.
    pub input: InputSpec,
    /// Classes.
    pub classes: usize,
    /// Where it is quantized.
    pub points: Vec<QuantizationPoint>,
    /// Bits of each point.
    pub bits: Vec<f64>,
    /// How it is evaluated.
    pub decisions: Vec<Decision>,
    /// What is done to images before it sees them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
}

impl QuantizedModel {
    /// The network.
    pub fn graph(&self) -> Result<Graph, ExperimentError> {
        Ok(networks::by_name(&self.network, &self.input, self.classes)?)
    }
}

fn file(path: &Path, what: impl ToString) -> ExperimentError {
    ExperimentError::File {
        path: path.display().to_string(),
        what: what.to_string(),
    }
}

pub(super) fn make(folder: &Path) -> Result<(), ExperimentError> {
    std::fs::create_dir_all(folder).map_err(|e| file(folder, e))
}

pub(super) fn write_text(path: &Path, text: &str) -> Result<(), ExperimentError> {
    write_whole(path, text.as_bytes()).map_err(|e| file(path, e))
}

pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), ExperimentError> {
    let mut text = serde_json::to_string_pretty(value).map_err(|e| file(path, e))?;
    text.push('\n');
    write_text(path, &text)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, ExperimentError> {
    let text = std::fs::read_to_string(path).map_err(|e| file(path, e))?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|e| file(path, e))?;
    if value["schema"] != SCHEMA {
        return Err(file(
            path,
            format!("its schema is {}, not \"{SCHEMA}\"", value["schema"]),
        ));
    }
    serde_json::from_value(value).map_err(|e| file(path, e))
}

/// `result.json` of a folder.
pub fn read_result(folder: &Path) -> Result<RunResult, ExperimentError> {
    read(&folder.join("result.json"))
}

/// `model.json` of a seed's folder.
pub fn read_model(folder: &Path) -> Result<QuantizedModel, ExperimentError> {
    let path = folder.join("model.json");
    let model: QuantizedModel = read(&path)?;
    let n = model.points.len();
    if model.bits.len() != n || model.decisions.len() != n {
        return Err(file(&path, "points, bits and decisions are not as many"));
    }
    Ok(model)
}

//! Checkpoints: one safetensors file, replaced whole, with parameters, what the optimizer remembers, and where the run
//! is. Going on from one gives the same bits as never having stopped.
use super::{Position, TrainError, Trainer};
use crate::steering::Remembered;
use crate::tensor::Tensor;
use crate::weights::{self, Named, WeightsError};
use serde::{Deserialize, Serialize};

const OPTIMIZER: &str = "optimizer:";
const WEIGHTS: &str = "weights:";

/// What is not tensors.
#[derive(Serialize, Deserialize)]
struct State {
    identity: String,
    position: Position,
    steering: Remembered,
}

impl Trainer<'_> {
    /// Step of the checkpoint that is there.
    pub(super) fn kept(&self) -> Option<u64> {
        let path = self.checkpoint.as_ref()?;
        let (_, text) = weights::read_noted(path).ok()?;
        let state: State = serde_json::from_str(&text?).ok()?;
        Some(state.position.step)
    }

    /// Writes a checkpoint.
    pub(super) fn keep(&self, position: &Position) -> Result<(), TrainError> {
        let Some(path) = &self.checkpoint else {
            return Ok(());
        };
        let mut all = Named::new();
        for (n, t) in weights::of(self.graph, self.backend)? {
            all.insert(format!("{WEIGHTS}{n}"), t);
        }
        for (n, t) in self.backend.memory()? {
            all.insert(format!("{OPTIMIZER}{n}"), t);
        }
        let state = State {
            identity: self.identity.clone(),
            position: position.clone(),
            steering: self.steering.save(),
        };
        let text = serde_json::to_string(&state).map_err(|e| WeightsError::Format {
            path: path.display().to_string(),
            what: e.to_string(),
        })?;
        Ok(weights::write_noted(path, &all, Some(text))?)
    }

    /// Goes back to the checkpoint, if there is one.
    pub(super) fn resume(&mut self) -> Result<Option<Position>, TrainError> {
        let Some(path) = self.checkpoint.clone().filter(|p| p.exists()) else {
            return Ok(None);
        };
        let shown = path.display().to_string();
        let (all, text) = weights::read_noted(&path)?;
        let other = |what: &str| TrainError::OtherRun {
            path: shown.clone(),
            what: what.to_owned(),
        };
        let state: State = text
            .and_then(|t| serde_json::from_str(&t).ok())
            .ok_or_else(|| other("it does not say where the run was"))?;
        if state.identity != self.identity {
            return Err(other("network, data or settings were others"));
        }
        if !self.steering.load(&state.steering) {
            return Err(other("it has other points of quantization"));
        }
        let part = |prefix: &str| -> Vec<(String, Tensor)> {
            let own = all
                .iter()
                .filter_map(|(n, t)| Some((n.strip_prefix(prefix)?, t)));
            own.map(|(n, t)| (n.to_owned(), t.clone())).collect()
        };
        let params: Named = part(WEIGHTS).into_iter().collect();
        weights::put(&shown, &params, self.graph, self.backend)?;
        self.backend.restore(&part(OPTIMIZER))?;
        Ok(Some(state.position))
    }
}

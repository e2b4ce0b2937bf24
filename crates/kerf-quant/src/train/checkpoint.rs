//! Checkpoints: one safetensors file, replaced whole, with parameters, what the optimizer remembers, and where the run
//! is. Going on from one gives the same bits as never having stopped.
use super::{Position, TrainError, Trainer};
use crate::steering::Remembered;
use crate::tensor::Tensor;
use crate::weights::{self, Named, WeightsError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
        for (n, t) in weights::from_backend(self.graph, self.backend)? {
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
            return Err(other(&differences(&state.identity, &self.identity)));
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

/// What two identities differ in, as far as they are JSON: `train.epochs was 4 and is 2`.
fn differences(was: &str, is: &str) -> String {
    const MOST: usize = 4;
    let read = |s: &str| serde_json::from_str::<Value>(s).unwrap_or(Value::Null);
    let mut all = Vec::new();
    compare("", &read(was), &read(is), &mut all);
    if all.is_empty() {
        return "network, data or settings were others".into();
    }
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    all.join("; ")
}

fn compare(at: &str, was: &Value, is: &Value, all: &mut Vec<String>) {
    let below = |key: &str| match at {
        "" => key.to_owned(),
        _ => format!("{at}.{key}"),
    };
    match (was, is) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for k in keys {
                let of = |m: &serde_json::Map<String, Value>| m.get(k).cloned().unwrap_or_default();
                compare(&below(k), &of(a), &of(b), all);
            }
        }
        // The recipe, and names and numbers of samples: places say nothing.
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (x, y) in a.iter().zip(b) {
                compare(at, x, y, all);
            }
        }
        _ if was != is => {
            let name = if at.is_empty() { "the data" } else { at };
            all.push(format!("{name} was {was} and is {is}"));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn what_differs_is_named() {
        let id = |epochs: u32, data: &str, count: u32| {
            format!(
                r#"[{{"train":{{"epochs":{epochs},"batch":8}},"data":"{data}"}},[["{data} train",{count}]]]"#
            )
        };
        assert_eq!(
            differences(&id(4, "a", 9), &id(2, "a", 9)),
            "train.epochs was 4 and is 2"
        );
        assert_eq!(
            differences(&id(4, "a", 9), &id(4, "a", 8)),
            "the data was 9 and is 8"
        );
        let both = differences(&id(4, "a", 9), &id(4, "b", 9));
        assert!(both.starts_with("data was \"a\" and is \"b\""), "{both}");
        assert_eq!(
            differences("x", "y"),
            "network, data or settings were others"
        );
    }
}

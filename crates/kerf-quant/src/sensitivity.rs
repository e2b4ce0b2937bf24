//! Which nodes a network can least afford to have quantized: each alone, all others as they are.
use crate::backend::{Backend, BatchScore};
use crate::data::Dataset;
use crate::decision::Decision;
use crate::graph::Graph;
use crate::points::{QuantizationPoint, QuantizedTensor};
use crate::train::{TrainError, evaluate};
use serde::{Deserialize, Serialize};

/// What quantizing one node alone does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeSensitivity {
    /// The node.
    pub node: String,
    /// Lost accuracy, in percentage points; negative if it is better.
    pub drop_points: f64,
    /// Added loss, in nats: finer than accuracy.
    pub loss: f64,
}

/// Without quantization, and for each quantized node what it costs alone, the most sensitive first.
pub fn measure(
    graph: &Graph,
    backend: &mut dyn Backend,
    data: &dyn Dataset,
    points: &[QuantizationPoint],
    decisions: &[Decision],
    watch: &mut dyn FnMut(usize, usize),
) -> Result<(BatchScore, Vec<NodeSensitivity>), TrainError> {
    let pass: Vec<Decision> = points.iter().map(|p| Decision::pass(p.scheme)).collect();
    let base = evaluate(backend, data, &pass)?;
    let involved = |i: usize, p: &QuantizationPoint| match p.subject {
        QuantizedTensor::Weight(n) => n == i,
        QuantizedTensor::Activation(_) => p.readers.contains(&i),
    };
    let nodes: Vec<usize> = (0..graph.nodes.len())
        .filter(|i| points.iter().any(|p| involved(*i, p)))
        .collect();
    let mut all = Vec::new();
    for (done, i) in nodes.iter().enumerate() {
        watch(done, nodes.len());
        let mut only = pass.clone();
        for (p, point) in points.iter().enumerate() {
            if involved(*i, point) {
                only[p].clone_from(&decisions[p]);
            }
        }
        let score = evaluate(backend, data, &only)?;
        all.push(NodeSensitivity {
            node: graph.nodes[*i].name.clone(),
            drop_points: 100.0 * (base.accuracy() - score.accuracy()),
            loss: score.loss - base.loss,
        });
    }
    all.sort_by(|a, b| b.loss.total_cmp(&a.loss));
    Ok((base, all))
}

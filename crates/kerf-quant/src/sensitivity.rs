//! Which nodes a network can least afford to have quantized: each alone, all others as they are.
use crate::backend::{Backend, Score};
use crate::data::Dataset;
use crate::decision::Decision;
use crate::graph::Graph;
use crate::points::{Point, Subject};
use crate::train::{TrainError, evaluate};
use serde::{Deserialize, Serialize};

/// What quantizing one node alone does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
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
    points: &[Point],
    decisions: &[Decision],
    watch: &mut dyn FnMut(usize, usize),
) -> Result<(Score, Vec<Sensitivity>), TrainError> {
    let pass: Vec<Decision> = points.iter().map(|p| Decision::pass(p.scheme)).collect();
    let base = evaluate(backend, data, &pass)?;
    let involved = |i: usize, p: &Point| match p.subject {
        Subject::Weight(n) => n == i,
        Subject::Activation(_) => p.readers.contains(&i),
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
        all.push(Sensitivity {
            node: graph.nodes[*i].name.clone(),
            drop_points: 100.0 * (base.accuracy() - score.accuracy()),
            loss: score.loss - base.loss,
        });
    }
    all.sort_by(|a, b| b.loss.total_cmp(&a.loss));
    Ok((base, all))
}

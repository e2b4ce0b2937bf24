//! Where a network is quantized: values that quantized nodes read, and their weights.
//!
//! A value has one grid however many nodes read it; nodes that are kept read it as it was (Dao 2021, fig. 4.4).
use crate::decision::Scheme;
use crate::graph::{Graph, GraphValue, Op};
use serde::{Deserialize, Serialize};

/// What is quantized at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuantizedTensor {
    /// What nodes read.
    Activation(GraphValue),
    /// `NAME.weight` of a node.
    Weight(usize),
}

/// One place of quantization.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantizationPoint {
    /// For people: `conv1.weight`, or `relu1` for the result of that node, `input` for the network's.
    pub name: String,
    /// What is quantized.
    pub subject: QuantizedTensor,
    /// Nodes that read the quantized form.
    pub readers: Vec<usize>,
    /// A grid for each index of the first dimension, of which there are so many. Weights only.
    pub channels: Option<usize>,
    /// How ranges become grids.
    pub scheme: Scheme,
}

impl QuantizationPoint {
    /// Whether it is a weight.
    pub fn is_weight(&self) -> bool {
        matches!(self.subject, QuantizedTensor::Weight(_))
    }
}

/// What is quantized and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Classes of operations that are quantized ([`Op::class`]).
    pub classes: Vec<String>,
    /// Nodes kept as they are, by name; a name that ends in `*` stands for all that begin so.
    pub keep: Vec<String>,
    /// Nodes quantized whatever their class and place, by name.
    pub quantize: Vec<String>,
    /// Whether the last node with a weight is kept.
    pub keep_last: bool,
    /// A grid for each output channel of a weight.
    pub per_channel: bool,
    /// How weights become grids.
    pub weights: Scheme,
    /// How activations do.
    pub activations: Scheme,
}

impl Default for Policy {
    /// Convolutions, matrices, sums, embeddings and attention, the last matrix kept; weights symmetric for each channel,
    /// activations affine. Normalisation, GELU, sigmoid and SiLU are kept. A ReLU after a convolution is part of
    /// it, as in engines that execute INT8: name the class `relu` to quantize what it reads, as the chapter does.
    fn default() -> Policy {
        let classes = ["conv", "linear", "add", "embedding", "attention"];
        Policy {
            classes: classes.map(String::from).to_vec(),
            keep: Vec::new(),
            quantize: Vec::new(),
            keep_last: true,
            per_channel: true,
            weights: Scheme::Symmetric,
            activations: Scheme::Affine,
        }
    }
}

/// A policy that does not fit the network.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum PolicyError {
    /// No such node.
    #[error("the network {network} has no node `{name}`{}", near.as_ref().map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    NoNode {
        /// The network.
        network: String,
        /// What was named.
        name: String,
        /// The most similar name.
        near: Option<String>,
    },
    /// Kept and quantized at once.
    #[error("node `{0}` is both to be kept and to be quantized")]
    Both(String),
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

/// Length of the longest common start and end: enough to find a misspelt name.
fn likeness(a: &str, b: &str) -> usize {
    let start = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let ends = a.bytes().rev().zip(b.bytes().rev());
    start + ends.take_while(|(x, y)| x == y).count()
}

impl Policy {
    fn named(&self, graph: &Graph, patterns: &[String]) -> Result<Vec<bool>, PolicyError> {
        let mut chosen = vec![false; graph.nodes.len()];
        for p in patterns {
            let mut found = false;
            for (c, n) in chosen.iter_mut().zip(&graph.nodes) {
                if matches(p, &n.name) {
                    *c = true;
                    found = true;
                }
            }
            if !found {
                let names = graph.nodes.iter().map(|n| n.name.as_str());
                let near = names.max_by_key(|n| likeness(n, p));
                let near = near.filter(|n| likeness(n, p) > p.len() / 2);
                return Err(PolicyError::NoNode {
                    network: graph.name.clone(),
                    name: p.clone(),
                    near: near.map(String::from),
                });
            }
        }
        Ok(chosen)
    }

    /// Which nodes are quantized.
    pub fn nodes(&self, graph: &Graph) -> Result<Vec<bool>, PolicyError> {
        let keep = self.named(graph, &self.keep)?;
        let force = self.named(graph, &self.quantize)?;
        let last = graph.nodes.iter().rposition(|n| n.op.has_weight());
        let mut all = Vec::new();
        for (i, n) in graph.nodes.iter().enumerate() {
            if keep[i] && force[i] && self.quantize.contains(&n.name) == self.keep.contains(&n.name)
            {
                return Err(PolicyError::Both(n.name.clone()));
            }
            // A full name counts more than a pattern.
            let kept = keep[i] && !self.quantize.contains(&n.name);
            let by_class = self.classes.iter().any(|c| c == n.op.class());
            let last = self.keep_last && last == Some(i);
            all.push(!kept && (force[i] || by_class && !last));
        }
        Ok(all)
    }

    /// Where the network is quantized, in the order of execution; a node's activations before its weight.
    pub fn points(&self, graph: &Graph) -> Result<Vec<QuantizationPoint>, PolicyError> {
        let quantized = self.nodes(graph)?;
        let mut points: Vec<QuantizationPoint> = Vec::new();
        for (i, n) in graph
            .nodes
            .iter()
            .enumerate()
            .filter(|(i, _)| quantized[*i])
        {
            // Tokens are numbers of rows, not values.
            let tokens = matches!(n.op, Op::Embedding { .. });
            for v in n.inputs.iter().filter(|_| !tokens) {
                let subject = QuantizedTensor::Activation(*v);
                match points.iter_mut().find(|p| p.subject == subject) {
                    Some(p) if p.readers.contains(&i) => {}
                    Some(p) => p.readers.push(i),
                    None => points.push(QuantizationPoint {
                        name: match v {
                            GraphValue::Input => "input".into(),
                            GraphValue::Node(j) => graph.nodes[*j].name.clone(),
                        },
                        subject,
                        readers: vec![i],
                        channels: None,
                        scheme: self.activations,
                    }),
                }
            }
            if n.op.has_weight() {
                let rows = match n.op {
                    Op::Conv2d { outputs, .. } | Op::Linear { outputs, .. } => Some(outputs),
                    // A row of an embedding is read whole, one at a time: one grid for all.
                    _ => None,
                };
                points.push(QuantizationPoint {
                    name: format!("{}.weight", n.name),
                    subject: QuantizedTensor::Weight(i),
                    readers: vec![i],
                    channels: rows.filter(|_| self.per_channel),
                    scheme: self.weights,
                });
            }
        }
        Ok(points)
    }
}

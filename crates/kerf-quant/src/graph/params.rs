//! Parameters and buffers of a network: names, shapes, how they begin.
use super::{Graph, InitStyle, InputSpec, Op};
use crate::tensor::Tensor;
use kerf_search::rng::Rng;
use serde::{Deserialize, Serialize};

/// What a parameter is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterRole {
    /// Of a convolution, a matrix or an embedding.
    Weight,
    /// Added to results.
    Bias,
    /// Of a normalisation, or positions.
    Other,
    /// Not trained: running means and variances, counters.
    Buffer,
}

impl ParameterRole {
    /// Whether the optimizer changes it.
    pub fn trained(self) -> bool {
        self != ParameterRole::Buffer
    }
}

/// How a parameter begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParameterInit {
    /// Everywhere this.
    Constant(f32),
    /// Uniform within plus and minus this.
    Uniform(f32),
    /// Normal with this standard deviation.
    Normal(f32),
}

/// One named array of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct ParamSpec {
    /// As in PyTorch's `state_dict`.
    pub name: String,
    /// Its shape. `num_batches_tracked` has none (a single whole number).
    pub shape: Vec<usize>,
    /// What it is for.
    pub kind: ParameterRole,
    /// The node that it belongs to.
    pub node: usize,
    /// How it begins.
    pub init: ParameterInit,
}

impl ParamSpec {
    /// Its first value for a seed; each parameter draws from numbers of its own.
    pub fn first(&self, seed: u64) -> Tensor {
        let mut rng = Rng::new(crate::seed::derive(seed, &self.name));
        let n = self.shape.iter().product();
        let data = match self.init {
            ParameterInit::Constant(c) => vec![c; n],
            ParameterInit::Uniform(a) => (0..n)
                .map(|_| (f64::from(a) * (2.0 * rng.unit() - 1.0)) as f32)
                .collect(),
            ParameterInit::Normal(s) => (0..n)
                .map(|_| (f64::from(s) * rng.normal()) as f32)
                .collect(),
        };
        Tensor {
            shape: self.shape.clone(),
            data,
        }
    }
}

struct Writer<'g> {
    graph: &'g Graph,
    all: Vec<ParamSpec>,
}

impl Writer<'_> {
    fn put(
        &mut self,
        node: usize,
        what: &str,
        kind: ParameterRole,
        shape: &[usize],
        init: ParameterInit,
    ) {
        self.all.push(ParamSpec {
            name: format!("{}.{what}", self.graph.nodes[node].name),
            shape: shape.to_vec(),
            kind,
            node,
            init,
        });
    }
}

impl Writer<'_> {
    /// What every normalisation has: a scale of ones and a shift of zeros.
    fn scale_and_shift(&mut self, node: usize, features: usize) {
        let (scale, shift) = (ParameterInit::Constant(1.0), ParameterInit::Constant(0.0));
        self.put(node, "weight", ParameterRole::Other, &[features], scale);
        self.put(node, "bias", ParameterRole::Other, &[features], shift);
    }

    /// Beside scale and shift, running moments and how many batches are in them.
    fn batch_norm(&mut self, node: usize, channels: usize) {
        self.scale_and_shift(node, channels);
        let constant = ParameterInit::Constant;
        let role = ParameterRole::Buffer;
        self.put(node, "running_mean", role, &[channels], constant(0.0));
        self.put(node, "running_var", role, &[channels], constant(1.0));
        self.put(node, "num_batches_tracked", role, &[], constant(0.0));
    }
}

pub(super) fn for_graph(graph: &Graph) -> Vec<ParamSpec> {
    let mut w = Writer {
        graph,
        all: Vec::new(),
    };
    let torch = |fan_in: usize| ParameterInit::Uniform(1.0 / (fan_in as f32).sqrt());
    for (i, n) in graph.nodes.iter().enumerate() {
        let x = graph.shape(n.inputs[0]);
        let features = x.last().copied().unwrap_or(1);
        match &n.op {
            Op::Conv2d {
                outputs,
                kernel,
                groups,
                bias,
                ..
            } => {
                let shape = [*outputs, x[0] / groups, kernel[0], kernel[1]];
                let fan_in = shape[1..].iter().product();
                let fan_out = outputs * kernel[0] * kernel[1] / groups;
                let init = match graph.style {
                    InitStyle::KaimingFanOut => {
                        ParameterInit::Normal((2.0 / fan_out as f32).sqrt())
                    }
                    _ => torch(fan_in),
                };
                w.put(i, "weight", ParameterRole::Weight, &shape, init);
                if *bias {
                    w.put(i, "bias", ParameterRole::Bias, &[*outputs], torch(fan_in));
                }
            }
            Op::Linear { outputs, bias } => {
                let gpt = graph.style == InitStyle::Gpt;
                let own = if gpt {
                    ParameterInit::Normal(0.02)
                } else {
                    torch(features)
                };
                w.put(
                    i,
                    "weight",
                    ParameterRole::Weight,
                    &[*outputs, features],
                    own,
                );
                if *bias {
                    let own = if gpt {
                        ParameterInit::Constant(0.0)
                    } else {
                        torch(features)
                    };
                    w.put(i, "bias", ParameterRole::Bias, &[*outputs], own);
                }
            }
            Op::BatchNorm { .. } => w.batch_norm(i, x[0]),
            Op::LayerNorm { .. } => w.scale_and_shift(i, features),
            Op::Embedding { features } => {
                let count = match graph.input {
                    InputSpec::Tokens { count, .. } => count,
                    InputSpec::Reals(_) => 0,
                };
                let own = ParameterInit::Normal(if graph.style == InitStyle::Gpt {
                    0.02
                } else {
                    1.0
                });
                w.put(i, "weight", ParameterRole::Weight, &[count, *features], own);
            }
            Op::Position => w.put(
                i,
                "weight",
                ParameterRole::Other,
                x,
                ParameterInit::Normal(0.02),
            ),
            _ => {}
        }
    }
    w.all
}

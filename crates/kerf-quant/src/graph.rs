//! A network as data: nodes in the order of execution, each with the values that it reads.
//!
//! The same description serves every backend and the export. Shapes leave the batch out. Nodes are named as
//! PyTorch names modules, so that parameters have the names of its `state_dict` (`layer1.0.conv1.weight`).
mod build;
mod params;
mod shape;

pub use shape::ShapeError;
#[cfg(test)]
mod tests;

pub use build::GraphBuilder;
pub use params::{ParamSpec, ParameterInit, ParameterRole};
use serde::{Deserialize, Serialize};

/// What a node reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphValue {
    /// What is given to the network.
    Input,
    /// The result of the node with this index, which is before the reader.
    Node(usize),
}

/// What is given to the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputSpec {
    /// Real numbers of this shape: `[channels, height, width]`.
    Reals(Vec<usize>),
    /// A row of numbers below `count`: characters, say.
    Tokens {
        /// How many in a row.
        length: usize,
        /// How many different ones there are.
        count: usize,
    },
}

impl std::fmt::Display for InputSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            InputSpec::Reals(shape) => write!(f, "images of {shape:?}"),
            InputSpec::Tokens { length, count } => {
                write!(f, "text in rows of {length} of {count} characters")
            }
        }
    }
}

/// What a node computes. Images are `[channels, height, width]`, text is `[length, features]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Convolution; `weight` is `[outputs, inputs / groups, kernel.0, kernel.1]`.
    Conv2d {
        /// Channels of the result.
        outputs: usize,
        /// Height and width of the kernel.
        kernel: [usize; 2],
        /// Step in height and width.
        stride: [usize; 2],
        /// Zeros around, above and below, left and right.
        padding: [usize; 2],
        /// Groups of channels that do not see each other.
        groups: usize,
        /// Whether it has `bias`.
        bias: bool,
    },
    /// `x * weight^T + bias` over the last dimension; `weight` is `[outputs, inputs]`.
    Linear {
        /// Features of the result.
        outputs: usize,
        /// Whether it has `bias`.
        bias: bool,
    },
    /// Batch normalisation of each channel: `weight`, `bias`, `running_mean`, `running_var`.
    BatchNorm {
        /// Added to the variance.
        eps: f32,
        /// Weight of the newest batch in the running values.
        momentum: f32,
    },
    /// Normalisation over the last dimension: `weight`, `bias`.
    LayerNorm {
        /// Added to the variance.
        eps: f32,
    },
    /// max(x, 0).
    Relu,
    /// min(max(x, 0), 6).
    Relu6,
    /// x * sigmoid(x).
    Silu,
    /// 1 / (1 + exp(-x)).
    Sigmoid,
    /// x * Phi(x), by the error function.
    Gelu,
    /// Product of two values; `[c, 1, 1]` goes with `[c, h, w]`.
    Mul,
    /// Sum of two values of one shape.
    Add,
    /// Largest of each window.
    MaxPool {
        /// Size of the window.
        kernel: usize,
        /// Step.
        stride: usize,
        /// Around; never the largest.
        padding: usize,
    },
    /// Mean of each window, without padding.
    AvgPool {
        /// Size of the window.
        kernel: usize,
        /// Step.
        stride: usize,
    },
    /// Mean of each channel: `[c, 1, 1]`.
    GlobalAvgPool,
    /// Everything in one row.
    Flatten,
    /// Zero with probability `p` in training, the rest over `1 - p`.
    Dropout {
        /// Probability.
        p: f32,
    },
    /// Whole samples zero with probability `p` in training (stochastic depth), the rest over `1 - p`.
    DropSample {
        /// Probability.
        p: f32,
    },
    /// A row of `weight` (`[count, features]`) for each token.
    Embedding {
        /// Features of the result.
        features: usize,
    },
    /// Adds row `i` of `weight` (`[length, features]`) to position `i`.
    Position,
    /// Softmax(Q K^T / sqrt(d)) V for each head, where the input is `[length, 3 * features]`: Q, K, V side by side.
    Attention {
        /// Heads; they divide the features.
        heads: usize,
        /// Whether a position sees only itself and those before it.
        causal: bool,
    },
}

impl Op {
    /// A word for its kind: what a policy of quantization and messages call it.
    pub fn class(&self) -> &'static str {
        match self {
            Op::Conv2d { .. } => "conv",
            Op::Linear { .. } => "linear",
            Op::BatchNorm { .. } => "batch-norm",
            Op::LayerNorm { .. } => "layer-norm",
            Op::Relu => "relu",
            Op::Relu6 => "relu6",
            Op::Silu => "silu",
            Op::Sigmoid => "sigmoid",
            Op::Gelu => "gelu",
            Op::Mul => "mul",
            Op::Add => "add",
            Op::MaxPool { .. } => "max-pool",
            Op::AvgPool { .. } => "avg-pool",
            Op::GlobalAvgPool => "global-avg-pool",
            Op::Flatten => "flatten",
            Op::Dropout { .. } => "dropout",
            Op::DropSample { .. } => "drop-sample",
            Op::Embedding { .. } => "embedding",
            Op::Position => "position",
            Op::Attention { .. } => "attention",
        }
    }
    /// How many values it reads.
    pub fn arity(&self) -> usize {
        match self {
            Op::Mul | Op::Add => 2,
            _ => 1,
        }
    }
    /// Whether its `weight` is a matrix or a kernel that quantization is for.
    pub fn has_weight(&self) -> bool {
        matches!(
            self,
            Op::Conv2d { .. } | Op::Linear { .. } | Op::Embedding { .. }
        )
    }
}

/// One step of a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GraphNode {
    /// Its name; parameters are `NAME.weight` and so on. Unique.
    pub name: String,
    /// What it computes.
    pub op: Op,
    /// What it reads.
    pub inputs: Vec<GraphValue>,
}

/// A network whose parts fit together: made by [`Builder::finish`] or [`Graph::new`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Graph {
    /// Name of the architecture.
    pub name: String,
    /// What is given to it.
    pub input: InputSpec,
    /// Nodes in the order of execution. The last one's result is the network's: `[classes]`, or
    /// `[length, classes]` for a text model that predicts at each position.
    pub nodes: Vec<GraphNode>,
    /// How parameters begin.
    pub style: InitStyle,
    #[serde(skip)]
    shapes: Vec<Vec<usize>>,
}

/// How parameters begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InitStyle {
    /// As PyTorch's modules do: uniform within 1 / sqrt(inputs of an output).
    #[default]
    Torch,
    /// Convolutions normal with variance 2 / (outputs of an input) (He et al., 2015), as torchvision's networks.
    KaimingFanOut,
    /// Normal with standard deviation 0.02, zero biases, as GPT-2.
    Gpt,
}

/// What is wrong with a network.
#[derive(Debug, Clone, thiserror::Error, PartialEq)]
pub enum GraphError {
    /// Two nodes of one name.
    #[error("two nodes are called `{0}`; parameters are found by names")]
    Twice(String),
    /// A node reads what does not exist yet.
    #[error("node `{0}` reads node {1}, which is not before it")]
    Order(String, usize),
    /// A node with another number of inputs than its operation has.
    #[error("node `{node}` ({class}) has {found} inputs instead of {expected}")]
    Arity {
        /// The node.
        node: String,
        /// Its operation.
        class: &'static str,
        /// What it has.
        found: usize,
        /// What it needs.
        expected: usize,
    },
    /// A shape that does not fit.
    #[error("node `{node}` ({class}) cannot take {shape:?}: {why}")]
    Shape {
        /// The node.
        node: String,
        /// Its operation.
        class: &'static str,
        /// What it was given, without the batch.
        shape: Vec<usize>,
        /// What is wrong.
        why: ShapeError,
    },
    /// No nodes.
    #[error("the network has no nodes")]
    Empty,
    /// A result that is not a score for each class.
    #[error("the network's result has the shape {0:?}; [classes] or [length, classes] is needed")]
    Result(Vec<usize>),
}

impl Graph {
    /// Checks the parts and infers the shapes.
    pub fn new(
        name: impl Into<String>,
        input: InputSpec,
        nodes: Vec<GraphNode>,
        style: InitStyle,
    ) -> Result<Graph, GraphError> {
        let shapes = shape::infer(&input, &nodes)?;
        Ok(Graph {
            name: name.into(),
            input,
            nodes,
            style,
            shapes,
        })
    }
    /// Shape of a value, without the batch.
    pub fn shape(&self, v: GraphValue) -> &[usize] {
        match (v, &self.input) {
            (GraphValue::Node(i), _) => &self.shapes[i],
            (GraphValue::Input, InputSpec::Reals(s)) => s,
            (GraphValue::Input, InputSpec::Tokens { length, .. }) => std::slice::from_ref(length),
        }
    }
    /// The network's result.
    pub fn output(&self) -> GraphValue {
        GraphValue::Node(self.nodes.len() - 1)
    }
    /// How many classes it tells apart.
    pub fn classes(&self) -> usize {
        self.shape(self.output()).last().copied().unwrap_or(0)
    }
    /// How many predictions it makes for a sample: 1, or the length of a text.
    pub fn predictions(&self) -> usize {
        let s = self.shape(self.output());
        s[..s.len() - 1].iter().product()
    }
    /// The node of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|n| n.name == name)
    }
    /// Parameters and buffers in the order of the nodes.
    pub fn params(&self) -> Vec<ParamSpec> {
        params::for_graph(self)
    }
    /// How many numbers are trained.
    pub fn trained(&self) -> usize {
        let all = self.params();
        let own = all.iter().filter(|p| p.kind.trained());
        own.map(|p| p.shape.iter().product::<usize>()).sum()
    }
    /// Multiplications with a weight for one sample, for each node (0 where there are none).
    pub fn macs(&self) -> Vec<u64> {
        let of = |(i, n): (usize, &GraphNode)| {
            let out = self.shapes[i].iter().product::<usize>() as u64;
            let inputs = self.shape(n.inputs[0]);
            match n.op {
                Op::Conv2d { kernel, groups, .. } => {
                    out * (inputs[0] / groups * kernel[0] * kernel[1]) as u64
                }
                Op::Linear { .. } => out * inputs[inputs.len() - 1] as u64,
                _ => 0,
            }
        };
        self.nodes.iter().enumerate().map(of).collect()
    }
    /// Nodes that read a value.
    pub fn readers(&self, v: GraphValue) -> impl Iterator<Item = usize> + '_ {
        let all = self.nodes.iter().enumerate();
        all.filter(move |(_, n)| n.inputs.contains(&v))
            .map(|(i, _)| i)
    }
}

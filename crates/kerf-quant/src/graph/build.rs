//! Writing a network down, one node after the other.
use super::{Graph, GraphError, InitStyle, InputSpec, Node, Op, Value};

/// A network that is being written. Mistakes show in [`Builder::finish`].
#[derive(Debug, Clone)]
pub struct Builder {
    name: String,
    input: InputSpec,
    style: InitStyle,
    nodes: Vec<Node>,
}

impl Builder {
    /// A network for images `[channels, height, width]`.
    pub fn images(name: impl Into<String>, shape: [usize; 3]) -> Builder {
        Builder::new(name, InputSpec::Reals(shape.to_vec()))
    }
    /// A network without nodes.
    pub fn new(name: impl Into<String>, input: InputSpec) -> Builder {
        Builder {
            name: name.into(),
            input,
            style: InitStyle::default(),
            nodes: Vec::new(),
        }
    }
    /// How parameters begin.
    pub fn style(mut self, style: InitStyle) -> Builder {
        self.style = style;
        self
    }
    /// Adds a node and gives its result.
    pub fn add(&mut self, name: impl Into<String>, op: Op, inputs: &[Value]) -> Value {
        self.nodes.push(Node {
            name: name.into(),
            op,
            inputs: inputs.to_vec(),
        });
        Value::Node(self.nodes.len() - 1)
    }
    /// A square convolution without bias.
    pub fn conv(
        &mut self,
        name: impl Into<String>,
        x: Value,
        outputs: usize,
        kernel: usize,
        stride: usize,
        groups: usize,
    ) -> Value {
        let op = Op::Conv2d {
            outputs,
            kernel: [kernel; 2],
            stride: [stride; 2],
            padding: [kernel / 2; 2],
            groups,
            bias: false,
        };
        self.add(name, op, &[x])
    }
    /// Batch normalisation with PyTorch's defaults.
    pub fn batch_norm(&mut self, name: impl Into<String>, x: Value) -> Value {
        let op = Op::BatchNorm {
            eps: 1e-5,
            momentum: 0.1,
        };
        self.add(name, op, &[x])
    }
    /// max(x, 0).
    pub fn relu(&mut self, name: impl Into<String>, x: Value) -> Value {
        self.add(name, Op::Relu, &[x])
    }
    /// A matrix with bias.
    pub fn linear(&mut self, name: impl Into<String>, x: Value, outputs: usize) -> Value {
        self.add(
            name,
            Op::Linear {
                outputs,
                bias: true,
            },
            &[x],
        )
    }
    /// The network, checked.
    pub fn finish(self) -> Result<Graph, GraphError> {
        Graph::new(self.name, self.input, self.nodes, self.style)
    }
}

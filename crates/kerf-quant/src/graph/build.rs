//! Writing a network down, one node after the other.
use super::{Graph, GraphError, GraphNode, GraphValue, InitStyle, InputSpec, Op};

/// A network that is being written. Mistakes show in [`Builder::finish`].
#[derive(Debug, Clone)]
pub struct GraphBuilder {
    name: String,
    input: InputSpec,
    style: InitStyle,
    nodes: Vec<GraphNode>,
}

impl GraphBuilder {
    /// A network for images `[channels, height, width]`.
    pub fn images(name: impl Into<String>, shape: [usize; 3]) -> GraphBuilder {
        GraphBuilder::new(name, InputSpec::Reals(shape.to_vec()))
    }
    /// A network without nodes.
    pub fn new(name: impl Into<String>, input: InputSpec) -> GraphBuilder {
        GraphBuilder {
            name: name.into(),
            input,
            style: InitStyle::default(),
            nodes: Vec::new(),
        }
    }
    /// How parameters begin.
    pub fn style(mut self, style: InitStyle) -> GraphBuilder {
        self.style = style;
        self
    }
    /// Adds a node and gives its result.
    pub fn add(&mut self, name: impl Into<String>, op: Op, inputs: &[GraphValue]) -> GraphValue {
        self.nodes.push(GraphNode {
            name: name.into(),
            op,
            inputs: inputs.to_vec(),
        });
        GraphValue::Node(self.nodes.len() - 1)
    }
    /// A square convolution without bias.
    pub fn conv(
        &mut self,
        name: impl Into<String>,
        x: GraphValue,
        outputs: usize,
        kernel: usize,
        stride: usize,
        groups: usize,
    ) -> GraphValue {
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
    pub fn batch_norm(&mut self, name: impl Into<String>, x: GraphValue) -> GraphValue {
        let op = Op::BatchNorm {
            eps: 1e-5,
            momentum: 0.1,
        };
        self.add(name, op, &[x])
    }
    /// max(x, 0).
    pub fn relu(&mut self, name: impl Into<String>, x: GraphValue) -> GraphValue {
        self.add(name, Op::Relu, &[x])
    }
    /// A matrix with bias.
    pub fn linear(&mut self, name: impl Into<String>, x: GraphValue, outputs: usize) -> GraphValue {
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

//! Networks as ONNX files, quantized ones with QuantizeLinear and DequantizeLinear nodes ("QDQ").
//!
//! The file computes what evaluation computes: batch normalisation that follows a convolution or a matrix is folded
//! into it after the weights were quantized, so their integers stay as they are and only scales change. Activations are
//! unsigned bytes, weights signed bytes with a scale for each output channel, biases 32-bit integers: the form
//! that ONNX Runtime executes in integers. Opset 13 and IR version 8, which all current engines read.
mod proto;
#[cfg(test)]
mod tests;
mod weights;

use crate::decision::{Decision, GridRange};
use crate::graph::{Graph, GraphValue, InputSpec, Op};
use crate::points::{QuantizationPoint, QuantizedTensor};
use crate::quantizer::QuantizationGrid;
use crate::tensor::Tensor;
use proto::{Attribute, Elem, Parts};
use weights::Folded;

/// The version of ONNX's operators that files name.
pub const OPSET: i64 = 13;

/// Why a network cannot be written.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ExportError {
    /// An operation that has no form here.
    #[error("node `{node}` ({class}) cannot be exported: ONNX export is for networks of images")]
    Operation {
        /// The node.
        node: String,
        /// Its operation.
        class: &'static str,
    },
    /// A parameter that is not there.
    #[error("there is no parameter `{0}`: weights of another architecture?")]
    NoParameter(String),
    /// Finer than bytes.
    #[error("`{point}` has {steps} steps; integers of 8 bits have 255: train with 8 bits or fewer")]
    Precision {
        /// The point.
        point: String,
        /// Its steps.
        steps: f32,
    },
    /// A range that is only known while training.
    #[error("`{0}` has no fixed range: the network was not trained with quantization to the end")]
    Range(String),
    /// Decisions for other points.
    #[error("{decisions} decisions for {points} points of quantization")]
    Decisions {
        /// Points.
        points: usize,
        /// Decisions.
        decisions: usize,
    },
}

/// What is written.
#[derive(Clone, Copy)]
pub struct OnnxSource<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// Where it is quantized; none for `f32`.
    pub points: &'a [QuantizationPoint],
    /// What inference does at each point.
    pub decisions: &'a [Decision],
    /// Parameters by name.
    pub parameters: &'a dyn Fn(&str) -> Option<Tensor>,
    /// Kept in the file for people: keys and texts.
    pub notes: &'a [(&'a str, String)],
}

struct Writer<'a> {
    source: &'a OnnxSource<'a>,
    parts: Parts,
    /// Name in the file of each node's result.
    names: Vec<String>,
    /// Names of quantized forms.
    quantized: Vec<(GraphValue, String)>,
}

/// The bytes of the file.
pub fn export(source: &OnnxSource) -> Result<Vec<u8>, ExportError> {
    let (points, decisions) = (source.points.len(), source.decisions.len());
    if points != decisions {
        return Err(ExportError::Decisions { points, decisions });
    }
    let mut w = Writer {
        source,
        parts: Parts::default(),
        names: Vec::new(),
        quantized: Vec::new(),
    };
    let graph = source.graph;
    let InputSpec::Reals(shape) = &graph.input else {
        let n = &graph.nodes[0];
        return Err(ExportError::Operation {
            node: n.name.clone(),
            class: n.op.class(),
        });
    };
    for i in 0..graph.nodes.len() {
        w.node(i)?;
    }
    let last = w.name(graph.output());
    w.emit("Identity", "output", &[&last], &[]);
    w.parts
        .inputs
        .push(proto::value_info("input", Elem::Float, shape));
    let out = graph.shape(graph.output());
    w.parts
        .outputs
        .push(proto::value_info("output", Elem::Float, out));
    Ok(proto::model(&graph.name, OPSET, &w.parts, source.notes))
}

fn floats(v: &[f32]) -> Vec<u8> {
    v.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn ints(v: &[usize]) -> Attribute {
    Attribute::Ints(v.iter().map(|x| *x as i64).collect())
}

impl Writer<'_> {
    fn name(&self, v: GraphValue) -> String {
        match v {
            GraphValue::Input => "input".into(),
            GraphValue::Node(i) => self.names[i].clone(),
        }
    }
    /// A node whose result has its own name.
    fn emit(&mut self, op: &str, name: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) {
        let node = proto::node(op, name, inputs, &[name], attributes);
        self.parts.nodes.push(node);
    }
    fn constant(&mut self, name: &str, dims: &[usize], elem: Elem, raw: &[u8]) {
        self.parts
            .constants
            .push(proto::tensor(name, dims, elem, raw));
    }
    fn real(&mut self, name: &str, dims: &[usize], v: &[f32]) {
        self.constant(name, dims, Elem::Float, &floats(v));
    }
    fn parameter(&self, node: usize, what: &str) -> Result<Tensor, ExportError> {
        let name = format!("{}.{what}", self.source.graph.nodes[node].name);
        (self.source.parameters)(&name).ok_or(ExportError::NoParameter(name))
    }

    /// The point of a value that a node reads quantized, and the grid of it; `None` where it is left as it is.
    fn point(
        &self,
        node: usize,
        v: GraphValue,
    ) -> Result<Option<(usize, QuantizationGrid)>, ExportError> {
        let reads = |p: &QuantizationPoint| {
            p.subject == QuantizedTensor::Activation(v) && p.readers.contains(&node)
        };
        match self.source.points.iter().position(reads) {
            Some(at) => Ok(self.grid(at)?.map(|g| (at, g))),
            None => Ok(None),
        }
    }
    fn grid(&self, at: usize) -> Result<Option<QuantizationGrid>, ExportError> {
        let (p, d) = (&self.source.points[at], &self.source.decisions[at]);
        let Some(steps) = d.steps else {
            return Ok(None);
        };
        if steps > 255.0 {
            return Err(ExportError::Precision {
                point: p.name.clone(),
                steps,
            });
        }
        match &d.range {
            GridRange::Fixed { lo, hi } if lo.len() == 1 && hi.len() == 1 => {
                Ok(Some(QuantizationGrid::new(lo[0], hi[0], steps, d.scheme)))
            }
            _ => Err(ExportError::Range(p.name.clone())),
        }
    }

    /// Name of what a node reads: the value, or its quantized form.
    fn read(&mut self, node: usize, v: GraphValue) -> Result<String, ExportError> {
        let Some((at, grid)) = self.point(node, v)? else {
            return Ok(self.name(v));
        };
        if let Some((_, name)) = self.quantized.iter().find(|(w, _)| *w == v) {
            return Ok(name.clone());
        }
        let p = &self.source.points[at];
        let base = format!("{}/quantized", p.name);
        let mut from = self.name(v);
        if grid.high - grid.low < 255.0 {
            // Bytes go further than the grid does.
            let (lo, hi) = grid.ends();
            let (a, b) = (format!("{base}/lowest"), format!("{base}/highest"));
            self.real(&a, &[], &[lo]);
            self.real(&b, &[], &[hi]);
            let clipped = format!("{base}/clip");
            self.emit("Clip", &clipped, &[&from, &a, &b], &[]);
            from = clipped;
        }
        let (scale, zero) = (format!("{base}/scale"), format!("{base}/zero"));
        self.real(&scale, &[], &[grid.step]);
        self.constant(&zero, &[], Elem::Uint8, &[grid.zero_point() as u8]);
        let q = format!("{base}/integer");
        self.emit("QuantizeLinear", &q, &[&from, &scale, &zero], &[]);
        self.emit("DequantizeLinear", &base, &[&q, &scale, &zero], &[]);
        self.quantized.push((v, base.clone()));
        Ok(base)
    }

    /// Whether clamping by the grid does what this activation does, for everyone who reads it.
    fn clamped(&self, node: usize, highest: Option<f32>) -> Result<bool, ExportError> {
        let v = GraphValue::Node(node);
        if v == self.source.graph.output() {
            return Ok(false);
        }
        for r in self.source.graph.readers(v) {
            let Some((_, g)) = self.point(r, v)? else {
                return Ok(false);
            };
            // Where the grid ends a rounding error above 6, what lies between is the last value both ways.
            let within = highest.is_none_or(|h| g.high * g.step <= h * (1.0 + 1e-6));
            if g.low != 0.0 || !within {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The batch normalisation that alone reads a node's result.
    fn normalisation(&self, node: usize) -> Option<usize> {
        let g = self.source.graph;
        let mut readers = g.readers(GraphValue::Node(node));
        let next = readers.next().filter(|_| readers.next().is_none())?;
        matches!(g.nodes[next].op, Op::BatchNorm { .. }).then_some(next)
    }

    fn node(&mut self, i: usize) -> Result<(), ExportError> {
        let graph = self.source.graph;
        let n = &graph.nodes[i];
        let own = n.name.clone();
        let mut result = own.clone();
        match &n.op {
            Op::Conv2d { .. } | Op::Linear { .. } => self.linear(i)?,
            // Part of what is before it.
            Op::BatchNorm { .. } if self.folded_into(i) => result = self.name(n.inputs[0]),
            Op::BatchNorm { eps, .. } => self.batch_norm(i, *eps)?,
            Op::Relu if self.clamped(i, None)? => result = self.read(i, n.inputs[0])?,
            Op::Relu6 if self.clamped(i, Some(6.0))? => result = self.read(i, n.inputs[0])?,
            Op::Relu6 => {
                let x = self.read(i, n.inputs[0])?;
                let (a, b) = (format!("{own}/lowest"), format!("{own}/highest"));
                self.real(&a, &[], &[0.0]);
                self.real(&b, &[], &[6.0]);
                self.emit("Clip", &own, &[&x, &a, &b], &[]);
            }
            Op::Silu => {
                let x = self.read(i, n.inputs[0])?;
                let s = format!("{own}/sigmoid");
                self.emit("Sigmoid", &s, &[&x], &[]);
                self.emit("Mul", &own, &[&x, &s], &[]);
            }
            Op::Relu | Op::Sigmoid | Op::GlobalAvgPool | Op::Flatten => {
                let x = self.read(i, n.inputs[0])?;
                let op = match n.op {
                    Op::Relu => "Relu",
                    Op::Sigmoid => "Sigmoid",
                    Op::Flatten => "Flatten",
                    _ => "GlobalAveragePool",
                };
                self.emit(op, &own, &[&x], &[]);
            }
            Op::Mul | Op::Add => {
                let a = self.read(i, n.inputs[0])?;
                let b = self.read(i, n.inputs[1])?;
                let op = if n.op == Op::Add { "Add" } else { "Mul" };
                self.emit(op, &own, &[&a, &b], &[]);
            }
            Op::MaxPool { .. } | Op::AvgPool { .. } => self.pool(i)?,
            // Nothing is dropped at inference.
            Op::Dropout { .. } | Op::DropSample { .. } => result = self.read(i, n.inputs[0])?,
            Op::LayerNorm { .. }
            | Op::Gelu
            | Op::Embedding { .. }
            | Op::Position
            | Op::Attention { .. } => {
                return Err(ExportError::Operation {
                    node: own,
                    class: n.op.class(),
                });
            }
        }
        self.names.push(result);
        Ok(())
    }

    /// Convolutions and matrices.
    fn linear(&mut self, i: usize) -> Result<(), ExportError> {
        let Op::Conv2d {
            kernel,
            stride,
            padding,
            groups,
            ..
        } = &self.source.graph.nodes[i].op
        else {
            return self.weighted(i, "Gemm", &[("transB", Attribute::Int(1))]);
        };
        let [h, w] = *padding;
        let attributes = [
            ("kernel_shape", ints(kernel)),
            ("strides", ints(stride)),
            ("pads", ints(&[h, w, h, w])),
            ("group", Attribute::Int(*groups as i64)),
        ];
        self.weighted(i, "Conv", &attributes)
    }

    /// A normalisation that is not part of what is before it.
    fn batch_norm(&mut self, i: usize, eps: f32) -> Result<(), ExportError> {
        let n = &self.source.graph.nodes[i];
        let own = n.name.clone();
        let x = self.read(i, n.inputs[0])?;
        let mut inputs = vec![x];
        for what in ["weight", "bias", "running_mean", "running_var"] {
            let t = self.parameter(i, what)?;
            let name = format!("{own}.{what}");
            self.real(&name, &t.shape, &t.data);
            inputs.push(name);
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        self.emit(
            "BatchNormalization",
            &own,
            &inputs,
            &[("epsilon", Attribute::Float(eps))],
        );
        Ok(())
    }

    fn pool(&mut self, i: usize) -> Result<(), ExportError> {
        let n = &self.source.graph.nodes[i];
        let own = n.name.clone();
        let twice = |v: usize| ints(&[v, v]);
        let (op, attributes) = match &n.op {
            Op::MaxPool {
                kernel,
                stride,
                padding,
            } => (
                "MaxPool",
                vec![
                    ("kernel_shape", twice(*kernel)),
                    ("strides", twice(*stride)),
                    ("pads", ints(&[*padding; 4])),
                ],
            ),
            Op::AvgPool { kernel, stride } => (
                "AveragePool",
                vec![
                    ("kernel_shape", twice(*kernel)),
                    ("strides", twice(*stride)),
                ],
            ),
            _ => return Ok(()),
        };
        let x = self.read(i, n.inputs[0])?;
        self.emit(op, &own, &[&x], &attributes);
        Ok(())
    }

    fn folded_into(&self, norm: usize) -> bool {
        match self.source.graph.nodes[norm].inputs[0] {
            GraphValue::Node(j) => {
                let op = &self.source.graph.nodes[j].op;
                matches!(op, Op::Conv2d { .. }) && self.normalisation(j) == Some(norm)
            }
            GraphValue::Input => false,
        }
    }

    /// A convolution or matrix with what is folded into it.
    fn weighted(
        &mut self,
        i: usize,
        op: &str,
        attributes: &[(&str, Attribute)],
    ) -> Result<(), ExportError> {
        let n = &self.source.graph.nodes[i];
        let own = n.name.clone();
        let x = self.read(i, n.inputs[0])?;
        let input = self.point(i, n.inputs[0])?.map(|(_, g)| g.step);
        let weight = self.parameter(i, "weight")?;
        let bias = match n.op {
            Op::Conv2d { bias: true, .. } | Op::Linear { bias: true, .. } => {
                Some(self.parameter(i, "bias")?.data)
            }
            _ => None,
        };
        let mut folded = Folded::new(&weight, bias);
        let at = self
            .source
            .points
            .iter()
            .position(|p| p.subject == QuantizedTensor::Weight(i));
        if let Some(at) = at
            && self.source.decisions[at].steps.is_some()
        {
            let d = &self.source.decisions[at];
            folded.quantize(&weight, &self.source.points[at], d)?;
        }
        if op == "Conv"
            && let Some(norm) = self.normalisation(i)
            && let Op::BatchNorm { eps, .. } = self.source.graph.nodes[norm].op
        {
            let get = |what| self.parameter(norm, what).map(|t| t.data);
            folded.normalise(
                &get("weight")?,
                &get("bias")?,
                &get("running_mean")?,
                &get("running_var")?,
                eps,
            );
        }
        let channels = weight.shape[0];
        let (name, bias_name) = (format!("{own}.weight"), format!("{own}.bias"));
        let mut inputs = vec![x];
        match (input, folded.integers(input)) {
            (Some(_), Some(q)) => {
                let (int, scale, zero) = (
                    format!("{name}/integer"),
                    format!("{name}/scale"),
                    format!("{name}/zero"),
                );
                let bytes: Vec<u8> = q.weight.iter().map(|v| *v as u8).collect();
                self.constant(&int, &weight.shape, Elem::Int8, &bytes);
                self.real(&scale, &[channels], &q.scale);
                self.constant(&zero, &[channels], Elem::Int8, &vec![0; channels]);
                let axis = [("axis", Attribute::Int(0))];
                self.emit("DequantizeLinear", &name, &[&int, &scale, &zero], &axis);
                inputs.push(name);
                if let Some(b) = q.bias {
                    let (int, scale, zero) = (
                        format!("{bias_name}/integer"),
                        format!("{bias_name}/scale"),
                        format!("{bias_name}/zero"),
                    );
                    let raw: Vec<u8> = b.iter().flat_map(|v| v.to_le_bytes()).collect();
                    self.constant(&int, &[channels], Elem::Int32, &raw);
                    self.real(&scale, &[channels], &q.bias_scale);
                    self.constant(&zero, &[channels], Elem::Int32, &vec![0; 4 * channels]);
                    self.emit(
                        "DequantizeLinear",
                        &bias_name,
                        &[&int, &scale, &zero],
                        &axis,
                    );
                    inputs.push(bias_name);
                }
            }
            _ => {
                self.real(&name, &weight.shape, &folded.reals());
                inputs.push(name);
                if let Some(b) = &folded.bias {
                    self.real(&bias_name, &[channels], b);
                    inputs.push(bias_name);
                }
            }
        }
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        self.emit(op, &own, &inputs, attributes);
        Ok(())
    }
}

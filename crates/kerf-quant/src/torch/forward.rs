//! A network's nodes as operations of libtorch.
use super::images::channels_last;
use super::{Arithmetic, Torch};
use crate::decision::Decision;
use crate::graph::{GraphValue, Op};
use crate::points::QuantizedTensor;
use tch::{Kind, TchError, Tensor};

/// Values that nodes read, as they are and quantized.
struct Values {
    plain: Vec<Tensor>,
    input: Tensor,
    quantized: Vec<(GraphValue, Tensor)>,
}

impl Values {
    fn get(&self, v: GraphValue) -> &Tensor {
        match v {
            GraphValue::Input => &self.input,
            GraphValue::Node(i) => &self.plain[i],
        }
    }
}

/// The network's result.
pub(super) fn run(
    t: &mut Torch,
    x: &Tensor,
    decisions: &[Decision],
    train: bool,
) -> Result<Tensor, TchError> {
    let mut values = Values {
        plain: Vec::new(),
        input: x.shallow_clone(),
        quantized: Vec::new(),
    };
    for i in 0..t.graph.nodes.len() {
        let y = node(t, &mut values, i, decisions, train)?;
        values.plain.push(y);
    }
    if train {
        t.parameters.count_batch();
    }
    match values.plain.pop() {
        Some(y) => y.f_to_kind(Kind::Float),
        None => Ok(values.input),
    }
}

/// What a node reads: the value, or its quantized form where a point says so.
fn read(
    t: &mut Torch,
    values: &mut Values,
    node: usize,
    v: GraphValue,
    decisions: &[Decision],
) -> Result<Tensor, TchError> {
    let found = t
        .points
        .iter()
        .position(|p| p.subject == QuantizedTensor::Activation(v) && p.readers.contains(&node));
    let Some(at) = found else {
        return Ok(values.get(v).shallow_clone());
    };
    if let Some((_, q)) = values.quantized.iter().find(|(w, _)| *w == v) {
        return Ok(q.shallow_clone());
    }
    let q = t
        .quantizer
        .apply(at, &t.points[at], &decisions[at], values.get(v))?;
    values.quantized.push((v, q.shallow_clone()));
    Ok(q)
}

/// A node's weight, quantized where a point says so.
fn weight(t: &mut Torch, node: usize, decisions: &[Decision]) -> Result<Tensor, TchError> {
    let w = t
        .parameters
        .get(&t.graph.nodes[node].name, "weight")?
        .shallow_clone();
    match t
        .points
        .iter()
        .position(|p| p.subject == QuantizedTensor::Weight(node))
    {
        Some(at) => t.quantizer.apply(at, &t.points[at], &decisions[at], &w),
        None => Ok(w),
    }
}

/// In the arithmetic of training.
fn cast(x: &Tensor, low: bool) -> Result<Tensor, TchError> {
    match low {
        true => x.f_to_kind(Kind::Half),
        false => Ok(x.shallow_clone()),
    }
}

/// Convolutions and matrices.
fn weighted(
    t: &mut Torch,
    x: &Tensor,
    i: usize,
    decisions: &[Decision],
    low: bool,
) -> Result<Tensor, TchError> {
    let n = t.graph.nodes[i].clone();
    let w = cast(&weight(t, i, decisions)?, low)?;
    let b = match n.op {
        Op::Conv2d { bias: true, .. } | Op::Linear { bias: true, .. } => {
            Some(cast(t.parameters.get(&n.name, "bias")?, low)?)
        }
        _ => None,
    };
    let x = cast(x, low)?;
    let Op::Conv2d {
        stride,
        padding,
        groups,
        ..
    } = n.op
    else {
        return x.f_linear(&w, b.as_ref());
    };
    let (s, p) = (stride.map(|v| v as i64), padding.map(|v| v as i64));
    let groups = groups as i64;
    if groups == 1 || !t.planar {
        return x.f_conv2d(&w, b.as_ref(), s, p, [1, 1], groups);
    }
    // The same weight with the strides of planes, which choose the kernel.
    let shape = w.size();
    let w = w.f_reshape([shape[0], -1])?.f_view(&shape[..])?;
    let y = x
        .f_contiguous()?
        .f_conv2d(&w, b.as_ref(), s, p, [1, 1], groups)?;
    channels_last(&y)
}

fn node(
    t: &mut Torch,
    values: &mut Values,
    i: usize,
    decisions: &[Decision],
    train: bool,
) -> Result<Tensor, TchError> {
    let n = t.graph.nodes[i].clone();
    let x = read(t, values, i, n.inputs[0], decisions)?;
    let low = train && t.arithmetic == Arithmetic::F16;
    match &n.op {
        Op::Conv2d { .. } | Op::Linear { .. } => weighted(t, &x, i, decisions, low),
        Op::BatchNorm { eps, momentum } => {
            let get = |what: &str| t.parameters.get(&n.name, what);
            x.f_batch_norm(
                Some(get("weight")?),
                Some(get("bias")?),
                Some(get("running_mean")?),
                Some(get("running_var")?),
                train,
                f64::from(*momentum),
                f64::from(*eps),
                true,
            )
        }
        Op::LayerNorm { eps } => {
            let (w, b) = (
                t.parameters.get(&n.name, "weight")?,
                t.parameters.get(&n.name, "bias")?,
            );
            let features = x.size().last().copied().unwrap_or(1);
            let x = x.f_to_kind(Kind::Float)?;
            x.f_layer_norm([features], Some(w), Some(b), f64::from(*eps), true)
        }
        Op::Relu => x.f_relu(),
        Op::Relu6 => x.f_clamp(0.0, 6.0),
        Op::Silu => x.f_silu(),
        Op::Sigmoid => x.f_sigmoid(),
        Op::Gelu => x.f_gelu("none"),
        Op::Mul => {
            let y = read(t, values, i, n.inputs[1], decisions)?;
            x.f_mul(&y)
        }
        Op::Add => {
            let y = read(t, values, i, n.inputs[1], decisions)?;
            x.f_add(&y)
        }
        Op::MaxPool {
            kernel,
            stride,
            padding,
        } => {
            let (k, s, p) = (*kernel as i64, *stride as i64, *padding as i64);
            x.f_max_pool2d([k, k], [s, s], [p, p], [1, 1], false)
        }
        Op::AvgPool { kernel, stride } => {
            let (k, s) = (*kernel as i64, *stride as i64);
            x.f_avg_pool2d([k, k], [s, s], [0, 0], false, true, None)
        }
        Op::GlobalAvgPool => x.f_mean_dim(&[2i64, 3][..], true, None),
        Op::Flatten => x.f_flatten(1, -1),
        Op::Dropout { p } => x.f_dropout(f64::from(*p), train),
        Op::DropSample { p } if train && *p > 0.0 => drop_samples(&x, f64::from(*p)),
        Op::DropSample { .. } => Ok(x),
        Op::Embedding { .. } => {
            let w = weight(t, i, decisions)?;
            Tensor::f_embedding(&w, &x, -1, false, false)
        }
        Op::Position => x.f_add(t.parameters.get(&n.name, "weight")?),
        Op::Attention { heads, causal } => attention(&x, *heads as i64, *causal),
    }
}

/// Leaves whole samples away at random, and scales the others.
fn drop_samples(x: &Tensor, p: f64) -> Result<Tensor, TchError> {
    let mut shape = vec![1i64; x.dim()];
    shape[0] = x.size()[0];
    let stays = 1.0 - p;
    let kept = Tensor::f_rand(&shape[..], (Kind::Float, x.device()))?.f_lt(stays)?;
    x.f_mul(&(kept.f_to_kind(Kind::Float)? / stays).f_to_kind(x.kind())?)
}

fn attention(x: &Tensor, heads: i64, causal: bool) -> Result<Tensor, TchError> {
    let (rows, length, width) = x.size3()?;
    let each = width / 3 / heads;
    let part = |k: i64| {
        let p = x.f_narrow(2, k * width / 3, width / 3)?;
        p.f_reshape([rows, length, heads, each])?.f_transpose(1, 2)
    };
    let (q, k, v) = (part(0)?, part(1)?, part(2)?);
    let mut scores = q.f_matmul(&k.f_transpose(-2, -1)?)? / (each as f64).sqrt();
    if causal {
        let seen = Tensor::f_ones([length, length], (Kind::Bool, x.device()))?.f_tril(0)?;
        let none = scores.f_full_like(f64::NEG_INFINITY)?;
        scores = scores.f_where_self(&seen, &none)?;
    }
    let y = scores.f_softmax(-1, None)?.f_matmul(&v)?;
    y.f_transpose(1, 2)?.f_reshape([rows, length, width / 3])
}

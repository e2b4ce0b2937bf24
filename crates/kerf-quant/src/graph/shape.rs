//! Shapes of all values, or which node cannot take what it is given.
use super::{GraphError, GraphNode, GraphValue, InputSpec, Op};

fn window(size: usize, kernel: usize, stride: usize, padding: usize) -> Result<usize, String> {
    let padded = size + 2 * padding;
    match (kernel, stride) {
        (0, _) | (_, 0) => Err("its kernel and stride have to be positive".into()),
        _ if kernel > padded => Err(format!(
            "its window of {kernel} is larger than {size} with a padding of {padding}"
        )),
        _ => Ok((padded - kernel) / stride + 1),
    }
}

fn image(shape: &[usize]) -> Result<[usize; 3], String> {
    <[usize; 3]>::try_from(shape).map_err(|_| "[channels, height, width] is needed".into())
}

/// Shape of the result of one operation; the text says what is wrong.
fn one(op: &Op, shapes: &[&[usize]], input: Option<&InputSpec>) -> Result<Vec<usize>, String> {
    let x = shapes[0];
    if matches!(input, Some(InputSpec::Tokens { .. })) && !matches!(op, Op::Embedding { .. }) {
        return Err("only an embedding reads tokens".into());
    }
    Ok(match op {
        Op::Conv2d {
            outputs,
            kernel,
            stride,
            padding,
            groups,
            ..
        } => {
            let [c, h, w] = image(x)?;
            if *groups == 0 || c % groups != 0 || outputs % groups != 0 || *outputs == 0 {
                return Err(format!(
                    "{groups} groups do not divide {c} channels and {outputs} outputs"
                ));
            }
            let h = window(h, kernel[0], stride[0], padding[0])?;
            let w = window(w, kernel[1], stride[1], padding[1])?;
            vec![*outputs, h, w]
        }
        Op::Linear { outputs, .. } => {
            let mut s = x.to_vec();
            match s.last_mut() {
                Some(last) if *last > 0 && *outputs > 0 => *last = *outputs,
                _ => return Err("it has no features".into()),
            }
            s
        }
        Op::BatchNorm { .. } => image(x)?.to_vec(),
        Op::LayerNorm { .. } if x.is_empty() => return Err("it has no features".into()),
        Op::Add if shapes[0] != shapes[1] => {
            return Err(format!("the other input is {:?}", shapes[1]));
        }
        Op::Mul => match (shapes[0], shapes[1]) {
            (a, b) if a == b => a.to_vec(),
            (&[c, _, _], &[d, 1, 1]) if c == d => x.to_vec(),
            (&[c, 1, 1], &[d, _, _]) if c == d => shapes[1].to_vec(),
            (_, b) => return Err(format!("the other input is {b:?}")),
        },
        Op::MaxPool {
            kernel,
            stride,
            padding,
        } => {
            let [c, h, w] = image(x)?;
            if 2 * padding > *kernel {
                return Err("its padding is more than half of its window".into());
            }
            let at = |n| window(n, *kernel, *stride, *padding);
            vec![c, at(h)?, at(w)?]
        }
        Op::AvgPool { kernel, stride } => {
            let [c, h, w] = image(x)?;
            let at = |n| window(n, *kernel, *stride, 0);
            vec![c, at(h)?, at(w)?]
        }
        Op::GlobalAvgPool => vec![image(x)?[0], 1, 1],
        Op::Flatten => vec![x.iter().product()],
        Op::Dropout { p } | Op::DropSample { p } if !(0.0..1.0).contains(p) => {
            return Err(format!("{p} is no probability below 1"));
        }
        Op::Embedding { features } => match input {
            Some(InputSpec::Tokens { length, .. }) => vec![*length, *features],
            _ => return Err("it reads tokens, which only the input has".into()),
        },
        Op::Position if x.len() != 2 => return Err("[length, features] is needed".into()),
        Op::Attention { heads, .. } => match *x {
            [t, f] if *heads > 0 && f % (3 * heads) == 0 => vec![t, f / 3],
            [_, f] => {
                return Err(format!(
                    "{heads} heads do not divide a third of {f} features"
                ));
            }
            _ => return Err("[length, 3 * features] is needed".into()),
        },
        _ => x.to_vec(),
    })
}

/// Shapes of the results of all nodes.
pub(super) fn infer(input: &InputSpec, nodes: &[GraphNode]) -> Result<Vec<Vec<usize>>, GraphError> {
    let first = match input {
        InputSpec::Reals(s) => s.clone(),
        InputSpec::Tokens { length, .. } => vec![*length],
    };
    let mut shapes: Vec<Vec<usize>> = Vec::with_capacity(nodes.len());
    let mut names = std::collections::BTreeSet::new();
    for n in nodes {
        if !names.insert(n.name.as_str()) {
            return Err(GraphError::Twice(n.name.clone()));
        }
        if n.inputs.len() != n.op.arity() {
            return Err(GraphError::Arity {
                node: n.name.clone(),
                class: n.op.class(),
                found: n.inputs.len(),
                expected: n.op.arity(),
            });
        }
        let mut given: Vec<&[usize]> = Vec::new();
        for v in &n.inputs {
            given.push(match v {
                GraphValue::Input => &first,
                GraphValue::Node(i) if *i < shapes.len() => &shapes[*i],
                GraphValue::Node(i) => return Err(GraphError::Order(n.name.clone(), *i)),
            });
        }
        let from = n.inputs.contains(&GraphValue::Input).then_some(input);
        let shape = one(&n.op, &given, from).map_err(|why| GraphError::Shape {
            node: n.name.clone(),
            class: n.op.class(),
            shape: given[0].to_vec(),
            why,
        })?;
        shapes.push(shape);
    }
    match shapes.last().map(Vec::as_slice) {
        None => Err(GraphError::Empty),
        Some([_] | [_, _]) => Ok(shapes),
        Some(s) => Err(GraphError::Result(s.to_vec())),
    }
}

//! Shapes of all values, or which node cannot take what it is given.
use super::{GraphError, GraphNode, GraphValue, InputSpec, Op};

/// Why an operation cannot take the shape that it is given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ShapeError {
    /// A window of nothing, or one that stays where it is.
    #[error("its kernel and stride have to be positive")]
    EmptyWindow,
    /// A window that does not fit.
    #[error("its window of {kernel} is larger than {size} with a padding of {padding}")]
    LargeWindow {
        /// Its length.
        kernel: usize,
        /// Length of the input.
        size: usize,
        /// Zeros at each end.
        padding: usize,
    },
    /// Zeros beyond the middle of a window.
    #[error("its padding is more than half of its window")]
    LargePadding,
    /// Another form.
    #[error("{0} is needed")]
    Needs(&'static str),
    /// Numbers are needed, and tokens given.
    #[error("only an embedding reads tokens")]
    Tokens,
    /// Tokens are needed, and numbers given.
    #[error("it reads tokens, which only the input has")]
    NoTokens,
    /// Groups of a convolution.
    #[error("{groups} groups do not divide {channels} channels and {outputs} outputs")]
    Groups {
        /// How many.
        groups: usize,
        /// Channels of the input.
        channels: usize,
        /// Channels of the output.
        outputs: usize,
    },
    /// Nothing to compute with.
    #[error("it has no features")]
    NoFeatures,
    /// The inputs differ.
    #[error("the other input is {0:?}")]
    OtherInput(Vec<usize>),
    /// Dropout of everything.
    #[error("{0} is no probability below 1")]
    Probability(f32),
    /// Heads of attention.
    #[error("{heads} heads do not divide a third of {features} features")]
    Heads {
        /// How many.
        heads: usize,
        /// Features of the input.
        features: usize,
    },
}

fn window(size: usize, kernel: usize, stride: usize, padding: usize) -> Result<usize, ShapeError> {
    let padded = size + 2 * padding;
    match (kernel, stride) {
        (0, _) | (_, 0) => Err(ShapeError::EmptyWindow),
        _ if kernel > padded => Err(ShapeError::LargeWindow {
            kernel,
            size,
            padding,
        }),
        _ => Ok((padded - kernel) / stride + 1),
    }
}

fn image(shape: &[usize]) -> Result<[usize; 3], ShapeError> {
    <[usize; 3]>::try_from(shape).map_err(|_| ShapeError::Needs("[channels, height, width]"))
}

/// Two shapes multiplied: equal ones, or images and a number for each of their channels.
fn product(a: &[usize], b: &[usize]) -> Result<Vec<usize>, ShapeError> {
    match (a, b) {
        _ if a == b => Ok(a.to_vec()),
        (&[c, _, _], &[d, 1, 1]) if c == d => Ok(a.to_vec()),
        (&[c, 1, 1], &[d, _, _]) if c == d => Ok(b.to_vec()),
        _ => Err(ShapeError::OtherInput(b.to_vec())),
    }
}

/// Queries, keys and values side by side become one result.
fn attention(x: &[usize], heads: usize) -> Result<Vec<usize>, ShapeError> {
    match *x {
        [t, f] if heads > 0 && f % (3 * heads) == 0 => Ok(vec![t, f / 3]),
        [_, features] => Err(ShapeError::Heads { heads, features }),
        _ => Err(ShapeError::Needs("[length, 3 * features]")),
    }
}

/// Shape of the result of one operation.
fn one(op: &Op, shapes: &[&[usize]], input: Option<&InputSpec>) -> Result<Vec<usize>, ShapeError> {
    let x = shapes[0];
    if matches!(input, Some(InputSpec::Tokens { .. })) && !matches!(op, Op::Embedding { .. }) {
        return Err(ShapeError::Tokens);
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
                return Err(ShapeError::Groups {
                    groups: *groups,
                    channels: c,
                    outputs: *outputs,
                });
            }
            let h = window(h, kernel[0], stride[0], padding[0])?;
            let w = window(w, kernel[1], stride[1], padding[1])?;
            vec![*outputs, h, w]
        }
        Op::Linear { outputs, .. } => {
            let mut s = x.to_vec();
            match s.last_mut() {
                Some(last) if *last > 0 && *outputs > 0 => *last = *outputs,
                _ => return Err(ShapeError::NoFeatures),
            }
            s
        }
        Op::BatchNorm { .. } => image(x)?.to_vec(),
        Op::LayerNorm { .. } if x.is_empty() => return Err(ShapeError::NoFeatures),
        Op::Add if shapes[0] != shapes[1] => {
            return Err(ShapeError::OtherInput(shapes[1].to_vec()));
        }
        Op::Mul => product(x, shapes[1])?,
        Op::MaxPool {
            kernel,
            stride,
            padding,
        } => {
            let [c, h, w] = image(x)?;
            if 2 * padding > *kernel {
                return Err(ShapeError::LargePadding);
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
            return Err(ShapeError::Probability(*p));
        }
        Op::Embedding { features } => match input {
            Some(InputSpec::Tokens { length, .. }) => vec![*length, *features],
            _ => return Err(ShapeError::NoTokens),
        },
        Op::Position if x.len() != 2 => return Err(ShapeError::Needs("[length, features]")),
        Op::Attention { heads, .. } => attention(x, *heads)?,
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

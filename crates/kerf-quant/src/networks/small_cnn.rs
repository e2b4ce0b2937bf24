//! A small convolutional network: for tests, and for a first result within minutes on a CPU.
use super::{NetworkError, image};
use crate::graph::{Graph, GraphBuilder, GraphValue, InputSpec, Op};

pub(super) fn make(input: &InputSpec, classes: usize) -> Result<Graph, NetworkError> {
    let mut b = GraphBuilder::images("small-cnn", image("small-cnn", input)?);
    let mut x = GraphValue::Input;
    let widths = [16, 32, 64];
    for (i, width) in widths.into_iter().enumerate() {
        let n = i + 1;
        x = b.conv(format!("conv{n}"), x, width, 3, 1, 1);
        x = b.batch_norm(format!("bn{n}"), x);
        x = b.relu(format!("relu{n}"), x);
        if n < widths.len() {
            let pool = Op::MaxPool {
                kernel: 2,
                stride: 2,
                padding: 0,
            };
            x = b.add(format!("pool{n}"), pool, &[x]);
        }
    }
    x = b.add("avgpool", Op::GlobalAvgPool, &[x]);
    x = b.add("flatten", Op::Flatten, &[x]);
    b.linear("fc", x, classes);
    Ok(b.finish()?)
}

//! EfficientNet-B0 (Tan and Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", 2019) for
//! small images: the first convolution has step 1. Names are torchvision's.
use crate::graph::{Graph, GraphBuilder, GraphError, GraphValue, InitStyle, Op};

/// Expansion, kernel, first step, channels and blocks of each stage.
const STAGES: [(usize, usize, usize, usize, usize); 7] = [
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
];

/// Whole blocks are left out in training with a probability that grows to this.
const DROP_SAMPLE: f32 = 0.2;

/// The network for images `[channels, height, width]`.
pub fn efficientnet_b0(image: [usize; 3], classes: usize) -> Result<Graph, GraphError> {
    let mut b = GraphBuilder::images("efficientnet-b0", image).style(InitStyle::KaimingFanOut);
    let x = b.conv("features.0.0", GraphValue::Input, 32, 3, 1, 1); // step 2 for large images
    let x = b.batch_norm("features.0.1", x);
    let mut x = b.add("features.0.2", Op::Silu, &[x]);
    let mut channels = 32;
    let total: usize = STAGES.iter().map(|s| s.4).sum();
    let mut done = 0;
    for (stage, (expansion, kernel, first, outputs, blocks)) in STAGES.into_iter().enumerate() {
        for block in 0..blocks {
            let stride = if block == 0 { first } else { 1 };
            let p = format!("features.{}.{block}", stage + 1);
            let inner = channels * expansion;
            let (mut y, mut k) = (x, 0);
            if expansion != 1 {
                y = b.conv(format!("{p}.block.0.0"), y, inner, 1, 1, 1);
                y = b.batch_norm(format!("{p}.block.0.1"), y);
                y = b.add(format!("{p}.block.0.2"), Op::Silu, &[y]);
                k = 1;
            }
            y = b.conv(format!("{p}.block.{k}.0"), y, inner, kernel, stride, inner);
            y = b.batch_norm(format!("{p}.block.{k}.1"), y);
            y = b.add(format!("{p}.block.{k}.2"), Op::Silu, &[y]);
            y = squeeze(
                &mut b,
                &format!("{p}.block.{}", k + 1),
                y,
                channels / 4,
                inner,
            );
            y = b.conv(format!("{p}.block.{}.0", k + 2), y, outputs, 1, 1, 1);
            y = b.batch_norm(format!("{p}.block.{}.1", k + 2), y);
            if stride == 1 && channels == outputs {
                let drop = DROP_SAMPLE * done as f32 / total as f32;
                y = b.add(
                    format!("{p}.stochastic_depth"),
                    Op::DropSample { p: drop },
                    &[y],
                );
                y = b.add(format!("{p}.add"), Op::Add, &[y, x]);
            }
            x = y;
            channels = outputs;
            done += 1;
        }
    }
    let x = b.conv("features.8.0", x, 1280, 1, 1, 1);
    let x = b.batch_norm("features.8.1", x);
    let x = b.add("features.8.2", Op::Silu, &[x]);
    let x = b.add("avgpool", Op::GlobalAvgPool, &[x]);
    let x = b.add("flatten", Op::Flatten, &[x]);
    let x = b.add("classifier.0", Op::Dropout { p: 0.2 }, &[x]);
    b.linear("classifier.1", x, classes);
    b.finish()
}

/// Channels weighted by what the whole image says of them (Hu et al., "Squeeze-and-Excitation Networks", 2018).
fn squeeze(
    b: &mut GraphBuilder,
    p: &str,
    x: GraphValue,
    squeezed: usize,
    channels: usize,
) -> GraphValue {
    let point = |outputs| Op::Conv2d {
        outputs,
        kernel: [1, 1],
        stride: [1, 1],
        padding: [0, 0],
        groups: 1,
        bias: true,
    };
    let s = b.add(format!("{p}.avgpool"), Op::GlobalAvgPool, &[x]);
    let s = b.add(format!("{p}.fc1"), point(squeezed), &[s]);
    let s = b.add(format!("{p}.activation"), Op::Silu, &[s]);
    let s = b.add(format!("{p}.fc2"), point(channels), &[s]);
    let s = b.add(format!("{p}.scale_activation"), Op::Sigmoid, &[s]);
    b.add(format!("{p}.mul"), Op::Mul, &[s, x])
}

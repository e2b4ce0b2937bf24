//! MobileNetV2 (Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018) for small images: the
//! first convolution and the second stage have step 1. Names are torchvision's.
use crate::graph::{Graph, GraphBuilder, GraphError, GraphValue, InitStyle, Op};

/// Expansion, channels, blocks and first step of each stage.
const STAGES: [(usize, usize, usize, usize); 7] = [
    (1, 16, 1, 1),
    (6, 24, 2, 1), // 2 for large images
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
];

/// The network for images `[channels, height, width]`.
pub fn mobilenet_v2(image: [usize; 3], classes: usize) -> Result<Graph, GraphError> {
    let mut b = GraphBuilder::images("mobilenet-v2", image).style(InitStyle::KaimingFanOut);
    let x = b.conv("features.0.0", GraphValue::Input, 32, 3, 1, 1); // step 2 for large images
    let x = b.batch_norm("features.0.1", x);
    let mut x = b.add("features.0.2", Op::Relu6, &[x]);
    let (mut channels, mut feature) = (32, 1);
    for (expansion, outputs, blocks, first) in STAGES {
        for block in 0..blocks {
            let stride = if block == 0 { first } else { 1 };
            let p = format!("features.{feature}.conv");
            let (mut y, mut k) = (x, 0);
            let inner = channels * expansion;
            if expansion != 1 {
                y = b.conv(format!("{p}.0.0"), y, inner, 1, 1, 1);
                y = b.batch_norm(format!("{p}.0.1"), y);
                y = b.add(format!("{p}.0.2"), Op::Relu6, &[y]);
                k = 1;
            }
            y = b.conv(format!("{p}.{k}.0"), y, inner, 3, stride, inner);
            y = b.batch_norm(format!("{p}.{k}.1"), y);
            y = b.add(format!("{p}.{k}.2"), Op::Relu6, &[y]);
            y = b.conv(format!("{p}.{}", k + 1), y, outputs, 1, 1, 1);
            y = b.batch_norm(format!("{p}.{}", k + 2), y);
            if stride == 1 && channels == outputs {
                y = b.add(format!("features.{feature}.add"), Op::Add, &[x, y]);
            }
            x = y;
            channels = outputs;
            feature += 1;
        }
    }
    let x = b.conv(format!("features.{feature}.0"), x, 1280, 1, 1, 1);
    let x = b.batch_norm(format!("features.{feature}.1"), x);
    let x = b.add(format!("features.{feature}.2"), Op::Relu6, &[x]);
    let x = b.add("avgpool", Op::GlobalAvgPool, &[x]);
    let x = b.add("flatten", Op::Flatten, &[x]);
    let x = b.add("classifier.0", Op::Dropout { p: 0.2 }, &[x]);
    b.linear("classifier.1", x, classes);
    b.finish()
}

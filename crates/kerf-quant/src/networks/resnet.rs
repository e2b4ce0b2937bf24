//! ResNet-18, -50, -101 and -152 (He et al., "Deep Residual Learning for Image Recognition", 2016) for small images:
//! the first convolution is 3x3 with step 1, and no pooling follows it. Names are torchvision's.
use crate::graph::{Graph, GraphBuilder, GraphError, GraphValue, InitStyle, Op};

/// How deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Two 3x3 convolutions a block.
    D18,
    /// Blocks of 1x1, 3x3 and 1x1 from here on.
    D50,
    /// As 50, with 23 blocks in the third stage.
    D101,
    /// As 50, with 8 and 36 blocks in the second and third stage.
    D152,
}

impl Depth {
    /// The number.
    pub fn number(self) -> usize {
        match self {
            Depth::D18 => 18,
            Depth::D50 => 50,
            Depth::D101 => 101,
            Depth::D152 => 152,
        }
    }
    fn blocks(self) -> [usize; 4] {
        match self {
            Depth::D18 => [2, 2, 2, 2],
            Depth::D50 => [3, 4, 6, 3],
            Depth::D101 => [3, 4, 23, 3],
            Depth::D152 => [3, 8, 36, 3],
        }
    }
    fn bottleneck(self) -> bool {
        self != Depth::D18
    }
}

/// The network for images `[channels, height, width]`; `width` is 64 in the publication.
pub fn resnet(
    depth: Depth,
    width: usize,
    image: [usize; 3],
    classes: usize,
) -> Result<Graph, GraphError> {
    let name = match width {
        64 => format!("resnet{}", depth.number()),
        w => format!("resnet{}-w{w}", depth.number()),
    };
    let mut b = GraphBuilder::images(name, image).style(InitStyle::KaimingFanOut);
    let x = b.conv("conv1", GraphValue::Input, width, 3, 1, 1);
    let x = b.batch_norm("bn1", x);
    let mut x = b.relu("relu", x);
    let expansion = if depth.bottleneck() { 4 } else { 1 };
    let mut channels = width;
    for (stage, &blocks) in depth.blocks().iter().enumerate() {
        let inner = width << stage;
        for block in 0..blocks {
            let stride = if stage > 0 && block == 0 { 2 } else { 1 };
            let p = format!("layer{}.{block}", stage + 1);
            let y = if depth.bottleneck() {
                bottleneck(&mut b, &p, x, inner, stride)
            } else {
                basic(&mut b, &p, x, inner, stride)
            };
            let outer = inner * expansion;
            let shortcut = if stride != 1 || channels != outer {
                let s = b.conv(format!("{p}.downsample.0"), x, outer, 1, stride, 1);
                b.batch_norm(format!("{p}.downsample.1"), s)
            } else {
                x
            };
            channels = outer;
            let sum = b.add(format!("{p}.add"), Op::Add, &[y, shortcut]);
            x = b.relu(format!("{p}.relu"), sum);
        }
    }
    let x = b.add("avgpool", Op::GlobalAvgPool, &[x]);
    let x = b.add("flatten", Op::Flatten, &[x]);
    b.linear("fc", x, classes);
    b.finish()
}

fn basic(b: &mut GraphBuilder, p: &str, x: GraphValue, inner: usize, stride: usize) -> GraphValue {
    let y = b.conv(format!("{p}.conv1"), x, inner, 3, stride, 1);
    let y = b.batch_norm(format!("{p}.bn1"), y);
    let y = b.relu(format!("{p}.relu1"), y);
    let y = b.conv(format!("{p}.conv2"), y, inner, 3, 1, 1);
    b.batch_norm(format!("{p}.bn2"), y)
}

fn bottleneck(
    b: &mut GraphBuilder,
    p: &str,
    x: GraphValue,
    inner: usize,
    stride: usize,
) -> GraphValue {
    let y = b.conv(format!("{p}.conv1"), x, inner, 1, 1, 1);
    let y = b.batch_norm(format!("{p}.bn1"), y);
    let y = b.relu(format!("{p}.relu1"), y);
    // As torchvision: the 3x3 convolution steps, not the first (the publication's).
    let y = b.conv(format!("{p}.conv2"), y, inner, 3, stride, 1);
    let y = b.batch_norm(format!("{p}.bn2"), y);
    let y = b.relu(format!("{p}.relu2"), y);
    let y = b.conv(format!("{p}.conv3"), y, inner * 4, 1, 1, 1);
    b.batch_norm(format!("{p}.bn3"), y)
}

//! Networks against what torchvision has: counts of parameters, names and shapes.
use super::*;

fn made(name: &str) -> Graph {
    by_name(name, &InputSpec::Reals(vec![3, 32, 32]), 10).unwrap()
}

#[test]
fn parameters_are_as_many_as_in_torchvision() {
    // torchvision's numbers for 10 classes; the ResNets' first convolution is 3x3 here, 7x7 there (7,680 fewer).
    for (name, count) in [
        ("resnet18", 11_173_962),
        ("resnet50", 23_520_842),
        ("resnet101", 42_512_970),
        ("resnet152", 58_156_618),
        ("efficientnet-b0", 4_020_358),
        ("mobilenet-v2", 2_236_682),
    ] {
        assert_eq!(made(name).trained(), count, "{name}");
    }
}

#[test]
fn names_and_shapes_are_torchvisions() {
    let has = |net: &str, name: &str, shape: &[usize]| {
        let all = made(net).params();
        let p = all.iter().find(|p| p.name == name);
        assert_eq!(p.map(|p| p.shape.as_slice()), Some(shape), "{net} {name}");
    };
    has("resnet18", "layer4.1.bn2.running_var", &[512]);
    has("resnet18", "layer2.0.downsample.0.weight", &[128, 64, 1, 1]);
    has("resnet50", "layer3.5.conv3.weight", &[1024, 256, 1, 1]);
    has("resnet50", "fc.weight", &[10, 2048]);
    has(
        "efficientnet-b0",
        "features.1.0.block.1.fc1.weight",
        &[8, 32, 1, 1],
    );
    has("efficientnet-b0", "features.6.3.block.2.fc2.bias", &[1152]);
    has(
        "efficientnet-b0",
        "features.7.0.block.3.1.running_mean",
        &[320],
    );
    has("mobilenet-v2", "features.1.conv.1.weight", &[16, 32, 1, 1]);
    has(
        "mobilenet-v2",
        "features.17.conv.1.0.weight",
        &[960, 1, 3, 3],
    );
    has("mobilenet-v2", "features.18.1.weight", &[1280]);
}

#[test]
fn the_work_of_resnet18_is_known() {
    // 0.556 billion multiplications for a 32x32 image.
    let macs: u64 = made("resnet18").macs().iter().sum();
    assert_eq!(macs, 555_422_720);
}

use super::*;
use crate::networks;

fn images() -> InputSpec {
    InputSpec::Reals(vec![1, 28, 28])
}

#[test]
fn names_and_shapes_are_those_of_pytorch() {
    let g = networks::by_name("small-cnn", &images(), 10).unwrap();
    let all = g.params();
    let names: Vec<&str> = all.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        names[..6],
        [
            "conv1.weight",
            "bn1.weight",
            "bn1.bias",
            "bn1.running_mean",
            "bn1.running_var",
            "bn1.num_batches_tracked"
        ]
    );
    assert_eq!(all[0].shape, [16, 1, 3, 3]);
    assert_eq!(names.last(), Some(&"fc.bias"));
    assert_eq!(
        g.trained(),
        16 * 9 + 32 * 16 * 9 + 64 * 32 * 9 + 2 * (16 + 32 + 64) + 650
    );
    assert_eq!((g.classes(), g.predictions()), (10, 1));
    let text = InputSpec::Tokens {
        length: 16,
        count: 65,
    };
    let g = networks::by_name("text-transformer", &text, 65).unwrap();
    assert_eq!((g.classes(), g.predictions()), (65, 16));
    assert!(
        g.params()
            .iter()
            .any(|p| p.name == "transformer.h.1.attn.c_attn.weight")
    );
}

#[test]
fn what_does_not_fit_is_named() {
    let mut b = GraphBuilder::images("n", [3, 8, 8]);
    let x = b.conv("stem", GraphValue::Input, 8, 3, 1, 1);
    let y = b.conv("down", x, 8, 3, 2, 1);
    b.add("join", Op::Add, &[x, y]);
    let e = b.finish().unwrap_err();
    assert_eq!(
        e.to_string(),
        "node `join` (add) cannot take [8, 8, 8]: the other input is [8, 4, 4]"
    );
    let mut b = GraphBuilder::images("n", [3, 8, 8]);
    b.conv("a", GraphValue::Input, 8, 3, 1, 2);
    assert!(b.finish().unwrap_err().to_string().contains("`a` (conv)"));
    let mut b = GraphBuilder::images("n", [3, 8, 8]);
    let x = b.add("a", Op::Relu, &[GraphValue::Input]);
    b.add("a", Op::Relu, &[x]);
    assert_eq!(b.finish().unwrap_err(), GraphError::Twice("a".into()));
    let b = GraphBuilder::images("n", [3, 8, 8]);
    assert_eq!(b.finish().unwrap_err(), GraphError::Empty);
    let mut b = GraphBuilder::images("n", [3, 8, 8]);
    b.add("a", Op::Relu, &[GraphValue::Node(3)]);
    assert_eq!(b.finish().unwrap_err(), GraphError::Order("a".into(), 3));
    let e = networks::by_name("small-cnn", &InputSpec::Reals(vec![1, 2, 2]), 10);
    assert!(e.err().is_some_and(|e| e.to_string().contains("pool2")));
}

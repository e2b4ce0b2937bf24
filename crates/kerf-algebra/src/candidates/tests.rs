//! Random clusters: over the real numbers, what rules make of them is what they were.
use super::*;
use crate::clusters::{ClusterLeaf, ClusterNode, ClusterOperand};
use kerf_num::random::SplitMix64;

/// Clocks of a device on which everything but arithmetic is slow.
fn slow_functions() -> CostTable {
    CostTable::new(|name| match name {
        "add" | "mul" | "fma" => 1.0,
        "rcp" | "rsqrt" => 6.0,
        "div" | "sqrt" => 9.0,
        "pow" => 50.0,
        _ => 20.0,
    })
}

/// A random cluster of some nodes; its last ones are outputs.
fn random_cluster(random: &mut SplitMix64) -> ExpressionCluster {
    use PureOperation::*;
    let mut pick = |n: usize| random.bits() as usize % n;
    let leaves = 2 + pick(4);
    let mut nodes: Vec<ClusterNode> = Vec::new();
    // Rooted leaves are positive, and so what is not a difference is defined mostly.
    let often = [Add, Mul, Mul, Div, Div, Sqrt, Rsqrt, Fma, Sub, Neg];
    let seldom = [Exp, Log, Pow, Hypot, Cbrt, Sin, Cos, Abs, Exp2];
    for k in 0..3 + pick(14) {
        let operation = match pick(5) {
            0 => seldom[pick(seldom.len())],
            _ => often[pick(often.len())],
        };
        let mut operands: Vec<ClusterOperand> = (0..operation.arity())
            .map(|_| match pick(8) {
                0 => ClusterOperand::Constant([0.5, 1.0, 2.0, 3.0, 10.0][pick(5)]),
                1..4 if k > 0 => ClusterOperand::Node(pick(k)),
                _ => ClusterOperand::Leaf(pick(leaves)),
            })
            .collect();
        if operation == Pow {
            operands[1] = ClusterOperand::Constant([2.0, 3.0, 0.5, -1.5, -1.0, 0.25][pick(6)]);
        }
        nodes.push(ClusterNode {
            site: k,
            numbers: (0..operands.len() as u32).map(Some).collect(),
            operation,
            operands,
            loop_depth: 1,
            line: 1 + k as u32,
            variable: None,
        });
    }
    let used = |k: usize| {
        let uses = |n: &ClusterNode| n.operands.contains(&ClusterOperand::Node(k));
        nodes.iter().any(uses)
    };
    let outputs = (0..nodes.len()).filter(|k| !used(*k)).collect();
    // Named by its first use; what is not used is not named.
    let first = |k: usize| {
        let at = |n: &ClusterNode| {
            let all = n.operands.iter();
            let operand = all.clone().position(|o| *o == ClusterOperand::Leaf(k))?;
            Some((n.site, operand as u32))
        };
        nodes.iter().find_map(at).unwrap_or((1000, k as u32))
    };
    let leaf = |k: usize| ClusterLeaf {
        place: RewritingOperand::Leaf {
            site: first(k).0,
            operand: first(k).1,
        },
        name: format!("x{k}"),
        loop_depth: (k % 2) as u32,
    };
    ExpressionCluster {
        format: Format::F64,
        outputs,
        leaves: (0..leaves).map(leaf).collect(),
        nodes,
    }
}

#[test]
fn candidates_of_random_clusters_are_equal_over_the_reals() {
    let costs = slow_functions();
    let mut random = SplitMix64::new(7);
    let (mut tried, mut compared) = (0, 0);
    let (mut near, mut elsewhere) = (0, 0);
    for case in 0..150 {
        let c = random_cluster(&mut random);
        let points = Points::of_many_bits(&c);
        let others = Points::others(&c);
        for k in candidates(&c, &costs) {
            tried += 1;
            // The estimate holds at other points, roughly: these are as many, and cancel elsewhere.
            if let Some(there) = others.rewritten(&c, &k.rewriting) {
                let estimate = k.error.max(1e-16);
                near += usize::from(there <= 30.0 * estimate);
                elsewhere += 1;
            }
            assert!(k.cost < 1.0);
            // Where the program's own expression is defined at all.
            let Some(error) = points.rewritten(&c, &k.rewriting) else {
                continue;
            };
            compared += 1;
            // Numbers that were folded are rounded to the format.
            let short = |o: &RewritingOperand| match o {
                RewritingOperand::Constant(c) => (c * 64.0).fract() == 0.0,
                _ => true,
            };
            let steps = k.rewriting.steps.iter().flat_map(|s| &s.operands);
            let exact = steps.chain(k.rewriting.outputs.values()).all(short);
            assert!(
                error < if exact { 1e-40 } else { 1e-12 },
                "case {case}: {error:e}\n{c:#?}\n{:#?}",
                k.rewriting
            );
        }
    }
    assert!(tried > 60 && compared > 40, "{tried} {compared}");
    assert!(20 * near >= 19 * elsewhere, "{near} of {elsewhere}");
}

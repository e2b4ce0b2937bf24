//! Which steps of a rewriting have the values of the program's own operations.
use crate::clusters::{ClusterOperand, ExpressionCluster};
use kerf_ir::pure_operation::PureOperation;
use kerf_ir::rewriting::{Rewriting, RewritingOperand};
use std::collections::{BTreeMap, BTreeSet};

/// Node of the cluster that a step has the value of.
pub(crate) type Named = BTreeMap<usize, usize>;

/// Nodes whose step applies their operation to the same values.
pub(crate) fn unchanged(c: &ExpressionCluster, r: &Rewriting, node_of: &Named) -> BTreeSet<usize> {
    let same = |(step, node): (&usize, &usize)| {
        let (n, s) = (&c.nodes[*node], &r.steps[*step]);
        let equal = |(a, b): (&ClusterOperand, &RewritingOperand)| match (a, b) {
            (ClusterOperand::Node(k), RewritingOperand::Step(j)) => node_of.get(j) == Some(k),
            (ClusterOperand::Leaf(k), leaf) => c.leaves[*k].place == *leaf,
            (ClusterOperand::Constant(x), RewritingOperand::Constant(y)) => {
                x.to_bits() == y.to_bits()
            }
            _ => false,
        };
        let all = |flip: bool| {
            let mut b: Vec<&RewritingOperand> = s.operands.iter().collect();
            if flip {
                b.swap(0, 1);
            }
            n.operands.iter().zip(b).all(equal)
        };
        use PureOperation::{Add, Fma, Mul};
        let commutes = matches!(n.operation, Add | Mul | Fma);
        n.operation == s.operation && (all(false) || commutes && all(true))
    };
    let kept = node_of.iter().filter(|p| same(*p));
    kept.map(|p| *p.1).collect()
}

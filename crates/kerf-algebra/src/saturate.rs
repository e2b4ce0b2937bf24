//! The e-graph of a cluster, filled by rules.
//!
//! It ends by iterations and nodes, never by time, and egg's maps are in the order of insertion (its feature
//! `deterministic`): the same cluster gives the same e-graph everywhere.
use crate::clusters::{ClusterNode, ClusterOperand, ExpressionCluster};
use crate::rules::{RULES, Rule, RuleCondition, RuleKind};
use crate::term::{Graph, LeafFacts, LeafNumber, NumberBits, Term, applied};
use egg::{BackoffScheduler, ConditionalApplier, Id, Pattern, Rewrite, Runner, Subst, Var};
use kerf_ir::pure_operation::PureOperation;
use kerf_num::Format;
use std::time::Duration;

/// Rounds of all rules, at most.
const ITERATIONS: usize = 9;
/// Nodes of an e-graph, at most; the round in which there are more is the last.
const NODES: usize = 4_000;
/// Matches of a rule in one round; one with more rests for some rounds.
const MATCHES: usize = 400;

/// A rule whose text is not one: a mistake of ours, found by the first test that builds all of them.
const BAD_RULE: &str = "rules should parse";

fn meets(g: &Graph, subst: &Subst, when: &RuleCondition) -> bool {
    let facts = |v: &str| {
        v.parse::<Var>()
            .ok()
            .and_then(|v| subst.get(v))
            .map(|id| g[*id].data)
    };
    match when {
        RuleCondition::NonNegative(v) | RuleCondition::Positive(v) => {
            facts(v).is_some_and(|f| f.non_negative && f.constant.is_none_or(|c| c.value() > 0.0))
        }
        RuleCondition::NonZero(v) => {
            facts(v).is_none_or(|f| f.constant.is_none_or(|c| c.value() != 0.0))
        }
        RuleCondition::PowerOfTwo(v) => facts(v).and_then(|f| f.constant).is_some_and(|c| {
            let (v, r) = (c.value(), 1.0 / c.value());
            let mantissa = |x: f64| x.to_bits() & ((1 << 52) - 1);
            let normal = |x: f64| x.is_normal() && x.abs() < 1e37 && x.abs() > 1e-37;
            normal(v) && normal(r) && mantissa(v) == 0
        }),
    }
}

/// A rule as egg has it.
fn rewrite(r: &'static Rule) -> Rewrite<Term, LeafFacts> {
    let from: Pattern<Term> = r.from.parse().expect(BAD_RULE);
    let to: Pattern<Term> = r.to.parse().expect(BAD_RULE);
    let condition = |g: &mut Graph, _: Id, s: &Subst| r.when.iter().all(|w| meets(g, s, w));
    let made = match r.when.is_empty() {
        true => Rewrite::new(r.name, from, to),
        false => {
            let applier = ConditionalApplier {
                condition,
                applier: to,
            };
            Rewrite::new(r.name, from, applier)
        }
    };
    made.expect(BAD_RULE)
}

/// A filled e-graph.
pub(crate) struct Saturated {
    pub graph: Graph,
    /// Class of each node of the cluster.
    pub nodes: Vec<Id>,
}

/// Does a negative first operand give NaN? A power whose exponent is no constant is taken not to be an integer one.
fn is_rooted(n: &ClusterNode) -> bool {
    use PureOperation::{Log, Log2, Log10, Pow, Rsqrt, Sqrt};
    match (n.operation, n.operands.last()) {
        (Sqrt | Rsqrt | Log | Log2 | Log10, _) => true,
        (Pow, Some(ClusterOperand::Constant(c))) => c.fract() != 0.0,
        (Pow, _) => true,
        _ => false,
    }
}

/// The e-graph of a cluster as it is written.
fn unsaturated(c: &ExpressionCluster) -> Saturated {
    let mut graph = Graph::new(LeafFacts {
        loop_depths: c.leaves.iter().map(|l| l.loop_depth).collect(),
        single: c.format == Format::F32,
    });
    let mut nodes: Vec<Id> = Vec::new();
    for n in &c.nodes {
        let of = |g: &mut Graph, o: &ClusterOperand| match o {
            ClusterOperand::Node(k) => nodes[*k],
            ClusterOperand::Leaf(k) => g.add(Term::Leaf(LeafNumber(*k as u32))),
            ClusterOperand::Constant(v) => g.add(Term::Number(NumberBits(v.to_bits()))),
        };
        let to: Vec<Id> = n.operands.iter().map(|o| of(&mut graph, o)).collect();
        if is_rooted(n) {
            let mut known = graph[to[0]].data;
            known.non_negative = true;
            graph.set_analysis_data(to[0], known);
        }
        let term = applied(n.operation, &to).expect("operations should have their operands");
        nodes.push(graph.add(term));
    }
    graph.rebuild();
    Saturated { graph, nodes }
}

/// The e-graph of a cluster with all that rules up to a kind make of it; without a kind, as it is written.
pub(crate) fn saturated(c: &ExpressionCluster, kind: Option<RuleKind>) -> Saturated {
    let Saturated { graph, nodes } = unsaturated(c);
    let Some(kind) = kind else {
        return Saturated { graph, nodes };
    };
    let rules: Vec<_> = RULES
        .iter()
        .filter(|r| r.kind <= kind)
        .map(rewrite)
        .collect();
    let scheduler = BackoffScheduler::default()
        .with_initial_match_limit(MATCHES)
        .with_ban_length(2);
    let runner = Runner::<Term, LeafFacts, ()>::new(graph.analysis.clone())
        .with_egraph(graph)
        .with_iter_limit(ITERATIONS)
        .with_node_limit(NODES)
        .with_time_limit(Duration::MAX)
        .with_scheduler(scheduler)
        .run(&rules);
    let graph = runner.egraph;
    let nodes = nodes.into_iter().map(|n| graph.find(n)).collect();
    Saturated { graph, nodes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rules_are_rules() {
        let names: std::collections::BTreeSet<&str> = RULES.iter().map(|r| r.name).collect();
        assert_eq!(names.len(), RULES.len(), "two rules of one name");
        for r in RULES {
            assert_eq!(rewrite(r).name.as_str(), r.name);
        }
    }
}

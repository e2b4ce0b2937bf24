//! Candidates of a cluster: cheaper ways to write it, on the front of cost against estimated error.
use crate::changes::{ExpressionChange, changes};
use crate::clusters::ExpressionCluster;
use crate::correspondence::Named;
use crate::cost_table::CostTable;
use crate::estimate::Points;
use crate::extract::{Extracted, extracted};
use crate::rules::RuleKind;
use crate::saturate::{Saturated, saturated};
use crate::shrink::shrunk;
use crate::term::{Term, folded, operation};
use egg::{Id, Language};
use kerf_ir::pure_operation::PureOperation;
use kerf_ir::rewriting::{Rewriting, RewritingOperand, RewritingStep};
use kerf_num::Format;
use std::collections::BTreeMap;

/// A candidate has to save this part of the cluster's cost.
pub const LEAST_SAVING: f64 = 0.02;

/// One way to write a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct RewriteCandidate {
    /// What a plan says.
    pub rewriting: Rewriting,
    /// Its cost over that of the cluster as it is written.
    pub cost: f64,
    /// Relative error by rounding, estimated.
    pub error: f64,
    /// The same of the cluster as it is written.
    pub own_error: f64,
    /// What changes, for people.
    pub changes: Vec<ExpressionChange>,
}

/// Steps of chosen nodes, in order.
struct Steps<'a> {
    s: &'a Saturated,
    chosen: &'a Extracted,
    cluster: &'a ExpressionCluster,
    steps: Vec<RewritingStep>,
    /// Value of a class; none while its operands are visited.
    done: BTreeMap<Id, Option<RewritingOperand>>,
}

impl Steps<'_> {
    /// The value of a class; none if its choice goes in a circle.
    fn value(&mut self, class: Id) -> Option<RewritingOperand> {
        let class = self.s.graph.find(class);
        if let Some(known) = self.done.get(&class) {
            return *known;
        }
        self.done.insert(class, None);
        let node = self.chosen.node(class)?;
        let value = match node {
            Term::Number(n) => RewritingOperand::Constant(n.value()),
            Term::Leaf(n) => self.cluster.leaves[n.0 as usize].place,
            _ => {
                let operation = operation(node)?;
                let operands: Option<Vec<RewritingOperand>> =
                    node.children().iter().map(|c| self.value(*c)).collect();
                self.step(operation, operands?)
            }
        };
        self.done.insert(class, Some(value));
        Some(value)
    }

    fn step(
        &mut self,
        operation: PureOperation,
        operands: Vec<RewritingOperand>,
    ) -> RewritingOperand {
        let numbers: Option<Vec<f64>> = operands
            .iter()
            .map(|o| match o {
                RewritingOperand::Constant(c) => Some(*c),
                _ => None,
            })
            .collect();
        let number = numbers.and_then(|x| folded(operation, &x, self.cluster.format));
        match number {
            Some(n) => RewritingOperand::Constant(n),
            None => {
                self.steps.push(RewritingStep {
                    operation,
                    operands,
                });
                RewritingOperand::Step(self.steps.len() - 1)
            }
        }
    }
}

/// A number that f32 does not hold would be another number there.
fn representable(r: &Rewriting, format: Format) -> bool {
    let fits = |o: &RewritingOperand| match o {
        RewritingOperand::Constant(c) if format == Format::F32 => f64::from(*c as f32) == *c,
        RewritingOperand::Constant(c) => !c.is_nan(),
        _ => true,
    };
    let operands = r.steps.iter().flat_map(|s| &s.operands);
    operands.chain(r.outputs.values()).all(fits)
}

/// The cheapest way to write a cluster by rules up to a kind, and what of it stands for which node.
fn cheapest(
    c: &ExpressionCluster,
    kind: RuleKind,
    costs: &CostTable,
) -> Option<(Rewriting, f64, Named)> {
    let s = saturated(c, Some(kind));
    let chosen = extracted(&s, c, costs)?;
    let mut steps = Steps {
        s: &s,
        chosen: &chosen,
        cluster: c,
        steps: Vec::new(),
        done: BTreeMap::new(),
    };
    let mut outputs = BTreeMap::new();
    for o in &c.outputs {
        outputs.insert(c.nodes[*o].site, steps.value(s.nodes[*o])?);
    }
    let mut named = Named::new();
    for (k, class) in s.nodes.iter().enumerate() {
        if let Some(Some(RewritingOperand::Step(n))) = steps.done.get(&s.graph.find(*class)) {
            named.entry(*n).or_insert(k);
        }
    }
    let rewriting = Rewriting {
        sites: c.sites(),
        steps: steps.steps,
        outputs,
    };
    Some((rewriting, chosen.cost, named))
}

/// Candidates of a cluster, the most accurate first, each cheaper than the one before: levels of a variable.
pub fn candidates(c: &ExpressionCluster, costs: &CostTable) -> Vec<RewriteCandidate> {
    let written = saturated(c, None);
    let Some(own) = extracted(&written, c, costs).filter(|o| o.cost > 0.0) else {
        return Vec::new();
    };
    let points = Points::new(c);
    let Some(own_error) = points.own(c) else {
        return Vec::new();
    };
    let mut out: Vec<RewriteCandidate> = Vec::new();
    for kind in [RuleKind::Rounding, RuleKind::Reordering] {
        let Some((rewriting, cost, named)) = cheapest(c, kind, costs) else {
            continue;
        };
        let cost = cost / own.cost;
        let error = points.rewritten(c, &rewriting).unwrap_or(f64::INFINITY);
        if cost > 1.0 - LEAST_SAVING || !error.is_finite() || !representable(&rewriting, c.format) {
            continue;
        }
        let Some(smaller) = shrunk(c, &rewriting, &named) else {
            continue;
        };
        out.push(RewriteCandidate {
            changes: changes(c, &rewriting, &named),
            rewriting: smaller,
            cost,
            error,
            own_error,
        });
    }
    // The front: what is neither cheaper nor more accurate than another is left out.
    out.sort_by(|a, b| a.error.total_cmp(&b.error).then(a.cost.total_cmp(&b.cost)));
    let mut best = f64::INFINITY;
    out.retain(|k| {
        let better = k.cost < best - LEAST_SAVING;
        best = best.min(k.cost);
        better
    });
    out
}

#[cfg(test)]
mod tests;

//! A rewriting without what it does not change.
//!
//! Operations that a form applies to the same values as the program does stay where they are, with their sites: their
//! formats, counts and positions remain their own, and only what is written differently is replaced.
use crate::clusters::{ClusterOperand, ExpressionCluster};
use crate::correspondence::{Named, unchanged};
use kerf_ir::rewriting::{Rewriting, RewritingOperand, RewritingStep};
use std::collections::{BTreeMap, BTreeSet};

/// Nodes that each node is computed from, itself apart.
fn origins(c: &ExpressionCluster) -> Vec<BTreeSet<usize>> {
    let mut out: Vec<BTreeSet<usize>> = Vec::new();
    for n in &c.nodes {
        let mut all = BTreeSet::new();
        for o in &n.operands {
            if let ClusterOperand::Node(k) = o {
                all.insert(*k);
                all.extend(&out[*k]);
            }
        }
        out.push(all);
    }
    out
}

/// A rewriting with some nodes kept.
struct Shrinking<'a> {
    c: &'a ExpressionCluster,
    r: &'a Rewriting,
    node_of: &'a Named,
    /// Value of a node in the whole rewriting.
    value_of: BTreeMap<usize, RewritingOperand>,
    kept: BTreeSet<usize>,
    origins: Vec<BTreeSet<usize>>,
}

impl Shrinking<'_> {
    /// A value as a leaf: an operand of a node that is replaced; none if it is no such.
    fn leaf(&self, value: ClusterOperand) -> Option<RewritingOperand> {
        let all = self.c.nodes.iter().enumerate();
        for (_, n) in all.filter(|(k, _)| !self.kept.contains(k)) {
            let at = n.operands.iter().position(|o| *o == value);
            if let Some(operand) = at.and_then(|k| n.numbers[k]) {
                let site = n.site;
                return Some(RewritingOperand::Leaf { site, operand });
            }
        }
        None
    }

    /// Replaced nodes whose values kept ones or others use.
    fn outputs(&self) -> Vec<usize> {
        let used = |k: usize| {
            let by = |j: &usize| self.c.nodes[*j].operands.contains(&ClusterOperand::Node(k));
            self.c.outputs.contains(&k) || self.kept.iter().any(by)
        };
        let all = 0..self.c.nodes.len();
        all.filter(|k| !self.kept.contains(k) && used(*k)).collect()
    }

    /// Is every kept node that a value needs there where an output stands? Those that it was computed from are.
    fn check(
        &self,
        value: &RewritingOperand,
        output: usize,
        seen: &mut BTreeSet<usize>,
    ) -> Result<(), usize> {
        let RewritingOperand::Step(step) = value else {
            return Ok(());
        };
        if !seen.insert(*step) {
            return Ok(());
        }
        match self.node_of.get(step).filter(|n| self.kept.contains(n)) {
            Some(node) if self.origins[output].contains(node) => Ok(()),
            Some(node) => Err(*node),
            None => {
                let operands = &self.r.steps[*step].operands;
                operands
                    .iter()
                    .try_for_each(|o| self.check(o, output, seen))
            }
        }
    }

    /// Copies what a value needs into new steps. A node that must not be kept for that is the error.
    fn copy(
        &self,
        value: &RewritingOperand,
        steps: &mut Vec<RewritingStep>,
        done: &mut BTreeMap<usize, RewritingOperand>,
    ) -> Result<RewritingOperand, usize> {
        let step = match value {
            RewritingOperand::Constant(_) => return Ok(*value),
            RewritingOperand::Leaf { .. } => return self.outside(value),
            RewritingOperand::Step(step) => step,
        };
        if let Some(node) = self.node_of.get(step).filter(|n| self.kept.contains(n)) {
            return self.leaf(ClusterOperand::Node(*node)).ok_or(*node);
        }
        if let Some(known) = done.get(step) {
            return Ok(*known);
        }
        let old = &self.r.steps[*step];
        let mut operands = Vec::new();
        for o in &old.operands {
            operands.push(self.copy(o, steps, done)?);
        }
        steps.push(RewritingStep {
            operation: old.operation,
            operands,
        });
        let new = RewritingOperand::Step(steps.len() - 1);
        done.insert(*step, new);
        Ok(new)
    }

    /// A value from outside, named by a node that is replaced.
    fn outside(&self, leaf: &RewritingOperand) -> Result<RewritingOperand, usize> {
        let known = self.c.leaves.iter().position(|l| l.place == *leaf);
        let Some(value) = known.map(ClusterOperand::Leaf) else {
            return Ok(*leaf);
        };
        let uses = |k: &&usize| self.c.nodes[**k].operands.contains(&value);
        match (self.leaf(value), self.kept.iter().find(uses)) {
            (Some(leaf), _) => Ok(leaf),
            (None, Some(kept)) => Err(*kept),
            (None, None) => Ok(*leaf),
        }
    }

    /// The rewriting with what is kept now; a node that must not be is the error.
    fn rewriting(&self) -> Result<Rewriting, usize> {
        let (mut steps, mut done) = (Vec::new(), BTreeMap::new());
        let mut outputs = BTreeMap::new();
        for k in self.outputs() {
            // A value that no step has is an output's own, which is known.
            let Some(value) = self.value_of.get(&k) else {
                return Err(self.user(k).unwrap_or(k));
            };
            self.check(value, k, &mut BTreeSet::new())?;
            let new = self.copy(value, &mut steps, &mut done)?;
            outputs.insert(self.c.nodes[k].site, new);
        }
        let nodes = self.c.nodes.iter().enumerate();
        let replaced = nodes.filter(|(k, _)| !self.kept.contains(k));
        let mut sites: Vec<usize> = replaced.map(|(_, n)| n.site).collect();
        sites.sort_unstable();
        Ok(Rewriting {
            sites,
            steps,
            outputs,
        })
    }

    /// A kept node that uses a node.
    fn user(&self, k: usize) -> Option<usize> {
        let uses = |j: &&usize| {
            let operands = &self.c.nodes[**j].operands;
            operands.contains(&ClusterOperand::Node(k))
        };
        self.kept.iter().find(uses).copied()
    }
}

/// The rewriting without what it leaves as it is; none if that is all.
pub(crate) fn shrunk(c: &ExpressionCluster, r: &Rewriting, node_of: &Named) -> Option<Rewriting> {
    let steps = node_of
        .iter()
        .map(|(step, node)| (*node, RewritingOperand::Step(*step)));
    let mut value_of: BTreeMap<usize, RewritingOperand> = steps.collect();
    for o in &c.outputs {
        if let Some(value) = r.outputs.get(&c.nodes[*o].site) {
            value_of.insert(*o, *value);
        }
    }
    let mut s = Shrinking {
        kept: unchanged(c, r, node_of),
        origins: origins(c),
        c,
        r,
        node_of,
        value_of,
    };
    while s.kept.len() < c.nodes.len() {
        match s.rewriting() {
            Ok(new) => return Some(new),
            // A node that is not kept already can be no reason: nothing is left to try.
            Err(node) if !s.kept.remove(&node) => return Some(r.clone()),
            Err(_) => {}
        }
    }
    None
}

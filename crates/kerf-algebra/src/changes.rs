//! What a rewriting changes, as text: expressions before and after, by source line.
//!
//! A step that has the value of a node of the program is compared with that node. Where both apply one operation to the
//! same values, nothing changed; else the two are written out as far as the next value that stays.
use crate::clusters::{ClusterOperand, ExpressionCluster};
use crate::correspondence::{Named, unchanged};
use kerf_ir::pure_operation::PureOperation;
use kerf_ir::rewriting::{Rewriting, RewritingOperand};
use std::collections::{BTreeMap, BTreeSet};

/// An expression that is written differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionChange {
    /// Source line; 0 if unknown.
    pub line: u32,
    /// Source variable that holds the value.
    pub variable: Option<String>,
    /// As it is written.
    pub before: String,
    /// As it is computed instead.
    pub after: String,
}

/// Characters of an expression, at most: what is longer is cut.
const LONGEST: usize = 160;

/// An operation on texts, each with how tightly it holds together: 2 for products, 1 for sums, 3 for all else.
fn applied(o: PureOperation, x: &[(String, u8)]) -> (String, u8) {
    use PureOperation::*;
    let held = |k: usize, least: u8| match &x[k] {
        (text, tight) if *tight < least => format!("({text})"),
        (text, _) => text.clone(),
    };
    match (o, x.len()) {
        (Add, 2) => (format!("{} + {}", held(0, 1), held(1, 2)), 1),
        (Sub, 2) => (format!("{} - {}", held(0, 1), held(1, 2)), 1),
        (Mul, 2) => (format!("{} * {}", held(0, 2), held(1, 3)), 2),
        (Div, 2) => (format!("{} / {}", held(0, 2), held(1, 3)), 2),
        (Neg, 1) => (format!("-{}", held(0, 3)), 2),
        _ => {
            let all: Vec<&str> = x.iter().map(|t| t.0.as_str()).collect();
            (format!("{}({})", o.name(), all.join(", ")), 3)
        }
    }
}

fn number(c: f64) -> (String, u8) {
    (format!("{c}"), if c < 0.0 { 2 } else { 3 })
}

fn cut(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push_str(" ...");
    }
    text
}

/// Texts of both forms.
struct Texts<'a> {
    c: &'a ExpressionCluster,
    r: &'a Rewriting,
    /// Node that a step stands for, and back.
    node_of: &'a Named,
    step_of: BTreeMap<usize, usize>,
}

impl Texts<'_> {
    /// The name of a node whose value some step has.
    fn name(&self, node: usize) -> Option<(String, u8)> {
        let stays = self.step_of.contains_key(&node);
        let name = self.c.nodes[node].variable.clone().filter(|_| stays);
        name.map(|n| (n, 3))
    }

    fn before(&self, node: usize, top: bool, left: u32) -> (String, u8) {
        if let Some(name) = self.name(node).filter(|_| !top) {
            return name;
        }
        if left == 0 {
            return ("...".into(), 3);
        }
        let n = &self.c.nodes[node];
        let each = n.operands.iter().map(|o| match o {
            ClusterOperand::Node(k) => self.before(*k, false, left - 1),
            ClusterOperand::Leaf(k) => (self.c.leaves[*k].name.clone(), 3),
            ClusterOperand::Constant(v) => number(*v),
        });
        applied(n.operation, &each.collect::<Vec<_>>())
    }

    fn after(&self, step: usize, top: bool, left: u32) -> (String, u8) {
        let named = self.node_of.get(&step).and_then(|n| self.name(*n));
        if let Some(name) = named.filter(|_| !top) {
            return name;
        }
        if left == 0 {
            return ("...".into(), 3);
        }
        let s = &self.r.steps[step];
        let each = s.operands.iter().map(|o| self.operand(o, left - 1));
        applied(s.operation, &each.collect::<Vec<_>>())
    }

    fn operand(&self, o: &RewritingOperand, left: u32) -> (String, u8) {
        match o {
            RewritingOperand::Step(k) => self.after(*k, false, left),
            RewritingOperand::Constant(v) => number(*v),
            leaf => {
                let known = self.c.leaves.iter().find(|l| l.place == *leaf);
                let name = known.map_or_else(|| leaf.to_string(), |l| l.name.clone());
                (name, 3)
            }
        }
    }
}

/// How deep expressions are written out.
const DEPTH: u32 = 6;

/// What a rewriting changes, in the order of the program's lines.
pub(crate) fn changes(
    c: &ExpressionCluster,
    r: &Rewriting,
    named: &Named,
) -> Vec<ExpressionChange> {
    let texts = Texts {
        c,
        r,
        node_of: named,
        step_of: named.iter().map(|(step, node)| (*node, *step)).collect(),
    };
    let same = unchanged(c, r, named);
    let mut out = Vec::new();
    let mut told = BTreeSet::new();
    for (node, n) in c.nodes.iter().enumerate() {
        let step = texts.step_of.get(&node).copied();
        let output = r.outputs.get(&n.site);
        let changed = match (step, output) {
            (Some(_), _) => !same.contains(&node),
            (None, Some(_)) => true,
            (None, None) => false,
        };
        if !changed {
            continue;
        }
        let after = match (step, output) {
            (Some(step), _) => texts.after(step, true, DEPTH).0,
            (None, Some(o)) => texts.operand(o, DEPTH).0,
            (None, None) => continue,
        };
        let change = ExpressionChange {
            line: n.line,
            variable: n.variable.clone(),
            before: cut(texts.before(node, true, DEPTH).0),
            after: cut(after),
        };
        if change.before != change.after && told.insert((change.before.clone(), change.line)) {
            out.push(change);
        }
    }
    out.sort_by_key(|k| k.line);
    out
}

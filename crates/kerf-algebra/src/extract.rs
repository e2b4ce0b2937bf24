//! The cheapest expressions of a filled e-graph, parts that several share counted once.
//!
//! Bottom-up, each class keeps the node whose whole graph of parts is the cheapest known; repeated until nothing changes
//! (the greedy graph extraction of egg's extraction gym). That looks at each class by itself; then nodes are exchanged one
//! by one as long as the cost of all outputs together falls. Classes and nodes are visited in their order, so that ties
//! have one winner.
use crate::clusters::{ClusterOperand, ExpressionCluster};
use crate::cost_table::CostTable;
use crate::saturate::Saturated;
use crate::term::{Graph, LeafNumber, NumberBits, Term, applied, operation};
use egg::{Id, Language};
use kerf_ir::pure_operation::PureOperation;
use std::collections::{BTreeMap, BTreeSet};

/// How much less often code one loop further out is executed.
const LOOP: f64 = 16.0;

/// What an operation costs beside its clocks, in additions, if the program does not have it: of two forms of one cost, the
/// one that changes less.
const NOVELTY: f64 = 0.02;

/// Rounds of exchanges, at most.
const EXCHANGES: usize = 12;

/// A cheaper choice has to be cheaper by this part: sums of the same costs in another order are no reason.
const CLEARLY: f64 = 1e-9;

/// What a class is computed by.
#[derive(Clone)]
struct Choice {
    node: Term,
    /// Cost of each class that it needs, its own among them.
    parts: BTreeMap<Id, f64>,
    cost: f64,
}

/// Chosen nodes by class.
pub(crate) struct Extracted {
    choices: BTreeMap<Id, (Term, f64)>,
    /// Cost of all outputs together.
    pub cost: f64,
}

impl Extracted {
    /// What a class is computed by.
    pub(crate) fn node(&self, class: Id) -> Option<&Term> {
        self.choices.get(&class).map(|c| &c.0)
    }
}

fn is_number(g: &Graph, id: Id) -> bool {
    g[id].data.constant.is_some()
}

/// Cost of a node by itself, where it is executed as often as loops around its operands say.
fn own_cost(g: &Graph, t: &Term, deepest: u32, costs: &CostTable) -> f64 {
    let Some(o) = operation(t) else {
        return 0.0;
    };
    // Numbers are folded when code is made.
    if t.children().iter().all(|c| is_number(g, *c)) {
        return 0.0;
    }
    let one = g[t.children()[0]].data.constant == Some(NumberBits(1.0f64.to_bits()));
    let clocks = costs.clocks(o, o == PureOperation::Div && one);
    let depth = t.children().iter().map(|c| g[*c].data.loop_depth).max();
    let further_out = deepest.saturating_sub(depth.unwrap_or(0));
    clocks / LOOP.powi(further_out.min(8) as i32)
}

/// A node with its operands' classes by their first names.
fn canonical(g: &Graph, t: &Term) -> Term {
    t.clone().map_children(|c| g.find(c))
}

/// Nodes that the program has.
fn written(s: &Saturated, c: &ExpressionCluster) -> BTreeSet<Term> {
    let g = &s.graph;
    let mut out = BTreeSet::new();
    for n in &c.nodes {
        let each = n.operands.iter().map(|o| match o {
            ClusterOperand::Node(k) => Some(g.find(s.nodes[*k])),
            ClusterOperand::Leaf(k) => g.lookup(Term::Leaf(LeafNumber(*k as u32))),
            ClusterOperand::Constant(v) => g.lookup(Term::Number(NumberBits(v.to_bits()))),
        });
        let to: Option<Vec<Id>> = each.collect();
        out.extend(to.and_then(|to| applied(n.operation, &to)));
    }
    out
}

/// The choice for a node whose operands have choices; none if they have not, or need this class themselves.
fn choice(
    g: &Graph,
    class: Id,
    t: &Term,
    own: f64,
    choices: &BTreeMap<Id, Choice>,
) -> Option<Choice> {
    let mut parts = BTreeMap::new();
    for c in t.children() {
        let from = choices.get(&g.find(*c))?;
        if from.parts.contains_key(&class) {
            return None;
        }
        parts.extend(from.parts.iter().map(|(k, v)| (*k, *v)));
    }
    parts.insert(class, own);
    Some(Choice {
        node: t.clone(),
        cost: parts.values().sum(),
        parts,
    })
}

/// Brings a class's choice up to what its operands have chosen since; says whether that is something else.
fn refresh(
    g: &Graph,
    class: Id,
    nodes: &[(&Term, f64)],
    choices: &mut BTreeMap<Id, Choice>,
) -> bool {
    let Some(now) = choices.get(&class) else {
        return false;
    };
    let own = nodes.iter().find(|n| *n.0 == now.node).map_or(0.0, |n| n.1);
    let new = choice(g, class, &now.node, own, choices);
    let same = new.as_ref().is_some_and(|n| n.parts == now.parts);
    match new {
        Some(new) => choices.insert(class, new),
        None => choices.remove(&class),
    };
    !same
}

/// Cheapest nodes for all outputs of a cluster.
pub(crate) fn extracted(
    s: &Saturated,
    c: &ExpressionCluster,
    costs: &CostTable,
) -> Option<Extracted> {
    let g = &s.graph;
    let written = written(s, c);
    let novelty = NOVELTY * costs.clocks(PureOperation::Add, false);
    let deepest = c.nodes.iter().map(|n| n.loop_depth).max().unwrap_or(0);
    let mut classes: Vec<(Id, Vec<(&Term, f64)>)> = g
        .classes()
        .map(|k| {
            let mut nodes: Vec<&Term> = k.nodes.iter().collect();
            nodes.sort_unstable();
            let with_cost = |t: &'_ Term| {
                let free = operation(t).is_none() || written.contains(&canonical(g, t));
                own_cost(g, t, deepest, costs) + if free { 0.0 } else { novelty }
            };
            (k.id, nodes.into_iter().map(|t| (t, with_cost(t))).collect())
        })
        .collect();
    classes.sort_unstable_by_key(|k| k.0);
    let mut choices: BTreeMap<Id, Choice> = BTreeMap::new();
    // Costs only fall, by steps that are not small; a bound all the same.
    for _ in 0..64 {
        let mut changed = false;
        for (class, nodes) in &classes {
            changed |= refresh(g, *class, nodes, &mut choices);
            for (t, own) in nodes {
                let Some(new) = choice(g, *class, t, *own, &choices) else {
                    continue;
                };
                let best = choices.get(class).map_or(f64::INFINITY, |o| o.cost);
                if new.cost < best - CLEARLY * best.min(1e300) {
                    choices.insert(*class, new);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let roots: Vec<Id> = c.outputs.iter().map(|o| g.find(s.nodes[*o])).collect();
    let chosen = choices.into_iter().map(|(k, c)| {
        let own = c.parts.get(&k).copied().unwrap_or(0.0);
        (k, (c.node, own))
    });
    let mut out = Extracted {
        choices: chosen.collect(),
        cost: 0.0,
    };
    out.exchange(g, &roots, &classes.into_iter().collect());
    (out.cost < f64::INFINITY).then_some(out)
}

/// Nodes of each class, with the cost of each by itself.
type Classes<'g> = BTreeMap<Id, Vec<(&'g Term, f64)>>;

impl Extracted {
    /// Cost of some classes together, and all that they need; infinite if something is missing or needs itself.
    fn total(&self, g: &Graph, roots: &[Id]) -> (f64, BTreeSet<Id>) {
        let mut needed = BTreeSet::new();
        let mut open = BTreeSet::new();
        let mut sum = 0.0;
        // Each class twice: when it is entered, and when all that it needs is done.
        let mut left: Vec<(Id, bool)> = roots.iter().rev().map(|r| (*r, false)).collect();
        while let Some((class, done)) = left.pop() {
            if done {
                open.remove(&class);
                continue;
            }
            if open.contains(&class) {
                return (f64::INFINITY, needed);
            }
            if !needed.insert(class) {
                continue;
            }
            let Some((node, own)) = self.choices.get(&class) else {
                return (f64::INFINITY, needed);
            };
            sum += own;
            open.insert(class);
            left.push((class, true));
            left.extend(node.children().iter().map(|c| (g.find(*c), false)));
        }
        (sum, needed)
    }

    /// Exchanges nodes of needed classes as long as that makes all outputs together cheaper.
    fn exchange(&mut self, g: &Graph, roots: &[Id], classes: &Classes) {
        let (mut best, mut needed) = self.total(g, roots);
        for _ in 0..EXCHANGES {
            let before = best;
            for class in needed.clone() {
                let Some(nodes) = classes.get(&class) else {
                    continue;
                };
                for (t, own) in nodes {
                    let new = ((*t).clone(), *own);
                    let Some(old) = self.choices.insert(class, new) else {
                        continue;
                    };
                    let (cost, all) = self.total(g, roots);
                    if cost < best - CLEARLY * best.min(1e300) {
                        (best, needed) = (cost, all);
                    } else {
                        self.choices.insert(class, old);
                    }
                }
            }
            if best >= before {
                break;
            }
        }
        self.cost = best;
    }
}

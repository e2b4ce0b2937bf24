//! Clusters: connected pure operations of one format, across basic blocks, with the values that they start from.
use crate::barred::barred;
use kerf_ir::pure_operation::{Argument, PureOperation, recognise};
use kerf_ir::rewriting::{Rewriting, RewritingOperand, RewritingStep};
use kerf_ir::sites::{self, SiteMap};
use kerf_llvm::{Block, Module, Opcode, Value, demangle};
use kerf_num::Format;
use std::collections::{BTreeMap, BTreeSet};

/// Operations of a cluster, at most: connected code beyond is cut, since an e-graph of more is full before its rules
/// have met.
pub const MOST_OPERATIONS: usize = 48;

/// What a node of a cluster is applied to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClusterOperand {
    /// Another node, which comes before.
    Node(usize),
    /// A value from outside.
    Leaf(usize),
    /// A number.
    Constant(f64),
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterNode {
    /// Its site.
    pub site: usize,
    /// The operation.
    pub operation: PureOperation,
    /// What it is applied to.
    pub operands: Vec<ClusterOperand>,
    /// Number of each among the operands of the instruction; none for a number that is no operand.
    pub numbers: Vec<Option<u32>>,
    /// Loops around it.
    pub loop_depth: u32,
    /// Source line; 0 if unknown.
    pub line: u32,
    /// Source variable that holds its result.
    pub variable: Option<String>,
}

/// A value that a cluster starts from.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterLeaf {
    /// Its name in rewritings: an operand of a site of the cluster.
    pub place: RewritingOperand,
    /// Its name for people.
    pub name: String,
    /// Loops around its definition.
    pub loop_depth: u32,
}

/// A connected expression with all that it computes.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpressionCluster {
    /// Format of all its operations.
    pub format: Format,
    /// Operations, each after those that it uses.
    pub nodes: Vec<ClusterNode>,
    /// Nodes whose values others use, in the order of their sites.
    pub outputs: Vec<usize>,
    /// Values from outside.
    pub leaves: Vec<ClusterLeaf>,
}

impl ExpressionCluster {
    /// Its sites, ascending.
    pub fn sites(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.nodes.iter().map(|n| n.site).collect();
        all.sort_unstable();
        all
    }
    /// The cluster itself as a rewriting: the same operations, each in its own place.
    pub fn as_written(&self) -> Rewriting {
        let operand = |o: &ClusterOperand| match o {
            ClusterOperand::Node(k) => RewritingOperand::Step(*k),
            ClusterOperand::Leaf(k) => self.leaves[*k].place,
            ClusterOperand::Constant(c) => RewritingOperand::Constant(*c),
        };
        let step = |n: &ClusterNode| RewritingStep {
            operation: n.operation,
            operands: n.operands.iter().map(operand).collect(),
        };
        let output = |o: &usize| (self.nodes[*o].site, RewritingOperand::Step(*o));
        Rewriting {
            sites: self.sites(),
            steps: self.nodes.iter().map(step).collect(),
            outputs: self.outputs.iter().map(output).collect(),
        }
    }
    /// Source lines, ascending.
    pub fn lines(&self) -> Vec<u32> {
        let lines: BTreeSet<u32> = self.nodes.iter().map(|n| n.line).collect();
        lines.into_iter().filter(|l| *l > 0).collect()
    }
}

/// Sites that are joined to clusters, by union-find with sizes.
struct Joined {
    parent: Vec<usize>,
    size: Vec<usize>,
}

impl Joined {
    fn root(&self, mut k: usize) -> usize {
        while self.parent[k] != k {
            k = self.parent[k];
        }
        k
    }

    /// Joins two, unless they become too large together.
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        if low != high && self.size[low] + self.size[high] <= MOST_OPERATIONS {
            self.parent[high] = low;
            self.size[low] += self.size[high];
        }
    }
}

/// A pure operation at a site that may change.
struct Changeable {
    value: Value,
    operation: PureOperation,
    format: Format,
    arguments: Vec<Argument>,
}

/// The sites of the kernel itself that may change. A function that was not inlined may be another kernel's too, and is
/// left alone.
fn changeable(map: &SiteMap, kernel: Value) -> BTreeMap<usize, Changeable> {
    let barred = barred(kernel);
    let mut out = BTreeMap::new();
    for (s, i) in map.sites.iter().zip(&map.instructions) {
        if s.function.is_some() || barred.contains(i) || i.users().is_empty() {
            continue;
        }
        if let Some(r) = recognise(*i) {
            let one = Changeable {
                value: *i,
                operation: r.operation,
                format: r.format,
                arguments: r.arguments,
            };
            out.insert(s.id, one);
        }
    }
    out
}

/// A name for people of a value from outside.
fn leaf_name(v: Value) -> String {
    let plain = |n: String| n.split('.').next().unwrap_or_default().to_owned();
    if v.is_argument() {
        return v.name();
    }
    let variable = v.variable_name().filter(|n| !n.starts_with("__"));
    let loaded = || match v.opcode() {
        Some(Opcode::LLVMLoad) => {
            let object = plain(v.operand(0).underlying().name());
            let object = demangle(&object);
            let object = object.rsplit("::").next().unwrap_or_default().to_owned();
            (!object.is_empty()).then(|| format!("{object}[]"))
        }
        _ => None,
    };
    let named = || Some(plain(v.name())).filter(|n| !n.is_empty());
    variable
        .or_else(loaded)
        .or_else(named)
        .unwrap_or_else(|| "value".into())
}

/// Collects one cluster.
struct Collector<'a> {
    map: &'a SiteMap,
    pure: &'a BTreeMap<usize, Changeable>,
    /// Site of an instruction.
    index: &'a BTreeMap<Value, usize>,
    depth: &'a BTreeMap<Block, u32>,
    members: BTreeSet<usize>,
    cluster: ExpressionCluster,
    /// Node of a site; none while its operands are collected.
    done: BTreeMap<usize, Option<usize>>,
    leaves: BTreeMap<Value, usize>,
}

impl Collector<'_> {
    fn member(&self, v: Value) -> Option<usize> {
        let site = self.index.get(&v)?;
        self.members.contains(site).then_some(*site)
    }

    fn leaf(&mut self, v: Value, site: usize, operand: u32) -> ClusterOperand {
        let next = self.cluster.leaves.len();
        let number = *self.leaves.entry(v).or_insert(next);
        if number == next {
            let block = v.is_instruction().then(|| v.block());
            self.cluster.leaves.push(ClusterLeaf {
                place: RewritingOperand::Leaf { site, operand },
                name: leaf_name(v),
                loop_depth: block.and_then(|b| self.depth.get(&b)).copied().unwrap_or(0),
            });
        }
        ClusterOperand::Leaf(number)
    }

    /// Adds a site after those that it uses; none if it uses itself, which only unreachable code does. As deep as a
    /// cluster is large.
    fn add(&mut self, site: usize) -> Option<usize> {
        if let Some(known) = self.done.get(&site) {
            return *known;
        }
        self.done.insert(site, None);
        let pure = &self.pure[&site];
        let mut operands = Vec::new();
        for a in &pure.arguments {
            operands.push(match a {
                Argument::Constant(c) => ClusterOperand::Constant(*c),
                Argument::Operand(k) => {
                    let v = pure.value.operand(*k);
                    match (self.member(v), v.const_real()) {
                        (Some(other), _) => ClusterOperand::Node(self.add(other)?),
                        (None, Some(c)) if v.is_constant() => ClusterOperand::Constant(c),
                        _ => self.leaf(v, site, *k),
                    }
                }
            });
        }
        let s = &self.map.sites[site];
        let number = |a: &Argument| match a {
            Argument::Operand(k) => Some(*k),
            Argument::Constant(_) => None,
        };
        self.cluster.nodes.push(ClusterNode {
            site,
            numbers: pure.arguments.iter().map(number).collect(),
            operation: pure.operation,
            operands,
            loop_depth: s.loop_depth,
            line: s.location.as_ref().map_or(0, |l| l.line),
            variable: s.variable.clone().filter(|n| !n.starts_with("__")),
        });
        let number = self.cluster.nodes.len() - 1;
        self.done.insert(site, Some(number));
        Some(number)
    }

    fn collect(mut self) -> Option<ExpressionCluster> {
        for site in self.members.clone() {
            let node = self.add(site)?;
            let outside = |u: &Value| self.member(*u).is_none();
            if self.pure[&site].value.users().iter().any(outside) {
                self.cluster.outputs.push(node);
            }
        }
        Some(self.cluster)
    }
}

/// The clusters of a kernel of a prepared module, in the order of their first sites. Values from which addresses, trip
/// counts or branches around barriers are computed are in none.
pub fn clusters(m: &Module, kernel: Value) -> Vec<ExpressionCluster> {
    let map = sites::sites(m, kernel);
    let pure = changeable(&map, kernel);
    let index: BTreeMap<Value, usize> = pure.iter().map(|(k, c)| (c.value, *k)).collect();
    let mut joined = Joined {
        parent: (0..map.sites.len()).collect(),
        size: vec![1; map.sites.len()],
    };
    for (site, c) in &pure {
        for a in &c.arguments {
            let Argument::Operand(k) = a else { continue };
            let other = index.get(&c.value.operand(*k));
            if let Some(other) = other.filter(|o| pure[o].format == c.format) {
                joined.join(*site, *other);
            }
        }
    }
    let mut members: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for site in pure.keys() {
        members.entry(joined.root(*site)).or_default().insert(*site);
    }
    let depth: BTreeMap<Block, u32> = kernel
        .blocks()
        .into_iter()
        .zip(kernel.loop_depths())
        .collect();
    let one = |(root, members): (usize, BTreeSet<usize>)| {
        Collector {
            map: &map,
            pure: &pure,
            index: &index,
            depth: &depth,
            members,
            cluster: ExpressionCluster {
                format: pure[&root].format,
                nodes: Vec::new(),
                outputs: Vec::new(),
                leaves: Vec::new(),
            },
            done: BTreeMap::new(),
            leaves: BTreeMap::new(),
        }
        .collect()
    };
    members.into_iter().filter_map(one).collect()
}

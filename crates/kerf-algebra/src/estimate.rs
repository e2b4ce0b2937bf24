//! How much an expression loses by rounding, estimated on random values.
//!
//! Every operation is rounded to the cluster's format (24 or 53 bits, without limits of exponents) and compared with the
//! same expression of the program in many more bits. Functions count as correctly rounded, which libdevice's are nearly.
//! Leaves have random exponents around 0; those whose root or logarithm is taken are positive.
use crate::clusters::{ClusterOperand, ExpressionCluster};
use crate::value::evaluated;
use kerf_ir::pure_operation::PureOperation;
use kerf_ir::rewriting::{Rewriting, RewritingOperand};
use kerf_num::Format;
use kerf_num::random::SplitMix64;
use rug::Float;

/// Bits of results that stand for exact ones.
const MANY: u32 = 220;
/// Points that are tried.
const POINTS: usize = 48;
/// The estimate is the error that this part of the points stays below.
const PART: f64 = 0.9;

/// From 0 to below 1.
fn part(random: &mut SplitMix64) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 53) as f64
}

/// Values of the leaves at some points.
pub(crate) struct Points {
    bits: u32,
    values: Vec<Vec<Float>>,
    /// Exact values of the outputs, by point; none where the program's own expression has none.
    exact: Vec<Option<Vec<Float>>>,
}

/// Leaves that have to be positive for the program's own expression to be defined.
fn positive(c: &ExpressionCluster) -> Vec<bool> {
    use PureOperation::*;
    let mut out = vec![false; c.leaves.len()];
    for n in &c.nodes {
        let rooted = matches!(n.operation, Sqrt | Rsqrt | Log | Log2 | Log10 | Pow);
        if let (true, Some(ClusterOperand::Leaf(k))) = (rooted, n.operands.first()) {
            out[*k] = true;
        }
    }
    out
}

/// All nodes of a cluster at a point.
fn nodes(c: &ExpressionCluster, leaves: &[Float], bits: u32) -> Option<Vec<Float>> {
    let mut out: Vec<Float> = Vec::new();
    for n in &c.nodes {
        let get = |o: &ClusterOperand| match o {
            ClusterOperand::Node(k) => out[*k].clone(),
            ClusterOperand::Leaf(k) => leaves[*k].clone(),
            ClusterOperand::Constant(v) => Float::with_val(bits, *v),
        };
        let x: Vec<Float> = n.operands.iter().map(get).collect();
        out.push(evaluated(n.operation, &x, bits)?);
    }
    Some(out)
}

impl Points {
    pub(crate) fn new(c: &ExpressionCluster) -> Points {
        let bits = match c.format {
            Format::F32 => 24,
            _ => 53,
        };
        Points::with_bits(c, bits, 1)
    }

    /// Points at which nothing is rounded, to speak of.
    #[cfg(test)]
    pub(crate) fn of_many_bits(c: &ExpressionCluster) -> Points {
        Points::with_bits(c, MANY, 1)
    }

    /// Other points than those that estimates are made on.
    #[cfg(test)]
    pub(crate) fn others(c: &ExpressionCluster) -> Points {
        Points::with_bits(c, 53, 2)
    }

    fn with_bits(c: &ExpressionCluster, bits: u32, seed: u64) -> Points {
        let positive = positive(c);
        let mut random = SplitMix64::new(seed);
        let mut leaf = |k: usize| {
            // Powers of two, which every machine has exactly.
            let exponent = (random.bits() % 9) as i32 - 4;
            let size = 2f64.powi(exponent) * (1.0 + part(&mut random));
            let negative = !positive[k] && random.bits() & 1 == 1;
            Float::with_val(bits, if negative { -size } else { size })
        };
        let values: Vec<Vec<Float>> = (0..POINTS)
            .map(|_| (0..c.leaves.len()).map(&mut leaf).collect())
            .collect();
        let exact = values.iter().map(|v| {
            let all = nodes(c, v, MANY)?;
            let outputs: Vec<Float> = c.outputs.iter().map(|o| all[*o].clone()).collect();
            outputs.iter().all(Float::is_finite).then_some(outputs)
        });
        Points {
            bits,
            exact: exact.collect(),
            values,
        }
    }

    /// Largest relative error of an output that [`PART`] of the points stay below; none if at no point all outputs are
    /// defined.
    fn error(&self, at: impl Fn(&[Float]) -> Option<Vec<Float>>) -> Option<f64> {
        let mut all: Vec<f64> = Vec::new();
        for (leaves, exact) in self.values.iter().zip(&self.exact) {
            let Some(exact) = exact else { continue };
            let Some(got) = at(leaves) else {
                all.push(f64::INFINITY);
                continue;
            };
            let relative = |(x, y): (&Float, &Float)| {
                let off = Float::with_val(MANY, x - y).abs();
                match y.is_zero() {
                    true if off.is_zero() => 0.0,
                    _ => (off / Float::with_val(MANY, y.abs_ref())).to_f64(),
                }
            };
            let each = got.iter().zip(exact).map(relative);
            all.push(each.fold(0.0, |a: f64, b| match b.is_nan() {
                true => f64::INFINITY,
                false => a.max(b),
            }));
        }
        all.sort_by(f64::total_cmp);
        all.get(((all.len() as f64 * PART) as usize).min(all.len().max(1) - 1))
            .copied()
    }

    /// Error of the cluster as it is written.
    pub(crate) fn own(&self, c: &ExpressionCluster) -> Option<f64> {
        self.error(|leaves| {
            let all = nodes(c, leaves, self.bits)?;
            Some(c.outputs.iter().map(|o| all[*o].clone()).collect())
        })
    }

    /// Error of a rewriting of it, or of a part of it.
    pub(crate) fn rewritten(&self, c: &ExpressionCluster, r: &Rewriting) -> Option<f64> {
        self.error(|leaves| {
            let mut e = Evaluation {
                c,
                r,
                leaves,
                bits: self.bits,
                nodes: vec![None; c.nodes.len()],
                steps: vec![None; r.steps.len()],
            };
            c.outputs.iter().map(|o| e.node(*o)).collect()
        })
    }
}

/// A cluster with a rewriting at one point.
struct Evaluation<'a> {
    c: &'a ExpressionCluster,
    r: &'a Rewriting,
    leaves: &'a [Float],
    bits: u32,
    nodes: Vec<Option<Float>>,
    steps: Vec<Option<Float>>,
}

impl Evaluation<'_> {
    /// The value of a node: what stands for it, where it is replaced.
    fn node(&mut self, k: usize) -> Option<Float> {
        if let Some(known) = &self.nodes[k] {
            return Some(known.clone());
        }
        let n = &self.c.nodes[k];
        let value = match self.r.sites.binary_search(&n.site) {
            Ok(_) => self.operand(self.r.outputs.get(&n.site)?)?,
            Err(_) => {
                let x: Option<Vec<Float>> = n.operands.iter().map(|o| self.own(o)).collect();
                evaluated(n.operation, &x?, self.bits)?
            }
        };
        self.nodes[k] = Some(value.clone());
        Some(value)
    }

    /// The value of what a node is applied to.
    fn own(&mut self, o: &ClusterOperand) -> Option<Float> {
        match o {
            ClusterOperand::Node(k) => self.node(*k),
            ClusterOperand::Leaf(k) => self.leaves.get(*k).cloned(),
            ClusterOperand::Constant(v) => Some(Float::with_val(self.bits, *v)),
        }
    }

    /// The value of what a step is applied to.
    fn operand(&mut self, o: &RewritingOperand) -> Option<Float> {
        match o {
            RewritingOperand::Constant(v) => Some(Float::with_val(self.bits, *v)),
            RewritingOperand::Step(k) => {
                if let Some(known) = self.steps.get(*k)? {
                    return Some(known.clone());
                }
                let s = &self.r.steps[*k];
                let x: Option<Vec<Float>> = s.operands.iter().map(|o| self.operand(o)).collect();
                let value = evaluated(s.operation, &x?, self.bits)?;
                self.steps[*k] = Some(value.clone());
                Some(value)
            }
            RewritingOperand::Leaf { site, operand } => {
                let n = self.c.nodes.iter().find(|n| n.site == *site)?;
                let at = n.numbers.iter().position(|k| *k == Some(*operand))?;
                self.own(&n.operands[at])
            }
        }
    }
}

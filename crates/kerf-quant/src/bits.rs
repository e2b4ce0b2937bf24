//! Bits for each point, found by the strategies that tune kernels: fewest bit operations, or bytes, within a drop of
//! accuracy that is measured.
//!
//! A variable is a point, its levels are the bits from those that the network was trained at down to 2. Accuracy is
//! measured on samples that the search may use, without training in between; the result is to be evaluated on others.
use crate::accuracy_loss::{drop_points, judge_drop};
use crate::backend::Backend;
use crate::data::Dataset;
use crate::decision::Decision;
use crate::graph::Graph;
use crate::points::QuantizationPoint;
use crate::quantizer;
use crate::size::size;
use crate::train::{TrainError, evaluate};
use kerf_search::{
    Level, Models, Outcome, Problem, Reason, Search, SearchSession, StrategyError, StrategyName,
    Variable,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is to become small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gain {
    /// Products of bits of weights and activations.
    BitOperations,
    /// Bytes of the parameters; activations stay as they are.
    Bytes,
}

/// What to search.
pub struct BitsRequest<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// Where it is quantized.
    pub points: &'a [QuantizationPoint],
    /// How it is evaluated at the bits that it was trained at.
    pub decisions: &'a [Decision],
    /// Those bits.
    pub bits: &'a [f64],
    /// Samples to measure accuracy on.
    pub data: &'a dyn Dataset,
    /// Largest drop against no quantization, in percentage points.
    pub max_drop: f64,
    /// What is to become small.
    pub gain: Gain,
    /// Strategy of kerf-search.
    pub strategy: StrategyName,
    /// Evaluations at most.
    pub budget: usize,
    /// Seed of the search.
    pub seed: u64,
}

/// One evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BitsEvaluation {
    /// Bits of each point.
    pub bits: Vec<f64>,
    /// Lost accuracy in percentage points.
    pub drop_points: f64,
    /// Is it within the drop asked for?
    #[serde(default)]
    pub accepted: bool,
    /// Size, over that at the bits trained at.
    pub ratio: f64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundBits {
    /// Bits of each point by name; none if nothing was within the drop.
    pub bits: Option<BTreeMap<String, f64>>,
    /// The drop on the samples searched with, in percentage points.
    pub drop_points: Option<f64>,
    /// Size over that at the bits trained at.
    pub ratio: Option<f64>,
    /// Accuracy without quantization on the samples searched with.
    pub reference: f64,
    /// Why the search ended.
    pub reason: String,
    /// All evaluations.
    pub tried: Vec<BitsEvaluation>,
}

/// Why there is no search.
#[derive(Debug, thiserror::Error)]
pub enum BitsError {
    /// Evaluation failed.
    #[error("{0}")]
    Train(#[from] TrainError),
    /// No such strategy.
    #[error("{0}")]
    Strategy(#[from] StrategyError),
    /// Nothing to lower.
    #[error("no point of quantization has more than 2 bits")]
    Nothing,
}

/// Exact sizes in place of sums over variables: products couple weights and activations.
struct Sizes<'a> {
    request: &'a BitsRequest<'a>,
    free: Vec<usize>,
    base: f64,
}

impl Sizes<'_> {
    fn bits(&self, a: &[u8]) -> Vec<f64> {
        let mut bits = self.request.bits.to_vec();
        for (p, level) in self.free.iter().zip(a) {
            bits[*p] -= f64::from(*level);
        }
        bits
    }
    fn ratio(&self, a: &[u8]) -> f64 {
        total(self.request, &self.bits(a)) / self.base
    }
}

impl Models for Sizes<'_> {
    fn time(&self, a: &[u8]) -> Option<f64> {
        Some(self.ratio(a))
    }
}

fn total(r: &BitsRequest, bits: &[f64]) -> f64 {
    let s = size(r.graph, r.points, bits);
    match r.gain {
        Gain::BitOperations => s.bit_operations,
        Gain::Bytes => s.bytes,
    }
}

/// Decisions at other bits, ranges as they are.
pub fn with_bits(decisions: &[Decision], bits: &[f64]) -> Vec<Decision> {
    let of = |(d, b): (&Decision, &f64)| Decision {
        steps: quantizer::steps(b.ceil()),
        ..d.clone()
    };
    decisions.iter().zip(bits).map(of).collect()
}

/// Searches. `watch` is told of each evaluation: how many, the drop, and the best ratio so far.
pub fn search(
    r: &BitsRequest,
    backend: &mut dyn Backend,
    watch: &mut dyn FnMut(usize, f64, Option<f64>),
) -> Result<FoundBits, BitsError> {
    let lowers = |p: &usize| {
        let whole = r.bits[*p] > 2.0 && r.bits[*p] < quantizer::PASS_BITS;
        whole && (r.gain == Gain::BitOperations || r.points[*p].is_weight())
    };
    let free: Vec<usize> = (0..r.points.len()).filter(lowers).collect();
    if free.is_empty() {
        return Err(BitsError::Nothing);
    }
    let sizes = Sizes {
        base: total(r, r.bits),
        free,
        request: r,
    };
    let variable = |p: &usize| {
        let from = r.bits[*p];
        let level = |down: u32| {
            let mut bits = r.bits.to_vec();
            bits[*p] = from - f64::from(down);
            Level {
                cost: total(r, &bits) / sizes.base,
                ..Level::named(format!("{} bits", from - f64::from(down)))
            }
        };
        let levels = (0..=(from - 2.0) as u32).map(level).collect();
        Variable {
            depth: *p as u32,
            ..Variable::new(r.points[*p].name.clone(), levels)
        }
    };
    let variables = sizes.free.iter().map(variable).collect();
    let pass: Vec<Decision> = r.points.iter().map(|p| Decision::pass(p.scheme)).collect();
    let reference = evaluate(backend, r.data, &pass)?;
    let mut measure = |a: &[u8]| -> Result<BitsEvaluation, BitsError> {
        let bits = sizes.bits(a);
        let score = evaluate(backend, r.data, &with_bits(r.decisions, &bits))?;
        Ok(BitsEvaluation {
            drop_points: drop_points(&reference, &score),
            accepted: judge_drop(&reference, &score, r.max_drop).accepted(),
            ratio: sizes.ratio(a),
            bits,
        })
    };
    let mut problem = Problem::precision(variables, Vec::new(), r.max_drop);
    let mut tried = vec![measure(&problem.identity())?];
    // A drop below zero is luck, not room for more.
    let outcome = |t: &BitsEvaluation| match t.accepted || t.drop_points > r.max_drop {
        true => Outcome::ran(t.drop_points.max(0.0), t.ratio),
        // No tolerance excuses it: logits that are not finite.
        false => Outcome::ran(100.0, t.ratio),
    };
    problem.baseline = Some(outcome(&tried[0]));
    let search = Search {
        problem: &problem,
        models: &sizes,
        seed: r.seed,
        budget: r.budget,
    };
    let mut strategy = r.strategy.start(search)?;
    let mut session = SearchSession::new(&problem, strategy.as_mut(), r.budget);
    while let Some(a) = session.wanted() {
        let t = measure(&a)?;
        session.tell(&a, outcome(&t));
        let best = session.best().and_then(|b| b.outcome.time());
        watch(tried.len(), t.drop_points, best);
        tried.push(t);
    }
    let trace = session.finish();
    let best = tried
        .iter()
        .filter(|t| t.accepted)
        .min_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let named = |t: &BitsEvaluation| {
        let names = r.points.iter().map(|p| p.name.clone());
        names.zip(t.bits.iter().copied()).collect()
    };
    Ok(FoundBits {
        bits: best.map(named),
        drop_points: best.map(|t| t.drop_points),
        ratio: best.map(|t| t.ratio),
        reference: reference.accuracy(),
        reason: match trace.reason {
            Reason::Budget => "budget used".into(),
            other => other.words().into(),
        },
        tried: tried.clone(),
    })
}

//! How points of a listed space are alike: parameters, and products of parameters, as tables over codes.
//!
//! A parameter contributes up to three distances between its values. In order: by the logarithm where all
//! are positive. By powers of two: 96 and 112 are neighbours, but 128 is what fills warps, banks and lines.
//! And equal or not, for numbers that are only names. Products of two parameters stand for what hardware
//! sees of them: threads of a block, elements of a tile.
use crate::problem::{Assignment, Problem, Variable};
use std::collections::BTreeMap;

/// A distance between values of one parameter or product, over its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistanceKind {
    /// By order.
    Order,
    /// By the largest power of two that divides.
    Twos,
    /// Equal or not.
    Same,
}

/// One dimension: a parameter, or a product of two.
#[derive(Debug, Clone)]
pub struct Dimension {
    /// Distances between codes, each a square table.
    pub distances: Vec<(DistanceKind, Vec<f64>)>,
    /// How many codes there are.
    pub codes: usize,
    /// Whether it is a product.
    pub product: bool,
}

/// A space as codes.
#[derive(Debug, Clone)]
pub struct Coding {
    /// Parameters with more than one value, then products.
    pub dimensions: Vec<Dimension>,
    /// How many of them are parameters.
    pub parameters: usize,
    sources: Vec<Source>,
}

#[derive(Debug, Clone)]
enum Source {
    Parameter(usize),
    /// Two parameters, and the code for each two levels.
    Product(usize, usize, Vec<u16>),
}

/// Products of this many parameters are considered, those with most values first.
const FACTORS: usize = 6;

/// Exponent of two in a whole number, up to 5: beyond a warp nothing new begins.
fn twos(x: f64) -> f64 {
    match x.fract() == 0.0 && x != 0.0 && x.abs() < 9e15 {
        true => f64::from((x.abs() as u64).trailing_zeros().min(5)),
        false => 0.0,
    }
}

/// Where values lie, from 0 to 1.
fn spread(at: &[f64]) -> Vec<f64> {
    let low = at.iter().copied().fold(f64::INFINITY, f64::min);
    let high = at.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = if high > low { high - low } else { 1.0 };
    at.iter().map(|x| (x - low) / range).collect()
}

fn table(at: &[f64]) -> Vec<f64> {
    let at = spread(at);
    let rows = at.iter();
    rows.flat_map(|x| at.iter().map(move |y| (x - y).abs()))
        .collect()
}

fn same(n: usize) -> Vec<f64> {
    (0..n * n)
        .map(|i| f64::from(u8::from(i / n != i % n)))
        .collect()
}

/// Values of all levels, if they are numbers.
fn numbers(v: &Variable) -> Option<Vec<f64>> {
    let all: Vec<f64> = v.levels.iter().filter_map(|l| l.value).collect();
    (all.len() == v.levels.len() && all.iter().all(|x| x.is_finite())).then_some(all)
}

fn ordered(values: &[f64]) -> Vec<f64> {
    match values.iter().all(|x| *x > 0.0) {
        true => values.iter().map(|x| x.ln()).collect(),
        // With a 0 in front, as of unroll factors: 0 counts as half of the least.
        false if values.iter().all(|x| *x >= 0.0) && values.len() > 3 => {
            let positive = values.iter().copied().filter(|x| *x > 0.0);
            let least = positive.fold(f64::INFINITY, f64::min);
            values.iter().map(|x| x.max(0.5 * least).ln()).collect()
        }
        false => values.to_vec(),
    }
}

fn distinct(all: &[f64]) -> usize {
    let mut all = all.to_vec();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all.len()
}

/// Distances that add something to those by order.
fn distances(values: Option<&[f64]>, n: usize) -> Vec<(DistanceKind, Vec<f64>)> {
    let Some(values) = values else {
        return vec![(DistanceKind::Same, same(n))];
    };
    let mut out = vec![(DistanceKind::Order, table(&ordered(values)))];
    if n > 2 {
        let powers: Vec<f64> = values.iter().map(|x| twos(*x)).collect();
        // Where all are powers of two, both orders are one.
        let all_powers = values.iter().all(|x| *x > 0.0 && x.log2().fract() == 0.0);
        if distinct(&powers) > 1 && !all_powers {
            out.push((DistanceKind::Twos, table(&powers)));
        }
        out.push((DistanceKind::Same, same(n)));
    }
    out
}

impl Coding {
    /// Of the parameters that differ among the points.
    pub fn new(problem: &Problem, points: &[Assignment]) -> Coding {
        let mut dimensions = Vec::new();
        let mut sources = Vec::new();
        let mut factors = Vec::new();
        for (i, v) in problem.variables.iter().enumerate() {
            // What is the same everywhere tells nothing.
            let first = points.first().map(|p| p[i]);
            if points.iter().all(|p| Some(p[i]) == first) {
                continue;
            }
            let values = numbers(v);
            let n = v.levels.len();
            dimensions.push(Dimension {
                distances: distances(values.as_deref(), n),
                codes: n,
                product: false,
            });
            sources.push(Source::Parameter(i));
            if let Some(values) = values.filter(|x| n > 2 && x.iter().all(|x| *x > 0.0)) {
                factors.push((i, values));
            }
        }
        let parameters = dimensions.len();
        factors.sort_by_key(|(i, values)| (std::cmp::Reverse(values.len()), *i));
        factors.truncate(FACTORS);
        factors.sort_by_key(|f| f.0);
        for (x, (i, a)) in factors.iter().enumerate() {
            for (j, b) in &factors[x + 1..] {
                let all: Vec<f64> = a
                    .iter()
                    .flat_map(|x| b.iter().map(move |y| x * y))
                    .collect();
                let mut values = all.clone();
                values.sort_by(f64::total_cmp);
                values.dedup();
                if values.len() > 512 {
                    continue;
                }
                let numbered: BTreeMap<u64, u16> = values
                    .iter()
                    .enumerate()
                    .map(|(i, x)| (x.to_bits(), i as u16))
                    .collect();
                let code = |x: &f64| numbered.get(&x.to_bits()).copied().unwrap_or(0);
                let codes = all.iter().map(code).collect();
                dimensions.push(Dimension {
                    distances: vec![(DistanceKind::Order, table(&ordered(&values)))],
                    codes: values.len(),
                    product: true,
                });
                sources.push(Source::Product(*i, *j, codes));
            }
        }
        Coding {
            dimensions,
            parameters,
            sources,
        }
    }

    /// The codes of a point, one for each dimension.
    pub fn encode(&self, problem: &Problem, a: &[u8], out: &mut Vec<u16>) {
        for s in &self.sources {
            out.push(match s {
                Source::Parameter(i) => u16::from(a[*i]),
                Source::Product(i, j, codes) => {
                    let n = problem.variables[*j].levels.len();
                    codes[a[*i] as usize * n + a[*j] as usize]
                }
            });
        }
    }
}

//! Metrics of Ryoo's static pruning, which [`super::strategy`] runs for comparison.
use super::tuners::Candidate;

/// Efficiency and utilisation of a shape. Instructions of a thread and of the regions between waits are the
/// same for every shape of a kernel, and are left out.
pub fn metrics(c: &Candidate) -> (f64, f64) {
    let l = c.looks.iter();
    let utilisation = l.map(|l| {
        let warps = f64::from(l.kind.threads().div_ceil(32));
        (warps - 1.0) / 2.0 + (f64::from(l.occupancy.blocks) - 1.0) * warps
    });
    (1.0 / c.launched().max(1.0), utilisation.sum())
}

/// Positions of the shapes that no other is better than in both.
pub fn pareto(all: &[(f64, f64)]) -> Vec<usize> {
    let better = |a: &(f64, f64), b: &(f64, f64)| a.0 >= b.0 && a.1 >= b.1 && a != b;
    (0..all.len())
        .filter(|i| !all.iter().any(|o| better(o, &all[*i])))
        .collect()
}

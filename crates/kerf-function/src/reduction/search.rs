//! The lowest degree whose polynomials are proven to be accurate enough.
use crate::core_bound::{CoreLeaf, CoreProof};
use crate::core_fit::{Core, EvaluationScheme, PieceCoefficients};

/// Degrees that are tried from the first one on whose minimax error is small enough.
const MORE_DEGREES: usize = 4;

/// Coefficients and the bound that was proven for them.
pub(crate) struct ProvenCore {
    /// Coefficients of each piece.
    pub coefficients: PieceCoefficients,
    /// Degree of the polynomials.
    pub degree: usize,
    /// The bound.
    pub bound: f64,
}

/// What is asked of a core.
pub(crate) struct CoreTarget<'a> {
    /// The largest admissible value of `total`.
    pub error: f64,
    /// A largest minimax error, in the core's measure, that can be of use.
    pub approximation: f64,
    /// The error of the whole function on a leaf.
    pub total: &'a dyn Fn(&CoreLeaf) -> f64,
    /// The largest degree.
    pub largest_degree: usize,
}

/// The polynomials of the lowest degree with a proven error; otherwise the smallest bound that was reached.
pub(crate) fn prove_lowest_degree(
    core: &Core,
    scheme: EvaluationScheme,
    target: &CoreTarget,
) -> Result<ProvenCore, f64> {
    let problems = core.fit_problems(target.largest_degree);
    let fits = |d: &usize| {
        let level = problems.iter().map(|p| p.level(*d)).fold(0.0, f64::max);
        level <= target.approximation
    };
    let Some(first) = (0..=target.largest_degree).find(fits) else {
        return Err(f64::INFINITY);
    };
    let mut best = f64::INFINITY;
    for degree in first..=(first + MORE_DEGREES).min(target.largest_degree) {
        let Some(coefficients) = core.fit(&problems, degree) else {
            continue;
        };
        let proof = CoreProof::new(core, &coefficients, scheme);
        let bound = proof.bound(target.error, target.total);
        if bound <= target.error {
            return Ok(ProvenCore {
                coefficients,
                degree,
                bound,
            });
        }
        best = best.min(bound);
    }
    Err(best)
}

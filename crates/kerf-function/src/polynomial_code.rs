//! Polynomials as code: which multiply-adds in which order.
use crate::code::{CodeStep, StepIndex, StraightLineCode};

/// The order of a polynomial's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EvaluationScheme {
    /// One chain of multiply-adds: the fewest operations.
    #[default]
    Horner,
    /// Pairs that are joined by powers of the variable: more operations, a chain of logarithmic length.
    Estrin,
}

/// Appends a polynomial whose coefficients are steps, from the lowest power; gives the step of its value.
pub(crate) fn append_polynomial(
    code: &mut StraightLineCode,
    scheme: EvaluationScheme,
    coefficients: &[StepIndex],
    variable: StepIndex,
) -> StepIndex {
    match scheme {
        EvaluationScheme::Horner => {
            let (last, rest) = match coefficients.split_last() {
                Some((last, rest)) => (*last, rest),
                None => return code.constant(0.0),
            };
            rest.iter()
                .rev()
                .fold(last, |p, c| code.push("p", CodeStep::Fma(p, variable, *c)))
        }
        EvaluationScheme::Estrin => {
            let mut terms = coefficients.to_vec();
            let mut power = variable;
            while terms.len() > 1 {
                terms = terms
                    .chunks(2)
                    .map(|pair| match pair {
                        [low, high] => code.push("p", CodeStep::Fma(*high, power, *low)),
                        _ => pair[0],
                    })
                    .collect();
                if terms.len() > 1 {
                    power = code.push("t", CodeStep::Mul(power, power));
                }
            }
            terms.first().copied().unwrap_or(variable)
        }
    }
}

//! Cores: smooth functions on short intervals, and polynomials for them.
use crate::code::{CodeStep, StepIndex, StraightLineCode};
use crate::linear::{FIT_PRECISION, float, nearest_plane};
use crate::polynomial_code::append_polynomial;
use crate::remez::FitProblem;
use crate::specification::ErrorMeasure;
use crate::target::TargetFunction;
use crate::working_format::{FormatRounding, WorkingFormat};
use rug::Float;

pub use crate::polynomial_code::EvaluationScheme;

/// The variable of a core's polynomial, from its argument x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoreVariable {
    /// x - center
    Shifted {
        /// A number of the format.
        center: f64,
    },
    /// x * x
    Square,
    /// x - i * width for the nearest integer i; a polynomial for each i.
    Pieces {
        /// A power of two.
        width: f64,
        /// The first i.
        first: i64,
        /// How many there are.
        count: usize,
    },
}

/// A function to be approximated by polynomials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Core {
    /// f
    pub function: TargetFunction,
    /// Whether f(x) / x is approximated, rather than f(x).
    pub over_argument: bool,
    /// The polynomial's variable.
    pub variable: CoreVariable,
    /// The smallest argument; of squares not below 0.
    pub lo: f64,
    /// The largest argument.
    pub hi: f64,
    /// How far the argument may be from the one that is meant.
    pub argument_error: f64,
    /// Format of the code.
    pub format: WorkingFormat,
    /// What errors of the core's product with its argument are measured against.
    pub measure: ErrorMeasure,
}

/// Steps of a core in code.
#[derive(Clone, Copy, Debug)]
pub struct CoreSteps {
    /// The polynomial's variable.
    pub variable: StepIndex,
    /// The polynomial's value.
    pub value: StepIndex,
}

/// Coefficients for each piece, from the lowest power; one piece but for [`CoreVariable::Pieces`].
pub type PieceCoefficients = Vec<Vec<f64>>;

impl Core {
    /// How many polynomials it has.
    pub fn pieces(&self) -> usize {
        match self.variable {
            CoreVariable::Pieces { count, .. } => count,
            _ => 1,
        }
    }
    /// Arguments of a piece.
    pub fn piece_range(&self, piece: usize) -> (f64, f64) {
        match self.variable {
            CoreVariable::Pieces { width, first, .. } => {
                let middle = (first + piece as i64) as f64 * width;
                (
                    (middle - width / 2.0).max(self.lo),
                    (middle + width / 2.0).min(self.hi),
                )
            }
            _ => (self.lo, self.hi),
        }
    }
    /// Where the polynomial's variable is zero.
    pub fn base(&self, piece: usize) -> f64 {
        match self.variable {
            CoreVariable::Shifted { center } => center,
            CoreVariable::Square => 0.0,
            CoreVariable::Pieces { width, first, .. } => (first + piece as i64) as f64 * width,
        }
    }

    fn variable_range(&self, piece: usize) -> (Float, Float) {
        let (lo, hi) = self.piece_range(piece);
        let base = float(self.base(piece));
        match self.variable {
            CoreVariable::Square => (float(lo).square(), float(hi).square()),
            _ => (float(lo) - &base, float(hi) - base),
        }
    }

    /// What is approximated, and the weight of an error of it, at a value of the polynomial's variable.
    fn value_and_weight(&self, piece: usize, t: &Float) -> (Float, Float) {
        let x = match self.variable {
            CoreVariable::Square => t.clone().sqrt(),
            _ => float(self.base(piece)) + t,
        };
        let f = self.function.value(&x, FIT_PRECISION);
        let g = match self.over_argument {
            true => f / &x,
            false => f,
        };
        let weight = match (self.measure, self.over_argument) {
            (ErrorMeasure::Relative, _) => g.clone().recip().abs(),
            (ErrorMeasure::Absolute, true) => x.abs(),
            (ErrorMeasure::Absolute, false) => float(1.0),
        };
        (g, weight)
    }

    /// What the polynomials of a core up to a degree are found from.
    pub(crate) fn fit_problems(&self, largest_degree: usize) -> Vec<FitProblem> {
        let problem = |piece: usize| {
            let (lo, hi) = self.variable_range(piece);
            FitProblem::new(&lo, &hi, largest_degree, |t| {
                self.value_and_weight(piece, t)
            })
        };
        (0..self.pieces()).map(problem).collect()
    }

    /// Coefficients of a degree, rounded to the format; none where the exchange fails, or gives what is no number.
    pub(crate) fn fit(&self, problems: &[FitProblem], degree: usize) -> Option<PieceCoefficients> {
        let one = |p: &FitProblem| {
            let c = p.minimax(degree)?.coefficients;
            let points = p.weighted_points(3 * (degree + 1));
            let rounded = nearest_plane(&c, &points, |x| self.format.round(x));
            rounded
                .iter()
                .all(|c| self.format.has(*c))
                .then_some(rounded)
        };
        problems.iter().map(one).collect()
    }

    /// Appends the core's polynomial, of an argument that is step `x`.
    pub fn append(
        &self,
        code: &mut StraightLineCode,
        coefficients: &PieceCoefficients,
        scheme: EvaluationScheme,
        x: StepIndex,
    ) -> CoreSteps {
        let mut shifted = None;
        let variable = match self.variable {
            CoreVariable::Shifted { center: 0.0 } => x,
            CoreVariable::Shifted { center } => {
                let c = code.constant(center);
                code.push("t", CodeStep::Sub(x, c))
            }
            CoreVariable::Square => code.push("z", CodeStep::Mul(x, x)),
            CoreVariable::Pieces { width, .. } => {
                let shift = code.constant(self.format.integer_shift());
                let pieces = code.constant(1.0 / width);
                let i_shifted = code.push("i_shifted", CodeStep::Fma(x, pieces, shift));
                shifted = Some(i_shifted);
                let i = code.push("i", CodeStep::Sub(i_shifted, shift));
                let width = code.constant(width);
                code.push("t", CodeStep::NegatedFma(i, width, x))
            }
        };
        let degree = coefficients.first().map_or(0, Vec::len);
        let steps: Vec<StepIndex> = (0..degree)
            .map(|k| match (self.variable, shifted) {
                (CoreVariable::Pieces { first, .. }, Some(shifted)) => {
                    let table = code.tables.len();
                    code.tables
                        .push(coefficients.iter().map(|c| c[k]).collect());
                    code.push(
                        "c",
                        CodeStep::TableEntry {
                            table,
                            shifted,
                            first,
                        },
                    )
                }
                _ => code.constant(coefficients[0][k]),
            })
            .collect();
        let value = append_polynomial(code, scheme, &steps, variable);
        CoreSteps { variable, value }
    }
}

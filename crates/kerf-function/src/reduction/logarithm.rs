//! Logarithms: log_b(x) = e log_b(2) + log_b(1 + f) for x = 2^e (1 + f) with 1 + f near 1; log1p's polynomial times f.
use super::search::{CoreTarget, prove_lowest_degree};
use super::{Attempt, CONSTANT_PRECISION, MadeCode, enclosed, two_words};
use crate::code::{CodeStep, StepIndex, StraightLineCode};
use crate::core_bound::CoreLeaf;
use crate::core_fit::{Core, CoreVariable, EvaluationScheme};
use crate::running_error::enlarged;
use crate::specification::{ErrorMeasure, FunctionSpecification};
use crate::target::TargetFunction;
use crate::working_format::FormatRounding;
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::interval::MpfrInterval;
use rug::Float;
use rug::float::Constant;

/// Largest degree of the polynomial.
const LARGEST_DEGREE: usize = 28;

/// log_b(2) e: in two words, or e itself.
struct ExponentTerm {
    /// log_b(2) in two words; none where that is 1.
    words: Option<(f64, f64)>,
    /// What the words leave.
    left: f64,
    /// log_b(2), not above.
    unit: f64,
    /// The largest |e|; 0 where no exponent is needed.
    most: f64,
}

fn core_function(f: TargetFunction) -> Option<ElementaryFunction> {
    match f {
        TargetFunction::Elementary(ElementaryFunction::Log) => Some(ElementaryFunction::Log1p),
        TargetFunction::Elementary(ElementaryFunction::Log2) => Some(ElementaryFunction::Log2p1),
        TargetFunction::Elementary(ElementaryFunction::Log10) => Some(ElementaryFunction::Log10p1),
        _ => None,
    }
}

fn exponent_term(
    spec: &FunctionSpecification,
    f: ElementaryFunction,
    most: f64,
) -> Option<ExponentTerm> {
    let p = CONSTANT_PRECISION;
    let log2 = enclosed(|r| Float::with_val_round(p, Constant::Log2, r).0);
    let unit = match f {
        ElementaryFunction::Log1p => log2,
        ElementaryFunction::Log10p1 => {
            log2.div(&MpfrInterval::int(10, p).rising(|a, r| a.ln_round(r)))?
        }
        _ => {
            return Some(ExponentTerm {
                words: None,
                left: 0.0,
                unit: 1.0,
                most,
            });
        }
    };
    let (high, low, left) = two_words(spec, &unit);
    Some(ExponentTerm {
        words: Some((high, low)),
        left,
        unit: unit.lo.to_f64_round(rug::float::Round::Down),
        most,
    })
}

impl ExponentTerm {
    /// The error of the whole where the core's relative error is known on a leaf.
    fn total(&self, spec: &FunctionSpecification, leaf: &CoreLeaf) -> f64 {
        let u = spec.format.unit_roundoff();
        let relative = enlarged(leaf.error / leaf.least);
        let relative = enlarged(relative + enlarged(u * (1.0 + relative)));
        let part = enlarged(leaf.greatest * leaf.largest_argument);
        let part_error = enlarged(relative * part);
        let alone = match spec.measure {
            ErrorMeasure::Relative => relative,
            ErrorMeasure::Absolute => part_error,
        };
        if self.most == 0.0 {
            return alone;
        }
        let low = self.words.map_or(0.0, |w| enlarged(self.most * w.1.abs()));
        let inner = match self.words {
            Some(_) => spec
                .format
                .rounding_error(enlarged(enlarged(low + part) + part_error)),
            None => 0.0,
        };
        let absolute = enlarged(part_error + inner) + enlarged(self.most * self.left);
        // |log_b(1 + f)| is below 0.51 log_b(2), so that sums with e other than 0 are at least 0.49 log_b(2).
        let with_exponent = match spec.measure {
            ErrorMeasure::Relative => {
                let least = (self.unit - part) * (1.0 - 1e-9);
                let relative = enlarged(absolute / least);
                enlarged(relative + enlarged(u * (1.0 + relative)))
            }
            ErrorMeasure::Absolute => {
                let size = enlarged(enlarged(self.most * self.unit) + part + absolute);
                enlarged(absolute + spec.format.rounding_error(size))
            }
        };
        alone.max(with_exponent)
    }

    fn append(&self, code: &mut StraightLineCode, part: StepIndex, e: StepIndex) {
        match self.words {
            None => {
                code.push("y", CodeStep::Add(e, part));
            }
            Some((high, low)) => {
                let low = code.constant(low);
                let y = code.push("y", CodeStep::Fma(e, low, part));
                let high = code.constant(high);
                code.push("y", CodeStep::Fma(e, high, y));
            }
        }
    }
}

/// The attempt, for logarithms of normal numbers.
pub(super) fn attempt(spec: &FunctionSpecification, scheme: EvaluationScheme) -> Option<Attempt> {
    let function = core_function(spec.function)?;
    if spec.from < spec.format.smallest_normal() {
        return None;
    }
    let split = spec.format.round(&Float::with_val(64, 0.5f64).sqrt());
    let near_one = spec.from >= split && spec.to < 2.0 * split;
    let exponent = |x: f64| (x / split).log2().abs() + 1.0;
    let most = match near_one {
        true => 0.0,
        false => exponent(spec.from).max(exponent(spec.to)).ceil(),
    };
    let term = exponent_term(spec, function, most)?;
    let core = Core {
        function: TargetFunction::Elementary(function),
        over_argument: true,
        variable: CoreVariable::Shifted { center: 0.0 },
        lo: if near_one {
            spec.from - 1.0
        } else {
            split - 1.0
        },
        hi: if near_one {
            spec.to - 1.0
        } else {
            2.0 * split - 1.0
        },
        argument_error: 0.0,
        format: spec.format,
        measure: spec.measure,
    };
    let target = CoreTarget {
        error: spec.error,
        approximation: spec.error,
        total: &|leaf| term.total(spec, leaf),
        largest_degree: LARGEST_DEGREE,
    };
    Some(prove_lowest_degree(&core, scheme, &target).map(|proven| {
        let mut code = StraightLineCode::new(spec.format);
        let one = code.constant(1.0);
        let significand = match near_one {
            true => 0,
            false => code.push("m", CodeStep::Significand { x: 0, split }),
        };
        let f = code.push("f", CodeStep::Sub(significand, one));
        let steps = core.append(&mut code, &proven.coefficients, scheme, f);
        let part = code.push("y", CodeStep::Mul(f, steps.value));
        if !near_one {
            let shifted = code.push("e_shifted", CodeStep::ShiftedExponent { x: 0, split });
            let shift = code.constant(spec.format.integer_shift());
            let e = code.push("e", CodeStep::Sub(shifted, shift));
            term.append(&mut code, part, e);
        }
        MadeCode {
            reduction: match near_one {
                true => "x - 1 times a polynomial in it",
                false => "exponent and significand",
            },
            guard: spec.whole_range(),
            code,
            degree: proven.degree,
            pieces: 1,
            bound: proven.bound,
        }
    }))
}

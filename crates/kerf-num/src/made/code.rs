//! Straight-line code: steps on numbers of one format, each one IEEE operation, or exact work on bits.
//!
//! [`StraightLineCode::evaluate`] gives the bits that the emitted C, CUDA and device code give.
use super::working_format::WorkingFormat;
use serde::Serialize;

/// The number of a step whose result another step takes.
pub type StepIndex = usize;

/// One operation. `shifted` is an integer plus [`WorkingFormat::integer_shift`], so that its low bits are the integer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeStep {
    /// The argument; of two the first.
    Argument,
    /// The second argument.
    SecondArgument,
    /// A number of the format.
    Constant(f64),
    /// x + y
    Add(StepIndex, StepIndex),
    /// x - y
    Sub(StepIndex, StepIndex),
    /// x * y
    Mul(StepIndex, StepIndex),
    /// x * y + z, rounded once
    Fma(StepIndex, StepIndex, StepIndex),
    /// -x * y + z, rounded once
    NegatedFma(StepIndex, StepIndex, StepIndex),
    /// x / y
    Quotient(StepIndex, StepIndex),
    /// The square root of x.
    SquareRoot(StepIndex),
    /// |x|
    Magnitude(StepIndex),
    /// |x| with the sign of y
    CopySign(StepIndex, StepIndex),
    /// 2 to the integer of a shifted number, which has to be the exponent of a normal number.
    PowerOfTwo(StepIndex),
    /// e, shifted, such that x * 2^-e is in [split, 2 split), for a positive normal x.
    ShiftedExponent {
        /// x
        x: StepIndex,
        /// Where significands begin.
        split: f64,
    },
    /// x * 2^-e of [`CodeStep::ShiftedExponent`].
    Significand {
        /// x
        x: StepIndex,
        /// Where significands begin.
        split: f64,
    },
    /// `odd` where the integer of `shifted` is odd, otherwise `even`.
    SelectOdd {
        /// The integer, shifted.
        shifted: StepIndex,
        /// Result for odd integers.
        odd: StepIndex,
        /// Result for even integers.
        even: StepIndex,
    },
    /// `value`, negated where bit 1 of the integer of `shifted` is set.
    NegateBySecondBit {
        /// The integer, shifted.
        shifted: StepIndex,
        /// What is negated.
        value: StepIndex,
    },
    /// `less` where x < y, otherwise `other`.
    SelectLess {
        /// x
        x: StepIndex,
        /// y
        y: StepIndex,
        /// Result where x < y.
        less: StepIndex,
        /// Result elsewhere.
        other: StepIndex,
    },
    /// A number of a table, at the integer of `shifted` less `first`.
    TableEntry {
        /// Number of the table.
        table: usize,
        /// The integer, shifted.
        shifted: StepIndex,
        /// The integer of the first entry.
        first: i64,
    },
}

impl CodeStep {
    /// The steps whose results it takes.
    pub fn operands(&self) -> Vec<StepIndex> {
        use CodeStep::*;
        match *self {
            Argument | SecondArgument | Constant(_) => vec![],
            Add(x, y) | Sub(x, y) | Mul(x, y) | CopySign(x, y) | Quotient(x, y) => vec![x, y],
            Fma(x, y, z) | NegatedFma(x, y, z) => vec![x, y, z],
            Magnitude(x) | SquareRoot(x) | PowerOfTwo(x) => vec![x],
            ShiftedExponent { x, .. } | Significand { x, .. } => vec![x],
            SelectOdd { shifted, odd, even } => vec![shifted, odd, even],
            NegateBySecondBit { shifted, value } => vec![shifted, value],
            SelectLess { x, y, less, other } => vec![x, y, less, other],
            TableEntry { shifted, .. } => vec![shifted],
        }
    }
    /// The same step with other operands.
    pub fn with_operands(&self, f: impl Fn(StepIndex) -> StepIndex) -> CodeStep {
        use CodeStep::*;
        match *self {
            Argument | SecondArgument | Constant(_) => *self,
            Add(x, y) => Add(f(x), f(y)),
            Sub(x, y) => Sub(f(x), f(y)),
            Mul(x, y) => Mul(f(x), f(y)),
            Quotient(x, y) => Quotient(f(x), f(y)),
            CopySign(x, y) => CopySign(f(x), f(y)),
            Fma(x, y, z) => Fma(f(x), f(y), f(z)),
            NegatedFma(x, y, z) => NegatedFma(f(x), f(y), f(z)),
            SquareRoot(x) => SquareRoot(f(x)),
            Magnitude(x) => Magnitude(f(x)),
            PowerOfTwo(x) => PowerOfTwo(f(x)),
            ShiftedExponent { x, split } => ShiftedExponent { x: f(x), split },
            Significand { x, split } => Significand { x: f(x), split },
            SelectOdd { shifted, odd, even } => SelectOdd {
                shifted: f(shifted),
                odd: f(odd),
                even: f(even),
            },
            NegateBySecondBit { shifted, value } => NegateBySecondBit {
                shifted: f(shifted),
                value: f(value),
            },
            SelectLess { x, y, less, other } => SelectLess {
                x: f(x),
                y: f(y),
                less: f(less),
                other: f(other),
            },
            TableEntry {
                table,
                shifted,
                first,
            } => TableEntry {
                table,
                shifted: f(shifted),
                first,
            },
        }
    }
    /// Issue slots, counted in multiply-adds of the format: bit work is two integer operations, a table entry a load,
    /// quotients and roots a seed, its refinement and a check.
    pub fn slots(&self) -> u32 {
        use CodeStep::*;
        match self {
            Argument | SecondArgument | Constant(_) => 0,
            Add(..) | Sub(..) | Mul(..) | Fma(..) | NegatedFma(..) | Magnitude(_) => 1,
            CopySign(..) | SelectOdd { .. } => 1,
            PowerOfTwo(_) | NegateBySecondBit { .. } | Significand { .. } => 2,
            SelectLess { .. } => 2,
            ShiftedExponent { .. } => 3,
            TableEntry { .. } => 4,
            Quotient(..) | SquareRoot(_) => 10,
        }
    }
}

/// Steps in the order of their computation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StraightLineCode {
    /// Format of all values.
    pub format: WorkingFormat,
    /// The steps.
    pub steps: Vec<CodeStep>,
    /// What each step's value is called in emitted code.
    pub names: Vec<&'static str>,
    /// Tables of coefficients.
    pub tables: Vec<Vec<f64>>,
    /// The step whose value is the result: the one that was asked for last.
    pub result: StepIndex,
    /// The step of the second result, of functions that have two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_result: Option<StepIndex>,
}

/// Whether two steps compute the same bits.
fn same_step(a: &CodeStep, b: &CodeStep) -> bool {
    match (a, b) {
        (CodeStep::Constant(x), CodeStep::Constant(y)) => x.to_bits() == y.to_bits(),
        _ => a == b,
    }
}

impl StraightLineCode {
    /// Code that gives its argument, which is step 0.
    pub fn new(format: WorkingFormat) -> StraightLineCode {
        StraightLineCode {
            format,
            steps: vec![CodeStep::Argument],
            names: vec!["x"],
            tables: Vec::new(),
            result: 0,
            second_result: None,
        }
    }
    /// The step of the second argument.
    pub fn second_argument(&mut self) -> StepIndex {
        self.push("y", CodeStep::SecondArgument)
    }
    /// Whether a step computes something.
    pub fn is_operation(&self, step: StepIndex) -> bool {
        use CodeStep::{Argument, Constant, SecondArgument};
        !matches!(self.steps[step], Argument | SecondArgument | Constant(_))
    }
    /// Appends a step, whose value is called `name`, unless there is the same one already.
    pub fn push(&mut self, name: &'static str, step: CodeStep) -> StepIndex {
        let same = self.steps.iter().position(|s| same_step(s, &step));
        self.result = same.unwrap_or_else(|| {
            self.steps.push(step);
            self.names.push(name);
            self.steps.len() - 1
        });
        self.result
    }
    /// Appends a constant of the format.
    pub fn constant(&mut self, value: f64) -> StepIndex {
        debug_assert!(self.format.has(value), "{value} is of the format");
        self.push("c", CodeStep::Constant(value))
    }
    /// Issue slots of all steps, in multiply-adds.
    pub fn slots(&self) -> u32 {
        self.steps.iter().map(CodeStep::slots).sum()
    }
    /// Bytes of the tables.
    pub fn table_bytes(&self) -> usize {
        let size = if self.format == WorkingFormat::F64 {
            8
        } else {
            4
        };
        self.tables.iter().map(|t| t.len() * size).sum()
    }

    /// The result for an argument of the format, operation by operation. NaN where a table has no such entry: the
    /// argument is outside the range that the code was made for.
    pub fn evaluate(&self, x: f64) -> f64 {
        self.values(&[x])[self.result]
    }

    /// The result for each argument, and the second one where there are two.
    pub fn results(&self, arguments: &[f64]) -> Vec<f64> {
        let v = self.values(arguments);
        let all = [Some(self.result), self.second_result];
        all.into_iter().flatten().map(|step| v[step]).collect()
    }

    /// The value of each step; NaN for an argument that is not given.
    fn values(&self, arguments: &[f64]) -> Vec<f64> {
        let mut v: Vec<f64> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = self.step_value(step, arguments, &v);
            v.push(value);
        }
        v
    }

    fn step_value(&self, step: &CodeStep, arguments: &[f64], v: &[f64]) -> f64 {
        let argument = |k: usize| arguments.get(k).copied().unwrap_or(f64::NAN);
        use CodeStep::*;
        let f = self.format;
        match *step {
            Argument => argument(0),
            SecondArgument => argument(1),
            Constant(c) => c,
            Add(x, y) => f.add(v[x], v[y]),
            Sub(x, y) => f.sub(v[x], v[y]),
            Mul(x, y) => f.mul(v[x], v[y]),
            Fma(x, y, z) => f.fma(v[x], v[y], v[z]),
            NegatedFma(x, y, z) => f.fma(-v[x], v[y], v[z]),
            Quotient(x, y) => f.div(v[x], v[y]),
            SquareRoot(x) => f.sqrt(v[x]),
            Magnitude(x) => v[x].abs(),
            CopySign(x, y) => v[x].copysign(v[y]),
            PowerOfTwo(k) => {
                let field = f.bits(v[k]).wrapping_add(f.exponent_bias());
                f.from_bits(field << f.fraction_bits())
            }
            ShiftedExponent { x, split } => {
                let above = f.bits(v[x]).wrapping_sub(f.bits(split)) >> f.fraction_bits();
                f.from_bits(f.bits(f.integer_shift()).wrapping_add(above))
            }
            Significand { x, split } => {
                let above = f.bits(v[x]).wrapping_sub(f.bits(split));
                let exponent = above >> f.fraction_bits() << f.fraction_bits();
                f.from_bits(f.bits(v[x]).wrapping_sub(exponent))
            }
            SelectOdd { shifted, odd, even } => match f.bits(v[shifted]) & 1 {
                1 => v[odd],
                _ => v[even],
            },
            NegateBySecondBit { shifted, value } => match f.bits(v[shifted]) & 2 {
                2 => -v[value],
                _ => v[value],
            },
            SelectLess { x, y, less, other } => match v[x] < v[y] {
                true => v[less],
                false => v[other],
            },
            TableEntry {
                table,
                shifted,
                first,
            } => {
                let entry = f.bits(v[shifted]) - f.bits(f.integer_shift()) - first;
                let entry = usize::try_from(entry).ok();
                let entry = entry.and_then(|i| self.tables.get(table)?.get(i));
                entry.copied().unwrap_or(f64::NAN)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(format: WorkingFormat, x: f64, build: impl Fn(&mut StraightLineCode)) -> f64 {
        let mut code = StraightLineCode::new(format);
        build(&mut code);
        code.evaluate(x)
    }

    #[test]
    fn bits_are_taken_apart() {
        for format in [WorkingFormat::F64, WorkingFormat::F32] {
            let split = 0.75;
            let significand = value(format, 6.5, |c| {
                c.push("m", CodeStep::Significand { x: 0, split });
            });
            assert_eq!(significand, 0.8125);
            let exponent = value(format, 6.5, |c| {
                c.push("e", CodeStep::ShiftedExponent { x: 0, split });
            });
            assert_eq!(exponent - format.integer_shift(), 3.0);
            for (k, power) in [(-3.0, 0.125), (4.0, 16.0), (0.0, 1.0)] {
                let y = value(format, k, |c| {
                    let shift = c.constant(format.integer_shift());
                    let shifted = c.push("k", CodeStep::Add(0, shift));
                    c.push("s", CodeStep::PowerOfTwo(shifted));
                });
                assert_eq!(y, power, "{format:?} 2^{k}");
            }
        }
    }

    #[test]
    fn a_table_has_no_entry_outside() {
        let entry = |x: f64| {
            value(WorkingFormat::F64, x, |c| {
                c.tables.push(vec![10.0, 11.0]);
                let shift = c.constant(c.format.integer_shift());
                let shifted = c.push("i", CodeStep::Add(0, shift));
                c.push(
                    "t",
                    CodeStep::TableEntry {
                        table: 0,
                        shifted,
                        first: -1,
                    },
                );
            })
        };
        assert_eq!((entry(-1.0), entry(0.2)), (10.0, 11.0));
        assert!(entry(1.0).is_nan() && entry(-2.0).is_nan());
    }
}

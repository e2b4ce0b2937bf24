//! How each scalar of a buffer's first content is computed, as data.
//!
//! A recipe holds everything that is decided once for a buffer: the layout, the random streams, bounds in the scalars'
//! own format. The processor fills buffers by it (`generate`), and so can a device: scalar `i` of a leaf is a function of
//! the leaf's values and `i` alone.
use std::path::Path;

use super::check::check;
use super::permute::Permutation;
use super::philox::Stream;
use super::{GenerateError, real};
use crate::bits;
use crate::elem::ElemType;
use crate::expr::Expr;
use crate::number::Number;
use crate::scalar::Scalar;
use crate::workload::{BufferSpec, Init};

/// The leaves of a buffer's elements, in the order of the fields. Bytes that no leaf covers are zero.
#[derive(Debug, Clone)]
pub struct Recipe<'a> {
    /// One for each field that is not a struct with inits of its own.
    pub leaves: Vec<Leaf<'a>>,
}

/// One field, or the whole, of every element.
#[derive(Debug, Clone)]
pub struct Leaf<'a> {
    /// Offset of the field in an element.
    pub base: usize,
    /// Type of the field.
    pub elem: &'a ElemType,
    /// Its scalars, numbered through all elements.
    pub values: LeafValues<'a>,
}

/// Scalars of a leaf by their number `i`.
#[derive(Debug, Clone)]
pub enum LeafValues<'a> {
    /// Zeros.
    Zero,
    /// The same number everywhere.
    Constant(Number),
    /// These numbers, one for each scalar.
    Listed(&'a [Number]),
    /// Integers from `low`, the upper 64 bits of the product of 64 random bits with `range` added.
    UniformIntegers {
        /// Smallest value.
        low: i128,
        /// Number of values, at most 2^64.
        range: u128,
        /// Random numbers.
        stream: Stream,
    },
    /// `between(low, high, unit)`, clamped.
    UniformFloats {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
        /// Bounds of the result, values of the scalar's format.
        clamp: (f64, f64),
        /// Random numbers.
        stream: Stream,
    },
    /// `mean + sd * normal`, for integers rounded to the nearest, ties to even, and saturated.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        sd: f64,
        /// Random numbers.
        stream: Stream,
    },
    /// Exponential of `between(from, to, unit)`, for integers rounded down, then clamped.
    LogUniform {
        /// Logarithm of the lower bound.
        from: f64,
        /// Logarithm of the upper bound.
        to: f64,
        /// Bounds of the result.
        clamp: (f64, f64),
        /// Random numbers.
        stream: Stream,
    },
    /// Evenly spaced integers.
    LinearIntegers {
        /// The first.
        from: i128,
        /// The last.
        to: i128,
    },
    /// Evenly spaced floats.
    LinearFloats {
        /// The first.
        from: f64,
        /// The last.
        to: f64,
    },
    /// A permutation of the numbers of the scalars.
    Permutation(Permutation),
    /// Values of an expression.
    Expression {
        /// The expression.
        expr: &'a Expr,
        /// Values of its name uses. Shorter than the name uses where a name has no value.
        names: Vec<NameValue>,
        /// Random numbers.
        stream: Stream,
    },
    /// The content of a `.npy` file.
    File(&'a Path),
}

/// What one use of a name in an expression stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NameValue {
    /// The number of the scalar.
    Index,
    /// A uniform random number in [0, 1); the position of the use is the draw.
    Random,
    /// A size of the workload.
    Size(Number),
}

/// The recipe of a buffer whose init suits its type and length.
pub fn recipe<'a>(
    spec: &'a BufferSpec,
    workload_seed: u64,
    sizes: &[(String, i64)],
) -> Result<Recipe<'a>, GenerateError> {
    let init_error = |problem| GenerateError::Init {
        buffer: spec.name.clone(),
        problem,
    };
    check(&spec.init, &spec.elem, spec.len).map_err(init_error)?;
    let stream = match spec.seed {
        Some(seed) => Stream::from_seed(seed),
        None => Stream::named(workload_seed, &spec.name),
    };
    let mut builder = Builder {
        len: spec.len as u64,
        sizes,
        stream,
        leaves: Vec::new(),
    };
    builder.add(&spec.init, &spec.elem, 0);
    Ok(Recipe {
        leaves: builder.leaves,
    })
}

struct Builder<'a, 's> {
    len: u64,
    sizes: &'s [(String, i64)],
    stream: Stream,
    leaves: Vec<Leaf<'a>>,
}

impl<'a> Builder<'a, '_> {
    /// Adds the leaves of one field of every element, `base` bytes into each.
    fn add(&mut self, init: &'a Init, elem: &'a ElemType, base: usize) {
        if let (Init::Fields(inits), ElemType::Struct(types)) = (init, elem) {
            for ((init, field), offset) in inits.iter().zip(types).zip(elem.field_offsets()) {
                self.add(init, field, base + offset);
            }
            return;
        }
        // Leaves have streams of their own.
        let stream = self.stream.branch(self.leaves.len() as u32);
        let values = match (init, elem.scalar()) {
            (Init::File(path), _) => LeafValues::File(path),
            // A whole struct of zeros.
            (_, None) => LeafValues::Zero,
            (_, Some(scalar)) => {
                // Too many are refused for want of memory.
                let count = self.len.saturating_mul(elem.scalar_count() as u64);
                self.values(init, scalar, count, stream)
            }
        };
        self.leaves.push(Leaf { base, elem, values });
    }

    fn values(&self, init: &'a Init, scalar: Scalar, count: u64, stream: Stream) -> LeafValues<'a> {
        let whole = !scalar.is_float();
        match init {
            Init::Zero | Init::Fields(_) => LeafValues::Zero,
            Init::File(path) => LeafValues::File(path),
            Init::Constant(value) => LeafValues::Constant(*value),
            Init::Values(values) => LeafValues::Listed(values),
            Init::Uniform { low, high } if whole => {
                let (low, high) = (integral(*low), integral(*high));
                let range = (high - low).max(0) as u128;
                LeafValues::UniformIntegers { low, range, stream }
            }
            Init::Uniform { low, high } => {
                let (low, high) = (low.as_f64(), high.as_f64());
                let clamp = representable(scalar, low, high);
                LeafValues::UniformFloats {
                    low,
                    high,
                    clamp,
                    stream,
                }
            }
            Init::Normal { mean, sd } => LeafValues::Normal {
                mean: *mean,
                sd: *sd,
                stream,
            },
            Init::LogUniform { low, high } => LeafValues::LogUniform {
                from: real::ln(*low),
                to: real::ln(*high),
                clamp: match whole {
                    true => (low.ceil(), high.ceil() - 1.0),
                    false => representable(scalar, *low, *high),
                },
                stream,
            },
            Init::Linear { from, to } if whole => LeafValues::LinearIntegers {
                from: integral(*from),
                to: integral(*to),
            },
            Init::Linear { from, to } => LeafValues::LinearFloats {
                from: from.as_f64(),
                to: to.as_f64(),
            },
            Init::Permutation => {
                LeafValues::Permutation(Permutation::new(count, stream.bits(0, 0)))
            }
            Init::Expr(expr) => LeafValues::Expression {
                expr,
                names: self.names(expr),
                stream,
            },
        }
    }

    /// Values of the name uses, up to the first name that has none: the evaluation reports it.
    fn names(&self, expr: &Expr) -> Vec<NameValue> {
        let value = |name: &str| match name {
            "i" => Some(NameValue::Index),
            "rand" => Some(NameValue::Random),
            _ => {
                let size = self.sizes.iter().find(|(n, _)| n == name)?;
                Some(NameValue::Size(Number::from(size.1)))
            }
        };
        expr.names()
            .iter()
            .map_while(|used| value(&used.name))
            .collect()
    }
}

/// The integer an init that has been checked holds.
fn integral(value: Number) -> i128 {
    value.as_integral().unwrap_or(0)
}

/// Least and greatest values of a float type in `[low, high)`.
fn representable(scalar: Scalar, low: f64, high: f64) -> (f64, f64) {
    let least = bits::round_up(scalar, low);
    (least, bits::strictly_below(scalar, high).max(least))
}

//! First contents of buffers.
//!
//! Generators are counter based: scalar `i` is a function of the stream and `i`, whatever the
//! length and order of generation. Uniform, normal and log-uniform values use only operations that
//! IEEE 754 defines exactly, so every machine generates the same bytes; `expr` inits that call
//! `exp log log2 sin cos pow` may differ in the last digit, as the platform's math library does.

pub(crate) mod check;
mod fill;
mod permute;
pub mod perturb;
mod philox;
mod real;

#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::bits;
use crate::elem::ElemType;
use crate::expr::{Expr, ExprError};
use crate::npy::{self, NpyError};
use crate::number::Number;
use crate::scalar::Scalar;
use crate::workload::{BufferSpec, Init};
use check::{InitProblem, check};
use fill::Place;
use permute::Permutation;
use philox::Stream;

/// Why the contents of a buffer could not be generated.
#[derive(Debug, Error)]
pub enum GenerateError {
    /// The init does not suit the buffer.
    #[error("buffer `{buffer}`: {problem}")]
    Init {
        /// The buffer's name.
        buffer: String,
        /// What does not suit.
        problem: InitProblem,
    },
    /// The init's expression has no value for some scalar.
    #[error("buffer `{buffer}`, scalar {index}: {source}")]
    Expr {
        /// The buffer's name.
        buffer: String,
        /// Which scalar.
        index: u64,
        /// What went wrong.
        source: ExprError,
    },
    /// The init's expression has a value its type cannot hold.
    #[error("buffer `{buffer}`, scalar {index}: {value} does not fit {scalar}")]
    Unfit {
        /// The buffer's name.
        buffer: String,
        /// Which scalar.
        index: u64,
        /// The value.
        value: Number,
        /// The type.
        scalar: Scalar,
    },
    /// The init's file cannot be used.
    #[error("buffer `{buffer}`: {source}")]
    File {
        /// The buffer's name.
        buffer: String,
        /// What is wrong with the file.
        source: NpyError,
    },
    /// There is not enough memory.
    #[error("buffer `{buffer}`: no memory for {len} elements of {elem}")]
    Memory {
        /// The buffer's name.
        buffer: String,
        /// Number of elements.
        len: usize,
        /// Their type.
        elem: ElemType,
    },
}

/// Generates the first contents of a buffer as little-endian bytes, padding zero. `sizes` are the
/// workload's, for `expr` inits.
pub fn generate(
    spec: &BufferSpec,
    workload_seed: u64,
    sizes: &[(String, i64)],
) -> Result<Vec<u8>, GenerateError> {
    let init_error = |problem| GenerateError::Init {
        buffer: spec.name.clone(),
        problem,
    };
    check(&spec.init, &spec.elem, spec.len).map_err(init_error)?;
    let memory = || GenerateError::Memory {
        buffer: spec.name.clone(),
        len: spec.len,
        elem: spec.elem.clone(),
    };
    let bytes = spec.bytes().ok_or_else(memory)?;
    // Asked for first, because failing below would end the process. Fresh zeroed memory is better
    // than zeroing some here: each page is then touched once.
    Vec::<u8>::new()
        .try_reserve_exact(bytes)
        .map_err(|_| memory())?;
    let mut out = vec![0; bytes];
    let stream = match spec.seed {
        Some(seed) => Stream::of_seed(seed),
        None => Stream::named(workload_seed, &spec.name),
    };
    let fill = |first: usize, out: &mut [u8]| {
        let mut job = Job {
            spec,
            sizes,
            stream,
            out,
            first: first as u64,
            leaf: 0,
        };
        job.part(&spec.init, &spec.elem, 0)
    };
    let each = part(spec);
    let piece = each.saturating_mul(spec.elem.size());
    if piece == 0 || bytes <= piece {
        fill(0, &mut out)?;
        return Ok(out);
    }
    // Scalars depend on their number alone, so the pieces are the same bytes on any number of cores.
    std::thread::scope(|s| {
        let pieces = out.chunks_mut(piece).enumerate();
        let fill = &fill;
        let all: Vec<_> = pieces
            .map(|(n, out)| s.spawn(move || fill(n * each, out)))
            .collect();
        let ended = all.into_iter().map(|t| match t.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect::<Result<(), GenerateError>>()
    })?;
    Ok(out)
}

/// Elements that one thread fills, at least.
const PART: usize = 1 << 17;

/// Threads at most: beyond these, memory is what limits.
const MOST_THREADS: usize = 16;

/// Elements of a piece that one thread fills; an even number, since normal numbers come in pairs.
fn part(spec: &BufferSpec) -> usize {
    let read = |i: &Init| matches!(i, Init::File(_));
    let from_file = match &spec.init {
        Init::Fields(all) => all.iter().any(read),
        one => read(one),
    };
    if from_file || spec.len < 2 * PART {
        return spec.len;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = spec.len.div_ceil(cores.min(MOST_THREADS));
    share.max(PART).next_multiple_of(2)
}

/// One buffer being filled.
struct Job<'a> {
    spec: &'a BufferSpec,
    sizes: &'a [(String, i64)],
    stream: Stream,
    out: &'a mut [u8],
    /// Number of the first element of `out`.
    first: u64,
    /// Counts the scalar and vector fields, which have streams of their own.
    leaf: u32,
}

impl Job<'_> {
    /// Fills one field (or the whole) of every element, `base` bytes into each.
    fn part(&mut self, init: &Init, elem: &ElemType, base: usize) -> Result<(), GenerateError> {
        if let (Init::Fields(inits), ElemType::Struct(types)) = (init, elem) {
            for ((init, elem), offset) in inits.iter().zip(types).zip(elem.field_offsets()) {
                self.part(init, elem, base + offset)?;
            }
            return Ok(());
        }
        self.leaf += 1;
        if let Init::File(path) = init {
            return self.file(path, elem, base);
        }
        let Some(scalar) = elem.scalar() else {
            return Ok(()); // a whole struct of zeros, which it already is
        };
        let place = Place {
            base,
            stride: self.spec.elem.size(),
            scalar,
            width: elem.scalar_count(),
            first: self.first * elem.scalar_count() as u64,
        };
        self.leaf_values(init, &place)
    }

    fn leaf_values(&mut self, init: &Init, place: &Place) -> Result<(), GenerateError> {
        let stream = self.stream.branch(self.leaf - 1);
        let count = self.spec.len as u64 * place.width as u64;
        let scalar = place.scalar;
        let whole = scalar.int_range().is_some();
        let out = &mut *self.out;
        match init {
            Init::Zero | Init::Fields(_) | Init::File(_) => {}
            Init::Constant(value) => place.numbers(out, |_| *value),
            Init::Values(values) => place.numbers(out, |i| {
                let value = usize::try_from(i).ok().and_then(|i| values.get(i));
                value.copied().unwrap_or(Number::Int(0))
            }),
            Init::Uniform { low, high } if whole => {
                let (low, high) = (integral(*low), integral(*high));
                let range = (high - low).max(0) as u128;
                place.integers(out, |i| {
                    low + ((u128::from(stream.bits(i, 0).0) * range) >> 64) as i128
                });
            }
            Init::Uniform { low, high } => {
                let (low, high) = (low.as_f64(), high.as_f64());
                let (least, most) = representable(scalar, low, high);
                place.floats(out, |i| {
                    between(low, high, stream.unit(i, 0)).clamp(least, most)
                });
            }
            Init::Normal { mean, sd } => {
                let mut normal = stream.normals();
                if whole {
                    place.floats(out, |i| (mean + sd * normal(i)).round_ties_even());
                } else {
                    place.floats(out, |i| mean + sd * normal(i));
                }
            }
            Init::LogUniform { low, high } => {
                let (from, to) = (real::ln(*low), real::ln(*high));
                let value = |i| real::exp(between(from, to, stream.unit(i, 0)));
                if whole {
                    let (least, most) = (low.ceil(), high.ceil() - 1.0);
                    place.floats(out, |i| value(i).floor().clamp(least, most));
                } else {
                    let (least, most) = representable(scalar, *low, *high);
                    place.floats(out, |i| value(i).clamp(least, most));
                }
            }
            Init::Linear { from, to } if whole => {
                let (from, to) = (integral(*from), integral(*to));
                place.integers(out, |i| line_of_integers(from, to, i, count));
            }
            Init::Linear { from, to } => {
                let (from, to) = (from.as_f64(), to.as_f64());
                place.floats(out, |i| line_of_floats(from, to, i, count));
            }
            Init::Permutation => {
                let permutation = Permutation::new(count, stream.bits(0, 0));
                place.integers(out, |i| permutation.at(i).into());
            }
            Init::Expr(expr) => return self.expression(expr, place, stream),
        }
        Ok(())
    }

    fn expression(
        &mut self,
        expr: &Expr,
        place: &Place,
        stream: Stream,
    ) -> Result<(), GenerateError> {
        let size = |name: &str| self.sizes.iter().find(|(n, _)| n == name);
        let mut values: Vec<Number> = Vec::new();
        let mut changing: Vec<(usize, bool)> = Vec::new();
        for (slot, used) in expr.names().iter().enumerate() {
            match (used.name.as_str(), size(&used.name)) {
                ("i", _) => changing.push((slot, false)),
                ("rand", _) => changing.push((slot, true)),
                (_, Some((_, value))) => {
                    values.push(Number::from(*value));
                    continue;
                }
                // Stopping short here makes the evaluation report the name.
                (_, None) => break,
            }
            values.push(Number::Int(0));
        }
        let scalar = place.scalar;
        let mut stack = Vec::new();
        place.try_numbers(self.out, |i| {
            for (slot, random) in &changing {
                let value = match random {
                    true => Number::Float(stream.unit(i, *slot as u32)),
                    false => Number::Int(i.into()),
                };
                if let Some(place) = values.get_mut(*slot) {
                    *place = value;
                }
            }
            let value = expr.eval_uses(&values, &mut stack);
            let value = value.map_err(|source| GenerateError::Expr {
                buffer: self.spec.name.clone(),
                index: i,
                source,
            })?;
            let stored = match value {
                Number::Float(v) if !scalar.is_float() => Number::Float(v.trunc()),
                other => other,
            };
            // A float type takes any number, if need be as an infinity.
            if scalar.is_float() || stored.fits(scalar) {
                return Ok(stored);
            }
            Err(GenerateError::Unfit {
                buffer: self.spec.name.clone(),
                index: i,
                value,
                scalar,
            })
        })
    }

    fn file(
        &mut self,
        path: &std::path::Path,
        elem: &ElemType,
        base: usize,
    ) -> Result<(), GenerateError> {
        let file = |source| GenerateError::File {
            buffer: self.spec.name.clone(),
            source,
        };
        let array = npy::read(path).map_err(file)?;
        let suits = array.header.check(elem, self.spec.len);
        suits.map_err(|p| file(NpyError::new(path, p)))?;
        let size = elem.size().max(1);
        let stride = self.spec.elem.size().max(1);
        for (to, from) in self
            .out
            .chunks_mut(stride)
            .zip(array.bytes.chunks_exact(size))
        {
            if let Some(to) = to.get_mut(base..base + size) {
                to.copy_from_slice(from);
            }
        }
        Ok(())
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

fn between(low: f64, high: f64, unit: f64) -> f64 {
    let width = high - low;
    match width.is_finite() {
        true => low + width * unit,
        false => low * (1.0 - unit) + high * unit,
    }
}

fn line_of_floats(from: f64, to: f64, i: u64, count: u64) -> f64 {
    if i + 1 == count && i > 0 {
        return to; // exactly, whatever the rounding of the formula
    }
    let last = count.saturating_sub(1).max(1) as f64;
    let product = (to - from) * i as f64;
    match product.is_finite() {
        true => from + product / last,
        false => between(from, to, i as f64 / last),
    }
}

/// Rounded to the nearest integer, halves up.
fn line_of_integers(from: i128, to: i128, i: u64, count: u64) -> i128 {
    let last = i128::from(count.saturating_sub(1).max(1));
    let twice = 2 * (to - from) * i128::from(i) + last;
    from + twice.div_euclid(2 * last)
}

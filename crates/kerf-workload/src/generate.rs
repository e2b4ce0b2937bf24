//! First contents of buffers.
//!
//! Generators are counter based: scalar `i` is a function of the stream and `i`, whatever the
//! length and order of generation. All values, those of expressions too, use only operations that
//! IEEE 754 defines exactly, so every machine generates the same bytes.

pub(crate) mod check;
mod fill;
pub mod permute;
pub mod perturb;
pub mod philox;
mod real;
pub mod recipe;
pub mod special;

#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::elem::ElemType;
use crate::expr::{Expr, ExprError};
use crate::npy::{self, NpyError};
use crate::number::Number;
use crate::scalar::Scalar;
use crate::workload::{BufferSpec, Init};
use check::InitProblem;
use fill::Place;
use philox::Stream;
use recipe::{Leaf, LeafValues, NameValue, recipe};

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
    let recipe = recipe(spec, workload_seed, sizes)?;
    let memory = || GenerateError::Memory {
        buffer: spec.name.clone(),
        len: spec.len,
        elem: spec.elem.clone(),
    };
    let bytes = spec.bytes().ok_or_else(memory)?;
    if let [leaf] = &recipe.leaves[..]
        && let LeafValues::File(path) = leaf.values
        && *leaf.elem == spec.elem
    {
        // A file of whole elements without padding is what the buffer holds.
        let scalars = spec.elem.scalars();
        if scalars.iter().map(|(_, s)| s.bytes()).sum::<usize>() == spec.elem.size() {
            return file_bytes(spec, path, leaf.elem);
        }
    }
    // Asked for first, because failing below would end the process. Fresh zeroed memory is better
    // than zeroing some here: each page is then touched once.
    Vec::<u8>::new()
        .try_reserve_exact(bytes)
        .map_err(|_| memory())?;
    let mut out = vec![0; bytes];
    let fill = |first: usize, out: &mut [u8]| {
        let mut piece = Piece {
            spec,
            out,
            first: first as u64,
        };
        recipe.leaves.iter().try_for_each(|leaf| piece.leaf(leaf))
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

/// The elements of a buffer, or one field of them, from a file.
fn file_bytes(
    spec: &BufferSpec,
    path: &std::path::Path,
    elem: &ElemType,
) -> Result<Vec<u8>, GenerateError> {
    let file = |source| GenerateError::File {
        buffer: spec.name.clone(),
        source,
    };
    let array = npy::read(path).map_err(file)?;
    let suits = array.header.check(elem, spec.len);
    suits.map_err(|p| file(NpyError::new(path, p)))?;
    Ok(array.bytes)
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

/// Consecutive elements of a buffer being filled.
struct Piece<'a> {
    spec: &'a BufferSpec,
    out: &'a mut [u8],
    /// Number of the first element of `out`.
    first: u64,
}

impl Piece<'_> {
    fn leaf(&mut self, leaf: &Leaf) -> Result<(), GenerateError> {
        if let LeafValues::File(path) = leaf.values {
            return self.file(path, leaf.elem, leaf.base);
        }
        let Some(scalar) = leaf.elem.scalar() else {
            return Ok(()); // a whole struct of zeros, which it already is
        };
        let width = leaf.elem.scalar_count();
        let place = Place {
            base: leaf.base,
            stride: self.spec.elem.size(),
            scalar,
            width,
            first: self.first * width as u64,
        };
        if let LeafValues::Expression {
            expr,
            names,
            stream,
        } = &leaf.values
        {
            return self.expression(expr, names, &place, *stream);
        }
        let count = self.spec.len as u64 * width as u64;
        fill_leaf(&leaf.values, &place, count, self.out);
        Ok(())
    }

    fn expression(
        &mut self,
        expr: &Expr,
        names: &[NameValue],
        place: &Place,
        stream: Stream,
    ) -> Result<(), GenerateError> {
        let value_at = |slot: usize, name: NameValue, i: u64| match name {
            NameValue::Index => Number::Int(i.into()),
            NameValue::Random => Number::Float(stream.unit(i, slot as u32)),
            NameValue::Size(value) => value,
        };
        let changes = |name: NameValue| !matches!(name, NameValue::Size(_));
        let slots = || names.iter().copied().enumerate();
        let mut values: Vec<Number> = slots().map(|(slot, n)| value_at(slot, n, 0)).collect();
        let changing: Vec<_> = slots().filter(|(_, n)| changes(*n)).collect();
        let scalar = place.scalar;
        let mut stack = Vec::new();
        place.try_numbers(self.out, |i| {
            for (slot, name) in &changing {
                values[*slot] = value_at(*slot, *name, i);
            }
            let value = expr.eval_uses(&values, &mut stack);
            let value = value.map_err(|source| GenerateError::Expr {
                buffer: self.spec.name.clone(),
                index: i,
                source,
            })?;
            let stored = match value {
                Number::Float(v) if !scalar.is_float() => Number::Float(v.trunc()),
                // Devices differ in the sign and payload that they give a NaN.
                Number::Float(v) if v.is_nan() => Number::Float(f64::NAN),
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
        let bytes = file_bytes(self.spec, path, elem)?;
        let size = elem.size().max(1);
        let stride = self.spec.elem.size().max(1);
        for (to, from) in self.out.chunks_mut(stride).zip(bytes.chunks_exact(size)) {
            if let Some(to) = to.get_mut(base..base + size) {
                to.copy_from_slice(from);
            }
        }
        Ok(())
    }
}

/// Fills the scalars of a leaf that none of them can make fail; `count` are those of the whole buffer.
fn fill_leaf(values: &LeafValues, place: &Place, count: u64, out: &mut [u8]) {
    let whole = !place.scalar.is_float();
    match *values {
        // Already zero; or filled elsewhere, since these can fail.
        LeafValues::Zero | LeafValues::File(_) | LeafValues::Expression { .. } => {}
        LeafValues::Constant(value) => place.numbers(out, |_| value),
        LeafValues::Listed(values) => place.numbers(out, |i| {
            let value = usize::try_from(i).ok().and_then(|i| values.get(i));
            value.copied().unwrap_or(Number::Int(0))
        }),
        LeafValues::UniformIntegers { low, range, stream } => place.integers(out, |i| {
            low + ((u128::from(stream.bits(i, 0).0) * range) >> 64) as i128
        }),
        LeafValues::UniformFloats {
            low,
            high,
            clamp: (least, most),
            stream,
        } => place.floats(out, |i| {
            between(low, high, stream.unit(i, 0)).clamp(least, most)
        }),
        LeafValues::Normal { mean, sd, stream } => {
            let mut normal = stream.normals();
            if whole {
                place.floats(out, |i| (mean + sd * normal(i)).round_ties_even());
            } else {
                place.floats(out, |i| mean + sd * normal(i));
            }
        }
        LeafValues::LogUniform {
            from,
            to,
            clamp: (least, most),
            stream,
        } => {
            let value = |i| real::exp(between(from, to, stream.unit(i, 0)));
            if whole {
                place.floats(out, |i| value(i).floor().clamp(least, most));
            } else {
                place.floats(out, |i| value(i).clamp(least, most));
            }
        }
        LeafValues::LinearIntegers { from, to } => {
            place.integers(out, |i| line_of_integers(from, to, i, count));
        }
        LeafValues::LinearFloats { from, to } => {
            place.floats(out, |i| line_of_floats(from, to, i, count));
        }
        LeafValues::Permutation(permutation) => {
            place.integers(out, |i| permutation.at(i).into());
        }
    }
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

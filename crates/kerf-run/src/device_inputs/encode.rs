//! Leaves of a buffer as the kernels take them: constants and the order of fields, as in `device/generate.cu` and its
//! headers.
use super::HostReason;
use super::expression;
use kerf_exec::call::Record;
use kerf_exec::{Arg, BufferId};
use kerf_workload::bits;
use kerf_workload::generate::permute::Permutation;
use kerf_workload::generate::philox::Stream;
use kerf_workload::generate::recipe::{Leaf, LeafValues};
use kerf_workload::number::Number;
use kerf_workload::scalar::Scalar;
use kerf_workload::workload::BufferSpec;

/// The scalars of one field of every element.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedScalars {
    /// Offset of the field in an element.
    offset: usize,
    /// Bytes of an element.
    stride: usize,
    /// Scalars of all elements.
    pub(super) count: usize,
    /// Scalars of an element.
    width: usize,
    scalar: Scalar,
}

impl PlacedScalars {
    /// None for a struct.
    pub(super) fn from_leaf(spec: &BufferSpec, leaf: &Leaf) -> Option<PlacedScalars> {
        let width = leaf.elem.scalar_count();
        Some(PlacedScalars {
            offset: leaf.base,
            stride: spec.elem.size(),
            count: spec.len * width,
            width,
            scalar: leaf.elem.scalar()?,
        })
    }

    /// One scalar of every element.
    pub(super) fn single(spec: &BufferSpec, offset: usize, scalar: Scalar) -> PlacedScalars {
        PlacedScalars {
            offset,
            stride: spec.elem.size(),
            count: spec.len,
            width: 1,
            scalar,
        }
    }

    /// All floating-point values of a buffer.
    pub(super) fn floats(spec: &BufferSpec) -> Vec<PlacedScalars> {
        let each = spec.elem.scalars();
        let placed: Vec<PlacedScalars> = match spec.elem.scalar() {
            Some(scalar) => vec![PlacedScalars {
                count: spec.len * each.len(),
                width: each.len(),
                ..PlacedScalars::single(spec, 0, scalar)
            }],
            None => {
                let single = |(offset, scalar)| PlacedScalars::single(spec, offset, scalar);
                each.into_iter().map(single).collect()
            }
        };
        let is_float = |s: &PlacedScalars| s.scalar.is_float();
        placed.into_iter().filter(is_float).collect()
    }

    /// As an argument.
    pub(super) fn arg(&self, buffer: BufferId) -> Arg {
        let mut record = Record::default();
        record.pointer_at(buffer, self.offset as u64);
        record.word(self.stride as u64);
        record.word(self.count as u64);
        record.halves(self.width as u32, number(self.scalar));
        record.arg()
    }
}

/// A type, as the device code numbers it.
fn number(scalar: Scalar) -> u32 {
    let at = Scalar::ALL.iter().position(|s| *s == scalar);
    at.unwrap_or(0) as u32
}

/// A kernel that fills a leaf.
#[derive(Debug)]
pub(super) struct LeafKernel {
    pub(super) symbol: &'static str,
    pub(super) parameters: Parameters,
}

/// What a kernel takes beside the place of the scalars.
#[derive(Debug)]
pub(super) enum Parameters {
    /// A struct by value.
    Record(Record),
    /// Bits of a scalar.
    Bits(u64),
    /// The address of scalars that lie one behind the other.
    Listed(Vec<u8>),
    /// An expression in postfix form.
    Expression {
        /// Its operations.
        operations: Vec<u8>,
        /// Random numbers.
        stream: Stream,
    },
}

/// Adds the key of random numbers.
pub(super) fn add_stream(record: &mut Record, stream: Stream) {
    record.word(stream.key);
    record.halves(stream.branch, 0);
}

/// The kernel of a leaf; none where it is zeros.
pub(super) fn leaf_kernel(leaf: &Leaf) -> Result<Option<LeafKernel>, HostReason> {
    let symbol = match leaf.values {
        LeafValues::Zero => return Ok(None),
        LeafValues::File(_) => return Err(HostReason::File),
        LeafValues::Constant(_) => "fill_constant",
        LeafValues::Listed(_) => "fill_listed",
        LeafValues::UniformIntegers { .. } => "fill_uniform_integers",
        LeafValues::UniformFloats { .. } => "fill_uniform_floats",
        LeafValues::Normal { .. } => "fill_normal",
        LeafValues::LogUniform { .. } => "fill_log_uniform",
        LeafValues::LinearIntegers { .. } => "fill_linear_integers",
        LeafValues::LinearFloats { .. } => "fill_linear_floats",
        LeafValues::Permutation(_) => "fill_permutation",
        LeafValues::Expression { .. } => "fill_expression",
    };
    let Some(scalar) = leaf.elem.scalar() else {
        return Ok(None);
    };
    let parameters = match &leaf.values {
        LeafValues::Constant(value) => Parameters::Bits(constant_bits(scalar, *value)),
        LeafValues::Listed(values) => Parameters::Listed(listed_bytes(scalar, values)),
        LeafValues::Expression {
            expr,
            names,
            stream,
        } => Parameters::Expression {
            operations: expression::operations(expr, names)?,
            stream: *stream,
        },
        other => Parameters::Record(record(other)),
    };
    Ok(Some(LeafKernel { symbol, parameters }))
}

/// The struct of a kernel that takes one.
fn record(values: &LeafValues) -> Record {
    let mut record = Record::default();
    match *values {
        LeafValues::UniformIntegers { low, range, stream } => {
            // Modulo 2^64, which is what the kernel adds in; a range of 2^64 becomes 0.
            record.word(low as u64);
            record.word(range as u64);
            add_stream(&mut record, stream);
        }
        LeafValues::UniformFloats {
            low: from,
            high: to,
            clamp,
            stream,
        }
        | LeafValues::LogUniform {
            from,
            to,
            clamp,
            stream,
        } => {
            for bound in [from, to, clamp.0, clamp.1] {
                record.float(bound);
            }
            add_stream(&mut record, stream);
        }
        LeafValues::Normal { mean, sd, stream } => {
            record.float(mean);
            record.float(sd);
            add_stream(&mut record, stream);
        }
        LeafValues::LinearIntegers { from, to } => {
            let width = to - from;
            record.word(from as u64);
            record.word(width as u64);
            record.word((width >> 64) as u64);
        }
        LeafValues::LinearFloats { from, to } => {
            record.float(from);
            record.float(to);
        }
        LeafValues::Permutation(permutation) => add_permutation(&mut record, &permutation),
        LeafValues::Zero
        | LeafValues::File(_)
        | LeafValues::Constant(_)
        | LeafValues::Listed(_)
        | LeafValues::Expression { .. } => {}
    }
    record
}

fn add_permutation(record: &mut Record, p: &Permutation) {
    for word in [p.count, p.mask, p.key.0, p.key.1] {
        record.word(word);
    }
    record.halves(p.shift, 0);
}

fn constant_bits(scalar: Scalar, value: Number) -> u64 {
    let mut bytes = [0; 8];
    bits::store(scalar, value, &mut bytes);
    u64::from_le_bytes(bytes)
}

fn listed_bytes(scalar: Scalar, values: &[Number]) -> Vec<u8> {
    let size = scalar.bytes();
    let mut bytes = vec![0; values.len() * size];
    for (to, value) in bytes.chunks_exact_mut(size).zip(values) {
        bits::store(scalar, *value, to);
    }
    bytes
}

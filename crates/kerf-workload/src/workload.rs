//! What a workload file says, once read.

use std::ops::Range;
use std::path::PathBuf;

use crate::accept::Accept;
use crate::elem::ElemType;
use crate::expr::Expr;
use crate::mistakes::Mistake;
use crate::number::Number;
use crate::scalar::Scalar;
use crate::space::LaunchSpace;
use kerf_num::metrics::{ImageExtents, WINDOW};

/// Most bytes of one buffer, and of all together: 1 TiB.
pub const MAX_BYTES: u64 = 1 << 40;

/// The kind of device whose sizes a workload is read with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SizesFor {
    /// Those of `[cpu_sizes]`, and of `[sizes]` where it has none.
    #[default]
    Cpu,
    /// Those of `[sizes]`.
    Gpu,
}

/// A workload: how to run a program of kernels once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workload {
    /// The workload file.
    pub path: PathBuf,
    /// The kernels' source, resolved against the file's directory.
    pub source: PathBuf,
    /// Compiler flags, with include directories resolved against the file's directory.
    pub flags: Vec<String>,
    /// Seed of all generators.
    pub seed: u64,
    /// Sizes in the order of the file, with overrides applied.
    pub sizes: Vec<(String, i64)>,
    /// Sizes that have a value of their own for the CPU: the names of `[cpu_sizes]`, in the order of `[sizes]`.
    pub sizes_by_device: Vec<String>,
    /// Buffers in the order of the file; steps refer to them by position once expanded.
    pub buffers: Vec<BufferSpec>,
    /// What runs, in order.
    pub steps: Vec<WorkloadStep>,
    /// Parameters of the launches.
    pub launch_space: LaunchSpace,
    /// What counts as close enough.
    pub accept: Accept,
    /// What is probably not meant but no mistake.
    pub warnings: Vec<Mistake>,
}

impl Workload {
    /// Position of a buffer.
    pub fn buffer(&self, name: &str) -> Option<usize> {
        self.buffers.iter().position(|b| b.name == name)
    }

    /// The value of a size.
    pub fn size(&self, name: &str) -> Option<i64> {
        let found = self.sizes.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| *value)
    }
}

/// A buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct BufferSpec {
    /// The name launches use.
    pub name: String,
    /// Type of one element.
    pub elem: ElemType,
    /// Number of elements.
    pub len: usize,
    /// First contents.
    pub init: Init,
    /// Whether the program may rely on them.
    pub defined: Defined,
    /// Whether it is compared with the reference.
    pub output: bool,
    /// The variable of the source whose storage this is.
    pub symbol: Option<String>,
    /// Seed of this buffer alone.
    pub seed: Option<u64>,
    /// Extents for reports and `.npy` files; their product is `len`.
    pub shape: Option<Vec<usize>>,
    /// Bytes of the file that define it.
    pub span: Range<usize>,
    /// Line of the file, from 1.
    pub line: usize,
}

impl BufferSpec {
    /// Size in bytes; `None` if that is more than the address space has.
    pub fn bytes(&self) -> Option<usize> {
        self.len.checked_mul(self.elem.size())
    }

    /// Number of scalars; `None` if there are too many to count.
    pub fn scalars(&self) -> Option<usize> {
        self.len.checked_mul(self.elem.scalar_count())
    }

    /// Its extents as an image, where its shape is one that a window of structural similarity fits into.
    pub fn image(&self) -> Option<ImageExtents> {
        let shape = self.shape.as_ref()?;
        let [height, width] = shape[..] else {
            return None;
        };
        let channels = self.elem.scalar_count();
        (height.min(width) >= WINDOW).then_some(ImageExtents {
            height,
            width,
            channels,
        })
    }

    /// Shape for a `.npy` file: the given one or `[len]`, and for a vector its width as the last
    /// extent.
    pub fn npy_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone().unwrap_or_else(|| vec![self.len]);
        if let ElemType::Vector(_, width) = self.elem {
            shape.push(width as usize);
        }
        shape
    }
}

/// Whether a program may rely on a buffer's first contents. What has none is zero all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defined {
    /// The file gives them.
    Given,
    /// The file has no `init`: zeros, and a note where the checks see that a kernel reads them.
    AssumedZero,
    /// `init = "undefined"`, as memory is that was just allocated: a fault where a kernel relies on them.
    Undefined,
}

/// First contents of a buffer or of one field of its elements.
#[derive(Debug, Clone, PartialEq)]
pub enum Init {
    /// Zero.
    Zero,
    /// The same number everywhere.
    Constant(Number),
    /// Uniform in `[low, high)`.
    Uniform {
        /// Smallest value.
        low: Number,
        /// Above the largest value.
        high: Number,
    },
    /// Normally distributed.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        sd: f64,
    },
    /// Logarithm uniform between those of the bounds.
    LogUniform {
        /// Smallest value, above 0.
        low: f64,
        /// Above the largest value.
        high: f64,
    },
    /// Evenly spaced from the first to the last.
    Linear {
        /// The first value.
        from: Number,
        /// The last value.
        to: Number,
    },
    /// These numbers.
    Values(Vec<Number>),
    /// The integers from 0, shuffled.
    Permutation,
    /// An expression of `i`, the sizes and `rand`.
    Expr(Expr),
    /// The contents of a `.npy` file.
    File(PathBuf),
    /// One for each field of a struct.
    Fields(Vec<Init>),
}

/// A step of a workload.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkloadStep {
    /// A kernel launch.
    Launch(LaunchSpec),
    /// A loop around steps.
    Loop {
        /// The loop variable.
        var: String,
        /// Its first value.
        from: Expr,
        /// Where it ends.
        to: Expr,
        /// Whether `to` is included.
        inclusive: bool,
        /// What is added each time; 1 if absent.
        step: Option<Expr>,
        /// The steps repeated.
        body: Vec<WorkloadStep>,
        /// Line of the file.
        line: usize,
    },
    /// A copy between buffers of equal byte lengths.
    Copy {
        /// Name of the buffer read.
        from: String,
        /// Name of the buffer written.
        to: String,
        /// Line of the file.
        line: usize,
    },
    /// An exchange of what two names refer to.
    Swap {
        /// One name.
        a: String,
        /// The other.
        b: String,
        /// Line of the file.
        line: usize,
    },
}

/// A kernel launch, before expressions have values.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchSpec {
    /// The kernel as the source writes it.
    pub kernel: String,
    /// 1 to 3 numbers of blocks.
    pub grid: Vec<Expr>,
    /// 1 to 3 numbers of threads.
    pub block: Vec<Expr>,
    /// Dynamic shared memory in bytes.
    pub shared: Option<Expr>,
    /// Arguments in order.
    pub args: Vec<ArgSpec>,
    /// Line of the file.
    pub line: usize,
}

/// An argument, before expressions have values.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgSpec {
    /// The address of a buffer.
    Buffer {
        /// Its name.
        name: String,
        /// Distance from its start in elements.
        offset: Option<Expr>,
    },
    /// A number; its type comes from the kernel's signature.
    Number(Expr),
    /// A number of a given type.
    Typed(Scalar, Expr),
    /// A struct passed by value.
    Struct(Vec<ArgSpec>),
    /// An OpenCL `__local` pointer to this many bytes.
    Local(Expr),
}

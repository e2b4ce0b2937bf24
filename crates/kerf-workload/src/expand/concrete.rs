//! Launches with values for everything.

use super::{Expansion, Mistakes};
use crate::expr::Expr;
use crate::limits::{self, Unlaunchable};
use crate::number::Number;
use crate::scalar::Scalar;
use crate::workload::{ArgSpec, LaunchSpec};

/// A step that can be run.
#[derive(Debug, Clone, PartialEq)]
pub enum ConcreteStep {
    /// A kernel launch.
    Launch(ConcreteLaunch),
    /// A copy of all bytes between buffers, by position after swaps.
    Copy {
        /// The buffer read.
        from: usize,
        /// The buffer written.
        to: usize,
        /// Line of the file.
        line: usize,
    },
}

/// A kernel launch that can be run.
#[derive(Debug, Clone, PartialEq)]
pub struct ConcreteLaunch {
    /// The kernel as the source writes it.
    pub kernel: String,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads along x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// Arguments in order.
    pub args: Vec<ArgValue>,
    /// Line of the file.
    pub line: usize,
}

/// An argument with its value.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgValue {
    /// The address of a buffer.
    Buffer {
        /// Position of the buffer whose storage it is, after swaps.
        index: usize,
        /// Distance from its start in elements.
        offset_elems: usize,
    },
    /// An integer, for whatever type the signature has.
    Int(i128),
    /// A float, for whatever type the signature has.
    Float(f64),
    /// A number that fits the given type.
    Typed(Scalar, Number),
    /// A struct passed by value.
    Struct(Vec<ArgValue>),
    /// An OpenCL `__local` pointer to this many bytes.
    Local(u32),
}

/// Gives a launch its values, reporting all that is wrong with it.
pub(super) fn launch(
    expansion: &Expansion<'_>,
    spec: &LaunchSpec,
) -> Result<ConcreteLaunch, Mistakes> {
    let mut wrong = Mistakes::none();
    let mut keep = |result: Result<u32, Mistakes>| {
        result.unwrap_or_else(|m| {
            m.list.into_iter().for_each(|m| wrong.push(m));
            0
        })
    };
    let mut grid = [1; 3];
    for ((axis, expr), slot) in spec.grid.iter().enumerate().zip(&mut grid) {
        *slot = keep(limited(expansion, expr, |v| limits::grid_extent(axis, v)));
    }
    let mut block = [1; 3];
    for ((axis, expr), slot) in spec.block.iter().enumerate().zip(&mut block) {
        *slot = keep(limited(expansion, expr, |v| limits::block_extent(axis, v)));
    }
    if let (Err(problem), Some(first)) = (limits::block_threads(block), spec.block.first()) {
        keep(Err(expansion.about(first, problem.what, &problem.expected)));
    }
    let shared = match &spec.shared {
        Some(expr) => keep(limited(expansion, expr, |v| {
            limits::byte_count("`shared`", v)
        })),
        None => 0,
    };
    let mut args = Vec::with_capacity(spec.args.len());
    for arg in &spec.args {
        match argument(expansion, arg, spec.line) {
            Ok(value) => args.push(value),
            Err(mistakes) => drop(keep(Err(mistakes))),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(ConcreteLaunch {
        kernel: spec.kernel.clone(),
        grid,
        block,
        shared,
        args,
        line: spec.line,
    })
}

fn limited(
    expansion: &Expansion<'_>,
    expr: &Expr,
    check: impl FnOnce(Number) -> Result<u32, Unlaunchable>,
) -> Result<u32, Mistakes> {
    let value = expansion.number(expr)?;
    check(value).map_err(|p| expansion.about(expr, p.what, &p.expected))
}

fn argument(expansion: &Expansion<'_>, spec: &ArgSpec, line: usize) -> Result<ArgValue, Mistakes> {
    Ok(match spec {
        ArgSpec::Buffer { name, offset } => {
            let index = expansion.resolve(name, line)?;
            let len = expansion.workload.buffers.get(index).map_or(0, |b| b.len);
            let offset_elems = match offset {
                Some(expr) => offset_in(expansion, expr, name, len)?,
                None => 0,
            };
            ArgValue::Buffer {
                index,
                offset_elems,
            }
        }
        ArgSpec::Number(expr) => match expansion.number(expr)? {
            Number::Int(v) => ArgValue::Int(v),
            Number::Float(v) => ArgValue::Float(v),
        },
        ArgSpec::Typed(scalar, expr) => {
            let value = expansion.number(expr)?;
            if !value.fits(*scalar) {
                let what = format!("{value} does not fit {scalar}");
                return Err(expansion.about(expr, what, "a number of that type"));
            }
            ArgValue::Typed(*scalar, value)
        }
        // Nesting is as deep as the file's, which the TOML parser bounds.
        ArgSpec::Struct(fields) => {
            let fields = fields.iter().map(|f| argument(expansion, f, line));
            ArgValue::Struct(fields.collect::<Result<_, _>>()?)
        }
        ArgSpec::Local(expr) => {
            let check = |v| limits::byte_count("`local`", v);
            ArgValue::Local(limited(expansion, expr, check)?)
        }
    })
}

/// An offset into a buffer. One past the end is allowed: a last turn of a loop that has nothing
/// left to do may well compute it.
fn offset_in(
    expansion: &Expansion<'_>,
    expr: &Expr,
    name: &str,
    len: usize,
) -> Result<usize, Mistakes> {
    let value = expansion.number(expr)?;
    let offset = value.as_int().and_then(|v| usize::try_from(v).ok());
    offset.filter(|o| *o <= len).ok_or_else(|| {
        let what = format!("offset into `{name}` is {value}");
        expansion.about(
            expr,
            what,
            &format!("an integer from 0 to {len}, its length"),
        )
    })
}

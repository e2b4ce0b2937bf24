//! How far a kernel reaches: the extents of what its pointers point to and of its threads, as polynomials of
//! its parameters.
//!
//! Indices are expanded into sums of products of parameters, thread indices and loop variables. Comparisons of
//! these with parameters (`if (i < n)`, `k < m` of a loop) bound them, and the bounds put into an index give the
//! last element: `row * n + column` with `row < m` and `column < n` is below `m * n`. All quantities are
//! taken to be positive, and every comparison to be a guard, so an extent is a proposal, not a proof.
mod ends;
mod pointers;
mod polynomial;
mod reader;
mod shared;
mod uses;

pub use polynomial::{Polynomial, Symbol};
pub use shared::ArrayFit;

use super::{AccessDirection, touched};
use ends::{everywhere, wider};
use kerf_llvm::{Module, Opcode, Value};
use reader::Reader;
use std::collections::BTreeMap;
use uses::{array, index_uses, of_a_warp};

/// What a pointer of a kernel is derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PointerSource {
    /// A pointer parameter, from 0.
    Parameter(usize),
    /// A pointer in a struct that is passed by value: the parameter, and the pointer's byte there.
    Member(usize, u64),
}

/// What the memory behind a pointer is used for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PointerReach {
    /// One past the last byte; none where an index comes from memory or is not understood.
    pub bytes: Option<Polynomial>,
    /// It is read.
    pub read: bool,
    /// It is written.
    pub written: bool,
    /// What is read from it becomes an index.
    pub index: bool,
    /// Where that is into other buffers: which, and the bytes from one element that it chooses to the next.
    pub indexes: Vec<(PointerSource, u64)>,
    /// Where that is into an array of the program: its elements, the fewest if there are several.
    pub of_array: Option<u64>,
}

/// What the indices of a kernel along an axis stand for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IndexMeaning {
    /// The kernel does not ask for them.
    #[default]
    Nothing,
    /// Threads of all blocks: `blockIdx.x * blockDim.x + threadIdx.x`.
    Threads,
    /// Threads of one block; blocks are not told apart.
    Within,
    /// A block for each item, its threads share the item.
    Shared,
    /// A block for each item; its threads are not told apart.
    Blocks,
}

impl IndexMeaning {
    /// Are threads of a block told apart?
    pub fn threads(self) -> bool {
        matches!(self, Self::Threads | Self::Within | Self::Shared)
    }

    /// Is there a block for each item?
    pub fn by_block(self) -> bool {
        matches!(self, Self::Shared | Self::Blocks)
    }
}

/// The extents of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extents {
    /// By pointer.
    pub reach: BTreeMap<PointerSource, PointerReach>,
    /// Threads along x, y, z, or blocks where each has an item, where they are bounded; none if the axis is not used
    /// or not bounded.
    pub threads: [Option<Polynomial>; 3],
    /// Integer parameters that are positions, not sizes; extents are where these are zero.
    pub positions: Vec<usize>,
    /// What the indices along the axes stand for.
    pub axes: [IndexMeaning; 3],
    /// Threads of a warp exchange values.
    pub warps: bool,
    /// Integer parameters that the code does not use.
    pub unused: Vec<usize>,
    /// Block sizes that the code is written for: it has `blockIdx.x * 32 + threadIdx.x`.
    pub made_for: [Option<i128>; 3],
    /// Shared arrays of a fixed size that threads fill by their index along an axis.
    pub filled: [Option<ArrayFit>; 3],
    /// A shared array that threads fill by their number in the block, over all axes.
    pub filled_by_all: Option<ArrayFit>,
}

/// Reads the extents of a kernel off its code.
pub fn extents(m: &Module, kernel: Value) -> Extents {
    let mut r = Reader::new(m, kernel);
    let all: Vec<Value> = kernel
        .blocks()
        .into_iter()
        .flat_map(|b| b.instructions())
        .collect();
    // First which indices there are.
    for i in all.iter().filter(|i| i.opcode() == Some(Opcode::LLVMCall)) {
        r.polynomial(*i);
    }
    for i in &all {
        if i.opcode() == Some(Opcode::LLVMICmp) && i.operand(0).ty().is_int() {
            r.guard(*i);
        } else if i.opcode() == Some(Opcode::LLVMMul) {
            r.polynomial(*i);
        }
    }
    r.bound_by_loops();
    r.bound_by_arrays(&all);
    let (mut filled, mut filled_by_all) = r.filled_arrays();
    let mut reach = r.reaches(&all);
    let warps = all.iter().any(|i| of_a_warp(*i));
    let mut positions: Vec<usize> = r
        .threads
        .iter()
        .flatten()
        .flat_map(Polynomial::positions)
        .collect();
    positions.sort_unstable();
    positions.dedup();
    for p in reach
        .values_mut()
        .filter_map(|r| r.bytes.as_mut())
        .chain(r.threads.iter_mut().flatten())
    {
        *p = p.at_zero(&positions);
    }
    // What a comparison with a position leaves of an end may be nothing.
    for end in &mut r.threads {
        *end = end.take().filter(|e| e.typical() > 0);
    }
    let axes = [0, 1, 2].map(|a| r.along(a));
    if !axes[1].threads() && !axes[2].threads() {
        // All threads are those along x.
        filled[0] = filled[0].take().or(filled_by_all.take());
    }
    let params = kernel.params().into_iter().enumerate();
    let unused = params
        .filter(|(_, p)| p.ty().is_int() && p.users().is_empty())
        .map(|(at, _)| at)
        .collect();
    // `threadIdx.y * 32 + threadIdx.x`: a warp a row.
    let row = |p: &Polynomial| {
        let of = |axis| p.0.get(&vec![Symbol::Thread(axis)]);
        (of(0), of(1)) == (Some(&1), Some(&32))
    };
    if warps && r.known.values().flatten().any(row) {
        r.made_for[0].get_or_insert(32);
    }
    Extents {
        reach,
        positions,
        threads: r.threads,
        axes,
        warps,
        unused,
        made_for: r.made_for,
        filled,
        filled_by_all,
    }
}

impl Reader<'_> {
    /// A loop that begins at a thread's index or a block's and steps by all of them bounds these as well.
    fn bound_by_loops(&mut self) {
        for t in 0..self.turns.len() {
            let (v, Some(end)) = (self.turns[t], self.below.get(&t).cloned()) else {
                continue;
            };
            if v.opcode() != Some(Opcode::LLVMPHI) {
                continue;
            }
            for (from, _) in v.incoming() {
                if let Some(p) = self.polynomial(from)
                    && let Some(axis) = (0..3).find(|a| {
                        p == everywhere(*a) || p == Polynomial::symbol(Symbol::BlockIndex(*a))
                    })
                {
                    wider(&mut self.threads[axis], &end);
                }
            }
        }
    }

    /// A block's number that chooses an element of an array of the program is bounded by the array.
    fn bound_by_arrays(&mut self, all: &[Value]) {
        for i in all {
            if i.opcode() != Some(Opcode::LLVMGetElementPtr) {
                continue;
            }
            for index in &i.operands()[1..] {
                let Some(p) = self.polynomial(*index) else {
                    continue;
                };
                let mut terms = p.0.iter();
                if let (Some((k, step)), None) = (terms.next(), terms.next())
                    && let [Symbol::BlockIndex(axis)] = k[..]
                    && let Some(n) = array(self.m, *i, *index)
                    && self.threads[axis].is_none()
                    && (1..=i128::from(n)).contains(step)
                {
                    self.threads[axis] = Some(Polynomial::number(i128::from(n) / step));
                }
            }
        }
    }

    /// What every pointer is used for.
    fn reaches(&mut self, all: &[Value]) -> BTreeMap<PointerSource, PointerReach> {
        let mut reach: BTreeMap<PointerSource, PointerReach> = BTreeMap::new();
        for i in all {
            for t in touched(self.m, *i) {
                let Some((of, offset)) = self.locate(t.pointer) else {
                    continue;
                };
                let (read, written) = (
                    t.direction != AccessDirection::Store,
                    t.direction != AccessDirection::Load,
                );
                // Members of a struct that is passed by value lie in no buffer.
                if let PointerSource::Parameter(at) = of
                    && self.kernel.byval(at as u32).is_some()
                {
                    continue;
                }
                let size = Polynomial::number(i128::from(t.bytes));
                let end = offset.and_then(|o| Some(self.largest(&o)?.plus(&size, 1)));
                let e = reach.entry(of).or_default();
                e.read |= read;
                e.written |= written;
                if let Some(end) = end {
                    wider(&mut e.bytes, &end);
                }
                if read && i.ty().is_int() {
                    let (uses, of_array) = index_uses(self.m, *i);
                    e.index |= !uses.is_empty();
                    e.of_array = e.of_array.into_iter().chain(of_array).min();
                    let more = self.indexed_by(*i, &uses);
                    e.indexes.extend(more);
                    e.indexes.sort_unstable();
                    e.indexes.dedup();
                }
            }
        }
        reach
    }
}

#[cfg(test)]
mod shape_tests;
#[cfg(test)]
mod tests;

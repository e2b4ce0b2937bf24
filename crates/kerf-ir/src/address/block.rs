//! Addresses of memory accesses over the threads of a block, and what they cost in transactions.
//!
//! Every integer and address of a kernel is evaluated for all threads of one block at once, for a given
//! block, grid and scalar arguments: sums, products, shifts, divisions, masks, clamps, whatever the
//! index is made of. A loop stands at its first turn. What comes from memory is unknown; where all
//! threads read the same word, only its value is. Addresses that are linear in the thread's indices
//! give their strides (the A and B of "A x + B y + C"), all others still give their transactions.
pub(crate) mod guards;
mod lanes;

use super::{AccessDirection, touched};
use crate::kernels::KernelInfo;
use crate::sites;
use kerf_llvm::{Module, Opcode, Value, space};
use lanes::Eval;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What the launch fixes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BlockShape {
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks.
    pub grid: [u32; 3],
    /// Values of the kernel's integer parameters, where they are known.
    pub args: Vec<Option<i64>>,
}

impl BlockShape {
    /// Threads of a block.
    pub fn threads(&self) -> usize {
        self.block.iter().map(|x| *x as usize).product()
    }
    fn index(&self, t: usize) -> [i64; 3] {
        let [x, y, _] = self.block.map(|b| b.max(1) as usize);
        [t % x, t / x % y, t / (x * y)].map(|v| v as i64)
    }
}

/// One access of a kernel.
#[derive(Debug, Clone)]
pub struct KernelAccess {
    /// Which way.
    pub direction: AccessDirection,
    /// Bytes of one thread.
    pub bytes: u64,
    /// Shared memory, not global.
    pub shared: bool,
    /// Name of the parameter or variable, where there is one.
    pub object: String,
    /// Size of that object in bytes, for shared arrays of a fixed size.
    pub size: Option<u64>,
    /// Loops around it.
    pub depth: u32,
    /// Source line, where known.
    pub line: Option<u32>,
    /// Bytes from the object's start, by thread of the block; none where they depend on memory.
    pub offsets: Option<Rc<[i64]>>,
    /// Whether the offsets are the addresses themselves, and not only up to something that all threads share.
    pub exact: bool,
    /// One past the last byte of the object that a thread of the block touches, where conditions let it; none where that
    /// cannot be told.
    pub reach: Option<i64>,
}

/// Threads that go together.
const WARP: usize = 32;

impl KernelAccess {
    /// Pieces of memory of `granule` bytes that the warps of one block touch, each warp by itself.
    pub fn transactions(&self, granule: u64) -> Option<u64> {
        let offsets = self.offsets.as_ref()?;
        let g = granule.max(1) as i64;
        let mut sum = 0;
        for warp in offsets.chunks(WARP) {
            let mut pieces: Vec<i64> = Vec::with_capacity(WARP);
            for a in warp {
                let last = a + self.bytes.max(1) as i64 - 1;
                pieces.extend(a.div_euclid(g)..=last.div_euclid(g));
            }
            pieces.sort_unstable();
            pieces.dedup();
            sum += pieces.len() as u64;
        }
        Some(sum)
    }

    /// Bytes between neighbours along x, y and z, where the address is linear in the thread's indices.
    pub fn strides(&self, shape: &BlockShape) -> Option<[i64; 3]> {
        let offsets = self.offsets.as_ref()?;
        let base = *offsets.first()?;
        let [x, y, z] = shape.block.map(|b| b as usize);
        let at = |t: usize, of: usize| if of > 1 { offsets[t] - base } else { 0 };
        let s = [at(1, x), at(x, y), at(x * y, z)];
        let linear = offsets.iter().enumerate().all(|(t, a)| {
            let i = shape.index(t);
            *a == base + s[0] * i[0] + s[1] * i[1] + s[2] * i[2]
        });
        linear.then_some(s)
    }
}

/// What a pointer of a kernel is derived from, its number where that is a parameter, and whether it is shared memory;
/// none for local and constant memory.
fn object(kernel: Value, pointer: Value) -> Option<(Value, Option<usize>, bool)> {
    let root = pointer.underlying();
    let at = kernel.params().iter().position(|p| *p == root);
    let by_value = at.is_some_and(|p| kernel.byval(p as u32).is_some());
    let of = if root.ty().is_ptr() {
        root.ty().space()
    } else {
        0
    };
    let of = if of == 0 { pointer.ty().space() } else { of };
    let kept = by_value
        || root.opcode() == Some(Opcode::LLVMAlloca)
        || matches!(of, space::LOCAL | space::CONSTANT);
    (!kept).then_some((root, at, of == space::SHARED))
}

/// Parameters through which a kernel touches global memory, and whether it writes there; none where it follows
/// pointers whose parameter cannot be told.
pub fn touched_params(m: &Module, kernel: Value) -> Option<BTreeMap<usize, bool>> {
    let mut out = BTreeMap::new();
    let all = kernel.instructions().into_iter();
    for t in all.flat_map(|i| touched(m, i)) {
        match object(kernel, t.pointer) {
            None | Some((_, _, true)) => {}
            Some((_, Some(p), _)) => {
                *out.entry(p).or_insert(false) |= t.direction != AccessDirection::Load;
            }
            Some((root, None, _)) if root.is_global_var() => {}
            Some(_) => return None,
        }
    }
    Some(out)
}

/// The accesses of a kernel to global and shared memory, for one shape. What device functions that were not
/// inlined do is left out.
pub fn references(
    m: &Module,
    kernel: Value,
    info: &KernelInfo,
    shape: &BlockShape,
) -> Vec<KernelAccess> {
    let main = m.source_name();
    let mut e = Eval::new(m, kernel, shape);
    let mut out = Vec::new();
    let depths = kernel.loop_depths().into_iter();
    let under = depths.zip(guards::guards(kernel));
    for (block, (depth, guards)) in kernel.blocks().into_iter().zip(under) {
        let mut there: Option<Option<Vec<bool>>> = None;
        let instructions = block.instructions().into_iter();
        for (i, t) in instructions.flat_map(|i| touched(m, i).into_iter().map(move |t| (i, t))) {
            let bytes = t.bytes;
            let Some((root, at, shared)) = object(kernel, t.pointer) else {
                continue;
            };
            let lanes = e.evaluate(t.pointer);
            let fixed = root.is_global_var() && shared && !root.is_declaration();
            let fits = lanes.as_ref().filter(|l| shared && l.exact);
            let reach = fits.and_then(|l| {
                let there = there.get_or_insert_with(|| e.threads(&guards)).as_ref()?;
                let mine = l.of.iter().zip(there).filter(|(_, t)| **t);
                mine.map(|(a, _)| a + bytes as i64).max()
            });
            out.push(KernelAccess {
                reach,
                direction: t.direction,
                bytes,
                shared,
                object: match at {
                    Some(p) => info.params.get(p).map_or(String::new(), |p| p.name.clone()),
                    None if root.is_global_var() => kerf_llvm::demangle(&root.name()),
                    None => String::new(),
                },
                size: fixed
                    .then(|| m.size_of(root.global_type()))
                    .filter(|s| *s > 0),
                depth,
                line: sites::location(i, &main).map(|l| l.line).filter(|l| *l > 0),
                exact: lanes.as_ref().is_some_and(|l| l.exact),
                offsets: lanes.map(|l| l.of),
            });
        }
    }
    out
}

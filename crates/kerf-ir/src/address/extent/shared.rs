//! Blocks that shared arrays of a fixed size are made for.
//!
//! `__shared__ float tile[16][17]` with `tile[threadIdx.y][threadIdx.x] = ...` is filled by blocks of 16 by 16 threads. A smaller
//! block leaves a part of it undefined, a larger one writes past its end. What a thread writes under a condition on its own
//! index (`if (threadIdx.x < 12) seen[threadIdx.x] = 0`) says nothing of the block.
use super::polynomial::without;
use super::reader::Reader;
use super::{Polynomial, Symbol};
use crate::address::block::guards::{Guard, guards};
use kerf_llvm::{Opcode, Type, TypeKind, Value, demangle, space};

/// Threads that a shared array has room for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayFit {
    /// The array.
    pub array: String,
    /// Threads that fill it.
    pub threads: i128,
    /// Whether the kernel reads elements that only a block of just this size has written: neither does each thread read only
    /// what it wrote itself, nor does the kernel ask for the block's size.
    pub exact: bool,
}

/// Threads of a block, at most.
const MOST_THREADS: i128 = 1024;

/// A dimension of an array: its elements, and the bytes from one to the next.
type Dimension = (i128, i128);

/// Reads and writes of one array, as byte offsets.
#[derive(Default)]
struct Touched {
    /// By the thread's index, under no condition on it.
    written: Vec<Polynomial>,
    /// None: somewhere that is not understood.
    read: Vec<Option<Polynomial>>,
}

/// Numbers of threads by what they are counted along.
#[derive(Default)]
struct Fits {
    by_axis: [Option<ArrayFit>; 3],
    by_all: Option<ArrayFit>,
}

impl Reader<'_> {
    /// What shared arrays say of the block: by axis, and of all threads where they are numbered over the axes.
    pub(super) fn filled_arrays(&mut self) -> ([Option<ArrayFit>; 3], Option<ArrayFit>) {
        let touched = self.touched_arrays();
        let asks: Vec<bool> = (0..3).map(|axis| self.asks_for_block(axis)).collect();
        let mut fits = Fits::default();
        for (array, of) in &touched {
            let dimensions = dimensions(self.m, array.global_type());
            let own = |p: &Option<Polynomial>| p.as_ref().is_some_and(|p| of.written.contains(p));
            let own = of.read.iter().all(own);
            let fit = |threads: i128, exact: bool| ArrayFit {
                array: last_name(&array.name()),
                threads,
                exact,
            };
            let all: i128 = dimensions.iter().map(|d| d.0).product();
            for p in &of.written {
                if counts_all_threads(p) {
                    let adapts = own || asks.contains(&true);
                    narrower(&mut fits.by_all, fit(all, !adapts));
                    continue;
                }
                // A smaller block leaves some to nobody; kernels that use them ask how many there are.
                if let Some((axis, threads)) = self.room_for_groups(p, &dimensions)
                    && threads < MOST_THREADS
                {
                    narrower(&mut fits.by_axis[axis], fit(threads, false));
                }
                for (axis, asked) in asks.iter().enumerate() {
                    let room = room_along(axis, p, &of.written, &dimensions);
                    if let Some(threads) = room.filter(|t| (2..=MOST_THREADS).contains(t)) {
                        let adapts = own || *asked;
                        narrower(&mut fits.by_axis[axis], fit(threads, !adapts));
                    }
                }
            }
        }
        let product: i128 = fits.by_axis.iter().flatten().map(|f| f.threads).product();
        if product > MOST_THREADS {
            fits.by_axis = Default::default();
        }
        fits.by_all = fits.by_all.filter(|f| f.threads <= MOST_THREADS);
        (fits.by_axis, fits.by_all)
    }

    /// Accesses to shared arrays of a fixed size, by array, in the order of their first accesses: of arrays that say the
    /// same, the first is named.
    fn touched_arrays(&mut self) -> Vec<(Value, Touched)> {
        let mut out: Vec<(Value, Touched)> = Vec::new();
        let blocks = self.kernel.blocks().into_iter();
        for (block, under) in blocks.zip(guards(self.kernel)) {
            for i in block.instructions() {
                let (pointer, write) = match i.opcode() {
                    Some(Opcode::LLVMLoad) => (i.operand(0), false),
                    Some(Opcode::LLVMStore) => (i.operand(1), true),
                    _ => continue,
                };
                let Some((array, offset)) = self.in_shared(pointer) else {
                    continue;
                };
                let at = match out.iter().position(|(a, _)| *a == array) {
                    Some(at) => at,
                    None => {
                        out.push((array, Touched::default()));
                        out.len() - 1
                    }
                };
                if !write {
                    out[at].1.read.push(offset);
                    continue;
                }
                if let Some(p) = offset.filter(|p| self.is_by_thread(p))
                    && !self.some_threads_only(&under)
                {
                    out[at].1.written.push(p);
                }
            }
        }
        out
    }

    /// Does an offset change with the thread in its block, or with its warp?
    fn is_by_thread(&self, p: &Polynomial) -> bool {
        p.has(|s| match s {
            Symbol::Thread(_) => true,
            Symbol::Turn(t) => self.warp_number(*t).is_some(),
            _ => false,
        })
    }

    /// The axis that a symbol numbers groups of threads along (`threadIdx.x / 32`), and the threads of a group.
    fn warp_number(&self, turn: usize) -> Option<(usize, i128)> {
        let (whole, by) = self.quotients.get(&turn)?;
        let axis = (0..3).find(|a| *whole == Polynomial::symbol(Symbol::Thread(*a)))?;
        Some((axis, *by))
    }

    /// Threads for which an array has an element for each group of them: the axis, and how many.
    fn room_for_groups(&self, p: &Polynomial, dimensions: &[Dimension]) -> Option<(usize, i128)> {
        let mut terms = p.0.iter();
        let (Some((k, step)), None) = (terms.next(), terms.next()) else {
            return None;
        };
        let ([Symbol::Turn(t)], [(elements, bytes)]) = (&k[..], dimensions) else {
            return None;
        };
        let (axis, threads) = self.warp_number(*t)?;
        (step == bytes).then_some((axis, elements * threads))
    }

    /// The shared array that a pointer goes into, and the bytes from its start.
    fn in_shared(&mut self, pointer: Value) -> Option<(Value, Option<Polynomial>)> {
        let mut at = pointer;
        let mut sum = Some(Polynomial::default());
        for _ in 0..32 {
            if at.is_global_var() {
                let fixed = at.ty().space() == space::SHARED
                    && !at.is_declaration()
                    && at.global_type().kind() == TypeKind::LLVMArrayTypeKind;
                return fixed.then_some((at, sum));
            }
            match at.opcode().or_else(|| at.const_opcode())? {
                Opcode::LLVMAddrSpaceCast | Opcode::LLVMBitCast => {}
                Opcode::LLVMGetElementPtr => {
                    let by = self.steps(at);
                    sum = sum.zip(by).map(|(a, b)| a.plus(&b, 1));
                }
                _ => return None,
            }
            at = at.operand(0);
        }
        None
    }

    /// Is one of the conditions a comparison of a thread's index with a number?
    fn some_threads_only(&mut self, under: &[Guard]) -> bool {
        under.iter().any(|(c, _)| {
            let compares = c.opcode() == Some(Opcode::LLVMICmp) && c.operand(0).ty().is_int();
            let sides = compares.then(|| self.two(*c)).flatten();
            sides.is_some_and(|(a, b)| {
                let by_thread = |p: &Polynomial| {
                    p.has(|s| matches!(s, Symbol::Thread(_)))
                        && !p.has(|s| matches!(s, Symbol::BlockIndex(_)))
                };
                by_thread(&a) && b.constant().is_some() || by_thread(&b) && a.constant().is_some()
            })
        })
    }

    /// Does the kernel ask for the block's size along an axis other than to number threads, of the block or of all?
    fn asks_for_block(&self, axis: usize) -> bool {
        let name = ["x", "y", "z"][axis];
        let is = |v: Value, register: &str| {
            let wanted = format!("llvm.nvvm.read.ptx.sreg.{register}.{name}");
            v.callee_name().is_some_and(|n| n == wanted)
        };
        let index = |v: &Value| {
            let name = v.callee_name().unwrap_or_default();
            let register = name.strip_prefix("llvm.nvvm.read.ptx.sreg.");
            register.is_some_and(|r| {
                ["tid.", "ctaid.", "nctaid."]
                    .iter()
                    .any(|i| r.starts_with(i))
            })
        };
        let numbers =
            |u: Value| u.opcode() == Some(Opcode::LLVMMul) && u.operands().iter().any(index);
        let calls = self.kernel.instructions().into_iter();
        let mut sizes = calls.filter(|i| is(*i, "ntid"));
        sizes.any(|n| n.users().into_iter().any(|u| !numbers(u)))
    }
}

/// The dimensions of an array, the outermost first.
fn dimensions(m: &kerf_llvm::Module, mut t: Type) -> Vec<Dimension> {
    let mut out = Vec::new();
    while t.kind() == TypeKind::LLVMArrayTypeKind {
        out.push((
            i128::from(t.array_len()),
            i128::from(m.size_of(t.element())),
        ));
        t = t.element();
    }
    out
}

/// Is it `threadIdx.y * blockDim.x + threadIdx.x`, times the size of an element?
fn counts_all_threads(p: &Polynomial) -> bool {
    let product = |k: &Vec<Symbol>| {
        without(k, &[Symbol::Block(0), Symbol::Thread(1)]).is_some_and(|rest| rest.is_empty())
    };
    p.0.keys().any(product) && p.factor(Symbol::Thread(0)) > 0
}

/// Threads along an axis that an array has room for, where `p` is one of the byte offsets that they write.
fn room_along(
    axis: usize,
    p: &Polynomial,
    written: &[Polynomial],
    dimensions: &[Dimension],
) -> Option<i128> {
    let step = p.factor(Symbol::Thread(axis));
    let at = dimensions.iter().position(|d| step >= d.1 && d.1 > 0)?;
    let (elements, bytes) = dimensions[at];
    let each = step / bytes;
    if step % bytes != 0 {
        return None;
    }
    let same = written
        .iter()
        .filter(|w| w.factor(Symbol::Thread(axis)) == step);
    // A block's size further on: `s[threadIdx.x + blockDim.x]`.
    let pieces = same.clone().map(|w| w.factor(Symbol::Block(axis)) / step);
    let pieces = 1 + pieces.max().unwrap_or(0).max(0);
    if pieces > 1 {
        return Some(elements / each / pieces);
    }
    let whole = |w: &Polynomial| {
        let outer = at.checked_sub(1).map_or(i128::MAX, |o| dimensions[o].1);
        w.factor_of_one() % outer / bytes
    };
    let mut starts: Vec<i128> = same.map(whole).collect();
    starts.sort_unstable();
    starts.dedup();
    let innermost = at + 1 == dimensions.len();
    Some(match starts[..] {
        // Several rounds of the block.
        [0, next, ..] if elements % next == 0 && each == 1 => next,
        // A border on both sides.
        [first, ..] if first > 0 => elements - 2 * first,
        // A row of one element more than it has threads, so that columns lie in different banks.
        _ if innermost && dimensions.len() > 1 && elements % 2 == 1 => (elements - 1) / each,
        _ => elements / each,
    })
}

/// Keeps the array with room for fewer threads; of two alike, the one that has to be filled.
fn narrower(kept: &mut Option<ArrayFit>, new: ArrayFit) {
    let better = kept
        .as_ref()
        .is_none_or(|k| (new.threads, !new.exact) < (k.threads, !k.exact));
    if better {
        *kept = Some(new);
    }
}

/// The name of a variable without the function that it stands in.
fn last_name(symbol: &str) -> String {
    let whole = demangle(symbol);
    let last = whole.rsplit("::").next().unwrap_or(&whole);
    last.to_owned()
}

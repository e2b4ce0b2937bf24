//! Kernels whose only collective operation is the block barrier, split at their barriers.
//!
//! Each region, from a barrier (or the start) to the next barrier (or the end), becomes a function of
//! its own that one loop runs for all threads of the block, so that the loop vectorises as it does
//! for kernels without barriers. A thread leaves a region by writing the number of the next one (or
//! -1 at its end) to the state array. Values that live across a barrier are kept in the frame: for
//! each, an array over the threads, so that neighbours are adjacent. Values that are cheap functions
//! of the arguments and indices are computed anew in every region instead.
//!
//! No uniformity is assumed: where the threads of a block arrive at different barriers, or some have
//! returned, the runtime runs each thread's own next region one by one. This is the work-item loop
//! of OpenCL's CPU compilers (Jääskeläinen et al., pocl 2015), without their region analysis.
use super::context::offset;
use super::lead::field;
use kerf_ir::kernels::reachable;
use kerf_llvm::{Block, Builder, Module, Opcode, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Most threads of a block: the length of every frame array.
pub const THREADS: u64 = 1024;

/// A kernel cut into regions.
pub struct Regions {
    /// One function a region, in order; 0 is the start.
    pub functions: Vec<Value>,
    /// Bytes of the frame: state array and value arrays.
    pub frame_bytes: u64,
}

fn is_plain_barrier(i: Value, name: &str) -> bool {
    matches!(
        name,
        "llvm.nvvm.barrier.cta.sync.aligned.all"
            | "llvm.nvvm.barrier.cta.sync.all"
            | "llvm.nvvm.barrier0"
    ) && i.args().first().is_none_or(|a| a.const_int() == Some(0))
}

/// Does the kernel (before lowering) use block barriers and no other collective operation, all in
/// its own body?
pub fn eligible(kernel: Value, is_collective: impl Fn(&str) -> bool) -> bool {
    let mut any = false;
    for (n, f) in reachable(kernel).into_iter().enumerate() {
        for i in f.instructions() {
            let Some(name) = i.callee_name().filter(|n| is_collective(n)) else {
                continue;
            };
            if n > 0 || !is_plain_barrier(i, &name) {
                return false;
            }
            any = true;
        }
    }
    any
}

/// Instructions that depend only on parameters and constants, and cost little.
fn recomputable(body: Value) -> Vec<Value> {
    use Opcode::*;
    let mut known: BTreeSet<Value> = BTreeSet::new();
    let mut order = Vec::new();
    let mut changed = true;
    // Blocks need not come in dominance order: repeat until nothing is added.
    while changed {
        changed = false;
        for i in body.instructions() {
            let pure = match i.opcode() {
                Some(
                    LLVMGetElementPtr | LLVMAddrSpaceCast | LLVMBitCast | LLVMZExt | LLVMSExt
                    | LLVMTrunc | LLVMAdd | LLVMSub | LLVMMul | LLVMAnd | LLVMOr | LLVMXor
                    | LLVMShl | LLVMLShr | LLVMAShr | LLVMICmp | LLVMSelect,
                ) => true,
                // Fields of the context only: a read-only load of the user's may be under a condition.
                Some(LLVMLoad) => {
                    i.is_marked("invariant.load") && i.operand(0).underlying() == body.params()[0]
                }
                _ => false,
            };
            if !pure || known.contains(&i) {
                continue;
            }
            if i.operands()
                .iter()
                .all(|o| !o.is_instruction() || known.contains(o))
            {
                known.insert(i);
                order.push(i);
                changed = true;
            }
        }
    }
    order
}

/// Blocks reachable from `head` in the cut graph without entering `stop`.
fn reach(head: Block, stop: Block, next: &BTreeMap<Block, Vec<Block>>) -> BTreeSet<Block> {
    let mut seen = BTreeSet::new();
    let mut work = vec![head];
    while let Some(b) = work.pop() {
        if b == stop || !seen.insert(b) {
            continue;
        }
        work.extend(next.get(&b).into_iter().flatten().copied());
    }
    seen
}

/// Is a use of `v` reached from a region's head without computing `v` on the way?
fn lives_across(v: Value, heads: &[Block], next: &BTreeMap<Block, Vec<Block>>) -> bool {
    let home = v.block();
    let mut uses: Vec<Block> = Vec::new();
    for u in v.users() {
        if u.opcode() == Some(Opcode::LLVMPHI) {
            uses.extend(
                u.incoming()
                    .into_iter()
                    .filter(|(x, _)| *x == v)
                    .map(|(_, b)| b),
            );
        } else {
            uses.push(u.block());
        }
    }
    uses.retain(|b| *b != home);
    !uses.is_empty()
        && heads.iter().any(|h| {
            let seen = reach(*h, home, next);
            uses.iter().any(|u| seen.contains(u))
        })
}

/// The running thread's number in its block, as 64 bits. It is below [`THREADS`] and wraps nowhere: a
/// loop whose index might wrap is not vectorised without checks.
fn linear(b: &Builder, f: Value) -> Value {
    let p = f.params();
    let i32t = b.int_ty(32);
    let nx = field(b, p[0], offset::NTID, i32t);
    let ny = field(b, p[0], offset::NTID + 4, i32t);
    let plane = b.mul(ny, p[3]);
    let row = b.add(p[2], plane);
    let rows = b.mul(nx, row);
    let linear = b.add(p[1], rows);
    for v in [plane, row, rows, linear] {
        v.set_no_wrap();
    }
    b.zext_or_trunc(linear, b.int_ty(64))
}

/// Gives every alloca its place in the frame; returns the frame's size.
fn place_allocas(m: &Module, body: Value, prologue: Block) -> Option<u64> {
    let allocas: Vec<Value> = body
        .instructions()
        .into_iter()
        .filter(|i| i.opcode() == Some(Opcode::LLVMAlloca))
        .collect();
    let mut end = 4 * THREADS;
    let b = Builder::before(prologue.terminator()?);
    let linear = linear(&b, body);
    let frame = field(&b, body.params()[0], offset::FRAME, b.ptr_ty(0));
    for a in allocas {
        let count = a.operand(0).const_int()?;
        let align = u64::from(a.align().max(1));
        let bytes = (m.size_of(a.allocated_type()) * count)
            .next_multiple_of(align)
            .max(1);
        end = end.next_multiple_of(64.max(align));
        let base = b.offset(frame, b.i64(end));
        let scaled = b.mul(linear, b.i64(bytes));
        scaled.set_no_wrap();
        let place = b.offset(base, scaled);
        end = end.checked_add(bytes.checked_mul(THREADS)?)?;
        for u in a.users() {
            if u.callee_name()
                .is_some_and(|n| n.starts_with("llvm.lifetime."))
            {
                u.erase();
            }
        }
        a.become_value(place);
    }
    Some(end)
}

/// The state slot of the running thread.
fn set_state(b: &Builder, f: Value, state: i32) {
    let p = f.params();
    let i32t = b.int_ty(32);
    let frame = field(b, p[0], offset::FRAME, b.ptr_ty(0));
    let slot = b.index(i32t, frame, linear(b, f));
    b.store(i32t.int(state as u32 as u64), slot);
}

/// Cuts a lowered kernel body (barriers are calls of `kerf_barrier`) into regions. None where it
/// cannot be done; the body is then still right for coroutines.
pub fn split(m: &Module, body: Value, name: &str) -> Option<Regions> {
    let is_barrier = |i: &Value| i.callee_name().as_deref() == Some("kerf_barrier");
    // Arrays of a size known only at run time, or of many kilobytes a thread, are better off on
    // coroutine stacks. Nothing has been changed yet.
    let local: Option<u64> = body
        .instructions()
        .iter()
        .filter(|i| i.opcode() == Some(Opcode::LLVMAlloca))
        .map(|i| {
            i.operand(0)
                .const_int()?
                .checked_mul(m.size_of(i.allocated_type()))
        })
        .sum();
    if local.is_none_or(|bytes| bytes > 64 * 1024) {
        return None;
    }
    let barriers: Vec<Value> = body.instructions().into_iter().filter(is_barrier).collect();
    let prologue = body.add_prologue();
    let mut heads = Vec::new();
    for b in &barriers {
        heads.push(b.next()?.split_before());
    }
    let cut: BTreeSet<Block> = barriers.iter().map(|b| b.block()).collect();
    let next: BTreeMap<Block, Vec<Block>> = body
        .blocks()
        .into_iter()
        .map(|b| {
            let s = if cut.contains(&b) {
                Vec::new()
            } else {
                b.terminator().map(|t| t.successors()).unwrap_or_default()
            };
            (b, s)
        })
        .collect();
    for i in recomputable(body) {
        i.move_to(prologue);
    }
    // A phi in memory leaves one load in its place, which may itself live across: two rounds.
    for _ in 0..2 {
        let values: Vec<Value> = body
            .instructions()
            .into_iter()
            .filter(|i| {
                !i.ty().is_void() && i.opcode() != Some(Opcode::LLVMAlloca) && i.block() != prologue
            })
            .filter(|i| lives_across(*i, &heads, &next))
            .collect();
        for v in values {
            v.demote(prologue);
        }
    }
    let frame_bytes = place_allocas(m, body, prologue)?;
    let blocks = body.blocks();
    let index_of = |b: &Block| blocks.iter().position(|x| x == b);
    let heads: Vec<usize> = heads.iter().map(index_of).collect::<Option<_>>()?;
    let mut functions = Vec::new();
    for r in 0..=heads.len() {
        let f = body.clone_function(&format!("{name}.region.{r}"));
        let copy = f.blocks();
        if r > 0 {
            copy[0].terminator()?.set_successor(0, copy[heads[r - 1]]);
        }
        for i in f.instructions() {
            if i.opcode() == Some(Opcode::LLVMRet) {
                set_state(&Builder::before(i), f, -1);
            }
        }
        let calls: Vec<Value> = f.instructions().into_iter().filter(is_barrier).collect();
        for (k, call) in calls.into_iter().enumerate() {
            // The block ends at the barrier; its result is never used in this mode.
            call.block().terminator()?.erase();
            let b = Builder::before(call);
            set_state(&b, f, k as i32 + 1);
            b.ret(None);
            call.erase();
        }
        f.remove_unreachable();
        functions.push(f);
    }
    Some(Regions {
        functions,
        frame_bytes,
    })
}

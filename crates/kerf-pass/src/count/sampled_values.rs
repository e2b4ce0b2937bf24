//! Which executions' values are recorded on a GPU where some stand for all.
//!
//! Recording a value takes hundreds of operations and goes to local memory, so that a program whose values are all recorded
//! takes a thousand times as long. Warps spread over the grid are as many as fill a GPU half, and of what their threads run
//! again and again the first executions and every seventeenth are recorded: no period of a loop that programs have is a multiple
//! of that.
use super::addresses::{numbers, register};
use super::fields::LANES;
use kerf_llvm::{Block, Builder, IntPred, Module, Opcode, Value};

/// Warps whose values are recorded: between two thirds of that and twice as many, or all where there are fewer.
const WARPS: u64 = 4096;

/// Executions of a thread that are all recorded, and the distance of those after them.
const FIRST: u32 = 32;
const EVERY: u32 = 17;

/// Whether values of this thread's warp are recorded.
pub(super) fn is_chosen(b: &Builder) -> Value {
    let by = |op, x, y| b.bin(op, x, y);
    let (thread, block) = numbers(b);
    let product = |of: &str| {
        let [x, y, z] = ["x", "y", "z"].map(|d| register(b, &format!("{of}.{d}")));
        b.mul(b.mul(x, y), z)
    };
    let shift = b.i64(LANES.trailing_zeros().into());
    let up = b.add(product("ntid"), b.i64(LANES as u64 - 1));
    let of_block = b.lshr(up, shift);
    let warp = b.add(b.mul(block, of_block), b.lshr(thread, shift));
    // Odd, so that it is not always the same warp of a block.
    let all = b.mul(product("nctaid"), of_block);
    let distance = b.or(by(Opcode::LLVMUDiv, all, b.i64(WARPS)), b.i64(1));
    let rest = by(Opcode::LLVMURem, warp, distance);
    b.icmp(IntPred::LLVMIntEQ, rest, b.i64(0))
}

/// Whether an execution is recorded, by how many there are with it.
fn is_recorded(b: &Builder, executions: Value) -> Value {
    let word = b.int_ty(32);
    let before = b.sub(b.zext_or_trunc(executions, word), b.i32(1));
    let soon = b.icmp(IntPred::LLVMIntULT, before, b.i32(FIRST));
    let rest = b.bin(Opcode::LLVMURem, before, b.i32(EVERY));
    b.or(soon, b.icmp(IntPred::LLVMIntEQ, rest, b.i32(0)))
}

/// The end of a new block that runs before an instruction if a condition holds.
fn block_before(
    m: &Module,
    at: Value,
    condition: impl FnOnce(&Builder) -> Value,
) -> (Builder, Block) {
    let head = at.block();
    let rest = at.split_before();
    let Some(jump) = head.terminator() else {
        unreachable!("a block that was split ends in a jump");
    };
    let b = Builder::before(jump);
    let inside = m.append_block(head.function(), "recorded");
    b.cond_br(condition(&b), inside, rest);
    jump.erase();
    (Builder::at_end(inside), rest)
}

/// Puts code before an instruction that runs in warps that are chosen.
pub(super) fn before_if_chosen(m: &Module, at: Value, chosen: Value, code: impl FnOnce(&Builder)) {
    let (b, rest) = block_before(m, at, |_| chosen);
    code(&b);
    b.br(rest);
}

/// Puts code before an instruction that runs in executions that are recorded; the variable has how many there are of the
/// instruction's block.
pub(super) fn before_if_recorded(
    m: &Module,
    at: Value,
    (chosen, executions): (Value, Value),
    code: impl FnOnce(&Builder),
) {
    let (b, rest) = block_before(m, at, |b| {
        b.and(chosen, is_recorded(b, b.load(b.int_ty(64), executions)))
    });
    code(&b);
    b.br(rest);
}

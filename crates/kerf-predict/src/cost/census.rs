//! A program as the cost model sees it: blocks with their work, their memory accesses and the order in
//! which operations wait for each other. It holds nothing of LLVM, so it can be kept.
use super::operations::cost;
use super::rates::{Clocks, Cost, Rates, UNITS};
use super::registers;
use kerf_ir::kernels::{kernels, reachable};
use kerf_llvm::{Block, Module, Opcode, Value};
use kerf_pass::count::{self, Accesses, CountedAccess, LaunchCounts, Pattern};
use std::collections::BTreeMap;

/// One operation in the order of waiting.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Clocks until its result is there, memory apart.
    pub latency: f64,
    /// Its first access, among the block's.
    pub access: Option<usize>,
    /// The same, if it is one that something may wait for.
    pub load: Option<usize>,
    /// Is its result wanted in this block? What is wanted later arrives while other work is done.
    pub wanted: bool,
    /// Operations of the block that it waits for.
    pub after: Vec<usize>,
    /// Is it a phi?
    pub phi: bool,
}

/// One block.
#[derive(Debug, Clone)]
pub(super) struct BlockWork {
    /// Its number among the counted blocks.
    pub number: usize,
    /// Line of its first instruction, as [`Module::number_lines`] gives them.
    pub line: usize,
    /// Number of the last block before it, which tells how often it is entered.
    pub before: Option<usize>,
    /// Clocks of a multiprocessor for one thread, by unit, memory apart.
    pub clocks: Clocks,
    /// What it loads and stores.
    pub accesses: Vec<CountedAccess>,
    /// What each of these touches, where the counting run has seen it.
    pub seen: Vec<Option<Pattern>>,
    pub nodes: Vec<Node>,
    /// Phis of a loop that is this block alone, each with the operation that gives its next value.
    pub recurrences: Vec<(usize, usize)>,
    /// The only block before it.
    pub only_before: Option<usize>,
    /// Does that one branch on a comparison of floating-point numbers, so that threads of a warp part?
    pub parts: bool,
    /// Short enough to become predicates of the code around it.
    pub short: bool,
    /// Is it a loop of its own?
    pub loops: bool,
    /// Copies of the body that the compiler lays out together.
    pub unrolled: f64,
    /// Part of `clocks` that the copies share: counting rounds, the branch back, addresses that step with it.
    pub shared: Clocks,
}

impl BlockWork {
    fn empty(number: usize, before: Option<usize>, loops: bool) -> BlockWork {
        BlockWork {
            number,
            line: 0,
            before,
            clocks: [0.0; UNITS],
            accesses: Vec::new(),
            seen: Vec::new(),
            nodes: Vec::new(),
            recurrences: Vec::new(),
            only_before: None,
            parts: false,
            short: false,
            loops,
            unrolled: 1.0,
            shared: [0.0; UNITS],
        }
    }
}

/// One kernel.
#[derive(Debug, Clone)]
pub(super) struct KernelWork {
    pub blocks: Vec<BlockWork>,
    pub registers: u32,
    pub static_shared: u64,
}

impl KernelWork {
    /// The same for a launch in which other accesses were seen than in the kernel's first, if it is one.
    pub(super) fn of_launch(&self, patterns: &Patterns, l: &LaunchCounts) -> Option<KernelWork> {
        if l.patterns.is_empty() || patterns.get(&l.symbol) == Some(&l.patterns) {
            return None;
        }
        let mut own = self.clone();
        seen(&mut own.blocks, &l.patterns);
        Some(own)
    }
}

/// Instructions of a block that the assembler still makes predicates of.
const SHORT: usize = 12;

fn converts(i: Value) -> bool {
    matches!(i.opcode(), Some(Opcode::LLVMFPExt | Opcode::LLVMFPTrunc))
}

/// Does the optimiser take a rounding into the phi that it rounds? It does where all but one of the values that come in are
/// constants, or were widened from the format that is rounded to; the other one is rounded before the loop, once. So a sum
/// that is computed narrow and carried wide is carried narrow (LLVM's `foldOpIntoPhi`).
fn into_phi(i: Value) -> bool {
    let phi = match i.opcode() {
        Some(Opcode::LLVMFPTrunc) => i.operand(0),
        _ => return false,
    };
    if phi.opcode() != Some(Opcode::LLVMPHI) || phi.users().len() != 1 {
        return false;
    }
    let narrow = |v: Value| {
        v.is_constant() || v.opcode() == Some(Opcode::LLVMFPExt) && v.operand(0).ty() == i.ty()
    };
    let incoming = phi.incoming();
    let mut wide = incoming.iter().filter(|(v, _)| !narrow(*v));
    match (wide.next(), wide.next()) {
        (None, _) => true,
        (Some((_, from)), None) => {
            // Elsewhere than at the head of a loop it is only done earlier, not less often.
            let here = phi.block();
            let head = incoming.iter().any(|(_, b)| goes_back(*b, here));
            head && !goes_back(*from, here)
        }
        _ => false,
    }
}

/// Is the way from one block to another one back to the head of a loop? Blocks stand in the order in which they are first
/// reached.
fn goes_back(from: Block, to: Block) -> bool {
    let all = to.function().blocks();
    let place = |b: Block| all.iter().position(|o| *o == b);
    place(from) >= place(to)
}

/// A phi whose only use is a rounding back to what was widened for it.
fn rounds_back(phi: Value, widened: Value) -> bool {
    phi.opcode() == Some(Opcode::LLVMPHI)
        && phi
            .users()
            .iter()
            .any(|u| into_phi(*u) && u.ty() == widened.operand(0).ty())
}

/// Conversions that are not there any more when the program runs, or not in this block.
fn gone(b: Block, i: Value, loops: bool) -> bool {
    if !converts(i) {
        return false;
    }
    let widens = i.opcode() == Some(Opcode::LLVMFPExt);
    let carried = |u: &Value| widens && rounds_back(*u, i);
    let users = i.users();
    // One whose result leaves the loop is moved behind it.
    into_phi(i)
        || loops && !users.iter().any(|u| u.block() == b && !carried(u))
        || !users.is_empty() && users.iter().all(carried)
}

/// Does a block wait for a value? A conversion waits only if its own result is waited for.
fn wanted(b: Block, v: Value) -> bool {
    let mut seen = vec![v];
    let mut next = 0;
    while let Some(v) = seen.get(next).copied() {
        next += 1;
        for u in v.users() {
            let here = u.is_instruction() && u.opcode() != Some(Opcode::LLVMPHI) && u.block() == b;
            if here && !converts(u) {
                return true;
            }
            if here && !seen.contains(&u) {
                seen.push(u);
            }
        }
    }
    false
}

/// Does a branch depend on a comparison of floating-point numbers?
fn parts(branch: Value) -> bool {
    fn compares(v: Value, depth: u32) -> bool {
        match v.opcode() {
            Some(Opcode::LLVMFCmp) => true,
            Some(Opcode::LLVMAnd | Opcode::LLVMOr | Opcode::LLVMXor | Opcode::LLVMSelect)
                if depth > 0 =>
            {
                v.operands().into_iter().any(|o| compares(o, depth - 1))
            }
            _ => false,
        }
    }
    branch.opcode() == Some(Opcode::LLVMBr)
        && branch.successors().len() == 2
        && compares(branch.operand(0), 4)
}

/// Bodies of loops of unknown length up to this size are repeated so often (`ROUNDS` and `MOST` of kerf-llvm's `shim/code.cpp`).
const UNROLLED_SIZE: usize = 300;
const UNROLLED_ROUNDS: usize = 4;
/// The assembler repeats what it gets as often again where no more than this comes of it (ptxas 13, by its machine code).
const UNROLLED_AGAIN: usize = 160;
/// Loops of known length that are not longer than this, all copies together, disappear (`WHOLE`).
const UNROLLED_WHOLE: usize = 600;

/// Size of a loop's body, as LLVM sees it: addresses are parts of loads, and the copies share one branch back with its
/// comparison. None where a barrier or a call with a slow path stands in the way.
fn size(b: Block) -> Option<usize> {
    let mut n = 0;
    for i in b.instructions() {
        match i.opcode() {
            Some(
                Opcode::LLVMPHI | Opcode::LLVMGetElementPtr | Opcode::LLVMBr | Opcode::LLVMICmp,
            ) => {}
            Some(Opcode::LLVMCall) => {
                let name = i.callee_name().unwrap_or_default();
                if name.starts_with("__nv_") && !name.starts_with("__nv_f") {
                    // libdevice's functions are tens of instructions long.
                    n += 40;
                } else if name.starts_with("llvm.nvvm.barrier") || !name.starts_with("llvm.") {
                    return None;
                } else {
                    n += 1;
                }
            }
            _ => n += 1,
        }
    }
    Some(n)
}

/// Rounds of a loop that is one block, where the source says them.
fn known_rounds(b: Block) -> Option<usize> {
    let branch = b.terminator()?;
    let compare = branch.operands().into_iter().next()?;
    if compare.opcode() != Some(Opcode::LLVMICmp) {
        return None;
    }
    let end = compare.operands().into_iter().find_map(|o| o.const_int())?;
    for phi in b.instructions() {
        if phi.opcode() != Some(Opcode::LLVMPHI) {
            break;
        }
        let incoming = phi.incoming();
        let next = incoming.iter().find(|p| p.1 == b)?.0;
        let start = incoming.iter().find(|p| p.1 != b)?.0.const_int();
        let tested = compare.operands().contains(&next) || compare.operands().contains(&phi);
        if let (true, Some(start), Some(Opcode::LLVMAdd)) = (tested, start, next.opcode()) {
            let step = next.operands().into_iter().find(|o| o.is_constant())?;
            // Counting down, the step is the two's complement.
            let bits = step.ty().int_bits().clamp(1, 64);
            let step = ((step.const_int()? << (64 - bits)) as i64 >> (64 - bits)).unsigned_abs();
            return Some((start.abs_diff(end) / step.max(1)).max(1) as usize);
        }
    }
    None
}

/// Does a value only step with a loop: a count of rounds, or an address made of one?
fn steps(b: Block, v: Value, depth: u32) -> bool {
    use Opcode::*;
    if !v.is_instruction() || v.block() != b {
        return true;
    }
    match v.opcode() {
        Some(LLVMPHI) => {
            let next = v.incoming().into_iter().find(|p| p.1 == b).map(|p| p.0);
            next.is_some_and(|n| {
                n.opcode() == Some(LLVMAdd)
                    && n.operands().contains(&v)
                    && n.operands().iter().any(|o| o.is_constant())
            })
        }
        Some(
            LLVMAdd | LLVMSub | LLVMShl | LLVMMul | LLVMOr | LLVMSExt | LLVMZExt | LLVMTrunc
            | LLVMGetElementPtr,
        ) if depth > 0 => v.operands().into_iter().all(|o| steps(b, o, depth - 1)),
        _ => false,
    }
}

fn block(
    r: &Rates,
    look: &mut Accesses,
    kernel: Value,
    b: Block,
    number: usize,
    before: Option<usize>,
) -> BlockWork {
    let loops = b.terminator().is_some_and(|t| t.successors().contains(&b));
    let mut out = BlockWork::empty(number, before, loops);
    let instructions = b.instructions();
    let place: BTreeMap<Value, usize> = instructions
        .iter()
        .enumerate()
        .map(|(k, i)| (*i, k))
        .collect();
    // A barrier, and nothing else, keeps everything after it from beginning.
    let mut barrier = None;
    for (k, i) in instructions.iter().enumerate() {
        let c = match gone(b, *i, loops) {
            true => Cost::default(),
            false => cost(r, *i),
        };
        for (a, b) in out.clocks.iter_mut().zip(c.clocks) {
            *a += b;
        }
        let phi = i.opcode() == Some(Opcode::LLVMPHI);
        let mut after: Vec<usize> = match phi {
            true => Vec::new(),
            false => i
                .operands()
                .iter()
                .filter_map(|o| place.get(o).copied())
                .collect(),
        };
        after.extend(barrier);
        let accesses = look.made_by(kernel, *i, number);
        let access = (!accesses.is_empty()).then_some(out.accesses.len());
        let load = access.filter(|_| i.opcode() != Some(Opcode::LLVMStore));
        out.accesses.extend(accesses);
        let name = i.callee_name().unwrap_or_default();
        if name.starts_with("llvm.nvvm.barrier") {
            after.extend(0..k);
            barrier = Some(k);
        }
        out.nodes.push(Node {
            latency: c.latency,
            access,
            load,
            wanted: load.is_some() && wanted(b, *i),
            after,
            phi,
        });
        if loops && phi {
            let next = i.incoming().into_iter().find(|p| p.1 == b);
            let next = next.and_then(|(v, _)| place.get(&v).copied());
            out.recurrences.extend(next.map(|n| (k, n)));
        }
    }
    if loops {
        unroll(r, b, &mut out);
    }
    out
}

/// Copies of a loop's body that the compiler lays out together, and what they share.
fn unroll(r: &Rates, b: Block, out: &mut BlockWork) {
    // clang marks loops that its command line tells it to leave; the mark goes on to the assembler.
    let marks = b.terminator().map(|t| t.loop_marks()).unwrap_or_default();
    let left = marks.iter().any(|m| m == "llvm.loop.unroll.disable");
    let Some(n) = size(b).filter(|_| !left) else {
        return;
    };
    let u = match n {
        _ if UNROLLED_ROUNDS * UNROLLED_ROUNDS * n <= UNROLLED_AGAIN => {
            UNROLLED_ROUNDS * UNROLLED_ROUNDS
        }
        0..=UNROLLED_SIZE => UNROLLED_ROUNDS,
        _ => 1,
    };
    let whole = known_rounds(b).filter(|rounds| rounds * n <= UNROLLED_WHOLE);
    out.unrolled = whole.unwrap_or(u).max(1) as f64;
    // Copies have their addresses as offsets in the instruction, and one branch back.
    for i in b.instructions() {
        let only = |v: &Value| v.users().iter().all(|u| u.opcode() == Some(Opcode::LLVMBr));
        let shared = match i.opcode() {
            Some(Opcode::LLVMBr) => true,
            Some(Opcode::LLVMICmp) => only(&i),
            Some(Opcode::LLVMPHI) | None => false,
            Some(_) => steps(b, i, 4),
        };
        if shared {
            for (a, c) in out.shared.iter_mut().zip(cost(r, i).clocks) {
                *a += c;
            }
        }
    }
}

/// Line of each block's first instruction, as [`Module::number_lines`] gives them.
pub(super) fn lines(m: &Module) -> BTreeMap<Block, usize> {
    let mut next = 1;
    let mut out = BTreeMap::new();
    for f in m.functions().iter().filter(|f| !f.is_declaration()) {
        for b in f.blocks() {
            out.insert(b, next);
            next += b.instructions().len();
        }
    }
    out
}

/// What accesses touch, by symbol.
pub(super) type Patterns = BTreeMap<String, Vec<Pattern>>;

/// Puts what was seen beside the accesses. A plan that changes how many accesses a block has leaves nothing to go by.
fn seen(blocks: &mut [BlockWork], patterns: &[Pattern]) {
    let mut total: BTreeMap<usize, usize> = BTreeMap::new();
    for b in blocks.iter() {
        *total.entry(b.number).or_insert(0) += b.accesses.len();
    }
    let mut next: BTreeMap<usize, usize> = BTreeMap::new();
    for b in blocks.iter_mut() {
        let first = next.entry(b.number).or_insert(0);
        let last = patterns
            .iter()
            .filter(|p| p.block == b.number)
            .map(|p| p.index + 1)
            .max();
        let fits = last.is_none_or(|l| l <= total[&b.number]);
        b.seen = (0..b.accesses.len())
            .map(|k| {
                let same = |p: &&Pattern| p.block == b.number && p.index == *first + k;
                patterns.iter().find(same).filter(|_| fits).copied()
            })
            .collect();
        *first += b.accesses.len();
    }
}

/// Kernels of a module that came out of a labelled one, by symbol.
pub(super) fn kernels_of(
    m: &Module,
    r: &Rates,
    limit: u32,
    patterns: &Patterns,
) -> BTreeMap<String, KernelWork> {
    let mut out = BTreeMap::new();
    let mut look = Accesses::new(m);
    let lines = lines(m);
    for info in kernels(m) {
        let Some(f) = m.function(&info.symbol) else {
            continue;
        };
        let functions = reachable(f);
        let mut blocks = Vec::new();
        for g in &functions {
            let numbers = count::numbers(*g);
            let mut before: BTreeMap<Block, Vec<usize>> = BTreeMap::new();
            let mut befores: BTreeMap<Block, Vec<Block>> = BTreeMap::new();
            for b in g.blocks() {
                for s in b.terminator().map(|t| t.successors()).unwrap_or_default() {
                    befores.entry(s).or_default().push(b);
                    if s != b
                        && let Some(n) = numbers.get(&b)
                    {
                        before.entry(s).or_default().push(*n);
                    }
                }
            }
            for b in g.blocks() {
                let Some(number) = numbers.get(&b) else {
                    continue;
                };
                let from = before.get(&b).and_then(|p| p.first()).copied();
                let mut one = block(r, &mut look, f, b, *number, from);
                one.line = lines.get(&b).copied().unwrap_or(0);
                if let Some([only]) = befores.get(&b).map(Vec::as_slice) {
                    one.only_before = numbers.get(only).copied();
                    one.parts = only.terminator().is_some_and(parts);
                    let out = b.terminator().map_or(0, |t| t.successors().len());
                    one.short = !one.loops && out == 1 && one.nodes.len() <= SHORT;
                }
                blocks.push(one);
            }
        }
        let none = Vec::new();
        seen(&mut blocks, patterns.get(&info.symbol).unwrap_or(&none));
        let work = KernelWork {
            blocks,
            registers: registers::estimate(m, &functions, limit),
            static_shared: info.static_shared_bytes,
        };
        out.insert(info.symbol, work);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop that adds up in f32 and carries the sum in f64; `first` is what it begins with, `more` another use.
    fn conversions(first: &str, more: &str) -> Vec<bool> {
        let text = format!(
            "define float @f(i32 %n, double %d) {{
entry:
  br label %l
l:
  %i = phi i32 [ 0, %entry ], [ %j, %l ]
  %s = phi double [ {first}, %entry ], [ %e, %l ]
  %t = fptrunc double %s to float
  {more}
  %f = fadd float %t, 1.5
  %e = fpext float %f to double
  %j = add i32 %i, 1
  %c = icmp eq i32 %j, %n
  br i1 %c, label %end, label %l
end:
  ret float %f
}}"
        );
        let m = Module::parse(text.as_bytes(), "f.ll").expect("parses");
        let f = m.function("f").expect("it");
        let b = f.blocks()[1];
        let all = b.instructions().into_iter().filter(|i| converts(*i));
        all.map(|i| gone(b, i, true)).collect()
    }

    #[test]
    fn sums_are_carried_as_they_are_computed() {
        assert_eq!(conversions("0.0", ""), [true, true]);
        // What the sum begins with is rounded before the loop.
        assert_eq!(conversions("%d", ""), [true, true]);
        // Wanted wide as well: it stays.
        let other = "%w = fadd double %s, 1.0";
        assert_eq!(conversions("0.0", other), [false, false]);
    }
}

//! The census of a prepared program: for each basic block its time on the units, its memory accesses, and the dependence
//! graph of its operations. It refers to nothing of LLVM, so it outlives the module.
use super::operations::cost;
use super::rates::{Clocks, Cost, Rates, UNITS};
use super::registers;
use kerf_ir::kernels::{kernels, reachable};
use kerf_llvm::{Block, Module, Opcode, Value};
use kerf_pass::count::{self, Accesses, CountedAccess, LaunchCounts, Pattern};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// One operation in a block's dependence graph.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Clocks until a dependent operation can start, memory latency apart.
    pub latency_clocks: f64,
    /// Index of its first access among the block's.
    pub access: Option<usize>,
    /// The same where the access gives a result: a load or an atomic operation.
    pub load: Option<usize>,
    /// Is its result used in this block? The latency of one that is used later is mostly hidden.
    pub used_here: bool,
    /// Operations of the block that it depends on.
    pub depends_on: Vec<usize>,
    /// Is it a phi?
    pub is_phi: bool,
}

/// One basic block.
#[derive(Debug, Clone)]
pub(super) struct BlockWork {
    /// Its number among the counted blocks.
    pub number: usize,
    /// Line of its first instruction, as [`Module::number_lines`] gives them.
    pub first_line: usize,
    /// Number of a predecessor other than itself, which tells how often a loop is entered.
    pub predecessor: Option<usize>,
    /// Clocks of a multiprocessor for one thread, by unit, memory apart.
    pub unit_clocks: Clocks,
    /// Its loads, stores and atomic operations.
    pub accesses: Vec<CountedAccess>,
    /// Addresses of each access, where the counting run recorded them.
    pub patterns: Vec<Option<Pattern>>,
    pub nodes: Vec<Node>,
    /// Phis of a loop of one block, each with the operation that gives its next value.
    pub recurrences: Vec<(usize, usize)>,
    /// Number of its predecessor, where it has only one.
    pub sole_predecessor: Option<usize>,
    /// Does the sole predecessor branch on a comparison of floating-point values, so that a warp may diverge?
    pub behind_float_branch: bool,
    /// Short enough for the assembler to replace its branch by predicates.
    pub predicated: bool,
    /// Is it a loop of one block?
    pub is_loop: bool,
    /// Copies of the loop's body that the compiler lays out one after the other.
    pub unroll_factor: f64,
    /// Part of `unit_clocks` that the copies share: the induction variable, the back edge, addresses that step with it.
    pub shared_clocks: Clocks,
}

impl BlockWork {
    fn empty(number: usize, is_loop: bool) -> BlockWork {
        BlockWork {
            number,
            first_line: 0,
            predecessor: None,
            unit_clocks: [0.0; UNITS],
            accesses: Vec::new(),
            patterns: Vec::new(),
            nodes: Vec::new(),
            recurrences: Vec::new(),
            sole_predecessor: None,
            behind_float_branch: false,
            predicated: false,
            is_loop,
            unroll_factor: 1.0,
            shared_clocks: [0.0; UNITS],
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
    /// The same with the addresses of one launch, where these differ from those of the kernel's first.
    pub(super) fn for_launch(&self, patterns: &Patterns, l: &LaunchCounts) -> Cow<'_, KernelWork> {
        if l.patterns.is_empty() || patterns.get(&l.symbol) == Some(&l.patterns) {
            return Cow::Borrowed(self);
        }
        let mut own = self.clone();
        attach_patterns(&mut own.blocks, &l.patterns);
        Cow::Owned(own)
    }
}

/// Instructions of a block up to which ptxas 13 uses predicates instead of a branch (seen in its machine code).
const PREDICATED_INSTRUCTIONS: usize = 12;

fn converts(i: Value) -> bool {
    matches!(i.opcode(), Some(Opcode::LLVMFPExt | Opcode::LLVMFPTrunc))
}

/// Does LLVM's `foldOpIntoPhi` move this rounding into the phi that it rounds? It does where all incoming values but one are
/// constants or were widened from the format that is rounded to; the remaining one is rounded once, before the loop. So a sum
/// that is computed in a narrow format and carried in a wide one ends up carried in the narrow one.
fn folds_into_phi(i: Value) -> bool {
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
            // Elsewhere than in a loop header it is only done earlier, not less often.
            let here = phi.block();
            let header = incoming.iter().any(|(_, b)| is_back_edge(*b, here));
            header && !is_back_edge(*from, here)
        }
        _ => false,
    }
}

/// Does an edge lead back to a loop header? Blocks stand in the order in which they are first reached.
fn is_back_edge(from: Block, to: Block) -> bool {
    let all = to.function().blocks();
    let place = |b: Block| all.iter().position(|o| *o == b);
    place(from) >= place(to)
}

/// A phi whose only use is a rounding back to the format that was widened for it.
fn is_rounded_back(phi: Value, widened: Value) -> bool {
    phi.opcode() == Some(Opcode::LLVMPHI)
        && phi
            .users()
            .iter()
            .any(|u| folds_into_phi(*u) && u.ty() == widened.operand(0).ty())
}

/// Is it a conversion that the optimiser removes, or moves out of this block?
fn is_removed_conversion(b: Block, i: Value, is_loop: bool) -> bool {
    if !converts(i) {
        return false;
    }
    let widens = i.opcode() == Some(Opcode::LLVMFPExt);
    let carried = |u: &Value| widens && is_rounded_back(*u, i);
    let users = i.users();
    // One whose result is only used after the loop is sunk behind it.
    folds_into_phi(i)
        || is_loop && !users.iter().any(|u| u.block() == b && !carried(u))
        || !users.is_empty() && users.iter().all(carried)
}

/// Is a value used in a block? A conversion uses it only if its own result is used there.
fn is_used_in(b: Block, v: Value) -> bool {
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

/// Does a branch depend on a comparison of floating-point values?
fn is_float_branch(branch: Value) -> bool {
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

/// Instructions of a loop body of unknown trip count up to which LLVM unrolls it, and its unroll factor (`MOST` and `ROUNDS` of
/// kerf-llvm's `shim/code.cpp`).
const UNROLLED_BODY: usize = 300;
const UNROLL_FACTOR: usize = 4;
/// Instructions after a second unrolling by the same factor, up to which ptxas 13 does it (seen in its machine code).
const UNROLLED_TWICE: usize = 160;
/// Instructions of all iterations up to which LLVM unrolls a loop of known trip count completely (`WHOLE`).
const UNROLLED_COMPLETELY: usize = 600;

/// Instructions of a loop's body, as LLVM's cost model counts them: addresses are part of loads, and the copies share one back
/// edge with its comparison. None where a barrier or a call of the program's functions prevents unrolling.
fn body_size(b: Block) -> Option<usize> {
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
                } else if name.starts_with("kerf_dw") && !i.callee().is_declaration() {
                    // Double words are inlined before loops are unrolled.
                    let body = i.callee().blocks();
                    n += body.iter().map(|b| b.instructions().len()).sum::<usize>();
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

/// Trip count of a loop of one block, where it is constant.
fn trip_count(b: Block) -> Option<usize> {
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

/// Is a value a function of the loop's induction variables alone: a counter, or an address computed from one?
fn is_induction(b: Block, v: Value, depth: u32) -> bool {
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
        ) if depth > 0 => v
            .operands()
            .into_iter()
            .all(|o| is_induction(b, o, depth - 1)),
        _ => false,
    }
}

/// The work of one block of a kernel, whose counts have this number.
fn block_work(
    r: &Rates,
    finder: &mut Accesses,
    kernel: Value,
    b: Block,
    number: usize,
) -> BlockWork {
    let is_loop = b.terminator().is_some_and(|t| t.successors().contains(&b));
    let mut out = BlockWork::empty(number, is_loop);
    let instructions = b.instructions();
    let place: BTreeMap<Value, usize> = instructions
        .iter()
        .enumerate()
        .map(|(k, i)| (*i, k))
        .collect();
    // Nothing after a barrier starts before it.
    let mut barrier = None;
    for (k, i) in instructions.iter().enumerate() {
        let c = match is_removed_conversion(b, *i, is_loop) {
            true => Cost::default(),
            false => cost(r, *i),
        };
        for (a, b) in out.unit_clocks.iter_mut().zip(c.unit_clocks) {
            *a += b;
        }
        let is_phi = i.opcode() == Some(Opcode::LLVMPHI);
        let mut depends_on: Vec<usize> = match is_phi {
            true => Vec::new(),
            false => i
                .operands()
                .iter()
                .filter_map(|o| place.get(o).copied())
                .collect(),
        };
        depends_on.extend(barrier);
        let accesses = finder.made_by(kernel, *i, number);
        let access = (!accesses.is_empty()).then_some(out.accesses.len());
        let load = access.filter(|_| i.opcode() != Some(Opcode::LLVMStore));
        out.accesses.extend(accesses);
        let name = i.callee_name().unwrap_or_default();
        if name.starts_with("llvm.nvvm.barrier") {
            depends_on.extend(0..k);
            barrier = Some(k);
        }
        out.nodes.push(Node {
            latency_clocks: c.latency_clocks,
            access,
            load,
            used_here: load.is_some() && is_used_in(b, *i),
            depends_on,
            is_phi,
        });
        if is_loop && is_phi {
            let next = i.incoming().into_iter().find(|p| p.1 == b);
            let next = next.and_then(|(v, _)| place.get(&v).copied());
            out.recurrences.extend(next.map(|n| (k, n)));
        }
    }
    if is_loop {
        unroll(r, b, &mut out);
    }
    out
}

/// Sets how far the compilers unroll a loop of one block, and which work its copies share.
fn unroll(r: &Rates, b: Block, out: &mut BlockWork) {
    // clang marks loops that its command line forbids to unroll; the mark reaches the assembler as well.
    let marks = b.terminator().map(|t| t.loop_marks()).unwrap_or_default();
    let disabled = marks.iter().any(|m| m == "llvm.loop.unroll.disable");
    let Some(n) = body_size(b).filter(|_| !disabled) else {
        return;
    };
    let factor = match n {
        _ if UNROLL_FACTOR * UNROLL_FACTOR * n <= UNROLLED_TWICE => UNROLL_FACTOR * UNROLL_FACTOR,
        0..=UNROLLED_BODY => UNROLL_FACTOR,
        _ => 1,
    };
    let complete = trip_count(b).filter(|trips| trips * n <= UNROLLED_COMPLETELY);
    out.unroll_factor = complete.unwrap_or(factor).max(1) as f64;
    // Copies have their addresses as offsets in the instructions, and one back edge.
    for i in b.instructions() {
        let only = |v: &Value| v.users().iter().all(|u| u.opcode() == Some(Opcode::LLVMBr));
        let shared = match i.opcode() {
            Some(Opcode::LLVMBr) => true,
            Some(Opcode::LLVMICmp) => only(&i),
            Some(Opcode::LLVMPHI) | None => false,
            Some(_) => is_induction(b, i, 4),
        };
        if shared {
            for (a, c) in out.shared_clocks.iter_mut().zip(cost(r, i).unit_clocks) {
                *a += c;
            }
        }
    }
}

/// Do instructions of a function have lines of their own? Those of made functions have the line of the call.
pub(super) fn has_lines(f: Value) -> bool {
    !f.is_declaration() && !kerf_ir::prepare::is_made_function(f)
}

/// Line of each block's first instruction, as [`Module::number_lines`] gives them.
pub(super) fn lines(m: &Module) -> BTreeMap<Block, usize> {
    let mut next = 1;
    let mut out = BTreeMap::new();
    for f in m.functions().into_iter().filter(|f| has_lines(*f)) {
        for b in f.blocks() {
            out.insert(b, next);
            next += b.instructions().len();
        }
    }
    out
}

/// Recorded addresses of a kernel's accesses, by symbol.
pub(super) type Patterns = BTreeMap<String, Vec<Pattern>>;

/// Attaches recorded addresses to the accesses of blocks. A block in which a plan has changed the number of accesses gets none.
fn attach_patterns(blocks: &mut [BlockWork], patterns: &[Pattern]) {
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
        b.patterns = (0..b.accesses.len())
            .map(|k| {
                let same = |p: &&Pattern| p.block == b.number && p.index == *first + k;
                patterns.iter().find(same).filter(|_| fits).copied()
            })
            .collect();
        *first += b.accesses.len();
    }
}

/// Kernels of a module that a plan made of a labelled one, by symbol. `register_limit`: registers of a thread, at most.
pub(super) fn kernels_of(
    m: &Module,
    r: &Rates,
    register_limit: u32,
    patterns: &Patterns,
) -> BTreeMap<String, KernelWork> {
    let mut out = BTreeMap::new();
    let mut finder = Accesses::new(m);
    let lines = lines(m);
    for info in kernels(m) {
        let Some(kernel) = m.function(&info.symbol) else {
            continue;
        };
        let functions = reachable(kernel);
        let mut blocks = Vec::new();
        for f in &functions {
            blocks.extend(function_blocks(r, &mut finder, kernel, *f, &lines));
        }
        let none = Vec::new();
        attach_patterns(&mut blocks, patterns.get(&info.symbol).unwrap_or(&none));
        let work = KernelWork {
            blocks,
            registers: registers::estimate(m, &functions, register_limit),
            static_shared: info.static_shared_bytes,
        };
        out.insert(info.symbol, work);
    }
    out
}

/// The counted blocks of a function that a kernel reaches.
fn function_blocks(
    r: &Rates,
    finder: &mut Accesses,
    kernel: Value,
    function: Value,
    lines: &BTreeMap<Block, usize>,
) -> Vec<BlockWork> {
    let numbers = count::numbers(function);
    let mut predecessors: BTreeMap<Block, Vec<Block>> = BTreeMap::new();
    for b in function.blocks() {
        for s in b.terminator().map(|t| t.successors()).unwrap_or_default() {
            predecessors.entry(s).or_default().push(b);
        }
    }
    let mut out = Vec::new();
    for b in function.blocks() {
        let Some(number) = numbers.get(&b) else {
            continue;
        };
        let mut work = block_work(r, finder, kernel, b, *number);
        work.first_line = lines.get(&b).copied().unwrap_or(0);
        let before = predecessors.get(&b).map(Vec::as_slice).unwrap_or_default();
        let others = before.iter().filter(|p| **p != b);
        work.predecessor = others.filter_map(|p| numbers.get(p)).next().copied();
        if let [sole] = before {
            work.sole_predecessor = numbers.get(sole).copied();
            work.behind_float_branch = sole.terminator().is_some_and(is_float_branch);
            let successors = b.terminator().map_or(0, |t| t.successors().len());
            work.predicated =
                !work.is_loop && successors == 1 && work.nodes.len() <= PREDICATED_INSTRUCTIONS;
        }
        out.push(work);
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
        all.map(|i| is_removed_conversion(b, i, true)).collect()
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

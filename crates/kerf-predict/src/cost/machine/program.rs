//! The prepared program beside its machine code: blocks by line with how often they run, what each line is.
use super::super::census::{self, KernelWork};
use super::super::executed;
use super::executions::{Operation, Source};
use kerf_llvm::{Module, Opcode, Value};
use kerf_pass::count::LaunchCounts;
use std::collections::{BTreeMap, BTreeSet};

/// Loops of the prepared program: first line of each block, and of those that it leads to.
pub(super) type Ways = BTreeMap<usize, Vec<usize>>;

pub(super) fn ways(m: &Module) -> Ways {
    let first = census::lines(m);
    let next = |b: &kerf_llvm::Block| -> Vec<usize> {
        let all = b.terminator().map(|t| t.successors()).unwrap_or_default();
        all.iter().filter_map(|s| first.get(s).copied()).collect()
    };
    first.iter().map(|(b, l)| (*l, next(b))).collect()
}

/// Is it a function of libdevice for rare arguments, as those of sine that are too large to be reduced at once?
pub(super) fn slow_path(name: &str) -> bool {
    name.starts_with("__internal_")
}

/// Is it a remainder, or a multiple of one? Of neighbouring threads some have zero.
fn remainder(v: Value) -> bool {
    use Opcode::*;
    match v.opcode() {
        Some(LLVMAnd | LLVMURem | LLVMSRem) => true,
        Some(LLVMSIToFP | LLVMUIToFP | LLVMSExt | LLVMZExt | LLVMTrunc) => remainder(v.operand(0)),
        Some(LLVMFNeg | LLVMFPExt | LLVMFPTrunc) => remainder(v.operand(0)),
        Some(LLVMFMul) => {
            let (a, b) = (v.operand(0), v.operand(1));
            (a.is_constant() && remainder(b)) || (b.is_constant() && remainder(a))
        }
        _ => false,
    }
}

/// Instructions of a division's slow path, for zero, in f64 and f32, and clocks of each (ncu on the H200).
const SLOW_F64: f64 = 66.0;
const SLOW_F32: f64 = 24.0;
pub(super) const SLOW_CLOCKS: f64 = 5.0;

/// Instructions of slow paths that are entered, by line.
pub(super) fn slow_paths(m: &Module) -> BTreeMap<usize, f64> {
    let defined = m.functions().into_iter().filter(|f| !f.is_declaration());
    let all = defined.flat_map(|f| f.instructions()).enumerate();
    all.filter(|(_, i)| i.opcode() == Some(Opcode::LLVMFDiv) && remainder(i.operand(0)))
        .map(|(n, i)| match i.ty().element().format() {
            Some(kerf_num::Format::F64) => (n + 1, SLOW_F64),
            _ => (n + 1, SLOW_F32),
        })
        .collect()
}

/// What each line is, from 1 on.
pub(super) fn operations(m: &Module) -> Vec<Operation> {
    use Opcode::*;
    let defined = m.functions().into_iter().filter(|f| !f.is_declaration());
    let all = defined.flat_map(|f| f.instructions());
    all.map(|i| match i.opcode() {
        Some(LLVMFAdd | LLVMFSub | LLVMFMul) => Operation::Arithmetic,
        Some(LLVMLoad | LLVMStore) => Operation::Access,
        Some(LLVMFDiv) if remainder(i.operand(0)) => Operation::Division,
        Some(LLVMCall) => match i.callee_name().unwrap_or_default() {
            n if n.starts_with("llvm.fma") => Operation::Arithmetic,
            n if n.starts_with("llvm.nvvm.bar") => Operation::Barrier,
            _ => Operation::Call,
        },
        _ => Operation::Other,
    })
    .collect()
}

/// Blocks of a kernel by line, with how often they and their loops are run.
pub(super) fn sources(
    work: &KernelWork,
    l: &LaunchCounts,
    ways: &Ways,
    together: f64,
) -> Vec<Source> {
    let executed = executed::warps_of(work, l, together);
    let active = |n: usize| l.blocks[n].threads as f64 / l.blocks[n].warps.max(1) as f64;
    let full = work.blocks.first().map_or(0.0, |b| active(b.number));
    let mut out: Vec<Source> = work
        .blocks
        .iter()
        .zip(executed)
        .map(|(b, executed)| Source {
            uneven: active(b.number) < 0.9 * full,
            lanes: l.blocks[b.number].threads as f64 / executed.max(1.0),
            line: b.line,
            lines: b.nodes.len(),
            executed,
            cyclic: false,
            entered: 0.0,
            head: 0,
        })
        .collect();
    out.sort_by_key(|s| s.line);
    let place: BTreeMap<usize, usize> = out.iter().enumerate().map(|(k, s)| (s.line, k)).collect();
    let mut before: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (b, next) in ways {
        for n in next {
            before.entry(*n).or_default().push(*b);
        }
    }
    // Blocks stand in the order in which they are first reached, so that ways back lead to lines that are not after.
    let mut loops: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (b, next) in ways {
        for head in next.iter().filter(|n| *n <= b) {
            let body = loops
                .entry(*head)
                .or_insert_with(|| BTreeSet::from([*head]));
            let mut left = vec![*b];
            while let Some(x) = left.pop() {
                if x >= *head && body.insert(x) {
                    left.extend(before.get(&x).into_iter().flatten());
                }
            }
        }
    }
    let mut loops: Vec<_> = loops.into_iter().collect();
    loops.sort_by_key(|l| l.1.len());
    for (head, body) in loops {
        let Some(h) = place.get(&head) else { continue };
        let rounds = out[*h].executed;
        let from = before.get(&head).into_iter().flatten();
        let outside = from
            .filter(|b| !body.contains(b))
            .filter_map(|b| place.get(b));
        let entered: f64 = outside.map(|b| out[*b].executed.min(rounds)).sum();
        for b in body.iter().filter_map(|b| place.get(b)) {
            let s = &mut out[*b];
            if !s.cyclic {
                s.cyclic = true;
                s.head = head;
                s.entered = entered.max(1.0) * s.executed / rounds.max(1.0);
            }
        }
    }
    out
}

//! The prepared program by line: blocks with how often they are executed, and the class of each line's operation.
use super::executions::{Operation, SourceBlock};
use crate::cost::census::{self, KernelWork};
use crate::cost::executed::correlated_executions;
use kerf_ir::prepare::MADE_FUNCTIONS;
use kerf_llvm::{Module, Opcode, Value};
use kerf_pass::count::LaunchCounts;
use std::collections::{BTreeMap, BTreeSet};

/// The control-flow graph of the prepared program: first lines of each block and of its successors.
pub(super) type SuccessorLines = BTreeMap<usize, Vec<usize>>;

pub(super) fn successor_lines(m: &Module) -> SuccessorLines {
    let first = census::lines(m);
    let successors = |b: &kerf_llvm::Block| -> Vec<usize> {
        let all = b.terminator().map(|t| t.successors()).unwrap_or_default();
        all.iter().filter_map(|s| first.get(s).copied()).collect()
    };
    first.iter().map(|(b, l)| (*l, successors(b))).collect()
}

/// Functions of libdevice that pow and lgamma in f64 call for every argument.
pub(super) const UNCONDITIONAL_SUBROUTINES: [&str; 2] =
    ["__internal_accurate_pow", "__internal_lgamma_pos"];

/// Is it a function of libdevice for rare arguments, such as the reduction of large arguments of sine?
pub(super) fn is_slow_path(name: &str) -> bool {
    name.starts_with("__internal_")
}

/// Is it a remainder, or a multiple of one? Some of neighbouring threads then have zero.
fn is_remainder(v: Value) -> bool {
    use Opcode::*;
    match v.opcode() {
        Some(LLVMAnd | LLVMURem | LLVMSRem) => true,
        Some(LLVMSIToFP | LLVMUIToFP | LLVMSExt | LLVMZExt | LLVMTrunc) => {
            is_remainder(v.operand(0))
        }
        Some(LLVMFNeg | LLVMFPExt | LLVMFPTrunc) => is_remainder(v.operand(0)),
        Some(LLVMFMul) => {
            let (a, b) = (v.operand(0), v.operand(1));
            (a.is_constant() && is_remainder(b)) || (b.is_constant() && is_remainder(a))
        }
        _ => false,
    }
}

/// Instructions of the slow path of a division of zero, in f64 and f32, and clocks of each instruction (ncu on the H200).
const DIVISION_SLOW_PATH_F64: f64 = 66.0;
const DIVISION_SLOW_PATH_F32: f64 = 24.0;
pub(super) const SLOW_PATH_CLOCKS: f64 = 5.0;

/// Instructions of the slow paths of divisions that are executed, by line.
pub(super) fn division_slow_paths(m: &Module) -> BTreeMap<usize, f64> {
    let defined = m.functions().into_iter().filter(|f| census::has_lines(*f));
    let all = defined.flat_map(|f| f.instructions()).enumerate();
    all.filter(|(_, i)| i.opcode() == Some(Opcode::LLVMFDiv) && is_remainder(i.operand(0)))
        .map(|(n, i)| match i.ty().element().format() {
            Some(kerf_num::Format::F64) => (n + 1, DIVISION_SLOW_PATH_F64),
            _ => (n + 1, DIVISION_SLOW_PATH_F32),
        })
        .collect()
}

/// Class of each line's operation, from line 1 on.
pub(super) fn operations(m: &Module) -> Vec<Operation> {
    use Opcode::*;
    let defined = m.functions().into_iter().filter(|f| census::has_lines(*f));
    let all = defined.flat_map(|f| f.instructions());
    all.map(|i| match i.opcode() {
        Some(LLVMFAdd | LLVMFSub | LLVMFMul) => Operation::Arithmetic,
        Some(LLVMLoad | LLVMStore) => Operation::Access,
        Some(LLVMFDiv) if is_remainder(i.operand(0)) => Operation::ZeroDivision,
        Some(LLVMCall) => match i.callee_name().unwrap_or_default() {
            n if n.starts_with("llvm.fma") => Operation::Arithmetic,
            n if n.starts_with("llvm.nvvm.bar") => Operation::Barrier,
            n if n.starts_with(MADE_FUNCTIONS) => Operation::MadeCall,
            _ => Operation::Call,
        },
        _ => Operation::Other,
    })
    .collect()
}

/// A block is divergent if warps execute it with fewer than this fraction of the lanes of the kernel's first block.
const EVEN_LANES_FRACTION: f64 = 0.9;

/// Blocks of a kernel by line, with how often they and their loops are executed.
pub(super) fn source_blocks(
    work: &KernelWork,
    l: &LaunchCounts,
    successors: &SuccessorLines,
    divergence_correlation: f64,
) -> Vec<SourceBlock> {
    let executions = correlated_executions(work, l, divergence_correlation);
    let lanes = |n: usize| l.blocks[n].threads as f64 / l.blocks[n].warps.max(1) as f64;
    let all_lanes = work.blocks.first().map_or(0.0, |b| lanes(b.number));
    let mut out: Vec<SourceBlock> = work
        .blocks
        .iter()
        .zip(executions)
        .map(|(b, warp_executions)| SourceBlock {
            is_divergent: lanes(b.number) < EVEN_LANES_FRACTION * all_lanes,
            active_lanes: l.blocks[b.number].threads as f64 / warp_executions.max(1.0),
            first_line: b.first_line,
            line_count: b.nodes.len(),
            warp_executions,
            in_loop: false,
            loop_entries: 0.0,
            loop_line: 0,
        })
        .collect();
    out.sort_by_key(|s| s.first_line);
    let index: BTreeMap<usize, usize> = out
        .iter()
        .enumerate()
        .map(|(k, s)| (s.first_line, k))
        .collect();
    let mut predecessors: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (b, next) in successors {
        for n in next {
            predecessors.entry(*n).or_default().push(*b);
        }
    }
    for (header, body) in loops(successors, &predecessors) {
        let Some(h) = index.get(&header) else {
            continue;
        };
        let iterations = out[*h].warp_executions;
        let before = predecessors.get(&header).into_iter().flatten();
        let outside = before
            .filter(|b| !body.contains(b))
            .filter_map(|b| index.get(b));
        let entries: f64 = outside
            .map(|b| out[*b].warp_executions.min(iterations))
            .sum();
        for b in body.iter().filter_map(|b| index.get(b)) {
            let s = &mut out[*b];
            if !s.in_loop {
                s.in_loop = true;
                s.loop_line = header;
                s.loop_entries = entries.max(1.0) * s.warp_executions / iterations.max(1.0);
            }
        }
    }
    out
}

/// Loops of the program, header and body by first lines, smaller ones first. Blocks stand in the order in which they are first
/// reached, so that back edges lead to lines that are not after.
fn loops(
    successors: &SuccessorLines,
    predecessors: &BTreeMap<usize, Vec<usize>>,
) -> Vec<(usize, BTreeSet<usize>)> {
    let mut loops: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (b, next) in successors {
        for header in next.iter().filter(|n| *n <= b) {
            let body = loops
                .entry(*header)
                .or_insert_with(|| BTreeSet::from([*header]));
            let mut left = vec![*b];
            while let Some(x) = left.pop() {
                if x >= *header && body.insert(x) {
                    left.extend(predecessors.get(&x).into_iter().flatten());
                }
            }
        }
    }
    let mut loops: Vec<_> = loops.into_iter().collect();
    loops.sort_by_key(|l| l.1.len());
    loops
}

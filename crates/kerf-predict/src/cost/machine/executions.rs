//! How often warps execute each block of machine code, from how often they execute the blocks of the program.
//!
//! The line table says which operation of the program an instruction came from. Where a loop was unrolled, its operations
//! occur once in each copy; remaining iterations are executed by the copies beside it. Slow paths (calls of the assembler's
//! subroutines, loops within one operation) are taken not to be executed.
use super::binary::{Instruction, Kind};
use super::elements::{Elements, FALLBACK_LINES};
use super::flow::FlowGraph;
use std::collections::{BTreeMap, BTreeSet};

/// Class of an operation of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// Becomes one instruction of arithmetic.
    Arithmetic,
    /// A load or store.
    Access,
    Barrier,
    Call,
    /// A call of a made function, which branches around the library's.
    MadeCall,
    /// A division whose dividend may be zero, which the slow path handles.
    ZeroDivision,
    Other,
}

/// A block of the program.
#[derive(Debug, Clone)]
pub(super) struct SourceBlock {
    pub first_line: usize,
    pub line_count: usize,
    pub warp_executions: f64,
    pub in_loop: bool,
    /// How often warps enter the innermost loop around it, scaled to the iterations that execute the block.
    pub loop_entries: f64,
    /// First line of that loop's header.
    pub loop_line: usize,
    /// Do the lanes of a warp execute it unequally often?
    pub is_divergent: bool,
    /// Lanes that are active when a warp executes it, in the mean.
    pub active_lanes: f64,
}

/// The program that the machine code came from.
pub(super) struct SourceProgram<'p> {
    /// Blocks, by line.
    pub blocks: &'p [SourceBlock],
    /// Class of each line, from line 1 on.
    pub operations: &'p [Operation],
    /// Bytes that a thread moves, by line of an access.
    pub access_bytes: &'p BTreeMap<usize, f64>,
    /// Elements of its threads.
    pub elements: Elements,
    /// Warps of the launch.
    pub warps: f64,
}

impl SourceProgram<'_> {
    fn block_of(&self, line: usize) -> Option<usize> {
        let k = self
            .blocks
            .partition_point(|s| s.first_line <= line)
            .checked_sub(1)?;
        let s = &self.blocks[k];
        (line < s.first_line + s.line_count).then_some(k)
    }

    /// Executions of a block that every iteration of its loop executes.
    fn every_iteration(&self, s: &SourceBlock) -> Option<f64> {
        let header = &self.blocks[self.block_of(s.loop_line).filter(|_| s.in_loop)?];
        (s.warp_executions >= 0.99 * header.warp_executions).then_some(s.warp_executions)
    }

    fn operation(&self, line: usize) -> Operation {
        let known = line.checked_sub(1).and_then(|l| self.operations.get(l));
        known.copied().unwrap_or(Operation::Other)
    }
}

/// Header of an innermost loop of machine code; none outside of all loops.
type Region = Option<usize>;

/// Copies of a block of the program in one region, and their share of its executions.
#[derive(Debug, Clone, Copy)]
struct RegionShare {
    region: Region,
    copies: f64,
    /// Operations of the block that occur there.
    operations: usize,
    executions: f64,
}

/// Fraction of warps in which some lane divides zero, where a remainder is the dividend (ncu on the H200, by executed
/// instructions: 0.76 in a Fourier transform of 512 points, 0.69 in one of 1024).
const ZERO_DIVIDEND_FRACTION: f64 = 0.7;

/// A block's executions are this weighted quantile of those that its instructions imply: the median.
const VOTE_QUANTILE: f64 = 0.5;

/// Copies of a completely unrolled inner loop may have been merged (two operations in one instruction, overlapping windows), so
/// that fewer are found than there are iterations, and executions are overestimated. The loop around decides if it implies
/// less than this fraction. Chosen by hand.
const MERGED_COPIES_FRACTION: f64 = 0.75;

/// What the operations of the outermost loop imply, from pairs of the executions of their source block and what they imply for
/// the machine block.
fn outermost(votes: &[(f64, f64)]) -> Option<f64> {
    let fewest = votes.iter().map(|v| v.0).fold(f64::INFINITY, f64::min);
    let outer = votes.iter().filter(|v| v.0 <= 1.01 * fewest);
    let mut implied: Vec<f64> = outer.map(|v| v.1).collect();
    implied.sort_by(f64::total_cmp);
    (implied.len() >= 3).then(|| implied[implied.len() / 2])
}

/// Lower median, as a whole number of copies.
fn median_copies(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    x.get(x.len().saturating_sub(1) / 2)
        .map_or(1.0, |n| n.max(1.0).round())
}

/// Instructions of each line by region, counting only operations that become one instruction in each copy; 0 for others.
type InstructionsByLine = BTreeMap<Region, BTreeMap<usize, f64>>;

/// Distributes the executions of a block over the regions in which it occurs.
fn distribute(
    s: &SourceBlock,
    instructions: &InstructionsByLine,
    elements: f64,
) -> Vec<RegionShare> {
    let mut all: Vec<RegionShare> = Vec::new();
    for (region, lines) in instructions {
        let counts: Vec<f64> = lines.values().copied().filter(|n| *n > 0.0).collect();
        if !counts.is_empty() {
            all.push(RegionShare {
                region: *region,
                operations: counts.len(),
                copies: median_copies(counts),
                executions: 0.0,
            });
        }
    }
    if all.is_empty() {
        return all;
    }
    let most = all.iter().map(|p| p.operations).max().unwrap_or(0);
    all.retain(|p| 2 * p.operations >= most);
    // The loop with the most copies is the unrolled one, which executes as many iterations as it can.
    all.sort_by(|a, b| {
        let outside = a.region.is_none().cmp(&b.region.is_none());
        outside.then(b.copies.total_cmp(&a.copies))
    });
    let copies: f64 = all.iter().map(|p| p.copies).sum();
    let main = all[0];
    // Of a coarsened kernel an iteration has as many copies as a thread has elements.
    let unroll_factor = (main.copies / elements).max(1.0).round();
    if main.region.is_some() && unroll_factor > 1.0 && all.len() > 1 {
        let iterations = (s.warp_executions / s.loop_entries.max(1.0)).max(1.0);
        let unrolled = (iterations / unroll_factor + 1e-9).floor() * unroll_factor;
        all[0].executions = unrolled / iterations * s.warp_executions;
        all[1].executions = (iterations - unrolled) / iterations * s.warp_executions;
        if s.is_divergent {
            // Some lane of a warp has as many remaining iterations as there can be.
            let most = s.loop_entries.max(1.0) * (unroll_factor - 1.0);
            all[1].executions = all[1].executions.max(most.min(s.warp_executions));
        }
    } else {
        for p in &mut all {
            p.executions = s.warp_executions * p.copies / copies;
        }
    }
    all
}

/// Distributes the executions of a block none of whose operations becomes one instruction: as another block of its loop.
fn distribute_like_loop(
    program: &SourceProgram,
    s: &SourceBlock,
    instructions: &InstructionsByLine,
    known: &BTreeMap<usize, Vec<RegionShare>>,
) -> Vec<RegionShare> {
    let beside = known
        .iter()
        .map(|(k, shares)| (&program.blocks[*k], shares))
        .filter(|(o, shares)| {
            s.in_loop && o.in_loop && o.loop_line == s.loop_line && !shares.is_empty()
        });
    let mut all = Vec::new();
    for (o, shares) in beside.take(1) {
        for p in shares
            .iter()
            .filter(|p| instructions.contains_key(&p.region))
        {
            let executions = p.executions * s.warp_executions / o.warp_executions.max(1.0);
            all.push(RegionShare { executions, ..*p });
        }
    }
    let largest = instructions.iter().max_by_key(|(_, lines)| lines.len());
    if let (true, Some((region, lines))) = (all.is_empty(), largest) {
        all.push(RegionShare {
            region: *region,
            copies: 1.0,
            operations: lines.len(),
            executions: s.warp_executions,
        });
    }
    all
}

/// How often machine code is executed, over a launch.
pub(super) struct ExecutionProfile {
    /// Executions of each block by warps.
    pub block_executions: Vec<f64>,
    /// Fraction of these in which an instruction's predicate is true for some lane, by instruction.
    pub predicate_fraction: Vec<f64>,
    /// Fraction of these in which lanes reconverge at the start of the block.
    pub reconvergence_fraction: Vec<f64>,
}

/// Header of the innermost loop around each block.
type Innermost = BTreeMap<usize, usize>;

fn is_access(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Load
            | Kind::Store
            | Kind::SharedLoad
            | Kind::SharedStore
            | Kind::LocalLoad
            | Kind::LocalStore
            | Kind::ConstantLoad
    )
}

/// Instructions of each block of the program, by its index.
fn instructions_of_blocks(
    code: &[Instruction],
    flow: &FlowGraph,
    program: &SourceProgram,
    innermost: &Innermost,
) -> BTreeMap<usize, InstructionsByLine> {
    let mut found: BTreeMap<usize, InstructionsByLine> = BTreeMap::new();
    for b in &flow.order {
        let region = innermost.get(b).copied();
        for i in &code[flow.blocks[*b].clone()] {
            let Some(s) = program.block_of(i.line) else {
                continue;
            };
            let access = is_access(i.kind);
            let once_a_copy = match program.operation(i.line) {
                Operation::Arithmetic => i.is_float_arithmetic,
                Operation::Access => access,
                Operation::Barrier => i.kind == Kind::BlockBarrier,
                _ => false,
            };
            let lines = found.entry(s).or_default().entry(region).or_default();
            // An access that is not aligned for one instruction becomes several; neighbouring elements of a thread share one.
            let most = program.elements.run;
            let instructions = match (once_a_copy, program.access_bytes.get(&i.line)) {
                (false, _) => 0.0,
                (true, Some(bytes)) if access => (i.bytes / bytes).min(most),
                _ => 1.0,
            };
            *lines.entry(i.line).or_insert(0.0) += instructions;
        }
    }
    found
}

/// Where the executions of the program's blocks are in its machine code.
struct CopyMap<'p> {
    program: &'p SourceProgram<'p>,
    innermost: &'p Innermost,
    shares: BTreeMap<usize, Vec<RegionShare>>,
}

impl<'p> CopyMap<'p> {
    fn new(
        code: &[Instruction],
        flow: &FlowGraph,
        program: &'p SourceProgram<'p>,
        innermost: &'p Innermost,
    ) -> CopyMap<'p> {
        let found = instructions_of_blocks(code, flow, program, innermost);
        let mut shares: BTreeMap<usize, Vec<RegionShare>> = found
            .iter()
            .map(|(s, f)| {
                let shares = distribute(&program.blocks[*s], f, program.elements.of_thread);
                (*s, shares)
            })
            .collect();
        for (s, f) in &found {
            if shares[s].is_empty() {
                let like = distribute_like_loop(program, &program.blocks[*s], f, &shares);
                shares.insert(*s, like);
            }
        }
        CopyMap {
            program,
            innermost,
            shares,
        }
    }

    /// The executions of a machine block that one of its instructions implies.
    fn implied_executions(&self, b: usize, i: &Instruction) -> Option<f64> {
        let source = self.program.block_of(i.line)?;
        let region = self.innermost.get(&b).copied();
        let shares = self.shares.get(&source)?;
        let share = shares.iter().find(|p| p.region == region)?;
        Some(self.program.elements.executions_factor * share.executions / share.copies)
    }
}

/// Weight of a vote by an instruction with a predicate, and of one whose operation becomes a varying number of instructions:
/// either may be executed less often than its source block. Chosen by hand.
const UNSURE_VOTE_WEIGHT: f64 = 0.3;

/// Executions that the instructions of control-equivalent blocks imply.
#[derive(Default)]
struct Votes {
    /// Executions and weight of each.
    all: Vec<(f64, f64)>,
    /// Of operations that every iteration of their loop executes: executions of the source block, and those implied.
    every_iteration: Vec<(f64, f64)>,
}

impl Votes {
    fn add(&mut self, program: &SourceProgram, i: &Instruction, implied: f64) {
        let sure = !matches!(
            program.operation(i.line),
            Operation::Call | Operation::MadeCall | Operation::ZeroDivision | Operation::Other
        );
        let weight = |certain: bool| if certain { 1.0 } else { UNSURE_VOTE_WEIGHT };
        self.all
            .push((implied, weight(i.is_unpredicated) * weight(sure)));
        let source = program.block_of(i.line).map(|s| &program.blocks[s]);
        let every = source.and_then(|s| program.every_iteration(s));
        if let (true, true, Some(executed)) = (sure, i.is_unpredicated, every) {
            self.every_iteration.push((executed, implied));
        }
    }

    /// The weighted median, or what the outermost loop implies where that is far less.
    fn executions(mut self) -> Option<f64> {
        self.all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let half = VOTE_QUANTILE * self.all.iter().map(|v| v.1).sum::<f64>();
        let mut sum = 0.0;
        let median = self.all.iter().find_map(|(v, weight)| {
            sum += weight;
            (sum >= half).then_some(*v)
        });
        median.map(|m| match outermost(&self.every_iteration) {
            Some(o) if o < MERGED_COPIES_FRACTION * m => o,
            _ => m,
        })
    }
}

/// Executions of each block: as the instructions of control-equivalent blocks imply, or else those of the loop around it or of
/// its dominator.
fn voted_executions(
    code: &[Instruction],
    flow: &FlowGraph,
    copies: &CopyMap,
    slow_path: &BTreeSet<usize>,
) -> Vec<f64> {
    let program = copies.program;
    let class_of = flow.control_equivalent();
    let mut votes: BTreeMap<usize, Votes> = BTreeMap::new();
    for b in flow.order.iter().filter(|b| !slow_path.contains(b)) {
        for i in &code[flow.blocks[*b].clone()] {
            if let Some(n) = copies.implied_executions(*b, i) {
                votes.entry(class_of[b]).or_default().add(program, i, n);
            }
        }
    }
    let decided = votes
        .into_iter()
        .filter_map(|(class, votes)| Some((class, votes.executions()?)));
    let mut by_class: BTreeMap<usize, f64> = decided.collect();
    by_class.insert(0, program.warps);
    let mut known: Vec<Option<f64>> = vec![None; flow.blocks.len()];
    for b in &flow.order {
        known[*b] = by_class.get(&class_of[b]).copied();
    }
    for b in &flow.order {
        if known[*b].is_none() {
            let dominator = flow.immediate_dominator.get(b).and_then(|d| known[*d]);
            let header = copies.innermost.get(b).and_then(|h| known[*h]);
            known[*b] = Some(header.unwrap_or(dominator.unwrap_or(0.0)));
        }
    }
    let mut executions: Vec<f64> = known.into_iter().map(|n| n.unwrap_or(0.0)).collect();
    // Outside of loops a warp executes a block once at most, whatever the copies found of a completely unrolled loop imply.
    let straight = flow
        .order
        .iter()
        .filter(|b| !copies.innermost.contains_key(b));
    for b in straight {
        executions[*b] = executions[*b].min(program.warps);
    }
    executions
}

/// Executions of each block and instruction.
pub(super) fn execution_profile(
    code: &[Instruction],
    flow: &FlowGraph,
    program: &SourceProgram,
) -> ExecutionProfile {
    let innermost = flow.innermost_loop();
    let copies = CopyMap::new(code, flow, program, &innermost);
    let slow_path = slow_path_blocks(code, flow, program);
    let mut executions = voted_executions(code, flow, &copies, &slow_path);
    for b in slow_path {
        let divides_zero = code[flow.blocks[b].clone()]
            .iter()
            .any(|i| i.kind == Kind::Call && program.operation(i.line) == Operation::ZeroDivision);
        let dominator = flow.immediate_dominator.get(&b);
        executions[b] = match divides_zero {
            true => ZERO_DIVIDEND_FRACTION * dominator.map_or(0.0, |d| executions[*d]),
            false => 0.0,
        };
    }
    let mut predicate_fraction = vec![1.0; code.len()];
    for b in &flow.order {
        for k in flow.blocks[*b].clone() {
            let implied = copies.implied_executions(*b, &code[k]);
            if let (false, Some(n)) = (code[k].is_unpredicated, implied) {
                predicate_fraction[k] = (n / executions[*b].max(1.0)).clamp(0.0, 1.0);
            }
        }
    }
    ExecutionProfile {
        reconvergence_fraction: reconvergence_fractions(code, flow, program, &executions),
        block_executions: executions,
        predicate_fraction,
    }
}

/// A branch diverges if fewer than this fraction of the lanes execute one of its sides together.
const CONVERGED_FRACTION: f64 = 0.97;

/// Fraction of each block's executions before which some lanes of the warp have taken another path from its dominator.
fn reconvergence_fractions(
    code: &[Instruction],
    flow: &FlowGraph,
    program: &SourceProgram,
    executions: &[f64],
) -> Vec<f64> {
    let active_lanes = |b: usize| {
        let sure = code[flow.blocks[b].clone()]
            .iter()
            .filter(|i| i.is_unpredicated);
        let sources = sure.filter_map(|i| program.block_of(i.line));
        let mut all: Vec<f64> = sources.map(|s| program.blocks[s].active_lanes).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    };
    let mut out = vec![0.0; flow.blocks.len()];
    for b in &flow.order {
        let Some(d) = flow.immediate_dominator.get(b).filter(|d| *d != b) else {
            continue;
        };
        let before = active_lanes(*d).unwrap_or(32.0);
        let diverged =
            flow.successors[*d].iter().filter(|s| *s != b).map(|s| {
                match active_lanes(*s).is_some_and(|l| l < CONVERGED_FRACTION * before) {
                    true => executions[*s] / executions[*d].max(1.0),
                    false => 0.0,
                }
            });
        out[*b] = diverged.fold(0.0, f64::max).min(1.0);
    }
    out
}

/// Blocks of the library's function to which a made function branches at the end of a block, for arguments outside of its range:
/// the side that has nothing but the function's own instructions, up to where the sides meet; of two such sides the longer one,
/// since a made function is the shorter.
fn library_path(
    code: &[Instruction],
    flow: &FlowGraph,
    program: &SourceProgram,
    branching: usize,
) -> Vec<usize> {
    let line = code[flow.blocks[branching].clone()].last().map(|i| i.line);
    let line = line.filter(|l| program.operation(*l) == Operation::MadeCall);
    let (Some(line), [_, _]) = (line, &flow.successors[branching][..]) else {
        return Vec::new();
    };
    let entered_once = |b: usize| {
        let all = flow.order.iter();
        all.filter(|o| flow.successors[**o].contains(&b)).count() == 1
    };
    let side = |b: &usize| -> Vec<usize> {
        let all = flow.order.iter().copied();
        all.filter(|o| flow.dominates(*b, *o)).collect()
    };
    let instructions = |side: &[usize]| -> usize {
        let all = side.iter();
        all.map(|b| flow.blocks[*b].len()).sum()
    };
    let own = |b: &usize| {
        let mut all = code[flow.blocks[*b].clone()].iter();
        all.all(|i| i.line == line)
    };
    let sides = flow.successors[branching].iter();
    let sides = sides.filter(|b| **b != branching && entered_once(**b));
    let sides = sides.map(side).filter(|s| s.iter().all(own));
    sides.max_by_key(|s| instructions(s)).unwrap_or_default()
}

/// Is most of a block the code of a coarsened kernel for addresses that are not aligned, or for copies that diverge?
fn is_fallback(code: &[Instruction]) -> bool {
    let fallback = |i: &&Instruction| i.line >= FALLBACK_LINES as usize;
    2 * code.iter().filter(fallback).count() > code.len()
}

/// Blocks of slow paths: code of a coarsened kernel that is not executed, those that call a subroutine, those that a function of libdevice branches around, and loops within one
/// operation or within straight-line source.
fn slow_path_blocks(
    code: &[Instruction],
    flow: &FlowGraph,
    program: &SourceProgram,
) -> BTreeSet<usize> {
    let instructions = |b: usize| &code[flow.blocks[b].clone()];
    let lines = |b: usize| {
        let all = instructions(b).iter().map(|i| i.line);
        all.collect::<BTreeSet<usize>>()
    };
    let calls = |b: &&usize| instructions(**b).iter().any(|i| i.kind == Kind::Call);
    let mut out: BTreeSet<usize> = flow.order.iter().filter(calls).copied().collect();
    out.extend(flow.order.iter().filter(|b| is_fallback(instructions(**b))));
    for b in &flow.order {
        let Some(d) = flow.immediate_dominator.get(b).filter(|d| *d != b) else {
            continue;
        };
        let [after] = flow.successors[*b][..] else {
            continue;
        };
        let around = flow.successors[*d].len() == 2 && flow.successors[*d].contains(&after);
        let predecessors = flow
            .order
            .iter()
            .filter(|o| flow.successors[**o].contains(b));
        let own = lines(*b);
        let branch = instructions(*d).last().map(|i| i.line);
        let of_call = |l: &usize| Some(*l) == branch && program.operation(*l) == Operation::Call;
        if around && predecessors.count() == 1 && own.len() == 1 && own.iter().all(of_call) {
            out.insert(*b);
        }
    }
    for b in &flow.order {
        out.extend(library_path(code, flow, program, *b));
    }
    for (header, body) in &flow.loops {
        let all: BTreeSet<usize> = body.iter().flat_map(|b| lines(*b)).collect();
        let within_call =
            all.len() == 1 && all.iter().all(|l| program.operation(*l) == Operation::Call);
        let sources: Vec<usize> = all.iter().filter_map(|l| program.block_of(*l)).collect();
        let straight = !sources.is_empty() && !sources.iter().any(|s| program.blocks[*s].in_loop);
        if !within_call && !straight {
            continue;
        }
        // From the branch that leads to the loop.
        let mut first = *header;
        while let Some(d) = flow
            .immediate_dominator
            .get(&first)
            .filter(|d| **d != first)
        {
            if flow.successors[*d].len() > 1 {
                break;
            }
            first = *d;
        }
        for b in flow.order.iter().filter(|b| flow.dominates(first, **b)) {
            if body.contains(b) || lines(*b).is_subset(&all) {
                out.insert(*b);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;

//! How often warps run each block of machine code, from how often they run the blocks of the program.
//!
//! Lines tell which operation of the program an instruction came from. Where a loop was unrolled, its operations occur as
//! often as there are copies; what rounds are left over run in the copies beside it. Slow paths of functions (calls of the
//! assembler's subroutines, loops within one operation) are taken not to run.
use super::binary::{Instruction, Kind};
use super::flow::Flow;
use std::collections::{BTreeMap, BTreeSet};

/// What an operation of the program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// One instruction of arithmetic.
    Arithmetic,
    /// A load or store.
    Access,
    Barrier,
    Call,
    /// A division of what may be zero, which its slow path is for.
    Division,
    Other,
}

/// A block of the program.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// Its first line, and how many it has.
    pub line: usize,
    pub lines: usize,
    /// Executions by warps.
    pub executed: f64,
    /// Is it part of a loop?
    pub cyclic: bool,
    /// How often the loop around it is entered, as far as it is run.
    pub entered: f64,
    /// First line of that loop.
    pub head: usize,
    /// Do threads of a warp run it differently often?
    pub uneven: bool,
    /// Threads of a warp that run it together, in the mean.
    pub lanes: f64,
}

/// The program beside its machine code.
pub(super) struct Program<'p> {
    /// Blocks, by line.
    pub sources: &'p [Source],
    /// By line, from 1 on.
    pub operations: &'p [Operation],
    /// Bytes that a thread moves, by line.
    pub bytes: &'p BTreeMap<usize, f64>,
    pub warps: f64,
}

impl Program<'_> {
    fn source(&self, line: usize) -> Option<usize> {
        let k = self
            .sources
            .partition_point(|s| s.line <= line)
            .checked_sub(1)?;
        let s = &self.sources[k];
        (line < s.line + s.lines).then_some(k)
    }
    /// Executions of a block that every round of its loop goes through.
    fn every_round(&self, s: &Source) -> Option<f64> {
        let head = &self.sources[self.source(s.head).filter(|_| s.cyclic)?];
        (s.executed >= 0.99 * head.executed).then_some(s.executed)
    }
    fn operation(&self, line: usize) -> Operation {
        let known = line.checked_sub(1).and_then(|l| self.operations.get(l));
        known.copied().unwrap_or(Operation::Other)
    }
}

/// A loop, or what is outside of all.
type Region = Option<usize>;

/// Where the executions of a block of the program are: in a region, so many copies of it, so many executions in all.
#[derive(Debug, Clone, Copy)]
struct Part {
    region: Region,
    copies: f64,
    /// Operations of the block that were found there.
    found: usize,
    executions: f64,
}

/// Warps of which some thread divides zero, where a remainder is divided (ncu on the H200, by
/// instructions: 0.76 in a Fourier transform of 512 numbers, 0.69 in one of 1024).
const ZERO: f64 = 0.7;

/// Where among what a block's instructions say of it its executions are.
const QUANTILE: f64 = 0.5;

/// Copies of an inner loop that was unrolled wholly may be merged, so that fewer are found than there are rounds: two numbers in
/// one instruction, windows that overlap. The loop around it then tells, if it says less than this part.
const MERGED: f64 = 0.75;

/// What operations of the outermost loop say, from executions of their block of the program and what each says.
fn outermost(all: &[(f64, f64)]) -> Option<f64> {
    let least = all.iter().map(|v| v.0).fold(f64::INFINITY, f64::min);
    let of = all.iter().filter(|v| v.0 <= 1.01 * least);
    let mut says: Vec<f64> = of.map(|v| v.1).collect();
    says.sort_by(f64::total_cmp);
    (says.len() >= 3).then(|| says[says.len() / 2])
}

fn median(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    x.get(x.len().saturating_sub(1) / 2)
        .map_or(1.0, |n| n.max(1.0).round())
}

/// Instructions of each line, by region: only those that there is one of in each copy.
type Found = BTreeMap<Region, BTreeMap<usize, f64>>;

fn parts(s: &Source, found: &Found) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::new();
    for (region, lines) in found {
        let sure: Vec<f64> = lines.values().copied().filter(|n| *n > 0.0).collect();
        if !sure.is_empty() {
            all.push(Part {
                region: *region,
                found: sure.len(),
                copies: median(sure),
                executions: 0.0,
            });
        }
    }
    if all.is_empty() {
        return all;
    }
    let most = all.iter().map(|p| p.found).max().unwrap_or(0);
    all.retain(|p| 2 * p.found >= most);
    // The loop with the most copies is the one that runs as long as it can.
    all.sort_by(|a, b| {
        let key = a.region.is_none().cmp(&b.region.is_none());
        key.then(b.copies.total_cmp(&a.copies))
    });
    let copies: f64 = all.iter().map(|p| p.copies).sum();
    let main = all[0];
    if main.region.is_some() && main.copies > 1.0 && all.len() > 1 {
        let rounds = (s.executed / s.entered.max(1.0)).max(1.0);
        let whole = (rounds / main.copies + 1e-9).floor() * main.copies;
        all[0].executions = whole / rounds * s.executed;
        all[1].executions = (rounds - whole) / rounds * s.executed;
        if s.uneven {
            // Some thread of a warp has as many rounds left over as there can be.
            let most = s.entered.max(1.0) * (main.copies - 1.0);
            all[1].executions = all[1].executions.max(most.min(s.executed));
        }
    } else {
        for p in &mut all {
            p.executions = s.executed * p.copies / copies;
        }
    }
    all
}

/// Those of a block without an operation that there is one of in each copy: as the others of its loop.
fn unsure(
    program: &Program,
    s: &Source,
    found: &Found,
    known: &BTreeMap<usize, Vec<Part>>,
) -> Vec<Part> {
    let beside = known
        .iter()
        .map(|(k, parts)| (&program.sources[*k], parts))
        .filter(|(o, parts)| s.cyclic && o.cyclic && o.head == s.head && !parts.is_empty());
    let mut all = Vec::new();
    for (o, parts) in beside.take(1) {
        for p in parts.iter().filter(|p| found.contains_key(&p.region)) {
            let executions = p.executions * s.executed / o.executed.max(1.0);
            all.push(Part { executions, ..*p });
        }
    }
    if let (true, Some((region, lines))) = (
        all.is_empty(),
        found.iter().max_by_key(|(_, lines)| lines.len()),
    ) {
        all.push(Part {
            region: *region,
            copies: 1.0,
            found: lines.len(),
            executions: s.executed,
        });
    }
    all
}

/// How often machine code runs, over a launch.
pub(super) struct Executions {
    /// Each block, by warps.
    pub blocks: Vec<f64>,
    /// Part of them in which an instruction's predicate holds for some thread.
    pub runs: Vec<f64>,
    /// Part of them in which threads that parted come together at the beginning.
    pub meet: Vec<f64>,
}

/// Loops by their blocks, the innermost: its first block.
type Innermost = BTreeMap<usize, usize>;

/// Instructions of each block of the program that there is one of in each copy, by its number.
fn found_instructions(
    code: &[Instruction],
    flow: &Flow,
    program: &Program,
    inner: &Innermost,
) -> BTreeMap<usize, Found> {
    let mut found: BTreeMap<usize, Found> = BTreeMap::new();
    for b in &flow.order {
        let region = inner.get(b).copied();
        for i in &code[flow.blocks[*b].clone()] {
            let Some(s) = program.source(i.line) else {
                continue;
            };
            let access = matches!(
                i.kind,
                Kind::Load
                    | Kind::Store
                    | Kind::SharedLoad
                    | Kind::SharedStore
                    | Kind::LocalLoad
                    | Kind::LocalStore
                    | Kind::ConstantLoad
            );
            let one = match program.operation(i.line) {
                Operation::Arithmetic => i.arithmetic,
                Operation::Access => access,
                Operation::Barrier => i.kind == Kind::Barrier,
                _ => false,
            };
            let lines = found.entry(s).or_default().entry(region).or_default();
            // What is not aligned for one instruction is moved by several.
            let part = match (one, program.bytes.get(&i.line)) {
                (false, _) => 0.0,
                (true, Some(bytes)) if access => (i.bytes / bytes).min(1.0),
                _ => 1.0,
            };
            *lines.entry(i.line).or_insert(0.0) += part;
        }
    }
    found
}

/// Where the executions of the program's blocks are in its machine code.
struct Copies<'p> {
    program: &'p Program<'p>,
    inner: &'p Innermost,
    parts: BTreeMap<usize, Vec<Part>>,
}

impl<'p> Copies<'p> {
    fn new(
        code: &[Instruction],
        flow: &Flow,
        program: &'p Program<'p>,
        inner: &'p Innermost,
    ) -> Copies<'p> {
        let found = found_instructions(code, flow, program, inner);
        let mut parts: BTreeMap<usize, Vec<Part>> = found
            .iter()
            .map(|(s, f)| (*s, parts(&program.sources[*s], f)))
            .collect();
        for (s, f) in &found {
            if parts[s].is_empty() {
                let some = unsure(program, &program.sources[*s], f, &parts);
                parts.insert(*s, some);
            }
        }
        Copies {
            program,
            inner,
            parts,
        }
    }

    /// What an instruction says of the executions of its block.
    fn says(&self, b: usize, i: &Instruction) -> Option<f64> {
        let all = self
            .program
            .source(i.line)
            .and_then(|s| self.parts.get(&s))?;
        let p = all
            .iter()
            .find(|p| p.region == self.inner.get(&b).copied())?;
        Some(p.executions / p.copies)
    }
}

/// What instructions say of blocks that run equally often.
#[derive(Default)]
struct Votes {
    /// Executions, with the weight of each.
    all: Vec<(f64, f64)>,
    /// Of what every round of its loop goes through: executions of the program's block, and what the instruction says.
    outer: Vec<(f64, f64)>,
}

impl Votes {
    fn add(&mut self, program: &Program, i: &Instruction, n: f64) {
        let sure = !matches!(
            program.operation(i.line),
            Operation::Call | Operation::Division | Operation::Other
        );
        let weight = [1.0, 0.3][usize::from(!i.always)] * [1.0, 0.3][usize::from(!sure)];
        self.all.push((n, weight));
        let source = program.source(i.line).map(|s| &program.sources[s]);
        if let (true, true, Some(executed)) =
            (sure, i.always, source.and_then(|s| program.every_round(s)))
        {
            self.outer.push((executed, n));
        }
    }

    /// The executions that most of them say.
    fn executions(mut self) -> Option<f64> {
        self.all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let half = QUANTILE * self.all.iter().map(|v| v.1).sum::<f64>();
        let mut sum = 0.0;
        let middle = self.all.iter().find_map(|(v, weight)| {
            sum += weight;
            (sum >= half).then_some(*v)
        });
        middle.map(|m| match outermost(&self.outer) {
            Some(o) if o < MERGED * m => o,
            _ => m,
        })
    }
}

/// Executions of each block: as the instructions of those that run equally often say, or else as the loop around it or the
/// block before it.
fn voted(code: &[Instruction], flow: &Flow, copies: &Copies, slow: &BTreeSet<usize>) -> Vec<f64> {
    let program = copies.program;
    let together = flow.together();
    let mut votes: BTreeMap<usize, Votes> = BTreeMap::new();
    for b in flow.order.iter().filter(|b| !slow.contains(b)) {
        for i in &code[flow.blocks[*b].clone()] {
            if let Some(n) = copies.says(*b, i) {
                votes.entry(together[b]).or_default().add(program, i, n);
            }
        }
    }
    let said = votes
        .into_iter()
        .filter_map(|(first, votes)| Some((first, votes.executions()?)));
    let mut classes: BTreeMap<usize, f64> = said.collect();
    classes.insert(0, program.warps);
    let mut out: Vec<Option<f64>> = vec![None; flow.blocks.len()];
    for b in &flow.order {
        out[*b] = classes.get(&together[b]).copied();
    }
    for b in &flow.order {
        if out[*b].is_none() {
            let above = flow.dominator.get(b).and_then(|d| out[*d]);
            out[*b] = Some(match copies.inner.get(b).and_then(|h| out[*h]) {
                Some(head) => head,
                _ => above.unwrap_or(0.0),
            });
        }
    }
    let mut blocks: Vec<f64> = out.into_iter().map(|n| n.unwrap_or(0.0)).collect();
    // A warp runs what is in no loop once at most, however few copies of a loop that was unrolled wholly were found: two numbers
    // may be in one instruction.
    for b in flow.order.iter().filter(|b| !copies.inner.contains_key(b)) {
        blocks[*b] = blocks[*b].min(program.warps);
    }
    blocks
}

/// Executions of each block and instruction.
pub(super) fn executions(code: &[Instruction], flow: &Flow, program: &Program) -> Executions {
    let inner = flow.innermost();
    let copies = Copies::new(code, flow, program, &inner);
    let slow = slow(code, flow, program);
    let mut blocks = voted(code, flow, &copies, &slow);
    for b in slow {
        let mut calls = code[flow.blocks[b].clone()].iter();
        let zero =
            calls.any(|i| i.kind == Kind::Call && program.operation(i.line) == Operation::Division);
        let above = flow.dominator.get(&b).map_or(0.0, |d| blocks[*d]);
        blocks[b] = if zero { ZERO * above } else { 0.0 };
    }
    let mut runs = vec![1.0; code.len()];
    for b in &flow.order {
        for k in flow.blocks[*b].clone() {
            if let (false, Some(n)) = (code[k].always, copies.says(*b, &code[k])) {
                runs[k] = (n / blocks[*b].max(1.0)).clamp(0.0, 1.0);
            }
        }
    }
    let meet = meet(code, flow, program, &blocks);
    Executions { blocks, runs, meet }
}

/// Part of a block's executions in which some threads of a warp have been elsewhere since the block before it that all go through.
fn meet(code: &[Instruction], flow: &Flow, program: &Program, executed: &[f64]) -> Vec<f64> {
    let lanes = |b: usize| {
        let of = code[flow.blocks[b].clone()].iter().filter(|i| i.always);
        let known = of.filter_map(|i| program.source(i.line));
        let mut all: Vec<f64> = known.map(|s| program.sources[s].lanes).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    };
    let mut out = vec![0.0; flow.blocks.len()];
    for b in &flow.order {
        let Some(d) = flow.dominator.get(b).filter(|d| *d != b) else {
            continue;
        };
        let here = lanes(*d).unwrap_or(32.0);
        let parted = flow.next[*d].iter().filter(|s| *s != b).map(|s| {
            match lanes(*s).is_some_and(|l| l < 0.97 * here) {
                true => executed[*s] / executed[*d].max(1.0),
                false => 0.0,
            }
        });
        out[*b] = parted.fold(0.0, f64::max).min(1.0);
    }
    out
}

/// Blocks of slow paths.
fn slow(code: &[Instruction], flow: &Flow, program: &Program) -> BTreeSet<usize> {
    let of = |b: usize| &code[flow.blocks[b].clone()];
    let lines = |b: usize| of(b).iter().map(|i| i.line).collect::<BTreeSet<usize>>();
    let calls = |b: &&usize| of(**b).iter().any(|i| i.kind == Kind::Call);
    let mut out: BTreeSet<usize> = flow.order.iter().filter(calls).copied().collect();
    // What a function branches round: arguments that are rare.
    for b in &flow.order {
        let Some(d) = flow.dominator.get(b).filter(|d| *d != b) else {
            continue;
        };
        let [after] = flow.next[*b][..] else { continue };
        let round = flow.next[*d].len() == 2 && flow.next[*d].contains(&after);
        let entered = flow.order.iter().filter(|o| flow.next[**o].contains(b));
        let own = lines(*b);
        let branch = of(*d).last().map(|i| i.line);
        if round
            && entered.count() == 1
            && own.len() == 1
            && own
                .iter()
                .all(|l| Some(*l) == branch && program.operation(*l) == Operation::Call)
        {
            out.insert(*b);
        }
    }
    for (head, body) in &flow.loops {
        let all: BTreeSet<usize> = body.iter().flat_map(|b| lines(*b)).collect();
        let within = all.len() == 1 && all.iter().all(|l| program.operation(*l) == Operation::Call);
        let sources: Vec<usize> = all.iter().filter_map(|l| program.source(*l)).collect();
        let straight = !sources.is_empty() && !sources.iter().any(|s| program.sources[*s].cyclic);
        if !within && !straight {
            continue;
        }
        // From the branch that leads there.
        let mut first = *head;
        while let Some(d) = flow.dominator.get(&first).filter(|d| **d != first) {
            if flow.next[*d].len() > 1 {
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

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
    Call,
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
    /// Do threads of a warp run it differently often?
    pub uneven: bool,
}

/// The program beside its machine code.
pub(super) struct Program<'p> {
    /// Blocks, by line.
    pub sources: &'p [Source],
    /// By line, from 1 on.
    pub operations: &'p [Operation],
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

fn median(mut x: Vec<usize>) -> f64 {
    x.sort_unstable();
    x.get(x.len() / 2).map_or(1.0, |n| *n as f64)
}

/// Instructions of each line, by region: only those that there is one of in each copy.
type Found = BTreeMap<Region, BTreeMap<usize, usize>>;

fn parts(program: &Program, s: &Source, found: &Found) -> Vec<Part> {
    let mut all: Vec<Part> = Vec::new();
    for (region, lines) in found {
        let of = |what: Operation| -> Vec<usize> {
            let some = lines
                .iter()
                .filter(|(l, n)| **n > 0 && program.operation(**l) == what);
            some.map(|(_, n)| *n).collect()
        };
        let sure = [of(Operation::Arithmetic), of(Operation::Access)];
        if let Some(sure) = sure.into_iter().find(|s| !s.is_empty()) {
            all.push(Part {
                region: *region,
                found: sure.len(),
                copies: median(sure),
                executions: 0.0,
            });
        }
    }
    if all.is_empty() {
        let most = found.iter().max_by_key(|(_, lines)| lines.len());
        let Some((region, lines)) = most else {
            return all;
        };
        all.push(Part {
            region: *region,
            copies: 1.0,
            found: lines.len(),
            executions: 0.0,
        });
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

/// Executions of each block by warps, over a launch.
pub(super) fn executions(code: &[Instruction], flow: &Flow, program: &Program) -> Vec<f64> {
    let inner = flow.innermost();
    let region = |b: usize| inner.get(&b).copied();
    let mut found: BTreeMap<usize, Found> = BTreeMap::new();
    for b in &flow.order {
        for i in &code[flow.blocks[*b].clone()] {
            let Some(s) = program.source(i.line) else {
                continue;
            };
            let access = matches!(
                i.kind,
                Kind::Load | Kind::Store | Kind::SharedLoad | Kind::SharedStore | Kind::LocalMemory
            );
            let one = match program.operation(i.line) {
                Operation::Arithmetic => i.arithmetic,
                Operation::Access => access,
                _ => false,
            };
            let lines = found.entry(s).or_default().entry(region(*b)).or_default();
            *lines.entry(i.line).or_insert(0) += usize::from(one);
        }
    }
    let parts: BTreeMap<usize, Vec<Part>> = found
        .iter()
        .map(|(s, f)| (*s, parts(program, &program.sources[*s], f)))
        .collect();
    let mut out: Vec<Option<f64>> = vec![None; flow.blocks.len()];
    for b in &flow.order {
        let mut votes: Vec<(f64, f64)> = Vec::new();
        for i in &code[flow.blocks[*b].clone()] {
            let all = program.source(i.line).and_then(|s| parts.get(&s));
            let part = all.and_then(|a| a.iter().find(|p| p.region == region(*b)));
            let Some(p) = part else { continue };
            let sure = !matches!(
                program.operation(i.line),
                Operation::Call | Operation::Other
            );
            let weight = [1.0, 0.3][usize::from(!i.always)] * [1.0, 0.3][usize::from(!sure)];
            votes.push((p.executions / p.copies, weight));
        }
        votes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let half = 0.5 * votes.iter().map(|v| v.1).sum::<f64>();
        let mut sum = 0.0;
        out[*b] = votes.iter().find_map(|(v, weight)| {
            sum += weight;
            (sum >= half).then_some(*v)
        });
    }
    for b in &flow.order {
        if out[*b].is_none() {
            let above = flow.dominator.get(b).and_then(|d| out[*d]);
            out[*b] = Some(match (b, region(*b).and_then(|h| out[h])) {
                (0, _) => program.warps,
                (_, Some(head)) => head,
                _ => above.unwrap_or(0.0),
            });
        }
    }
    let mut out: Vec<f64> = out.into_iter().map(|n| n.unwrap_or(0.0)).collect();
    for b in slow(code, flow, program) {
        out[b] = 0.0;
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

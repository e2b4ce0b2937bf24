//! The data-flow tuner (Surineni 2017, section 7.4.2): from loads to stores, level by level.
//!
//! - Output prune: each output's variables are tuned alone, then the results are merged; what several
//!   outputs share keeps the highest precision that one of them needs.
//! - Top-down: variables are lowered in the order of their depth, eight depths an iteration; a failure
//!   restores what worked, and goes on with steps of 4, 2 and 1.
//! - Cut points: the blocks of the program advance together; when a step of one depth fails, they
//!   advance one block an iteration.
//! - What fails alone is skipped, and the tuner goes on behind it.
//! - The best programs are kept in a pool, by cost = error + time ratio. The fastest of them is the result:
//!   by cost alone, that would depend on the unit of the error.
use crate::history::{Evaluation, History};
use crate::outcome::Outcome;
use crate::problem::{Assignment, Problem, Search};
use crate::script::{Missing, Script, ScriptProbe, Scripted};
use crate::strategy::{Reason, Strategy, StrategyStep};
use std::collections::{BTreeMap, BTreeSet};

/// Depths an iteration at the start.
const STEP: usize = 8;

/// Programs that are kept.
const POOL: usize = 16;

struct Program;

/// The depths of one block, each with its variables.
type Block = Vec<Vec<usize>>;

/// An output's variables by block, and within a block by depth: its live-ins count as loads.
fn blocks(problem: &Problem, of: &[usize]) -> Vec<Block> {
    let mut found: BTreeMap<u32, BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for i in of {
        let v = &problem.variables[*i];
        let block = found.entry(v.block).or_default();
        block.entry(v.depth).or_default().push(*i);
    }
    let blocks = found.into_values();
    blocks.map(|b| b.into_values().collect()).collect()
}

/// One output's tuning to one level.
struct Tuning<'t> {
    problem: &'t Problem,
    probe: &'t ScriptProbe<'t>,
    level: u8,
    current: Assignment,
}

impl Tuning<'_> {
    /// Tries to lower these; keeps them if the error stays within the tolerance.
    fn lower(&mut self, which: &[usize]) -> Result<bool, Missing> {
        let mut next = self.current.clone();
        for i in which {
            let v = &self.problem.variables[*i];
            if next[*i] + 1 == self.level && v.allows(self.level) {
                next[*i] = self.level;
            }
        }
        if next == self.current {
            return Ok(true);
        }
        let passes = self.problem.accepts(&self.probe.one(&next)?);
        if passes {
            self.current = next;
        }
        Ok(passes)
    }

    /// All blocks together while that works, then one after the other.
    fn tune(&mut self, blocks: &[Block]) -> Result<(), Missing> {
        let deepest = blocks.iter().map(Vec::len).max().unwrap_or(0);
        let mut at = 0;
        let mut step = STEP;
        while at < deepest {
            let some = blocks.iter().flat_map(|b| b.iter().skip(at).take(step));
            let which: Vec<usize> = some.flatten().copied().collect();
            if self.lower(&which)? {
                at += step;
            } else if step > 1 {
                step /= 2;
            } else {
                break;
            }
        }
        for block in blocks {
            self.tune_block(block, at)?;
        }
        Ok(())
    }

    fn tune_block(&mut self, block: &Block, from: usize) -> Result<(), Missing> {
        let mut at = from;
        let mut step = STEP;
        while at < block.len() {
            let some = block.iter().skip(at).take(step);
            let which: Vec<usize> = some.flatten().copied().collect();
            if self.lower(&which)? {
                at += step;
            } else if step > 1 {
                step /= 2;
            } else {
                // The depth as a whole does too much; what fails alone is skipped.
                if which.len() > 1 {
                    for i in which {
                        self.lower(&[i])?;
                    }
                }
                at += 1;
            }
        }
        Ok(())
    }
}

impl Script for Program {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        let problem = search.problem;
        let identity = problem.identity();
        probe.one(&identity)?;
        let mut outputs: BTreeSet<u32> = problem
            .variables
            .iter()
            .flat_map(|v| v.outputs.iter().copied())
            .collect();
        if outputs.is_empty() {
            outputs.insert(0);
        }
        let mut merged: Option<Assignment> = None;
        for output in outputs {
            let feeds = |i: &usize| {
                let of = &problem.variables[*i].outputs;
                of.is_empty() || of.contains(&output)
            };
            let slice: Vec<usize> = (0..identity.len()).filter(feeds).collect();
            let mut current = identity.clone();
            for level in 1..problem.depth_of_levels() as u8 {
                let mut t = Tuning {
                    problem,
                    probe,
                    level,
                    current,
                };
                t.tune(&blocks(problem, &slice))?;
                current = t.current;
            }
            merged = Some(match merged {
                None => current,
                Some(m) => merge(problem, &m, &current, output),
            });
        }
        let Some(mut current) = merged else {
            return Ok(Reason::LocalOptimum);
        };
        if !problem.accepts(&probe.one(&current)?) {
            // Outputs that were within the tolerance each alone are not together. The publication does not
            // say what then; here everything is tuned once more as one.
            current = identity;
            for level in 1..problem.depth_of_levels() as u8 {
                let all: Vec<usize> = (0..current.len()).collect();
                let mut t = Tuning {
                    problem,
                    probe,
                    level,
                    current,
                };
                t.tune(&blocks(problem, &all))?;
                current = t.current;
            }
        }
        Ok(Reason::LocalOptimum)
    }
}

/// What was tuned so far with one more output: what only that one uses is as it was tuned for it, what is
/// shared takes the higher precision.
fn merge(problem: &Problem, so_far: &[u8], new: &[u8], output: u32) -> Assignment {
    let levels = so_far.iter().zip(new).zip(&problem.variables);
    levels
        .map(|((m, n), v)| {
            let uses = v.outputs.is_empty() || v.outputs.contains(&output);
            let earlier = v.outputs.is_empty() || v.outputs.iter().any(|o| *o < output);
            match (uses, earlier) {
                (true, true) => *m.min(n),
                (true, false) => *n,
                (false, _) => *m,
            }
        })
        .collect()
}

struct Dataflow<'p> {
    search: Search<'p>,
    inner: Scripted<'p, Program>,
    /// The cheapest programs, the best first.
    pool: Vec<(f64, Evaluation)>,
}

impl Strategy for Dataflow<'_> {
    fn ask(&mut self) -> StrategyStep {
        self.inner.ask()
    }
    fn tell(&mut self, a: &[u8], o: &Outcome) {
        self.inner.tell(a, o);
        let (Some(error), Some(time)) = (o.error(), o.time()) else {
            return;
        };
        if self.search.problem.accepts(o) && self.pool.iter().all(|(_, e)| e.assignment != a) {
            let evaluation = Evaluation {
                assignment: a.to_vec(),
                outcome: *o,
            };
            self.pool.push((error + time, evaluation));
            self.pool.sort_by(|x, y| x.0.total_cmp(&y.0));
            self.pool.truncate(POOL);
        }
    }
    fn history(&self) -> &History {
        self.inner.history()
    }
    fn best(&self) -> Option<&Evaluation> {
        let time = |e: &Evaluation| e.outcome.time().unwrap_or(f64::INFINITY);
        let kept = self.pool.iter().map(|(_, e)| e);
        kept.min_by(|x, y| time(x).total_cmp(&time(y)))
    }
}

/// The data-flow tuner.
pub fn dataflow(search: Search<'_>) -> impl Strategy + '_ {
    Dataflow {
        search,
        inner: Scripted::new(search, Program),
        pool: Vec::new(),
    }
}

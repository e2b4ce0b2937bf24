//! Elements a thread, after the strategy: they change no bits, and what they gain depends on the formats, so that the fastest plan
//! decides about them, kernel by kernel.
use super::{Meanwhile, Tuner};
use crate::launch::choice::LaunchVariable;
use crate::store::{Phase, StoreError};
use kerf_search::{Assignment, Problem};

/// Evaluations at most.
const MOST: usize = 48;

/// Rounds over all kernels and shapes.
const ROUNDS: usize = 2;

/// How many times more threads larger blocks may have.
const LARGER: u32 = 4;

/// A gain below this part of the time does not ask for another round.
const LEAST: f64 = 5e-3;

impl Tuner<'_> {
    /// The problem as strategies see it: every thread with one element.
    pub(crate) fn without_layouts(&self, problem: &Problem) -> Problem {
        let mut p = problem.clone();
        for c in &self.tunable.coarse {
            let levels = p.variables[c.group].levels.iter_mut();
            levels.skip(1).for_each(|l| l.veto = true);
        }
        p
    }

    /// Tries other numbers of elements for each kernel of the fastest plan, and with them other shapes. Gives how many
    /// evaluations that took.
    pub(crate) fn settle_layouts(&mut self, problem: &Problem) -> Result<usize, StoreError> {
        let coarse: Vec<usize> = self.tunable.coarse.iter().map(|c| c.group).collect();
        let mut shapes = self.tunable.shapes();
        shapes.retain(|g| !coarse.contains(g));
        let mut done = 0;
        for _ in 0..ROUNDS {
            let before = self.fastest_known();
            for g in &coarse {
                self.settle_kernel(problem, *g, &mut done)?;
            }
            // A shape that was chosen for threads with one element each is as good as it was.
            if self.fastest_known().0 == before.0 {
                break;
            }
            for g in &shapes {
                let all = siblings(problem, &self.fastest_known().0, *g);
                self.try_layouts(&all, &mut done)?;
            }
            if done >= MOST || self.fastest_known().1 > before.1 * (1.0 - LEAST) {
                break;
            }
        }
        Ok(done)
    }

    /// Tries pairs of elements in one kernel, also in larger blocks: half the threads may be too few. Where pairs gain, all
    /// other numbers.
    fn settle_kernel(
        &mut self,
        problem: &Problem,
        group: usize,
        done: &mut usize,
    ) -> Result<(), StoreError> {
        let before = self.fastest_known().0;
        if before[group] == 0 {
            let mut pairs = before.clone();
            pairs[group] = 1;
            self.try_layouts(std::slice::from_ref(&pairs), done)?;
            if self.fastest_known().0 == before {
                let larger = self.in_larger_blocks(&pairs, group);
                self.try_layouts(&larger, done)?;
            }
        }
        let now = self.fastest_known().0;
        if now[group] == 0 {
            return Ok(());
        }
        self.try_layouts(&siblings(problem, &now, group), done)
    }

    /// An assignment with blocks of more threads for the kernel of a group.
    fn in_larger_blocks(&self, a: &Assignment, group: usize) -> Vec<Assignment> {
        let chosen = self.tunable.coarse.iter().find(|c| c.group == group);
        let (Some(chosen), Some(launch)) = (chosen, &self.tunable.launch) else {
            return Vec::new();
        };
        let mine = |v: &&LaunchVariable| v.component.kernels.contains(&chosen.kernel);
        let mut all = Vec::new();
        for v in launch.variables.iter().filter(mine) {
            for l in v.larger(launch, usize::from(a[v.group]), LARGER) {
                let mut larger = a.clone();
                larger[v.group] = l as u8;
                all.push(larger);
            }
        }
        all
    }

    /// The fastest plan within the tolerance, or the program itself, with its time.
    fn fastest_known(&self) -> (Assignment, f64) {
        let own = (vec![0; self.tunable.groups.len()], 1.0);
        self.best().map_or(own, |p| (p.assignment, p.time))
    }

    /// Evaluates what is not known, as far as there may be more.
    fn try_layouts(&mut self, all: &[Assignment], done: &mut usize) -> Result<(), StoreError> {
        let new = |t: &Self, a: &Assignment| !t.known.contains_key(a);
        let mut asked: Vec<Assignment> = all.iter().filter(|a| new(self, a)).cloned().collect();
        asked.truncate(MOST - *done);
        for a in &asked {
            if let Some(e) = self.store.get(Phase::Layout, a, &self.input)? {
                self.known.insert(a.clone(), e);
            }
        }
        let left: Vec<Assignment> = asked.iter().filter(|a| new(self, a)).cloned().collect();
        self.evaluate(Phase::Layout, &left, (*done, MOST), Meanwhile::default())?;
        *done += asked.len();
        Ok(())
    }
}

/// An assignment with each other level of a variable that is not forbidden.
fn siblings(problem: &Problem, of: &[u8], variable: usize) -> Vec<Assignment> {
    let levels = problem.variables[variable].levels.iter().enumerate();
    levels
        .filter(|(l, level)| *l != usize::from(of[variable]) && (*l == 0 || !level.veto))
        .map(|(l, _)| {
            let mut a = of.to_vec();
            a[variable] = l as u8;
            a
        })
        .collect()
}

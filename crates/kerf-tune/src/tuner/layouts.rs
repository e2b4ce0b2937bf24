//! Elements a thread and the layout of code, after the strategy: they change no bits, and what they gain depends on the formats, so that the fastest plan
//! decides about them, kernel by kernel. On a GPU they are measured; elsewhere the one that machine code predicts to be the fastest is tried.
use super::{Meanwhile, Tuner};
use crate::launch::choice::LaunchVariable;
use crate::store::{Phase, StoreError};
use kerf_pass::coarsen::FACTORS;
use kerf_run::job::Device;
use kerf_search::{Assignment, Problem};

/// Evaluations at most.
const MOST: usize = 64;

/// Levels of formats that plans with one of them everywhere have: f32, and what is narrower.
const UNIFORM_LEVELS: usize = 2;

/// Plans with other formats that get the layout of the fastest.
const OTHER_FORMATS: usize = 4;

/// Rounds over all kernels and shapes.
const ROUNDS: usize = 2;

/// How many times more threads larger blocks may have.
const LARGER: u32 = 4;

/// A predicted gain below this part of the time is none: predictions of layouts err by more.
const LEAST_PREDICTED: f64 = 0.05;

/// A gain below this part of the time does not ask for another round.
const LEAST: f64 = 5e-3;

impl Tuner<'_> {
    /// The problem as strategies see it: every thread with one element, code as the compilers lay it out.
    pub(crate) fn without_layouts(&self, problem: &Problem) -> Problem {
        let mut p = problem.clone();
        for g in self.tunable.layouts() {
            let levels = p.variables[g].levels.iter_mut();
            levels.skip(1).for_each(|l| l.veto = true);
        }
        p
    }

    /// Tries other numbers of elements for each kernel of the fastest plan, and with them other shapes; then the code of each
    /// kernel. Gives how many evaluations that took.
    pub(crate) fn settle_layouts(&mut self, problem: &Problem) -> Result<usize, StoreError> {
        let mut done = 0;
        for start in self.starts(problem) {
            self.try_elements_of_all(problem, &start, &mut done)?;
        }
        self.settle_elements(problem, &mut done)?;
        self.try_other_formats(problem, &mut done)?;
        let code: Vec<usize> = self.tunable.code.iter().map(|c| c.group).collect();
        for g in code {
            let all = siblings(problem, &self.fastest_known().0, g);
            self.try_layouts(&all, &mut done)?;
        }
        Ok(done)
    }

    /// Where to begin: what a kernel gains by more elements depends on its formats, so beside the fastest plan those that have
    /// one level of formats everywhere.
    fn starts(&self, problem: &Problem) -> Vec<Assignment> {
        let fastest = self.fastest_known().0;
        let shapes = self.tunable.shapes();
        let mut all = vec![fastest.clone()];
        for level in 1..=UNIFORM_LEVELS {
            let mut a = fastest.clone();
            for (g, v) in problem.variables.iter().enumerate() {
                if !shapes.contains(&g) {
                    let last = v.levels.len() - 1;
                    let allowed = |l: &usize| *l == 0 || !v.levels[*l].veto;
                    let lowest = (0..=last.min(level)).rev().find(allowed);
                    a[g] = lowest.unwrap_or(0) as u8;
                }
            }
            if !all.contains(&a) {
                all.push(a);
            }
        }
        all
    }

    /// Tries more and more elements in all kernels of a plan at once, as long as they gain.
    fn try_elements_of_all(
        &mut self,
        problem: &Problem,
        start: &Assignment,
        done: &mut usize,
    ) -> Result<(), StoreError> {
        let coarse: Vec<usize> = self.tunable.coarse.iter().map(|c| c.group).collect();
        let mut before = f64::INFINITY;
        for level in 1..=FACTORS.len() {
            let mut a = start.clone();
            for g in &coarse {
                a[*g] = level.min(problem.variables[*g].levels.len() - 1) as u8;
            }
            self.try_layouts(std::slice::from_ref(&a), done)?;
            let outcome = self.known.get(&a).map(|e| self.outcome(&a, e));
            let accepted = outcome.filter(|o| problem.accepts(o));
            match accepted.and_then(|o| o.time()) {
                Some(time) if time < before => before = time,
                _ => break,
            }
        }
        Ok(())
    }

    /// Tries the layout of the fastest plan with the formats of other plans within the tolerance.
    fn try_other_formats(&mut self, problem: &Problem, done: &mut usize) -> Result<(), StoreError> {
        let (best, _) = self.fastest_known();
        let shapes = self.tunable.shapes();
        if self.tunable.coarse.iter().all(|c| best[c.group] == 0) {
            return Ok(());
        }
        let accepted = self.known.iter().filter_map(|(a, e)| {
            let o = self.outcome(a, e);
            Some((o.time().filter(|_| problem.accepts(&o))?, a))
        });
        let mut accepted: Vec<(f64, &Assignment)> = accepted.collect();
        accepted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut all: Vec<Assignment> = Vec::new();
        for (_, a) in accepted {
            let mut laid_out = a.clone();
            shapes.iter().for_each(|g| laid_out[*g] = best[*g]);
            if laid_out != best && !all.contains(&laid_out) && all.len() < OTHER_FORMATS {
                all.push(laid_out);
            }
        }
        self.try_layouts(&all, done)
    }

    /// Tries other numbers of elements for each kernel of the fastest plan, and with them other shapes.
    fn settle_elements(&mut self, problem: &Problem, done: &mut usize) -> Result<(), StoreError> {
        let coarse: Vec<usize> = self.tunable.coarse.iter().map(|c| c.group).collect();
        let mut shapes = self.tunable.shapes();
        let layouts: Vec<usize> = self.tunable.layouts().collect();
        shapes.retain(|g| !layouts.contains(g));
        for _ in 0..ROUNDS {
            let before = self.fastest_known();
            for g in &coarse {
                self.settle_kernel(problem, *g, done)?;
            }
            // A shape that was chosen for threads with one element each is as good as it was.
            if self.fastest_known().0 == before.0 {
                break;
            }
            for g in &shapes {
                let all = siblings(problem, &self.fastest_known().0, *g);
                self.try_layouts(&all, done)?;
            }
            if *done >= MOST || self.fastest_known().1 > before.1 * (1.0 - LEAST) {
                break;
            }
        }
        Ok(())
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

    /// Of assignments that differ in time alone, the one that is predicted to be the fastest, if it is faster than what is known:
    /// without a GPU nothing is learned by running the others.
    fn predicted_fastest(&self, all: Vec<Assignment>) -> Vec<Assignment> {
        self.judge.prepare(&all);
        let known = self.fastest_known().1;
        let timed = all
            .into_iter()
            .filter_map(|a| Some((self.judge.predict(&a)?, a)));
        let faster = timed.filter(|(t, _)| *t < known * (1.0 - LEAST_PREDICTED));
        let best = faster.min_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(_, a)| a).into_iter().collect()
    }

    /// Evaluates what is not known, as far as there may be more.
    fn try_layouts(&mut self, all: &[Assignment], done: &mut usize) -> Result<(), StoreError> {
        let new = |t: &Self, a: &Assignment| !t.known.contains_key(a);
        let mut asked: Vec<Assignment> = all.iter().filter(|a| new(self, a)).cloned().collect();
        if self.evaluator.job.device == Device::Cpu {
            asked = self.predicted_fastest(asked);
        }
        asked.truncate(MOST.saturating_sub(*done));
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

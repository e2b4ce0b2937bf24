//! Elements a thread, the layouts of records and of code, after the strategy: they change no bits, and what they gain depends on the formats, so that the fastest plan
//! decides about them, kernel by kernel. Where times are measured all of them are; elsewhere the one that machine code predicts to be the fastest is tried.
use crate::launch::choice::LaunchVariable;
use crate::prediction::TimePredictor;
use crate::tunable::Tunable;
use kerf_pass::coarsen::FACTORS;
use kerf_search::{Assignment, Outcome, Problem};

/// Evaluations at most.
pub(crate) const MOST: usize = 64;

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

/// A gain below this part of the time is none: it does not ask for another round, and what was prepared for the plans around
/// the fastest one stays good.
pub(crate) const LEAST: f64 = 5e-3;

/// What evaluates plans for a search of layouts: of a workload, or of an application.
pub(crate) trait LayoutTrials {
    /// Why an evaluation cannot be made, or kept.
    type Error;

    /// What can be chosen.
    fn tunable(&self) -> &Tunable;

    /// The fastest plan within the tolerance, or the program itself, with its time.
    fn fastest(&self) -> (Assignment, f64);

    /// What is known of a plan.
    fn known_outcome(&self, a: &Assignment) -> Option<Outcome>;

    /// All plans of which something is known.
    fn known_plans(&self) -> Vec<Assignment>;

    /// Whether a kernel takes so little of the time that no layout of it matters.
    fn is_minor(&self, kernel: &str) -> bool;

    /// What predicts times, where none are measured.
    fn predictor(&self) -> Option<&dyn TimePredictor>;

    /// Evaluates plans of which nothing is known, after so many others. Other plans are likely to follow, and can be made ready.
    fn run(
        &mut self,
        all: &[Assignment],
        done: usize,
        likely: &[Assignment],
    ) -> Result<(), Self::Error>;
}

/// The problem as strategies see it: every thread with one element, code as the compilers lay it out.
pub(crate) fn without_layouts(tunable: &Tunable, problem: &Problem) -> Problem {
    let mut p = problem.clone();
    for g in tunable.layouts() {
        let levels = p.variables[g].levels.iter_mut();
        levels.skip(1).for_each(|l| l.veto = true);
    }
    p
}

/// A search of layouts.
pub(crate) struct LayoutSearch<'l, T> {
    trials: &'l mut T,
    problem: &'l Problem,
    /// Evaluations so far.
    done: usize,
    /// The plan that others are tried around, with its time: the fastest, or one that is hardly slower.
    center: (Assignment, f64),
}

impl<'l, T: LayoutTrials> LayoutSearch<'l, T> {
    /// Of a problem.
    pub fn new(trials: &'l mut T, problem: &'l Problem) -> LayoutSearch<'l, T> {
        let center = trials.fastest();
        LayoutSearch {
            trials,
            problem,
            done: 0,
            center,
        }
    }

    /// Tries other numbers of elements for each kernel of the fastest plan, and with them other shapes; then how records are stored, the blocks that host
    /// code asks for, and the code of each kernel. Gives how many evaluations that took.
    pub fn settle(mut self) -> Result<usize, T::Error> {
        let strategy_plan = self.center.0.clone();
        let starts = self.starts();
        let mut likely: Vec<Assignment> =
            starts.iter().flat_map(|s| self.with_elements(s)).collect();
        for start in starts {
            self.try_elements_of_all(&start, &mut likely)?;
        }
        self.settle_elements(&strategy_plan)?;
        self.try_other_formats()?;
        let tunable = self.trials.tunable();
        let major = |kernel: &str| !self.trials.is_minor(kernel);
        let records = tunable.records.iter().map(|c| c.group);
        let blocks = tunable.blocks.iter().filter(|c| major(&c.kernel));
        let code = tunable.code.iter().filter(|c| major(&c.kernel));
        let of_kernels = blocks.map(|c| c.group).chain(code.map(|c| c.group));
        let others: Vec<usize> = records.chain(of_kernels).collect();
        for (at, g) in others.iter().enumerate() {
            let siblings = |g: &usize| siblings(self.problem, &self.center.0, *g);
            let likely: Vec<Assignment> = others[at + 1..].iter().flat_map(siblings).collect();
            self.try_layouts(&siblings(g), &likely)?;
        }
        Ok(self.done)
    }

    /// Groups that say how many elements a thread computes.
    fn coarse(&self) -> Vec<usize> {
        let coarse = self.trials.tunable().coarse.iter();
        // What must not change is not tried.
        let free = |g: &usize| {
            self.problem.variables[*g]
                .levels
                .iter()
                .skip(1)
                .any(|l| !l.veto)
        };
        let major = coarse.filter(|c| !self.trials.is_minor(&c.kernel));
        major.map(|c| c.group).filter(free).collect()
    }

    /// Where to begin: what a kernel gains by more elements depends on its formats, so beside the fastest plan those that have
    /// one level of formats everywhere.
    fn starts(&self) -> Vec<Assignment> {
        let fastest = self.center.0.clone();
        let shapes = self.trials.tunable().shapes();
        let mut all = vec![fastest.clone()];
        for level in 1..=UNIFORM_LEVELS {
            let mut a = fastest.clone();
            for (g, v) in self.problem.variables.iter().enumerate() {
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

    /// A plan with more and more elements in all kernels at once.
    fn with_elements(&self, start: &Assignment) -> Vec<Assignment> {
        let coarse = self.coarse();
        let level = |level: usize| {
            let mut a = start.clone();
            for g in &coarse {
                a[*g] = level.min(self.problem.variables[*g].levels.len() - 1) as u8;
            }
            a
        };
        (1..=FACTORS.len()).map(level).collect()
    }

    /// Tries more and more elements in all kernels of a plan at once, as long as they gain. `likely` are these and those of other
    /// plans, which follow.
    fn try_elements_of_all(
        &mut self,
        start: &Assignment,
        likely: &mut Vec<Assignment>,
    ) -> Result<(), T::Error> {
        let all = self.with_elements(start);
        let mut before = f64::INFINITY;
        for a in &all {
            likely.retain(|l| l != a);
            self.try_layouts(std::slice::from_ref(a), likely)?;
            let outcome = self.trials.known_outcome(a);
            let accepted = outcome.filter(|o| self.problem.accepts(o));
            match accepted.and_then(|o| o.time()) {
                Some(time) if time < before => before = time,
                _ => break,
            }
        }
        likely.retain(|l| !all.contains(l));
        Ok(())
    }

    /// Tries the layout of the fastest plan with the formats of other plans within the tolerance.
    fn try_other_formats(&mut self) -> Result<(), T::Error> {
        let best = self.center.0.clone();
        let shapes = self.trials.tunable().shapes();
        if self.coarse().iter().all(|g| best[*g] == 0) {
            return Ok(());
        }
        let accepted = self.trials.known_plans().into_iter().filter_map(|a| {
            let o = self.trials.known_outcome(&a)?;
            Some((o.time().filter(|_| self.problem.accepts(&o))?, a))
        });
        let mut accepted: Vec<(f64, Assignment)> = accepted.collect();
        accepted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut all: Vec<Assignment> = Vec::new();
        for (_, mut laid_out) in accepted {
            shapes.iter().for_each(|g| laid_out[*g] = best[*g]);
            if laid_out != best && !all.contains(&laid_out) && all.len() < OTHER_FORMATS {
                all.push(laid_out);
            }
        }
        self.try_layouts(&all, &[])
    }

    /// Tries other numbers of elements for each kernel of the fastest plan, and with them other shapes.
    /// `chosen_for` is the plan that shapes were chosen for.
    fn settle_elements(&mut self, chosen_for: &Assignment) -> Result<(), T::Error> {
        let coarse = self.coarse();
        let elements = |a: &Assignment| coarse.iter().map(|g| a[*g]).collect::<Vec<u8>>();
        let mut shaped = elements(chosen_for);
        let mut shapes = self.trials.tunable().shapes();
        let layouts: Vec<usize> = self.trials.tunable().layouts().collect();
        shapes.retain(|g| !layouts.contains(g) && !self.shapes_minor_kernels(*g));
        for _ in 0..ROUNDS {
            let before = self.center.1;
            for g in &coarse {
                self.settle_kernel(*g)?;
            }
            // Shapes that were chosen for these elements are as good as they were.
            let now = elements(&self.center.0);
            if std::mem::replace(&mut shaped, now.clone()) == now {
                break;
            }
            for (at, g) in shapes.iter().enumerate() {
                let siblings = |g: &usize| siblings(self.problem, &self.center.0, *g);
                let likely: Vec<Assignment> = shapes[at + 1..].iter().flat_map(siblings).collect();
                self.try_layouts(&siblings(g), &likely)?;
            }
            if self.done >= MOST || self.center.1 > before * (1.0 - LEAST) {
                break;
            }
        }
        Ok(())
    }

    /// Tries pairs of elements in one kernel, also in larger blocks: half the threads may be too few. Where pairs gain, all
    /// other numbers.
    fn settle_kernel(&mut self, group: usize) -> Result<(), T::Error> {
        let before = self.center.0.clone();
        if before[group] == 0 {
            let mut pairs = before.clone();
            pairs[group] = 1;
            let larger = self.in_larger_blocks(&pairs, group);
            let mut likely = siblings(self.problem, &pairs, group);
            likely.extend(larger.iter().cloned());
            self.try_layouts(std::slice::from_ref(&pairs), &likely)?;
            if self.center.0 == before {
                self.try_layouts(&larger, &[])?;
            }
        }
        let now = self.center.0.clone();
        if now[group] == 0 {
            return Ok(());
        }
        self.try_layouts(&siblings(self.problem, &now, group), &[])
    }

    /// An assignment with blocks of more threads for the kernel of a group.
    fn in_larger_blocks(&self, a: &Assignment, group: usize) -> Vec<Assignment> {
        let tunable = self.trials.tunable();
        let chosen = tunable.coarse.iter().find(|c| c.group == group);
        let (Some(chosen), Some(launch)) = (chosen, &tunable.launch) else {
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

    /// Of assignments that differ in time alone, the one that is predicted to be the fastest, if it is faster than what is known:
    /// where nothing is measured, nothing is learned by running the others.
    fn predicted_fastest(&self, all: Vec<Assignment>, by: &dyn TimePredictor) -> Vec<Assignment> {
        by.prepare(&all);
        let known = self.center.1;
        let timed = all.into_iter().filter_map(|a| Some((by.predict(&a)?, a)));
        let faster = timed.filter(|(t, _)| *t < known * (1.0 - LEAST_PREDICTED));
        let best = faster.min_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(_, a)| a).into_iter().collect()
    }

    /// Evaluates what is not known, as far as there may be more; others are likely to follow.
    fn try_layouts(&mut self, all: &[Assignment], likely: &[Assignment]) -> Result<(), T::Error> {
        let is_new = |a: &&Assignment| self.trials.known_outcome(a).is_none();
        let mut asked: Vec<Assignment> = all.iter().filter(is_new).cloned().collect();
        let likely: Vec<Assignment> = likely.iter().filter(is_new).cloned().collect();
        if let Some(by) = self.trials.predictor() {
            asked = self.predicted_fastest(asked, by);
        }
        asked.truncate(MOST.saturating_sub(self.done));
        if asked.is_empty() {
            return Ok(());
        }
        self.trials.run(&asked, self.done, &likely)?;
        self.done += asked.len();
        let fastest = self.trials.fastest();
        if fastest.1 < self.center.1 * (1.0 - LEAST) {
            self.center = fastest;
        }
        Ok(())
    }

    /// Whether a group is of launches of kernels that take hardly any time.
    fn shapes_minor_kernels(&self, group: usize) -> bool {
        let launch = self.trials.tunable().launch.iter();
        let mut mine = launch.flat_map(|l| &l.variables);
        let mine = mine.find(|v| v.group == group);
        mine.is_some_and(|v| v.component.kernels.iter().all(|k| self.trials.is_minor(k)))
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

#[cfg(test)]
mod tests;

//! Call by call against the whole kernel: which calls are approximate is chosen so that the worst element is
//! no worse than under whole-kernel fast-math, and timed beside it.
//!
//! Whole-kernel fast-math is what nvcc's `-use_fast_math` means: the calls that it names by the
//! special-function unit, and every f32 operation flushes subnormal numbers. Errors are against the program
//! with every operation in double words, its buffers in their own formats; where it cannot be had, against
//! the program as it is.
use super::super::JobError;
use super::super::report::Times;
use super::bench::{Bench, Built, Loaded, Outputs};
use super::deviation::{Deviation, deviation};
use kerf_ir::finish::Reflect;
use kerf_pass::{MathVariant, Plan};
use serde::{Deserialize, Serialize};

/// Calls of one kernel that are computed another way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// For people: `div line 12: accurate`.
    pub what: String,
    /// Kernel, as plans name it.
    pub kernel: String,
    /// Its sites.
    pub sites: Vec<usize>,
    /// What they become.
    pub variant: MathVariant,
}

impl Change {
    fn overlaps(&self, o: &Change) -> bool {
        self.kernel == o.kernel && self.sites.iter().any(|s| o.sites.contains(s))
    }
}

/// A plan, and changes to it that are tried one by one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Start {
    /// For people: `every call at its cheapest`.
    pub what: String,
    /// The plan.
    pub plan: Plan,
    /// Changes to it.
    pub changes: Vec<Change>,
}

/// What is to be compared.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Choice {
    /// The calls that whole-kernel fast-math changes.
    pub fast: Plan,
    /// Every operation in double words; none: the program as it is is the reference.
    pub exact: Option<Plan>,
    /// Where the search starts from.
    pub starts: Vec<Start>,
}

/// A version's time in turn with the others, and its error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Timed {
    /// Times.
    pub times: Times,
    /// Error against the reference.
    pub error: Deviation,
}

/// What came of the comparison.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Chosen {
    /// The reference is in double words; false: it is the program as it is.
    pub exact: bool,
    /// The program as it is.
    pub own: Timed,
    /// Whole-kernel fast-math.
    pub fast: Timed,
    /// Call by call.
    pub chosen: Timed,
    /// What was chosen, for people.
    pub what: String,
    /// Versions that were tried.
    pub tried: usize,
}

/// The worst element may be worse by this much before it counts: the last bits of one element are noise.
const SAME: f64 = 1.05;

/// A change has to be faster by this part of the time to be taken.
const GAIN: f64 = 0.003;

/// Samples of each of the versions in turn.
const ROUNDS: u32 = 11;

/// Samples of a version that is tried.
const TRIES: u32 = 5;

/// Versions that are ready.
pub(super) struct Ready {
    fast: Built,
    exact: Option<Built>,
    /// By start and change; the start itself has none.
    tries: Vec<(usize, Option<usize>, Built)>,
}

fn changed(start: &Plan, changes: &[&Change]) -> Plan {
    let mut plan = start.clone();
    for c in changes {
        let k = plan.kernels.entry(c.kernel.clone()).or_default();
        for s in &c.sites {
            match c.variant {
                MathVariant::Accurate => k.math.remove(s),
                v => k.math.insert(*s, v),
            };
        }
    }
    plan
}

/// A plan that is accurate enough.
struct Fitting {
    start: usize,
    changes: Vec<usize>,
    seconds: f64,
}

impl Fitting {
    fn plan(&self, c: &Choice) -> (Plan, String) {
        let start = &c.starts[self.start];
        let list: Vec<&Change> = self.changes.iter().map(|i| &start.changes[*i]).collect();
        let mut what = vec![start.what.clone()];
        what.extend(list.iter().map(|c| c.what.clone()));
        (changed(&start.plan, &list), what.join("; "))
    }
}

fn median(t: &Option<Times>) -> f64 {
    t.as_ref().map_or(f64::INFINITY, |t| t.median_s)
}

/// The changes that make a start faster, the best first and each call once.
fn together(start: &Start, base: f64, singles: &[(usize, f64)]) -> Vec<usize> {
    let mut faster: Vec<(usize, f64)> = singles.to_vec();
    faster.retain(|(_, seconds)| *seconds < base * (1.0 - GAIN));
    faster.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut taken: Vec<usize> = Vec::new();
    for (i, _) in faster {
        let change = &start.changes[i];
        if !taken.iter().any(|j| change.overlaps(&start.changes[*j])) {
            taken.push(i);
        }
    }
    taken
}

impl Bench<'_> {
    /// Builds what the comparison needs, before anything is timed. A change that cannot be built is not one.
    pub(super) fn ready(&mut self, c: &Choice) -> Result<Ready, JobError> {
        let flush = Reflect {
            ftz: true,
            ..Reflect::default()
        };
        let fast = self.build_as(&c.fast, flush)?;
        let exact = c.exact.as_ref().and_then(|p| self.build(p).ok());
        let mut tries = Vec::new();
        for (s, start) in c.starts.iter().enumerate() {
            let singles = start.changes.iter().enumerate();
            let singles = singles.map(|(i, change)| (Some(i), changed(&start.plan, &[change])));
            for (i, plan) in std::iter::once((None, start.plan.clone())).chain(singles) {
                if let Ok(b) = self.build(&plan) {
                    tries.push((s, i, b));
                }
            }
        }
        Ok(Ready { fast, exact, tries })
    }

    /// Chooses and compares. `own` is the program as it is, with its outputs.
    pub(super) fn choose(
        &mut self,
        c: &Choice,
        ready: Ready,
        own: &mut Loaded,
        own_outputs: &Outputs,
    ) -> Result<Option<Chosen>, JobError> {
        let w = self.base.workload;
        // Double words may need more registers than a block can have, and give up where a word goes on (sines
        // of huge arguments): then they are no reference, and the result says so.
        let run = |b| self.run(&mut self.load(b)?, 0.0);
        let exact = ready.exact.and_then(|b| run(b).ok());
        let exact = exact.filter(|e| deviation(w, e, own_outputs).not_finite == 0);
        let reference = exact.as_ref().unwrap_or(own_outputs);
        let mut fast = self.load(ready.fast)?;
        let bound = deviation(w, reference, &self.run(&mut fast, 1.0)?);
        let fits = |outputs: &Outputs| {
            let d = deviation(w, reference, outputs);
            d.max_rel <= SAME * bound.max_rel
                && d.not_finite <= bound.not_finite
                && d.integers <= bound.integers
        };
        let mut fitting: Vec<Fitting> = Vec::new();
        let mut base = vec![f64::INFINITY; c.starts.len()];
        let mut tried = 1;
        for (start, change, built) in ready.tries {
            let (times, outputs) = self.measure(&mut self.load(built)?, 1.0, TRIES)?;
            tried += 1;
            let seconds = median(&times);
            if change.is_none() {
                base[start] = seconds;
            }
            if fits(&outputs) {
                fitting.push(Fitting {
                    start,
                    changes: change.into_iter().collect(),
                    seconds,
                });
            }
        }
        for (s, start) in c.starts.iter().enumerate() {
            let mine = fitting.iter().filter(|f| f.start == s);
            let singles: Vec<(usize, f64)> = mine
                .filter_map(|f| Some((*f.changes.first()?, f.seconds)))
                .collect();
            let mut changes = together(start, base[s], &singles);
            // Errors add up: the change that gains least goes first.
            while changes.len() > 1 {
                let mut f = Fitting {
                    start: s,
                    changes: changes.clone(),
                    seconds: f64::INFINITY,
                };
                let built = self.build(&f.plan(c).0)?;
                let (times, outputs) = self.measure(&mut self.load(built)?, 1.0, TRIES)?;
                tried += 1;
                if fits(&outputs) {
                    f.seconds = median(&times);
                    fitting.push(f);
                    break;
                }
                changes.pop();
            }
        }
        // Of two that are as fast, the one with fewer changes.
        let rank = |f: &Fitting| f.seconds * (1.0 + GAIN * f.changes.len() as f64);
        fitting.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
        let (plan, what) = match fitting.first() {
            Some(f) => f.plan(c),
            None => (Plan::default(), "every call accurate".to_owned()),
        };
        let built = self.build(&plan)?;
        let mut chosen = self.load(built)?;
        let error = deviation(w, reference, &self.run(&mut chosen, 1.0)?);
        // In turn, so that a clock that moves is in all of them.
        let mut samples: [Vec<f64>; 3] = Default::default();
        let mut all = [own, &mut fast, &mut chosen];
        for l in &mut all {
            self.record(l, 1.0)?;
        }
        for _ in 0..ROUNDS {
            for (l, s) in all.iter_mut().zip(&mut samples) {
                s.push(self.sample(l, 1.0)?);
            }
        }
        let own_error = deviation(w, reference, own_outputs);
        let timed = |(times, error)| {
            Some(Timed {
                times: Times::new(times)?,
                error,
            })
        };
        let [own, fast, chosen] = samples;
        let of = || -> Option<Chosen> {
            Some(Chosen {
                exact: exact.is_some(),
                own: timed((own, own_error))?,
                fast: timed((fast, bound))?,
                chosen: timed((chosen, error))?,
                what,
                tried,
            })
        };
        Ok(of())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(sites: &[usize]) -> Change {
        Change {
            what: String::new(),
            kernel: "k".into(),
            sites: sites.to_vec(),
            variant: MathVariant::Accurate,
        }
    }

    #[test]
    fn the_best_change_of_each_call_is_taken() {
        let start = Start {
            what: String::new(),
            plan: Plan::default(),
            changes: vec![change(&[1]), change(&[1]), change(&[2, 3]), change(&[4])],
        };
        let singles = [(0, 0.9), (1, 0.8), (2, 0.85), (3, 0.9999)];
        assert_eq!(together(&start, 1.0, &singles), [1, 2]);
    }
}

//! Call by call against the whole kernel: which calls are approximate is chosen so that the worst element is
//! no worse than under whole-kernel fast-math, and timed beside it.
//!
//! Whole-kernel fast-math is what nvcc's `-use_fast_math` means: the calls that it names by the
//! special-function unit, and every f32 operation flushes subnormal numbers. Errors are against the program
//! with every operation in double words, its buffers in their own formats; where it cannot be had, against
//! the program as it is.
//!
//! The choice is made twice: of calls alone, and of calls together with operations and memory in narrower formats,
//! which fast-math does not have.
use super::super::JobError;
use super::super::report::Times;
use super::bench::{Bench, Built, Loaded, Outputs, Wanted, plain};
use super::deviation::{Deviation, deviation};
use kerf_ir::finish::Reflect;
use kerf_pass::{MathVariant, Plan};
use kerf_workload::workload::Workload;
use serde::{Deserialize, Serialize};

/// What a change does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Calls of one kernel are computed another way.
    Calls {
        /// Kernel, as plans name it.
        kernel: String,
        /// Its sites.
        sites: Vec<usize>,
        /// What they become.
        variant: MathVariant,
    },
    /// Operations or memory have a narrower format: those of this plan.
    Narrower(Plan),
}

/// Something about a plan that is changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// For people: `div line 12: accurate`.
    pub what: String,
    /// What is done.
    pub deed: Deed,
}

impl Change {
    fn narrower(&self) -> bool {
        matches!(self.deed, Deed::Narrower(_))
    }

    fn overlaps(&self, o: &Change) -> bool {
        match (&self.deed, &o.deed) {
            (
                Deed::Calls { kernel, sites, .. },
                Deed::Calls {
                    kernel: k,
                    sites: s,
                    ..
                },
            ) => kernel == k && sites.iter().any(|x| s.contains(x)),
            (Deed::Narrower(a), Deed::Narrower(b)) => a.kernels.iter().any(|(name, mine)| {
                b.kernels.get(name).is_some_and(|o| {
                    mine.sites.keys().any(|s| o.sites.contains_key(s))
                        || mine.storage.keys().any(|s| o.storage.contains_key(s))
                })
            }),
            // A call has a variant in any format.
            _ => false,
        }
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
pub struct CallComparison {
    /// The calls that whole-kernel fast-math changes.
    pub fast: Plan,
    /// Every operation in double words; none: the program as it is is the reference.
    pub exact: Option<Plan>,
    /// Where the search starts from.
    pub starts: Vec<Start>,
}

/// A version's time in turn with the others, and its error.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TimedVersion {
    /// Times.
    pub times: Times,
    /// Error against the reference.
    pub error: Deviation,
}

/// What came of the comparison.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ComparedCalls {
    /// The reference is in double words; false: it is the program as it is.
    pub exact: bool,
    /// The program as it is.
    pub own: TimedVersion,
    /// Whole-kernel fast-math.
    pub fast: TimedVersion,
    /// Call by call.
    pub chosen: TimedVersion,
    /// What was chosen, for people.
    pub what: String,
    /// The same with operations and memory in narrower formats, where that is faster; the worst element is no
    /// worse, the mean may be.
    #[serde(default)]
    pub narrower: Option<(TimedVersion, String)>,
    /// Versions that were tried.
    pub tried: usize,
}

/// The worst element may be worse by this much before it counts: the last bits of one element are noise.
const SAME: f64 = 1.05;

/// A change has to be faster by this part of the time to be taken.
const GAIN: f64 = 0.003;

/// Samples of each of the versions in turn.
const ROUNDS: usize = 21;

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
        match &c.deed {
            Deed::Calls {
                kernel,
                sites,
                variant,
            } => {
                let k = plan.kernels.entry(kernel.clone()).or_default();
                for s in sites {
                    match variant {
                        MathVariant::Accurate => k.math.remove(s),
                        v => k.math.insert(*s, *v),
                    };
                }
            }
            Deed::Narrower(p) => {
                for (name, theirs) in &p.kernels {
                    let k = plan.kernels.entry(name.clone()).or_default();
                    k.sites.extend(theirs.sites.iter().map(|(s, f)| (*s, *f)));
                    let held = theirs.storage.iter().map(|(n, f)| (n.clone(), *f));
                    k.storage.extend(held);
                }
            }
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
    fn narrower(&self, c: &CallComparison) -> bool {
        let all = &c.starts[self.start].changes;
        self.changes.iter().any(|i| all[*i].narrower())
    }

    fn plan(&self, c: &CallComparison) -> (Plan, String) {
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

/// What a list of versions says of the comparison.
pub(super) struct Tries {
    exact: bool,
    tries: Vec<(usize, Option<usize>)>,
}

impl Tries {
    /// Adds what the comparison needs to a list of versions, the one that takes longest first.
    pub(super) fn for_choice(c: &CallComparison, wanted: &mut Vec<Wanted>) -> Tries {
        let flush = Reflect {
            ftz: true,
            ..Reflect::default()
        };
        wanted.extend(c.exact.as_ref().map(plain));
        wanted.push((c.fast.clone(), flush));
        let mut tries = Vec::new();
        for (s, start) in c.starts.iter().enumerate() {
            let singles = start.changes.iter().enumerate();
            let singles = singles.map(|(i, change)| (Some(i), changed(&start.plan, &[change])));
            for (i, plan) in std::iter::once((None, start.plan.clone())).chain(singles) {
                wanted.push(plain(&plan));
                tries.push((s, i));
            }
        }
        Tries {
            exact: c.exact.is_some(),
            tries,
        }
    }

    /// The same from what was made of the list. A change that cannot be built is not one.
    pub(super) fn ready(
        self,
        mut next: impl FnMut() -> Result<Built, JobError>,
    ) -> Result<Ready, JobError> {
        let exact = self.exact.then(&mut next).and_then(Result::ok);
        let fast = next();
        let tries = self.tries.into_iter();
        let tries = tries.filter_map(|(s, i)| Some((s, i, next().ok()?)));
        let tries = tries.collect();
        Ok(Ready {
            fast: fast?,
            exact,
            tries,
        })
    }
}

/// What a version may not be worse than.
struct Yardstick<'r> {
    workload: &'r Workload,
    /// Outputs that errors are against.
    reference: &'r Outputs,
    /// Error of whole-kernel fast-math.
    bound: Deviation,
}

impl Yardstick<'_> {
    fn error(&self, outputs: &Outputs) -> Deviation {
        deviation(self.workload, self.reference, outputs)
    }

    fn fits(&self, outputs: &Outputs) -> bool {
        let d = self.error(outputs);
        d.max_rel <= SAME * self.bound.max_rel
            && d.not_finite <= self.bound.not_finite
            && d.integers <= self.bound.integers
    }
}

/// What came of the versions that were tried.
struct Found {
    fitting: Vec<Fitting>,
    /// Seconds of each start itself.
    base: Vec<f64>,
    tried: usize,
}

/// A version that was chosen, on the device.
struct Final {
    loaded: Loaded,
    what: String,
    error: Deviation,
}

impl Bench<'_> {
    /// Chooses and compares. `own` is the program as it is, with its outputs.
    pub(super) fn choose(
        &self,
        c: &CallComparison,
        ready: Ready,
        own: &mut Loaded,
        own_outputs: &Outputs,
    ) -> Result<Option<ComparedCalls>, JobError> {
        let w = self.base.workload;
        // Double words may need more registers than a block can have, and give up where a word goes on (sines
        // of huge arguments): then they are no reference, and the result says so.
        let run = |b| self.run(&mut self.load(b)?, 0.0);
        let exact = ready.exact.and_then(|b| run(b).ok());
        let exact = exact.filter(|e| deviation(w, e, own_outputs).not_finite == 0);
        let reference = exact.as_ref().unwrap_or(own_outputs);
        let mut fast = self.load(ready.fast)?;
        let yardstick = Yardstick {
            workload: w,
            reference,
            bound: deviation(w, reference, &self.run(&mut fast, 1.0)?),
        };
        let mut found = self.try_singles(c, ready.tries, &yardstick);
        self.try_together(c, &yardstick, &mut found)?;
        // Of two that are as fast, the one with fewer changes.
        let rank = |f: &Fitting| f.seconds * (1.0 + GAIN * f.changes.len() as f64);
        found.fitting.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
        let fitting = &found.fitting;
        let plan = match fitting.iter().find(|f| !f.narrower(c)) {
            Some(f) => f.plan(c),
            None => (Plan::default(), "every call accurate".to_owned()),
        };
        let narrower = fitting.first().filter(|f| f.narrower(c)).map(|f| f.plan(c));
        let mut chosen = self.final_version(plan, &yardstick)?;
        let joint = narrower.map(|plan| self.final_version(plan, &yardstick));
        let mut joint = joint.transpose()?;
        let mut all = vec![own, &mut fast, &mut chosen.loaded];
        all.extend(joint.as_mut().map(|j| &mut j.loaded));
        let mut samples = self.sample_in_turn(&mut all)?.into_iter();
        let mut timed = |error| {
            Some(TimedVersion {
                times: Times::new(samples.next().unwrap_or_default())?,
                error,
            })
        };
        let own = timed(yardstick.error(own_outputs));
        let fast = timed(yardstick.bound);
        let best = timed(chosen.error);
        let narrower = joint.and_then(|j| Some((timed(j.error)?, j.what)));
        let (Some(own), Some(fast), Some(best)) = (own, fast, best) else {
            return Ok(None);
        };
        Ok(Some(ComparedCalls {
            exact: exact.is_some(),
            own,
            fast,
            chosen: best,
            what: chosen.what,
            narrower,
            tried: found.tried,
        }))
    }

    /// Each start, and each of its changes alone.
    fn try_singles(
        &self,
        c: &CallComparison,
        tries: Vec<(usize, Option<usize>, Built)>,
        yardstick: &Yardstick,
    ) -> Found {
        let mut found = Found {
            fitting: Vec::new(),
            base: vec![f64::INFINITY; c.starts.len()],
            tried: 1,
        };
        for (start, change, built) in tries {
            // One that does not run is none to choose.
            let ran = self.load(built);
            let Ok((times, outputs)) = ran.and_then(|mut l| self.measure(&mut l, 1.0, TRIES))
            else {
                continue;
            };
            found.tried += 1;
            let seconds = median(&times);
            if change.is_none() {
                found.base[start] = seconds;
            }
            if yardstick.fits(&outputs) {
                found.fitting.push(Fitting {
                    start,
                    changes: change.into_iter().collect(),
                    seconds,
                });
            }
        }
        found
    }

    /// The changes that make each start faster, together: of calls alone, and with narrower formats.
    fn try_together(
        &self,
        c: &CallComparison,
        yardstick: &Yardstick,
        found: &mut Found,
    ) -> Result<(), JobError> {
        for (s, start) in c.starts.iter().enumerate() {
            let mine = found.fitting.iter().filter(|f| f.start == s);
            let singles: Vec<(usize, f64)> = mine
                .filter_map(|f| Some((*f.changes.first()?, f.seconds)))
                .collect();
            let all = together(start, found.base[s], &singles);
            let calls = all.iter().copied();
            let calls: Vec<usize> = calls.filter(|i| !start.changes[*i].narrower()).collect();
            let more = all.len() > calls.len();
            for changes in [calls, all].into_iter().take(1 + usize::from(more)) {
                self.try_list(c, (s, changes), yardstick, found)?;
            }
        }
        Ok(())
    }

    /// A list of changes, shortened until it fits. Errors add up: the change that gains least goes first.
    fn try_list(
        &self,
        c: &CallComparison,
        (start, mut changes): (usize, Vec<usize>),
        yardstick: &Yardstick,
        found: &mut Found,
    ) -> Result<(), JobError> {
        while changes.len() > 1 {
            let mut f = Fitting {
                start,
                changes: changes.clone(),
                seconds: f64::INFINITY,
            };
            // What works alone need not together.
            let Ok(mut l) = self.build(&f.plan(c).0).and_then(|b| self.load(b)) else {
                changes.pop();
                continue;
            };
            let (times, outputs) = self.measure(&mut l, 1.0, TRIES)?;
            found.tried += 1;
            if yardstick.fits(&outputs) {
                f.seconds = median(&times);
                found.fitting.push(f);
                break;
            }
            changes.pop();
        }
        Ok(())
    }

    fn final_version(
        &self,
        (plan, what): (Plan, String),
        yardstick: &Yardstick,
    ) -> Result<Final, JobError> {
        let built = self.build(&plan)?;
        let mut loaded = self.load(built)?;
        let error = yardstick.error(&self.run(&mut loaded, 1.0)?);
        Ok(Final {
            loaded,
            what,
            error,
        })
    }

    /// Samples of several versions in turn, so that a clock that moves is in all of them; each begins as often as any
    /// other, since what ran before is in the caches.
    fn sample_in_turn(&self, all: &mut [&mut Loaded]) -> Result<Vec<Vec<f64>>, JobError> {
        let count = all.len();
        let mut samples: Vec<Vec<f64>> = vec![Vec::new(); count];
        for l in all.iter_mut() {
            self.record(l, 1.0)?;
        }
        for round in 0..ROUNDS {
            for i in 0..count {
                let i = (i + round) % count;
                samples[i].push(self.sample(all[i], 1.0)?);
            }
        }
        Ok(samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_num::Format;

    fn change(sites: &[usize]) -> Change {
        Change {
            what: String::new(),
            deed: Deed::Calls {
                kernel: "k".into(),
                sites: sites.to_vec(),
                variant: MathVariant::Accurate,
            },
        }
    }

    fn held(names: &[&str]) -> Change {
        let mut plan = Plan::default();
        let k = plan.kernels.entry("k".into()).or_default();
        let all = names.iter().map(|n| ((*n).to_owned(), Format::F16.into()));
        k.storage.extend(all);
        Change {
            what: String::new(),
            deed: Deed::Narrower(plan),
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

    #[test]
    fn memory_is_narrowed_once_and_beside_calls() {
        let (a, b, c) = (held(&["x"]), held(&["x", "y"]), held(&["z"]));
        assert!(a.overlaps(&b) && !a.overlaps(&c) && !a.overlaps(&change(&[1])));
        let plan = changed(&Plan::default(), &[&b, &c]);
        let k = &plan.kernels["k"];
        assert_eq!(k.storage.keys().collect::<Vec<_>>(), ["x", "y", "z"]);
        assert!(k.math.is_empty());
    }
}

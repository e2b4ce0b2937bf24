//! A plan on inputs that it was not chosen by: other seeds, and small changes of the tuning inputs.
use crate::confidence::lower_bound;
use crate::evaluate::{EvaluationRequest, Evaluator, Input, PlanEvaluation, Sampling};
use crate::store::{Phase, Store, StoreError};
use kerf_pass::Plan;
use kerf_workload::Perturb;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a plan is validated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trials {
    /// Inputs, half of them from other seeds, half of them perturbed.
    pub inputs: usize,
    /// Changes over the spread of the values: V of AMPT-GA.
    pub perturb: f64,
    /// Confidence of the bound.
    pub confidence: f64,
    /// How many inputs were used before, so that these are others.
    pub skip: usize,
}

fn is_false(b: &bool) -> bool {
    !b
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Inputs from other seeds.
    pub held_out: usize,
    /// Perturbed inputs.
    pub perturbed: usize,
    /// How far these were moved, over the spread of the values.
    pub perturb: f64,
    /// Inputs on which the plan stayed within the tolerance.
    pub passed: usize,
    /// Inputs that do not count: the program itself exceeds the tolerance on them, or, where that exceeds it on the tuning
    /// inputs too, the program with everything raised.
    pub beyond_program: usize,
    /// It was the program with everything raised that exceeded it there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub beyond_raised: bool,
    /// Inputs on which values saturated in the plan's scaled formats.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub saturated: usize,
    /// The largest error; none if it was infinite or a run failed.
    pub worst: Option<f64>,
    /// The input with that error.
    pub worst_input: Option<Input>,
    /// Confidence.
    pub confidence: f64,
    /// At this confidence, an input like these passes with this probability or more.
    pub pass_probability: f64,
    /// Why there are fewer inputs than asked for.
    pub remark: Option<String>,
    /// Inputs used, and skipped before them: the next ones are new.
    pub used: usize,
    /// Arguments of functions made for ranges, where the plan has some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<MadeUse>,
}

/// Inputs on which arguments of made functions are counted: a run with counters for each.
const COUNTED_INPUTS: usize = 4;

/// How often a function made for a range had arguments outside of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MadeUse {
    /// The function, in words.
    pub function: String,
    /// Inputs on which arguments were counted.
    pub inputs: usize,
    /// Arguments.
    pub calls: u64,
    /// Those outside of the range: they took the library's function.
    pub outside: u64,
}

impl fmt::Display for MadeUse {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "{}: {} of {} arguments outside, on {} other input{}",
            self.function,
            self.outside,
            self.calls,
            self.inputs,
            if self.inputs == 1 { "" } else { "s" }
        )
    }
}

impl Validation {
    /// Before anything ran.
    fn none(t: &Trials) -> Validation {
        Validation {
            held_out: 0,
            perturbed: 0,
            perturb: t.perturb,
            passed: 0,
            beyond_program: 0,
            beyond_raised: false,
            saturated: 0,
            worst: Some(0.0),
            worst_input: None,
            confidence: t.confidence,
            pass_probability: 0.0,
            remark: None,
            used: t.skip,
            made: Vec::new(),
        }
    }
    /// What exceeded the tolerance on inputs that do not count.
    pub fn excused_by(&self) -> &'static str {
        match self.beyond_raised {
            true => "the program with everything raised",
            false => "the program itself",
        }
    }
    /// Inputs that ran.
    pub fn tried(&self) -> usize {
        self.held_out.saturating_add(self.perturbed)
    }
    /// Inputs that count.
    pub fn counted(&self) -> usize {
        self.tried().saturating_sub(self.beyond_program)
    }
    /// Whether the plan passed on every input that counts.
    pub fn holds(&self) -> bool {
        self.passed == self.counted()
    }
}

/// The n-th input, from other seeds and perturbed in turn.
fn input(tuned: Input, n: usize, perturb: f64) -> Input {
    let k = (n / 2) as u64 + 1;
    match n % 2 {
        0 => Input {
            seed: tuned.seed.wrapping_add(k),
            perturb: None,
        },
        _ => Input {
            seed: tuned.seed,
            perturb: Some(Perturb {
                relative: perturb,
                seed: k,
            }),
        },
    }
}

/// What excuses a plan that misses the tolerance on an input, by missing it there as well.
#[derive(Debug, Clone, PartialEq)]
pub enum Excuse {
    /// The program itself.
    Program,
    /// Another plan, by its assignment: everything raised.
    Plan(Vec<u8>, Box<Plan>),
    /// Nothing: every input counts.
    Nothing,
}

/// Plans on inputs, remembered.
pub struct Validator<'e> {
    /// Runs plans.
    pub evaluator: &'e Evaluator,
    /// Remembers.
    pub store: &'e mut Store,
    /// The inputs that plans were chosen by.
    pub tuned: Input,
    /// Their digest.
    pub digest: Option<String>,
    /// Inputs that other plans failed on: they come first, since a plan that fails there needs no others.
    pub hard: Vec<Input>,
    /// Which inputs do not count.
    pub excuse: Excuse,
}

impl Validator<'_> {
    fn evaluate(
        &mut self,
        a: &[u8],
        plan: &Plan,
        inputs: &[Input],
    ) -> Result<Vec<PlanEvaluation>, StoreError> {
        let mut known: Vec<Option<PlanEvaluation>> = Vec::new();
        for i in inputs {
            known.push(self.store.get(Phase::Validation, a, i)?);
        }
        let missing: Vec<usize> = (0..inputs.len()).filter(|i| known[*i].is_none()).collect();
        let requests: Vec<EvaluationRequest> = missing
            .iter()
            .map(|i| EvaluationRequest {
                plan: plan.clone(),
                input: inputs[*i],
                timed: Sampling::Untimed,
                energy_s: 0.0,
                order: 0,
                ahead: Vec::new(),
            })
            .collect();
        let store = &mut *self.store;
        let known = std::sync::Mutex::new(known);
        self.evaluator.all(&requests, |r, e| {
            let at = missing[r];
            store.put(Phase::Validation, a, &inputs[at], &e, None)?;
            known.lock().unwrap_or_else(|e| e.into_inner())[at] = Some(e);
            Ok(())
        })?;
        let known = known.into_inner().unwrap_or_else(|e| e.into_inner());
        Ok(known.into_iter().flatten().collect())
    }

    /// Arguments of the plan's made functions on some inputs. An input that cannot be counted is left out.
    fn made_uses(&self, plan: &Plan, inputs: &[Input]) -> Vec<MadeUse> {
        let functions = plan.functions();
        let unused = |f: &&kerf_num::made::MadeFunction| MadeUse {
            function: f.to_string(),
            inputs: 0,
            calls: 0,
            outside: 0,
        };
        let mut uses: Vec<MadeUse> = functions.iter().map(unused).collect();
        if uses.is_empty() {
            return uses;
        }
        for i in inputs.iter().take(COUNTED_INPUTS) {
            let Ok(counted) = self.evaluator.made_arguments(plan, *i) else {
                continue;
            };
            for a in counted {
                if let Some(u) = uses.get_mut(a.number) {
                    u.inputs += 1;
                    u.calls += a.calls;
                    u.outside += a.outside;
                }
            }
        }
        uses.retain(|u| u.inputs > 0);
        uses
    }

    /// Tries a plan, until it fails where the program does not, or to the end with `all`. `tell` hears of
    /// every input.
    pub fn run(
        &mut self,
        a: &[u8],
        plan: &Plan,
        t: &Trials,
        all: bool,
        mut tell: impl FnMut(usize, &PlanEvaluation),
    ) -> Result<Validation, StoreError> {
        if !all && let Some(v) = self.on_hard(a, plan, t, &mut tell)? {
            return Ok(v);
        }
        self.on_all(a, plan, t, all, tell)
    }

    /// The failure of a plan where others failed; none if it passes there.
    pub fn on_hard(
        &mut self,
        a: &[u8],
        plan: &Plan,
        t: &Trials,
        tell: &mut impl FnMut(usize, &PlanEvaluation),
    ) -> Result<Option<Validation>, StoreError> {
        let tolerance = self.evaluator.criteria.tolerance;
        for (n, i) in self.hard.clone().into_iter().enumerate() {
            let Some(e) = self.evaluate(a, plan, &[i])?.pop() else {
                continue;
            };
            tell(n + 1, &e);
            if e.accepted(tolerance) {
                continue;
            }
            let mut v = Validation::none(t);
            match i.perturb {
                Some(_) => v.perturbed = n + 1,
                None => v.held_out = n + 1,
            }
            v.passed = n;
            v.worst = e.error;
            v.worst_input = Some(i);
            v.pass_probability = lower_bound(v.passed as u64, v.counted() as u64, t.confidence);
            return Ok(Some(v));
        }
        Ok(None)
    }

    fn on_all(
        &mut self,
        a: &[u8],
        plan: &Plan,
        t: &Trials,
        all: bool,
        mut tell: impl FnMut(usize, &PlanEvaluation),
    ) -> Result<Validation, StoreError> {
        let mut v = Validation::none(t);
        v.beyond_raised = matches!(self.excuse, Excuse::Plan(..));
        let excuse = match &self.excuse {
            Excuse::Program => Some((vec![0; a.len()], Plan::default())),
            Excuse::Plan(a, plan) => Some((a.clone(), (**plan).clone())),
            Excuse::Nothing => None,
        };
        let tolerance = self.evaluator.criteria.tolerance;
        let (mut seeds, mut moves) = (true, true);
        let mut tried = 0;
        let mut ran: Vec<Input> = Vec::new();
        while tried < t.inputs && (seeds || moves) {
            let mut next = Vec::new();
            while next.len() < self.evaluator.parallel().min(t.inputs - tried) {
                let i = input(self.tuned, v.used, t.perturb);
                v.used += 1;
                if if i.perturb.is_some() { moves } else { seeds } {
                    next.push(i);
                }
            }
            let evaluated = self.evaluate(a, plan, &next)?;
            let mut failed = false;
            for (i, e) in next.into_iter().zip(evaluated) {
                // Files are the same under every seed, and what does not vary is not perturbed.
                if e.inputs.is_some() && e.inputs == self.digest {
                    match i.perturb {
                        Some(_) => moves = false,
                        None => seeds = false,
                    }
                    continue;
                }
                tried += 1;
                ran.push(i);
                tell(tried, &e);
                v.saturated += usize::from(e.losses.iter().any(|l| l.saturated > 0));
                match i.perturb {
                    Some(_) => v.perturbed += 1,
                    None => v.held_out += 1,
                }
                if e.accepted(tolerance) {
                    v.passed += 1;
                } else {
                    let excused = match &excuse {
                        Some((a, plan)) => self.evaluate(a, plan, &[i])?,
                        None => Vec::new(),
                    };
                    if excused.iter().any(|e| !e.accepted(tolerance)) {
                        v.beyond_program += 1;
                        continue;
                    }
                    failed = true;
                }
                let larger = match (v.worst, e.error) {
                    (None, _) => false,
                    (Some(_), None) => true,
                    (Some(w), Some(e)) => e > w,
                };
                if larger || v.worst_input.is_none() {
                    v.worst = e.error;
                    v.worst_input = Some(i);
                }
            }
            if failed && !all {
                break;
            }
        }
        v.remark = match (seeds, moves) {
            (true, true) => None,
            (false, true) => Some("the inputs do not depend on the seed".into()),
            (true, false) => Some("nothing in the inputs varies that could be perturbed".into()),
            (false, false) => Some("the inputs cannot be varied".into()),
        };
        v.pass_probability = lower_bound(v.passed as u64, v.counted() as u64, t.confidence);
        if v.holds() {
            v.made = self.made_uses(plan, &ran);
        }
        Ok(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_all_different_and_none_is_the_tuned_one() {
        let tuned = Input {
            seed: u64::MAX,
            perturb: None,
        };
        let mut all: Vec<Input> = vec![tuned];
        for n in 0..50 {
            let i = input(tuned, n, 0.01);
            assert!(!all.contains(&i), "{n}");
            all.push(i);
        }
    }
}

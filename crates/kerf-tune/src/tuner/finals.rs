//! The fastest plans measured once more, as a race: repeats go where it is still open which is the fastest.
use super::Tuner;
use crate::error::TuneError;
use crate::evaluate::{EvaluationRequest as Run, PlanEvaluation, Sampling};
use crate::front::FrontPoint;
use crate::result::Demoted;
use crate::store::Phase;
use kerf_run::job::Device;
use kerf_search::Assignment;
use kerf_search::race::{Race, RacePlace, RaceRules, Standing};

/// Plans within this factor of the fastest are measured once more, and how many of them at most.
const FINAL_MARGIN: f64 = 1.1;
const FINALISTS: usize = 5;

/// Measurements of one finalist, at most.
const LAPS: usize = 5;

/// Differences of time that do not matter.
const MATTERS: f64 = 0.004;

/// The race as it stands: each plan's samples over the program's, `first` a lap. Not what the shortest has: when a race
/// is taken up again, all may have several laps.
fn race(all: &[Vec<f64>], first: usize) -> Race {
    let first = first.max(1);
    let rules = RaceRules {
        first,
        most: first * LAPS,
        matters: MATTERS,
        ..RaceRules::default()
    };
    let mut r = Race::new(all.len(), rules);
    for (i, samples) in all.iter().enumerate() {
        samples.iter().for_each(|s| r.tell(i, *s));
    }
    r
}

/// Who is measured next, if anybody; and where everybody stands.
fn judged(all: &[Vec<f64>], first: usize) -> (Option<usize>, Vec<Standing>) {
    let r = race(all, first);
    (r.ask(), r.standings())
}

impl Tuner<'_> {
    /// The plans that may be the fastest, by what is known of their times.
    pub(crate) fn finalists(&self, demoted: &[Demoted]) -> Vec<FrontPoint> {
        let within =
            |p: &FrontPoint| p.error <= self.tolerance() && p.assignment.iter().any(|l| *l > 0);
        let mut all: Vec<FrontPoint> = self.points(demoted).into_iter().filter(within).collect();
        all.sort_by(|a, b| a.time.total_cmp(&b.time));
        let best = all.first().map_or(1.0, |p| p.time);
        all.retain(|p| p.time <= best * FINAL_MARGIN);
        all.truncate(FINALISTS);
        all
    }

    /// Measures the plans that may be the fastest once more, since the best of many samples is too good, and
    /// those that cannot be told apart again.
    pub(crate) fn remeasure(&mut self, demoted: &[Demoted]) -> Result<(), TuneError> {
        if self.evaluator.job.device == Device::Cpu {
            return Ok(());
        }
        let all = self.measured_finalists(demoted)?;
        self.tied.clear();
        if all.len() < 2 {
            return Ok(());
        }
        let lap = self.evaluator.job.repeats as usize;
        // The limit of the laps is each candidate's own; this one is for all of them together.
        for _ in 0..LAPS * all.len() {
            let samples: Vec<Vec<f64>> = all.iter().map(|a| self.samples(a)).collect();
            if samples.iter().any(Vec::is_empty) {
                return Ok(());
            }
            let (next, standings) = judged(&samples, lap);
            let tie = standings.iter().filter(|s| s.place == RacePlace::Tie);
            self.tied = tie.map(|s| all[s.candidate].clone()).collect();
            match next {
                Some(i) => self.again(&all[i])?,
                None => break,
            }
        }
        Ok(())
    }

    /// The finalists, all measured once more. One that fails there, by what its formats lose say, makes room for another.
    fn measured_finalists(&mut self, demoted: &[Demoted]) -> Result<Vec<Assignment>, TuneError> {
        loop {
            let finalists = self.finalists(demoted).into_iter();
            let all: Vec<Assignment> = finalists.map(|p| p.assignment).collect();
            let mut failed = false;
            for a in &all {
                self.finalist(a)?;
                let last = &self.finals[a];
                if let (Some(_), Some(known)) = (&last.failure, self.known.get_mut(a)) {
                    known.failure.clone_from(&last.failure);
                    failed = true;
                }
            }
            if !failed {
                return Ok(all);
            }
        }
    }

    fn samples(&self, a: &Assignment) -> Vec<f64> {
        let t = self.finals.get(a).and_then(|e| e.timing.as_ref());
        t.map_or(Vec::new(), |t| t.ratios.clone())
    }

    fn lap(&self, a: &Assignment) -> Result<PlanEvaluation, TuneError> {
        Ok(self.evaluator.one(&Run {
            plan: self.tunable.plan(self.subject, a),
            input: self.input,
            timed: Sampling::All,
            energy_s: 0.0,
            order: 0,
            ahead: Vec::new(),
        })?)
    }

    fn finalist(&mut self, a: &Assignment) -> Result<(), TuneError> {
        if self.finals.contains_key(a) {
            return Ok(());
        }
        let e = match self.store.get(Phase::Final, a, &self.input)? {
            Some(e) => e,
            None => {
                let e = self.lap(a)?;
                self.keep(a, &e)?;
                e
            }
        };
        self.finals.insert(a.clone(), e);
        Ok(())
    }

    fn keep(&mut self, a: &Assignment, e: &PlanEvaluation) -> Result<(), TuneError> {
        let ratio = e.timing.as_ref().map(|t| t.ratio);
        Ok(self.store.put(Phase::Final, a, &self.input, e, ratio)?)
    }

    /// One more measurement of a finalist, beside those before.
    fn again(&mut self, a: &Assignment) -> Result<(), TuneError> {
        let new = self.lap(a)?;
        let Some(old) = self.finals.get(a) else {
            return Ok(());
        };
        let mut both = old.clone();
        both.timing = match (&old.timing, &new.timing) {
            (Some(x), Some(y)) => Some(x.and(y)),
            // It ran before; what fails now is not faster.
            (Some(x), None) => Some(x.clone()),
            (None, y) => y.clone(),
        };
        both.wall_s += new.wall_s;
        self.keep(a, &both)?;
        self.finals.insert(a.clone(), both);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(t: f64, n: usize, spread: f64) -> Vec<f64> {
        (0..n)
            .map(|i| t * (1.0 + spread * ((i * 7 % 5) as f64 - 2.0)))
            .collect()
    }

    #[test]
    fn what_overlaps_is_measured_again_and_nothing_else() {
        // Far apart: decided.
        let (next, s) = judged(&[around(0.5, 15, 0.01), around(0.6, 15, 0.01)], 15);
        assert_eq!(
            (next, s[0].place, s[1].place),
            (None, RacePlace::Winner, RacePlace::Slower)
        );
        // The first two overlap, the third does not.
        let close = [
            around(0.500, 15, 0.01),
            around(0.501, 15, 0.01),
            around(0.6, 15, 0.01),
        ];
        let (next, _) = judged(&close, 15);
        assert!(next.is_some_and(|i| i < 2), "{next:?}");
        // All laps are used: a tie, and it is told.
        let used = [
            around(0.500, LAPS * 15, 0.03),
            around(0.5002, LAPS * 15, 0.03),
        ];
        let (next, s) = judged(&used, 15);
        assert_eq!(next, None);
        assert!(
            s.iter().all(|x| x.place == RacePlace::Tie),
            "{next:?} {s:?}"
        );
    }
}

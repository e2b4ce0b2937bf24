//! Searches over one degree of approximation (Li et al., "SFU-driven transparent approximation acceleration
//! on GPUs", 2016): the largest degree whose error is within the tolerance.
//!
//! They believe that time falls and error rises with the degree. SMP comes down from the largest degree;
//! HEU draws a line between the closest degree below and the closest above, runs where it meets the
//! tolerance, and moves one end there; OMG runs everything and believes nothing.
use super::exhaustive::exhaustive;
use crate::outcome::Outcome;
use crate::problem::Search;
use crate::script::{Missing, Script, ScriptProbe, Scripted};
use crate::strategy::{Reason, Strategy};
use crate::strategy_name::{StrategyError, StrategyName};

/// The degrees of the only variable, if there is only one.
fn degrees(search: &Search, name: StrategyName) -> Result<Vec<u8>, StrategyError> {
    match search.problem.variables.as_slice() {
        [v] if search.problem.points.is_none() => Ok(v.allowed().collect()),
        _ => Err(StrategyError::NotOneDegree(name)),
    }
}

struct Descent(Vec<u8>);

impl Script for Descent {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        for degree in self.0.iter().rev() {
            if search.problem.accepts(&probe.one(&[*degree])?) {
                return Ok(Reason::Bracketed);
            }
        }
        Ok(Reason::Exhausted)
    }
}

/// A degree and the error there. What did not run to an error is as far outside as can be.
#[derive(Clone, Copy)]
struct Point {
    at: usize,
    error: f64,
}

struct Line(Vec<u8>);

impl Line {
    /// Where the line through both points meets the tolerance: the last degree before, between the two;
    /// none if that is the lower one itself.
    fn meets(&self, low: Point, high: Point, tolerance: f64) -> Option<usize> {
        let span = (high.at - low.at) as f64;
        let rise = high.error - low.error;
        let part = match rise.is_finite() {
            true => (tolerance - low.error) / rise,
            // Nothing can be drawn towards a run that failed.
            false => 0.5,
        };
        // A root a rounding below a degree is that degree.
        let steps = (part.clamp(0.0, 1.0) * span + 1e-9).floor() as usize;
        (steps > 0).then(|| (low.at + steps).min(high.at - 1))
    }
}

impl Script for Line {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        let error = |at: usize| -> Result<Point, Missing> {
            let error = match probe.one(&[self.0[at]])? {
                Outcome::Ran { error, .. } if !error.is_nan() => error,
                _ => f64::INFINITY,
            };
            Ok(Point { at, error })
        };
        let last = self.0.len() - 1;
        let (mut low, mut high) = (error(0)?, error(last)?);
        let Some(tolerance) = search.problem.tolerance else {
            return Ok(Reason::Bracketed);
        };
        if high.error <= tolerance || low.error > tolerance {
            return Ok(Reason::Bracketed);
        }
        // Where the error is bent or jumps, lines move one end only, and ever less: after two such moves
        // the next run is in the middle. In the end the degree given back has run within the tolerance,
        // and the next one has run and was not.
        let mut same = (false, 0);
        while high.at - low.at > 1 {
            let line = self.meets(low, high, tolerance);
            let next = match same.1 < 2 {
                true => line.unwrap_or(low.at + 1),
                false => low.at.midpoint(high.at),
            };
            let p = error(next)?;
            let within = p.error <= tolerance;
            same = match same.0 == within {
                true if same.1 < 2 => (within, same.1 + 1),
                _ => (within, 1),
            };
            match within {
                true => low = p,
                false => high = p,
            }
        }
        Ok(Reason::Bracketed)
    }
}

/// All degrees from the largest down to the first within the tolerance.
pub fn smp(search: Search<'_>) -> Result<impl Strategy + '_, StrategyError> {
    let degrees = degrees(&search, StrategyName::Smp)?;
    Ok(Scripted::new(search, Descent(degrees)))
}

/// Lines between what is within the tolerance and what is not.
pub fn heu(search: Search<'_>) -> Result<impl Strategy + '_, StrategyError> {
    let degrees = degrees(&search, StrategyName::Heu)?;
    Ok(Scripted::new(search, Line(degrees)))
}

/// All degrees.
pub fn omg(search: Search<'_>) -> Result<impl Strategy + '_, StrategyError> {
    degrees(&search, StrategyName::Omg)?;
    exhaustive(search)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Level, NoModels, Problem, Variable};
    use crate::session::run;
    use crate::strategies::by_name;

    fn problem(tolerance: f64) -> Problem {
        let levels = (0..=64).map(|l| Level::named(format!("{l}/64")));
        let variable = Variable::new("lambda", levels.collect());
        Problem::precision(vec![variable], Vec::new(), tolerance)
    }

    /// The degree that a strategy ends at, and its executions.
    fn found(name: &str, tolerance: f64, error: impl Fn(f64) -> f64) -> (u8, usize) {
        let problem = problem(tolerance);
        let search = Search {
            problem: &problem,
            models: &NoModels,
            seed: 1,
            budget: 100,
        };
        let mut s = by_name(name, search).expect("one degree");
        let t = run(&problem, &mut *s, 100, |a| {
            let l = f64::from(a[0]) / 64.0;
            Outcome::ran(error(l), 1.0 - 0.5 * l)
        });
        (
            t.best.expect("degree 0 is exact").assignment[0],
            t.executed.len(),
        )
    }

    #[test]
    fn a_straight_curve_takes_few_runs() {
        let straight = |l: f64| 1e-5 * l;
        assert_eq!(found("omg", 0.8e-5, straight), (51, 64));
        assert_eq!(found("smp", 0.8e-5, straight), (51, 14));
        let (at, runs) = found("heu", 0.8e-5, straight);
        assert_eq!(at, 51);
        assert!(runs <= 4, "{runs} runs");
    }

    #[test]
    fn bent_and_stepped_curves_end_within_the_tolerance() {
        let curves: [fn(f64) -> f64; 5] = [
            |l| l * l,
            f64::sqrt,
            |l| (l * 4.0).floor() / 4.0,
            |l| if l > 0.3 { 1.0 } else { 0.0 },
            |l| l + 0.05 * (40.0 * l).sin() * l,
        ];
        for (i, c) in curves.iter().enumerate() {
            for tolerance in [0.1, 0.5, 0.8, 0.99] {
                let (best, _) = found("omg", tolerance, c);
                let (at, runs) = found("heu", tolerance, c);
                assert!(c(f64::from(at) / 64.0) <= tolerance, "curve {i}");
                let next = f64::from(at + 1) / 64.0;
                assert!(at == 64 || c(next) > tolerance, "curve {i}: {at} of {best}");
                assert!(runs <= 20, "curve {i}: {runs} runs");
            }
        }
    }

    #[test]
    fn what_cannot_fail_is_taken_at_once_and_what_must_is_left() {
        assert_eq!(found("heu", 1.0, |_| 0.0).0, 64);
        assert_eq!(found("smp", 1.0, |_| 0.0), (64, 1));
        assert_eq!(found("heu", 1e-9, |l| l).0, 0);
        assert_eq!(
            found("heu", 0.5, |l| if l > 0.0 { f64::NAN } else { 0.0 }).0,
            0
        );
    }

    #[test]
    fn other_problems_are_refused() {
        let two = (0..2).map(|i| Variable::new(i.to_string(), vec![Level::named("f64")]));
        let problem = Problem::precision(two.collect(), Vec::new(), 1.0);
        let search = Search {
            problem: &problem,
            models: &NoModels,
            seed: 1,
            budget: 10,
        };
        for name in StrategyName::ONE_DEGREE {
            let refused = name.start(search).err();
            assert_eq!(refused, Some(StrategyError::NotOneDegree(name)));
        }
    }
}

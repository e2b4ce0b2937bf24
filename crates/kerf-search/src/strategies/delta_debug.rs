//! Delta debugging, as Precimonious does it (Rubio-González et al. 2013, after Zeller and Hildebrandt).
//!
//! For each lower level in turn: find a smallest set of variables that has to stay where it is while all
//! others are lowered. The set is cut into parts; each part alone, and each complement, is tried as the set
//! that stays, and the fastest that is within the tolerance and faster than what there was is taken. Where
//! none is, the parts are halved. The end is a local minimum: no single variable of the set can be lowered
//! as well.
use crate::outcome::Outcome;
use crate::problem::{Assignment, Problem, Search};
use crate::script::{Missing, Script, ScriptProbe, Scripted};
use crate::strategy::{Reason, Strategy};

struct DeltaDebug;

/// `from` with every variable that can go to `level` there, except those that stay.
fn lowered(
    problem: &Problem,
    from: &[u8],
    level: u8,
    able: &[usize],
    stay: &[usize],
) -> Assignment {
    let mut a = from.to_vec();
    for i in able.iter().filter(|i| !stay.contains(i)) {
        if problem.variables[*i].allows(level) {
            a[*i] = level;
        }
    }
    a
}

/// What is left without a part.
fn without(set: &[usize], part: &[usize]) -> Vec<usize> {
    let rest = set.iter().filter(|i| !part.contains(i));
    rest.copied().collect()
}

/// The state of the search: the best assignment so far, and its time.
struct Current {
    assignment: Assignment,
    time: f64,
}

impl DeltaDebug {
    /// One level for all variables that are at the level above.
    fn level(
        &self,
        problem: &Problem,
        probe: &ScriptProbe,
        level: u8,
        best: &mut Current,
    ) -> Result<(), Missing> {
        let start = best.assignment.clone();
        let at = |i: &usize| {
            let v = &problem.variables[*i];
            v.allows(level)
                && start[*i] < level
                && v.allowed().all(|l| l <= start[*i] || l >= level)
        };
        let able: Vec<usize> = (0..start.len()).filter(at).collect();
        if able.is_empty() {
            return Ok(());
        }
        let time = |a: &[u8]| -> Result<Option<f64>, Missing> {
            let o = probe.one(a)?;
            Ok(o.time().filter(|_| problem.accepts(&o)))
        };
        // All at once first; nothing has to stay then.
        let all = lowered(problem, &start, level, &able, &[]);
        if let Some(t) = time(&all)?.filter(|t| *t < best.time) {
            *best = Current {
                assignment: all,
                time: t,
            };
            return Ok(());
        }
        let mut stay = able.clone();
        let mut parts = 2;
        while !stay.is_empty() {
            let size = stay.len().div_ceil(parts.min(stay.len()));
            let cut: Vec<Vec<usize>> = stay.chunks(size).map(<[usize]>::to_vec).collect();
            let mut found: Option<(Vec<usize>, Current)> = None;
            let complements = cut.iter().map(|p| without(&stay, p));
            let tries = cut.iter().cloned().chain(complements);
            for smaller in tries.filter(|s| s.len() < stay.len()) {
                let a = lowered(problem, &start, level, &able, &smaller);
                let bound = found.as_ref().map_or(best.time, |(_, f)| f.time);
                if let Some(t) = time(&a)?.filter(|t| *t < bound) {
                    let current = Current {
                        assignment: a,
                        time: t,
                    };
                    found = Some((smaller, current));
                }
            }
            match found {
                Some((smaller, current)) => {
                    stay = smaller;
                    *best = current;
                    parts = 2;
                }
                None if size == 1 => break,
                None => parts *= 2,
            }
        }
        Ok(())
    }
}

impl Script for DeltaDebug {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        let problem = search.problem;
        let identity = problem.identity();
        let time = match probe.one(&identity)? {
            o @ Outcome::Ran { time, .. } if problem.accepts(&o) => time,
            _ => f64::INFINITY,
        };
        let mut best = Current {
            assignment: identity,
            time,
        };
        for level in 1..problem.depth_of_levels() {
            self.level(problem, probe, level as u8, &mut best)?;
        }
        Ok(Reason::LocalOptimum)
    }
}

/// Delta debugging over the set of variables that stay, level by level.
pub fn delta_debug(search: Search<'_>) -> impl Strategy + '_ {
    Scripted::new(search, DeltaDebug)
}

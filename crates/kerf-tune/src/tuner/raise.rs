//! Where the program itself misses the tolerance: the few groups of operations that need a wider format.
//!
//! First every group that can be is raised. Where that meets the tolerance, groups go back to their own formats as long as it is
//! met: they are ordered by what the counting run says of them, the shortest beginning of that order which meets the tolerance is
//! found by bisection, and delta debugging (Zeller and Hildebrandt 2002) takes parts out of it, of half its size down to single
//! groups. What remains is minimal: without any one of its groups the tolerance is missed. At last each group has the cheapest of its
//! wider formats that meets it: f32 as a pair of f32, or as f64.
//!
//! The search begins with that plan. Raised groups stay as they are, the others may be lowered.
use super::{Meanwhile, Tuner};
use crate::prediction::TimePredictor;
use crate::store::{Phase, StoreError};
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_run::job::ProgramCounts;
use kerf_search::{Assignment, Problem};
use std::cmp::Reverse;

/// The plan that a search begins with instead of the program itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RaisedBase {
    /// Its levels: those of raised groups, 0 of the others.
    pub levels: Assignment,
    /// Its time over that of the program, measured or predicted as the search has it.
    pub time: f64,
}

impl RaisedBase {
    /// A plan of the program, of an assignment as the strategy sees it: raised groups have one level there.
    pub fn whole(&self, seen: &[u8]) -> Assignment {
        let raised = self.levels.iter().zip(seen);
        raised.map(|(r, l)| if *r > 0 { *r } else { *l }).collect()
    }

    /// The assignment as the strategy sees it; none where it raises other groups.
    pub fn seen(&self, whole: &[u8], tunable: &Tunable) -> Option<Assignment> {
        let one = |(i, l): (usize, &u8)| match self.levels[i] {
            0 => (!tunable.groups[i].raises(*l)).then_some(*l),
            r => (r == *l).then_some(0),
        };
        whole.iter().enumerate().map(one).collect()
    }

    /// The problem as the strategy sees it: raised groups cannot change, the others are not raised.
    pub fn problem(&self, whole: &Problem, tunable: &Tunable) -> Problem {
        let mut p = whole.clone();
        let each = p.variables.iter_mut().zip(&self.levels);
        for ((v, r), g) in each.zip(&tunable.groups) {
            match usize::from(*r) {
                0 => v.levels.truncate(g.lower_levels()),
                r => v.levels = vec![v.levels[r].clone()],
            }
        }
        p
    }
}

/// Times of plans as the strategy sees them, over that of the one it begins with.
pub(crate) struct TimesFromBase<'m> {
    pub times: &'m dyn TimePredictor,
    pub base: &'m RaisedBase,
}

impl TimePredictor for TimesFromBase<'_> {
    fn predict(&self, seen: &Assignment) -> Option<f64> {
        let base = self.times.predict(&self.base.levels)?;
        let time = self.times.predict(&self.base.whole(seen))?;
        (base > 0.0).then(|| time / base)
    }
    fn prepare(&self, all: &[Assignment]) {
        let all: Vec<Assignment> = all.iter().map(|a| self.base.whole(a)).collect();
        self.times.prepare(&all);
    }
    fn at_once(&self) -> usize {
        self.times.at_once()
    }
    fn describe(&self) -> String {
        self.times.describe()
    }
}

/// What raising came to.
pub(crate) struct Raising {
    /// Everything raised.
    pub everything: Assignment,
    /// Its error; none if infinite, or if it failed.
    pub error: Option<f64>,
    /// Why it failed.
    pub failure: Option<String>,
    /// Where everything raised meets the tolerance, a plan in which no raised group can go back.
    pub base: Option<RaisedBase>,
    /// Plans that were looked at.
    pub evaluations: usize,
}

/// Groups that can be raised, the likeliest to need it first: by the leading bits that a sum of theirs lost, then those that carry a
/// value around a loop, then by executions.
pub(crate) fn suspects(
    subject: &Subject,
    tunable: &Tunable,
    counts: Option<&ProgramCounts>,
) -> Vec<usize> {
    let rank = |group: usize| {
        let (mut cancelled, mut carried, mut executed) = (0, false, 0);
        let mine = tunable.chosen.iter().filter(|(_, c)| c.0 == group);
        for ((at, site), _) in mine {
            let k = &subject.kernels[*at];
            carried |= k.sites[*site].op == "phi";
            let counted = counts.and_then(|c| c.kernels.iter().find(|c| c.symbol == k.symbol));
            let seen = counted.and_then(|c| c.sites.iter().find(|s| s.id == *site));
            if let Some(s) = seen {
                cancelled = cancelled.max(s.seen.cancellation.unwrap_or(0));
                executed += s.seen.count;
            }
        }
        (Reverse(cancelled), Reverse(carried), Reverse(executed))
    };
    let groups = tunable.groups.iter().enumerate();
    let can = groups.filter(|(_, g)| g.lower_levels() < g.formats.len());
    let mut all: Vec<usize> = can.map(|(i, _)| i).collect();
    all.sort_by_cached_key(|g| (rank(*g), *g));
    all
}

impl Tuner<'_> {
    /// Raises everything, and then as little as meets the tolerance. `suspects` are the groups that can be raised, in the
    /// order in which they are believed to need it.
    pub(crate) fn raise(&mut self, suspects: &[usize]) -> Result<Raising, StoreError> {
        let mut evaluations = 0;
        let everything = self.with_raised(suspects);
        let met = self.meets(&everything, &mut evaluations)?;
        let e = self.known.get(&everything);
        let mut raising = Raising {
            error: e.and_then(|e| e.error),
            failure: e.and_then(|e| e.failure.clone()),
            everything,
            base: None,
            evaluations,
        };
        if !met {
            return Ok(raising);
        }
        let prefix = self.shortest_prefix(suspects, &mut evaluations)?;
        let needed = self.minimal(prefix, &mut evaluations)?;
        let levels = self.cheapest_formats(&needed, &mut evaluations)?;
        let e = &self.known[&levels];
        raising.base = Some(RaisedBase {
            time: self.time(&levels, e).unwrap_or(1.0),
            levels,
        });
        raising.evaluations = evaluations;
        Ok(raising)
    }

    /// The program with these groups in their widest format.
    pub(crate) fn with_raised(&self, groups: &[usize]) -> Assignment {
        let mut a = vec![0; self.tunable.groups.len()];
        for g in groups {
            a[*g] = (self.tunable.groups[*g].formats.len() - 1) as u8;
        }
        a
    }

    /// Whether a plan meets the tolerance on the tuning inputs.
    fn meets(&mut self, a: &Assignment, evaluations: &mut usize) -> Result<bool, StoreError> {
        if !self.known.contains_key(a) {
            *evaluations += 1;
            match self.store.get(Phase::Raise, a, &self.input)? {
                Some(e) => {
                    self.known.insert(a.clone(), e);
                }
                None => self.evaluate(
                    Phase::Raise,
                    std::slice::from_ref(a),
                    (*evaluations - 1, *evaluations),
                    Meanwhile::default(),
                )?,
            }
        }
        let tolerance = self.tolerance();
        Ok(self.known.get(a).is_some_and(|e| e.accepted(tolerance)))
    }

    /// The shortest beginning of a list of groups that meets the tolerance, if more never hurts.
    fn shortest_prefix(
        &mut self,
        all: &[usize],
        evaluations: &mut usize,
    ) -> Result<Vec<usize>, StoreError> {
        let (mut misses, mut meets) = (0, all.len());
        while meets - misses > 1 {
            let middle = (misses + meets) / 2;
            let a = self.with_raised(&all[..middle]);
            match self.meets(&a, evaluations)? {
                true => meets = middle,
                false => misses = middle,
            }
        }
        Ok(all[..meets].to_vec())
    }

    /// Groups of a list that meets the tolerance without which it would be missed: parts are taken out from its end.
    fn minimal(
        &mut self,
        mut groups: Vec<usize>,
        evaluations: &mut usize,
    ) -> Result<Vec<usize>, StoreError> {
        let mut part = (groups.len() / 2).max(1);
        loop {
            let before = groups.len();
            let mut end = before;
            while end > 0 {
                let start = end.saturating_sub(part);
                let mut without = groups.clone();
                without.drain(start..end);
                let a = self.with_raised(&without);
                if self.meets(&a, evaluations)? {
                    groups = without;
                }
                end = start;
            }
            match part {
                1 if groups.len() == before => return Ok(groups),
                _ => part = (part / 2).max(1),
            }
        }
    }

    /// These groups raised, each in the cheapest of its wider formats with which the tolerance is met.
    fn cheapest_formats(
        &mut self,
        groups: &[usize],
        evaluations: &mut usize,
    ) -> Result<Assignment, StoreError> {
        let mut best = self.with_raised(groups);
        for g in groups {
            let levels = self.tunable.groups[*g].lower_levels()..usize::from(best[*g]);
            for level in levels {
                let mut a = best.clone();
                a[*g] = level as u8;
                let times = (self.cost.predict(&a), self.cost.predict(&best));
                let cheaper = matches!(times, (Some(new), Some(old)) if new < old);
                if cheaper && self.meets(&a, evaluations)? {
                    best = a;
                    break;
                }
            }
        }
        Ok(best)
    }

    /// Whether two plans raise the same groups to the same formats.
    pub(crate) fn raise_alike(&self, a: &[u8], b: &[u8]) -> bool {
        let mut each = a.iter().zip(b).zip(&self.tunable.groups);
        each.all(|((x, y), g)| x == y || !g.raises(*x) && !g.raises(*y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;
    use crate::setting::Setting;
    use kerf_pass::SiteFormat::{self, Dw64, F32, F64};
    use kerf_search::{Level, Variable};

    fn tunable() -> Tunable {
        let settings = |all: &[SiteFormat]| all.iter().map(|f| Setting::Format(*f)).collect();
        let groups = ["a", "b"].map(|n| Group::for_launch(n, settings(&[F64, F32, Dw64])));
        Tunable {
            groups: groups.to_vec(),
            ..Tunable::default()
        }
    }

    #[test]
    fn a_strategy_sees_the_raised_groups_with_one_level() {
        let t = tunable();
        let base = RaisedBase {
            levels: vec![2, 0],
            time: 1.5,
        };
        let variable = |g: &Group| {
            let names = g.formats.iter().map(|f| Level::named(f.to_string()));
            Variable::new(g.name.clone(), names.collect())
        };
        let all = t.groups.iter().map(variable).collect();
        let seen = base.problem(&Problem::precision(all, Vec::new(), 1e-9), &t);
        let names =
            |v: &Variable| -> Vec<String> { v.levels.iter().map(|l| l.name.clone()).collect() };
        assert_eq!(names(&seen.variables[0]), ["dw64"]);
        assert_eq!(names(&seen.variables[1]), ["f64", "f32"]);
        assert_eq!(base.whole(&[0, 1]), [2, 1]);
        assert_eq!(base.seen(&[2, 1], &t), Some(vec![0, 1]));
        // Others raise less, or more.
        assert_eq!(base.seen(&[0, 1], &t), None);
        assert_eq!(base.seen(&[2, 2], &t), None);
    }
}

//! Plans that go with those that were demoted, without runs of their own.
use super::{Tuner, point};
use crate::front::FrontPoint;
use crate::result::Demoted;
use crate::store::StoreError;
use kerf_search::Assignment;

/// Plans that are laid out as a demoted one was, at most.
const LAID_OUT: usize = 4;

impl Tuner<'_> {
    /// Whether two plans gave the same bits on the tuning inputs, and not those of the program itself: what
    /// they differ in then has no effect where both have one.
    fn same_bits(&self, a: &Assignment, b: &Assignment) -> bool {
        let bits = |a| self.known.get(a).map(|e| &e.digests);
        let identity = vec![0; a.len()];
        bits(a).is_some_and(|d| !d.is_empty() && Some(d) != bits(&identity)) && bits(a) == bits(b)
    }

    /// Whether a plan is demoted, or goes with those that are: it differs in layout alone, or it gave the same bits as they did, and lowers
    /// whatever they have in common, among which the cause is to be found.
    pub(crate) fn is_out(&self, a: &Assignment, demoted: &[Assignment]) -> bool {
        let own = self.without_layouts(a);
        if demoted.iter().any(|d| self.without_layouts(d) == own) {
            return true;
        }
        // What is raised elsewhere is more precise on other inputs.
        let alike = |d: &&Assignment| self.same_bits(d, a) && self.raise_alike(d, a);
        let class: Vec<Assignment> = demoted
            .iter()
            .filter(alike)
            .map(|d| self.without_layouts(d))
            .collect();
        goes_with(&own, &class)
    }

    /// An assignment with threads and memory laid out as in the program, which changes no bits.
    fn without_layouts(&self, a: &Assignment) -> Assignment {
        let mut a = a.clone();
        self.tunable.layouts().for_each(|g| a[g] = 0);
        a
    }

    /// After a demotion, the fastest plans of other formats laid out as the demoted one was, and in launches as its own: what was found to be
    /// fastest for it is likely to be for them, and it was tried on nothing else.
    pub(crate) fn lay_out_like(
        &mut self,
        demoted: &[Demoted],
        probes: &mut usize,
    ) -> Result<(), StoreError> {
        let Some(last) = demoted.last().map(|d| d.point.assignment.clone()) else {
            return Ok(());
        };
        if self.without_layouts(&last) == last {
            return Ok(());
        }
        let tolerance = self.tolerance();
        let mut points = self.points(demoted);
        points.retain(|p| p.error <= tolerance);
        points.sort_by(|a, b| a.time.total_cmp(&b.time));
        let shapes = self.tunable.shapes();
        let mut all: Vec<Assignment> = Vec::new();
        for p in points {
            let mut a = p.assignment;
            shapes.iter().for_each(|g| a[*g] = last[*g]);
            let formats = |a: &Assignment, i: usize| !shapes.contains(&i) && a[i] > 0;
            let lowers = (0..a.len()).any(|i| formats(&a, i));
            if lowers && !self.known.contains_key(&a) && !all.contains(&a) {
                all.push(a);
            }
            if all.len() == LAID_OUT {
                break;
            }
        }
        self.run_probes(all, probes)
    }

    /// Points of everything that ran on the tuning inputs, without plans that were demoted and those that
    /// go with them.
    pub(crate) fn points(&self, without: &[Demoted]) -> Vec<FrontPoint> {
        let demoted: Vec<Assignment> = without.iter().map(|d| d.point.assignment.clone()).collect();
        let all = self.known.iter();
        all.filter(|(a, _)| !self.is_out(a, &demoted))
            .filter_map(|(a, e)| point(a, e, self.time(a, e)))
            .collect()
    }

    /// How many known plans go out with one that is demoted after others.
    pub(crate) fn alike_demoted(&self, plan: &Assignment, demoted: &[Demoted]) -> usize {
        let before: Vec<Assignment> = demoted.iter().map(|d| d.point.assignment.clone()).collect();
        let mut after = before.clone();
        after.push(plan.clone());
        let goes_out =
            |a: &&Assignment| *a != plan && !self.is_out(a, &before) && self.is_out(a, &after);
        self.known.keys().filter(goes_out).count()
    }
}

/// Whether a plan lowers at least what plans have in common; what one of them lowers, if they have nothing.
fn goes_with(a: &[u8], class: &[Assignment]) -> bool {
    let covers = |d: &[u8]| a.iter().zip(d).all(|(x, y)| x >= y);
    let common = |i: usize| class.iter().map(|d| d[i]).min().unwrap_or(0);
    let common: Vec<u8> = (0..a.len()).map(common).collect();
    match common.iter().all(|l| *l == 0) {
        true => class.iter().any(|d| covers(d)),
        false => covers(&common),
    }
}

#[cfg(test)]
mod tests {
    use super::goes_with;

    #[test]
    fn what_goes_with_demoted_plans() {
        let first = vec![1, 1, 0, 2];
        // Lower than one that failed, with the same bits.
        assert!(goes_with(&[1, 1, 1, 2], std::slice::from_ref(&first)));
        // It lacks something that may have been the cause.
        assert!(!goes_with(&[0, 1, 1, 2], std::slice::from_ref(&first)));
        assert!(!goes_with(&[1, 1, 1, 1], std::slice::from_ref(&first)));
        let second = vec![0, 1, 1, 1];
        assert!(goes_with(&[0, 1, 0, 1], &[first.clone(), second.clone()]));
        assert!(!goes_with(&[1, 0, 1, 2], &[first.clone(), second.clone()]));
        // Nothing in common: only what covers one of them.
        let third = vec![1, 0, 0, 0];
        assert!(goes_with(
            &[1, 0, 1, 0],
            &[first.clone(), second.clone(), third.clone()]
        ));
        assert!(!goes_with(
            &[0, 1, 0, 2],
            &[first.clone(), second.clone(), third.clone()]
        ));
        assert!(!goes_with(&[1, 1, 1, 1], &[]));
    }
}

//! The search for the source that holds.
use super::*;

impl Search<'_> {
    pub(super) fn attempt(
        &mut self,
        kept: &BTreeSet<usize>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Option<(Candidate, PatchTrial)>, PatchError> {
        let plan = without(self.plan, self.context.result, kept);
        let c = self.context.candidate(&plan)?;
        self.unsaid.clone_from(&c.unsaid);
        if c.edits.is_empty() && !c.compiled {
            return Ok(None);
        }
        self.left -= 1;
        self.tries += 1;
        let t = self
            .trials
            .patched(self.context.sources, &c.texts, &c.held, &c.launch)?;
        let words = match (&t.failure, t.error, t.time) {
            (Some(why), _, _) => format!(
                "fails: {}",
                why.lines().take(3).collect::<Vec<_>>().join(" ")
            ),
            (_, Some(e), _) if t.elsewhere.is_some_and(|o| o.passed < o.inputs) => {
                let worst = t.elsewhere.and_then(|o| o.worst);
                let worst = worst.map_or_else(|| "infinite".into(), |w| format!("{w:.3e}"));
                format!("error {e:.3e}, on other inputs {worst}")
            }
            (_, Some(e), Some(time)) => format!("error {e:.3e}, {:.2}x", 1.0 / time),
            (_, Some(e), None) => format!("error {e:.3e}"),
            _ => "an infinite error".into(),
        };
        let many = self.order.iter().filter(|g| kept.contains(g)).count();
        tell(&format!("{many} of {} groups: {words}", self.order.len()));
        self.last = Some(t.clone());
        Ok(Some((c, t)))
    }

    /// The whole plan; else as many of its groups, the most valuable first, as hold together.
    pub(super) fn run(&mut self, tell: &mut dyn FnMut(&str)) -> Result<Option<Found>, PatchError> {
        let all: BTreeSet<usize> = (0..self.context.result.groups.len()).collect();
        match self.attempt(&all, tell)? {
            None => return Ok(None),
            Some((candidate, trial)) if trial.is_good(self.tolerance()) => {
                return Ok(Some(self.found(candidate, trial, &BTreeSet::new())));
            }
            Some(_) => {}
        }
        // Groups that the plan does not change.
        let mut kept = all;
        kept.retain(|g| !self.order.contains(g));
        let mut dropped: BTreeSet<usize> = BTreeSet::new();
        let mut best: Option<(Candidate, PatchTrial)> = None;
        while self.left > 0 {
            let open = self.order.iter().copied();
            let open: Vec<usize> = open
                .filter(|g| !kept.contains(g) && !dropped.contains(g))
                .collect();
            // The whole of the first round is known not to hold.
            let known = usize::from(open.len() == self.order.len());
            let tried = &open[..open.len().saturating_sub(known)];
            if tried.is_empty() {
                break;
            }
            let holding = self.longest_prefix(&kept, tried, &mut best, tell)?;
            kept.extend(&open[..holding]);
            match open.get(holding) {
                Some(group) => dropped.insert(*group),
                None => break,
            };
        }
        Ok(best.map(|(candidate, trial)| self.found(candidate, trial, &dropped)))
    }

    fn tolerance(&self) -> f64 {
        self.context.result.criteria.tolerance
    }

    fn found(&self, candidate: Candidate, trial: PatchTrial, dropped: &BTreeSet<usize>) -> Found {
        let groups = &self.context.result.groups;
        Found {
            candidate,
            trial,
            dropped: dropped
                .iter()
                .map(|g| groups[*g].group.name.clone())
                .collect(),
            tries: self.tries,
        }
    }

    /// How many of `open`, from the first on, hold together with `kept`, by bisection. `best` is the fastest source so far.
    fn longest_prefix(
        &mut self,
        kept: &BTreeSet<usize>,
        open: &[usize],
        best: &mut Option<(Candidate, PatchTrial)>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<usize, PatchError> {
        let (mut low, mut high) = (0, open.len());
        while low < high && self.left > 0 {
            let middle = (low + high).div_ceil(2);
            let groups: BTreeSet<usize> = kept.iter().chain(&open[..middle]).copied().collect();
            let mut holds = true;
            if let Some((candidate, trial)) = self.attempt(&groups, tell)? {
                // On the way, time need not be won yet.
                holds = trial.is_within(self.tolerance());
                let is_faster = best.as_ref().is_none_or(|b| match (trial.time, b.1.time) {
                    (Some(new), Some(old)) => new < old,
                    _ => true,
                });
                if trial.is_good(self.tolerance()) && is_faster {
                    *best = Some((candidate, trial));
                }
            }
            match holds {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        Ok(low)
    }
}

//! The search for the source that holds.
use super::*;

impl Search<'_> {
    pub(super) fn attempt(
        &mut self,
        kept: &BTreeSet<usize>,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Option<(Candidate, PatchTrial)>, PatchError> {
        let plan = without(self.plan, self.ground.result, kept);
        let c = self.ground.candidate(&plan)?;
        self.unsaid.clone_from(&c.unsaid);
        if c.edits.is_empty() && !c.compiled {
            return Ok(None);
        }
        self.left -= 1;
        self.tries += 1;
        let t = self
            .bench
            .patched(self.ground.sources, &c.texts, &c.held, &c.launch)?;
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
        let tolerance = self.ground.result.criteria.tolerance;
        let all: BTreeSet<usize> = self.order.iter().copied().collect();
        let fixed: BTreeSet<usize> = (0..self.ground.result.groups.len())
            .filter(|g| !all.contains(g))
            .collect();
        let with =
            |some: &BTreeSet<usize>| some.union(&fixed).copied().collect::<BTreeSet<usize>>();
        match self.attempt(&with(&all), tell)? {
            None => return Ok(None),
            Some((c, t)) if t.is_good(tolerance) => return Ok(Some((c, t, Vec::new()))),
            Some(_) => {}
        }
        let mut kept: BTreeSet<usize> = BTreeSet::new();
        let mut bad: BTreeSet<usize> = BTreeSet::new();
        let mut best: Option<(Candidate, PatchTrial)> = None;
        // The longest beginning of what is left that holds, by bisection; what stops it is put aside.
        while self.left > 0 {
            let open: Vec<usize> = self
                .order
                .iter()
                .copied()
                .filter(|g| !kept.contains(g) && !bad.contains(g))
                .collect();
            if open.is_empty() {
                break;
            }
            let (mut low, mut high) = (0, open.len());
            // The whole of the first round is known not to hold.
            if kept.is_empty() && bad.is_empty() {
                high -= 1;
                if high == 0 {
                    break;
                }
            }
            while low < high && self.left > 0 {
                let middle = (low + high).div_ceil(2);
                let some: BTreeSet<usize> = kept.iter().chain(&open[..middle]).copied().collect();
                let holds = match self.attempt(&with(&some), tell)? {
                    Some((c, t)) => {
                        // On the way, time need not be won yet.
                        let within = t.is_within(tolerance);
                        let better = best.as_ref().is_none_or(|b| match (t.time, b.1.time) {
                            (Some(a), Some(b)) => a < b,
                            _ => true,
                        });
                        if within && t.is_good(tolerance) && better {
                            best = Some((c, t));
                        }
                        within
                    }
                    None => true,
                };
                match holds {
                    true => low = middle,
                    false => high = middle - 1,
                }
            }
            kept.extend(&open[..low]);
            match open.get(low) {
                Some(g) => bad.insert(*g),
                None => break,
            };
        }
        let dropped = bad
            .iter()
            .map(|g| self.ground.result.groups[*g].group.name.clone())
            .collect();
        Ok(best.map(|(c, t)| (c, t, dropped)))
    }
}

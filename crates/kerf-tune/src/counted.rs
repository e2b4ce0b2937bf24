//! The cost model from counts, as the search asks it: kernels one by one, each plan of one looked at once.
use crate::models::CostModel;
use crate::problem::Tunable;
use crate::subject::Subject;
use kerf_device::cost::{self, CostError, Work};
use kerf_pass::{KernelPlan, Plan};
use kerf_search::Assignment;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// One kernel.
struct Part<'s> {
    name: String,
    subject: cost::Subject<'s>,
    /// Seconds by plan, as text.
    known: RefCell<BTreeMap<String, Option<f64>>>,
}

impl Part<'_> {
    /// Two versions are predicted one by one: which warps run which does not change what either does.
    fn seconds(&self, plan: &KernelPlan) -> Option<f64> {
        let Some(p) = &plan.partition else {
            return self.version(plan);
        };
        let first = KernelPlan {
            partition: None,
            ..plan.clone()
        };
        let second = KernelPlan {
            sites: p.sites.clone(),
            math: p.math.clone(),
            ..first.clone()
        };
        Some((1.0 - p.lambda) * self.version(&first)? + p.lambda * self.version(&second)?)
    }

    /// One version.
    fn version(&self, plan: &KernelPlan) -> Option<f64> {
        let text = serde_json::to_string(plan).ok()?;
        if let Some(s) = self.known.borrow().get(&text) {
            return *s;
        }
        let mut whole = Plan::default();
        if !plan.is_identity() {
            whole.kernels.insert(self.name.clone(), plan.clone());
        }
        let s = self.subject.device_seconds(&whole).ok();
        self.known.borrow_mut().insert(text, s);
        s
    }
}

/// Times predicted from a counting run and a device profile.
pub struct Counted<'s> {
    subject: &'s Subject,
    tunable: &'s Tunable,
    parts: Vec<Part<'s>>,
    profile: String,
    base: f64,
}

impl<'s> Counted<'s> {
    /// Looks at the kernels of a subject.
    pub fn new(
        subject: &'s Subject,
        tunable: &'s Tunable,
        device: &'s cost::CostModel,
        work: &Work,
    ) -> Result<Counted<'s>, CostError> {
        let m = subject
            .program
            .module()
            .map_err(|_| CostError::Kernel(subject.program.source.display().to_string()))?;
        let mut parts = Vec::new();
        for k in &subject.kernels {
            parts.push(Part {
                name: k.name.clone(),
                subject: device.kernel(&m, work, &k.symbol)?,
                known: RefCell::default(),
            });
        }
        let mut c = Counted {
            subject,
            tunable,
            parts,
            profile: device.profile_name().to_owned(),
            base: 0.0,
        };
        c.base = c.seconds(&vec![0; tunable.groups.len()]).unwrap_or(0.0);
        Ok(c)
    }

    fn seconds(&self, a: &Assignment) -> Option<f64> {
        let mut plan = self.tunable.plan(self.subject, a);
        let mut sum = 0.0;
        for p in &self.parts {
            let own = plan.kernels.remove(&p.name).unwrap_or_default();
            sum += p.seconds(&own)?;
        }
        Some(sum)
    }
}

impl CostModel for Counted<'_> {
    fn predict(&self, a: &Assignment) -> Option<f64> {
        (self.base > 0.0)
            .then(|| self.seconds(a))
            .flatten()
            .map(|s| s / self.base)
    }
    fn describe(&self) -> String {
        format!(
            "time on the device predicted from a counting run for profile {}",
            self.profile
        )
    }
}

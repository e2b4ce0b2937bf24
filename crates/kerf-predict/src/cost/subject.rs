//! A counted program whose plans are predicted.
use super::census::{self, KernelWork, Patterns};
use super::fitted::FittedConstants;
use super::launch::merged;
use super::rates::Rates;
use super::traffic::{KernelLaunch, working_set_bytes};
use super::{CostError, CostModel, LaunchPrediction, Prediction, ProgramWork, Resource};
use kerf_llvm::Module;
use kerf_pass::Plan;
use kerf_pass::count::{self, LaunchCounts};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A counted program, whose plans are predicted one after the other.
pub struct PredictedSubject<'c> {
    pub(super) model: &'c CostModel,
    /// The program, its blocks labelled with their numbers in the counts.
    pub(super) module: Module,
    rates: Rates<'c>,
    /// Kernels of the program without a plan.
    unplanned: BTreeMap<String, KernelWork>,
    patterns: Patterns,
    launches: Vec<LaunchCounts>,
    copies: u64,
    copied_bytes: u64,
    /// Working set of the whole program over that of the predicted launches.
    working_set_ratio: f64,
    /// How records were stored in what was counted.
    pub(super) records: Plan,
}

/// Launches of a program under a plan.
pub(super) struct PlannedLaunches<'k> {
    rates: &'k Rates<'k>,
    /// Work under the plan, work without it, and counts.
    launches: Vec<(Cow<'k, KernelWork>, &'k KernelWork, &'k LaunchCounts)>,
    l2_miss_fraction: f64,
}

impl PlannedLaunches<'_> {
    pub(super) fn launches(&self) -> impl Iterator<Item = KernelLaunch<'_>> {
        self.launches
            .iter()
            .map(|(work, unplanned, counts)| KernelLaunch {
                rates: self.rates,
                work,
                unplanned,
                counts,
                l2_miss_fraction: self.l2_miss_fraction,
            })
    }
}

/// Gives launches whose warps were not followed the figures of the kernel's first launch that has them.
fn complete_lanes(launches: &mut [LaunchCounts]) {
    let mut first = BTreeMap::new();
    for l in launches {
        let (together, spread) = first
            .entry(l.symbol.clone())
            .or_insert_with(|| (l.together.clone(), l.spread));
        if l.together.is_empty() {
            (l.together, l.spread) = (together.clone(), *spread);
        }
    }
}

impl<'c> PredictedSubject<'c> {
    /// Prepares a program, or one of its kernels by symbol. `counted_as` is the plan under which it was counted: of layouts of
    /// records alone, which add no blocks.
    pub(super) fn new(
        model: &'c CostModel,
        original: &Module,
        (work, counted_as): (&ProgramWork, &Plan),
        only: Option<&str>,
    ) -> Result<PredictedSubject<'c>, CostError> {
        let module = original.duplicate();
        // Every prediction copies it.
        module.lighten_debug();
        count::label(&module);
        let rates = Rates::from_profile(&model.profile);
        let mut patterns = Patterns::new();
        for l in work.launches.iter().filter(|l| !l.patterns.is_empty()) {
            patterns
                .entry(l.symbol.clone())
                .or_insert_with(|| l.patterns.clone());
        }
        let mut counted = work.launches.clone();
        complete_lanes(&mut counted);
        let register_limit = model.machine.registers_per_thread;
        let laid_out = module.duplicate();
        counted_as.apply(&laid_out)?;
        let unplanned = census::kernels_of(&laid_out, &rates, register_limit, &patterns);
        for l in &counted {
            // Counts of another program would be read at the wrong blocks.
            let fits = unplanned
                .get(&l.symbol)
                .is_some_and(|k| k.blocks.iter().all(|b| b.number < l.blocks.len()));
            if !fits {
                return Err(CostError::Kernel(l.symbol.clone()));
            }
        }
        let working_set = |launches: &[LaunchCounts]| {
            let bytes = |l: &LaunchCounts| {
                let k = unplanned.get(&l.symbol)?;
                Some(working_set_bytes(k, k, l))
            };
            launches.iter().filter_map(bytes).fold(0.0, f64::max)
        };
        let mut launches = merged(&counted);
        if let Some(symbol) = only {
            launches.retain(|l| l.symbol == symbol);
            for f in module.kernel_functions() {
                if f.name() != symbol && f.users().is_empty() {
                    f.delete_function();
                }
            }
        }
        let working_set_ratio = working_set(&counted) / f64::max(working_set(&launches), 1.0);
        Ok(PredictedSubject {
            model,
            module,
            rates,
            unplanned,
            patterns,
            launches,
            copies: work.copies,
            copied_bytes: work.copied_bytes,
            working_set_ratio,
            records: counted_as.of_records(),
        })
    }
}

impl PredictedSubject<'_> {
    /// Seconds that the device works in one run under a plan, without overheads of launches and without copies: what remains
    /// when a program is large enough, or runs often enough, that those do not matter.
    pub fn device_seconds(&self, plan: &Plan) -> Result<f64, CostError> {
        let p = self.predict(plan)?;
        let one = |l: &LaunchPrediction| l.device_seconds * l.repeats as f64;
        Ok(p.launches.iter().map(one).sum())
    }

    /// Predicts one run under a plan from the prepared program.
    pub fn predict(&self, plan: &Plan) -> Result<Prediction, CostError> {
        let shipped = std::slice::from_ref(FittedConstants::shipped());
        let mut all = self.predict_fitted(plan, None, shipped)?;
        Ok(all.swap_remove(0))
    }

    /// Kernels of the program under a plan.
    pub(super) fn census(&self, planned: &Module) -> BTreeMap<String, KernelWork> {
        let register_limit = self.model.machine.registers_per_thread;
        census::kernels_of(planned, &self.rates, register_limit, &self.patterns)
    }

    /// The launches of the program with the kernels of a plan.
    pub(super) fn planned_launches<'k>(
        &'k self,
        kernels: &'k BTreeMap<String, KernelWork>,
    ) -> Result<PlannedLaunches<'k>, CostError> {
        let mut launches = Vec::new();
        let mut working_set = 0.0f64;
        for l in &self.launches {
            let kernel = (kernels.get(&l.symbol), self.unplanned.get(&l.symbol));
            let (Some(work), Some(unplanned)) = kernel else {
                return Err(CostError::Kernel(l.symbol.clone()));
            };
            let work = work.for_launch(&self.patterns, l);
            working_set = working_set.max(working_set_bytes(&work, unplanned, l));
            launches.push((work, unplanned, l));
        }
        // A launch finds in L2 what the one before left there. Kernels that are not predicted grow and shrink with these.
        let working_set = working_set * self.working_set_ratio;
        Ok(PlannedLaunches {
            rates: &self.rates,
            launches,
            l2_miss_fraction: self.model.l2_miss_fraction(working_set),
        })
    }

    /// A run of these launches.
    pub(super) fn run_of(
        &self,
        launches: Vec<LaunchPrediction>,
        c: &FittedConstants,
    ) -> Prediction {
        let model = self.model;
        let mut by_limit: BTreeMap<Resource, f64> = BTreeMap::new();
        // Only the first launch is waited for; later ones are sent while others run.
        let copied =
            self.copies as f64 * model.launch_s + 2.0 * self.copied_bytes as f64 / model.bandwidth;
        let mut seconds = c.run.start_s + copied;
        by_limit.insert(Resource::Launch, seconds);
        for p in &launches {
            let all = p.seconds * p.repeats as f64;
            seconds += all;
            *by_limit.entry(p.limit).or_insert(0.0) += all;
        }
        let limit = by_limit
            .iter()
            .max_by(|a, b| a.1.total_cmp(b.1))
            .map_or(Resource::Launch, |l| *l.0);
        Prediction {
            basis: "predicted",
            profile: model.profile.name.clone(),
            seconds,
            limit,
            by_limit,
            launches,
            assumed: self.rates.assumed(),
        }
    }
}

//! Which models of time and error a search uses, and its view of them.
//!
//! [`cost_model`] and [`sensitivity`] are the only places that decide which are used: better ones are put in there, and
//! nothing else changes.
use crate::coded::{self, Assembler, Coded};
use crate::counted::{CountedTimes, Recount, work};
use crate::full_size::{FullCounts, FullSizeTimes};
use crate::prediction::cores;
pub use crate::prediction::{CostKind, ErrorPredictor, TimePredictor, Unknown};
use crate::ranges::Ranges;
use crate::score::{StaticScore, Weights};
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_device::profile::DeviceProfile;
use kerf_pass::plan::Plan;
use kerf_predict::cost::{self, CostError};
use kerf_run::job::ProgramCounts;
use kerf_search::{Answers, Assignment, Models, Problem};
use std::rc::Rc;

/// The static score as published, of what AMPT-GA goes by.
pub fn published_score<'s>(subject: &'s Subject, tunable: &'s Tunable) -> StaticScore<'s> {
    StaticScore::new(subject, tunable, Weights::published())
}

/// The static score.
pub fn static_score<'s>(
    subject: &'s Subject,
    tunable: &'s Tunable,
    profile: &DeviceProfile,
) -> Box<dyn TimePredictor + 's> {
    Box::new(StaticScore::new(
        subject,
        tunable,
        Weights::from_profile(profile),
    ))
}

/// The models of a search without a GPU: one that guides it, and one from machine code, where there is an assembler, whose times
/// are the result's.
pub struct PredictedTimes<'s> {
    /// Guides the search.
    pub guide: FullSizeTimes<'s>,
    /// Judges what ran.
    pub judge: Option<FullSizeTimes<'s>>,
}

/// Models from counts at the sizes of a GPU, where there are some, and at the CPU's.
pub fn predicted_times<'s>(
    (subject, tunable): (&'s Subject, &'s Tunable),
    device: &'s cost::CostModel,
    (own, full): (&ProgramCounts, Option<&FullCounts>),
    count: Option<Box<Recount<'s>>>,
    assembler: Option<&Assembler>,
) -> Result<PredictedTimes<'s>, CostError> {
    let at = full.map_or(own, |f| &f.counts);
    let counted = CountedTimes::new(subject, tunable, device, &work(at))?.recounting(count);
    let counted = Rc::new(counted);
    let sizes = full.map_or_else(|| "at the sizes that ran".into(), |f| f.words.clone());
    let coded = assembler
        .and_then(|by| Coded::on_demand(subject, tunable, device, &work(at), by, usize::MAX).ok());
    let with = |coded| {
        let subject = (subject, tunable);
        FullSizeTimes::new(subject, counted.clone(), coded, sizes.clone())
    };
    Ok(PredictedTimes {
        guide: with(None),
        judge: coded.map(|c| with(Some(c))),
    })
}

/// The cost model in use: from counts where there are some, or else the static score and why it is that.
pub fn cost_model<'s>(
    subject: &'s Subject,
    tunable: &'s Tunable,
    profile: &DeviceProfile,
    device: &'s Result<cost::CostModel, CostError>,
    counts: Option<&ProgramCounts>,
    count: Option<Box<Recount<'s>>>,
) -> (Box<dyn TimePredictor + 's>, Option<String>) {
    let Some(counts) = counts else {
        return (static_score(subject, tunable, profile), None);
    };
    let why = match device {
        Ok(d) => match CountedTimes::new(subject, tunable, d, &work(counts)) {
            Ok(c) => return (Box::new(c.recounting(count)), None),
            Err(e) => e.to_string(),
        },
        Err(e) => e.to_string(),
    };
    let told = format!("times are by the static score: {why}");
    (static_score(subject, tunable, profile), Some(told))
}

/// What predictions for this size do not tell of larger ones: a device that is not filled waits, whatever the formats.
pub fn unfilled(
    subject: &Subject,
    device: &Result<cost::CostModel, CostError>,
    counts: Option<&ProgramCounts>,
) -> Option<String> {
    let (Ok(device), Some(counts)) = (device, counts) else {
        return None;
    };
    let m = subject.program.module().ok()?;
    let run = device.predict(&m, &Plan::default(), &work(counts)).ok()?;
    use cost::Resource::{Latency, Launch, MemoryLatency};
    matches!(run.limit, Launch | Latency | MemoryLatency).then(|| {
        format!(
            "at this size the program's time is mostly {}; a size that fills the device may gain more, or less: --size",
            run.limit
        )
    })
}

/// The second model of a search that measures, from machine code, where there is an assembler. `compiled` hears how many plans of
/// how many were compiled beforehand.
pub fn code_model<'s>(
    subject: &'s Subject,
    tunable: &'s Tunable,
    device: &'s Result<cost::CostModel, CostError>,
    counts: Option<&ProgramCounts>,
    assembler: Option<&Assembler>,
    compiled: &mut dyn FnMut(usize, usize),
) -> Option<Coded<'s>> {
    let (Ok(device), Some(counts), Some(by)) = (device, counts, assembler) else {
        return None;
    };
    let most = cores() * coded::EACH_CORE;
    let model = Coded::new(subject, tunable, device, &work(counts), by, most, compiled);
    // Without it the search goes by the other model.
    model.ok().flatten()
}

/// The sensitivity profile in use: what the counted ranges say, if there are some.
pub fn sensitivity(
    subject: &Subject,
    tunable: &Tunable,
    counts: Option<&ProgramCounts>,
) -> Box<dyn ErrorPredictor> {
    match counts {
        Some(c) => Box::new(Ranges::new(subject, tunable, c)),
        None => Box::new(Unknown),
    }
}

/// Writes what the models say of single groups into a problem, for strategies that read it there. Gives
/// what is forbidden, and why.
pub fn inform(
    problem: &mut Problem,
    cost: &dyn TimePredictor,
    errors: &dyn ErrorPredictor,
) -> Vec<String> {
    inform_but(problem, cost, errors, &[])
}

/// [`inform`], but for some variables, which stay at their first level while the others are looked at.
pub fn inform_but(
    problem: &mut Problem,
    cost: &dyn TimePredictor,
    errors: &dyn ErrorPredictor,
    but: &[usize],
) -> Vec<String> {
    let vetoes = veto(problem, errors, but);
    let (mut costs, casts) = single_costs(problem, cost, but);
    share_out(problem, cost, but, &mut costs);
    for (v, own) in problem.variables.iter_mut().zip(costs) {
        for (level, c) in v.levels.iter_mut().zip(own) {
            level.cost = c;
        }
    }
    let mut meetings = vec![0.0; problem.variables.len()];
    for e in &problem.edges {
        meetings[e.a] += e.weight;
        meetings[e.b] += e.weight;
    }
    for e in &mut problem.edges {
        let part = |i: usize| casts[i] * e.weight / meetings[i];
        e.weight = 0.5 * (part(e.a) + part(e.b));
    }
    vetoes
}

/// Writes errors and vetoes of single groups into a problem. Gives what is forbidden, and why.
fn veto(problem: &mut Problem, errors: &dyn ErrorPredictor, but: &[usize]) -> Vec<String> {
    let mut vetoes = Vec::new();
    let variables = problem.variables.iter_mut().enumerate();
    for (i, v) in variables.filter(|v| !but.contains(&v.0)) {
        for (l, level) in v.levels.iter_mut().enumerate().skip(1) {
            level.error = errors.error(i, l as u8);
            if let Some(why) = errors.veto(i, l as u8) {
                level.veto = true;
                vetoes.push(format!("{} as {}: {why}", v.name, level.name));
            }
        }
    }
    vetoes
}

/// The assignment with all variables at one level, but for some, which are at their first.
fn uniform_but(problem: &Problem, level: usize, but: &[usize]) -> Assignment {
    let mut a = problem.uniform(level as u8);
    but.iter().for_each(|i| a[*i] = 0);
    a
}

/// Assignments that tell what each group costs: one alone at a level, all but one at it, and all.
fn singles(problem: &Problem, but: &[usize]) -> Vec<Assignment> {
    let identity = problem.identity();
    let mut all = vec![identity.clone()];
    for (i, v) in problem.variables.iter().enumerate() {
        for l in (1..v.levels.len()).filter(|_| !but.contains(&i)) {
            let together = uniform_but(problem, l, but);
            let (mut alone, mut without) = (identity.clone(), together.clone());
            (alone[i], without[i]) = (l as u8, 0);
            all.extend([alone, without, together]);
        }
    }
    all.sort();
    all.dedup();
    all
}

/// What each group costs at each of its levels, as its share of the time; and its conversions towards its neighbours, at its
/// first level below its own.
fn single_costs(
    problem: &Problem,
    cost: &dyn TimePredictor,
    but: &[usize],
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let time = |a: &Assignment| cost.predict(a).unwrap_or(1.0);
    let identity = problem.identity();
    cost.prepare(&singles(problem, but));
    let share = 1.0 / problem.variables.len().max(1) as f64;
    let mut casts = vec![0.0; problem.variables.len()];
    let mut costs: Vec<Vec<f64>> = Vec::new();
    for (i, v) in problem.variables.iter().enumerate() {
        let mut own = vec![share];
        if but.contains(&i) {
            // A shape is as good as another until one ran.
            own.resize(v.levels.len(), share);
        }
        for l in own.len()..v.levels.len() {
            let mut alone = identity.clone();
            alone[i] = l as u8;
            let together = uniform_but(problem, l, but);
            let mut without = together.clone();
            without[i] = 0;
            // Alone, a group saves its operations and pays for conversions; the last one to be lowered
            // saves both. The sum of the two is the conversions, twice.
            let saved = time(&without) - time(&together);
            let met = (0.5 * (saved + time(&alone) - time(&identity))).max(0.0);
            if l == 1 {
                casts[i] = met;
            }
            own.push((share - (saved - met)).max(0.0));
        }
        costs.push(own);
    }
    (costs, casts)
}

/// What belongs to no pair of groups, such as conversions at loads, is shared out, so that plans of one level have the
/// model's time.
fn share_out(problem: &Problem, cost: &dyn TimePredictor, but: &[usize], costs: &mut [Vec<f64>]) {
    let deepest = costs.iter().map(Vec::len).max().unwrap_or(1);
    for l in 1..deepest {
        let at = |own: &Vec<f64>| own[l.min(own.len() - 1)];
        let sum: f64 = costs.iter().map(at).sum();
        let moves = |i: usize, own: &[f64]| !but.contains(&i) && own.len() > l;
        let each = costs.iter().enumerate();
        let movable = each.filter(|(i, own)| moves(*i, own)).count() as f64;
        let whole = cost.predict(&uniform_but(problem, l, but)).unwrap_or(1.0);
        let more = (whole - sum) / movable.max(1.0);
        let each = costs.iter_mut().enumerate();
        for (_, own) in each.filter(|(i, own)| moves(*i, own)) {
            own[l] = (own[l] + more).max(0.0);
        }
    }
}

/// What the strategies ask for.
pub struct Predictions<'m> {
    /// Time.
    pub cost: &'m dyn TimePredictor,
    /// Time from machine code.
    pub code: Option<&'m Coded<'m>>,
    /// AMPT-GA's score; none where `cost` is a static score itself.
    pub published: Option<&'m dyn TimePredictor>,
}

impl Models for Predictions<'_> {
    fn time(&self, a: &[u8]) -> Option<f64> {
        self.cost.predict(&a.to_vec())
    }
    fn times_at_once(&self) -> usize {
        self.cost.at_once()
    }
    fn prepare_times(&self, all: &[Assignment]) {
        self.cost.prepare(all);
    }
    fn other_time(&self, a: &[u8]) -> Option<f64> {
        self.code?.predict(&a.to_vec())
    }
    fn other_answers(&self) -> Answers {
        let none = Answers {
            in_all: 0,
            at_once: 1,
        };
        self.code.map_or(none, Coded::answers)
    }
    fn prepare_other(&self, all: &[Assignment]) {
        if let Some(c) = self.code {
            c.prepare(all);
        }
    }
    fn static_score(&self, a: &[u8]) -> Option<f64> {
        self.published?.predict(&a.to_vec())
    }
}

//! PTX of programs under plans: made when it is asked for, or ahead on other cores while a GPU measures.
use super::{Job, JobError};
use kerf_clang::sha256;
use kerf_exec::cuda::assemble;
use kerf_ir::program::Program;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of PTX that are kept, at most.
const KEPT_PTX: usize = 64 << 20;

/// A program under a plan.
pub(super) struct PlannedCode {
    pub ptx: String,
    /// Kernels write lines for people.
    pub prints: bool,
}

/// Programs under plans, the last ones made: most plans are evaluated more than once, on other inputs or with more samples.
#[derive(Default)]
struct PlannedPrograms {
    made: VecDeque<(String, Arc<PlannedCode>)>,
    /// Keys of those that another thread makes now.
    being_made: BTreeSet<String>,
}

impl PlannedPrograms {
    fn get(&self, key: &str) -> Option<Arc<PlannedCode>> {
        let found = self.made.iter().find(|(k, _)| k == key);
        found.map(|(_, code)| code.clone())
    }

    fn keep(&mut self, key: String, code: Arc<PlannedCode>) {
        self.made.push_back((key, code));
        let size = |(k, c): &(String, Arc<PlannedCode>)| k.len() + c.ptx.len();
        while self.made.len() > 1 && self.made.iter().map(size).sum::<usize>() > KEPT_PTX {
            self.made.pop_front();
        }
    }
}

/// All of a job that its code depends on: what is run, not on which inputs and how often.
fn key(job: &Job, program: &Program) -> Option<String> {
    let code = Job {
        seed: None,
        perturb: None,
        accept: None,
        reference: false,
        count: None,
        warmup: 0,
        repeats: 1,
        skip_losses: false,
        steady_repeats: None,
        sample_s: 0.0,
        energy_s: 0.0,
        save: None,
        baseline: false,
        scatter: false,
        brief: false,
        ahead: Vec::new(),
        ..job.clone()
    };
    let job = serde_json::to_string(&code).ok()?;
    Some(format!("{} {job}", sha256(&program.bitcode)))
}

/// Makes the code of a job's program under its plan from the job alone, on any thread.
pub(super) type MakeCode = fn(&Job) -> Result<PlannedCode, JobError>;

/// Programs under plans that threads of a process share.
#[derive(Clone, Default)]
pub(super) struct PlanShelf(Arc<(Mutex<PlannedPrograms>, Condvar)>);

impl PlanShelf {
    fn programs(&self) -> MutexGuard<'_, PlannedPrograms> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The code of a job's program under its plan: what is there, what another thread is about to have made, or what
    /// `make` makes.
    pub fn code(
        &self,
        job: &Job,
        program: &Program,
        make: impl FnOnce() -> Result<PlannedCode, JobError>,
    ) -> Result<Arc<PlannedCode>, JobError> {
        let key = key(job, program);
        if let Some(key) = &key {
            let being_made = |p: &mut PlannedPrograms| p.being_made.contains(key);
            let programs = self.0.1.wait_while(self.programs(), being_made);
            let programs = programs.unwrap_or_else(PoisonError::into_inner);
            if let Some(code) = programs.get(key) {
                return Ok(code);
            }
        }
        let code = Arc::new(make()?);
        if let Some(key) = key {
            self.programs().keep(key, code.clone());
        }
        Ok(code)
    }

    /// Starts to make the code of the plans that a job says are likely to come next, by `make` and as far as cores are free
    /// for it. What goes wrong shows when the plan is asked for.
    pub fn make_ahead(&self, job: &Job, program: &Program, make: MakeCode) {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        // The search needs some itself, and so do searches beside it.
        let most = cores / 2;
        for plan in &job.ahead {
            let next = Job {
                plan: plan.clone(),
                ahead: Vec::new(),
                ..job.clone()
            };
            let Some(key) = key(&next, program) else {
                continue;
            };
            let mut programs = self.programs();
            let is_known = programs.get(&key).is_some();
            if is_known
                || programs.being_made.len() >= most
                || !programs.being_made.insert(key.clone())
            {
                continue;
            }
            drop(programs);
            let shelf = self.clone();
            std::thread::spawn(move || shelf.fill(&next, key, make));
        }
    }

    /// Makes the code of a job, and has the driver assemble it: that keeps what it assembled.
    fn fill(&self, job: &Job, key: String, make: MakeCode) {
        let _mark = BeingMade {
            shelf: self,
            key: &key,
        };
        let Ok(code) = make(job) else {
            return;
        };
        let _ = assemble(&code.ptx, job.ordinal);
        self.programs().keep(key.clone(), Arc::new(code));
    }
}

/// Takes the mark away that a program is being made, whatever comes of it.
struct BeingMade<'s> {
    shelf: &'s PlanShelf,
    key: &'s str,
}

impl Drop for BeingMade<'_> {
    fn drop(&mut self) {
        self.shelf.programs().being_made.remove(self.key);
        self.shelf.0.1.notify_all();
    }
}

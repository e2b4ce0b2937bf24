//! PTX of programs under plans: made when it is asked for, or ahead on other cores while a GPU measures.
use super::{Device, Job, JobError};
use kerf_clang::sha256;
use kerf_exec::ExecError;
use kerf_exec::cuda::{Code, assemble};
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
    /// The code that the driver made of it, for the first that takes it.
    assembled: Mutex<Option<Code>>,
}

impl PlannedCode {
    pub(super) fn new(ptx: String, prints: bool) -> PlannedCode {
        PlannedCode {
            ptx,
            prints,
            assembled: Mutex::new(None),
        }
    }

    /// Its code on a GPU, on which an executor has its variables to itself.
    pub(super) fn assembled(&self, ordinal: i32) -> Result<Code, ExecError> {
        let mut made = self
            .assembled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match made.take() {
            Some(code) => Ok(code),
            None => assemble(&self.ptx, ordinal),
        }
    }

    /// Has the driver make the code. What goes wrong shows when it is asked for.
    fn assemble_ahead(&self, ordinal: i32) {
        if let Ok(code) = assemble(&self.ptx, ordinal) {
            *self
                .assembled
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(code);
        }
    }
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

/// All of a job that its code depends on, but for the program: what is run, not on which inputs and how often.
fn description(job: &Job) -> Option<String> {
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
        skip_digests: false,
        answers: None,
        keep_inputs: false,
        baseline: false,
        scatter: false,
        brief: false,
        ahead: Vec::new(),
        next: Vec::new(),
        ..job.clone()
    };
    serde_json::to_string(&code).ok()
}

/// All that the code of a job depends on.
fn key(job: &Job, program: &Program) -> Option<String> {
    Some(key_of(&description(job)?, program))
}

fn key_of(description: &str, program: &Program) -> String {
    format!("{} {description}", sha256(&program.bitcode))
}

/// Makes the code of a job's program under its plan from the job alone, on any thread.
pub(super) type MakeCode = fn(&Job) -> Result<PlannedCode, JobError>;

/// Compiles the program of a job as it is, on any thread.
pub(super) type CompileProgram = fn(&Job) -> Result<Program, JobError>;

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
        let description = description(job);
        let key = description.as_deref().map(|d| key_of(d, program));
        if let (Some(key), Some(job)) = (&key, &description) {
            let being_made =
                |p: &mut PlannedPrograms| [key, job].iter().any(|k| p.being_made.contains(*k));
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

    /// The same for jobs that are likely to come next, whose programs are compiled as well. They are marked by what is known
    /// of them before.
    pub fn make_next(&self, job: &Job, (compile, make): (CompileProgram, MakeCode)) {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let here = |next: &&Job| next.device == Device::Cuda;
        for next in job.next.iter().filter(here) {
            let Some(mark) = description(next) else {
                continue;
            };
            let mut programs = self.programs();
            if programs.being_made.len() >= cores / 2 || !programs.being_made.insert(mark.clone()) {
                continue;
            }
            drop(programs);
            let (shelf, next) = (self.clone(), next.clone());
            std::thread::spawn(move || {
                let _mark = BeingMade {
                    shelf: &shelf,
                    key: &mark,
                };
                let Ok(program) = compile(&next) else {
                    return;
                };
                let key = key_of(&mark, &program);
                let is_known = shelf.programs().get(&key).is_some();
                if !is_known {
                    shelf.fill(&next, key, make);
                }
            });
        }
    }

    /// Makes the code of a job, and has the driver assemble it.
    fn fill(&self, job: &Job, key: String, make: MakeCode) {
        let _mark = BeingMade {
            shelf: self,
            key: &key,
        };
        let Ok(code) = make(job) else {
            return;
        };
        code.assemble_ahead(job.ordinal);
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

#[cfg(test)]
mod tests {
    use super::super::ExpectedOutputs;
    use super::*;
    use kerf_clang::compile::Toolchain;
    use std::path::PathBuf;
    use std::time::Duration;

    fn job(path: &str) -> Job {
        Job {
            device: Device::Cuda,
            ..Job::plain(PathBuf::from(path), &Toolchain::default())
        }
    }

    /// A program that is told from others by its workload.
    fn compile(job: &Job) -> Result<Program, JobError> {
        Ok(Program {
            source: job.workload.clone(),
            bitcode: job.workload.display().to_string().into_bytes(),
            unlifted: Vec::new(),
            cached: false,
        })
    }

    /// Code that takes a while to be made.
    fn make(job: &Job) -> Result<PlannedCode, JobError> {
        std::thread::sleep(Duration::from_millis(100));
        let ptx = format!("code of {}", job.workload.display());
        Ok(PlannedCode::new(ptx, false))
    }

    fn not_made() -> Result<PlannedCode, JobError> {
        Err(JobError::Worker("made when it was asked for".into()))
    }

    #[test]
    fn code_of_jobs_that_were_announced_is_waited_for() {
        let shelf = PlanShelf::default();
        let now = Job {
            next: vec![job("next.toml")],
            ..job("now.toml")
        };
        shelf.make_next(&now, (compile, make));
        // How often it runs, where outputs go and what they are to be, does not change code.
        let asked = Job {
            repeats: 7,
            save: Some("folder".into()),
            answers: Some(ExpectedOutputs {
                files: vec![("y".into(), "y.npy".into())],
                rtol: 1e-5,
                atol: 0.0,
            }),
            keep_inputs: true,
            next: vec![job("later.toml")],
            ..job("next.toml")
        };
        let program = compile(&asked).expect("a program");
        let code = shelf.code(&asked, &program, not_made).expect("made ahead");
        assert_eq!(code.ptx, "code of next.toml");
        assert!(shelf.programs().being_made.is_empty());
        let other = job("other.toml");
        let program = compile(&other).expect("a program");
        assert!(shelf.code(&other, &program, not_made).is_err());
    }
}

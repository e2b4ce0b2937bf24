//! Predictions of plans on all cores. Each thread has kernels of its own, since LLVM's contexts are each of one thread, and keeps them for
//! the next plans: to prepare a kernel takes longer than to predict one of its plans.
use crate::prediction::cores;
use kerf_llvm::Module;
use kerf_pass::{KernelPlan, Plan};
use kerf_predict::cost::{CostModel, PredictedSubject, ProgramWork};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// Stack of a thread: as large as the system gives to the first one, since LLVM recurses.
const STACK_BYTES: usize = 8 << 20;

/// What threads share.
struct CountedProgram {
    model: CostModel,
    bitcode: Vec<u8>,
    work: ProgramWork,
    /// Name in plans and symbol of each kernel.
    kernels: Vec<(String, String)>,
}

/// A plan of a kernel as a plan of a program.
pub(crate) fn alone(name: &str, plan: &KernelPlan) -> Plan {
    let mut whole = Plan::default();
    if !plan.is_identity() {
        whole.kernels.insert(name.to_owned(), plan.clone());
    }
    whole
}

/// A plan of a kernel, by its position and as text.
type Wanted = (usize, String);

/// A question, and who hears the answer.
struct Question {
    wanted: Wanted,
    plan: KernelPlan,
    tell: Sender<(Wanted, Option<f64>)>,
}

/// Threads that predict plans of the kernels of a counted program. They begin with the first questions.
pub(crate) struct PredictionThreads {
    program: Arc<CountedProgram>,
    running: OnceCell<RunningThreads>,
}

struct RunningThreads {
    /// None where they have to end.
    questions: Option<Sender<Question>>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for RunningThreads {
    /// Waits for their ends: what LLVM made is freed before the process ends.
    fn drop(&mut self) {
        self.questions = None;
        for thread in self.threads.drain(..) {
            // One that panicked has ended too.
            let _ = thread.join();
        }
    }
}

impl PredictionThreads {
    /// For a prepared module that was counted, and names in plans and symbols of its kernels.
    pub fn new<'n>(
        model: &CostModel,
        (m, work): (&Module, &ProgramWork),
        kernels: impl Iterator<Item = (&'n str, &'n str)>,
    ) -> PredictionThreads {
        let owned = |(name, symbol): (&str, &str)| (name.to_owned(), symbol.to_owned());
        PredictionThreads {
            program: Arc::new(CountedProgram {
                model: model.clone(),
                bitcode: m.bitcode(),
                work: work.clone(),
                kernels: kernels.map(owned).collect(),
            }),
            running: OnceCell::new(),
        }
    }

    /// Seconds of kernels under plans; none where they cannot be told.
    pub fn seconds(
        &self,
        plans: BTreeMap<Wanted, KernelPlan>,
    ) -> impl Iterator<Item = (Wanted, Option<f64>)> {
        let running = self.running.get_or_init(|| self.start());
        let (tell, told) = channel();
        for (wanted, plan) in plans {
            let tell = tell.clone();
            if let Some(ask) = &running.questions {
                // Without threads nothing is told, and who asks predicts by itself.
                let _ = ask.send(Question { wanted, plan, tell });
            }
        }
        told.into_iter()
    }

    fn start(&self) -> RunningThreads {
        let (ask, asked) = channel();
        let asked = Arc::new(Mutex::new(asked));
        let one = |_| {
            let (program, asked) = (self.program.clone(), asked.clone());
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            // With fewer threads it takes longer.
            thread.spawn(move || answer(&program, &asked)).ok()
        };
        RunningThreads {
            threads: (0..cores()).filter_map(one).collect(),
            questions: Some(ask),
        }
    }
}

/// Answers until nobody can ask any more.
fn answer(program: &CountedProgram, asked: &Mutex<Receiver<Question>>) {
    let Ok(module) = Module::parse(&program.bitcode, "program") else {
        return;
    };
    let mut kernels: BTreeMap<usize, Option<PredictedSubject>> = BTreeMap::new();
    loop {
        let next = asked.lock().unwrap_or_else(|e| e.into_inner()).recv();
        let Ok(Question { wanted, plan, tell }) = next else {
            return;
        };
        let (name, symbol) = &program.kernels[wanted.0];
        let kernel = kernels
            .entry(wanted.0)
            .or_insert_with(|| program.model.kernel(&module, &program.work, symbol).ok());
        let seconds = kernel
            .as_ref()
            .and_then(|k| k.device_seconds(&alone(name, &plan)).ok());
        // Who asked may have ended.
        let _ = tell.send((wanted, seconds));
    }
}

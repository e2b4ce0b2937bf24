//! Runs of one program on one input under other circumstances: memory that held something else, earlier runs on other inputs,
//! another order of blocks.
use super::super::JobError;
use crate::run::{Contents, FirstContents, LoadedBuffers, WorkloadSession};
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuCode, CpuExecutor, CpuOptions};
use kerf_workload::generate::special::InputChange;
use kerf_workload::workload::{BufferSpec, Defined};
use std::sync::Arc;

/// What memory without first contents holds in the second and in the third run. As numbers they are large and small, of
/// both signs, and no result by chance.
const POISON: [u8; 2] = [0x5a, 0xa5];

/// Added to the seed for the inputs of earlier runs.
const EARLIER_SEED: u64 = 0x6b65_7266;

/// Outputs of a program under three circumstances.
pub(super) struct Runs {
    /// On zeroed memory, in a process that ran nothing before.
    pub first: Vec<Vec<u8>>,
    /// Behind runs on other inputs at the same addresses, with poisoned outputs.
    pub again: Vec<Vec<u8>>,
    /// In a new process with other poison and another order of blocks.
    pub fresh: Vec<Vec<u8>>,
    /// Which buffers the first run changed, of those whose first content the file gives and that are no outputs.
    pub changed: Vec<bool>,
    /// Scalars of each output that no run wrote; empty where outputs were not poisoned.
    pub unwritten: Vec<Vec<bool>>,
}

/// How a program is run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunPlan {
    /// Runs on other inputs before the second.
    pub earlier: u32,
    /// Outputs without a first content are poisoned.
    pub poisoned: bool,
    /// Threads of the executor.
    pub threads: usize,
}

impl RunPlan {
    /// Contents, poisoned where they are to be.
    fn held(&self, session: &WorkloadSession, contents: &Contents, pattern: u8) -> Contents {
        match self.poisoned {
            true => poisoned(session, contents, pattern),
            false => contents.clone(),
        }
    }
}

/// Whether a program may not rely on what a buffer holds first.
fn is_poisonable(b: &BufferSpec) -> bool {
    b.defined != Defined::Given && b.symbol.is_none()
}

/// Contents with poison where the file gives none.
fn poisoned(session: &WorkloadSession, contents: &Contents, pattern: u8) -> Contents {
    let buffers = session.workload.buffers.iter();
    let all = buffers.zip(contents.iter());
    let each = all.map(|(b, bytes)| match is_poisonable(b) {
        true => vec![pattern; bytes.len()],
        false => bytes.clone(),
    });
    Arc::new(each.collect())
}

fn outputs(
    session: &WorkloadSession,
    exec: &mut dyn Executor,
    l: &LoadedBuffers,
) -> Result<Vec<Vec<u8>>, JobError> {
    let all = session.outputs().into_iter();
    all.map(|o| Ok(session.output(exec, l, o)?)).collect()
}

fn fill(exec: &mut dyn Executor, l: &LoadedBuffers, contents: &Contents) -> Result<(), JobError> {
    for (id, bytes) in l.ids.iter().zip(contents.iter()) {
        exec.write(*id, bytes)?;
    }
    Ok(())
}

/// One run in an executor of its own.
pub(super) fn fresh_run(
    code: &CpuCode,
    session: &WorkloadSession,
    contents: Contents,
    options: CpuOptions,
) -> Result<Vec<Vec<u8>>, JobError> {
    let mut exec = CpuExecutor::from_code(code, options)?;
    let mut l = session.load_with(&mut exec, Some(FirstContents::Host(contents)))?;
    session.run(&mut exec, &mut l)?;
    outputs(session, &mut exec, &l)
}

/// Buffers that a run changed, of those that are inputs only.
fn changed_inputs(
    session: &WorkloadSession,
    exec: &mut dyn Executor,
    l: &LoadedBuffers,
    contents: &Contents,
) -> Result<Vec<bool>, JobError> {
    let mut changed = Vec::new();
    for (i, b) in session.workload.buffers.iter().enumerate() {
        let is_input = !b.output && b.defined == Defined::Given;
        changed.push(is_input && exec.read(l.ids[i])? != contents[i]);
    }
    Ok(changed)
}

/// Which scalars of each output still hold the poison of both runs.
fn unwritten(session: &WorkloadSession, runs: [&[Vec<u8>]; 2]) -> Vec<Vec<bool>> {
    let mut all = Vec::new();
    for (k, o) in session.outputs().into_iter().enumerate() {
        let b = &session.workload.buffers[o];
        if !is_poisonable(b) {
            all.push(Vec::new());
            continue;
        }
        let scalars = b.elem.scalars();
        let size = b.elem.size().max(1);
        let holds = |run: usize, at: usize, bytes: usize| {
            let there = &runs[run][k][at..at + bytes];
            there.iter().all(|x| *x == POISON[run])
        };
        let elements = 0..runs[0][k].len() / size;
        let each = elements.flat_map(|e| {
            let place = move |(at, s): &(usize, kerf_workload::Scalar)| (e * size + at, s.bytes());
            scalars.iter().map(place)
        });
        all.push(
            each.map(|(at, n)| holds(0, at, n) && holds(1, at, n))
                .collect(),
        );
    }
    all
}

/// Puts the first run's values where no run wrote.
fn without_poison(
    session: &WorkloadSession,
    first: &[Vec<u8>],
    unwritten: &[Vec<bool>],
    run: &mut [Vec<u8>],
) {
    for (k, o) in session.outputs().into_iter().enumerate() {
        let b = &session.workload.buffers[o];
        let (scalars, size) = (b.elem.scalars(), b.elem.size().max(1));
        for (i, _) in unwritten[k].iter().enumerate().filter(|u| *u.1) {
            let (at, s) = scalars[i % scalars.len()];
            let at = i / scalars.len() * size + at;
            let bytes = at..at + s.bytes();
            run[k][bytes.clone()].copy_from_slice(&first[k][bytes]);
        }
    }
}

/// Runs a program on other inputs, and then on these at the same addresses: one that answers from memory answers for the others.
fn behind_others(
    code: &CpuCode,
    session: &WorkloadSession,
    contents: &Contents,
    (plan, options): (RunPlan, CpuOptions),
) -> Result<Vec<Vec<u8>>, JobError> {
    let elsewhere = WorkloadSession {
        seed: session.seed.wrapping_add(EARLIER_SEED),
        change: InputChange::default(),
        declared: session.declared.clone(),
        params: session.params.clone(),
        ..WorkloadSession::plain(session.workload, session.kernels, session.globals)
    };
    let other = plan.held(session, &elsewhere.contents()?, POISON[0]);
    let mut exec = CpuExecutor::from_code(code, options)?;
    let mut l = session.load_with(&mut exec, Some(FirstContents::Host(other.clone())))?;
    for _ in 0..plan.earlier {
        fill(&mut exec, &l, &other)?;
        session.run(&mut exec, &mut l)?;
    }
    fill(&mut exec, &l, &plan.held(session, contents, POISON[0]))?;
    session.run(&mut exec, &mut l)?;
    outputs(session, &mut exec, &l)
}

/// Runs a program under all circumstances.
pub(super) fn runs(
    code: &CpuCode,
    session: &WorkloadSession,
    contents: &Contents,
    plan: RunPlan,
) -> Result<Runs, JobError> {
    let options = CpuOptions {
        threads: plan.threads,
        ..CpuOptions::default()
    };
    let mut exec = CpuExecutor::from_code(code, options)?;
    let initial = Some(FirstContents::Host(contents.clone()));
    let mut l = session.load_with(&mut exec, initial)?;
    session.run(&mut exec, &mut l)?;
    let first = outputs(session, &mut exec, &l)?;
    let changed = changed_inputs(session, &mut exec, &l, contents)?;
    drop(exec);
    let mut again = behind_others(code, session, contents, (plan, options))?;
    let reordered = CpuOptions {
        order: 1,
        ..options
    };
    let held = plan.held(session, contents, POISON[1]);
    let mut fresh = fresh_run(code, session, held, reordered)?;
    let unwritten = match plan.poisoned {
        true => unwritten(session, [&again, &fresh]),
        false => vec![Vec::new(); first.len()],
    };
    for run in [&mut again, &mut fresh] {
        without_poison(session, &first, &unwritten, run);
    }
    Ok(Runs {
        first,
        again,
        fresh,
        changed,
        unwritten,
    })
}

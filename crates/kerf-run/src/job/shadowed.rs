//! The reference's run: the program as it is, with a double-double beside every value.
//!
//! Where it can, the program computes its own shadows as device code, on the device that the job names. What device code
//! has no shadow for (floats that travel as integers, floating-point atomics, functions that are missing) is found out
//! when the program is instrumented, or by counters when it runs; then the CPU executor does it, with the reason in the
//! report.
use super::finished::{finished, launched_only};
use super::report::{Flip, ReferenceInfo};
use super::{Device, Job, JobError};
use crate::memory;
use crate::run::{LoadedBuffers, WorkloadSession};
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::{CudaExecutor, assemble};
use kerf_exec::shadow_space::{BufferScalars, ShadowExecutor, VALUES, pairs};
use kerf_ir::finish;
use kerf_ir::program::Program;
use kerf_ir::sites::Location;
use kerf_llvm::{LlvmError, Module};
use kerf_num::{Dd, Format};
use kerf_pass::shadow::{self, ShadowDevice, ShadowMap, ShadowRuntime};
use kerf_workload::generate::perturb::format_of;
use kerf_workload::scalar::Scalar;
use kerf_workload::workload::Workload;
use std::collections::BTreeMap;

/// Original bytes of an output, and the shadow values of its float scalars by format.
pub(super) type ReferenceOutput = (Vec<u8>, BTreeMap<Format, Vec<Dd>>);

/// What outputs are compared with.
pub(super) struct Reference {
    pub info: ReferenceInfo,
    /// For each output: original bytes and shadow values of its float scalars, by format.
    pub outputs: Vec<ReferenceOutput>,
}

/// A reference, or why device code cannot have it.
enum Attempt {
    Done(Reference),
    NeedsHost(Vec<String>),
}

/// Computes the reference of a program as it is.
pub(super) fn reference(
    job: &Job,
    session: &WorkloadSession,
    program: &Program,
) -> Result<Reference, JobError> {
    match as_device_code(job, session, program)? {
        Attempt::Done(r) => Ok(r),
        Attempt::NeedsHost(why) => by_host(job, session, program, why),
    }
}

fn not_made(e: LlvmError) -> JobError {
    JobError::Compile {
        message: format!("the reference could not be made: {e}"),
        help: None,
    }
}

/// The program, instrumented and finished.
fn instrumented(
    job: &Job,
    session: &WorkloadSession,
    program: &Program,
    runtime: ShadowRuntime,
) -> Result<(Module, ShadowMap), JobError> {
    let m = program.module()?;
    launched_only(&m, session, &session.check()?);
    let map = shadow::instrument(&m, runtime).map_err(not_made)?;
    if !map.needs_host.is_empty() {
        return Ok((m, map));
    }
    let linked = match (runtime, job.device) {
        (ShadowRuntime::Host, _) => shadow::link_functions(&m),
        (ShadowRuntime::Device, Device::Cpu) => shadow::link(&m, ShadowDevice::Cpu),
        (ShadowRuntime::Device, Device::Cuda) => shadow::link(&m, ShadowDevice::Gpu),
    };
    linked.map_err(not_made)?;
    finished(&m, job)?;
    Ok((m, map))
}

fn cpu_options(job: &Job) -> CpuOptions {
    CpuOptions {
        threads: job.threads,
        ..CpuOptions::default()
    }
}

/// The program that computes its own shadows, loaded; or why it does not fit.
fn loaded(
    job: &Job,
    session: &WorkloadSession,
    m: &Module,
    map: ShadowMap,
) -> Result<Result<Box<dyn ShadowExecutor>, String>, JobError> {
    if job.device == Device::Cpu {
        let exec = CpuExecutor::with_entries(m, cpu_options(job), map)?;
        return Ok(Ok(Box::new(exec)));
    }
    let ptx = finish::ptx(m, &job.arch).map_err(not_made)?;
    let code = assemble(&ptx, job.ordinal)?;
    let mut used = session.check()?;
    used.push(VALUES.to_owned());
    let mut exec = CudaExecutor::from_code(code, &used, job.ordinal)?;
    let arena = memory::arena_bytes(session.workload);
    let need = CudaExecutor::shadow_need(arena, map.granule as usize);
    let free = exec.free_memory()?.unwrap_or(usize::MAX);
    if need > free {
        let (need, free) = (memory::words(need), memory::words(free));
        return Ok(Err(format!(
            "shadows that need {need} of device memory, of which {free} are free"
        )));
    }
    exec.start_shadow(map, arena)?;
    Ok(Ok(Box::new(exec)))
}

/// The reference as device code.
fn as_device_code(
    job: &Job,
    session: &WorkloadSession,
    program: &Program,
) -> Result<Attempt, JobError> {
    let (m, map) = instrumented(job, session, program, ShadowRuntime::Device)?;
    if !map.needs_host.is_empty() {
        return Ok(Attempt::NeedsHost(map.needs_host));
    }
    let mut exec = match loaded(job, session, &m, map)? {
        Ok(exec) => exec,
        Err(why) => return Ok(Attempt::NeedsHost(vec![why])),
    };
    let mut buffers = session.load(exec.as_mut())?;
    let time_s = session.run(exec.as_mut(), &mut buffers)?;
    let mut outputs = Vec::new();
    for o in session.outputs() {
        outputs.push(shadows_of_output(session, exec.as_mut(), &buffers, o)?);
    }
    let lost = exec.lost_shadows()?;
    if !lost.is_empty() {
        return Ok(Attempt::NeedsHost(vec![lost.to_string()]));
    }
    let info = ReferenceInfo {
        flips: by_place(exec.flips()?),
        untracked: exec.shadow_map().untracked.clone(),
        time_s,
        kept: false,
        device: job.device,
        needs_host: Vec::new(),
    };
    Ok(Attempt::Done(Reference { info, outputs }))
}

/// Bytes of an output, and the shadows of its floats by format.
fn shadows_of_output(
    session: &WorkloadSession,
    exec: &mut dyn ShadowExecutor,
    buffers: &LoadedBuffers,
    output: usize,
) -> Result<ReferenceOutput, JobError> {
    let bytes = session.output(exec, buffers, output)?;
    let id = buffers.ids[buffers.binding[output]];
    let b = &session.workload.buffers[output];
    let mut by: BTreeMap<Format, Vec<Dd>> = BTreeMap::new();
    for format in Format::ALL {
        let one = b.elem.scalars();
        let some: Vec<usize> = one
            .iter()
            .filter(|(_, s)| format_of(*s) == Some(format))
            .map(|(at, _)| *at)
            .collect();
        if some.is_empty() || b.len == 0 {
            continue;
        }
        let scalars: Vec<BufferScalars> = some
            .iter()
            .enumerate()
            .map(|(number, offset)| BufferScalars {
                offset: *offset,
                format,
                elements: b.len,
                element_bytes: b.elem.size(),
                values_of_element: some.len(),
                number,
            })
            .collect();
        let out = exec.alloc("shadows", 16 * b.len * some.len(), 16)?;
        exec.write_shadows(id, &scalars, out)?;
        by.insert(format, pairs(&exec.read(out)?));
    }
    Ok((bytes, by))
}

/// The reference by functions of the CPU executor, which also find floats that travel as integers.
fn by_host(
    job: &Job,
    session: &WorkloadSession,
    program: &Program,
    needs_host: Vec<String>,
) -> Result<Reference, JobError> {
    let (m, map) = instrumented(job, session, program, ShadowRuntime::Host)?;
    let mut exec = CpuExecutor::with_shadow(&m, cpu_options(job), map)?;
    let mut l = session.load(&mut exec)?;
    let time_s = session.run(&mut exec, &mut l)?;
    let mut outputs = Vec::new();
    for o in session.outputs() {
        let bytes = session.output(&mut exec, &l, o)?;
        let mut by: BTreeMap<Format, Vec<Dd>> = BTreeMap::new();
        let all = scalars(session.workload, o);
        for f in Format::ALL {
            let some = all
                .iter()
                .filter(|(_, s)| format_of(*s) == Some(f))
                .map(|(at, _)| (*at, f));
            let v = exec.shadow_values(l.ids[l.binding[o]], some)?;
            if !v.is_empty() {
                by.insert(f, v);
            }
        }
        outputs.push((bytes, by));
    }
    let s = exec
        .shadow()
        .ok_or_else(|| JobError::Worker("the shadow is gone".into()))?;
    Ok(Reference {
        info: ReferenceInfo {
            flips: by_place(s.flips()),
            untracked: s.untracked().to_vec(),
            time_s,
            kept: false,
            device: Device::Cpu,
            needs_host,
        },
        outputs,
    })
}

/// Comparisons that flipped, by place: a place of a function that is called often has as many copies.
fn by_place(all: Vec<(u64, Option<Location>)>) -> Vec<Flip> {
    let mut flips: Vec<Flip> = Vec::new();
    for (count, l) in all {
        let place = l.map_or_else(
            || "places that the compiler made".into(),
            |l| format!("{}:{}:{}", l.file, l.line, l.column),
        );
        match flips.iter_mut().find(|f| f.place == place) {
            Some(f) => f.count += count,
            None => flips.push(Flip { count, place }),
        }
    }
    flips
}

/// Scalars of all elements: byte position and kind.
pub(super) fn scalars(w: &Workload, buffer: usize) -> Vec<(usize, Scalar)> {
    let b = &w.buffers[buffer];
    let one = b.elem.scalars();
    let size = b.elem.size();
    (0..b.len)
        .flat_map(|i| {
            one.iter()
                .map(move |(o, s)| (i * size + o, *s))
                .collect::<Vec<_>>()
        })
        .collect()
}

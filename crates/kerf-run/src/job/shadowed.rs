//! The reference's run: the program as it is, with a double-double beside every value.
//!
//! Where it can, the program computes its own shadows as device code, on the device that the job names. What device code
//! has no shadow for (floats that travel as integers, floating-point atomics, functions that are missing) is found out
//! when the program is instrumented, or by counters when it runs; then the CPU executor does it, with the reason in the
//! report.
use super::finished::{bound_blocks, finished, launched_only};
use super::report::{Flip, ReferenceInfo};
use super::{Device, Job, JobError, ReferenceRoute};
use crate::memory;
use crate::run::{FirstContents, LoadedBuffers, WorkloadSession};
use kerf_clang::sha256;
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuCode, CpuExecutor, CpuOptions};
use kerf_exec::cuda::{CudaExecutor, link, load_binary};
use kerf_exec::shadow_space::{BufferScalars, ShadowExecutor, VALUES, pairs};
use kerf_ir::finish;
use kerf_ir::program::Program;
use kerf_ir::sites::Location;
use kerf_llvm::{LlvmError, Module};
use kerf_num::{Dd, Format};
use kerf_pass::shadow::{self, ShadowDevice, ShadowMap, ShadowRuntime};
use kerf_workload::generate::perturb::format_of;
use kerf_workload::scalar::Scalar;
use kerf_workload::workload::{BufferSpec, Workload};
use std::collections::BTreeMap;

/// Original bytes of an output, and the shadow values of its float scalars by format.
pub(super) type ReferenceOutput = (Vec<u8>, BTreeMap<Format, Vec<Dd>>);

/// What outputs are compared with.
pub(super) struct Reference {
    pub info: ReferenceInfo,
    /// For each output: original bytes and shadow values of its float scalars, by format.
    pub outputs: Vec<ReferenceOutput>,
}

/// A program that was instrumented, compiled for one of its executors; references of further inputs use it again.
struct ShadowedCode<T> {
    /// All that it depends on.
    key: String,
    code: T,
    map: ShadowMap,
}

/// What references of one input leave for those of the next.
#[derive(Default)]
pub(super) struct ReferenceCode {
    cpu: Option<ShadowedCode<CpuCode>>,
    tables: Option<ShadowedCode<CpuCode>>,
    gpu: Option<ShadowedCode<Vec<u8>>>,
}

/// All that the code of a reference depends on.
fn code_key(job: &Job, session: &WorkloadSession, program: &Program) -> Result<String, JobError> {
    Ok(format!(
        "{} {} {:?} {:?}",
        sha256(&program.bitcode),
        job.arch,
        job.libdevice,
        session.check()?
    ))
}

/// The code of a program in a slot, made where it is another program's; none, with the reasons, where device code has no
/// shadow for something.
fn code_in<T>(
    slot: &mut Option<ShadowedCode<T>>,
    key: String,
    make: impl FnOnce() -> Result<Result<(T, ShadowMap), Vec<String>>, JobError>,
) -> Result<Result<&ShadowedCode<T>, Vec<String>>, JobError> {
    if slot.as_ref().is_none_or(|c| c.key != key) {
        match make()? {
            Ok((code, map)) => *slot = Some(ShadowedCode { key, code, map }),
            Err(why) => return Ok(Err(why)),
        }
    }
    let made = slot.as_ref();
    made.map(Ok)
        .ok_or_else(|| JobError::Worker("the reference's code is gone".into()))
}

/// A reference as device code computed it, or why it could not.
pub(super) enum Attempt<T> {
    Done(ReferenceInfo, Vec<T>),
    NeedsHost(Vec<String>),
}

/// Computes the reference of a program as it is.
pub(super) fn reference(
    job: &Job,
    session: &WorkloadSession,
    program: &Program,
    code: &mut ReferenceCode,
) -> Result<Reference, JobError> {
    let attempt = match (job.reference_route, job.device) {
        (ReferenceRoute::Tables, _) => Attempt::NeedsHost(Vec::new()),
        (ReferenceRoute::Cpu, _) | (_, Device::Cpu) => on_cpu(job, session, program, code)?,
        (ReferenceRoute::Gpu, Device::Cuda) => match on_gpu(job, session, program, code)? {
            Ok(mut exec) => run_with_shadows(Device::Cuda, session, &mut exec, None, read_output)?,
            Err(why) => Attempt::NeedsHost(why),
        },
    };
    match attempt {
        Attempt::Done(info, outputs) => Ok(Reference { info, outputs }),
        Attempt::NeedsHost(why) => by_host(job, session, program, (code, why)),
    }
}

fn not_made(e: LlvmError) -> JobError {
    JobError::Compile {
        message: format!("the reference could not be made: {e}"),
        help: None,
    }
}

/// The program, instrumented and finished: as device code, or for the functions of the CPU executor.
fn instrumented(
    job: &Job,
    session: &WorkloadSession,
    program: &Program,
    device: Option<ShadowDevice>,
) -> Result<(Module, ShadowMap), JobError> {
    let m = program.module()?;
    launched_only(&m, session, &session.check()?);
    let runtime = match device {
        Some(_) => ShadowRuntime::Device,
        None => ShadowRuntime::Host,
    };
    let map = shadow::instrument(&m, runtime).map_err(not_made)?;
    if !map.needs_host.is_empty() {
        return Ok((m, map));
    }
    let linked = match device {
        Some(d) => shadow::link(&m, d),
        None => shadow::link_functions(&m),
    };
    linked.map_err(not_made)?;
    if device == Some(ShadowDevice::Gpu) {
        bound_blocks(&m, session)?;
    }
    finished(&m, job)?;
    Ok((m, map))
}

fn cpu_options(job: &Job) -> CpuOptions {
    CpuOptions {
        threads: job.threads,
        ..CpuOptions::default()
    }
}

/// The program that computes its own shadows on the CPU executor, run.
fn on_cpu(
    job: &Job,
    session: &WorkloadSession,
    program: &Program,
    code: &mut ReferenceCode,
) -> Result<Attempt<ReferenceOutput>, JobError> {
    let options = cpu_options(job);
    let make = || {
        let (m, map) = instrumented(job, session, program, Some(ShadowDevice::Cpu))?;
        Ok(match map.needs_host.is_empty() {
            true => Ok((CpuCode::new(&m, options)?, map)),
            false => Err(map.needs_host),
        })
    };
    let made = match code_in(&mut code.cpu, code_key(job, session, program)?, make)? {
        Ok(made) => made,
        Err(why) => return Ok(Attempt::NeedsHost(why)),
    };
    let mut exec = CpuExecutor::with_entries(&made.code, options, made.map.clone())?;
    run_with_shadows(Device::Cpu, session, &mut exec, None, read_output)
}

/// The binary of the program that computes its own shadows on a GPU; or why there is none.
fn gpu_code<'c>(
    job: &Job,
    session: &WorkloadSession,
    program: &Program,
    code: &'c mut ReferenceCode,
) -> Result<Result<&'c ShadowedCode<Vec<u8>>, Vec<String>>, JobError> {
    let make = || {
        let (m, map) = instrumented(job, session, program, Some(ShadowDevice::Gpu))?;
        if !map.needs_host.is_empty() {
            return Ok(Err(map.needs_host));
        }
        let ptx = finish::ptx(&m, &job.arch).map_err(not_made)?;
        // Linked, not loaded: every input's run loads the binary anew, with its variables as they were.
        Ok(Ok((link(&ptx, job.ordinal)?, map)))
    };
    code_in(&mut code.gpu, code_key(job, session, program)?, make)
}

impl ReferenceCode {
    /// Makes the code of references on a GPU ahead. What goes wrong shows where it is needed.
    pub(super) fn prepare(&mut self, job: &Job, session: &WorkloadSession, program: &Program) {
        let _ = gpu_code(job, session, program, self);
    }
}

/// The program that computes its own shadows, loaded on a GPU; or why it cannot be.
pub(super) fn on_gpu(
    job: &Job,
    session: &WorkloadSession,
    program: &Program,
    code: &mut ReferenceCode,
) -> Result<Result<CudaExecutor, Vec<String>>, JobError> {
    let made = match gpu_code(job, session, program, code)? {
        Ok(made) => made,
        Err(why) => return Ok(Err(why)),
    };
    let map = made.map.clone();
    let code = load_binary(&made.code, job.ordinal)?;
    let mut used = session.check()?;
    used.push(VALUES.to_owned());
    let mut exec = CudaExecutor::from_code(code, &used, job.ordinal)?;
    let arena = memory::arena_bytes(session.workload);
    let need = CudaExecutor::shadow_need(arena, map.granule as usize);
    let free = exec.free_memory()?.unwrap_or(usize::MAX);
    if need > free {
        let (need, free) = (memory::words(need), memory::words(free));
        let why = format!("shadows that need {need} of device memory, of which {free} are free");
        return Ok(Err(vec![why]));
    }
    exec.start_shadow(map, arena)?;
    Ok(Ok(exec))
}

/// Runs a program that computes its own shadows; `collect` takes what it needs of each output.
pub(super) fn run_with_shadows<E: ShadowExecutor, T>(
    device: Device,
    session: &WorkloadSession,
    exec: &mut E,
    contents: Option<FirstContents>,
    mut collect: impl FnMut(&WorkloadSession, &mut E, &LoadedBuffers, usize) -> Result<T, JobError>,
) -> Result<Attempt<T>, JobError> {
    let mut buffers = session.load_with(exec, contents)?;
    let time_s = session.run(exec, &mut buffers)?;
    let mut outputs = Vec::new();
    for o in session.outputs() {
        outputs.push(collect(session, exec, &buffers, o)?);
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
        device,
        needs_host: Vec::new(),
    };
    Ok(Attempt::Done(info, outputs))
}

/// The floats of one format in the elements of a buffer.
pub(super) fn scalars_by_format(b: &BufferSpec) -> Vec<(Format, Vec<BufferScalars>)> {
    let one = b.elem.scalars();
    let places = |format: Format| -> Vec<usize> {
        let some = one.iter().filter(|(_, s)| format_of(*s) == Some(format));
        some.map(|(at, _)| *at).collect()
    };
    let described = |format: Format| {
        let offsets = places(format);
        let values_of_element = offsets.len();
        let scalars = offsets.into_iter().enumerate();
        let all = scalars.map(|(number, offset)| BufferScalars {
            offset,
            format,
            elements: b.len,
            element_bytes: b.elem.size(),
            values_of_element,
            number,
        });
        (format, all.collect())
    };
    let all = Format::ALL.into_iter().map(described);
    all.filter(|(_, s): &(Format, Vec<_>)| b.len > 0 && !s.is_empty())
        .collect()
}

/// Bytes of an output, and the shadows of its floats by format.
fn read_output<E: ShadowExecutor>(
    session: &WorkloadSession,
    exec: &mut E,
    buffers: &LoadedBuffers,
    output: usize,
) -> Result<ReferenceOutput, JobError> {
    let bytes = session.output(exec, buffers, output)?;
    let id = buffers.ids[buffers.binding[output]];
    let mut by: BTreeMap<Format, Vec<Dd>> = BTreeMap::new();
    for (format, scalars) in scalars_by_format(&session.workload.buffers[output]) {
        let values = scalars.len() * scalars[0].elements;
        let out = exec.alloc("shadows", 16 * values, 16)?;
        exec.write_shadows(id, &scalars, out)?;
        by.insert(format, pairs(&exec.read(out)?));
    }
    Ok((bytes, by))
}

/// The reference by functions of the CPU executor, which also find floats that travel as integers.
pub(super) fn by_host(
    job: &Job,
    session: &WorkloadSession,
    program: &Program,
    (code, needs_host): (&mut ReferenceCode, Vec<String>),
) -> Result<Reference, JobError> {
    let options = cpu_options(job);
    let make = || {
        let (m, map) = instrumented(job, session, program, None)?;
        Ok(Ok((CpuCode::new(&m, options)?, map)))
    };
    let made = match code_in(&mut code.tables, code_key(job, session, program)?, make)? {
        Ok(made) => made,
        Err(why) => return Err(JobError::Worker(why.join("; "))),
    };
    let mut exec = CpuExecutor::with_shadow(&made.code, options, made.map.clone())?;
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

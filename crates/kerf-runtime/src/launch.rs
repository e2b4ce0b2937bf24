//! Launches.
use crate::call::call;
use crate::error::{CallFailure, code};
use crate::gpu_turn::GpuTurn;
use crate::launch_request::LaunchRequest;
use crate::planned_launch::DeviceLaunch;
use crate::register::Dim3;
use crate::registered::Ready;
use crate::replay::hooks;
use crate::state::{State, tracing};
use crate::{held, managed, recording, watch};
use kerf_exec::DeviceKind;
use kerf_exec::raw::RawLaunch;
use kerf_ir::kernels::{KernelInfo, ParamKind, ScalarAt, ScalarKind};
use std::ffi::{CString, c_void};
use std::rc::Rc;

/// The application's own printing and the kernels' go through one buffer, so that they stay in order.
fn print(text: &[u8]) {
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
    }
    if !text.is_empty() {
        // SAFETY: the C library's own stream and our own bytes.
        unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
    }
}

/// Seconds that the processors have worked for this program. On a busy machine, the clock would tell which launch
/// lost its turn.
fn worked() -> f64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the system fills in a struct of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

/// Notes what elements the memory has that a kernel is given, by its parameters and by members of structs that are passed
/// by value, and what of it the kernel may write.
fn learn(s: &mut State, k: &KernelInfo, args: &[*mut c_void]) {
    let may_write = |i: usize| k.written.as_ref().is_none_or(|w| w.contains(&i));
    for (i, (p, a)) in k.params.iter().zip(args).enumerate() {
        // SAFETY: arguments have the sizes that the kernel's signature says.
        let word = |o: u64| unsafe {
            a.cast::<u8>()
                .add(o as usize)
                .cast::<u64>()
                .read_unaligned()
        };
        match &p.kind {
            ParamKind::Pointer {
                element_bytes,
                element,
                ..
            } => {
                tracing::touched(s, &k.symbol, i, word(0));
                learn_element(s, word(0), (element, *element_bytes), may_write(i));
            }
            ParamKind::Struct { fields, .. } => {
                let inside = fields.iter().filter(|f| f.kind == ScalarKind::Ptr);
                for f in inside {
                    let address = word(f.offset);
                    tracing::in_struct(s, address);
                    let member = p.members.iter().find(|m| m.offset == f.offset);
                    if let Some(m) = member {
                        // Which of a struct's pointers are written through is not known.
                        let element = (&m.element, m.element_bytes);
                        learn_element(s, address, element, k.written.is_none());
                    }
                }
            }
            ParamKind::Scalar { .. } => {}
        }
    }
}

/// Notes what elements an allocation has that a kernel is given by an address, and whether it may write them.
fn learn_element(
    s: &mut State,
    address: u64,
    (element, element_bytes): (&Vec<ScalarAt>, u64),
    may_write: bool,
) {
    let at = s.holding(address).map(|(at, _)| at);
    let Some(allocation) = at.and_then(|at| s.memory.get_mut(&at)) else {
        return;
    };
    allocation.written |= may_write;
    let is_known = element.iter().any(|e| e.kind != ScalarKind::Ptr);
    if is_known && element_bytes > 0 && allocation.element.is_none() {
        allocation.element = Some((element.clone(), element_bytes));
    }
}

fn check(grid: [u32; 3], block: [u32; 3]) -> Result<(), CallFailure> {
    let limits = [1024, 1024, 64];
    let threads: u64 = block.iter().map(|b| u64::from(*b)).product();
    let ok = (1..=1024).contains(&threads)
        && block.iter().zip(limits).all(|(b, l)| *b <= l)
        && grid.iter().all(|g| *g > 0)
        && grid[0] <= i32::MAX as u32
        && grid[1] <= 65535
        && grid[2] <= 65535;
    if ok {
        Ok(())
    } else {
        Err(code::INVALID_CONFIGURATION.into())
    }
}

/// A function by the address of its stub, and the dynamic shared memory that it may have.
pub fn ready(s: &mut State, function: usize) -> Result<(Rc<Ready>, usize), CallFailure> {
    let invalid = || CallFailure::from(code::INVALID_DEVICE_FUNCTION);
    let f = s.functions.get(&function).ok_or_else(invalid)?;
    if let Some(r) = &f.ready {
        return Ok((r.clone(), f.shared_limit));
    }
    let (module, symbol, limit) = (f.module, f.symbol.clone(), f.shared_limit);
    let u = s.unit(module)?;
    let missing = || {
        let name = kerf_llvm::demangle(&symbol);
        let why = format!("there is no kernel {name}");
        CallFailure::new(code::INVALID_DEVICE_FUNCTION, why)
    };
    let at = u.kernels.iter().position(|k| k.symbol == symbol);
    let at = at.ok_or_else(missing)?;
    let k = &u.kernels[at];
    let r = Rc::new(Ready {
        module,
        name: CString::new(k.name.as_str()).unwrap_or_default(),
        program: u.program_of(&symbol),
        at,
        parameters: k.params.len(),
        static_shared: k.static_shared_bytes as u32,
        lambda: u.lambda.get(&symbol).copied(),
        planned: u.planned.get(&symbol).copied().unwrap_or_default(),
        refused: u.refused.get(&symbol).cloned(),
        symbol,
    });
    // Its first launch is not to be taken for slow.
    if s.trace.is_some() {
        s.on_device(|d| d.prepare(r.program, &r.symbol))?;
    }
    if let Some(f) = s.functions.get_mut(&function) {
        f.ready = Some(r.clone());
    }
    Ok((r, limit))
}

/// The parameters of a function by the address of its stub.
pub fn parameters(s: &mut State, function: usize) -> Result<Vec<ParamKind>, CallFailure> {
    let (f, _) = ready(s, function)?;
    let kernel = &s.unit(f.module)?.kernels[f.at];
    Ok(kernel.params.iter().map(|p| p.kind.clone()).collect())
}

/// A cooperative grid that the device that the CPU stands for could not hold is refused.
fn fits(
    s: &mut State,
    f: &Ready,
    threads: u32,
    blocks: u64,
    shared: u32,
) -> Result<(), CallFailure> {
    let most = s.on_device(|d| {
        Ok(d.blocks_per_sm(f.program, &f.symbol, threads, shared)? * d.attribute(16)? as u32)
    })?;
    match blocks > u64::from(most) {
        true => Err(code::COOPERATIVE_TOO_LARGE.into()),
        false => Ok(()),
    }
}

/// What a launch's time is taken by.
enum Timer {
    /// Seconds that the processors had worked before it.
    Processor(f64),
    /// Events before and behind it.
    Events(u64, u64),
}

impl Timer {
    fn start(s: &mut State, on_cpu: bool, stream: u64) -> Result<Timer, CallFailure> {
        if on_cpu {
            return Ok(Timer::Processor(worked()));
        }
        s.on_device(|d| {
            let (a, b) = (d.event(0)?, d.event(0)?);
            d.record_event(a, stream)?;
            Ok(Timer::Events(a, b))
        })
    }

    /// Seconds since the start.
    fn stop(self, s: &mut State, stream: u64) -> Result<f64, CallFailure> {
        match self {
            Timer::Processor(before) => Ok(worked() - before),
            Timer::Events(a, b) => s.on_device(|d| {
                d.record_event(b, stream)?;
                d.wait_event(b)?;
                let ms = d.elapsed_ms(a, b)?;
                d.drop_event(a)?;
                d.drop_event(b)?;
                Ok(f64::from(ms) * 1e-3)
            }),
        }
    }
}

/// Before a launch on the CPU: refuses what cannot run there, and watches the rest.
fn begin_on_cpu(
    s: &mut State,
    f: &Ready,
    shape: &DeviceLaunch,
    cooperative: bool,
) -> Result<(), CallFailure> {
    if let Some(why) = &f.refused {
        let why = format!("{} cannot run on the CPU: {why}", f.name());
        return Err(CallFailure::new(code::NOT_SUPPORTED, why));
    }
    if cooperative {
        let shared = shape.shared + f.static_shared;
        fits(s, f, shape.threads(), shape.blocks(), shared)?;
    }
    // The blocks of a cooperative grid take turns, all at once.
    if !cooperative {
        watch::begin(f.name());
    }
    Ok(())
}

/// Launches a function of the application's.
pub fn launch(s: &mut State, r: LaunchRequest) -> Result<(), CallFailure> {
    if !s.functions.contains_key(&r.function) {
        return Err(code::INVALID_DEVICE_FUNCTION.into());
    }
    check(r.grid, r.block)?;
    let (f, shared_limit) = ready(s, r.function)?;
    if r.shared + f.static_shared as usize > shared_limit.max(48 * 1024) {
        return Err(code::INVALID_VALUE.into());
    }
    let asked = (r.grid, r.block, r.shared as u32);
    let mut shape = f.planned.shape(f.name(), asked, r.cooperative)?;
    let watched = s.watched();
    let mut pointers: Vec<*mut c_void> = match f.parameters {
        0 => Vec::new(),
        // SAFETY: the caller passes one address for each parameter.
        n => unsafe { std::slice::from_raw_parts(r.args, n) }.to_vec(),
    };
    let mut moved = Vec::new();
    let mut info = None;
    if let Some(Ok(u)) = &s.units[f.module].loaded {
        let k = &u.kernels[f.at];
        held::arguments(s, u, k, &mut pointers, &mut moved)?;
        info = (watched || hooks::is_recording(s)).then(|| k.clone());
    }
    let mut lambda_value = f.lambda.unwrap_or_default();
    if f.lambda.is_some() {
        pointers.push((&raw mut lambda_value).cast());
    }
    let last = shape.arguments.iter_mut();
    pointers.extend(last.map(|a| a.as_mut_ptr().cast::<c_void>()));
    if let Some(k) = info.as_ref().filter(|_| watched) {
        learn(s, k, &pointers);
        let asked = (r.grid, r.block, r.shared);
        recording::before(s, f.module, k, asked, &pointers)?;
    }
    managed::to_device(s)?;
    let on_cpu = s.device()?.kind() == DeviceKind::Cpu;
    if on_cpu {
        begin_on_cpu(s, &f, &shape, r.cooperative)?;
    } else if let Some(turn) = &s.turn {
        turn.take();
    }
    let timer = match s.trace.as_ref().is_some_and(|t| t.keeps_kernels()) {
        true => Some(Timer::start(s, on_cpu, r.stream)?),
        false => None,
    };
    let mut l = RawLaunch {
        symbol: &f.symbol,
        name: f.name(),
        grid: shape.grid,
        block: shape.block,
        shared: shape.shared,
        args: &mut pointers,
        stream: r.stream,
        cooperative: r.cooperative,
    };
    let printed = s.on_device(|d| d.launch(f.program, &mut l));
    if on_cpu {
        watch::end();
    }
    match (&info, timer) {
        (Some(k), Some(timer)) => {
            let seconds = timer.stop(s, r.stream)?;
            tracing::after(s, f.module, k, r.block, seconds);
            recording::after(s)?;
        }
        _ if s.turn.as_ref().is_some_and(GpuTurn::is_given) => {
            s.on_device(|d| d.wait_stream(r.stream))?;
        }
        _ => {}
    }
    if let Some(turn) = &s.turn {
        turn.kernel_ended();
    }
    print(&printed?);
    if let Some(k) = &info {
        hooks::launched(s, k, &r);
    }
    Ok(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLaunchKernel(
    function: *const c_void,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: *mut c_void,
) -> i32 {
    call("cudaLaunchKernel", |s| {
        launch(
            s,
            LaunchRequest {
                function: function as usize,
                grid: grid.into(),
                block: block.into(),
                args,
                shared,
                stream: stream as u64,
                cooperative: false,
            },
        )
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLaunchCooperativeKernel(
    function: *const c_void,
    grid: Dim3,
    block: Dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: *mut c_void,
) -> i32 {
    call("cudaLaunchCooperativeKernel", |s| {
        launch(
            s,
            LaunchRequest {
                function: function as usize,
                grid: grid.into(),
                block: block.into(),
                args,
                shared,
                stream: stream as u64,
                cooperative: true,
            },
        )
    })
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: *mut c_void,
    attributes: *const c_void,
    count: u32,
}

/// Do the attributes of a launch ask for a cooperative one? Attributes that Kerf does not have are refused.
///
/// # Safety
/// There are `count` attributes of 72 bytes, each with its value at byte 8.
pub unsafe fn launch_attributes(
    attributes: *const c_void,
    count: u32,
) -> Result<bool, CallFailure> {
    let mut cooperative = false;
    for i in 0..count as usize {
        // SAFETY: as the caller promises.
        let (id, value) = unsafe {
            let at = attributes.cast::<u8>().add(72 * i);
            (
                at.cast::<u32>().read_unaligned(),
                at.add(8).cast::<[i32; 3]>().read_unaligned(),
            )
        };
        match id {
            // Nothing, hints about caches, waiting and priorities; kernels of a stream may overlap (6), and never do here.
            0 | 1 | 3 | 6 | 8 => {}
            2 => cooperative = value[0] != 0,
            // Clusters of one block are blocks.
            4 if value == [1, 1, 1] => {}
            _ => {
                let why = format!(
                    "launch attribute {id} (clusters, programmatic launches) is not supported"
                );
                return Err(CallFailure::new(code::NOT_SUPPORTED, why));
            }
        }
    }
    Ok(cooperative)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLaunchKernelExC(
    config: *const c_void,
    function: *const c_void,
    args: *mut *mut c_void,
) -> i32 {
    call("cudaLaunchKernelExC", |s| {
        // SAFETY: the application's own configuration.
        let c = unsafe { &*config.cast::<LaunchConfig>() };
        // SAFETY: the application says that there are so many attributes.
        let cooperative = unsafe { launch_attributes(c.attributes, c.count)? };
        launch(
            s,
            LaunchRequest {
                function: function as usize,
                grid: c.grid.into(),
                block: c.block.into(),
                args,
                shared: c.shared,
                stream: c.stream as u64,
                cooperative,
            },
        )
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaLaunchHostFunc(
    stream: *mut c_void,
    f: extern "C" fn(*mut c_void),
    data: *mut c_void,
) -> i32 {
    let r = call("cudaLaunchHostFunc", |s| {
        s.on_device(|d| d.wait_stream(stream as u64))
    });
    if r == 0 {
        f(data);
    }
    r
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamAddCallback(
    stream: *mut c_void,
    f: extern "C" fn(*mut c_void, i32, *mut c_void),
    data: *mut c_void,
    _flags: u32,
) -> i32 {
    let r = call("cudaStreamAddCallback", |s| {
        s.on_device(|d| d.wait_stream(stream as u64))
    });
    if r == 0 {
        f(stream, 0, data);
    }
    r
}

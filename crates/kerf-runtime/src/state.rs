//! Everything the runtime knows, behind one lock: an application may call from any thread.
mod record_index;
pub mod tracing;

use crate::config::{Config, configure};
use crate::driver_objects::DriverObjects;
use crate::error::{CallFailure, code};
use crate::gpu_turn::GpuTurn;
use crate::libraries::LibraryState;
use crate::process::{say, var};
use crate::registered::{RegisteredFunction, RegisteredUnit, RegisteredVariable};
use crate::replay::recorder::Recorder;
use crate::trace::RunTrace;
use kerf_exec::ExecError;
use kerf_exec::cpu::{CpuDevice, CpuOptions};
use kerf_exec::raw::{MemoryPlace, RawDevice};
use kerf_ir::kernels::ScalarAt;
use kerf_num::Format;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// How an allocation of doubles is held.
pub type HeldFormat = Format;

/// Memory of the application.
#[derive(Debug, Clone)]
pub struct Allocation {
    /// Bytes.
    pub bytes: usize,
    /// Where it lies.
    pub place: MemoryPlace,
    /// Number, in order of allocation.
    pub number: usize,
    /// Scalars of an element and its bytes, as kernels that were given it have them.
    pub element: Option<(Vec<ScalarAt>, u64)>,
    /// The format that its doubles are held in, where that is another.
    pub held: Option<HeldFormat>,
    /// Was it given to a kernel that may write it?
    pub written: bool,
}

/// The runtime's state.
pub struct State {
    /// Units, in order of registration.
    pub units: Vec<RegisteredUnit>,
    /// The unit of everything compiled with `-rdc=true`.
    pub linked: Option<usize>,
    /// Functions by the address of their host stub.
    pub functions: BTreeMap<usize, RegisteredFunction>,
    /// Variables by the address of their host shadow.
    pub variables: BTreeMap<usize, RegisteredVariable>,
    /// Memory by address.
    pub memory: BTreeMap<u64, Allocation>,
    /// Allocations made so far.
    pub allocated: usize,
    /// What the environment says; none before the first call that needs it.
    pub config: Option<Config>,
    /// The device; none before the first call that needs it.
    pub device: Option<Box<dyn RawDevice>>,
    /// Flags and priorities of the streams that the program has made.
    pub streams: BTreeMap<u64, (u32, i32)>,
    /// Modules and linkers of the driver API.
    pub driver: DriverObjects,
    /// Calls of NVIDIA's libraries.
    pub libraries: LibraryState,
    /// Host memory that the program has registered, by address.
    pub registered: BTreeMap<u64, usize>,
    /// What is noted of the run.
    pub trace: Option<RunTrace>,
    /// The run, as it is recorded for replays.
    pub recorder: Option<Recorder>,
    /// Its turns on a GPU that it shares with others.
    pub(crate) turn: Option<GpuTurn>,
    /// Host's addresses of `__managed__` variables.
    pub managed: Vec<usize>,
    /// May a kernel have changed them since they were last brought to the host?
    pub managed_changed: bool,
}

struct Guarded(State);
// SAFETY: LLVM's objects and the device are only used under the lock.
unsafe impl Send for Guarded {}

static STATE: Mutex<Guarded> = Mutex::new(Guarded(State {
    units: Vec::new(),
    linked: None,
    functions: BTreeMap::new(),
    variables: BTreeMap::new(),
    memory: BTreeMap::new(),
    allocated: 0,
    config: None,
    device: None,
    streams: BTreeMap::new(),
    driver: DriverObjects::new(),
    libraries: LibraryState::new(),
    registered: BTreeMap::new(),
    trace: None,
    recorder: None,
    turn: None,
    managed: Vec::new(),
    managed_changed: false,
}));

fn open(c: &Config) -> Result<Box<dyn RawDevice>, CallFailure> {
    let (kind, number) = c.device.split_once(':').unwrap_or((&c.device, "0"));
    match (kind, number.parse::<i32>()) {
        ("cpu", Ok(0)) => Ok(Box::new(CpuDevice::new(CpuOptions {
            checks: c.memcheck,
            threads: c.threads,
            no_regions: false,
            ..CpuOptions::default()
        }))),
        ("cuda", Ok(n)) => {
            // Stays open: it is asked for by several parts, and each opening takes as long as thousands of launches.
            // SAFETY: the driver's library, by the name that it has everywhere.
            unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY) };
            kerf_exec::cuda::CudaDevice::new(n)
                .map(|d| Box::new(d) as Box<dyn RawDevice>)
                .map_err(|e| CallFailure::from_executor(e, code::NO_DEVICE))
        }
        _ => Err(CallFailure::new(
            code::INVALID_DEVICE,
            format!("KERF_DEVICE={}: expected cpu, cuda or cuda:N", c.device),
        )),
    }
}

impl State {
    /// Programs that are traced open the device beside each other, but not while one runs kernels: times would be of both.
    fn open_beside_others(&mut self, c: &Config) -> Result<Box<dyn RawDevice>, CallFailure> {
        let path = var("KERF_TURN").filter(|_| self.trace.is_some() && c.device != "cpu");
        let is_kept = var("KERF_TURN_KEPT").is_some_and(|v| v != "0");
        let Some(path) = path else {
            return open(c);
        };
        let turn = GpuTurn::new(path.as_ref(), is_kept);
        let device = turn.beside_others(|| open(c));
        self.turn = Some(turn);
        device
    }

    /// The configuration, read at first use.
    pub fn config(&mut self) -> Result<&Config, CallFailure> {
        if self.config.is_none() {
            let c = configure()?;
            if let Some(dir) = var("KERF_TRACE") {
                let wanted = |name| var(name).is_none_or(|v| v != "0");
                self.trace = Some(RunTrace::start(
                    dir.into(),
                    wanted("KERF_TRACE_COPIES"),
                    wanted("KERF_TRACE_KERNELS"),
                )?);
            }
            self.recorder = Recorder::from_environment()?;
            if self.trace.is_some() || self.recorder.is_some() {
                // SAFETY: a plain function without arguments.
                unsafe { libc::atexit(at_exit) };
            }
            self.config = Some(c);
        }
        self.config.as_ref().ok_or_else(|| code::UNKNOWN.into())
    }

    /// The device, opened at first use and made ready for this thread.
    pub fn device(&mut self) -> Result<&mut dyn RawDevice, CallFailure> {
        if self.device.is_none() {
            let c = self.config()?.clone();
            self.device = Some(self.open_beside_others(&c)?);
            self.fix_addresses();
        }
        match &mut self.device {
            Some(d) => {
                d.enter()
                    .map_err(|e| CallFailure::from_executor(e, code::UNKNOWN))?;
                Ok(d.as_mut())
            }
            None => Err(code::NO_DEVICE.into()),
        }
    }

    /// A run that is recorded has its memory where a replay can have it too.
    fn fix_addresses(&mut self) {
        let (Some(d), Some(r)) = (&mut self.device, &mut self.recorder) else {
            return;
        };
        let fixed = d
            .enter()
            .and_then(|()| d.fix_addresses(kerf_exec::fixed_range::BASE));
        if let Err(e) = fixed {
            r.refuse(&format!("no memory at fixed addresses: {e}"));
        }
    }

    /// Does something with the device.
    pub fn on_device<R>(
        &mut self,
        f: impl FnOnce(&mut dyn RawDevice) -> Result<R, ExecError>,
    ) -> Result<R, CallFailure> {
        let checked = self.config()?.memcheck.is_some();
        let d = self.device()?;
        let done = f(d);
        if checked {
            for n in d.notes() {
                say(&format!("memcheck: note: {n}"));
            }
        }
        match done {
            Ok(r) => Ok(r),
            Err(e) => Err(CallFailure::from_executor(e, d.last_code())),
        }
    }

    /// Is each launch and copy looked at? Not where only the end of the run is of interest: that has a price.
    pub fn watched(&self) -> bool {
        self.trace.as_ref().is_some_and(RunTrace::watches)
    }

    /// The allocation that holds an address, and where it begins.
    pub fn holding(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (at, a) = self.memory.range(..=address).next_back()?;
        (address - at < a.bytes.max(1) as u64).then_some((*at, a))
    }

    /// Is an address of memory on the device?
    pub fn is_on_device(&self, address: u64) -> bool {
        self.holding(address)
            .is_some_and(|(_, a)| a.place != MemoryPlace::Host)
            || self.variables.values().any(|v| {
                v.address
                    .is_some_and(|at| (at..at + v.bytes as u64).contains(&address))
            })
    }
}

/// Does something with the state, under its lock.
pub fn with_state<R>(f: impl FnOnce(&mut State) -> R) -> R {
    f(&mut STATE.lock().unwrap_or_else(|e| e.into_inner()).0)
}

extern "C" fn at_exit() {
    with_state(|s| {
        record_index::finish(s);
        tracing::finish(s);
    });
}

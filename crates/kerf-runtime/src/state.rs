//! Everything the runtime knows, behind one lock: an application may call from any thread.
use crate::error::{self, Failed, code};
use crate::held::{Buffers, Held};
use crate::launch::Ready;
use crate::load::Loaded;
use crate::trace::Trace;
use kerf_exec::ExecError;
use kerf_exec::cpu::{CpuDevice, CpuOptions, SanitizeOptions};
use kerf_exec::raw::{Place, RawDevice};
use kerf_ir::blob::Meta;
use kerf_ir::kernels::ScalarAt;
use kerf_pass::Plan;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

/// A `__global__` function of the application.
#[derive(Clone)]
pub struct Function {
    /// Its module.
    pub module: usize,
    /// Its symbol there.
    pub symbol: String,
    /// Dynamic shared memory it may be launched with, as the application set it.
    pub shared_limit: usize,
    /// What launches need of it, once it was launched.
    pub ready: Option<Rc<Ready>>,
}

/// A `__device__` or `__constant__` variable of the application.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its module.
    pub module: usize,
    /// Its symbol there.
    pub symbol: String,
    /// Bytes.
    pub bytes: usize,
    /// Where it is, once its module is loaded.
    pub address: Option<u64>,
}

/// Registered device code: one file's, or all files' that are linked with each other.
pub struct Unit {
    /// What the compiler said of each part.
    pub meta: Vec<Meta>,
    /// Bitcode of each part.
    pub bitcode: Vec<&'static [u8]>,
    /// Code that the compiler made of it, packed; of files that are not linked with others.
    pub kept: &'static [u8],
    /// Once it was needed.
    pub loaded: Option<Result<Loaded, Failed>>,
}

/// Memory of the application.
#[derive(Debug, Clone)]
pub struct Allocation {
    /// Bytes.
    pub bytes: usize,
    /// Where it lies.
    pub place: Place,
    /// Number, in order of allocation.
    pub number: usize,
    /// Scalars of an element and its bytes, as kernels that were given it have them.
    pub element: Option<(Vec<ScalarAt>, u64)>,
    /// The format that its doubles are held in, where that is another.
    pub held: Option<Held>,
}

/// What the environment says.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Device: `cpu` or `cuda`, with a number behind a colon.
    pub device: String,
    /// What is done to kernels.
    pub plan: Plan,
    /// Formats of allocations.
    pub buffers: Buffers,
    /// Where libdevice may be.
    pub libdevice: Option<PathBuf>,
    /// Undefined behaviour is looked for (CPU).
    pub memcheck: Option<SanitizeOptions>,
    /// Threads of the CPU executor.
    pub threads: usize,
    /// Kernels are compiled from bitcode although code is kept.
    pub compile: bool,
    /// Folder for what is compiled, for the next start.
    pub cache: Option<PathBuf>,
}

/// The runtime's state.
pub struct State {
    /// Units, in order of registration.
    pub units: Vec<Unit>,
    /// The unit of everything compiled with `-rdc=true`.
    pub linked: Option<usize>,
    /// Functions by the address of their host stub.
    pub functions: BTreeMap<usize, Function>,
    /// Variables by the address of their host shadow.
    pub variables: BTreeMap<usize, Variable>,
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
    /// What is noted of the run.
    pub trace: Option<Trace>,
    /// Held while it is this program's turn on the GPU.
    pub turn: Option<Turn>,
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
    trace: None,
    turn: None,
    managed: Vec::new(),
    managed_changed: false,
}));

static STICKY: AtomicI32 = AtomicI32::new(0);

/// The error that every call gives since a kernel failed; 0 if none did.
pub fn sticky() -> i32 {
    STICKY.load(Ordering::Relaxed)
}

/// Makes later calls work again, as `cudaDeviceReset` does.
pub fn clear_sticky() {
    STICKY.store(0, Ordering::Relaxed);
}

/// A line of the runtime's own.
pub fn say(text: &str) {
    eprintln!("kerf: {text}");
}

/// This library's file.
pub fn this_library() -> Option<PathBuf> {
    // SAFETY: the address is of this library; the name is copied.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(sticky as *const () as *const _, &mut info) == 0 || info.dli_fname.is_null()
        {
            return None;
        }
        let name = std::ffi::CStr::from_ptr(info.dli_fname).to_str().ok()?;
        std::fs::canonicalize(name).ok()
    }
}

fn var(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

/// What is checked: nothing, everything (`KERF_MEMCHECK=1`), or all but races (`KERF_MEMCHECK=memory`). Kinds of
/// faults in `KERF_ALLOW` are let pass.
fn memcheck() -> Result<Option<SanitizeOptions>, Failed> {
    let races = match var("KERF_MEMCHECK").as_deref() {
        None | Some("0") => return Ok(None),
        Some(mode) => mode != "memory",
    };
    let allow = var("KERF_ALLOW").unwrap_or_default();
    let mut names = allow.split(',').filter(|n| !n.is_empty());
    let options = SanitizeOptions { races, allow: 0 };
    let allowed = names.try_fold(options, |o, n| o.allowing(n));
    let bad = |why| Failed::new(code::UNKNOWN, format!("KERF_ALLOW: {why}"));
    allowed.map(Some).map_err(bad)
}

/// libdevice: as told, beside this library, in a set-up above it, in a CUDA installation.
fn libdevice() -> Option<PathBuf> {
    let name = "nvvm/libdevice/libdevice.10.bc";
    let here = this_library().and_then(|p| Some(p.parent()?.to_owned()));
    let beside = here.iter().map(|h| h.join("libdevice.10.bc"));
    let above = here
        .iter()
        .flat_map(|h| h.ancestors())
        .map(|a| a.join(".kerf/cuda").join(name));
    let installed = [
        var("CUDA_HOME"),
        var("CUDA_PATH"),
        Some("/usr/local/cuda".into()),
    ];
    var("KERF_LIBDEVICE")
        .map(PathBuf::from)
        .into_iter()
        .chain(beside)
        .chain(above)
        .chain(
            installed
                .into_iter()
                .flatten()
                .map(|c| PathBuf::from(c).join(name)),
        )
        .find(|p| p.is_file())
}

/// Where `kerf` keeps what it compiles, and so do programs.
fn cache() -> Option<PathBuf> {
    if std::env::var_os("KERF_NO_CACHE").is_some() {
        return None;
    }
    let own = var("KERF_CACHE").map(PathBuf::from);
    let xdg = var("XDG_CACHE_HOME").map(|p| PathBuf::from(p).join("kerf"));
    let home = var("HOME").map(|p| PathBuf::from(p).join(".cache/kerf"));
    own.or(xdg).or(home).map(|p| p.join("programs"))
}

fn configure() -> Result<Config, Failed> {
    let mut buffers = Buffers::default();
    let plan = match var("KERF_PLAN") {
        None => Plan::default(),
        Some(path) => {
            let bad = |e: String| Failed::new(code::UNKNOWN, format!("KERF_PLAN={path}: {e}"));
            let beside = PathBuf::from(&path).with_file_name("buffers.json");
            if let Ok(text) = std::fs::read_to_string(beside) {
                buffers =
                    serde_json::from_str(&text).map_err(|e| bad(format!("buffers.json: {e}")))?;
            }
            let text = std::fs::read_to_string(&path).map_err(|e| bad(e.to_string()))?;
            Plan::parse(&text).map_err(|e| bad(e.to_string()))?
        }
    };
    Ok(Config {
        device: var("KERF_DEVICE").unwrap_or_else(|| "cpu".into()),
        plan,
        buffers,
        libdevice: libdevice(),
        memcheck: memcheck()?,
        threads: var("KERF_THREADS")
            .and_then(|v| v.parse().ok())
            .unwrap_or(0),
        compile: var("KERF_COMPILE").is_some_and(|v| v != "0"),
        cache: cache(),
    })
}

fn open(c: &Config) -> Result<Box<dyn RawDevice>, Failed> {
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
                .map_err(|e| Failed::of(e, code::NO_DEVICE))
        }
        _ => Err(Failed::new(
            code::INVALID_DEVICE,
            format!("KERF_DEVICE={}: expected cpu, cuda or cuda:N", c.device),
        )),
    }
}

/// Whose turn it is on a GPU that programs share.
pub struct Turn {
    file: std::fs::File,
    alone: bool,
}

impl Turn {
    fn lock(&self, how: i32) {
        use std::os::fd::AsRawFd;
        // SAFETY: a file of ours. Without the lock times are less exact, which is no reason to fail.
        unsafe { libc::flock(self.file.as_raw_fd(), how) };
    }
}

impl State {
    /// Programs that are traced open the device and compile beside each other, but not while one runs kernels:
    /// times would be of both.
    fn wait_for_start(&mut self) {
        let Some(path) = var("KERF_TURN").filter(|_| self.trace.is_some()) else {
            return;
        };
        let open = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        if let Ok(file) = open {
            let turn = Turn { file, alone: false };
            turn.lock(libc::LOCK_SH);
            self.turn = Some(turn);
        }
    }

    /// Does something that leaves the GPU alone, such as compiling: others may run their kernels meanwhile.
    pub fn aside<R>(&mut self, f: impl FnOnce(&mut State) -> R) -> R {
        let waiting = |s: &State| s.turn.as_ref().is_some_and(|t| !t.alone);
        let lock = |s: &State, how| {
            if let (true, Some(t)) = (waiting(s), &s.turn) {
                t.lock(how);
            }
        };
        lock(self, libc::LOCK_UN);
        let r = f(self);
        lock(self, libc::LOCK_SH);
        r
    }

    /// Waits until no other program that is traced uses the GPU; until this one ends.
    pub fn take_turn(&mut self) {
        if let Some(t) = self.turn.as_mut().filter(|t| !t.alone) {
            // The lock for all is given up before this one is waited for, so that two cannot wait for each other.
            t.lock(libc::LOCK_EX);
            t.alone = true;
        }
    }

    /// The configuration, read at first use.
    pub fn config(&mut self) -> Result<&Config, Failed> {
        if self.config.is_none() {
            let c = configure()?;
            if let Some(dir) = var("KERF_TRACE") {
                let wanted = |name| var(name).is_none_or(|v| v != "0");
                self.trace = Some(Trace::start(
                    dir.into(),
                    wanted("KERF_TRACE_COPIES"),
                    wanted("KERF_TRACE_KERNELS"),
                )?);
                // SAFETY: a plain function without arguments.
                unsafe { libc::atexit(at_exit) };
            }
            self.config = Some(c);
        }
        self.config.as_ref().ok_or_else(|| code::UNKNOWN.into())
    }

    /// The device, opened at first use and made ready for this thread.
    pub fn device(&mut self) -> Result<&mut dyn RawDevice, Failed> {
        if self.device.is_none() {
            let c = self.config()?.clone();
            if c.device != "cpu" {
                self.wait_for_start();
            }
            self.device = Some(open(&c)?);
        }
        match &mut self.device {
            Some(d) => {
                d.enter().map_err(|e| Failed::of(e, code::UNKNOWN))?;
                Ok(d.as_mut())
            }
            None => Err(code::NO_DEVICE.into()),
        }
    }

    /// Does something with the device.
    pub fn on_device<R>(
        &mut self,
        f: impl FnOnce(&mut dyn RawDevice) -> Result<R, ExecError>,
    ) -> Result<R, Failed> {
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
            Err(e) => Err(Failed::of(e, d.last_code())),
        }
    }

    /// Is each launch and copy looked at? Not where only the end of the run is of interest: that has a price.
    pub fn watched(&self) -> bool {
        self.trace.as_ref().is_some_and(Trace::watches)
    }

    /// The allocation that holds an address, and where it begins.
    pub fn holding(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (at, a) = self.memory.range(..=address).next_back()?;
        (address - at < a.bytes.max(1) as u64).then_some((*at, a))
    }

    /// Is an address of memory on the device?
    pub fn is_on_device(&self, address: u64) -> bool {
        self.holding(address)
            .is_some_and(|(_, a)| a.place != Place::Host)
            || self.variables.values().any(|v| {
                v.address
                    .is_some_and(|at| (at..at + v.bytes as u64).contains(&address))
            })
    }
}

extern "C" fn at_exit() {
    let mut g = STATE.lock().unwrap_or_else(|e| e.into_inner());
    crate::trace::finish(&mut g.0);
}

/// Runs a call of the application's with the state; gives its code.
pub fn call(name: &str, f: impl FnOnce(&mut State) -> Result<(), Failed>) -> i32 {
    if sticky() != 0 {
        return error::note(sticky());
    }
    let mut g = STATE.lock().unwrap_or_else(|e| e.into_inner());
    let result = f(&mut g.0).and_then(|()| crate::managed::to_host(&mut g.0, name));
    drop(g);
    error::note(match result {
        Ok(()) => code::SUCCESS,
        Err(e) => {
            if let Some(m) = &e.message {
                say(&format!("{name}: {m}"));
            }
            if e.sticky {
                STICKY.store(e.code, Ordering::Relaxed);
            }
            e.code
        }
    })
}

/// Runs something that cannot fail, such as a registration.
pub fn quietly<R>(f: impl FnOnce(&mut State) -> R) -> R {
    f(&mut STATE.lock().unwrap_or_else(|e| e.into_inner()).0)
}

/// Writes a value through a pointer that the application gave.
pub fn put<T>(to: *mut T, value: T) -> Result<(), Failed> {
    if to.is_null() {
        return Err(code::INVALID_VALUE.into());
    }
    // SAFETY: the application says that it points to a T.
    unsafe { to.write(value) };
    Ok(())
}

//! The CPU as a device for applications: device memory is host memory, and everything is done when its
//! call returns, so streams need nothing to be in order.
use super::fixed_memory::CpuFixedMemory;
use super::launch_state::MemoryRange;
use super::memory::Arena;
use super::pool::BlockPool;
use super::sanitize::region::Region;
use super::{CpuExecutor, CpuOptions};
use crate::raw::{MemoryPlace, RawDevice, RawLaunch, Rectangle};
use crate::{DeviceKind, ExecError, KernelStats, LaunchConfiguration};
use kerf_ir::blob::CodeImage;
use kerf_llvm::Module;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// What the device says of itself where a figure cannot be had from the processor: an H200's, so that
/// programs which choose grids by the device choose the same ones as there.
const ATTRIBUTES: &[(i32, i32)] = &[
    (1, 1024),
    (2, 1024),
    (3, 1024),
    (4, 64),
    (5, i32::MAX),
    (6, 65535),
    (7, 65535),
    (8, 49152),
    (9, 65536),
    (10, 32),
    (11, i32::MAX),
    (12, 65536),
    (13, 1_980_000),
    (14, 512),
    (15, 1),
    (16, 132),
    (19, 1),
    (31, 1),
    (36, 3_201_000),
    (37, 6144),
    (38, 62_914_560),
    (39, 2048),
    (40, 3),
    (41, 1),
    (51, 32),
    (75, 9),
    (76, 0),
    (78, 1),
    (79, 1),
    (80, 1),
    (81, 233_472),
    (82, 65536),
    (83, 1),
    (87, 2),
    (88, 1),
    (89, 1),
    (90, 1),
    (91, 1),
    (95, 1),
    (97, 232_448),
    (99, 1),
    (100, 1),
    (101, 1),
    (106, 32),
    (111, 1024),
    (115, 1),
];

/// The CPU as a device.
pub struct CpuDevice {
    options: CpuOptions,
    programs: Vec<CpuExecutor>,
    /// What the checks noticed, said once each.
    notes: BTreeSet<String>,
    said: BTreeSet<String>,
    events: Vec<Option<Option<Instant>>>,
    streams: Vec<bool>,
    /// Allocations, which kernels may touch.
    allocated: BTreeMap<u64, usize>,
    /// Where they are.
    pool: BlockPool,
    /// Where those on the device are, at addresses that other processes have too.
    fixed: Option<CpuFixedMemory>,
}

impl CpuDevice {
    /// A device.
    pub fn new(options: CpuOptions) -> CpuDevice {
        CpuDevice {
            options,
            programs: Vec::new(),
            notes: BTreeSet::new(),
            said: BTreeSet::new(),
            events: Vec::new(),
            streams: Vec::new(),
            allocated: BTreeMap::new(),
            pool: BlockPool::default(),
            fixed: None,
        }
    }

    /// Where checked programs live, if programs are checked.
    fn region(&self) -> Result<Option<&'static Region>, ExecError> {
        match self.options.checks {
            Some(_) => Region::get()
                .map(Some)
                .map_err(|e| ExecError::Memory(e.to_string())),
            None => Ok(None),
        }
    }

    /// The allocations as the checks know them, by their order.
    fn ranges(&self) -> Vec<MemoryRange> {
        let all = self.allocated.iter().map(|(at, bytes)| MemoryRange {
            start: *at as usize,
            end: *at as usize + bytes,
            name: format!("at {at:#x}"),
            // Not known: bytes are counted.
            element: 0,
        });
        all.collect()
    }

    /// Values that come to the host must not depend on undefined ones; whether it uses them is not known.
    fn look_at(&mut self, address: usize, bytes: usize) {
        // Places are numbered in each program by itself: with several, only one that speaks for all is told.
        let [p] = self.programs.as_slice() else {
            return;
        };
        if let Some(text) = p.undefined_at(address, bytes) {
            self.notes.insert(text);
        }
    }

    fn program(&self, n: usize) -> Result<&CpuExecutor, ExecError> {
        self.programs
            .get(n)
            .ok_or_else(|| ExecError::Compile(format!("there is no program {n}")))
    }

    fn event_slot(&mut self, event: u64) -> Result<&mut Option<Instant>, ExecError> {
        let slot = self.events.get_mut((event as usize).wrapping_sub(1));
        slot.and_then(Option::as_mut)
            .ok_or_else(|| unknown("event"))
    }

    fn check_stream(&self, stream: u64) -> Result<(), ExecError> {
        // 0, 1 and 2 are the default streams.
        match stream < 3 || self.streams.get(stream as usize - 3) == Some(&true) {
            true => Ok(()),
            false => Err(unknown("stream")),
        }
    }
}

fn unknown(what: &str) -> ExecError {
    ExecError::Device {
        what: format!("using a {what}"),
        why: "invalid resource handle".into(),
    }
}

fn meminfo(key: &str) -> usize {
    std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|t| {
            let line = t.lines().find(|l| l.starts_with(key))?.to_owned();
            line.split_whitespace().nth(1)?.parse::<usize>().ok()
        })
        .map_or(1 << 34, |kb| kb.saturating_mul(1024))
}

impl RawDevice for CpuDevice {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Cpu
    }
    fn name(&self) -> String {
        "Kerf CPU executor".into()
    }
    fn last_code(&self) -> i32 {
        400 // an invalid handle is all that can be wrong
    }
    fn notes(&mut self) -> Vec<String> {
        let mut all = std::mem::take(&mut self.notes);
        for p in &mut self.programs {
            all.extend(crate::Executor::take_notes(p));
        }
        all.retain(|n| self.said.insert(n.clone()));
        all.into_iter().collect()
    }
    fn enter(&mut self) -> Result<(), ExecError> {
        Ok(())
    }
    fn load(&mut self, finished: &Module, _arch: &str) -> Result<usize, ExecError> {
        self.programs
            .push(CpuExecutor::new(finished, self.options)?);
        Ok(self.programs.len() - 1)
    }
    fn image(
        &mut self,
        finished: &Module,
        _arch: &str,
    ) -> Result<Option<(CodeImage, Vec<u8>)>, ExecError> {
        if self.options.checks.is_some() || self.options.no_regions {
            return Ok(None);
        }
        let made = super::kept::make(finished).map_err(|e| ExecError::Compile(e.0))?;
        Ok(Some(made))
    }
    fn load_kept(&mut self, image: &CodeImage, bytes: &[u8]) -> Result<Option<usize>, ExecError> {
        if self.options.checks.is_some() || self.options.no_regions {
            return Ok(None);
        }
        let Some(lowered) = super::kept::read(image, bytes) else {
            return Ok(None);
        };
        self.programs
            .push(CpuExecutor::from_lowered(lowered, self.options)?);
        Ok(Some(self.programs.len() - 1))
    }
    fn variable(&mut self, program: usize, symbol: &str) -> Result<(u64, usize), ExecError> {
        self.program(program)?.variable(symbol)
    }
    fn prepare(&mut self, program: usize, symbol: &str) -> Result<(), ExecError> {
        match self.programs.get_mut(program) {
            Some(p) => p.compile(symbol),
            None => Err(ExecError::NoKernel(symbol.into())),
        }
    }
    fn launch(&mut self, program: usize, l: &mut RawLaunch) -> Result<Vec<u8>, ExecError> {
        self.check_stream(l.stream)?;
        let beside = match self.options.checks.is_some() {
            true => self.ranges(),
            false => Vec::new(),
        };
        let p = self
            .programs
            .get_mut(program)
            .ok_or_else(|| ExecError::NoKernel(l.symbol.into()))?;
        let args: Vec<*const u8> = l.args.iter().map(|a| a.cast::<u8>().cast_const()).collect();
        p.beside = beside;
        let launch = LaunchConfiguration {
            symbol: l.symbol,
            name: l.name,
            grid: l.grid,
            block: l.block,
            dynamic_shared: l.shared,
        };
        p.launch_with(launch, &args, l.cooperative)?;
        Ok(crate::Executor::printed(p))
    }
    fn stats(&mut self, program: usize, symbol: &str) -> Result<KernelStats, ExecError> {
        let p = self.program(program)?;
        crate::Executor::kernel_stats(p)
            .into_iter()
            .find(|k| k.symbol == symbol)
            .ok_or_else(|| ExecError::NoKernel(symbol.into()))
    }
    fn blocks_per_sm(
        &mut self,
        _program: usize,
        _symbol: &str,
        threads: u32,
        shared: u32,
    ) -> Result<u32, ExecError> {
        let by_threads = 2048 / threads.next_multiple_of(32).max(32);
        let by_shared = match shared {
            0 => 32,
            s => 233_472 / (s + 1024),
        };
        Ok(by_threads.min(by_shared).min(32))
    }
    fn alloc(&mut self, bytes: usize, place: MemoryPlace) -> Result<u64, ExecError> {
        let (free, _) = self.memory()?;
        if bytes > free {
            let why = format!("{bytes} bytes do not fit: {free} are free");
            return Err(ExecError::Memory(why));
        }
        let fixed = self.fixed.as_mut();
        if let Some(f) = fixed.filter(|_| place == MemoryPlace::Device) {
            let at = f.alloc(bytes);
            let at = at.map_err(|e| ExecError::Memory(e.to_string()))?;
            self.allocated.insert(at, bytes);
            return Ok(at);
        }
        let at = match self.region()? {
            Some(r) => {
                let at = Arena::within(r).alloc(bytes.max(1)).map(|p| p as usize);
                if let (Ok(at), MemoryPlace::Device) = (&at, place) {
                    r.fill(*at, bytes, true, 0);
                }
                at
            }
            None => self.pool.alloc(bytes),
        };
        let at = at.map_err(|e| ExecError::Memory(e.to_string()))? as u64;
        self.allocated.insert(at, bytes);
        Ok(at)
    }
    fn fix_addresses(&mut self, first: u64) -> Result<(), ExecError> {
        let fixed = CpuFixedMemory::new(first);
        self.fixed = Some(fixed.map_err(|e| ExecError::Memory(e.to_string()))?);
        Ok(())
    }
    fn alloc_at(&mut self, address: u64, bytes: usize) -> Result<(), ExecError> {
        let fixed = self
            .fixed
            .as_ref()
            .filter(|_| CpuFixedMemory::holds(address));
        let missing = || ExecError::Memory(format!("{address:#x} is not in the range"));
        fixed.ok_or_else(missing)?.clear(address, bytes);
        self.allocated.insert(address, bytes);
        Ok(())
    }
    fn fixed_end(&self) -> u64 {
        self.fixed.as_ref().map_or(0, CpuFixedMemory::end)
    }
    fn unload(&mut self) -> Result<(), ExecError> {
        self.programs.clear();
        Ok(())
    }
    fn free(&mut self, address: u64, bytes: usize, _place: MemoryPlace) -> Result<(), ExecError> {
        self.allocated.remove(&address);
        let fixed = self.fixed.as_mut();
        if let Some(f) = fixed.filter(|_| CpuFixedMemory::holds(address)) {
            f.free(address, bytes);
            return Ok(());
        }
        if let Some(r) = self.region()? {
            // It is not given out again: a use after this is seen.
            r.fill(address as usize, bytes, true, 0);
            return Ok(());
        }
        // SAFETY: the caller keeps what `alloc` gave, with its size, and frees it once.
        unsafe { self.pool.free(address as usize, bytes) };
        Ok(())
    }
    fn register(&mut self, _address: u64, _bytes: usize) -> Result<(), ExecError> {
        Ok(())
    }
    fn unregister(&mut self, _address: u64) -> Result<(), ExecError> {
        Ok(())
    }
    fn copy(
        &mut self,
        to: u64,
        from: u64,
        bytes: usize,
        stream: u64,
        _wait: bool,
    ) -> Result<(), ExecError> {
        self.check_stream(stream)?;
        // SAFETY: the application says that both ranges are its own, as it does to CUDA.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
        if let Some(r) = self.region()? {
            r.copy(to as usize, from as usize, bytes);
            if r.holds(from as usize) && !r.holds(to as usize) {
                self.look_at(from as usize, bytes);
            }
        }
        Ok(())
    }
    fn copy_rows(&mut self, r: Rectangle, stream: u64, wait: bool) -> Result<(), ExecError> {
        for row in 0..r.rows {
            let (to, from) = (r.to_pitch * row, r.from_pitch * row);
            self.copy(
                r.to + to as u64,
                r.from + from as u64,
                r.width,
                stream,
                wait,
            )?;
        }
        Ok(())
    }
    fn fill(&mut self, to: u64, value: u8, bytes: usize, stream: u64) -> Result<(), ExecError> {
        self.check_stream(stream)?;
        // SAFETY: as in `copy`.
        unsafe { std::ptr::write_bytes(to as *mut u8, value, bytes) };
        if let Some(r) = self.region()? {
            r.fill(to as usize, bytes, false, 0);
        }
        Ok(())
    }
    fn fill_words(&mut self, to: u64, value: u32, n: usize, stream: u64) -> Result<(), ExecError> {
        self.check_stream(stream)?;
        for i in 0..n {
            // SAFETY: as in `copy`.
            unsafe { (to as *mut u32).add(i).write_unaligned(value) };
        }
        if let Some(r) = self.region()? {
            r.fill(to as usize, 4 * n, false, 0);
        }
        Ok(())
    }
    fn stream(&mut self, _flags: u32, _priority: i32) -> Result<u64, ExecError> {
        self.streams.push(true);
        Ok(self.streams.len() as u64 + 2)
    }
    fn drop_stream(&mut self, stream: u64) -> Result<(), ExecError> {
        self.check_stream(stream)?;
        if let Some(s) = self.streams.get_mut((stream as usize).wrapping_sub(3)) {
            *s = false;
        }
        Ok(())
    }
    fn wait_stream(&mut self, stream: u64) -> Result<(), ExecError> {
        self.check_stream(stream)
    }
    fn stream_done(&mut self, stream: u64) -> Result<bool, ExecError> {
        self.check_stream(stream).map(|()| true)
    }
    fn stream_after(&mut self, stream: u64, event: u64) -> Result<(), ExecError> {
        self.check_stream(stream)?;
        self.event_slot(event).map(|_| ())
    }
    fn event(&mut self, _flags: u32) -> Result<u64, ExecError> {
        self.events.push(Some(None));
        Ok(self.events.len() as u64)
    }
    fn drop_event(&mut self, event: u64) -> Result<(), ExecError> {
        self.event_slot(event)?;
        self.events[event as usize - 1] = None;
        Ok(())
    }
    fn record_event(&mut self, event: u64, stream: u64) -> Result<(), ExecError> {
        self.check_stream(stream)?;
        *self.event_slot(event)? = Some(Instant::now());
        Ok(())
    }
    fn wait_event(&mut self, event: u64) -> Result<(), ExecError> {
        self.event_slot(event).map(|_| ())
    }
    fn event_done(&mut self, event: u64) -> Result<bool, ExecError> {
        self.event_slot(event).map(|_| true)
    }
    fn elapsed_ms(&mut self, from: u64, to: u64) -> Result<f32, ExecError> {
        let (a, b) = (*self.event_slot(from)?, *self.event_slot(to)?);
        match (a, b) {
            (Some(a), Some(b)) if b >= a => Ok((b - a).as_secs_f64() as f32 * 1e3),
            (Some(a), Some(b)) => Ok(-((a - b).as_secs_f64() as f32) * 1e3),
            _ => Err(unknown("event that was not recorded")),
        }
    }
    fn synchronize(&mut self) -> Result<(), ExecError> {
        Ok(())
    }
    fn memory(&mut self) -> Result<(usize, usize), ExecError> {
        Ok((meminfo("MemAvailable:"), meminfo("MemTotal:")))
    }
    fn attribute(&mut self, number: i32) -> Result<i32, ExecError> {
        let found = ATTRIBUTES.iter().find(|(n, _)| *n == number);
        Ok(found.map_or(0, |(_, v)| *v))
    }
}

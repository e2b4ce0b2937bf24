//! Replaying a record: the calls of the program again, in their order, with the code of a plan.
//!
//! Calls are made in the order in which the program made them, all on the default stream. The program's host code issued
//! them in that order, so that it is an order in which its streams may run. Everything goes through the functions that the
//! program's own calls go through, so that plans, formats of allocations and traces mean the same.
use super::comparison::ReplayComparison;
use super::files::{bad, mapped};
use super::format::{
    CALLS, COPIES, DATA, DataPiece, INDEX, Place, RecordIndex, RecordedCall, VERSION,
};
use super::hooks::parameter_bytes;
use crate::config::{configure_with_plan, read_plan};
use crate::error::{CallFailure, code};
use crate::gpu_turn::take_turn;
use crate::launch;
use crate::launch_request::LaunchRequest;
use crate::registered::{RegisteredFunction, RegisteredUnit, RegisteredVariable};
use crate::state::{State, tracing};
use crate::trace::RunTrace;
use crate::{copy, memory, variable};
use kerf_exec::raw::MemoryPlace;
use kerf_exec::replay::{JudgedReplay, ReplayJob};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A record that is open, in this process for good: its units are slices of the data.
pub struct Player {
    /// Folder of the record.
    pub folder: PathBuf,
    data: &'static [u8],
    calls: Vec<RecordedCall>,
    /// Functions that are launched.
    launched: BTreeSet<usize>,
    /// What downloads are copied to.
    host: Vec<u8>,
    /// Outputs on the device, once a replay was compared there.
    comparison: Option<ReplayComparison>,
    /// Do outputs stay on the device in the replay under way?
    compares: bool,
}

fn read_calls(path: &Path) -> Result<Vec<RecordedCall>, CallFailure> {
    let file = std::fs::File::open(path).map_err(|e| bad(path, e))?;
    let lines = std::io::BufReader::new(file).lines();
    lines
        .map(|line| {
            let line = line.map_err(|e| bad(path, e))?;
            serde_json::from_str(&line).map_err(|e| bad(path, e))
        })
        .collect()
}

fn read_index(folder: &Path) -> Result<RecordIndex, CallFailure> {
    let path = folder.join(INDEX);
    let text = std::fs::read_to_string(&path).map_err(|e| bad(&path, e))?;
    let index: RecordIndex = serde_json::from_str(&text).map_err(|e| bad(&path, e))?;
    if index.version != VERSION || index.kerf != env!("CARGO_PKG_VERSION") {
        return Err(bad(&path, "it is of another version of Kerf"));
    }
    match index.refused.first() {
        Some(why) => Err(bad(&path, why)),
        None => Ok(index),
    }
}

/// Puts what the program had registered into the state.
fn register(
    s: &mut State,
    index: &RecordIndex,
    piece: impl Fn(DataPiece) -> Result<&'static [u8], CallFailure>,
) -> Result<(), CallFailure> {
    for u in &index.units {
        let pieces = u.parts.iter().map(|p| piece(p.bitcode).map(Cow::from));
        let bitcode: Result<Vec<_>, _> = pieces.collect();
        s.units.push(RegisteredUnit {
            meta: u.parts.iter().map(|p| p.meta.clone()).collect(),
            bitcode: bitcode?,
            kept: piece(u.kept)?,
            loaded: None,
        });
    }
    for f in &index.functions {
        let function = RegisteredFunction {
            module: f.unit,
            symbol: f.symbol.clone(),
            // The program's own limit held when it was recorded.
            shared_limit: usize::MAX,
            ready: None,
        };
        s.functions.insert(f.number, function);
    }
    for v in &index.variables {
        let variable = RegisteredVariable {
            module: v.unit,
            symbol: v.symbol.clone(),
            bytes: v.bytes,
            address: None,
        };
        s.variables.insert(v.number, variable);
    }
    Ok(())
}

fn within(data: &'static [u8], p: DataPiece) -> Result<&'static [u8], CallFailure> {
    let end = p.offset.checked_add(p.bytes);
    let range = end.and_then(|end| data.get(p.offset as usize..end as usize));
    range.ok_or_else(|| CallFailure::new(code::UNKNOWN, "the record's data is cut off"))
}

impl Player {
    /// Opens a record for a device.
    pub fn open(s: &mut State, folder: &Path, device: &str) -> Result<Player, CallFailure> {
        let index = read_index(folder)?;
        let data = mapped(&folder.join(DATA))?;
        let calls = read_calls(&folder.join(CALLS))?;
        if calls.len() as u64 != index.calls {
            return Err(bad(&folder.join(CALLS), "it is cut off"));
        }
        register(s, &index, |p| within(data, p))?;
        let mut config = configure_with_plan(None)?;
        config.device = device.to_owned();
        config.memcheck = None;
        s.config = Some(config);
        s.device()?;
        s.on_device(|d| d.fix_addresses(index.end))?;
        let launched = calls.iter().filter_map(|c| match c {
            RecordedCall::Launch { function, .. } => Some(*function),
            _ => None,
        });
        Ok(Player {
            folder: folder.to_owned(),
            data,
            launched: launched.collect(),
            calls,
            host: Vec::new(),
            comparison: None,
            compares: false,
        })
    }

    /// Forgets what a replay left: memory, code, addresses.
    fn reset(&self, s: &mut State) -> Result<(), CallFailure> {
        s.trace = None;
        for (address, a) in std::mem::take(&mut s.memory) {
            s.on_device(|d| d.free(address, a.bytes, a.place))?;
        }
        s.allocated = 0;
        s.units.iter_mut().for_each(|u| u.loaded = None);
        s.functions.values_mut().for_each(|f| f.ready = None);
        s.variables.values_mut().for_each(|v| v.address = None);
        s.on_device(|d| d.unload())
    }

    /// Makes the calls once, with a job's plan; gives the seconds that they took, and what a comparison came to.
    pub fn replay(
        &mut self,
        s: &mut State,
        job: &ReplayJob,
    ) -> Result<(f64, Option<JudgedReplay>), CallFailure> {
        self.reset(s)?;
        self.compares = job.criterion.is_some();
        if self.compares && self.comparison.is_none() {
            self.comparison = Some(ReplayComparison::open(s, &self.folder, &self.calls)?);
        }
        let (plan, buffers) = read_plan(job.plan.as_deref())?;
        if let Some(c) = &mut s.config {
            (c.plan, c.buffers) = (plan, buffers);
        }
        let trace = RunTrace::start(job.trace.clone(), !self.compares, job.times_kernels)?;
        s.trace = Some(trace);
        for function in &self.launched {
            launch::ready(s, *function)?;
        }
        // Until the end of the replay.
        let _turn = job.turn.as_deref().and_then(take_turn);
        let clock = Instant::now();
        self.all_calls(s)?;
        s.on_device(|d| d.synchronize())?;
        let wall_s = clock.elapsed().as_secs_f64();
        let judged = match (&job.criterion, &mut self.comparison) {
            (Some(criterion), Some(comparison)) => {
                comparison.end(s)?;
                Some(comparison.judge(criterion)?)
            }
            _ => None,
        };
        let copies = tracing::finish(s);
        if !self.compares {
            let path = self.folder.join(COPIES);
            let text = serde_json::to_string(&copies).map_err(|e| bad(&path, e))?;
            std::fs::write(&path, text).map_err(|e| bad(&path, e))?;
        }
        Ok((wall_s, judged))
    }

    fn all_calls(&mut self, s: &mut State) -> Result<(), CallFailure> {
        if let Some(c) = &mut self.comparison {
            c.begin();
        }
        let calls = std::mem::take(&mut self.calls);
        let done = calls.iter().try_for_each(|c| self.call(s, c));
        self.calls = calls;
        done
    }

    /// The comparison of the replay under way.
    fn comparing(&mut self) -> Option<&mut ReplayComparison> {
        self.comparison.as_mut().filter(|_| self.compares)
    }

    fn call(&mut self, s: &mut State, c: &RecordedCall) -> Result<(), CallFailure> {
        /// Kinds of copies, by CUDA's numbers.
        const UPLOAD: i32 = 1;
        const DOWNLOAD: i32 = 2;
        const MOVE: i32 = 3;
        match c {
            RecordedCall::Alloc {
                address,
                bytes,
                number,
            } => {
                s.on_device(|d| d.alloc_at(*address, *bytes))?;
                s.allocated = *number;
                memory::note(s, *address, *bytes, MemoryPlace::Device)
            }
            RecordedCall::Free { address } => {
                if let Some(c) = self.comparing() {
                    c.last_contents(s, *address)?;
                }
                memory::free(s, *address, false)
            }
            RecordedCall::Upload { to, data, .. } => {
                let (to, from) = (address(s, *to)?, within(self.data, *data)?);
                if let Some(c) = self.comparing()
                    && c.upload(s, to, *data, from)?
                {
                    return Ok(());
                }
                copy::line(s, to, from.as_ptr() as u64, from.len(), UPLOAD, 0, true)
            }
            RecordedCall::Download { from, bytes, .. } => {
                let from = address(s, *from)?;
                if let Some(c) = self.comparing() {
                    return c.download(s, from, *bytes);
                }
                self.host.resize(*bytes as usize, 0);
                let to = self.host.as_mut_ptr() as u64;
                copy::line(s, to, from, self.host.len(), DOWNLOAD, 0, true)
            }
            RecordedCall::Move {
                to, from, bytes, ..
            } => {
                let (to, from) = (address(s, *to)?, address(s, *from)?);
                copy::line(s, to, from, *bytes, MOVE, 0, true)
            }
            RecordedCall::Fill {
                to, value, bytes, ..
            } => {
                let to = address(s, *to)?;
                copy::fill(s, to, i32::from(*value), *bytes, 0)
            }
            RecordedCall::FillWords { to, value, count } => {
                let to = address(s, *to)?;
                copy::fill_words(s, to, *value, *count)
            }
            RecordedCall::Launch { .. } => self.launch(s, c),
        }
    }

    fn launch(&self, s: &mut State, c: &RecordedCall) -> Result<(), CallFailure> {
        let RecordedCall::Launch {
            function,
            grid,
            block,
            shared,
            cooperative,
            arguments,
            ..
        } = c
        else {
            return Ok(());
        };
        let sizes = launch::parameters(s, *function)?;
        let mut bytes = within(self.data, *arguments)?;
        // Each argument in memory of its own that is aligned for anything.
        let mut storage: Vec<Vec<u128>> = Vec::new();
        for kind in &sizes {
            let n = parameter_bytes(kind);
            let (mine, rest) = bytes.split_at_checked(n).ok_or_else(|| {
                CallFailure::new(code::UNKNOWN, "the record's arguments are cut off")
            })?;
            let mut words = vec![0u128; n.div_ceil(16)];
            for (word, chunk) in words.iter_mut().zip(mine.chunks(16)) {
                let mut b = [0u8; 16];
                b[..chunk.len()].copy_from_slice(chunk);
                *word = u128::from_le_bytes(b);
            }
            storage.push(words);
            bytes = rest;
        }
        let mut pointers: Vec<*mut c_void> =
            storage.iter_mut().map(|w| w.as_mut_ptr().cast()).collect();
        let request = LaunchRequest {
            function: *function,
            grid: *grid,
            block: *block,
            args: pointers.as_mut_ptr(),
            shared: *shared,
            stream: 0,
            cooperative: *cooperative,
        };
        launch::launch(s, request)
    }
}

/// Where a place is in this process.
fn address(s: &mut State, p: Place) -> Result<u64, CallFailure> {
    match p {
        Place::Address(a) => Ok(a),
        Place::Variable(number, at) => {
            let (address, _) = variable::find(s, number as *const c_void)?;
            Ok(address + at)
        }
    }
}

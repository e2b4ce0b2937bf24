//! What a run did, for `kerf tune --app`: kernels with their times, and what came back to the host.
//!
//! `KERF_TRACE` names a folder: `trace.json`, the units' prepared bitcode, and `copies.bin` with every byte
//! that the application copied from the device, unless `KERF_TRACE_COPIES` is 0. With `KERF_TRACE_KERNELS=0` kernels are not
//! timed, and the bitcode is not written: a program whose own figure is asked for runs as it would by itself.
use crate::error::{Failed, code};
use crate::record::Record;
use crate::state::{Allocation, State};
use kerf_exec::raw::Place;
use kerf_ir::kernels::{KernelInfo, ScalarAt};
use kerf_llvm::Module;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Bytes of copies that are kept.
const MOST: u64 = 1 << 30;

#[derive(Default, Serialize)]
struct Kernel {
    name: String,
    symbol: String,
    unit: usize,
    launches: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct Unit {
    number: usize,
    source: String,
    bitcode: String,
    kernels: Vec<String>,
}

#[derive(Serialize)]
struct Copy {
    /// Number of the allocation, by order; 0 for a variable.
    allocation: usize,
    /// Byte in it.
    at: u64,
    bytes: usize,
    /// Scalars of an element, and its bytes; none if no kernel told.
    element: Option<Element>,
    /// Byte in `copies.bin`.
    offset: u64,
}

/// The notes of a run.
pub struct Trace {
    folder: PathBuf,
    started: Instant,
    copies_file: std::io::BufWriter<std::fs::File>,
    written: u64,
    truncated: bool,
    keeps_copies: bool,
    keeps_kernels: bool,
    kernels: BTreeMap<String, Kernel>,
    units: Vec<Unit>,
    copies: Vec<Copy>,
    /// Which allocation was given to which parameter of which kernel.
    touches: BTreeSet<(String, usize, usize)>,
    /// Allocations whose address was in a struct.
    in_structs: BTreeSet<usize>,
    /// Allocations that were copied to others on the device.
    device_copies: BTreeSet<(usize, usize)>,
    /// Allocations that have to keep their format, and why.
    fixed: BTreeMap<usize, String>,
    /// Every allocation that was touched: bytes, elements.
    allocations: BTreeMap<usize, (usize, Option<Element>)>,
    /// Launches that are kept with their inputs.
    pub recorded: Record,
}

fn io(path: &std::path::Path) -> impl Fn(std::io::Error) -> Failed {
    let p = path.display().to_string();
    move |e| Failed::new(code::UNKNOWN, format!("KERF_TRACE: {p}: {e}"))
}

/// Scalars of an element, as offset and type, and its bytes.
pub type Element = (Vec<(u64, String)>, u64);

/// An element as it is written.
pub fn element(e: &(Vec<ScalarAt>, u64)) -> Element {
    (
        e.0.iter().map(|s| (s.offset, s.kind.to_string())).collect(),
        e.1,
    )
}

impl Trace {
    /// Begins, in a folder that is made if it is not there.
    pub fn start(
        folder: PathBuf,
        keeps_copies: bool,
        keeps_kernels: bool,
    ) -> Result<Trace, Failed> {
        std::fs::create_dir_all(&folder).map_err(io(&folder))?;
        let path = folder.join("copies.bin");
        let file = std::fs::File::create(&path).map_err(io(&path))?;
        Ok(Trace {
            folder,
            started: Instant::now(),
            copies_file: std::io::BufWriter::new(file),
            written: 0,
            truncated: false,
            keeps_copies,
            keeps_kernels,
            kernels: BTreeMap::new(),
            units: Vec::new(),
            copies: Vec::new(),
            touches: BTreeSet::new(),
            in_structs: BTreeSet::new(),
            device_copies: BTreeSet::new(),
            fixed: BTreeMap::new(),
            allocations: BTreeMap::new(),
            recorded: Record::from_environment(),
        })
    }

    /// Are kernels timed, and their code kept?
    pub fn keeps_kernels(&self) -> bool {
        self.keeps_kernels
    }

    /// Is what comes back to the host kept?
    pub fn keeps_copies(&self) -> bool {
        self.keeps_copies
    }

    /// Is each launch and copy looked at? Types of what is copied are learnt from launches.
    pub fn watches(&self) -> bool {
        self.keeps_kernels || self.keeps_copies
    }

    /// Writes a file of the folder.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<(), Failed> {
        let path = self.folder.join(name);
        std::fs::write(&path, bytes).map_err(io(&path))
    }

    /// Keeps a unit's prepared module.
    pub fn module(
        &mut self,
        number: usize,
        source: &str,
        m: &Module,
        infos: &[KernelInfo],
    ) -> Result<(), Failed> {
        if !self.keeps_kernels {
            return Ok(());
        }
        let name = format!("unit-{number}.bc");
        let path = self.folder.join(&name);
        std::fs::write(&path, m.bitcode()).map_err(io(&path))?;
        self.units.push(Unit {
            number,
            source: source.to_owned(),
            bitcode: name,
            kernels: infos.iter().map(|k| k.name.clone()).collect(),
        });
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8], mut c: Copy) -> Result<(), Failed> {
        if !self.keeps_copies {
            return Ok(());
        }
        if self.written + bytes.len() as u64 > MOST {
            self.truncated = true;
            return Ok(());
        }
        c.offset = self.written;
        let path = self.folder.join("copies.bin");
        self.copies_file.write_all(bytes).map_err(io(&path))?;
        self.written += bytes.len() as u64;
        self.copies.push(c);
        Ok(())
    }
}

/// A parameter is given an address.
pub fn touched(s: &mut State, symbol: &str, parameter: usize, address: u64) {
    let Some(number) = s.holding(address).map(|(_, a)| a.number) else {
        return;
    };
    if let Some(t) = &mut s.trace {
        t.touches.insert((symbol.to_owned(), parameter, number));
    }
}

/// A struct that is passed by value holds an address.
pub fn in_struct(s: &mut State, address: u64) {
    let number = s.holding(address).map(|(_, a)| a.number);
    if let (Some(t), Some(n)) = (&mut s.trace, number) {
        t.in_structs.insert(n);
    }
}

/// Whether parts of numbers are touched, which no other format has.
fn whole(s: &mut State, address: u64, bytes: usize) -> Option<usize> {
    let (at, a) = s.holding(address)?;
    let (number, part) = (
        a.number,
        !(address - at).is_multiple_of(8) || !bytes.is_multiple_of(8),
    );
    if let (Some(t), true) = (&mut s.trace, part) {
        t.fixed
            .insert(number, "parts of numbers are copied or filled".into());
    }
    Some(number)
}

/// Bytes are copied.
pub fn moved(s: &mut State, to: u64, from: u64, bytes: usize) {
    if !s.watched() {
        return;
    }
    let (a, b) = (whole(s, from, bytes), whole(s, to, bytes));
    if let (Some(t), Some(a), Some(b)) = (&mut s.trace, a, b) {
        t.device_copies.insert((a, b));
    }
}

/// Bytes are filled.
pub fn filled(s: &mut State, to: u64, value: u8, bytes: usize) {
    if !s.watched() {
        return;
    }
    let number = whole(s, to, bytes);
    if let (Some(t), Some(n), true) = (&mut s.trace, number, value != 0) {
        t.fixed
            .insert(n, "it is filled with bytes other than 0".into());
    }
}

/// Notes what an allocation was, before it goes.
fn note(s: &mut State, a: &Allocation) {
    if let Some(t) = &mut s.trace {
        let e = a.element.as_ref().map(element);
        t.allocations.insert(a.number, (a.bytes, e));
        if a.place != Place::Device {
            t.fixed
                .insert(a.number, "host code reads and writes it".into());
        }
    }
}

/// After a launch.
pub fn after(s: &mut State, unit: usize, k: &KernelInfo, seconds: f64) -> Result<(), Failed> {
    if let Some(t) = &mut s.trace {
        let e = t.kernels.entry(k.symbol.clone()).or_default();
        if e.launches == 0 {
            (e.name, e.symbol, e.unit) = (k.name.clone(), k.symbol.clone(), unit);
        }
        e.launches += 1;
        e.seconds += seconds;
    }
    Ok(())
}

/// After bytes came to the host.
pub fn copied(s: &mut State, to: u64, from: u64, bytes: usize) -> Result<(), Failed> {
    let (allocation, at, kind) = match s.holding(from) {
        Some((start, a)) => (a.number, from - start, a.element.as_ref().map(element)),
        None => (0, 0, None),
    };
    let Some(t) = &mut s.trace else {
        return Ok(());
    };
    // SAFETY: the host's end of a copy that is done.
    let data = unsafe { std::slice::from_raw_parts(to as *const u8, bytes) };
    let c = Copy {
        allocation,
        at,
        bytes,
        element: kind,
        offset: 0,
    };
    t.keep(data, c)
}

/// Managed and pinned memory that kernels have worked on counts as copied when it is freed, or at the end.
fn managed(s: &mut State, address: u64, a: &Allocation) -> Result<(), Failed> {
    let Some(e) = &a.element else {
        return Ok(());
    };
    if a.place == Place::Device || s.trace.is_none() {
        return Ok(());
    }
    s.on_device(|d| d.synchronize())?;
    let c = Copy {
        allocation: a.number,
        at: 0,
        bytes: a.bytes,
        element: Some(element(e)),
        offset: 0,
    };
    // SAFETY: the allocation is live, and the device is idle.
    let data = unsafe { std::slice::from_raw_parts(address as *const u8, a.bytes) };
    match &mut s.trace {
        Some(t) => t.keep(data, c),
        None => Ok(()),
    }
}

/// Before memory is freed.
pub fn freed(s: &mut State, address: u64) -> Result<(), Failed> {
    if s.trace.is_none() {
        return Ok(());
    }
    match s.memory.get(&address).cloned() {
        Some(a) => {
            note(s, &a);
            managed(s, address, &a)
        }
        None => Ok(()),
    }
}

/// At the end of the program.
pub fn finish(s: &mut State) {
    let live: Vec<(u64, Allocation)> = s.memory.iter().map(|(k, v)| (*k, v.clone())).collect();
    for (address, a) in live {
        note(s, &a);
        let _ = managed(s, address, &a);
    }
    let device = s.device.as_ref().map_or("none", |d| d.kind()).to_owned();
    let Some(mut t) = s.trace.take() else { return };
    let _ = t.copies_file.flush();
    let mut kernels: Vec<&Kernel> = t.kernels.values().collect();
    kernels.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let json = serde_json::json!({
        "version": 1,
        "device": device,
        "wall_s": t.started.elapsed().as_secs_f64(),
        "truncated": t.truncated,
        "kernels": kernels,
        "units": t.units,
        "copies": t.copies,
        "touches": t.touches,
        "in_structs": t.in_structs,
        "device_copies": t.device_copies,
        "fixed": t.fixed,
        "allocations": t.allocations,
        "recorded": t.recorded.all(),
    });
    let path = t.folder.join("trace.json");
    if let Err(e) = std::fs::write(&path, json.to_string()) {
        crate::state::say(&format!("KERF_TRACE: {}: {e}", path.display()));
    }
}

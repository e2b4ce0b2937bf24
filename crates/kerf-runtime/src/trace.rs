//! What a run did, for `kerf tune --app`: kernels with their times, and what came back to the host.
//!
//! `KERF_TRACE` names a folder: `trace.json`, the units' prepared bitcode, and `copies.bin` with every byte
//! that the application copied from the device, unless `KERF_TRACE_COPIES` is 0. With `KERF_TRACE_KERNELS=0` kernels are not
//! timed, and the bitcode is not written: a program whose own figure is asked for runs as it would by itself.
use crate::error::{CallFailure, code};
use crate::process::say;
use crate::record::LaunchRecord;
use kerf_ir::kernels::{KernelInfo, ScalarAt};
use kerf_llvm::Module;
use kerf_num::Format;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Bytes of copies that are kept.
const MOST: u64 = 2 << 30;

#[derive(Default, Serialize)]
struct Kernel {
    name: String,
    symbol: String,
    unit: usize,
    launches: u64,
    seconds: f64,
    /// Threads of its blocks, as the application launches it, each once.
    blocks: BTreeSet<[u32; 3]>,
}

#[derive(Serialize)]
struct Unit {
    number: usize,
    source: String,
    bitcode: String,
    kernels: Vec<String>,
}

/// Bytes that came to the host, or lay in memory at its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Copy {
    /// Number of the allocation, by order; 0 for a variable.
    pub allocation: usize,
    /// Byte in it.
    pub at: u64,
    /// How many.
    pub bytes: usize,
    /// Scalars of an element, and its bytes; none if no kernel told.
    pub element: Option<ElementLayout>,
    /// Byte in `copies.bin`.
    pub offset: u64,
    /// Did the program not copy them: are they what kernels left in memory that it freed, or had at its end?
    pub last: bool,
}

impl Copy {
    /// Are there floating-point numbers in its elements?
    fn has_floats(&self) -> bool {
        let scalars = self.element.iter().flat_map(|(scalars, _)| scalars);
        scalars
            .into_iter()
            .any(|(_, kind)| float_format(kind).is_some())
    }
}

/// The format of scalars of a type; none where they are no floating-point numbers.
pub fn float_format(kind: &str) -> Option<Format> {
    Some(match kind {
        "f64" => Format::F64,
        "f32" => Format::F32,
        "f16" => Format::F16,
        "bf16" => Format::Bf16,
        _ => return None,
    })
}

/// The notes of a run.
pub struct RunTrace {
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
    /// Has the program copied floating-point numbers?
    copied_floats: bool,
    /// Which allocation was given to which parameter of which kernel.
    touches: BTreeSet<(String, usize, usize)>,
    /// Allocations whose address was in a struct.
    in_structs: BTreeSet<usize>,
    /// Allocations that were copied to others on the device.
    device_copies: BTreeSet<(usize, usize)>,
    /// Allocations that have to keep their format, and why.
    fixed: BTreeMap<usize, String>,
    /// Every allocation that was touched: bytes, elements.
    allocations: BTreeMap<usize, (usize, Option<ElementLayout>)>,
    /// How often each function of NVIDIA's libraries was called, by the library's title and the function's name.
    library_calls: BTreeMap<(&'static str, &'static str), u64>,
    /// Launches that are kept with their inputs.
    pub recorded: LaunchRecord,
}

fn io(path: &std::path::Path) -> impl Fn(std::io::Error) -> CallFailure {
    let p = path.display().to_string();
    move |e| CallFailure::new(code::UNKNOWN, format!("KERF_TRACE: {p}: {e}"))
}

/// Scalars of an element, as offset and type, and its bytes.
pub type ElementLayout = (Vec<(u64, String)>, u64);

/// An element as it is written.
pub fn element(e: &(Vec<ScalarAt>, u64)) -> ElementLayout {
    (
        e.0.iter().map(|s| (s.offset, s.kind.to_string())).collect(),
        e.1,
    )
}

impl RunTrace {
    /// Begins, in a folder that is made if it is not there.
    pub fn start(
        folder: PathBuf,
        keeps_copies: bool,
        keeps_kernels: bool,
    ) -> Result<RunTrace, CallFailure> {
        std::fs::create_dir_all(&folder).map_err(io(&folder))?;
        let path = folder.join("copies.bin");
        let file = std::fs::File::create(&path).map_err(io(&path))?;
        Ok(RunTrace {
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
            copied_floats: false,
            touches: BTreeSet::new(),
            in_structs: BTreeSet::new(),
            device_copies: BTreeSet::new(),
            fixed: BTreeMap::new(),
            allocations: BTreeMap::new(),
            library_calls: BTreeMap::new(),
            recorded: LaunchRecord::from_environment(),
        })
    }

    /// Is what kernels leave in memory kept at its end? Only where the program has copied no numbers to the host.
    pub fn keeps_last_contents(&self) -> bool {
        self.keeps_copies && !self.copied_floats
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
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<(), CallFailure> {
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
    ) -> Result<(), CallFailure> {
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

    /// Keeps bytes that came to the host, where that is asked for.
    pub fn keep(&mut self, bytes: &[u8], mut c: Copy) -> Result<(), CallFailure> {
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
        self.copied_floats |= !c.last && c.has_floats();
        self.copies.push(c);
        Ok(())
    }

    /// A parameter of a kernel is given an allocation.
    pub fn touched(&mut self, symbol: &str, parameter: usize, allocation: usize) {
        self.touches
            .insert((symbol.to_owned(), parameter, allocation));
    }

    /// A struct that is passed by value holds the address of an allocation.
    pub fn in_struct(&mut self, allocation: usize) {
        self.in_structs.insert(allocation);
    }

    /// An allocation is copied to another on the device.
    pub fn copied_on_device(&mut self, from: usize, to: usize) {
        self.device_copies.insert((from, to));
    }

    /// An allocation has to keep its format.
    pub fn fix(&mut self, allocation: usize, why: &str) {
        self.fixed.insert(allocation, why.into());
    }

    /// What an allocation was.
    pub fn allocation(&mut self, number: usize, bytes: usize, element: Option<ElementLayout>) {
        self.allocations.insert(number, (bytes, element));
    }

    /// A function of a library was called.
    pub fn library_call(&mut self, library: &'static str, function: &'static str) {
        *self.library_calls.entry((library, function)).or_default() += 1;
    }

    /// A kernel was launched with such blocks, and took so long.
    pub fn launched(&mut self, unit: usize, k: &KernelInfo, block: [u32; 3], seconds: f64) {
        let e = self.kernels.entry(k.symbol.clone()).or_default();
        if e.launches == 0 {
            (e.name, e.symbol, e.unit) = (k.name.clone(), k.symbol.clone(), unit);
        }
        e.launches += 1;
        e.seconds += seconds;
        e.blocks.insert(block);
    }

    /// Writes `trace.json`, at the end; gives what was copied.
    pub fn write(mut self, device: &str) -> Vec<Copy> {
        let _ = self.copies_file.flush();
        if self.copied_floats {
            // A scratch array that was freed before the first copy to the host is no output after all.
            self.copies.retain(|c| !c.last);
        }
        let mut kernels: Vec<&Kernel> = self.kernels.values().collect();
        kernels.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let calls = self.library_calls.iter();
        let calls: Vec<_> = calls
            .map(|((library, function), calls)| {
                serde_json::json!({ "library": library, "function": function, "calls": calls })
            })
            .collect();
        let json = serde_json::json!({
            "version": 1,
            "library_calls": calls,
            "device": device,
            "wall_s": self.started.elapsed().as_secs_f64(),
            "truncated": self.truncated,
            "kernels": kernels,
            "units": self.units,
            "copies": self.copies,
            "touches": self.touches,
            "in_structs": self.in_structs,
            "device_copies": self.device_copies,
            "fixed": self.fixed,
            "allocations": self.allocations,
            "recorded": self.recorded.all(),
        });
        let path = self.folder.join("trace.json");
        if let Err(e) = std::fs::write(&path, json.to_string()) {
            say(&format!("KERF_TRACE: {}: {e}", path.display()));
        }
        self.copies
    }
}

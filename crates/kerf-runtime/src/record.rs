//! Launches with their inputs, for `kerf record`: `KERF_RECORD` says how many of each kernel.
//!
//! Before a launch, all memory that its arguments point to is written to files of the trace's folder, and
//! so are the module's variables; afterwards it is known what the launch changed.
use crate::error::Failed;
use crate::state::State;
use kerf_ir::kernels::{KernelInfo, ParamKind, ScalarKind};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::c_void;

/// One buffer of a launch.
#[derive(Serialize)]
struct Buffer {
    /// Number of the allocation; none for a variable.
    allocation: Option<usize>,
    /// Symbol of a variable.
    symbol: Option<String>,
    file: String,
    bytes: usize,
    element: Option<(Vec<(u64, String)>, u64)>,
    /// Did the launch change it?
    changed: bool,
    #[serde(skip)]
    address: u64,
    #[serde(skip)]
    before: Vec<u8>,
}

/// One launch.
#[derive(Serialize)]
pub struct Recorded {
    kernel: String,
    symbol: String,
    unit: usize,
    grid: [u32; 3],
    block: [u32; 3],
    shared: usize,
    args: Vec<Value>,
    buffers: Vec<Buffer>,
    /// Why it cannot be a workload.
    unusable: Option<String>,
}

/// What is kept.
#[derive(Default)]
pub struct Record {
    most: usize,
    seen: BTreeMap<String, usize>,
    /// Launches, in order.
    launches: Vec<Recorded>,
    /// By symbol, launches that changed nothing: how many, and one of them.
    idle: BTreeMap<String, (usize, Recorded)>,
    open: bool,
}

/// A simulation that starts from rest writes zeros over zeros at first: that many launches are let pass.
const PATIENCE: usize = 100;

impl Record {
    /// As the environment says; nothing without it.
    pub fn from_environment() -> Record {
        let most = std::env::var("KERF_RECORD")
            .ok()
            .and_then(|v| v.parse().ok());
        Record {
            most: most.unwrap_or(0),
            ..Record::default()
        }
    }

    /// The launches; of a kernel that never changed anything, one that says so.
    pub fn all(&self) -> Vec<&Recorded> {
        let has = |s: &String| self.launches.iter().any(|r| r.symbol == *s);
        let idle = self.idle.iter().filter(|(s, _)| !has(s));
        self.launches
            .iter()
            .chain(idle.map(|(_, (_, r))| r))
            .collect()
    }
}

fn content(s: &mut State, address: u64, bytes: usize) -> Result<Vec<u8>, Failed> {
    let mut v = vec![0u8; bytes];
    s.on_device(|d| {
        d.synchronize()?;
        d.copy(v.as_mut_ptr() as u64, address, bytes, 0, true)
    })?;
    Ok(v)
}

/// A null pointer, which a workload has as 0.
fn null() -> Value {
    json!({ "kind": "u64", "bytes": [0, 0, 0, 0, 0, 0, 0, 0] })
}

/// A pointer as a buffer and a place in it.
fn pointer(s: &State, address: u64, found: &mut Vec<(u64, usize)>) -> Result<Value, String> {
    if address == 0 {
        return Ok(null());
    }
    let Some((at, a)) = s.holding(address) else {
        return Err("a pointer to memory that the runtime did not allocate is an argument".into());
    };
    if !found.iter().any(|(f, _)| *f == at) {
        found.push((at, a.number));
    }
    Ok(json!({ "buffer": a.number, "offset": address - at }))
}

fn scalar(kind: ScalarKind, bytes: &[u8]) -> Value {
    json!({ "kind": kind.to_string(), "bytes": bytes })
}

/// Before a launch.
pub fn before(
    s: &mut State,
    unit: usize,
    k: &KernelInfo,
    (grid, block, shared): ([u32; 3], [u32; 3], usize),
    args: &[*mut c_void],
) -> Result<(), Failed> {
    let Some(t) = &mut s.trace else {
        return Ok(());
    };
    let seen = t.recorded.seen.entry(k.symbol.clone()).or_insert(0);
    *seen += 1;
    if *seen > t.recorded.most {
        return Ok(());
    }
    let number = t.recorded.launches.len();
    let mut r = Recorded {
        kernel: k.name.clone(),
        symbol: k.symbol.clone(),
        unit,
        grid,
        block,
        shared,
        args: Vec::new(),
        buffers: Vec::new(),
        unusable: None,
    };
    let mut found = Vec::new();
    for (p, a) in k.params.iter().zip(args) {
        let at = |offset: u64, n: u64| {
            // SAFETY: inside the argument, whose size the kernel's signature tells.
            unsafe { std::slice::from_raw_parts(a.cast::<u8>().add(offset as usize), n as usize) }
        };
        let address = |offset: u64| {
            let mut b = [0u8; 8];
            b.copy_from_slice(at(offset, 8));
            u64::from_le_bytes(b)
        };
        let arg = match &p.kind {
            ParamKind::Pointer { .. } => pointer(s, address(0), &mut found),
            ParamKind::Scalar { scalar: kind } => Ok(scalar(*kind, at(0, kind.bytes()))),
            ParamKind::Struct { fields, .. } => fields
                .iter()
                .map(|f| match f.kind {
                    // A field that this kernel does not use may never have been set.
                    ScalarKind::Ptr => {
                        Ok(pointer(s, address(f.offset), &mut found).unwrap_or_else(|_| null()))
                    }
                    kind => Ok(scalar(kind, at(f.offset, kind.bytes()))),
                })
                .collect::<Result<Vec<_>, String>>()
                .map(|all| json!({ "struct": all })),
        };
        match arg {
            Ok(v) => r.args.push(v),
            Err(why) => r.unusable = Some(format!("{why} ({})", p.name)),
        }
    }
    let mut places: Vec<(u64, usize, Option<usize>, Option<String>)> = Vec::new();
    for (at, number) in found {
        let bytes = s.memory.get(&at).map_or(0, |a| a.bytes);
        places.push((at, bytes, Some(number), None));
    }
    let mine: Vec<(usize, String)> = s
        .variables
        .iter()
        .filter(|(_, v)| v.module == unit)
        .map(|(h, v)| (*h, v.symbol.clone()))
        .collect();
    for (shadow, symbol) in mine {
        let (at, bytes) = crate::symbol::find(s, shadow as *const c_void)?;
        places.push((at, bytes, None, Some(symbol)));
    }
    for (i, (address, bytes, allocation, symbol)) in places.into_iter().enumerate() {
        let data = content(s, address, bytes)?;
        let element = s
            .memory
            .get(&address)
            .and_then(|a| a.element.as_ref())
            .map(crate::trace::element);
        let file = format!("launch-{number}-{i}.bin");
        if let Some(t) = &s.trace {
            t.file(&file, &data)?;
        }
        r.buffers.push(Buffer {
            allocation,
            symbol,
            file,
            bytes,
            element,
            changed: false,
            address,
            before: data,
        });
    }
    if let Some(t) = &mut s.trace {
        t.recorded.launches.push(r);
        t.recorded.open = true;
    }
    Ok(())
}

/// After a launch.
pub fn after(s: &mut State) -> Result<(), Failed> {
    let Some(t) = &mut s.trace else {
        return Ok(());
    };
    if !std::mem::take(&mut t.recorded.open) {
        return Ok(());
    }
    let Some(mut r) = t.recorded.launches.pop() else {
        return Ok(());
    };
    for b in &mut r.buffers {
        let now = content(s, b.address, b.bytes)?;
        b.changed = now != b.before;
        b.before = Vec::new();
    }
    if let Some(t) = &mut s.trace {
        let record = &mut t.recorded;
        let tries = record.idle.get(&r.symbol).map_or(0, |i| i.0);
        if r.buffers.iter().any(|b| b.changed) || r.unusable.is_some() || tries >= PATIENCE {
            record.launches.push(r);
        } else {
            // The next one takes its number, and its files.
            if let Some(seen) = record.seen.get_mut(&r.symbol) {
                *seen -= 1;
            }
            record.idle.insert(r.symbol.clone(), (tries + 1, r));
        }
    }
    Ok(())
}

//! Recording launches for `kerf record`: `KERF_RECORD` says how many of each kernel.
//!
//! Before a launch, all memory that its arguments point to is written to files of the trace's folder, and
//! so are the module's variables; afterwards it is known what the launch changed.
use crate::error::CallFailure;
use crate::record::{Buffer, RecordedLaunch};
use crate::state::State;
use crate::trace;
use crate::variable;
use kerf_ir::kernels::{KernelInfo, Param, ParamKind, ScalarKind};
use serde_json::{Value, json};
use std::ffi::c_void;

fn content(s: &mut State, address: u64, bytes: usize) -> Result<Vec<u8>, CallFailure> {
    let mut v = vec![0u8; bytes];
    s.on_device(|d| {
        d.synchronize()?;
        d.copy(v.as_mut_ptr() as u64, address, bytes, 0, true)
    })?;
    Ok(v)
}

/// An argument that a workload file cannot have.
#[derive(Debug, thiserror::Error)]
enum UnusableArgument {
    #[error("a pointer to memory that the runtime did not allocate is an argument")]
    ForeignPointer,
}

/// A null pointer, which a workload has as 0.
fn null() -> Value {
    json!({ "kind": "u64", "bytes": [0, 0, 0, 0, 0, 0, 0, 0] })
}

/// A pointer as a buffer and a place in it.
fn pointer(
    s: &State,
    address: u64,
    found: &mut Vec<(u64, usize)>,
) -> Result<Value, UnusableArgument> {
    if address == 0 {
        return Ok(null());
    }
    let Some((at, a)) = s.holding(address) else {
        return Err(UnusableArgument::ForeignPointer);
    };
    if !found.iter().any(|(f, _)| *f == at) {
        found.push((at, a.number));
    }
    Ok(json!({ "buffer": a.number, "offset": address - at }))
}

fn scalar(kind: ScalarKind, bytes: &[u8]) -> Value {
    json!({ "kind": kind.to_string(), "bytes": bytes })
}

/// An argument, as a workload has it; `found` are the allocations that arguments point to, with their numbers.
fn argument(
    s: &State,
    p: &Param,
    a: *mut c_void,
    found: &mut Vec<(u64, usize)>,
) -> Result<Value, UnusableArgument> {
    let at = |offset: u64, n: u64| {
        // SAFETY: inside the argument, whose size the kernel's signature tells.
        unsafe { std::slice::from_raw_parts(a.cast::<u8>().add(offset as usize), n as usize) }
    };
    let address = |offset: u64| {
        let mut b = [0u8; 8];
        b.copy_from_slice(at(offset, 8));
        u64::from_le_bytes(b)
    };
    match &p.kind {
        ParamKind::Pointer { .. } => pointer(s, address(0), found),
        ParamKind::Scalar { scalar: kind } => Ok(scalar(*kind, at(0, kind.bytes()))),
        ParamKind::Struct { fields, .. } => {
            let mut all = Vec::new();
            for f in fields {
                all.push(match f.kind {
                    // A field that this kernel does not use may never have been set.
                    ScalarKind::Ptr => {
                        pointer(s, address(f.offset), found).unwrap_or_else(|_| null())
                    }
                    kind => scalar(kind, at(f.offset, kind.bytes())),
                });
            }
            Ok(json!({ "struct": all }))
        }
    }
}

/// Memory that a launch may change.
struct Place {
    address: u64,
    bytes: usize,
    allocation: Option<usize>,
    symbol: Option<String>,
}

/// The allocations that were found, and the unit's variables.
fn places(s: &mut State, unit: usize, found: Vec<(u64, usize)>) -> Result<Vec<Place>, CallFailure> {
    let mut places = Vec::new();
    for (address, number) in found {
        places.push(Place {
            address,
            bytes: s.memory.get(&address).map_or(0, |a| a.bytes),
            allocation: Some(number),
            symbol: None,
        });
    }
    let mine: Vec<(usize, String)> = s
        .variables
        .iter()
        .filter(|(_, v)| v.module == unit)
        .map(|(h, v)| (*h, v.symbol.clone()))
        .collect();
    for (shadow, symbol) in mine {
        let (address, bytes) = variable::find(s, shadow as *const c_void)?;
        places.push(Place {
            address,
            bytes,
            allocation: None,
            symbol: Some(symbol),
        });
    }
    Ok(places)
}

/// Writes the content of a place to a file of the trace's.
fn keep(s: &mut State, p: Place, file: String) -> Result<Buffer, CallFailure> {
    let before = content(s, p.address, p.bytes)?;
    let element = s
        .memory
        .get(&p.address)
        .and_then(|a| a.element.as_ref())
        .map(trace::element);
    if let Some(t) = &s.trace {
        t.file(&file, &before)?;
    }
    Ok(Buffer {
        allocation: p.allocation,
        symbol: p.symbol,
        file,
        bytes: p.bytes,
        element,
        changed: false,
        address: p.address,
        before,
    })
}

/// Before a launch.
pub fn before(
    s: &mut State,
    unit: usize,
    k: &KernelInfo,
    (grid, block, shared): ([u32; 3], [u32; 3], usize),
    args: &[*mut c_void],
) -> Result<(), CallFailure> {
    let Some(t) = &mut s.trace else {
        return Ok(());
    };
    let Some(number) = t.recorded.next(&k.symbol) else {
        return Ok(());
    };
    let mut r = RecordedLaunch {
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
        match argument(s, p, *a, &mut found) {
            Ok(v) => r.args.push(v),
            Err(why) => r.unusable = Some(format!("{why} ({})", p.name)),
        }
    }
    for (i, p) in places(s, unit, found)?.into_iter().enumerate() {
        let file = format!("launch-{number}-{i}.bin");
        r.buffers.push(keep(s, p, file)?);
    }
    if let Some(t) = &mut s.trace {
        t.recorded.begin(r);
    }
    Ok(())
}

/// After a launch.
pub fn after(s: &mut State) -> Result<(), CallFailure> {
    let Some(mut r) = s.trace.as_mut().and_then(|t| t.recorded.take_open()) else {
        return Ok(());
    };
    for b in &mut r.buffers {
        let now = content(s, b.address, b.bytes)?;
        b.changed = now != b.before;
        b.before = Vec::new();
    }
    if let Some(t) = &mut s.trace {
        t.recorded.end(r);
    }
    Ok(())
}

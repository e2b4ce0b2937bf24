//! What the calls of the application tell the recorder.
use super::format::{Place, RecordedCall};
use crate::launch_request::LaunchRequest;
use crate::state::State;
use kerf_exec::raw::MemoryPlace;
use kerf_ir::kernels::{KernelInfo, ParamKind, ScalarKind};
use std::ffi::c_void;

/// Is the run recorded?
pub fn is_recording(s: &State) -> bool {
    s.recorder.as_ref().is_some_and(|r| r.is_complete())
}

/// The run cannot be replayed, for this reason.
pub fn refuse(s: &mut State, why: &str) {
    if let Some(r) = &mut s.recorder {
        r.refuse(why);
    }
}

fn call(s: &mut State, call: RecordedCall) {
    if let Some(r) = &mut s.recorder {
        r.call(&call);
    }
}

/// Where an address is on the device; none if it is the host's.
fn place(s: &State, address: u64) -> Option<Place> {
    if let Some((_, a)) = s.holding(address) {
        return (a.place != MemoryPlace::Host).then_some(Place::Address(address));
    }
    s.variables.iter().find_map(|(number, v)| {
        let at = v.address?;
        let inside = (at..at + v.bytes as u64).contains(&address);
        inside.then(|| Place::Variable(*number, address - at))
    })
}

/// Is a copy one from the device to the host?
pub fn is_download(s: &State, to: u64, from: u64) -> bool {
    is_recording(s) && place(s, from).is_some() && place(s, to).is_none()
}

/// Memory was allocated.
pub fn allocated(s: &mut State, address: u64, bytes: usize, memory: MemoryPlace) {
    if s.recorder.is_none() {
        return;
    }
    let number = s.allocated;
    match memory {
        MemoryPlace::Device => call(
            s,
            RecordedCall::Alloc {
                address,
                bytes,
                number,
            },
        ),
        MemoryPlace::Managed => refuse(s, "cudaMallocManaged: host code reads and writes it"),
        // It is a place to copy from and to, until a kernel is given it.
        MemoryPlace::Host => {}
    }
}

/// Memory goes back.
pub fn freed(s: &mut State, address: u64, memory: MemoryPlace) {
    if s.recorder.is_some() && memory == MemoryPlace::Device {
        call(s, RecordedCall::Free { address });
    }
}

/// SAFETY: `bytes` of host memory at `address` are readable.
unsafe fn keep(s: &mut State, address: u64, bytes: usize) -> Option<super::format::DataPiece> {
    // SAFETY: as the caller promises.
    let data = unsafe { std::slice::from_raw_parts(address as *const u8, bytes) };
    s.recorder.as_mut()?.piece(data)
}

/// Bytes were copied, and have arrived.
pub fn copied(s: &mut State, to: u64, from: u64, bytes: usize, stream: u64) {
    if !is_recording(s) {
        return;
    }
    let recorded = match (place(s, to), place(s, from)) {
        (None, None) => None,
        (Some(to), Some(from)) => Some(RecordedCall::Move {
            to,
            from,
            bytes,
            stream,
        }),
        (Some(to), None) => {
            // SAFETY: the host's end of a copy.
            unsafe { keep(s, from, bytes) }.map(|data| RecordedCall::Upload { to, data, stream })
        }
        // The trace has what the program got.
        (None, Some(from)) => Some(RecordedCall::Download {
            from,
            bytes: bytes as u64,
            stream,
        }),
    };
    if let Some(c) = recorded {
        call(s, c);
    }
}

/// Bytes were set.
pub fn filled(s: &mut State, to: u64, value: u8, bytes: usize, stream: u64) {
    if !is_recording(s) {
        return;
    }
    // Pinned memory of the host is no part of a replay until it is copied.
    let Some(to) = place(s, to) else {
        return;
    };
    call(
        s,
        RecordedCall::Fill {
            to,
            value,
            bytes,
            stream,
        },
    );
}

/// 32-bit words were set.
pub fn filled_words(s: &mut State, to: u64, value: u32, count: usize) {
    if !is_recording(s) {
        return;
    }
    if let Some(to) = place(s, to) {
        call(s, RecordedCall::FillWords { to, value, count });
    }
}

/// Bytes of a parameter.
pub fn parameter_bytes(kind: &ParamKind) -> usize {
    match kind {
        ParamKind::Pointer { .. } => 8,
        ParamKind::Scalar { scalar } => scalar.bytes() as usize,
        ParamKind::Struct { bytes, .. } => *bytes as usize,
    }
}

/// Host memory that a kernel is given, in words.
fn mapped(s: &State, k: &KernelInfo, arguments: &[&[u8]]) -> Option<String> {
    let word = |bytes: &[u8], at: usize| {
        let mut b = [0u8; 8];
        b.copy_from_slice(bytes.get(at..at + 8)?);
        Some(u64::from_le_bytes(b))
    };
    for (p, bytes) in k.params.iter().zip(arguments) {
        let pointers: Vec<usize> = match &p.kind {
            ParamKind::Pointer { .. } => vec![0],
            ParamKind::Struct { fields, .. } => {
                let pointers = fields.iter().filter(|f| f.kind == ScalarKind::Ptr);
                pointers.map(|f| f.offset as usize).collect()
            }
            ParamKind::Scalar { .. } => continue,
        };
        for at in pointers {
            let held = word(bytes, at).and_then(|a| s.holding(a));
            if held.is_some_and(|(_, a)| a.place == MemoryPlace::Host) {
                let what = "is given pinned host memory (mapped memory)";
                return Some(format!("{} {what}", k.name));
            }
        }
    }
    None
}

/// A kernel was launched.
pub fn launched(s: &mut State, k: &KernelInfo, r: &LaunchRequest) {
    if !is_recording(s) {
        return;
    }
    let pointers: &[*mut c_void] = match k.params.len() {
        0 => &[],
        // SAFETY: the caller of the launch passed one address for each parameter.
        n => unsafe { std::slice::from_raw_parts(r.args, n) },
    };
    let each = k.params.iter().zip(pointers);
    let arguments: Vec<&[u8]> = each
        // SAFETY: arguments have the sizes that the kernel's signature says.
        .map(|(p, a)| unsafe {
            std::slice::from_raw_parts(a.cast::<u8>(), parameter_bytes(&p.kind))
        })
        .collect();
    if let Some(why) = mapped(s, k, &arguments) {
        refuse(s, &why);
        return;
    }
    let bytes = arguments.concat();
    let Some(arguments) = s.recorder.as_mut().and_then(|r| r.piece(&bytes)) else {
        return;
    };
    call(
        s,
        RecordedCall::Launch {
            function: r.function,
            grid: r.grid,
            block: r.block,
            shared: r.shared,
            cooperative: r.cooperative,
            arguments,
            stream: r.stream,
        },
    );
}

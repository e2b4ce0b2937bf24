//! Notes for the trace of what happens to the state.
use super::{Allocation, State};
use crate::error::CallFailure;
use crate::held;
use crate::trace::{Copy, RunTrace, element, float_format};
use kerf_exec::raw::MemoryPlace;
use kerf_ir::kernels::KernelInfo;

/// A parameter is given an address.
pub fn touched(s: &mut State, symbol: &str, parameter: usize, address: u64) {
    let Some(number) = s.holding(address).map(|(_, a)| a.number) else {
        return;
    };
    if let Some(t) = &mut s.trace {
        t.touched(symbol, parameter, number);
    }
}

/// A struct that is passed by value holds an address.
pub fn in_struct(s: &mut State, address: u64) {
    let number = s.holding(address).map(|(_, a)| a.number);
    if let (Some(t), Some(n)) = (&mut s.trace, number) {
        t.in_struct(n);
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
        t.fix(number, "parts of numbers are copied or filled");
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
        t.copied_on_device(a, b);
    }
}

/// Bytes are filled.
pub fn filled(s: &mut State, to: u64, value: u8, bytes: usize) {
    if !s.watched() {
        return;
    }
    let number = whole(s, to, bytes);
    if let (Some(t), Some(n), true) = (&mut s.trace, number, value != 0) {
        t.fix(n, "it is filled with bytes other than 0");
    }
}

/// Notes what an allocation was, before it goes.
fn note(s: &mut State, a: &Allocation) {
    if let Some(t) = &mut s.trace {
        t.allocation(a.number, a.bytes, a.element.as_ref().map(element));
        if a.place != MemoryPlace::Device {
            t.fix(a.number, "host code reads and writes it");
        }
    }
}

/// After a launch.
pub fn after(s: &mut State, unit: usize, k: &KernelInfo, block: [u32; 3], seconds: f64) {
    if let Some(t) = &mut s.trace {
        t.launched(unit, k, block, seconds);
    }
}

/// After bytes came to the host.
pub fn copied(s: &mut State, to: u64, from: u64, bytes: usize) -> Result<(), CallFailure> {
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
        last: false,
    };
    t.keep(data, c)
}

/// Managed and pinned memory that kernels have worked on counts as copied when it is freed, or at the end.
fn managed(s: &mut State, address: u64, a: &Allocation) -> Result<(), CallFailure> {
    let Some(e) = &a.element else {
        return Ok(());
    };
    if a.place == MemoryPlace::Device || s.trace.is_none() {
        return Ok(());
    }
    s.on_device(|d| d.synchronize())?;
    let c = Copy {
        allocation: a.number,
        at: 0,
        bytes: a.bytes,
        element: Some(element(e)),
        offset: 0,
        last: false,
    };
    // SAFETY: the allocation is live, and the device is idle.
    let data = unsafe { std::slice::from_raw_parts(address as *const u8, a.bytes) };
    match &mut s.trace {
        Some(t) => t.keep(data, c),
        None => Ok(()),
    }
}

/// What kernels left in device memory counts as the program's output where it copies no numbers to the host: many programs
/// only measure their kernels, or copy counts of what they check on the device.
fn last_contents(s: &mut State, address: u64, a: &Allocation) -> Result<(), CallFailure> {
    let keeps = s.trace.as_ref().is_some_and(RunTrace::keeps_last_contents);
    let Some(e) = a.element.as_ref().filter(|_| keeps && is_output(a)) else {
        return Ok(());
    };
    let bytes = a.bytes - a.bytes % (e.1.max(1) as usize);
    let c = Copy {
        allocation: a.number,
        at: 0,
        bytes,
        element: Some(element(e)),
        offset: 0,
        last: true,
    };
    s.on_device(|d| d.synchronize())?;
    let mut data = vec![0u8; bytes];
    let to = data.as_mut_ptr() as u64;
    if !held::copy(s, to, address, bytes, 0)? {
        s.on_device(|d| d.copy(to, address, bytes, 0, true))?;
    }
    match &mut s.trace {
        Some(t) => t.keep(&data, c),
        None => Ok(()),
    }
}

/// Is an allocation one of numbers that kernels write on the device?
fn is_output(a: &Allocation) -> bool {
    let scalars = a.element.iter().flat_map(|(scalars, _)| scalars);
    let mut kinds = scalars.into_iter().map(|e| e.kind.to_string());
    a.place == MemoryPlace::Device && a.written && kinds.any(|k| float_format(&k).is_some())
}

/// Before memory is freed.
pub fn freed(s: &mut State, address: u64) -> Result<(), CallFailure> {
    if s.trace.is_none() {
        return Ok(());
    }
    match s.memory.get(&address).cloned() {
        Some(a) => {
            note(s, &a);
            managed(s, address, &a)?;
            last_contents(s, address, &a)
        }
        None => Ok(()),
    }
}

/// At the end of the program; gives what it copied.
pub fn finish(s: &mut State) -> Vec<Copy> {
    let live: Vec<(u64, Allocation)> = s.memory.iter().map(|(k, v)| (*k, v.clone())).collect();
    for (address, a) in live {
        note(s, &a);
        let _ = managed(s, address, &a);
        let _ = last_contents(s, address, &a);
    }
    let device = s.device.as_ref().map_or("none", |d| d.kind().name());
    match s.trace.take() {
        Some(t) => t.write(device),
        None => Vec::new(),
    }
}

//! Memory that kernels allocate themselves: `malloc`, `free`, and what memcheck knows of it.
use super::memory::Arena;
use super::sanitize::region::Region;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Mutex;

/// Live allocations: first address and bytes. They outlive launches, as on the device.
static LIVE: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// Memory of a checked program: its content is undefined.
fn checked(r: &Region, bytes: usize) -> *mut c_void {
    match Arena::within(r).alloc(bytes.max(1)) {
        Ok(p) => {
            r.fill(p as usize, bytes, true, 0);
            p.cast()
        }
        Err(_) => std::ptr::null_mut(),
    }
}

pub(super) extern "C" fn malloc(bytes: u64) -> *mut c_void {
    let p = match Region::active() {
        Some(r) => checked(r, bytes as usize),
        // SAFETY: plain malloc; the kernel owns the result.
        None => unsafe { libc::malloc(bytes as usize) },
    };
    if !p.is_null() {
        LIVE.lock()
            .unwrap_or_else(|e| e.into_inner())
            .insert(p as usize, bytes as usize);
    }
    p
}

pub(super) extern "C" fn free(p: *mut c_void) {
    LIVE.lock()
        .unwrap_or_else(|e| e.into_inner())
        .remove(&(p as usize));
    match Region::active() {
        // It is not given out again: a use after this is seen.
        Some(r) if r.holds(p as usize) => {}
        // SAFETY: the kernel passes what its malloc gave.
        _ => unsafe { libc::free(p) },
    }
}

/// The allocation that begins at or before an address and is not far from it: bytes, and where in it.
pub(super) fn near(address: usize) -> Option<(usize, usize)> {
    let live = LIVE.lock().unwrap_or_else(|e| e.into_inner());
    let (at, bytes) = live.range(..=address).next_back()?;
    (address - at < bytes + 4096).then_some((*bytes, address - at))
}

/// Does a live allocation hold all of these addresses?
pub(super) fn holds(start: usize, end: usize) -> bool {
    let live = LIVE.lock().unwrap_or_else(|e| e.into_inner());
    live.range(..=start)
        .next_back()
        .is_some_and(|(at, bytes)| end <= at + bytes)
}

//! What functions of libraries need on the CPU: the memory that their arguments point to, checked.
use super::current;
use crate::process::say;
use crate::state::{State, with_state};
use kerf_mathlib::blas::{Strided, StridedMut};

/// An integer argument, of 32 or 64 bits.
pub trait Int: Copy + 'static {
    /// Its value.
    fn value(self) -> i64;
    /// As a result.
    fn from_index(i: usize) -> Self;
}

impl Int for i32 {
    fn value(self) -> i64 {
        i64::from(self)
    }
    fn from_index(i: usize) -> i32 {
        i as i32
    }
}

impl Int for i64 {
    fn value(self) -> i64 {
        self
    }
    fn from_index(i: usize) -> i64 {
        i as i64
    }
}

/// A status of a library; never 0.
pub type Status = i32;

/// Runs a function of a library under the runtime's lock; gives its status.
pub fn run(f: impl FnOnce(&mut State) -> Result<(), Status>) -> Status {
    match with_state(f) {
        Ok(()) => 0,
        Err(status) => status,
    }
}

/// Says why the function that was called fails.
pub fn explain(why: &str) {
    say(&format!("{}: {why}", current::get()));
}

/// Is a range of addresses the device's, or the host's as the device knows it?
fn is_known(s: &State, address: u64, bytes: u64) -> bool {
    if let Some((at, a)) = s.holding(address) {
        return address - at + bytes <= a.bytes as u64;
    }
    let inside = |start: u64, length: u64| address >= start && address + bytes <= start + length;
    let mut variables = s.variables.values();
    variables.any(|v| v.address.is_some_and(|at| inside(at, v.bytes as u64)))
        || s.registered.iter().any(|(at, n)| inside(*at, *n as u64))
}

/// Fails with `status` if a range is not memory of the device's. A GPU would report an illegal address, here the program would.
pub fn check(
    s: &State,
    what: &str,
    address: u64,
    bytes: u64,
    status: Status,
) -> Result<(), Status> {
    if bytes == 0 || is_known(s, address, bytes) {
        return Ok(());
    }
    explain(&format!(
        "{what}: {bytes} bytes at {address:#x} are not in memory of the device"
    ));
    Err(status)
}

/// Bytes from the first to the last of `n` numbers with a stride.
pub fn extent<T>(n: usize, stride: i64) -> u64 {
    let steps = (n as u64)
        .saturating_sub(1)
        .saturating_mul(stride.unsigned_abs());
    if n == 0 {
        0
    } else {
        steps
            .saturating_add(1)
            .saturating_mul(size_of::<T>() as u64)
    }
}

/// A vector to read, checked.
pub fn vector<T: Copy>(
    s: &State,
    what: &str,
    (x, n, stride): (*const T, usize, i64),
    status: Status,
) -> Result<Strided<T>, Status> {
    check(s, what, x as u64, extent::<T>(n, stride), status)?;
    // SAFETY: it is in memory that the runtime has allocated.
    Ok(unsafe { Strided::new(x, n, stride as isize) })
}

/// A vector to write, checked.
pub fn vector_mut<T: Copy>(
    s: &State,
    what: &str,
    (x, n, stride): (*mut T, usize, i64),
    status: Status,
) -> Result<StridedMut<T>, Status> {
    check(s, what, x as u64, extent::<T>(n, stride), status)?;
    // SAFETY: as above.
    Ok(unsafe { StridedMut::new(x, n, stride as isize) })
}

/// Tells the checks of programs that bytes were written.
pub fn wrote(s: &mut State, address: u64, bytes: usize) {
    if bytes == 0 || s.config.as_ref().is_none_or(|c| c.memcheck.is_none()) {
        return;
    }
    // SAFETY: the function has just written them.
    let now = unsafe { std::slice::from_raw_parts(address as *const u8, bytes) }.to_vec();
    // What a copy from the host brings is defined; the range is known to be memory.
    let _ = s.on_device(|d| d.copy(address, now.as_ptr() as u64, bytes, 0, true));
}

/// The same of numbers with a stride.
pub fn wrote_vector<T>(s: &mut State, x: *mut T, n: usize, stride: i64) {
    if s.config.as_ref().is_none_or(|c| c.memcheck.is_none()) {
        return;
    }
    let step = stride.unsigned_abs() * size_of::<T>() as u64;
    for i in 0..n as u64 {
        wrote(s, x as u64 + i * step, size_of::<T>());
    }
}

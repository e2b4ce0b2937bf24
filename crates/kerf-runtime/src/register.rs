//! What objects built by `kerf cc` call before `main`: registration of device code.
use crate::error::code;
use crate::managed;
use crate::process::say;
use crate::registered::{RegisteredFunction, RegisteredUnit, RegisteredVariable};
use crate::state::with_state;
use kerf_ir::blob;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};

/// `dim3`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Dim3 {
    /// First.
    pub x: u32,
    /// Second.
    pub y: u32,
    /// Third.
    pub z: u32,
}

impl From<Dim3> for [u32; 3] {
    fn from(d: Dim3) -> [u32; 3] {
        [d.x, d.y, d.z]
    }
}

/// What clang puts around a fat binary.
#[repr(C)]
struct Wrapper {
    magic: i32,
    version: i32,
    data: *const u8,
    other: *const c_void,
}

type Callback = extern "C" fn(*mut *mut c_void);

/// A handle is the number of a unit plus one, in a cell of its own.
fn handle(unit: usize) -> *mut *mut c_void {
    Box::into_raw(Box::new((unit + 1) as *mut c_void))
}

/// SAFETY: `h` is what [`handle`] gave.
unsafe fn unit_of(h: *mut *mut c_void) -> usize {
    // SAFETY: as the caller promises.
    unsafe { (*h as usize).wrapping_sub(1) }
}

/// SAFETY: `w` is what clang wrote.
unsafe fn unit(w: *const Wrapper, linked: bool) -> usize {
    // SAFETY: as the caller promises.
    let blob = unsafe { blob::unpack((*w).data) };
    let blob = match blob {
        Ok(b) => b,
        Err(e) => {
            say(&format!("{e}: build the program with kerf cc"));
            std::process::exit(2);
        }
    };
    with_state(|s| {
        let at = match s.linked {
            Some(at) if linked => at,
            _ => {
                s.units.push(RegisteredUnit {
                    meta: Vec::new(),
                    bitcode: Vec::new(),
                    kept: &[],
                    loaded: None,
                });
                s.units.len() - 1
            }
        };
        if linked {
            s.linked = Some(at);
        } else {
            s.units[at].kept = blob.kept;
        }
        s.units[at].meta.push(blob.meta);
        s.units[at].bitcode.push(blob.bitcode.into());
        at
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterFatBinary(w: *const c_void) -> *mut *mut c_void {
    // SAFETY: clang's own wrapper.
    handle(unsafe { unit(w.cast(), false) })
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

#[unsafe(no_mangle)]
extern "C" fn __cudaUnregisterFatBinary(_handle: *mut *mut c_void) {}

/// Called by objects that were compiled with `-rdc=true`, all of which are one unit.
#[unsafe(no_mangle)]
unsafe extern "C" fn __kerfRegisterLinkedBinary(
    globals: Callback,
    wrapper: *const c_void,
    _name: *const c_void,
    _callback: *const c_void,
) {
    // SAFETY: clang's own wrapper.
    globals(handle(unsafe { unit(wrapper.cast(), true) }));
}

/// SAFETY: a C string or null.
unsafe fn string(p: *const c_char) -> String {
    if p.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    host: *const c_void,
    _device: *const c_char,
    name: *const c_char,
    _limit: i32,
    _tid: *const c_void,
    _bid: *const c_void,
    _block: *const c_void,
    _grid: *const c_void,
    _warp: *const i32,
) {
    // SAFETY: a handle of ours and a C string.
    let (module, symbol) = unsafe { (unit_of(handle), string(name)) };
    with_state(|s| {
        s.functions.insert(
            host as usize,
            RegisteredFunction {
                module,
                symbol,
                shared_limit: 48 * 1024,
                ready: None,
            },
        );
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host: *const c_void,
    _address: *const c_char,
    name: *const c_char,
    _external: i32,
    bytes: usize,
    _constant: i32,
    _global: i32,
) {
    // SAFETY: as above.
    let (module, symbol) = unsafe { (unit_of(handle), string(name)) };
    let name = symbol.clone();
    with_state(|s| {
        s.variables.insert(
            host as usize,
            RegisteredVariable {
                module,
                symbol,
                bytes,
                address: None,
            },
        );
        managed::registered(s, module, &name, host as usize, bytes);
    });
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterTexture() {
    say("texture references are not supported");
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterSurface() {
    say("surface references are not supported");
}

#[unsafe(no_mangle)]
extern "C" fn __cudaInitModule(_handle: *mut *mut c_void) -> i8 {
    1
}

thread_local! {
    static CONFIGURATIONS: RefCell<Vec<(Dim3, Dim3, usize, *mut c_void)>> =
        const { RefCell::new(Vec::new()) };
}

#[unsafe(no_mangle)]
extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: *mut c_void,
) -> u32 {
    CONFIGURATIONS.with(|c| c.borrow_mut().push((grid, block, shared, stream)));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut *mut c_void,
) -> i32 {
    let Some(c) = CONFIGURATIONS.with(|c| c.borrow_mut().pop()) else {
        return crate::error::note(52);
    };
    // SAFETY: clang's stub passes four of its own variables.
    unsafe {
        (*grid, *block, *shared, *stream) = c;
    }
    code::SUCCESS
}

//! cuBLAS on the CPU: contexts, and which functions there are. Matrices are in column-major order, as there.
mod level1;
mod level2;
mod level3;
mod mixed;
mod products;

use super::on_cpu::{self, Int, Status, check, explain};
use crate::state::State;
use kerf_mathlib::blas::{Complex, Transposition, Triangle};
use std::ffi::{CStr, c_char, c_void};

/// Statuses of cuBLAS.
mod status {
    pub const NOT_INITIALIZED: i32 = 1;
    pub const INVALID_VALUE: i32 = 7;
    pub const EXECUTION_FAILED: i32 = 13;
    pub const NOT_SUPPORTED: i32 = 15;
}

/// A context, as its functions set it. Streams need no waiting: every call is done when it returns.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context {
    stream: u64,
    scalars_on_device: bool,
    math_mode: i32,
    atomics_mode: i32,
    sm_count: i32,
}

/// A call with a context.
struct Call<'a> {
    state: &'a mut State,
    context: Context,
}

/// `cublasHandle_t`.
type Handle = u64;

fn call(handle: Handle, f: impl FnOnce(&mut Call) -> Result<(), Status>) -> Status {
    on_cpu::run(|state| {
        let context = *state
            .libraries
            .cublas
            .get(&handle)
            .ok_or(status::NOT_INITIALIZED)?;
        f(&mut Call { state, context })
    })
}

/// A size or count of an argument.
fn count(x: impl Int) -> Result<usize, Status> {
    usize::try_from(x.value()).map_err(|_| status::INVALID_VALUE)
}

/// A stride of a vector, which is not 0.
fn stride(x: impl Int) -> Result<i64, Status> {
    match x.value() {
        0 => Err(status::INVALID_VALUE),
        s => Ok(s),
    }
}

fn operation(op: i32) -> Result<Transposition, Status> {
    match op {
        0 => Ok(Transposition::None),
        1 => Ok(Transposition::Transpose),
        2 => Ok(Transposition::Adjoint),
        _ => Err(status::INVALID_VALUE),
    }
}

fn triangle(half: i32) -> Result<Triangle, Status> {
    match half {
        0 => Ok(Triangle::Lower),
        1 => Ok(Triangle::Upper),
        _ => Err(status::INVALID_VALUE),
    }
}

/// A choice between two that CUDA numbers 0 and 1.
fn is_second(choice: i32) -> Result<bool, Status> {
    match choice {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(status::INVALID_VALUE),
    }
}

/// A stored matrix.
#[derive(Debug, Clone, Copy)]
struct Stored<T> {
    first: *const T,
    /// Elements from one column to the next.
    leading: usize,
}

impl<T: Copy> Stored<T> {
    fn at(&self, i: usize, j: usize) -> T {
        // SAFETY: the matrix was checked when this was made.
        unsafe { self.first.add(j * self.leading + i).read_unaligned() }
    }

    fn set(&self, i: usize, j: usize, x: T) {
        // SAFETY: as above, by `Call::matrix_mut`.
        unsafe {
            self.first
                .cast_mut()
                .add(j * self.leading + i)
                .write_unaligned(x)
        }
    }
}

impl Call<'_> {
    /// A factor, which is in memory of the host or of the device, as the context says.
    fn scalar<T: Copy>(&self, what: &str, x: *const T) -> Result<T, Status> {
        if x.is_null() {
            return Err(status::INVALID_VALUE);
        }
        if self.context.scalars_on_device {
            let bytes = size_of::<T>() as u64;
            check(self.state, what, x as u64, bytes, status::EXECUTION_FAILED)?;
        }
        // SAFETY: a variable of the caller's, or memory that was checked.
        Ok(unsafe { x.read_unaligned() })
    }

    /// Gives a result, to where the context says that it goes.
    fn give<T: Copy>(&mut self, to: *mut T, x: T) -> Result<(), Status> {
        if to.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let bytes = size_of::<T>();
        if self.context.scalars_on_device {
            check(
                self.state,
                "result",
                to as u64,
                bytes as u64,
                status::EXECUTION_FAILED,
            )?;
        }
        // SAFETY: as above.
        unsafe { to.write_unaligned(x) };
        if self.context.scalars_on_device {
            on_cpu::wrote(self.state, to as u64, bytes);
        }
        Ok(())
    }

    /// A matrix as it is stored, checked.
    fn matrix<T>(
        &self,
        what: &str,
        (first, leading): (*const T, i64),
        (rows, columns): (usize, usize),
    ) -> Result<Stored<T>, Status> {
        if leading < rows.max(1) as i64 {
            return Err(status::INVALID_VALUE);
        }
        let leading = leading as usize;
        if rows > 0 && columns > 0 {
            let numbers = (columns as u64 - 1) * leading as u64 + rows as u64;
            let bytes = numbers * size_of::<T>() as u64;
            check(
                self.state,
                what,
                first as u64,
                bytes,
                status::EXECUTION_FAILED,
            )?;
        }
        Ok(Stored { first, leading })
    }

    /// A matrix has been written.
    fn wrote<T>(&mut self, m: Stored<T>, (rows, columns): (usize, usize)) {
        for j in 0..columns {
            let column = m.first as u64 + (j * m.leading * size_of::<T>()) as u64;
            on_cpu::wrote(self.state, column, rows * size_of::<T>());
        }
    }
}

extern "C" fn create(to: *mut Handle) -> Status {
    on_cpu::run(|s| {
        if to.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let h = s.libraries.handle();
        s.libraries.cublas.insert(h, Context::default());
        // SAFETY: the caller's variable.
        unsafe { to.write(h) };
        Ok(())
    })
}

extern "C" fn destroy(handle: Handle) -> Status {
    on_cpu::run(|s| match s.libraries.cublas.remove(&handle) {
        Some(_) => Ok(()),
        None => Err(status::NOT_INITIALIZED),
    })
}

/// A function that sets something of a context.
macro_rules! setter {
    ($name:ident, $t:ty, |$c:ident, $x:ident| $set:expr) => {
        extern "C" fn $name(handle: Handle, $x: $t) -> Status {
            on_cpu::run(|s| match s.libraries.cublas.get_mut(&handle) {
                Some($c) => $set,
                None => Err(status::NOT_INITIALIZED),
            })
        }
    };
}

/// A function that gives something of a context.
macro_rules! getter {
    ($name:ident, $t:ty, |$c:ident| $get:expr) => {
        extern "C" fn $name(handle: Handle, to: *mut $t) -> Status {
            call(handle, |call| {
                let $c = call.context;
                if to.is_null() {
                    return Err(status::INVALID_VALUE);
                }
                // SAFETY: the caller's variable.
                unsafe { to.write($get) };
                Ok(())
            })
        }
    };
}

/// Sets a field.
fn set<T>(field: &mut T, x: T) -> Result<(), Status> {
    *field = x;
    Ok(())
}

setter!(set_stream, u64, |c, x| set(&mut c.stream, x));
setter!(set_pointer_mode, i32, |c, x| set(
    &mut c.scalars_on_device,
    is_second(x)?
));
setter!(set_math_mode, i32, |c, x| set(&mut c.math_mode, x));
setter!(set_atomics_mode, i32, |c, x| set(&mut c.atomics_mode, x));
setter!(set_sm_count, i32, |c, x| set(&mut c.sm_count, x));
getter!(get_stream, u64, |c| c.stream);
getter!(get_pointer_mode, i32, |c| i32::from(c.scalars_on_device));
getter!(get_math_mode, i32, |c| c.math_mode);
getter!(get_atomics_mode, i32, |c| c.atomics_mode);
getter!(get_sm_count, i32, |c| c.sm_count);

extern "C" fn set_workspace(handle: Handle, _memory: *mut c_void, _bytes: usize) -> Status {
    call(handle, |_| Ok(()))
}

/// The version whose interface this is: CUDA 12.9's.
const VERSION: [i32; 3] = [12, 9, 0];

extern "C" fn get_version(_handle: Handle, to: *mut i32) -> Status {
    if to.is_null() {
        return status::INVALID_VALUE;
    }
    // SAFETY: the caller's variable.
    unsafe { to.write(VERSION[0] * 10_000 + VERSION[1] * 100 + VERSION[2]) };
    0
}

extern "C" fn get_property(part: i32, to: *mut i32) -> Status {
    let found = usize::try_from(part).ok().and_then(|i| VERSION.get(i));
    match found {
        Some(v) if !to.is_null() => {
            // SAFETY: the caller's variable.
            unsafe { to.write(*v) };
            0
        }
        _ => status::INVALID_VALUE,
    }
}

/// Statuses, their names and what they mean.
const TEXTS: [(i32, &CStr, &CStr); 10] = [
    (0, c"CUBLAS_STATUS_SUCCESS", c"success"),
    (
        1,
        c"CUBLAS_STATUS_NOT_INITIALIZED",
        c"the library was not initialized",
    ),
    (
        3,
        c"CUBLAS_STATUS_ALLOC_FAILED",
        c"the resource allocation failed",
    ),
    (
        7,
        c"CUBLAS_STATUS_INVALID_VALUE",
        c"an invalid value was used as an argument",
    ),
    (
        8,
        c"CUBLAS_STATUS_ARCH_MISMATCH",
        c"an absent device architectural feature is required",
    ),
    (
        11,
        c"CUBLAS_STATUS_MAPPING_ERROR",
        c"an access to GPU memory space failed",
    ),
    (
        13,
        c"CUBLAS_STATUS_EXECUTION_FAILED",
        c"the function failed to launch on the GPU",
    ),
    (
        14,
        c"CUBLAS_STATUS_INTERNAL_ERROR",
        c"an internal operation failed",
    ),
    (
        15,
        c"CUBLAS_STATUS_NOT_SUPPORTED",
        c"the functionality is not supported",
    ),
    (
        16,
        c"CUBLAS_STATUS_LICENSE_ERROR",
        c"an error occurred when checking the license",
    ),
];

extern "C" fn status_name(status: i32) -> *const c_char {
    let found = TEXTS.iter().find(|t| t.0 == status);
    found.map_or(c"CUBLAS_STATUS_UNKNOWN", |t| t.1).as_ptr()
}

extern "C" fn status_string(status: i32) -> *const c_char {
    let found = TEXTS.iter().find(|t| t.0 == status);
    found.map_or(c"unknown status", |t| t.2).as_ptr()
}

fn of_contexts(name: &str) -> Option<*const c_void> {
    Some(match name {
        "Create_v2" => create as *const c_void,
        "Destroy_v2" => destroy as *const c_void,
        "SetStream_v2" => set_stream as *const c_void,
        "GetStream_v2" => get_stream as *const c_void,
        "SetPointerMode_v2" => set_pointer_mode as *const c_void,
        "GetPointerMode_v2" => get_pointer_mode as *const c_void,
        "SetMathMode" => set_math_mode as *const c_void,
        "GetMathMode" => get_math_mode as *const c_void,
        "SetAtomicsMode" => set_atomics_mode as *const c_void,
        "GetAtomicsMode" => get_atomics_mode as *const c_void,
        "SetSmCountTarget" => set_sm_count as *const c_void,
        "GetSmCountTarget" => get_sm_count as *const c_void,
        "SetWorkspace_v2" => set_workspace as *const c_void,
        "GetVersion_v2" => get_version as *const c_void,
        "GetProperty" => get_property as *const c_void,
        "GetStatusName" => status_name as *const c_void,
        "GetStatusString" => status_string as *const c_void,
        _ => return None,
    })
}

/// Functions on numbers of one type: what follows its letter.
fn of_type<T: kerf_mathlib::blas::BlasNumber, I: Int>(name: &str) -> Option<*const c_void> {
    level1::function::<T, I>(name)
        .or_else(|| level2::function::<T, I>(name))
        .or_else(|| level3::function::<T, I>(name))
        .or_else(|| products::function::<T, I>(name))
}

fn sized<I: Int>(name: &str) -> Option<*const c_void> {
    if let Some(f) = level1::special::<I>(name).or_else(|| mixed::function::<I>(name)) {
        return Some(f);
    }
    let (letter, rest) = name.split_at_checked(1)?;
    match letter {
        "S" => of_type::<f32, I>(rest).or_else(|| level1::real::<f32, I>(rest)),
        "D" => of_type::<f64, I>(rest).or_else(|| level1::real::<f64, I>(rest)),
        "C" => of_type::<Complex<f32>, I>(rest),
        "Z" => of_type::<Complex<f64>, I>(rest),
        _ => None,
    }
}

/// A function of cuBLAS; none where the CPU has it not.
pub fn function(name: &str) -> Option<*const c_void> {
    let name = name.strip_prefix("cublas")?;
    if let Some(f) = of_contexts(name) {
        return Some(f);
    }
    match name.strip_suffix("_64") {
        Some(name) => sized::<i64>(name),
        None => sized::<i32>(name),
    }
}

/// What combinations of types a function has, where one is not among them.
fn unsupported(what: &str) -> Status {
    explain(&format!("{what}: not run on the CPU"));
    status::NOT_SUPPORTED
}

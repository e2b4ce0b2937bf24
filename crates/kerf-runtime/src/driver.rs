//! CUDA's driver API: what programs reach through `libcuda.so.1`, and what applications of `kerf cc` mix in.
//!
//! Every call has the prefix `kerf_` here (`kerf_cuInit`): NVIDIA's own driver, which this library may load, never meets
//! these names. `kerf cc` renames the calls of applications, and the library of the crate `kerf-libcuda`, which has the
//! driver's own names, passes them on.
//!
//! There is one device and one context, which is always current. Modules are PTX, alone or inside a fat binary; their kernels
//! and variables are registered like those of applications, so that plans, traces and records mean the same for both.

/// Defines exported calls: a body with the state under its lock, whose failure is a code of the driver.
macro_rules! driver_calls {
    ($($symbol:ident as $cuda:literal ($($arg:ident: $ty:ty),* $(,)?) |$s:ident| $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $symbol($($arg: $ty),*) -> i32 {
            $crate::driver::driver_code($crate::call::call(
                $cuda,
                |$s| -> Result<(), $crate::error::CallFailure> { $body },
            ))
        }
    )*};
}

mod context;
mod device_calls;
mod entry_points;
mod error_names;
mod fatbin;
mod function_calls;
mod image;
mod kernel_launch;
mod library;
mod linker;
mod memory_calls;
mod memory_copies;
mod memory_pools;
mod module;
mod refused_calls;
mod stream_calls;

/// The driver's codes are the runtime's, but for a few.
pub fn driver_code(code: i32) -> i32 {
    match code {
        9 => 1,
        13 | 98 => 500,
        c => c,
    }
}

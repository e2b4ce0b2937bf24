//! Calls that fail, with the statuses of their libraries.
use crate::process::say;
use crate::state::State;
use kerf_clang::cuda_library::CudaLibrary;
use std::ffi::c_void;

/// A library's statuses for what goes wrong here.
pub struct Statuses {
    /// The library is not there.
    pub missing: i32,
    /// The device has failed.
    pub execution: i32,
    /// Something that the library has no status for.
    pub internal: i32,
    /// Not supported.
    pub unsupported: i32,
}

/// The statuses of a library.
pub fn statuses(library: CudaLibrary) -> Statuses {
    let [missing, execution, internal, unsupported] = match library {
        CudaLibrary::Cublas | CudaLibrary::CublasLt => [1, 13, 14, 15],
        CudaLibrary::Cufft => [7, 6, 5, 16],
        // It has no "not supported": the nearest is "the architecture has not that feature".
        CudaLibrary::Curand => [203, 201, 999, 204],
        CudaLibrary::Cusparse => [1, 6, 7, 10],
        CudaLibrary::Cusolver | CudaLibrary::CusolverMg => [1, 6, 7, 9],
    };
    Statuses {
        missing,
        execution,
        internal,
        unsupported,
    }
}

extern "C" fn always<const STATUS: usize>() -> usize {
    STATUS
}

/// A function that only gives a status.
pub fn with(status: i32) -> *const c_void {
    let f: extern "C" fn() -> usize = match status {
        0 => always::<0>,
        1 => always::<1>,
        5 => always::<5>,
        6 => always::<6>,
        7 => always::<7>,
        9 => always::<9>,
        10 => always::<10>,
        13 => always::<13>,
        15 => always::<15>,
        16 => always::<16>,
        201 => always::<201>,
        203 => always::<203>,
        204 => always::<204>,
        999 => always::<999>,
        _ => always::<14>,
    };
    f as *const c_void
}

extern "C" fn text() -> *const libc::c_char {
    c"a status of a library that Kerf does not run on the CPU".as_ptr()
}

/// A function that is not there on the CPU, said once.
pub fn on_cpu(s: &mut State, library: CudaLibrary, name: &str) -> *const c_void {
    if name.ends_with("String") || name.ends_with("Name") {
        return text as *const c_void;
    }
    let line = format!(
        "{name} ({}) is not run on the CPU; on a GPU (KERF_DEVICE=cuda) NVIDIA's library does it",
        library.title()
    );
    if s.libraries.is_new(&line) {
        say(&line);
    }
    with(statuses(library).unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_function() {
        for l in [
            CudaLibrary::Cublas,
            CudaLibrary::Cufft,
            CudaLibrary::Curand,
            CudaLibrary::Cusparse,
            CudaLibrary::Cusolver,
        ] {
            let s = statuses(l);
            for status in [s.missing, s.execution, s.internal, s.unsupported] {
                // SAFETY: a function without arguments.
                let f: extern "C" fn() -> usize = unsafe { std::mem::transmute(with(status)) };
                assert_eq!(f(), status as usize);
            }
        }
    }
}

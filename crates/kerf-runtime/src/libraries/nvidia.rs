//! NVIDIA's libraries on a machine with a GPU.
use super::LibraryState;
use crate::process::{this_library, var};
use kerf_clang::cuda_library::CudaLibrary;
use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A library that is open; it stays so.
pub struct OpenLibrary(*mut c_void);
// SAFETY: a handle of the dynamic linker's, which any thread may use.
unsafe impl Send for OpenLibrary {}

/// Why a function of NVIDIA's cannot be called.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LibraryFailure {
    /// The library is not there, or does not load.
    #[error(
        "{file} was not found{broken}: install a CUDA toolkit or `pip install {wheel}`, and say with KERF_CUDA_LIBRARIES which folder has it"
    )]
    Missing {
        /// Its file, without a version.
        file: String,
        /// The dynamic linker's words for one that is there, in brackets.
        broken: String,
        /// The wheel that has it.
        wheel: &'static str,
    },
    /// It is another version.
    #[error("NVIDIA's {0} on this machine has no such function")]
    NoFunction(&'static str),
}

/// Versions of the files' names, the newest first: those of CUDA 13, 12 and 11.
const VERSIONS: [&str; 5] = ["13", "12", "11", "10", ""];

/// Folders in which NVIDIA's wheels have libraries, below the folder of the wheels.
fn in_wheels(site: &Path) -> Vec<PathBuf> {
    let parts = ["cu13", "cublas", "cufft", "curand", "cusparse", "cusolver"];
    parts
        .map(|p| site.join("nvidia").join(p).join("lib"))
        .into()
}

/// Folders besides those that the dynamic linker knows, in order.
fn folders() -> Vec<PathBuf> {
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(var);
    let homes = homes.map(PathBuf::from);
    let homes = homes.chain(["/usr/local/cuda".into(), "/opt/cuda".into()]);
    let mut all: Vec<PathBuf> = homes
        .flat_map(|h| ["lib64", "targets/x86_64-linux/lib", "lib"].map(|l| h.join(l)))
        .collect();
    let above = this_library();
    let above = above.iter().flat_map(|p| p.ancestors().skip(1));
    all.extend(above.flat_map(in_wheels));
    all
}

/// Opens a file, if it is there and complete. Its own functions come before others of their names.
fn open(path: &Path) -> Option<OpenLibrary> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    let flags = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND;
    // SAFETY: opens a library of NVIDIA's.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    (!handle.is_null()).then_some(OpenLibrary(handle))
}

/// The dynamic linker's own words for what failed last.
fn last_failure() -> String {
    // SAFETY: a string of the linker's, copied before anything else is asked of it.
    unsafe {
        let text = libc::dlerror();
        match text.is_null() {
            true => String::new(),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}

fn open_library(library: CudaLibrary) -> Result<OpenLibrary, LibraryFailure> {
    let plain = format!("lib{}.so", library.link_name());
    let files: Vec<String> = VERSIONS
        .iter()
        .map(|v| match *v {
            "" => plain.clone(),
            v => format!("{plain}.{v}"),
        })
        .collect();
    let told = var("KERF_CUDA_LIBRARIES").map(PathBuf::from);
    let mut places: Vec<PathBuf> = Vec::new();
    let from = |folder: &Path| files.iter().map(|f| folder.join(f)).collect::<Vec<_>>();
    places.extend(told.iter().flat_map(|f| from(f)));
    // By name alone: LD_LIBRARY_PATH and what the system knows.
    places.extend(files.iter().map(PathBuf::from));
    let present = folders().into_iter().filter(|f| f.is_dir());
    places.extend(present.flat_map(|f| from(&f)).filter(|p| p.is_file()));
    let mut broken = String::new();
    for p in &places {
        if let Some(l) = open(p) {
            return Ok(l);
        }
        if p.is_file() {
            broken = format!(" ({})", last_failure());
        }
    }
    Err(LibraryFailure::Missing {
        file: plain,
        broken,
        wheel: library.wheel(),
    })
}

/// A function of NVIDIA's library.
pub fn find(
    state: &mut LibraryState,
    library: CudaLibrary,
    name: &str,
) -> Result<*const c_void, LibraryFailure> {
    let opened = state.opened.entry(library);
    let opened = opened.or_insert_with(|| open_library(library)).as_ref();
    let handle = opened.map_err(Clone::clone)?.0;
    let absent = LibraryFailure::NoFunction(library.title());
    let symbol = CString::new(name).map_err(|_| absent.clone())?;
    // SAFETY: an open library.
    let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
    match found.is_null() {
        true => Err(absent),
        false => Ok(found),
    }
}

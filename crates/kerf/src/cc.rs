//! `kerf cc`: a compiler driver for CUDA applications, in place of nvcc.
mod libraries;

use crate::fail::Failure;
use crate::output::{note, say};
use crate::{keep, toolchain};
use kerf_clang::cc::{self, CcError, DeviceUnit};
use kerf_ir::device_code::KeepError;
use std::path::{Path, PathBuf};

/// Kerf's runtime: as told, or beside this program. A test's build puts it into `deps`; the newer one is
/// taken.
pub fn runtime() -> Option<PathBuf> {
    if let Some(p) = std::env::var_os("KERF_RUNTIME").filter(|p| !p.is_empty()) {
        return Some(PathBuf::from(p));
    }
    let exe = std::env::current_exe()
        .ok()
        .and_then(|p| std::fs::canonicalize(p).ok())?;
    let dir = exe.parent()?;
    let places = ["libkerfrt.so", "deps/libkerfrt.so", "../libkerfrt.so"];
    places
        .iter()
        .chain(&["../lib/libkerfrt.so"])
        .map(|n| dir.join(n))
        .filter_map(|p| Some((std::fs::metadata(&p).ok()?.modified().ok()?, p)))
        .max()
        .and_then(|(_, p)| std::fs::canonicalize(p).ok())
}

/// Builds what the arguments say.
pub fn run(args: &[String]) -> Result<i32, Failure> {
    if let [word, file] = args
        && word == keep::WORD
    {
        return keep::run(Path::new(file));
    }
    if args.iter().any(|a| a == "--version" || a == "-V") {
        // Build systems look for the words of NVIDIA's, and for the version of its headers.
        say(&format!(
            "nvcc: kerf cc {}, by clang, in place of NVIDIA's Cuda compiler driver\n\
             Cuda compilation tools, release 12.9, V12.9.86\n",
            env!("CARGO_PKG_VERSION")
        ))?;
        return Ok(0);
    }
    let tools = toolchain::discover("sm_90");
    if args.iter().any(|a| a == "-print-libdir") {
        say(&format!("{}\n", libraries::folder(&tools)?.display()))?;
        return Ok(0);
    }
    if toolchain::find_tool("g++", &tools).is_none() {
        return Err(Failure::new(
            "kerf cc needs the machine's g++, whose headers, libraries and linker host code is built with; it is not in PATH",
        )
        .help("apt-get install g++; kernels by themselves (kerf run, kerf tune) need none"));
    }
    if args.iter().any(|a| a == "-v" || a == "--verbose") {
        libraries::describe(&tools, args);
    }
    let openmp = std::env::var_os("KERF_OPENMP").filter(|p| !p.is_empty());
    let openmp = openmp.map(PathBuf::from);
    let beside = |file: &Path| keep::beside(&tools, file).map_err(KeepError::from);
    let device_code = |unit: &DeviceUnit| kerf_ir::device_code::pack(unit, Some(&beside));
    let places = cc::Places {
        runtime: runtime(),
        openmp,
        library_headers: toolchain::library_headers(&tools),
    };
    let told = cc::run(&tools, &places, &device_code, args);
    match told {
        Ok(told) => {
            for n in told.notes {
                note(&format!("kerf cc: note: {n}"));
            }
            if !told.messages.trim().is_empty() {
                note(told.messages.trim_end());
            }
            say(&String::from_utf8_lossy(&told.output))?;
            Ok(0)
        }
        Err((e, help)) => {
            let f = match e {
                CcError::Device(e) => Failure::from(e),
                CcError::NoRuntime => Failure::new(e.to_string())
                    .help("cargo build -p kerf-runtime makes it; KERF_RUNTIME says where it is"),
                CcError::Library(_) => Failure::new(e.to_string())
                    .help("docs/reference/applications.md lists what is; leave the library out if it can be"),
                CcError::Usage(_) => {
                    Failure::new(e.to_string()).help("docs/reference/applications.md lists the options")
                }
                e => Failure::new(e.to_string()),
            };
            Err(match help {
                Some(h) => f.help(h),
                None => f,
            })
        }
    }
}

//! What build systems that link by themselves want of nvcc: a folder with CUDA's libraries, and where everything is.
use super::runtime;
use crate::fail::Failure;
use crate::output::note;
use kerf_clang::cc::options::CcOptions;
use kerf_clang::compile::Toolchain;
use kerf_clang::sha256;
use std::path::{Path, PathBuf};

/// CUDA's libraries for which Kerf's runtime stands.
const NAMES: [&str; 4] = [
    "libcudart.so",
    "libcudart_static.a",
    "libcudadevrt.a",
    "libcuda.so",
];

/// A folder in which linkers find Kerf's runtime by the names of CUDA's: each is a line for the linker. Programs then
/// have the runtime's own path, and need no rpath.
pub fn folder(tools: &Toolchain) -> Result<PathBuf, Failure> {
    let runtime = runtime().ok_or_else(|| {
        Failure::new("Kerf's runtime (libkerfrt.so) was not found")
            .help("cargo build -p kerf-runtime makes it; KERF_RUNTIME says where it is")
    })?;
    let runtime = std::path::absolute(&runtime).unwrap_or(runtime);
    let cache = tools.cache.as_ref().ok_or_else(|| {
        Failure::new("there is no cache folder to put the libraries' names into")
            .help("set KERF_CACHE to a folder, or unset KERF_NO_CACHE")
    })?;
    let line = format!("INPUT ( \"{}\" )\n", runtime.display());
    let dir = cache.join(format!("lib-{}", &sha256(line.as_bytes())[..16]));
    write(&dir, &line).map_err(|e| Failure::new(format!("{}: {e}", dir.display())))?;
    Ok(dir)
}

fn write(dir: &Path, line: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    for name in NAMES {
        let path = dir.join(name);
        if std::fs::read(&path).is_ok_and(|old| old == line.as_bytes()) {
            continue;
        }
        // Another process may be linking with it: it is put into its place whole.
        let part = dir.join(format!("{name}.{}", std::process::id()));
        std::fs::write(&part, line)?;
        std::fs::rename(&part, &path)?;
    }
    Ok(())
}

/// What nvcc says of itself under `-v`, which CMake reads: places, the architecture, and how it links.
pub fn describe(tools: &Toolchain, args: &[String]) {
    let arch = match CcOptions::parse(args) {
        Ok(mut o) => o.arch(&tools.arch),
        Err(_) => tools.arch.clone(),
    };
    if let Some(c) = &tools.cuda {
        let c = std::path::absolute(c).unwrap_or_else(|_| c.clone());
        note(&format!("#$ TOP={}", c.display()));
        note(&format!("#$ INCLUDES=\"-I{}/include\"", c.display()));
    }
    if let Some(d) = tools.libdevice.as_ref().and_then(|p| p.parent()) {
        let d = std::path::absolute(d).unwrap_or_else(|_| d.to_owned());
        note(&format!("#$ NVVMIR_LIBRARY_DIR={}", d.display()));
    }
    let path = std::env::var("PATH").unwrap_or_default();
    note(&format!("#$ PATH={path}"));
    if let Ok(capability) = kerf_llvm::compute_capability(&arch) {
        note(&format!("#$ -arch compute_{capability}"));
    }
    if let Ok(dir) = folder(tools) {
        let words = std::env::args().next().unwrap_or_default();
        // By the name under which this program is a compiler alone; a command of two words would not do.
        let linker = match words.ends_with("nvcc") && Path::new(&words).is_absolute() {
            true => words,
            false => "g++".into(),
        };
        let libraries = format!("\"-L{}\"", dir.display());
        note(&format!("#$ LIBRARIES={libraries}"));
        let names = "-lcudadevrt -lcudart_static -lrt -lpthread -ldl";
        note(&format!("#$ {linker} -o a.out a.o {libraries} {names}"));
        // CMake reads from a linker's line what C++'s own linker has to be told for files of both languages.
        note(&format!("ld -o a.out a.o -L{} {names}", dir.display()));
    }
}

//! Finding clang, the CUDA parts and the cache by the environment.
use kerf_clang::compile::Toolchain;
use kerf_predict::cost::readable;
use kerf_tune::coded::Assembler;
use std::path::{Path, PathBuf};
use std::process::Command;

fn var(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|v| !v.is_empty())
        .map(PathBuf::from)
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|d| d.join(name))
        .find(|p| p.is_file())
}

/// Version line of a program, if it runs.
pub fn version_of(program: &Path, arg: &str) -> Option<String> {
    let out = Command::new(program).arg(arg).output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let numbered = |l: &&str| l.chars().any(|c| c.is_ascii_digit()) && !l.contains("Copyright");
    let version = |l: &&str| numbered(l) && (l.contains("ersion") || l.contains("release"));
    text.lines()
        .find(version)
        .or_else(|| text.lines().find(numbered))
        .map(|l| l.trim().to_owned())
}

fn clang() -> Option<PathBuf> {
    if let Some(p) = var("KERF_CLANG") {
        return Some(p);
    }
    [
        in_path("clang-22"),
        Some("/usr/lib/llvm-22/bin/clang".into()),
    ]
    .into_iter()
    .flatten()
    .find(|p| p.is_file())
    .or_else(|| {
        let p = in_path("clang")?;
        version_of(&p, "--version")?
            .contains("version 22")
            .then_some(p)
    })
}

/// Folders in which a `.kerf` folder may lie: above the program and above the working folder.
fn homes() -> Vec<PathBuf> {
    let exe = std::env::current_exe()
        .ok()
        .and_then(|p| std::fs::canonicalize(p).ok());
    let cwd = std::env::current_dir().ok();
    let above = |p: Option<PathBuf>| {
        p.map(|p| p.ancestors().map(Path::to_owned).collect::<Vec<_>>())
            .unwrap_or_default()
    };
    let mut all = above(exe);
    all.extend(above(cwd));
    all
}

fn has_headers(p: &Path) -> bool {
    p.join("include/cuda_runtime.h").is_file()
}

fn cuda() -> Option<PathBuf> {
    let local = homes().into_iter().map(|h| h.join(".kerf/cuda"));
    var("KERF_CUDA")
        .into_iter()
        .chain(local)
        .chain(var("CUDA_HOME"))
        .chain(var("CUDA_PATH"))
        .chain([PathBuf::from("/usr/local/cuda"), PathBuf::from("/opt/cuda")])
        .find(|p| has_headers(p))
}

fn libdevice(cuda: Option<&Path>) -> Option<PathBuf> {
    let name = "nvvm/libdevice/libdevice.10.bc";
    // A bundle brings its own, which comes first: versions of libdevice differ in their bits.
    let beside = std::env::current_exe()
        .ok()
        .and_then(|p| Some(p.parent()?.join("libdevice.10.bc")));
    var("KERF_LIBDEVICE")
        .into_iter()
        .chain(beside)
        .chain(cuda.map(|c| c.join(name)))
        .chain(homes().into_iter().map(|h| h.join(".kerf/cuda").join(name)))
        .chain([PathBuf::from("/usr/local/cuda").join(name)])
        .find(|p| p.is_file())
}

fn cache() -> Option<PathBuf> {
    if std::env::var_os("KERF_NO_CACHE").is_some() {
        return None;
    }
    var("KERF_CACHE")
        .or_else(|| var("XDG_CACHE_HOME").map(|p| p.join("kerf")))
        .or_else(|| var("HOME").map(|p| p.join(".cache/kerf")))
}

/// What there is on this machine.
pub fn discover(arch: &str) -> Toolchain {
    let cuda = cuda();
    Toolchain {
        clang: clang(),
        libdevice: libdevice(cuda.as_deref()),
        cuda,
        arch: arch.to_owned(),
        cache: cache(),
        purpose: kerf_clang::compile::Purpose::default(),
    }
}

/// What predictions from machine code need, where there is an assembler whose code can be read for the device.
pub fn assembler(arch: &str, tools: &Toolchain) -> Option<Assembler> {
    Some(Assembler {
        arch: readable(arch)?,
        ptxas: find_tool("ptxas", tools)?,
        libdevice: std::fs::read(tools.libdevice.as_ref()?).ok()?,
    })
}

/// A program in PATH, in the CUDA folder, or in the usual CUDA place.
pub fn find_tool(name: &str, tools: &Toolchain) -> Option<PathBuf> {
    in_path(name)
        .or_else(|| {
            tools
                .cuda
                .as_ref()
                .map(|c| c.join("bin").join(name))
                .filter(|p| p.is_file())
        })
        .or_else(|| Some(PathBuf::from("/usr/local/cuda/bin").join(name)).filter(|p| p.is_file()))
}

//! Finding clang, the CUDA parts and the cache by the environment.
use crate::fail::Failure;
use crate::{installation, nvidia_wheels};
use kerf_clang::clang_program::ClangProgram;
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
    version_line(Command::new(program).arg(arg))
}

/// Version line of clang, if it runs.
pub fn version_of_clang(clang: &ClangProgram) -> Option<String> {
    version_line(clang.command().arg("--version"))
}

fn version_line(command: &mut Command) -> Option<String> {
    let out = command.output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let numbered = |l: &&str| l.chars().any(|c| c.is_ascii_digit()) && !l.contains("Copyright");
    let version = |l: &&str| numbered(l) && (l.contains("ersion") || l.contains("release"));
    text.lines()
        .find(version)
        .or_else(|| text.lines().find(numbered))
        .map(|l| l.trim().to_owned())
}

fn clang() -> Option<ClangProgram> {
    var("KERF_CLANG")
        .map(ClangProgram::from)
        .or_else(installation::embedded_clang)
        .or_else(|| clang_of_the_machine().map(ClangProgram::from))
}

fn clang_of_the_machine() -> Option<PathBuf> {
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
    let exe = installation::program();
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
    // In the cache also where modules are not kept there: it has to be somewhere.
    let wheels = installation::program()
        .zip(cache_folder())
        .and_then(|(program, cache)| nvidia_wheels::cuda_folder(&program, &cache));
    var("KERF_CUDA")
        .into_iter()
        .chain(wheels)
        .chain(local)
        .chain(var("CUDA_HOME"))
        .chain(var("CUDA_PATH"))
        .chain([PathBuf::from("/usr/local/cuda"), PathBuf::from("/opt/cuda")])
        .find(|p| has_headers(p))
}

/// SHA-256 of the libdevice that Kerf is measured with, of CUDA 12.9: other versions give other bits (those of 12.4 and
/// 12.6 are one, 12.8 has another).
const LIBDEVICE_SHA256: &str = "9e84b504f25d26ec775ef91f7122e68dac77fa1f776f1044128f5028356265d8";

/// Is a libdevice the one that Kerf is measured with?
pub fn is_known_libdevice(path: &Path) -> bool {
    kerf_clang::sha256_of_file(path).is_ok_and(|digest| digest == LIBDEVICE_SHA256)
}

fn libdevice(cuda: Option<&Path>) -> Option<PathBuf> {
    let name = "nvvm/libdevice/libdevice.10.bc";
    // A bundle brings its own, which comes first: versions of libdevice differ in their bits.
    let beside = std::env::current_exe()
        .ok()
        .and_then(|p| Some(p.parent()?.join("libdevice.10.bc")));
    let chosen = var("KERF_LIBDEVICE").into_iter().chain(beside);
    if let Some(p) = chosen.into_iter().find(|p| p.is_file()) {
        return Some(p);
    }
    let installed: Vec<PathBuf> = cuda
        .map(|c| c.join(name))
        .into_iter()
        .chain(homes().into_iter().map(|h| h.join(".kerf/cuda").join(name)))
        .chain([PathBuf::from("/usr/local/cuda").join(name)])
        .filter(|p| p.is_file())
        .collect();
    let known = installed.iter().find(|p| is_known_libdevice(p));
    known.or(installed.first()).cloned()
}

fn cache() -> Option<PathBuf> {
    if std::env::var_os("KERF_NO_CACHE").is_some() {
        return None;
    }
    cache_folder()
}

fn cache_folder() -> Option<PathBuf> {
    var("KERF_CACHE")
        .or_else(|| var("XDG_CACHE_HOME").map(|p| p.join("kerf")))
        .or_else(|| var("HOME").map(|p| p.join(".cache/kerf")))
}

/// Folders that may have headers of NVIDIA's libraries (cuBLAS, ...): CUDA toolkits besides the one that kernels are compiled with, and
/// wheels. Empty where that one has them.
pub fn library_headers(tools: &Toolchain) -> Vec<PathBuf> {
    let has_all = |c: &PathBuf| c.join("include/cublas_v2.h").is_file();
    if tools.cuda.as_ref().is_some_and(has_all) {
        return Vec::new();
    }
    let beside = var("KERF_CUDA_LIBRARIES").and_then(|l| Some(l.parent()?.join("include")));
    let kits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(var);
    let kits = kits.chain([PathBuf::from("/usr/local/cuda"), PathBuf::from("/opt/cuda")]);
    let wheels = installation::program().into_iter().flat_map(|program| {
        let sites = program
            .ancestors()
            .skip(1)
            .map(Path::to_owned)
            .collect::<Vec<_>>();
        sites
            .into_iter()
            .flat_map(|s| nvidia_wheels::library_headers(&s))
    });
    let all = beside
        .into_iter()
        .chain(kits.map(|k| k.join("include")))
        .chain(wheels);
    all.filter(|p| p.is_dir()).collect()
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

/// Nothing can be done without libdevice. `else_do` is another remedy.
pub fn no_libdevice(else_do: &str) -> Failure {
    let remedy = installation::cuda_remedy();
    Failure::new("libdevice.10.bc was not found").help(format!("{remedy}, or {else_do}"))
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

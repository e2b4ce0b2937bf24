//! Source to bitcode: runs clang for CUDA C++ and OpenCL C, lifts PTX, reads .ll and .bc as they are.
//!
//! The flags keep math calls visible (`-nocudalib`, libdevice is linked later), keep every
//! instruction's line and column, and leave all optimisation to whoever prepares the module.
mod chevrons;
mod clang_job;
pub mod defines;
mod precompiled;
pub mod unsupported;

use crate::clang_program::ClangProgram;
use crate::headers;
use clang_job::{ClangJob, Prelude};
use std::path::{Path, PathBuf};
use unsupported::UnsupportedUse;

/// What a module is prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// To be tuned and run: optimised, one site an operation.
    #[default]
    Tuning,
    /// To be instrumented by the sanitizer pass: in SSA form but not optimised, since optimisation assumes that the
    /// program has no undefined behaviour and removes what would show it.
    Sanitizing,
}

/// Where the compiler and the CUDA parts are.
#[derive(Debug, Clone, Default)]
pub struct Toolchain {
    /// clang 22, if there is one.
    pub clang: Option<ClangProgram>,
    /// A CUDA installation, or the folder laid out like one.
    pub cuda: Option<PathBuf>,
    /// libdevice.10.bc.
    pub libdevice: Option<PathBuf>,
    /// Target architecture, e.g. `sm_90`.
    pub arch: String,
    /// Folder of the compiled-module cache; none turns caching off.
    pub cache: Option<PathBuf>,
    /// What modules are prepared for.
    pub purpose: Purpose,
}

/// The language of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// CUDA C++ (.cu, .cuh, .cpp, .cc, .cxx).
    Cuda,
    /// OpenCL C (.cl).
    OpenCl,
    /// LLVM IR or bitcode (.ll, .bc).
    Ir,
    /// PTX (.ptx).
    Ptx,
}

impl Language {
    /// By file extension.
    pub fn from_path(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "cu" | "cuh" | "cpp" | "cc" | "cxx" | "hpp" | "h" => Some(Language::Cuda),
            "cl" | "ocl" => Some(Language::OpenCl),
            "ll" | "bc" => Some(Language::Ir),
            "ptx" => Some(Language::Ptx),
            _ => None,
        }
    }
    /// Is it read as it is, without clang and without macros?
    pub fn is_compiled(self) -> bool {
        matches!(self, Language::Ir | Language::Ptx)
    }
}

/// Why a source did not become a module.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The user's file is not there or cannot be read.
    #[error("cannot read {path}: {why}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// The extension says nothing.
    #[error("{path}: unknown kind of source; expected .cu, .cl, .ptx, .ll or .bc")]
    UnknownKind {
        /// The file.
        path: PathBuf,
    },
    /// clang is missing.
    #[error("clang 22 was not found, and {path} has to be compiled")]
    NoClang {
        /// The file.
        path: PathBuf,
    },
    /// The CUDA headers are missing.
    #[error("no CUDA headers were found, and {path} has to be compiled")]
    NoCuda {
        /// The file.
        path: PathBuf,
    },
    /// clang refused the program.
    #[error("{path} does not compile:\n{messages}")]
    Rejected {
        /// The file.
        path: PathBuf,
        /// clang's own words.
        messages: String,
    },
    /// The program uses what nvcc knows and Kerf does not.
    #[error(
        "{path} uses what Kerf does not support:\n{}{}",
        uses.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        if messages.is_empty() { String::new() } else { format!("\nand it does not compile:\n{messages}") }
    )]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What, and where.
        uses: Vec<UnsupportedUse>,
        /// clang's words, where they are about something else too.
        messages: String,
    },
    /// The IR or bitcode is not valid.
    #[error("{path} is not valid LLVM IR: {why}")]
    BadIr {
        /// The file.
        path: PathBuf,
        /// LLVM's own words.
        why: String,
    },
    /// The PTX is not valid, or declares what is not supported.
    #[error("{path}: {why}")]
    BadPtx {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong.
        why: kerf_ptx::PtxError,
    },
    /// The compiler could not be run.
    #[error("could not run {tool}: {why}")]
    Tool {
        /// The program.
        tool: String,
        /// The system's reason.
        why: std::io::Error,
    },
}

/// What a compilation gave: bitcode and the files that it read.
pub struct Compiled {
    /// Bitcode (or IR text) as clang wrote it.
    pub bitcode: Vec<u8>,
    /// Every file that the compiler read, the source included.
    pub depends: Vec<PathBuf>,
    /// Statements of a PTX file that no IR was made of.
    pub unlifted: Vec<kerf_ptx::Unlifted>,
}

const OPENCL_BUILTINS: &str = include_str!("opencl/builtins.cl");

/// The command line for a source, without input and output.
pub fn clang_args(language: Language, cuda: &Path, arch: &str, flags: &[String]) -> Vec<String> {
    let mut a: Vec<String> = match language {
        Language::Cuda => vec![
            "-x".into(),
            "cuda".into(),
            format!("--cuda-path={}", cuda.display()),
            format!("--cuda-gpu-arch={arch}"),
            "--cuda-device-only".into(),
            "-nocudalib".into(),
            "-Xclang".into(),
            "-target-sdk-version=12.8".into(),
            "-D__KERF__=1".into(),
            // What clang takes for errors, and nvcc at most warns of.
            "-Wno-c++11-narrowing".into(),
            "-Wno-register".into(),
            "-Wno-invalid-constexpr".into(),
            "-Wno-reserved-user-defined-literal".into(),
            "-Wno-dynamic-exception-spec".into(),
        ],
        Language::OpenCl => vec![
            "-x".into(),
            "cl".into(),
            "-target".into(),
            "nvptx64-nvidia-cuda".into(),
            format!("-march={arch}"),
            // The driver's default for this target, PTX 4.2, is older than the architectures here.
            "-Xclang".into(),
            "-target-feature".into(),
            "-Xclang".into(),
            "+ptx83".into(),
            // The builtins' file brings its own declarations.
            "-cl-no-stdinc".into(),
            "-Xclang".into(),
            "-cl-ext=+cl_khr_fp64,+cl_khr_fp16,+cl_khr_int64_base_atomics,+cl_khr_int64_extended_atomics"
                .into(),
            "-cl-kernel-arg-info".into(),
            "-D__KERF__=1".into(),
        ],
        Language::Ir | Language::Ptx => Vec::new(),
    };
    if language == Language::OpenCl && !flags.iter().any(|f| f.starts_with("-cl-std")) {
        a.push("-cl-std=CL1.2".into());
    }
    a.extend(
        [
            "-c",
            "-emit-llvm",
            // Nothing is optimised by clang, but below 2 it marks every loop as not to be unrolled, by anybody:
            // the code that runs would be slower than nvcc's. Preparing unrolls nothing by itself.
            "-O2",
            "-Xclang",
            "-disable-llvm-passes",
            "-g",
            "-Xclang",
            "-debug-info-kind=limited",
            "-fno-discard-value-names",
            "-fno-crash-diagnostics",
            "-w",
        ]
        .map(String::from),
    );
    a.extend(flags.iter().cloned());
    a
}

/// What a CUDA source may look for that nvcc brings, and clang does not: its macros, and headers of Kerf's own.
/// A file that `kerf cc` compiles in a program has to compile alone too.
fn like_nvcc(headers: &headers::Folders, flags: &[String]) -> Vec<String> {
    let mut all = nvcc_macros(flags);
    for (option, folder) in [
        ("-isystem", &headers.first),
        ("-idirafter", &headers.all),
        ("-idirafter", &headers.omp),
    ] {
        all.extend([option.to_owned(), folder.display().to_string()]);
    }
    all.extend(flags.iter().cloned());
    all.extend(["-idirafter".to_owned(), headers.last.display().to_string()]);
    all
}

/// The version of nvcc that the headers are of, and nvcc itself, which programs look at in host and device code;
/// what `flags` say of them themselves is left out.
pub(crate) fn nvcc_macros(flags: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for (part, n) in [("MAJOR", 12), ("MINOR", 9), ("BUILD", 86)] {
        let name = format!("-D__CUDACC_VER_{part}__");
        if !flags.iter().any(|f| f.starts_with(&name)) {
            all.push(format!("{name}={n}"));
        }
    }
    let own = "-D__KERF_NVCC__=1";
    if !flags.iter().any(|f| f == "-U__NVCC__" || f == own) {
        all.push(own.to_owned());
    }
    all
}

/// A source that is IR, or is lifted to it.
fn without_clang(
    language: Language,
    source: &Path,
    bytes: Vec<u8>,
) -> Result<Compiled, CompileError> {
    let (bitcode, unlifted) = match language {
        Language::Ptx => lifted(source, &bytes)?,
        _ => (bytes, Vec::new()),
    };
    Ok(Compiled {
        bitcode,
        depends: vec![std::path::absolute(source).unwrap_or_else(|_| source.to_owned())],
        unlifted,
    })
}

/// The module that a PTX file means, and what of it has no meaning in IR.
fn lifted(source: &Path, text: &[u8]) -> Result<(Vec<u8>, Vec<kerf_ptx::Unlifted>), CompileError> {
    let text = String::from_utf8_lossy(text);
    // Files of the driver's tools may end with a zero byte.
    let text = text.trim_end_matches('\0');
    let translated = kerf_ptx::translate(text, &source.display().to_string());
    let (m, unlifted) = translated.map_err(|why| CompileError::BadPtx {
        path: source.to_owned(),
        why,
    })?;
    Ok((m.bitcode(), unlifted))
}

/// Compiles or reads `source`.
pub fn compile(
    tools: &Toolchain,
    source: &Path,
    flags: &[String],
) -> Result<Compiled, CompileError> {
    let language = Language::from_path(source).ok_or_else(|| CompileError::UnknownKind {
        path: source.to_owned(),
    })?;
    let bytes = std::fs::read(source).map_err(|why| CompileError::Unreadable {
        path: source.to_owned(),
        why,
    })?;
    if language.is_compiled() {
        return without_clang(language, source, bytes);
    }
    let clang = tools.clang.as_ref().ok_or_else(|| CompileError::NoClang {
        path: source.to_owned(),
    })?;
    let cuda = match (&tools.cuda, language) {
        (Some(c), _) => c.clone(),
        (None, Language::Cuda) => {
            return Err(CompileError::NoCuda {
                path: source.to_owned(),
            });
        }
        (None, _) => PathBuf::new(),
    };
    let dir = tempfile::tempdir().map_err(|why| CompileError::Tool {
        tool: "mktemp".into(),
        why,
    })?;
    let written = |why| CompileError::Tool {
        tool: "write".into(),
        why,
    };
    let (flags, own) = defines::applied(flags, &bytes);
    let before = Prelude::write(tools, language, dir.path(), &flags).map_err(written)?;
    let job = ClangJob {
        tools,
        clang,
        language,
        cuda,
        source,
        prelude: before,
        dir: dir.path(),
    };
    job.run(own)?;
    job.compiled()
}

/// Why clang refused a program: for what Kerf does not support, or for itself.
fn rejected(source: &Path, messages: String) -> CompileError {
    let path = source.to_owned();
    match unsupported::uses(&messages) {
        (uses, _) if uses.is_empty() => CompileError::Rejected { path, messages },
        (uses, all) => CompileError::Unsupported {
            path,
            uses,
            messages: if all { String::new() } else { messages },
        },
    }
}

/// The arguments with which a source is compiled, but for those that say what is made of it; the header that goes
/// before it is put into `dir`.
pub fn syntax_args(
    tools: &Toolchain,
    language: Language,
    dir: &Path,
    source: &Path,
    flags: &[String],
) -> std::io::Result<Vec<String>> {
    let (flags, own) = defines::applied(flags, &std::fs::read(source).unwrap_or_default());
    let before = Prelude::write(tools, language, dir, &flags)?;
    let cuda = tools.cuda.clone().unwrap_or_default();
    let made = ["-c", "-emit-llvm"];
    let mut args = clang_args(language, &cuda, &tools.arch, &[]);
    args.retain(|a| !made.contains(&a.as_str()));
    if language == Language::Cuda {
        args.extend(tools.clang.iter().flat_map(ClangProgram::device_args));
    }
    for header in std::iter::once(&before.own).chain(&before.macros) {
        args.extend(["-include".to_owned(), header.display().to_string()]);
    }
    args.extend(before.flags);
    if (language == Language::Cuda || own.is_some())
        && let Some(overlay) = mended_launches(dir, source, own, &[])?
    {
        args.extend(["-ivfsoverlay".to_owned(), overlay.display().to_string()]);
    }
    Ok(args)
}

/// Macros of the command line as lines of a header, and the other flags.
///
/// clang reads all of CUDA's headers before a source, nvcc few: a macro such as `N` would be replaced in
/// them. Names with an underscore in front, which system headers look at, stay where they are.
pub(crate) fn late_macros(flags: &[String]) -> (Vec<String>, String) {
    let (mut rest, mut text) = (Vec::new(), String::new());
    let mut all = flags.iter();
    while let Some(f) = all.next() {
        let (kind, value) = match f.as_str() {
            "-D" | "-U" => (f.as_str(), all.next().cloned().unwrap_or_default()),
            _ if f.starts_with("-D") || f.starts_with("-U") => (&f[..2], f[2..].to_owned()),
            _ => {
                rest.push(f.clone());
                continue;
            }
        };
        let name = value.split('=').next().unwrap_or_default().to_owned();
        if name.starts_with('_') || name == "NDEBUG" {
            rest.push(format!("{kind}{value}"));
        } else if kind == "-U" {
            text.push_str(&format!("#undef {name}\n"));
        } else {
            let body = value.split_once('=').map_or("1", |(_, b)| b);
            text.push_str(&format!("#define {name} {body}\n"));
        }
    }
    (rest, text)
}

/// A file for `-ivfsoverlay` that shows clang the source, and other files that its errors are in, with launches as it
/// takes them; none where there is nothing to do. `own` is the source's text, where it is another than the file's.
pub(crate) fn mended_launches(
    dir: &Path,
    source: &Path,
    own: Option<String>,
    messages: &[u8],
) -> std::io::Result<Option<PathBuf>> {
    let mut files = chevrons::accused(&String::from_utf8_lossy(messages));
    if !files.iter().any(|f| f == source) {
        files.insert(0, source.to_owned());
    }
    let mut texts = Vec::new();
    for f in files.into_iter().filter(|f| f.is_file()) {
        let other = own.clone().filter(|_| f == source);
        let text = match &other {
            Some(t) => t.clone(),
            None => String::from_utf8_lossy(&std::fs::read(&f)?).into_owned(),
        };
        let text = chevrons::mended(&text).or(other);
        texts.extend(text.map(|t| (f, t)));
    }
    match texts.is_empty() {
        true => Ok(None),
        false => chevrons::overlay(dir, &texts).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_come_after_the_headers() {
        let flags = ["-DN=512", "-D", "F(x)=x", "-D_GNU_SOURCE", "-Iinc", "-UN"].map(String::from);
        let (rest, text) = late_macros(&flags);
        assert_eq!(rest, ["-D_GNU_SOURCE", "-Iinc"]);
        assert_eq!(text, "#define N 512\n#define F(x) x\n#undef N\n");
    }

    #[test]
    fn macros_of_nvcc_are_there_unless_said_otherwise() {
        let none: Vec<String> = Vec::new();
        assert_eq!(nvcc_macros(&none).len(), 4);
        assert_eq!(nvcc_macros(&nvcc_macros(&none)), none);
        let own = ["-D__CUDACC_VER_MAJOR__=11", "-U__NVCC__"].map(String::from);
        let rest = nvcc_macros(&own);
        assert_eq!(
            rest,
            ["-D__CUDACC_VER_MINOR__=9", "-D__CUDACC_VER_BUILD__=86"]
        );
    }

    #[test]
    fn languages_by_extension() {
        assert_eq!(Language::from_path(Path::new("a.cu")), Some(Language::Cuda));
        assert_eq!(
            Language::from_path(Path::new("a.cl")),
            Some(Language::OpenCl)
        );
        assert_eq!(Language::from_path(Path::new("a.bc")), Some(Language::Ir));
        assert_eq!(Language::from_path(Path::new("a.txt")), None);
    }
}

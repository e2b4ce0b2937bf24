//! `kerf cc`: a CUDA application compiled and linked as nvcc would, with its kernels kept as bitcode.
//!
//! Device code is compiled and packed by the caller ([`DeviceCode`]) and put into the object where nvcc puts a fat
//! binary. Host code is compiled by clang, whose stubs call the CUDA runtime;
//! Kerf's own is linked. With `-rdc=true` modules are only compiled here: the runtime links them when the
//! program starts, since only then it is known which objects are in it.
mod advice;
mod archives;
mod library_calls;
mod library_headers;
mod link;
pub mod options;

use crate::clang_program::ClangProgram;
use crate::compile::{self, CompileError, Toolchain};
use crate::headers;
use advice::{DRIVER, advice};
use options::{CcOptions, Goal, InputKind, Item};
use std::path::{Path, PathBuf};
use std::process::Output;

/// Why an application was not built.
#[derive(Debug, thiserror::Error)]
pub enum CcError {
    /// The command line.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be read or written.
    #[error("{path}: {why}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// A library that Kerf's runtime does not have.
    #[error("{0} is not part of Kerf's runtime")]
    Library(String),
    /// The device code.
    #[error("{0}")]
    Device(#[from] CompileError),
    /// The host code, in clang's own words.
    #[error("{path} does not compile:\n{messages}")]
    Host {
        /// The file.
        path: PathBuf,
        /// clang's own words.
        messages: String,
    },
    /// The linker's own words.
    #[error("the program does not link:\n{0}")]
    Linker(String),
    /// libkerfrt.so is missing.
    #[error(
        "Kerf's runtime (libkerfrt.so) was not found, and the program has to be linked with it"
    )]
    NoRuntime,
}

/// What a build has to say besides its result.
#[derive(Debug, Default)]
pub struct Told {
    /// Options without effect, and the like.
    pub notes: Vec<String>,
    /// clang's warnings, and what was asked to be shown.
    pub messages: String,
    /// What `-E` and `-M` print.
    pub output: Vec<u8>,
}

/// LLVM's OpenMP, with which host code has threads.
struct OpenMp {
    /// A folder with its header, where clang does not find it by itself.
    include: Option<PathBuf>,
    /// A folder with its library, likewise.
    library: Option<PathBuf>,
}

/// A build.
struct Build<'a> {
    tools: &'a Toolchain,
    clang: ClangProgram,
    cuda: PathBuf,
    runtime: Option<&'a Path>,
    o: CcOptions,
    dir: tempfile::TempDir,
    /// Folders of headers that Kerf brings.
    headers: headers::Folders,
    openmp: Option<OpenMp>,
    /// A folder with headers of NVIDIA's libraries, where the CUDA folder lacks some.
    library_headers: Option<PathBuf>,
    device_code: DeviceCode<'a>,
    told: Told,
}

/// How packed device code begins.
pub const DEVICE_CODE_MAGIC: &[u8] = b"KERFBLOB";

/// The device side of one source.
#[derive(Debug)]
pub struct DeviceUnit<'a> {
    /// The toolchain, its architecture that of this build.
    pub tools: &'a Toolchain,
    /// The source.
    pub source: &'a Path,
    /// Options for clang.
    pub flags: &'a [String],
    /// Is it linked with the device code of other sources, when the program starts?
    pub relocatable: bool,
    /// Are results and operands flushed to zero where they are subnormal?
    pub ftz: bool,
    /// Are square roots correctly rounded?
    pub precise_sqrt: bool,
    /// Are divisions correctly rounded?
    pub precise_div: bool,
    /// The file that the packed code goes into.
    pub to: &'a Path,
}

/// Compiles the device side of a source and packs it into a file; gives what the user should know.
pub type DeviceCode<'a> = &'a dyn Fn(&DeviceUnit) -> Result<Vec<String>, CcError>;

fn io(path: &Path) -> impl Fn(std::io::Error) -> CcError {
    let path = path.to_owned();
    move |why| CcError::Read {
        path: path.clone(),
        why,
    }
}

impl Build<'_> {
    fn clang(&mut self, args: &[String]) -> Result<Output, CcError> {
        if self.o.verbose {
            let program = vec![self.clang.path.display().to_string()];
            let line = [program, self.clang.leading_args.clone(), args.to_vec()].concat();
            self.told.messages.push_str(&line.join(" "));
            self.told.messages.push('\n');
        }
        self.clang.command().args(args).output().map_err(|why| {
            CcError::Device(CompileError::Tool {
                tool: self.clang.path.display().to_string(),
                why,
            })
        })
    }

    /// Folders of headers that Kerf brings. The host's OpenMP is of no use to device code: its header
    /// needs pragmas that are not looked at there.
    fn folder_args(&self, device: bool) -> Vec<String> {
        let own = [&self.headers.all, &self.headers.last];
        let after = self.library_headers.iter().chain(own);
        let mut a: Vec<String> = after
            .flat_map(|d| ["-idirafter".into(), d.display().to_string()])
            .collect();
        a.extend(["-isystem".into(), self.headers.first.display().to_string()]);
        match &self.openmp {
            _ if !self.o.openmp => {}
            Some(OpenMp { include, .. }) if !device => {
                let i = include.iter().map(|i| i.display().to_string());
                a.extend(i.flat_map(|i| ["-idirafter".into(), i]));
            }
            _ => a.extend(["-isystem".into(), self.headers.omp.display().to_string()]),
        }
        a
    }

    fn include_args(&self) -> Vec<String> {
        let mut a = vec![
            "-include".to_owned(),
            self.dir.path().join("kerf_host.h").display().to_string(),
        ];
        a.extend(self.folder_args(false));
        a
    }

    /// Looks for LLVM's OpenMP: where it was said to be, or where clang looks.
    fn find_openmp(&mut self, told: Option<&Path>) -> Result<(), CcError> {
        if !self.o.openmp {
            return Ok(());
        }
        if let Some(dir) = told {
            self.openmp = Some(OpenMp {
                include: Some(dir.to_owned()),
                library: Some(dir.to_owned()),
            });
            return Ok(());
        }
        let mut found = Vec::new();
        for name in ["libomp.so", "include/omp.h"] {
            let r = self.clang(&[format!("-print-file-name={name}")])?;
            let path = String::from_utf8_lossy(&r.stdout).trim().to_owned();
            found.push(Path::new(&path).is_file());
        }
        if found == [true, true] {
            self.openmp = Some(OpenMp {
                include: None,
                library: None,
            });
        } else {
            self.told.notes.push(
                "OpenMP in host code runs with one thread: install LLVM's OpenMP (libomp-22-dev), \
                 or say with KERF_OPENMP which folder has omp.h and libomp.so"
                    .into(),
            );
        }
        Ok(())
    }

    /// The device code of a source, packed.
    fn device(&mut self, source: &Path, arch: &str, id: &str) -> Result<PathBuf, CcError> {
        let mut tools = self.tools.clone();
        tools.arch = arch.to_owned();
        // Types that both sides share have to have one layout.
        tools.clang = Some(self.clang.with_machine_headers());
        let mut flags = self.o.common.clone();
        if !flags.iter().any(|f| f.starts_with("-std=")) {
            flags.push("-std=c++17".into());
        }
        flags.extend(self.o.device.iter().cloned());
        flags.extend(self.folder_args(true));
        if self.openmp.is_some() {
            // Pragmas are for the host side, but declarations behind `#ifdef _OPENMP` are for both.
            flags.push("-D_OPENMP=202011".into());
        }
        flags.push(format!("-cuid={id}"));
        if self.o.rdc {
            flags.push("-fgpu-rdc".into());
        }
        let path = self.dir.path().join(format!("{id}.kerf"));
        let notes = (self.device_code)(&DeviceUnit {
            tools: &tools,
            source,
            flags: &flags,
            relocatable: self.o.rdc,
            ftz: self.o.ftz,
            precise_sqrt: self.o.precise_sqrt,
            precise_div: self.o.precise_div,
            to: &path,
        })?;
        self.told.notes.extend(notes);
        Ok(path)
    }

    /// clang's arguments for the host side of a source, without input and output.
    fn host_args(&self, kind: InputKind, arch: &str, blob: Option<(&Path, &str)>) -> Vec<String> {
        let mut a: Vec<String> = Vec::new();
        let cuda = self.cuda.display();
        match kind {
            InputKind::Cuda => {
                a.extend(["-x".into(), "cuda".into(), format!("--cuda-path={cuda}")]);
                // Headers name things by it (thrust's namespaces), so that both sides have to agree.
                a.push(format!("--cuda-gpu-arch={arch}"));
                a.extend(
                    [
                        "--cuda-host-only",
                        "-nocudalib",
                        "-Xclang",
                        "-target-sdk-version=12.8",
                        "--no-offload-new-driver",
                        "-Wno-unknown-cuda-version",
                        "-D__KERF__=1",
                        "-Wno-c++11-narrowing",
                        "-Wno-register",
                        "-Wno-invalid-constexpr",
                        "-Wno-reserved-user-defined-literal",
                        "-Wno-dynamic-exception-spec",
                        "-Wno-unused-command-line-argument",
                        // Templates of the CUDA headers, which clang knows too.
                        "-Wno-unknown-pragmas",
                        "-Wno-pass-failed",
                        "-Wno-deprecated-declarations",
                        "-Wno-format",
                    ]
                    .map(String::from),
                );
                if let Some((file, id)) = blob {
                    a.extend(["-Xclang", "-fcuda-include-gpubinary", "-Xclang"].map(String::from));
                    a.push(file.display().to_string());
                    a.push(format!("-cuid={id}"));
                }
                if self.o.rdc {
                    a.push("-fgpu-rdc".into());
                }
            }
            InputKind::Cpp | InputKind::C => {
                a.extend([
                    "-x".into(),
                    if kind == InputKind::C { "c" } else { "c++" }.into(),
                ]);
                a.push(format!("-I{cuda}/include"));
                a.push("-D__KERF__=1".into());
                a.push("-Wno-unknown-pragmas".into());
            }
            InputKind::Link => {}
        }
        a.extend(DRIVER.iter().map(|n| format!("-D{n}=kerf_{n}")));
        a.extend(self.include_args());
        let cpp = kind != InputKind::C;
        if cpp && !self.o.common.iter().any(|f| f.starts_with("-std=")) {
            a.push("-std=gnu++17".into());
        }
        let c_std = |f: &&String| cpp || !f.starts_with("-std=c++") && !f.starts_with("-std=gnu++");
        let common: Vec<String> = self.o.common.iter().filter(c_std).cloned().collect();
        match kind {
            InputKind::Cuda => a.extend(compile::late_macros(&common).0),
            _ => a.extend(common),
        }
        if self.openmp.is_some() && kind != InputKind::Link {
            a.push("-fopenmp".into());
        }
        a.extend(self.o.host.iter().cloned());
        a
    }

    /// Runs clang on a source, a second time where launches are as only nvcc takes them.
    fn on_source(&mut self, source: &Path, args: &[String]) -> Result<Output, CcError> {
        let run = |me: &mut Self, overlay: Option<&Path>| {
            let mut a = args.to_vec();
            if let Some(o) = overlay {
                a.extend(["-ivfsoverlay".into(), o.display().to_string()]);
            }
            a.push(source.display().to_string());
            me.clang(&a)
        };
        let mut r = run(self, None)?;
        if !r.status.success() {
            let overlay = compile::mended_launches(self.dir.path(), source, None, &r.stderr);
            if let Some(o) = overlay.map_err(io(source))? {
                r = run(self, Some(&o))?;
            }
        }
        let text = String::from_utf8_lossy(&r.stderr).into_owned();
        if !r.status.success() {
            return Err(CcError::Host {
                path: source.to_owned(),
                messages: text.trim().to_owned(),
            });
        }
        self.told.messages.push_str(&text);
        Ok(r)
    }

    fn object(
        &mut self,
        source: &Path,
        kind: InputKind,
        to: &Path,
        arch: &str,
    ) -> Result<(), CcError> {
        if let Err(why) = std::fs::metadata(source) {
            return Err(CcError::Read {
                path: source.to_owned(),
                why,
            });
        }
        let mut depend = self.o.depend.clone();
        if !depend.is_empty() && !depend.iter().any(|d| d == "-MF") {
            let d = to.with_extension("d").display().to_string();
            depend.extend(["-MF".into(), d]);
        }
        if !depend.is_empty() && !depend.iter().any(|d| d == "-MT" || d == "-MQ") {
            depend.extend(["-MT".into(), to.display().to_string()]);
        }
        if kind != InputKind::Cuda {
            let mut a = self.host_args(kind, arch, None);
            a.extend(depend);
            a.extend(["-c".into(), "-o".into(), to.display().to_string()]);
            self.on_source(source, &a)?;
            return Ok(());
        }
        let id = crate::sha256(
            std::path::absolute(source)
                .unwrap_or_else(|_| source.to_owned())
                .display()
                .to_string()
                .as_bytes(),
        )[..16]
            .to_owned();
        let blob = self.device(source, arch, &id)?;
        let mut a = self.host_args(kind, arch, Some((&blob, &id)));
        a.extend(depend);
        if !self.o.rdc {
            a.extend(["-c".into(), "-o".into(), to.display().to_string()]);
            self.on_source(source, &a)?;
            return Ok(());
        }
        // Each object would call a function that only NVIDIA's device linker makes; here all call one.
        let text = self.dir.path().join(format!("{id}.s"));
        a.extend(["-S".into(), "-o".into(), text.display().to_string()]);
        self.on_source(source, &a)?;
        let assembly = std::fs::read_to_string(&text).map_err(io(&text))?;
        std::fs::write(&text, one_registration(&assembly)).map_err(io(&text))?;
        let mut args = ["-c", "-x", "assembler"].map(String::from).to_vec();
        if self.clang.is_embedded() {
            // clang's own assembler is not in its libraries.
            args.push("-fno-integrated-as".into());
        }
        let args = [
            args,
            vec![
                text.display().to_string(),
                "-o".into(),
                to.display().to_string(),
            ],
        ];
        let r = self.clang(&args.concat())?;
        match r.status.success() {
            true => Ok(()),
            false => Err(CcError::Host {
                path: source.to_owned(),
                messages: String::from_utf8_lossy(&r.stderr).into_owned(),
            }),
        }
    }

    fn run(&mut self) -> Result<(), CcError> {
        let before = self.dir.path().join("kerf_host.h");
        let macros = compile::nvcc_macros(&self.o.common);
        self.o.common.extend(macros);
        let late = compile::late_macros(&self.o.common).1;
        let guarded = format!("{}#ifdef __CUDA__\n{late}#endif\n", headers::CUDA_HOST);
        std::fs::write(&before, guarded).map_err(io(&before))?;
        let arch = self.o.arch(&self.tools.arch);
        let o = self.o.clone();
        match o.goal {
            Goal::Preprocess => {
                for (source, kind) in o.sources() {
                    let mut a = self.host_args(kind, &arch, None);
                    a.extend(o.depend.iter().cloned());
                    a.push("-E".into());
                    let r = self.on_source(source, &a)?;
                    self.told.output.extend(r.stdout);
                }
                if let Some(p) = &o.output {
                    std::fs::write(p, std::mem::take(&mut self.told.output)).map_err(io(p))?;
                }
            }
            Goal::DeviceLink => {
                let empty = self.dir.path().join("empty.c");
                let given = o.items.iter().filter_map(|i| match i {
                    Item::Plain(p) => Some(p.clone()),
                    Item::Source(..) => None,
                });
                let given: Vec<String> = given.collect();
                std::fs::write(&empty, archives::wanted(&given)).map_err(io(&empty))?;
                let out = o.output.clone().unwrap_or_else(|| "a_dlink.o".into());
                let a = ["-c", "-x", "c"].map(String::from).to_vec();
                let a = [a, vec!["-o".into(), out.display().to_string()]].concat();
                self.on_source(&empty, &a)?;
            }
            Goal::Object => {
                for (source, kind) in o.sources() {
                    let beside = PathBuf::from(source.file_name().unwrap_or_default());
                    let out = o
                        .output
                        .clone()
                        .unwrap_or_else(|| beside.with_extension("o"));
                    self.object(source, kind, &out, &arch)?;
                }
            }
            Goal::Link | Goal::Archive => {
                let mut items = Vec::new();
                for (i, item) in o.items.iter().enumerate() {
                    items.push(match item {
                        Item::Plain(p) => p.clone(),
                        Item::Source(source, kind) => {
                            let stem = source.file_stem().unwrap_or_default().to_string_lossy();
                            let to = self.dir.path().join(format!("{i}-{stem}.o"));
                            self.object(source, *kind, &to, &arch)?;
                            to.display().to_string()
                        }
                    });
                }
                if o.goal == Goal::Archive {
                    self.archive(&items)?;
                } else {
                    self.link(&items)?;
                }
            }
        }
        Ok(())
    }
}

/// All objects call one function to register their device code.
fn one_registration(assembly: &str) -> String {
    const NAME: &str = "__cudaRegisterLinkedBinary_";
    let mut out = String::with_capacity(assembly.len());
    let mut rest = assembly;
    while let Some(at) = rest.find(NAME) {
        out.push_str(&rest[..at]);
        out.push_str("__kerfRegisterLinkedBinary");
        rest = rest[at + NAME.len()..]
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    }
    out.push_str(rest);
    out
}

/// Where parts of a build are on this machine.
#[derive(Debug, Default)]
pub struct Places {
    /// Kerf's runtime.
    pub runtime: Option<PathBuf>,
    /// A folder with LLVM's OpenMP, where it was said.
    pub openmp: Option<PathBuf>,
    /// Folders that may have headers of NVIDIA's libraries, besides the CUDA folder.
    pub library_headers: Vec<PathBuf>,
}

/// Builds what the command line says.
pub fn run(
    tools: &Toolchain,
    places: &Places,
    device_code: DeviceCode,
    args: &[String],
) -> Result<Told, (CcError, Option<String>)> {
    let build = || -> Result<Told, CcError> {
        let o = CcOptions::parse(args)?;
        let first = o
            .sources()
            .next()
            .map_or(PathBuf::new(), |(p, _)| p.to_owned());
        let clang = tools.clang.clone().ok_or_else(|| CompileError::NoClang {
            path: first.clone(),
        })?;
        let cuda = match (&tools.cuda, o.sources().count()) {
            (Some(c), _) => std::path::absolute(c).unwrap_or_else(|_| c.clone()),
            (None, 0) => PathBuf::new(),
            (None, _) => return Err(CompileError::NoCuda { path: first }.into()),
        };
        let dir = tempfile::tempdir().map_err(io(Path::new("a temporary folder")))?;
        let headers = headers::write(tools.cache.as_deref(), dir.path()).map_err(io(dir.path()))?;
        let mut b = Build {
            tools,
            clang,
            runtime: places.runtime.as_deref(),
            o,
            library_headers: library_headers::folder(
                &places.library_headers,
                &cuda,
                tools.cache.as_deref().unwrap_or(dir.path()),
            )
            .map_err(io(dir.path()))?,
            cuda,
            headers,
            dir,
            openmp: None,
            device_code,
            told: Told::default(),
        };
        b.find_openmp(places.openmp.as_deref())?;
        b.run()?;
        b.told.notes.append(&mut b.o.notes);
        Ok(b.told)
    };
    build().map_err(|e| {
        let help = match &e {
            CcError::Host { messages, .. } | CcError::Linker(messages) => advice(messages),
            CcError::Device(CompileError::Rejected { messages, .. }) => advice(messages),
            CcError::Device(CompileError::Unsupported { uses, .. }) => {
                uses.first().map(|u| u.help.to_owned())
            }
            _ => None,
        };
        (e, help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_become_one() {
        let text = "\tcallq __cudaRegisterLinkedBinary__nv_f8f5@PLT\n\t.addrsig_sym __cudaRegisterLinkedBinary__nv_f8f5\n";
        let want =
            "\tcallq __kerfRegisterLinkedBinary@PLT\n\t.addrsig_sym __kerfRegisterLinkedBinary\n";
        assert_eq!(one_registration(text), want);
    }
}

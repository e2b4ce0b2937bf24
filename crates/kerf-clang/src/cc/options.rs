//! Options as nvcc and clang have them, sorted by who needs them.
mod names;

use super::CcError;
use crate::cuda_library::CudaLibrary;
use names::{IGNORED, IGNORED_WITH_VALUE, LIBRARIES};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// CUDA C++.
    Cuda,
    /// C++ for the host.
    Cpp,
    /// C for the host.
    C,
    /// Assembly, objects, archives, shared libraries: for the linker as they are.
    Link,
}

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Objects (`-c`, `-dc`).
    Object,
    /// Preprocessed text (`-E`) or dependencies (`-M`): clang writes them.
    Preprocess,
    /// The object that nvcc's device linker makes (`-dlink`); here it only names what archives have.
    DeviceLink,
    /// An archive (`-lib`).
    Archive,
    /// A program or shared library.
    Link,
}

/// One thing on the link line, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A source to be compiled first.
    Source(PathBuf, InputKind),
    /// Anything else.
    Plain(String),
}

/// A parsed command line.
#[derive(Debug, Clone)]
pub struct CcOptions {
    /// How far to go.
    pub goal: Goal,
    /// Sources and what the linker takes, in order.
    pub items: Vec<Item>,
    /// `-o`.
    pub output: Option<PathBuf>,
    /// For every compilation: `-I`, `-D`, `-std` and the like.
    pub common: Vec<String>,
    /// For host compilations only.
    pub host: Vec<String>,
    /// For device compilations only.
    pub device: Vec<String>,
    /// Dependency options (`-MD`, `-MF x`): for the host compilation.
    pub depend: Vec<String>,
    /// Architectures asked for.
    pub arches: Vec<String>,
    /// Separate compilation of device code.
    pub rdc: bool,
    /// Flush subnormals of f32.
    pub ftz: bool,
    /// Correctly rounded f32 square roots.
    pub precise_sqrt: bool,
    /// Correctly rounded f32 divisions.
    pub precise_div: bool,
    /// OpenMP in host code.
    pub openmp: bool,
    /// NVIDIA's libraries that are linked.
    pub libraries: BTreeSet<CudaLibrary>,
    /// Say what is run.
    pub verbose: bool,
    /// Options that have no effect, and why.
    pub notes: Vec<String>,
}

/// The name of NVIDIA's library of which a file, header or library has the name.
pub fn foreign(name: &str) -> Option<&'static str> {
    LIBRARIES
        .iter()
        .find(|(n, _)| name.starts_with(n))
        .map(|(_, full)| *full)
}

fn kind(path: &str, forced: Option<InputKind>) -> InputKind {
    if let Some(k) = forced {
        return k;
    }
    let last = path.rsplit('/').next().unwrap_or(path);
    match last.rsplit_once('.').map(|(_, e)| e) {
        Some("cu") => InputKind::Cuda,
        Some("cpp" | "cc" | "cxx" | "C" | "c++" | "CPP") => InputKind::Cpp,
        Some("c") => InputKind::C,
        _ => InputKind::Link,
    }
}

/// Splits the text of a response file as a shell would, without substitutions.
fn words(text: &str) -> Vec<String> {
    let (mut out, mut word, mut quote, mut any) = (Vec::new(), String::new(), None, false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => {
                word.extend(chars.next());
                any = true;
            }
            (c, Some(q)) if c == q => quote = None,
            (c, Some(_)) => word.push(c),
            ('"' | '\'', None) => (quote, any) = (Some(c), true),
            (c, None) if c.is_whitespace() => {
                if any || !word.is_empty() {
                    out.push(std::mem::take(&mut word));
                }
                any = false;
            }
            (c, None) => word.push(c),
        }
    }
    if any || !word.is_empty() {
        out.push(word);
    }
    out
}

struct Reader {
    rest: std::collections::VecDeque<String>,
    o: CcOptions,
    forced: Option<InputKind>,
    depth: u32,
}

/// An option as it is written.
struct Spelled<'a> {
    /// With its dashes and its value.
    whole: &'a str,
    /// Without.
    name: &'a str,
    /// What is behind `=`.
    joined: Option<&'a str>,
}

impl Reader {
    fn value_of(&mut self, o: &Spelled) -> Result<String, CcError> {
        self.value(o.whole, o.joined)
    }

    /// The value of an option: behind `=`, or the next word.
    fn value(&mut self, name: &str, joined: Option<&str>) -> Result<String, CcError> {
        match joined {
            Some(v) => Ok(v.to_owned()),
            None => self
                .rest
                .pop_front()
                .ok_or_else(|| CcError::Usage(format!("{name} needs a value"))),
        }
    }

    fn library(&mut self, name: &str) -> Result<(), CcError> {
        if let Some(library) = CudaLibrary::from_link_name(name) {
            self.o.libraries.insert(library);
            return Ok(());
        }
        match name {
            // Kerf's runtime stands for these, and marks for a profiler do nothing.
            "cudart" | "cudart_static" | "cuda" | "cudadevrt" | "nvToolsExt" => {}
            // A part of NVIDIA's static libraries.
            "culibos" => {}
            // LLVM's OpenMP has what GNU's has, and clang's code needs LLVM's.
            "gomp" | "iomp5" | "omp" => self.o.openmp = true,
            _ => match foreign(name) {
                // Makefiles name libraries that programs do not use, or only by their headers for kernels. What is
                // used is named when the program is linked.
                Some(full) => self.warned(
                    &format!("-l{name}"),
                    &format!("{full} is not supported; programs that call it are not linked"),
                ),
                None => self.o.items.push(Item::Plain(format!("-l{name}"))),
            },
        }
        Ok(())
    }

    fn compiler_option(&mut self, text: &str) {
        for w in text.split(',').flat_map(words_of) {
            match w.as_str() {
                "-fopenmp" | "-qopenmp" | "-mp" => self.o.openmp = true,
                _ => self.o.host.push(w),
            }
        }
    }

    fn arch(&mut self, text: &str) {
        for part in text.split(|c: char| ",=[]\"'".contains(c)) {
            if let Some(n) = part
                .strip_prefix("sm_")
                .or_else(|| part.strip_prefix("compute_"))
            {
                self.o.arches.push(format!("sm_{n}"));
            }
        }
    }

    fn warned(&mut self, option: &str, why: &str) {
        self.o.notes.push(format!("{option} has no effect: {why}"));
    }

    fn response(&mut self, file: &str) -> Result<(), CcError> {
        self.depth += 1;
        if self.depth > 32 {
            return Err(CcError::Usage(format!(
                "@{file}: response files without end"
            )));
        }
        let text = std::fs::read_to_string(file).map_err(|why| CcError::Read {
            path: file.into(),
            why,
        })?;
        for w in words(&text).into_iter().rev() {
            self.rest.push_front(w);
        }
        Ok(())
    }

    /// One option that is spelled the same in nvcc's short and long form, without its dashes.
    fn option(&mut self, whole: &str) -> Result<(), CcError> {
        let bare = whole.trim_start_matches('-');
        let (name, joined) = match bare.split_once('=') {
            Some((n, v)) => (n, Some(v)),
            None => (bare, None),
        };
        let o = Spelled {
            whole,
            name,
            joined,
        };
        let known = self.goal(&o)?
            || self.dependencies(&o)?
            || self.sources(&o)?
            || self.device_code(&o)?
            || self.host_code(&o)?
            || self.linking(&o)?
            || self.without_effect(&o)?;
        match known {
            true => Ok(()),
            false => self.clang_option(whole),
        }
    }

    /// What is made, and what is said of it. Gives whether the option is one of these, as the next ones do.
    fn goal(&mut self, o: &Spelled) -> Result<bool, CcError> {
        match o.name {
            "o" | "output-file" => self.o.output = Some(self.value_of(o)?.into()),
            "c" | "compile" => self.o.goal = Goal::Object,
            "dc" | "device-c" => (self.o.goal, self.o.rdc) = (Goal::Object, true),
            "dw" | "device-w" => self.o.goal = Goal::Object,
            "dlink" | "device-link" => self.o.goal = Goal::DeviceLink,
            "lib" => self.o.goal = Goal::Archive,
            "E" | "preprocess" => self.o.goal = Goal::Preprocess,
            "v" | "verbose" => self.o.verbose = true,
            "dryrun" | "run" | "ptx" | "cubin" => {
                return Err(CcError::Usage(format!(
                    "{} is not supported by kerf cc",
                    o.whole
                )));
            }
            "options-file" | "optf" => {
                let v = self.value_of(o)?;
                self.response(&v)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Dependencies for make.
    fn dependencies(&mut self, o: &Spelled) -> Result<bool, CcError> {
        match o.name {
            "M" | "MM" | "generate-dependencies" | "generate-nonsystem-dependencies" => {
                self.o.goal = Goal::Preprocess;
                let is_long = o.whole.starts_with("--");
                let short = if is_long { "-M" } else { o.whole };
                self.o.depend.push(short.to_owned());
            }
            "MD" | "MMD" | "MP" => self.o.depend.push(format!("-{}", o.name)),
            "generate-dependencies-with-compile" => self.o.depend.push("-MD".into()),
            "generate-nonsystem-dependencies-with-compile" => self.o.depend.push("-MMD".into()),
            "MF" | "MT" | "MQ" | "dependency-output" | "dependency-target-name" => {
                let v = self.value_of(o)?;
                let short = match o.name {
                    "dependency-output" => "MF",
                    "dependency-target-name" => "MT",
                    n => n,
                };
                self.o.depend.extend([format!("-{short}"), v]);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Language, include folders and macros.
    fn sources(&mut self, o: &Spelled) -> Result<bool, CcError> {
        match o.name {
            "x" => {
                let v = self.value_of(o)?;
                self.forced = match v.as_str() {
                    "cu" | "cuda" => Some(InputKind::Cuda),
                    "c++" => Some(InputKind::Cpp),
                    "c" => Some(InputKind::C),
                    "none" => None,
                    _ => return Err(CcError::Usage(format!("-x {v}: expected cu, c++ or c"))),
                };
            }
            "std" => {
                let v = self.value_of(o)?;
                self.o.common.push(format!("-std={v}"));
            }
            "include-path" | "define-macro" | "undefine-macro" | "system-include"
            | "pre-include" | "isystem" | "include" => {
                let v = self.value_of(o)?;
                match o.name {
                    "include-path" => self.o.common.push(format!("-I{v}")),
                    "define-macro" => self.o.common.push(format!("-D{v}")),
                    "undefine-macro" => self.o.common.push(format!("-U{v}")),
                    "pre-include" | "include" => self.o.common.extend(["-include".into(), v]),
                    _ => self.o.common.extend(["-isystem".into(), v]),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// How device code is compiled.
    fn device_code(&mut self, o: &Spelled) -> Result<bool, CcError> {
        let on = |v: &str| v != "false" && v != "0";
        match o.name {
            "arch" | "gpu-architecture" | "gencode" | "generate-code" | "cuda-gpu-arch"
            | "offload-arch" => {
                let v = self.value_of(o)?;
                self.arch(&v);
            }
            "rdc" | "relocatable-device-code" => {
                let v = self.value_of(o)?;
                self.o.rdc = on(&v);
            }
            "fgpu-rdc" => self.o.rdc = true,
            "fno-gpu-rdc" => self.o.rdc = false,
            "use_fast_math" => {
                (self.o.ftz, self.o.precise_div, self.o.precise_sqrt) = (true, false, false);
                self.o.device.push("-fgpu-approx-transcendentals".into());
            }
            "ftz" | "prec-div" | "prec-sqrt" | "fmad" => {
                let v = on(&self.value_of(o)?);
                match o.name {
                    "ftz" => self.o.ftz = v,
                    "prec-div" => self.o.precise_div = v,
                    "prec-sqrt" => self.o.precise_sqrt = v,
                    _ if !v => self.o.device.push("-ffp-contract=off".into()),
                    _ => {}
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// How host code is compiled.
    fn host_code(&mut self, o: &Spelled) -> Result<bool, CcError> {
        match o.name {
            "g" | "debug" => self.o.host.push("-g".into()),
            "O" | "optimize" => {
                let v = self.value_of(o)?;
                self.o.host.push(format!("-O{v}"));
            }
            "compiler-options" | "Xcompiler" => {
                let v = self.value_of(o)?;
                self.compiler_option(&v);
            }
            "w" | "disable-warnings" => self.o.host.push("-w".into()),
            "pthread" => {
                self.o.host.push("-pthread".into());
                self.o.items.push(Item::Plain("-pthread".into()));
            }
            "fopenmp" => self.o.openmp = true,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Libraries and options of the linker.
    fn linking(&mut self, o: &Spelled) -> Result<bool, CcError> {
        match o.name {
            "library-path" => {
                let v = self.value_of(o)?;
                self.o.items.push(Item::Plain(format!("-L{v}")));
            }
            "library" => {
                let v = self.value_of(o)?;
                self.library(&v)?;
            }
            "linker-options" | "Xlinker" => {
                let v = self.value_of(o)?;
                for w in v.split(',') {
                    self.o.items.push(Item::Plain(format!("-Wl,{w}")));
                }
            }
            "shared" => self.o.items.push(Item::Plain("-shared".into())),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Options that are taken and change nothing.
    fn without_effect(&mut self, o: &Spelled) -> Result<bool, CcError> {
        match o.name {
            "default-stream" => {
                let v = self.value_of(o)?;
                if v == "per-thread" {
                    self.warned(
                        "--default-stream per-thread",
                        "threads share one default stream, in which more waits for each other",
                    );
                }
            }
            "maxrregcount" => {
                self.value_of(o)?;
                self.warned("-maxrregcount", "the driver chooses registers");
            }
            n if IGNORED_WITH_VALUE.contains(&n) => {
                self.value_of(o)?;
                self.warned(
                    &format!("-{n}"),
                    "it is for a part of nvcc that is not used",
                );
            }
            n => return Ok(IGNORED.contains(&n)),
        }
        Ok(true)
    }

    /// Options with the value joined (`-Iinc`), and those of clang that pass.
    fn clang_option(&mut self, whole: &str) -> Result<(), CcError> {
        let (head, tail) = whole.split_at(whole.len().min(2));
        match head {
            "-I" | "-D" | "-U" => {
                let v = self.value(whole, Some(tail).filter(|t| !t.is_empty()))?;
                self.o.common.push(format!("{head}{v}"));
            }
            "-L" => {
                let v = self.value(whole, Some(tail).filter(|t| !t.is_empty()))?;
                self.o.items.push(Item::Plain(format!("-L{v}")));
            }
            "-l" => {
                let v = self.value(whole, Some(tail).filter(|t| !t.is_empty()))?;
                self.library(&v)?;
            }
            "-O" | "-g" | "-m" | "-W" | "-f" | "-p" => {
                if whole == "-ffp-contract=off" || whole.starts_with("-ffp-contract") {
                    self.o.common.push(whole.to_owned());
                } else if whole.starts_with("-Wl,") || whole == "-pg" {
                    self.o.items.push(Item::Plain(whole.to_owned()));
                } else {
                    self.o.host.push(whole.to_owned());
                }
            }
            _ if [
                "-static",
                "-rdynamic",
                "-s",
                "-pie",
                "-no-pie",
                "-static-libstdc++",
            ]
            .contains(&whole) =>
            {
                self.o.items.push(Item::Plain(whole.to_owned()));
            }
            _ if whole.starts_with("--cuda-") || whole == "-nocudalib" || whole == "-nocudainc" => {
                self.warned(whole, "kerf cc uses its own CUDA headers and libraries");
            }
            _ => return Err(CcError::Usage(format!("unknown option {whole}"))),
        }
        Ok(())
    }
}

fn words_of(s: &str) -> Vec<String> {
    words(s)
}

impl CcOptions {
    /// Reads a command line.
    pub fn parse(args: &[String]) -> Result<CcOptions, CcError> {
        let mut r = Reader {
            rest: args.iter().cloned().collect(),
            o: CcOptions {
                goal: Goal::Link,
                items: Vec::new(),
                output: None,
                common: Vec::new(),
                host: Vec::new(),
                device: Vec::new(),
                depend: Vec::new(),
                arches: Vec::new(),
                rdc: false,
                ftz: false,
                precise_sqrt: true,
                precise_div: true,
                openmp: false,
                libraries: BTreeSet::new(),
                verbose: false,
                notes: Vec::new(),
            },
            forced: None,
            depth: 0,
        };
        while let Some(a) = r.rest.pop_front() {
            if let Some(file) = a.strip_prefix('@') {
                r.response(file)?;
            } else if a.len() > 1 && a.starts_with('-') {
                r.option(&a)?;
            } else {
                let item = match kind(&a, r.forced) {
                    InputKind::Link => Item::Plain(a),
                    k => Item::Source(PathBuf::from(a), k),
                };
                r.o.items.push(item);
            }
        }
        let o = r.o;
        if o.items.is_empty() {
            return Err(CcError::Usage("no input files".into()));
        }
        if o.output.is_some() && o.goal == Goal::Object && o.sources().count() > 1 {
            return Err(CcError::Usage("-o with -c takes one source".into()));
        }
        Ok(o)
    }

    /// The sources.
    pub fn sources(&self) -> impl Iterator<Item = (&Path, InputKind)> {
        self.items.iter().filter_map(|i| match i {
            Item::Source(p, k) => Some((p.as_path(), *k)),
            Item::Plain(_) => None,
        })
    }

    /// The architecture to compile for: the highest that was asked for, and a note where it is not one
    /// that CUDA 12 and clang both have.
    pub fn arch(&mut self, default: &str) -> String {
        let number = |a: &str| kerf_llvm::compute_capability(a).ok();
        let asked = self.arches.iter().max_by_key(|a| number(a)).cloned();
        match asked {
            None => default.to_owned(),
            Some(a) if number(&a).is_some_and(|n| (60..=120).contains(&n)) => a,
            Some(a) => {
                self.notes
                    .push(format!("{a}: compiled for {default} instead"));
                default.to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! Failures as the user sees them: what, and what to do.
use kerf_exec::ExecError;
use kerf_ir::compile::CompileError;

/// A failure with exit code 2 (bad input or a missing part) or 1 (target not met).
#[derive(Debug)]
pub struct Failure {
    what: String,
    help: Option<String>,
    code: i32,
}

impl Failure {
    /// Bad input or a missing part.
    pub fn new(what: impl Into<String>) -> Failure {
        Failure { what: what.into(), help: None, code: 2 }
    }
    /// With advice.
    pub fn help(mut self, h: impl Into<String>) -> Failure {
        self.help = Some(h.into());
        self
    }
    /// Prints it and gives the exit code.
    pub fn report(&self) -> i32 {
        eprintln!("error: {}", self.what);
        if let Some(h) = &self.help {
            eprintln!("help: {h}");
        }
        self.code
    }
}

impl From<CompileError> for Failure {
    fn from(e: CompileError) -> Failure {
        let help = match &e {
            CompileError::NoClang { .. } => "install clang 22 (apt-get install clang-22), or set KERF_CLANG to it; or give Kerf the .bc file of a bundle",
            CompileError::NoCuda { .. } => "run scripts/setup.sh (make setup), or set KERF_CUDA to a CUDA toolkit",
            CompileError::UnknownKind { .. } => "give a CUDA (.cu), OpenCL (.cl) or LLVM (.ll, .bc) file",
            CompileError::Unreadable { .. } => "check the path and its permissions",
            CompileError::Rejected { .. } => "include folders and macros are passed with -I and -D, as to a compiler",
            CompileError::BadIr { .. } => "the file may be truncated, or from a newer LLVM than 22",
            CompileError::Tool { .. } => "kerf doctor lists what is installed",
        };
        Failure::new(e.to_string()).help(help)
    }
}

impl From<ExecError> for Failure {
    fn from(e: ExecError) -> Failure {
        let f = Failure::new(e.to_string());
        match &e {
            ExecError::Missing { .. } => f.help("use --device cpu, or run on a machine with an NVIDIA GPU (kerf bundle packs what it needs)"),
            ExecError::Compile(_) => f.help("kerf inspect lists what a kernel uses that this device cannot run"),
            ExecError::Memory(_) => f.help("choose smaller sizes, e.g. --size n=4096"),
            _ => f,
        }
    }
}

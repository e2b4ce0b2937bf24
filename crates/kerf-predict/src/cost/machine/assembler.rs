//! From PTX to machine code with a line table, by NVIDIA's assembler.
use std::path::Path;

/// Why there is no machine code of a program.
#[derive(Debug, thiserror::Error)]
pub enum AssemblerError {
    /// The assembler cannot be run, or its files cannot be written or read.
    #[error("{program}: {source}")]
    Run {
        /// Path of the assembler.
        program: String,
        /// What went wrong.
        source: std::io::Error,
    },
    /// The assembler refuses the program.
    #[error("{0}")]
    Refused(String),
}

/// What programs are compiled with.
pub struct Compiler<'c> {
    /// libdevice, whole.
    pub libdevice: &'c [u8],
    /// Architecture: sm_90.
    pub arch: &'c str,
    /// From PTX to a binary with a line table (`ptxas -lineinfo`).
    pub assemble: &'c dyn Fn(&str) -> Result<Vec<u8>, AssemblerError>,
}

/// The architecture of a profile as the assembler names it, if its machine code can be read. Profiles call it 9.0 or sm_90.
pub fn readable(arch: &str) -> Option<String> {
    let digits: String = arch.chars().filter(char::is_ascii_digit).collect();
    matches!(digits.parse(), Ok(75..=90u32)).then(|| format!("sm_{digits}"))
}

/// Runs NVIDIA's assembler on PTX and gives a binary with a line table. The program is whole (no `-c`), as the driver takes it.
pub fn ptxas(program: &Path, arch: &str, ptx: &str) -> Result<Vec<u8>, AssemblerError> {
    let run = || -> std::io::Result<(std::process::Output, Vec<u8>)> {
        let folder = tempfile::tempdir()?;
        let (from, to) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
        std::fs::write(&from, ptx)?;
        let done = std::process::Command::new(program)
            .arg(format!("-arch={arch}"))
            .args(["-lineinfo", "-o"])
            .args([&to, &from])
            .output()?;
        let binary = match done.status.success() {
            true => std::fs::read(&to)?,
            false => Vec::new(),
        };
        Ok((done, binary))
    };
    match run() {
        Ok((done, binary)) if done.status.success() => Ok(binary),
        Ok((done, _)) => Err(AssemblerError::Refused(
            String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        )),
        Err(source) => Err(AssemblerError::Run {
            program: program.display().to_string(),
            source,
        }),
    }
}

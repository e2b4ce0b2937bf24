//! From PTX to machine code with a table of lines, by NVIDIA's assembler.
use std::path::Path;

/// What programs are compiled with.
pub struct Compiler<'c> {
    /// libdevice, whole.
    pub libdevice: &'c [u8],
    /// Architecture: sm_90.
    pub arch: &'c str,
    /// From PTX to a binary with a table of lines (`ptxas -lineinfo`).
    pub assemble: &'c dyn Fn(&str) -> Result<Vec<u8>, String>,
}

/// The architecture of a profile as the assembler names it, if its machine code can be read. Profiles call it 9.0 or sm_90.
pub fn readable(arch: &str) -> Option<String> {
    let digits: String = arch.chars().filter(char::is_ascii_digit).collect();
    matches!(digits.parse(), Ok(75..=90u32)).then(|| format!("sm_{digits}"))
}

/// Runs NVIDIA's assembler on PTX: a binary with a table of lines. The program is whole, as the driver takes it for Kerf.
pub fn ptxas(program: &Path, arch: &str, ptx: &str) -> Result<Vec<u8>, String> {
    let run = || -> std::io::Result<Result<Vec<u8>, String>> {
        let folder = tempfile::tempdir()?;
        let (from, to) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
        std::fs::write(&from, ptx)?;
        let done = std::process::Command::new(program)
            .arg(format!("-arch={arch}"))
            .args(["-lineinfo", "-o"])
            .args([&to, &from])
            .output()?;
        match done.status.success() {
            true => Ok(Ok(std::fs::read(&to)?)),
            false => Ok(Err(String::from_utf8_lossy(&done.stderr).trim().to_owned())),
        }
    };
    run().unwrap_or_else(|e| Err(format!("{}: {e}", program.display())))
}

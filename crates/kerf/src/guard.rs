//! Reading IR that clang did not write just now, in a process of its own.
//!
//! LLVM trusts bitcode: a damaged file may crash its reader, which no error value tells of.
use crate::fail::Failure;
use kerf_ir::compile::Language;
use kerf_workload::Workload;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The hidden option that says: this is that process.
pub const OPTION: &str = "unguarded";

/// Whether a file should be read in another process first.
pub fn is_needed(file: &Path) -> bool {
    Language::of(file) == Some(Language::Ir)
}

fn this_program(
    args: impl IntoIterator<Item = OsString>,
    stdout: Stdio,
) -> Result<Output, Failure> {
    let exe = std::env::current_exe()
        .map_err(|e| Failure::new(format!("this program cannot find itself: {e}")))?;
    let mut c = Command::new(&exe);
    c.arg(format!("--{OPTION}"))
        .args(args)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped());
    c.output()
        .map_err(|e| Failure::new(format!("could not run {}: {e}", exe.display())))
}

fn crashed(file: &Path, signal: i32) -> Failure {
    Failure::new(format!(
        "{} makes LLVM crash (signal {signal})",
        file.display()
    ))
    .help("the file is damaged: make it again with clang 22 (clang -emit-llvm)")
}

/// Does what this process was asked to do, in another one; gives its exit code.
pub fn again(file: &Path) -> Result<i32, Failure> {
    let o = this_program(std::env::args_os().skip(1), Stdio::inherit())?;
    if let Some(s) = o.status.signal() {
        return Err(crashed(file, s));
    }
    // Nobody is left to tell if this cannot be written.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), &o.stderr);
    Ok(o.status.code().unwrap_or(2))
}

/// Fails if the source of a workload crashes LLVM. Whatever else is wrong with it is left to be found.
pub fn survives(workload: &Path) -> Result<(), Failure> {
    let Ok(w) = Workload::read(workload, &[]) else {
        return Ok(());
    };
    if !is_needed(&w.source) {
        return Ok(());
    }
    let o = this_program(["inspect".into(), w.source.clone().into()], Stdio::null())?;
    match o.status.signal() {
        Some(s) => Err(crashed(&w.source, s)),
        None => Ok(()),
    }
}

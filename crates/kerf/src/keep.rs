//! Code of an application's kernels as they are written, made by `kerf cc` so that the program need not at its start.
//!
//! It is made in a process of its own: LLVM ends the process where it cannot compile something, and the program may
//! never launch that.
use crate::fail::Failure;
use crate::toolchain;
use kerf_clang::compile::Toolchain;
use kerf_exec::cpu::kept;
use kerf_ir::blob::{self, Blob, CodeImage, ImageKind, KeptCode};
use kerf_ir::finish;
use kerf_ir::kernels;
use kerf_ir::unit;
use kerf_llvm::Module;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The first argument of `kerf cc` that says: this is that process.
pub const WORD: &str = "-kerf-keep";

/// Where the same program with its code is, if it was made before.
fn in_cache(tools: &Toolchain, bytes: &[u8]) -> Option<PathBuf> {
    let dir = tools.cache.as_ref()?;
    let made_by = format!(
        "{} {:?}",
        kept::target(),
        toolchain::find_tool("ptxas", tools)
    );
    let key = kerf_clang::sha256(&[bytes, made_by.as_bytes()].concat());
    Some(dir.join(format!("kept-{key}")))
}

/// Why code could not be added to a packed program.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// A file or the other process.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The other process said why.
    #[error("{0}")]
    Refused(String),
    /// It ended without a word, as LLVM does where it gives up.
    #[error("LLVM ended ({0:?})")]
    Ended(Option<i32>),
}

/// Adds code to a packed program, in another process.
pub fn beside(tools: &Toolchain, file: &Path) -> Result<(), KeepError> {
    let bytes = std::fs::read(file)?;
    let cached = in_cache(tools, &bytes);
    if let Some(old) = cached.as_ref().and_then(|c| std::fs::read(c).ok())
        && blob::read(&old).is_ok()
    {
        return Ok(std::fs::write(file, old)?);
    }
    let exe = std::env::current_exe()?;
    let r = Command::new(exe)
        .arg0("kerf")
        .args(["cc", WORD])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    if r.status.success() {
        if let Some(c) = cached {
            // A cache that cannot be written costs time, nothing else.
            let part = c.with_extension(std::process::id().to_string());
            let _ = std::fs::copy(file, &part).and_then(|_| std::fs::rename(&part, &c));
        }
        return Ok(());
    }
    let text = String::from_utf8_lossy(&r.stderr).into_owned();
    let line = text.lines().find(|l| !l.trim().is_empty());
    let line = line.unwrap_or_default().trim_start_matches("error: ");
    Err(match (line.is_empty(), r.status.code()) {
        (false, _) => KeepError::Refused(line.to_owned()),
        (true, code) => KeepError::Ended(code),
    })
}

/// Machine code of PTX, by NVIDIA's assembler.
fn assembled(ptxas: &Path, ptx: &str, arch: &str) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().ok()?;
    let (from, to) = (dir.path().join("k.ptx"), dir.path().join("k.cubin"));
    std::fs::write(&from, ptx).ok()?;
    let r = Command::new(ptxas)
        .arg(format!("-arch={arch}"))
        .arg("-o")
        .args([&to, &from])
        .output()
        .ok()?;
    r.status.success().then(|| std::fs::read(&to).ok())?
}

fn write(file: &Path, b: &Blob, kept: &KeptCode, images: &[Vec<u8>]) -> Result<(), Failure> {
    let bad = |e: String| Failure::new(format!("{}: {e}", file.display()));
    let bytes =
        blob::pack(&b.meta, b.bitcode, Some((kept, images))).map_err(|e| bad(e.to_string()))?;
    // The file stays whole if this process ends before its time.
    let part = file.with_extension("part");
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, file))
        .map_err(|e| bad(e.to_string()))
}

/// Adds code to a packed program.
pub fn run(file: &Path) -> Result<i32, Failure> {
    let tools = toolchain::discover("sm_90");
    let bad = |e: String| Failure::new(format!("{}: {e}", file.display()));
    let bytes = std::fs::read(file).map_err(|e| bad(e.to_string()))?;
    let b = blob::read(&bytes).map_err(|e| bad(e.to_string()))?;
    let m = Module::parse(b.bitcode, &b.meta.source).map_err(|e| bad(e.0))?;
    unit::provide(&m);
    let infos = kernels::kernels(&m);
    if infos.is_empty() {
        return Ok(0);
    }
    let mut all = KeptCode {
        refused: unit::refused(&m, &infos, &b.meta.unlifted),
        kernels: infos,
        images: Vec::new(),
    };
    let library = match &b.meta.libdevice {
        Some(p) => std::fs::read(p).map_err(|e| Failure::new(format!("{p}: {e}")))?,
        None if finish::needed(&m).is_empty() => Vec::new(),
        None => return Err(Failure::new("libdevice.10.bc was not found")),
    };
    let arch = b.meta.arch.clone();
    finish::finish(&m, &library, &arch, b.meta.reflect()).map_err(|e| bad(e.0))?;
    let mut images = Vec::new();
    if let Ok((image, object)) = kept::make(&m) {
        all.images.push(image);
        images.push(object);
        write(file, &b, &all, &images)?;
    }
    let ptx = finish::ptx(&m, &arch).map_err(|e| bad(e.0))?;
    let mut add = |kind: ImageKind, bytes: Vec<u8>| {
        all.images.push(CodeImage {
            kind,
            target: arch.clone(),
            bytes: bytes.len(),
            about: serde_json::Value::Null,
        });
        images.push(bytes);
    };
    let ptxas = toolchain::find_tool("ptxas", &tools);
    if let Some(cubin) = ptxas.and_then(|p| assembled(&p, &ptx, &arch)) {
        add(ImageKind::Cubin, cubin);
    }
    add(ImageKind::Ptx, ptx.into_bytes());
    write(file, &b, &all, &images)?;
    Ok(0)
}

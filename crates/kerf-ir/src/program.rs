//! From a source file to a prepared module, through a cache by content.
//!
//! A cache entry is found by source path, flags, toolchain and Kerf's own code, and is valid only
//! while every file that the compiler read has the digest it had then. Entries are written to a
//! temporary name and renamed, so a killed run leaves none half written.
use crate::prepare;
use kerf_clang::compile::{self, CompileError, Toolchain};
use kerf_clang::{sha256, sha256_of_file};
use kerf_llvm::Module;
use kerf_ptx::Unlifted;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// A prepared program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The source it came from.
    pub source: PathBuf,
    /// Prepared bitcode.
    pub bitcode: Vec<u8>,
    /// Inline PTX that was not understood.
    pub unlifted: Vec<Unlifted>,
    /// Was it read from the cache?
    pub cached: bool,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    files: Vec<(PathBuf, String)>,
    unlifted: Vec<Unlifted>,
    module: String,
}

fn hex(d: impl AsRef<[u8]>) -> String {
    d.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

fn digest_file(p: &Path) -> Option<String> {
    sha256_of_file(p).ok()
}

fn key(tools: &Toolchain, source: &Path, flags: &[String]) -> String {
    let mut h = Sha256::new();
    let absolute = std::fs::canonicalize(source).unwrap_or_else(|_| source.to_owned());
    for part in [
        env!("KERF_IR_DIGEST"),
        &absolute.display().to_string(),
        &tools.arch,
        &format!("{:?} {:?} {:?}", tools.clang, tools.cuda, tools.purpose),
    ] {
        h.update(part.as_bytes());
        h.update([0]);
    }
    // Folders that are named from here mean others elsewhere.
    let from_here = |f: &String| match f.strip_prefix("-I") {
        Some(folder) => !folder.starts_with('/'),
        None => !f.starts_with(['-', '/']),
    };
    if flags.iter().any(from_here) {
        h.update(format!("{:?}", std::env::current_dir().ok()).as_bytes());
    }
    for f in flags {
        h.update(f.as_bytes());
        h.update([0]);
    }
    hex(h.finalize())
}

fn read_cache(dir: &Path, key: &str) -> Option<(Vec<u8>, Vec<Unlifted>)> {
    let text = std::fs::read_to_string(dir.join(format!("{key}.json"))).ok()?;
    let m: Manifest = serde_json::from_str(&text).ok()?;
    let fresh = m
        .files
        .iter()
        .all(|(p, d)| digest_file(p).as_ref() == Some(d));
    if !fresh {
        return None;
    }
    let bitcode = std::fs::read(dir.join(format!("{}.bc", m.module))).ok()?;
    (sha256(&bitcode) == m.module).then_some((bitcode, m.unlifted))
}

fn write_atomic(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut f = tempfile::NamedTempFile::new_in(dir)?;
    std::io::Write::write_all(&mut f, bytes)?;
    f.persist(path).map_err(|e| e.error)?;
    Ok(())
}

fn write_cache(dir: &Path, key: &str, depends: &[PathBuf], p: &Program) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let module = sha256(&p.bitcode);
    let files = depends
        .iter()
        .filter_map(|f| Some((f.clone(), digest_file(f)?)))
        .collect();
    let manifest = Manifest {
        files,
        unlifted: p.unlifted.clone(),
        module,
    };
    write_atomic(&dir.join(format!("{}.bc", manifest.module)), &p.bitcode)?;
    let text = serde_json::to_vec(&manifest).map_err(std::io::Error::other)?;
    write_atomic(&dir.join(format!("{key}.json")), &text)
}

/// Compiles (or reads) and prepares `source`.
pub fn load(tools: &Toolchain, source: &Path, flags: &[String]) -> Result<Program, CompileError> {
    if let Err(why) = std::fs::metadata(source) {
        return Err(CompileError::Unreadable {
            path: source.to_owned(),
            why,
        });
    }
    let key = key(tools, source, flags);
    if let Some((bitcode, unlifted)) = tools.cache.as_ref().and_then(|d| read_cache(d, &key)) {
        return Ok(Program {
            source: source.to_owned(),
            bitcode,
            unlifted,
            cached: true,
        });
    }
    let compiled = compile::compile(tools, source, flags)?;
    let bad = |e: kerf_llvm::LlvmError| CompileError::BadIr {
        path: source.to_owned(),
        why: e.0,
    };
    let m = Module::parse(&compiled.bitcode, &source.display().to_string()).map_err(bad)?;
    let mut unlifted = compiled.unlifted;
    unlifted.extend(prepare::prepare_for(&m, &tools.arch, tools.purpose).map_err(bad)?);
    let program = Program {
        source: source.to_owned(),
        bitcode: m.bitcode(),
        unlifted,
        cached: false,
    };
    if let Some(dir) = &tools.cache {
        // A cache that cannot be written costs time, not correctness.
        let _ = write_cache(dir, &key, &compiled.depends, &program);
    }
    Ok(program)
}

impl Program {
    /// Parses the prepared module (each caller gets its own).
    pub fn module(&self) -> Result<Module, CompileError> {
        Module::parse(&self.bitcode, &self.source.display().to_string()).map_err(|e| {
            CompileError::BadIr {
                path: self.source.clone(),
                why: e.0,
            }
        })
    }
}

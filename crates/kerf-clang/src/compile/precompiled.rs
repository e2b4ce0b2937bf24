//! CUDA's headers, precompiled: clang reads four hundred files before each source, which takes most of the time that a
//! small kernel's compilation takes.
//!
//! A precompiled header (PCH) holds clang's CUDA wrapper, what it includes, and Kerf's `kerf_host.h`. It is made the
//! first time that a set of flags is compiled with, and is kept in the cache. Clang itself refuses one whose headers
//! have changed since; whoever compiles does it again without, and removes it ([`discard`]).
//!
//! The module that clang makes with one differs from the one without in debug information that no instruction refers to:
//! the enumerations and the using-declarations of headers, which `kerf_ir::prepare` drops from both.
use super::{Language, Toolchain, clang_args};
use crate::clang_program::ClangProgram;
use std::fs::{File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How many are kept, the most recently used: each has about 10 MB.
const KEPT: usize = 12;

/// Options behind which a source's own text comes before its first line: it would come before `kerf_host.h` in a
/// precompiled header, and behind it without one.
const INCLUDES: [&str; 3] = ["-include", "-imacros", "--include"];

/// How clang makes one. Templates that the headers use are instantiated there and not again for each source, which takes half
/// of what a small kernel's compilation takes then.
const MAKING: [&str; 3] = ["-fpch-instantiate-templates", "-Xclang", "-emit-pch"];

/// Options with the name of a folder, joined.
const FOLDERS: [&str; 4] = ["-I", "-isystem", "-iquote", "-idirafter"];

/// The headers of one set of flags.
pub(super) struct Headers<'a> {
    pub tools: &'a Toolchain,
    pub clang: &'a ClangProgram,
    pub cuda: &'a Path,
    /// Flags of the command line that are not macros of the source.
    pub flags: &'a [String],
    /// `kerf_host.h`, in the cache.
    pub host: &'a Path,
}

/// Does a flag name a folder from the working folder?
fn is_relative(flag: &str) -> bool {
    let joined = FOLDERS.iter().find_map(|f| flag.strip_prefix(f));
    match joined.filter(|folder| !folder.is_empty()) {
        Some(folder) => !folder.starts_with(['/', '=']),
        None => !flag.starts_with(['-', '/']),
    }
}

impl Headers<'_> {
    fn args(&self) -> Vec<String> {
        let mut all = clang_args(Language::Cuda, self.cuda, &self.tools.arch, &[]);
        all.extend(self.clang.device_args());
        all.extend(self.flags.iter().cloned());
        all
    }

    /// A name for everything that decides what is in them, but for the content of headers, which clang looks at.
    fn key(&self) -> io::Result<String> {
        let program = std::fs::canonicalize(&self.clang.path)?;
        let file = std::fs::metadata(&program)?;
        let here = self.flags.iter().any(|f| is_relative(f));
        let here = here.then(std::env::current_dir).transpose()?;
        let all = (
            env!("CARGO_PKG_VERSION"),
            (self.clang, program, file.len(), file.modified()?),
            (self.args(), MAKING, self.host, here),
        );
        Ok(crate::sha256(format!("{all:?}").as_bytes()))
    }

    /// The file, made if it is not there; none where these flags cannot have one, there is no cache, or clang does not make it.
    pub fn find(&self) -> Option<PathBuf> {
        let includes = |f: &String| INCLUDES.iter().any(|i| f.starts_with(i));
        if self.flags.iter().any(includes) {
            return None;
        }
        let folder = self.tools.cache.as_ref()?.join("precompiled");
        // Headers that went elsewhere have another path the next time.
        if !self.host.starts_with(self.tools.cache.as_ref()?) {
            return None;
        }
        let file = folder.join(format!("{}.pch", &self.key().ok()?[..32]));
        self.made(&folder, &file).ok()?;
        Some(file)
    }

    /// Makes it, unless it is there or another process makes it just now.
    fn made(&self, folder: &Path, file: &Path) -> io::Result<()> {
        if used(file).is_ok() {
            return Ok(());
        }
        std::fs::create_dir_all(folder)?;
        let lock = File::create(folder.join("lock"))?;
        lock.lock()?;
        if used(file).is_ok() {
            return Ok(());
        }
        let part = tempfile::Builder::new()
            .suffix(".part")
            .tempfile_in(folder)?;
        let mut command = self.clang.command();
        command.args(self.args()).args(MAKING);
        command.arg("-o").arg(part.path()).arg(self.host);
        if !command.output()?.status.success() {
            return Err(io::Error::other("clang made none"));
        }
        part.into_temp_path().persist(file).map_err(|e| e.error)?;
        forget_oldest(folder)
    }
}

/// Marks a file as used now; an error where it is not there.
fn used(file: &Path) -> io::Result<()> {
    let now = FileTimes::new().set_modified(SystemTime::now());
    File::options().append(true).open(file)?.set_times(now)
}

/// Removes all but the [`KEPT`] that were used last. A compilation that is about to read one of the others does without.
fn forget_oldest(folder: &Path) -> io::Result<()> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "pch") {
            all.push((std::fs::metadata(&path)?.modified()?, path));
        }
    }
    all.sort_by(|a, b| b.cmp(a));
    all.iter().skip(KEPT).for_each(|(_, path)| discard(path));
    Ok(())
}

/// Removes one, so that it is made again.
pub(super) fn discard(file: &Path) {
    // Another process may have done it.
    let _ = std::fs::remove_file(file);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_from_here_are_told() {
        for here in ["-Iinc", "-isystem../x", "inc", "-I."] {
            assert!(is_relative(here), "{here}");
        }
        for anywhere in ["-I/inc", "-I", "-std=c++17", "/inc", "-D_X=1", "-isystem"] {
            assert!(!is_relative(anywhere), "{anywhere}");
        }
    }

    #[test]
    fn the_most_recently_used_stay() {
        let dir = tempfile::tempdir().expect("a folder");
        let name = |i: usize| dir.path().join(format!("{i}.pch"));
        for i in 0..KEPT + 3 {
            std::fs::write(name(i), "").expect("to write");
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(i as u64);
            let file = File::options().append(true).open(name(i)).expect("a file");
            file.set_times(FileTimes::new().set_modified(at))
                .expect("times");
        }
        used(&name(1)).expect("it is there");
        std::fs::write(dir.path().join("lock"), "").expect("to write");
        forget_oldest(dir.path()).expect("to list");
        let left: Vec<usize> = (0..KEPT + 3).filter(|i| name(*i).exists()).collect();
        assert_eq!(left.len(), KEPT);
        assert!(left.contains(&1) && !left.contains(&0) && !left.contains(&3));
        assert!(dir.path().join("lock").exists());
        assert!(used(&name(0)).is_err());
    }
}

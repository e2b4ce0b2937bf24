//! Headers that Kerf brings along, for programs that include what is not installed.
use crate::program;
use std::path::{Path, PathBuf};

/// Does nothing: ranges for a profiler.
const NVTX: &str = include_str!("../cuda/nvtx.h");

/// One thread, which is a legal execution: for machines without LLVM's OpenMP.
const SERIAL_OMP: &str = include_str!("../cuda/omp.h");

/// Writes them and gives their folders: what every compilation may include, and OpenMP with one thread.
///
/// A folder in the cache has one name for one content, so that compilations are found again there; without
/// a cache they go to `else_to`.
pub fn write(cache: Option<&Path>, else_to: &Path) -> std::io::Result<(PathBuf, PathBuf)> {
    let content = program::sha256(format!("{NVTX}{SERIAL_OMP}").as_bytes());
    let in_cache = cache.map(|c| c.join(format!("headers-{}", &content[..16])));
    let root = match &in_cache {
        Some(d) if std::fs::create_dir_all(d).is_ok() => d.clone(),
        _ => else_to.join("headers"),
    };
    let (all, omp) = (root.join("all"), root.join("omp"));
    let files = [
        (all.join("nvToolsExt.h"), NVTX),
        (all.join("nvToolsExtCuda.h"), NVTX),
        (all.join("nvToolsExtCudaRt.h"), NVTX),
        (all.join("nvtx3/nvToolsExt.h"), NVTX),
        (all.join("nvtx3/nvToolsExtCuda.h"), NVTX),
        (all.join("nvtx3/nvToolsExtCudaRt.h"), NVTX),
        (omp.join("omp.h"), SERIAL_OMP),
    ];
    for (path, text) in files {
        if std::fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
            continue;
        }
        if let Some(d) = path.parent() {
            std::fs::create_dir_all(d)?;
        }
        // Another compilation may be reading it: it is put into its place whole.
        let part = path.with_extension(format!("h{}", std::process::id()));
        std::fs::write(&part, text)?;
        std::fs::rename(&part, &path)?;
    }
    Ok((all, omp))
}

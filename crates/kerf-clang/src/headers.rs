//! Headers that Kerf brings along, for programs that include what is not installed.
use std::path::{Path, PathBuf};

/// What is included before every CUDA source.
pub(crate) const CUDA_HOST: &str = include_str!("cuda/host.h");

/// Does nothing: ranges for a profiler.
const NVTX: &str = include_str!("cuda/nvtx.h");

/// cuBLAS, for machines without NVIDIA's header.
const CUBLAS: &str = include_str!("cuda/cublas_v2.h");

/// One thread, which is a legal execution: for machines without LLVM's OpenMP.
const SERIAL_OMP: &str = include_str!("cuda/omp.h");

/// Cooperative groups, which have functions for clusters that only nvcc's front end understands.
fn not_for_nvcc(name: &str) -> String {
    format!(
        "#pragma push_macro(\"__NVCC__\")\n#undef __NVCC__\n#include_next <{name}>\n#pragma pop_macro(\"__NVCC__\")\n"
    )
}

/// Folders of headers.
#[derive(Debug, Clone)]
pub struct Folders {
    /// What every compilation may include.
    pub all: PathBuf,
    /// What is looked for after everything else: NVIDIA's own come before.
    pub last: PathBuf,
    /// OpenMP with one thread.
    pub omp: PathBuf,
    /// What stands before CUDA's own.
    pub first: PathBuf,
    /// What is included before every CUDA source.
    pub host: PathBuf,
}

/// Writes them and gives their folders.
///
/// A folder in the cache has one name for one content, so that compilations are found again there; without
/// a cache they go to `else_to`.
pub fn write(cache: Option<&Path>, else_to: &Path) -> std::io::Result<Folders> {
    let groups = [
        "cooperative_groups.h",
        "cooperative_groups/reduce.h",
        "cooperative_groups/scan.h",
        "cooperative_groups/memcpy_async.h",
    ]
    .map(|n| (n, not_for_nvcc(n)));
    let content =
        crate::sha256(format!("{NVTX}{SERIAL_OMP}{CUBLAS}{CUDA_HOST}{groups:?}").as_bytes());
    let in_cache = cache.map(|c| c.join(format!("headers-{}", &content[..16])));
    let root = match &in_cache {
        Some(d) if std::fs::create_dir_all(d).is_ok() => d.clone(),
        _ => else_to.join("headers"),
    };
    let (all, omp, first) = (root.join("all"), root.join("omp"), root.join("first"));
    let (host, last) = (root.join("kerf_host.h"), root.join("last"));
    let mut files = vec![
        (host.clone(), CUDA_HOST),
        (all.join("nvToolsExt.h"), NVTX),
        (all.join("nvToolsExtCuda.h"), NVTX),
        (all.join("nvToolsExtCudaRt.h"), NVTX),
        (all.join("nvtx3/nvToolsExt.h"), NVTX),
        (all.join("nvtx3/nvToolsExtCuda.h"), NVTX),
        (all.join("nvtx3/nvToolsExtCudaRt.h"), NVTX),
        (last.join("cublas_v2.h"), CUBLAS),
        (omp.join("omp.h"), SERIAL_OMP),
    ];
    files.extend(
        groups
            .iter()
            .map(|(n, text)| (first.join(n), text.as_str())),
    );
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
    Ok(Folders {
        all,
        last,
        omp,
        first,
        host,
    })
}

//! CUDA's headers, libdevice and ptxas out of NVIDIA's wheels, which pip puts beside Kerf's.
//!
//! Each wheel has an `include` folder of its own. clang wants one CUDA folder, so that one of symbolic links is made
//! in the cache: one for each place and each set of versions, never changed once it is there.
use kerf_clang::sha256;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Folders of `nvidia` that a kernel may need something of.
const PARTS: [&str; 5] = [
    "cuda_runtime",
    "cuda_nvcc",
    "cuda_cccl",
    "curand",
    "cuda_profiler_api",
];

/// Folders of wheels with libraries that host code calls: all of CUDA 13 are in one.
const LIBRARIES: [&str; 6] = ["cu13", "cublas", "cufft", "curand", "cusparse", "cusolver"];

/// Where the wheels of libraries have their headers, below a folder of wheels.
pub fn library_headers(site: &Path) -> Vec<PathBuf> {
    let include = |part: &str| site.join("nvidia").join(part).join("include");
    LIBRARIES.map(include).into()
}

/// The folder in which the wheels are installed: one above `program`.
fn site(program: &Path) -> Option<PathBuf> {
    program
        .ancestors()
        .skip(1)
        .find(|a| {
            a.join("nvidia/cuda_runtime/include/cuda_runtime.h")
                .is_file()
        })
        .map(Path::to_owned)
}

/// Names and versions of NVIDIA's wheels in a folder, in order.
fn versions(site: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(site)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with("nvidia_cu") && name.ends_with(".dist-info") {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

/// Entries of folders, each once, in order.
fn names(folders: &[PathBuf]) -> io::Result<Vec<OsString>> {
    let mut all = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder)? {
            all.push(entry?.file_name());
        }
    }
    all.sort();
    all.dedup();
    Ok(all)
}

/// Links what `folders` hold into `into`; folders that several have are made and filled. Of files with one name the
/// first counts.
fn merge(folders: &[PathBuf], into: &Path) -> io::Result<()> {
    std::fs::create_dir_all(into)?;
    for name in names(folders)? {
        let sources: Vec<PathBuf> = folders
            .iter()
            .map(|f| f.join(&name))
            .filter(|p| p.exists())
            .collect();
        let directories = sources.iter().filter(|p| p.is_dir()).count();
        if directories > 1 && directories == sources.len() {
            merge(&sources, &into.join(&name))?;
        } else if let Some(first) = sources.first() {
            symlink(first, into.join(&name))?;
        }
    }
    Ok(())
}

/// Makes the CUDA folder.
fn fill(site: &Path, into: &Path) -> io::Result<()> {
    let present = |below: &str| -> Vec<PathBuf> {
        PARTS
            .iter()
            .map(|p| site.join("nvidia").join(p).join(below))
            .filter(|p| p.is_dir())
            .collect()
    };
    for below in ["include", "bin", "nvvm"] {
        merge(&present(below), &into.join(below))?;
    }
    // clang's own wrapper includes this one for every source.
    let mtgp = into.join("include/curand_mtgp32_kernel.h");
    if !mtgp.exists() {
        std::fs::write(mtgp, "")?;
    }
    Ok(())
}

/// The CUDA folder of the wheels beside `program`, made in `cache` where it is not there yet.
pub fn cuda_folder(program: &Path, cache: &Path) -> Option<PathBuf> {
    let site = site(program)?;
    let made = || -> io::Result<PathBuf> {
        let content = format!("{} {:?}", site.display(), versions(&site)?);
        let digest = sha256(content.as_bytes());
        let folder = cache.join(format!("cuda-wheels-{}", &digest[..16]));
        if folder.is_dir() {
            return Ok(folder);
        }
        std::fs::create_dir_all(cache)?;
        // Whole or absent: another process may be making it too.
        let part = tempfile::Builder::new()
            .prefix("cuda-wheels-part-")
            .tempdir_in(cache)?;
        let inner = part.path().join("cuda");
        fill(&site, &inner)?;
        match std::fs::rename(&inner, &folder) {
            Err(_) if folder.is_dir() => Ok(folder),
            renamed => renamed.map(|()| folder),
        }
    };
    // A folder that cannot be written to is reported as missing headers, with what to do.
    made().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("to make it");
        std::fs::write(path, text).expect("to write");
    }

    #[test]
    fn wheels_become_one_cuda_folder() {
        let dir = tempfile::tempdir().expect("a folder");
        let site = dir.path().join("site-packages");
        let program = site.join("kerf/_program/bin/kerf");
        put(&program, "");
        let cache = dir.path().join("cache");
        assert_eq!(cuda_folder(&program, &cache), None);
        let nvidia = site.join("nvidia");
        put(&nvidia.join("cuda_runtime/include/cuda_runtime.h"), "r");
        put(&nvidia.join("cuda_runtime/include/crt/host.h"), "h");
        put(&nvidia.join("cuda_nvcc/include/crt/math.h"), "m");
        put(
            &nvidia.join("cuda_nvcc/nvvm/libdevice/libdevice.10.bc"),
            "l",
        );
        put(&nvidia.join("cuda_nvcc/bin/ptxas"), "p");
        put(&site.join("nvidia_cuda_nvcc_cu12-1.dist-info/RECORD"), "");
        let first = cuda_folder(&program, &cache).expect("a CUDA folder");
        for name in [
            "include/cuda_runtime.h",
            "include/crt/host.h",
            "include/crt/math.h",
            "include/curand_mtgp32_kernel.h",
            "nvvm/libdevice/libdevice.10.bc",
            "bin/ptxas",
        ] {
            assert!(first.join(name).is_file(), "{name}");
        }
        assert_eq!(cuda_folder(&program, &cache), Some(first.clone()));
        put(&site.join("nvidia_curand_cu12-2.dist-info/RECORD"), "");
        assert_ne!(cuda_folder(&program, &cache), Some(first));
    }
}

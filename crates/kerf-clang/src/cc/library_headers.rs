//! Headers of NVIDIA's libraries out of another CUDA folder than the one that everything is compiled with.
//!
//! They are copied into a folder of the cache, apart from CUDA's own headers beside them: those are of another version, and headers find what lies
//! in their own folder first. A newer library names types that an older CUDA lacks; these are taken from its `library_types.h`.
use crate::cuda_library::CudaLibrary;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What CUDA 13's `library_types.h` has and 12's has not, for libraries whose folder lacks that header: a wheel has it apart.
const TYPES_OF_13: &str = "\
typedef enum cudaEmulationStrategy_t {
  CUDA_EMULATION_STRATEGY_DEFAULT = 0, CUDA_EMULATION_STRATEGY_PERFORMANT = 1, CUDA_EMULATION_STRATEGY_EAGER = 2
} cudaEmulationStrategy;
typedef enum cudaEmulationMantissaControl_t {
  CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC = 0, CUDA_EMULATION_MANTISSA_CONTROL_FIXED = 1
} cudaEmulationMantissaControl;
typedef enum cudaEmulationSpecialValuesSupport_t {
  CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT = 0xFFFF, CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_NONE = 0,
  CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_INFINITY = 1, CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_NAN = 2
} cudaEmulationSpecialValuesSupport;
";

/// The types of a `library_types.h` that another one lacks.
fn missing_types(newer: &str, older: &str) -> String {
    let mut out = String::new();
    for block in newer.split("typedef enum ").skip(1) {
        let Some((body, rest)) = block.split_once('}') else {
            continue;
        };
        let alias = rest.split(';').next().unwrap_or_default().trim();
        let name = body.split('{').next().unwrap_or_default().trim();
        let is_word =
            |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word(alias) || !is_word(name) || older.contains(alias) {
            continue;
        }
        let _ = writeln!(out, "typedef enum {body}}} {alias};");
        let _ = writeln!(
            out,
            "#ifndef __cplusplus\ntypedef enum {name} {name};\n#endif"
        );
    }
    out
}

/// The headers of libraries in folders, by name; of files with one name the first counts.
fn headers(from: &[PathBuf]) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for folder in from {
        // One that cannot be read has nothing to offer.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if CudaLibrary::of_header(&name).is_some() || name == "cudalibxt.h" {
                found.entry(name.clone()).or_insert(folder.join(name));
            }
        }
    }
    found
}

/// What tells whether a copy is still that of a header.
fn stamp(path: &Path) -> String {
    let meta = std::fs::metadata(path);
    let told = meta.map(|m| (m.len(), m.modified().ok()));
    format!("{} {told:?}", path.display())
}

/// The folder of the copies, made in `cache` if it is not there; none where no folder has headers of libraries. `cuda` is the CUDA folder that
/// everything is compiled with.
pub(super) fn folder(
    from: &[PathBuf],
    cuda: &Path,
    cache: &Path,
) -> std::io::Result<Option<PathBuf>> {
    let headers = headers(from);
    if headers.is_empty() {
        return Ok(None);
    }
    const TYPES: &str = "library_types.h";
    let newer = from.iter().map(|f| f.join(TYPES)).find(|p| p.is_file());
    let newer = newer.and_then(|p| std::fs::read_to_string(p).ok());
    let older = std::fs::read_to_string(cuda.join("include").join(TYPES)).unwrap_or_default();
    let types = missing_types(newer.as_deref().unwrap_or(TYPES_OF_13), &older);
    let stamps: Vec<String> = headers.values().map(|p| stamp(p)).collect();
    let digest = crate::sha256(format!("{stamps:?}{types}").as_bytes());
    let to = cache.join(format!("library-headers-{}", &digest[..16]));
    if to.is_dir() {
        return Ok(Some(to));
    }
    std::fs::create_dir_all(cache)?;
    // Whole or absent: another process may be making it too.
    let part = tempfile::Builder::new()
        .prefix("library-headers-part-")
        .tempdir_in(cache)?;
    let inner = part.path().join("headers");
    std::fs::create_dir(&inner)?;
    let guarded =
        format!("#ifndef KERF_LIBRARY_TYPES\n#define KERF_LIBRARY_TYPES\n{types}#endif\n");
    std::fs::write(inner.join("kerf_library_types.h"), guarded)?;
    for (name, path) in headers {
        let mut text = format!(
            "#include \"kerf_library_types.h\"\n#line 1 \"{}\"\n",
            path.display()
        )
        .into_bytes();
        text.extend(std::fs::read(&path)?);
        std::fs::write(inner.join(name), text)?;
    }
    match std::fs::rename(&inner, &to) {
        Err(_) if to.is_dir() => Ok(Some(to)),
        renamed => renamed.map(|()| Some(to)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_of_libraries_are_taken_with_the_types_that_are_missing() {
        let dir = tempfile::tempdir().expect("a folder");
        let (from, cuda) = (dir.path().join("a"), dir.path().join("cuda"));
        std::fs::create_dir_all(cuda.join("include")).expect("a folder");
        std::fs::create_dir(&from).expect("a folder");
        let old = "typedef enum cudaDataType_t { CUDA_R_16F = 2 } cudaDataType;\n";
        let new = "typedef enum cudaNew_t\n{\n    CUDA_NEW = 1,\n} cudaNew;\n";
        std::fs::write(cuda.join("include/library_types.h"), old).expect("written");
        std::fs::write(from.join("library_types.h"), format!("{old}{new}")).expect("written");
        for name in ["cublas_api.h", "cuda_runtime.h", "curand.h"] {
            std::fs::write(from.join(name), "int x;\n").expect("written");
        }
        let cache = dir.path().join("cache");
        let made = || folder(&[dir.path().join("none"), from.clone()], &cuda, &cache);
        let to = made().expect("copied").expect("a folder");
        assert_eq!(made().expect("found again"), Some(to.clone()));
        let has = |n: &str| to.join(n).exists();
        assert!(has("cublas_api.h") && has("curand.h") && !has("cuda_runtime.h"));
        let types = std::fs::read_to_string(to.join("kerf_library_types.h")).expect("types");
        assert!(
            types.contains("} cudaNew;") && !types.contains("cudaDataType"),
            "{types}"
        );
        let api = std::fs::read_to_string(to.join("cublas_api.h")).expect("a header");
        assert!(
            api.starts_with("#include \"kerf_library_types.h\"") && api.ends_with("int x;\n"),
            "{api}"
        );
        std::fs::write(from.join("curand.h"), "int other;\n").expect("written");
        assert_ne!(made().expect("made anew"), Some(to));
        assert_eq!(folder(&[], &cuda, &cache).expect("nothing to do"), None);
    }
}

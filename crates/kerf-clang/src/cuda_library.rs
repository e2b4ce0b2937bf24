//! NVIDIA's libraries that applications call: their names, and which of them a function is of.

/// A library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CudaLibrary {
    /// Linear algebra.
    Cublas,
    /// Products of matrices with more options.
    CublasLt,
    /// Fourier transforms.
    Cufft,
    /// Random numbers.
    Curand,
    /// Sparse matrices.
    Cusparse,
    /// Factorisations.
    Cusolver,
    /// The same on several GPUs.
    CusolverMg,
}

use CudaLibrary::{Cublas, CublasLt, Cufft, Curand, Cusolver, CusolverMg, Cusparse};

/// Those whose functions' names begin with another's come before it.
const ALL: [CudaLibrary; 7] = [
    CublasLt, Cublas, Cufft, Curand, Cusparse, CusolverMg, Cusolver,
];

impl CudaLibrary {
    /// As linkers know it; functions begin with it, and go on with a capital.
    pub fn link_name(self) -> &'static str {
        match self {
            Cublas => "cublas",
            CublasLt => "cublasLt",
            Cufft => "cufft",
            Curand => "curand",
            Cusparse => "cusparse",
            Cusolver => "cusolver",
            CusolverMg => "cusolverMg",
        }
    }

    /// As people know it.
    pub fn title(self) -> &'static str {
        match self {
            Cublas => "cuBLAS",
            CublasLt => "cuBLASLt",
            Cufft => "cuFFT",
            Curand => "the host API of cuRAND",
            Cusparse => "cuSPARSE",
            Cusolver => "cuSOLVER",
            CusolverMg => "cuSOLVERMg",
        }
    }

    /// The wheel that has it.
    pub fn wheel(self) -> &'static str {
        match self {
            Cublas | CublasLt => "nvidia-cublas",
            Cufft => "nvidia-cufft",
            Curand => "nvidia-curand",
            Cusparse => "nvidia-cusparse",
            Cusolver | CusolverMg => "nvidia-cusolver",
        }
    }

    /// The library of `-lNAME`, shared or static.
    pub fn from_link_name(name: &str) -> Option<CudaLibrary> {
        let shared = name.split("_static").next().unwrap_or(name);
        ALL.into_iter().find(|l| l.link_name() == shared)
    }

    /// The library that a file is by its name (`libcublas.so.13`, `libcublas_static.a`).
    pub fn from_file(path: &str) -> Option<CudaLibrary> {
        let file = path.rsplit('/').next()?.strip_prefix("lib")?;
        let (name, ending) = file.split_once('.')?;
        let is_library = ending == "a" || ending == "so" || ending.starts_with("so.");
        CudaLibrary::from_link_name(name).filter(|_| is_library)
    }

    /// The library of a function.
    pub fn of_function(name: &str) -> Option<CudaLibrary> {
        ALL.into_iter().find(|l| {
            let rest = name.strip_prefix(l.link_name());
            rest.is_some_and(|r| r.starts_with(|c: char| c.is_ascii_uppercase()))
        })
    }

    /// The library of a header.
    pub fn of_header(file: &str) -> Option<CudaLibrary> {
        let stem = file.strip_suffix(".h")?;
        let begins = |l: &CudaLibrary| stem.starts_with(l.link_name());
        ALL.into_iter().find(begins).filter(|_| stem != "cufftw")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_names() {
        assert_eq!(CudaLibrary::from_link_name("cublas_static"), Some(Cublas));
        assert_eq!(CudaLibrary::from_link_name("cublasLt"), Some(CublasLt));
        assert_eq!(CudaLibrary::from_link_name("cufftw"), None);
        assert_eq!(CudaLibrary::from_file("/x/libcurand.so.10"), Some(Curand));
        assert_eq!(CudaLibrary::from_file("libcublas_static.a"), Some(Cublas));
        assert_eq!(CudaLibrary::from_file("libcublas.o"), None);
        assert_eq!(CudaLibrary::of_function("cublasLtMatmul"), Some(CublasLt));
        assert_eq!(CudaLibrary::of_function("cublasXtDgemm"), Some(Cublas));
        assert_eq!(CudaLibrary::of_function("curand_init"), None);
        assert_eq!(CudaLibrary::of_header("cublas_v2.h"), Some(Cublas));
        assert_eq!(CudaLibrary::of_header("cufftw.h"), None);
    }
}

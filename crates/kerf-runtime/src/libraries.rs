//! Calls of NVIDIA's libraries (cuBLAS, cuRAND, ...): `kerf cc` makes each of them a jump to [`call::kerf_library_call`].
//!
//! On a GPU a call goes on to NVIDIA's library, with its arguments as they are: streams, events and addresses are the
//! driver's, and the context is the primary one, which these libraries use too. On the CPU it is computed here, or refused by name. Either way it is
//! noted by name in the trace, and a run with such calls is not replayed.
mod arguments;
pub mod call;
mod cublas;
mod curand;
mod current;
mod nvidia;
mod on_cpu;
mod refusal;
mod transfer;

use kerf_clang::cuda_library::CudaLibrary;
use std::collections::{BTreeMap, BTreeSet};

/// What the runtime knows of libraries.
pub struct LibraryState {
    /// NVIDIA's libraries that were opened, or why they were not.
    opened: BTreeMap<CudaLibrary, Result<nvidia::OpenLibrary, nvidia::LibraryFailure>>,
    /// What was said, which is said once.
    said: BTreeSet<String>,
    /// Contexts of cuBLAS on the CPU.
    cublas: BTreeMap<u64, cublas::Context>,
    /// Generators of cuRAND on the CPU.
    curand: BTreeMap<u64, curand::HostGenerator>,
    /// The number of the last handle that was given out.
    handles: u64,
}

impl LibraryState {
    /// Nothing yet.
    pub const fn new() -> LibraryState {
        LibraryState {
            opened: BTreeMap::new(),
            said: BTreeSet::new(),
            cublas: BTreeMap::new(),
            curand: BTreeMap::new(),
            handles: 0,
        }
    }

    /// A new handle: an address at which there is nothing.
    fn handle(&mut self) -> u64 {
        const FIRST: u64 = 0x6b65_0000_0000;
        self.handles += 1;
        FIRST + 16 * self.handles
    }

    /// Is a line to be said for the first time?
    fn is_new(&mut self, line: &str) -> bool {
        self.said.insert(line.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::{cublas, curand, transfer};
    use kerf_clang::cuda_library::CudaLibrary;
    use kerf_clang::on_cpu::{ON_CPU, is_on_cpu, names};

    #[test]
    fn the_compilers_list_has_what_there_is() {
        for n in ON_CPU.iter().flat_map(|p| names(p)) {
            let library = CudaLibrary::of_function(&n);
            let found = match library {
                Some(CudaLibrary::Curand) => curand::function(&n),
                _ => transfer::function(&n).or_else(|| cublas::function(&n)),
            };
            assert!(found.is_some() && is_on_cpu(&n), "{n}");
        }
        assert!(is_on_cpu("cublasDgemm_v2_64") && !is_on_cpu("cublasDgetrfBatched"));
        assert!(
            !is_on_cpu("curandGenerateNormal")
                && curand::function("curandGenerateNormal").is_none()
        );
    }
}

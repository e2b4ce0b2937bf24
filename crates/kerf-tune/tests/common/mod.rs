//! What tests of LLVM files share.
use kerf_clang::compile::Toolchain;

/// No compiler, no libraries, no cache.
pub fn bare() -> Toolchain {
    Toolchain {
        clang: None,
        cuda: None,
        libdevice: None,
        arch: "sm_90".into(),
        cache: None,
        purpose: kerf_clang::compile::Purpose::default(),
    }
}

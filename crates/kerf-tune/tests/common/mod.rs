//! What tests of LLVM files share.
use kerf_ir::compile::Toolchain;

/// No compiler, no libraries, no cache.
pub fn bare() -> Toolchain {
    Toolchain {
        clang: None,
        cuda: None,
        libdevice: None,
        arch: "sm_90".into(),
        cache: None,
        purpose: kerf_ir::prepare::Purpose::default(),
    }
}

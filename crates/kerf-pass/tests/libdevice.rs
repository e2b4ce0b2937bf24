//! CUDA's device library, as `make setup` has it.

pub fn libdevice() -> Vec<u8> {
    let path = std::env::var_os("KERF_LIBDEVICE").map_or_else(
        || {
            std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../.kerf/cuda/nvvm/libdevice/libdevice.10.bc")
        },
        Into::into,
    );
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e} (make setup)", path.display()))
}

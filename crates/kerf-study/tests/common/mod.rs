//! What tests of this crate share.
use kerf_device::profile::DeviceProfile;
use kerf_study::{Scale, Setup, StudyDevice};
use std::path::Path;

fn libdevice() -> Vec<u8> {
    let name = "nvvm/libdevice/libdevice.10.bc";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.kerf/cuda");
    let home = |v: &str| std::env::var_os(v).map(std::path::PathBuf::from);
    let places = [
        home("KERF_LIBDEVICE"),
        home("KERF_CUDA").map(|p| p.join(name)),
        Some(root.join(name)),
        home("CUDA_HOME").map(|p| p.join(name)),
        Some(Path::new("/usr/local/cuda").join(name)),
    ];
    let path = places.into_iter().flatten().find(|p| p.is_file());
    std::fs::read(path.expect("libdevice (scripts/setup.sh installs it)")).expect("readable")
}

/// The smallest study on the CPU executor.
pub fn setup(profile: Option<DeviceProfile>) -> Setup<'static> {
    Setup {
        device: StudyDevice::Cpu,
        arch: "sm_90".into(),
        libdevice: libdevice(),
        profile,
        seed: 1,
        scale: Scale::Tiny,
        progress: &|_| {},
    }
}

//! What Kerf's runtime has and has not, for messages and for the compiler.
use super::{library_calls, options};
use crate::compile::unsupported::uses;

/// What Kerf's runtime has of the driver API. Renamed for applications (`kerf_cuInit`), so that NVIDIA's own
/// driver, which the runtime loads, never meets them.
pub(super) const DRIVER: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceComputeCapability",
    "cuDeviceTotalMem_v2",
    "cuCtxCreate_v2",
    "cuCtxDestroy_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuCtxGetDevice",
    "cuCtxSynchronize",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2",
    "cuMemcpyDtoD_v2",
    "cuMemsetD8_v2",
    "cuMemsetD32_v2",
    "cuGetErrorString",
    "cuGetErrorName",
    "cuProfilerStart",
    "cuProfilerStop",
];

/// What the user should do about a message of clang or the linker.
pub(super) fn advice(text: &str) -> Option<String> {
    if let Some(u) = uses(text).0.first() {
        return Some(format!(
            "{}: {}: {}; {}",
            u.place, u.construct, u.why, u.help
        ));
    }
    for line in text.lines() {
        if let Some((_, rest)) = line.split_once("fatal error: '") {
            let name = rest.split('\'').next().unwrap_or_default();
            let file = name.rsplit('/').next().unwrap_or(name);
            if let Some(text) = library_calls::header_advice(file) {
                return Some(text);
            }
            if let Some(full) = options::foreign(file) {
                return Some(format!("{full} is not part of Kerf's runtime"));
            }
            if file.starts_with("helper_") {
                return Some(format!(
                    "{name} is of NVIDIA's samples: add -I with its folder"
                ));
            }
            if file == "mpi.h" {
                return Some("mpi.h: add the options that `mpicc --showme` prints".into());
            }
        }
        if line.contains("undefined reference to `GOMP_") || line.contains("`__kmpc_") {
            return Some("OpenMP: link with -fopenmp too".into());
        }
        if let Some((_, rest)) = line.split_once("undefined reference to `") {
            let name = rest.split('\'').next().unwrap_or_default();
            if let Some(text) = library_calls::link_advice(name) {
                return Some(text);
            }
            if name.starts_with("kerf_cu") || name.starts_with("cu") || name.starts_with("__cuda") {
                let name = name.trim_start_matches("kerf_");
                return Some(format!("{name} is not part of Kerf's runtime"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let text = "a.cu:3:10: fatal error: 'cudnn.h' file not found";
        assert_eq!(
            advice(text).as_deref(),
            Some("cuDNN is not part of Kerf's runtime")
        );
        let text = "a.cu:3:10: fatal error: 'cusparse.h' file not found";
        let told = advice(text).expect("known");
        assert!(
            told.contains("cuSPARSE") && told.contains("nvidia-cusparse"),
            "{told}"
        );
        let text = "a.o: undefined reference to `cufftPlan1d'";
        assert_eq!(
            advice(text).as_deref(),
            Some("cufftPlan1d is a function of cuFFT: link with -lcufft")
        );
        let text = "a.o: undefined reference to `kerf_cuModuleLoad'";
        assert_eq!(
            advice(text).as_deref(),
            Some("cuModuleLoad is not part of Kerf's runtime")
        );
        assert_eq!(advice("something else"), None);
    }
}

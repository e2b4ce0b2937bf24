// What nvcc lets host code call without an include, and clang gives to device code only.
//
// For a kernel alone only device code is compiled, but clang checks the host code beside it. In an
// application (kerf cc) host code calls them. Also: what Kerf's runtime has of the driver API, under names
// that NVIDIA's own driver never meets.
#pragma once
#define cuInit kerf_cuInit
#define cuDriverGetVersion kerf_cuDriverGetVersion
#define cuDeviceGetCount kerf_cuDeviceGetCount
#define cuDeviceGet kerf_cuDeviceGet
#define cuDeviceGetName kerf_cuDeviceGetName
#define cuDeviceGetAttribute kerf_cuDeviceGetAttribute
#define cuDeviceComputeCapability kerf_cuDeviceComputeCapability
#define cuDeviceTotalMem_v2 kerf_cuDeviceTotalMem_v2
#define cuCtxCreate_v2 kerf_cuCtxCreate_v2
#define cuCtxDestroy_v2 kerf_cuCtxDestroy_v2
#define cuCtxGetCurrent kerf_cuCtxGetCurrent
#define cuCtxSetCurrent kerf_cuCtxSetCurrent
#define cuCtxPushCurrent_v2 kerf_cuCtxPushCurrent_v2
#define cuCtxPopCurrent_v2 kerf_cuCtxPopCurrent_v2
#define cuCtxGetDevice kerf_cuCtxGetDevice
#define cuCtxSynchronize kerf_cuCtxSynchronize
#define cuDevicePrimaryCtxRetain kerf_cuDevicePrimaryCtxRetain
#define cuDevicePrimaryCtxRelease_v2 kerf_cuDevicePrimaryCtxRelease_v2
#define cuMemGetInfo_v2 kerf_cuMemGetInfo_v2
#define cuMemAlloc_v2 kerf_cuMemAlloc_v2
#define cuMemFree_v2 kerf_cuMemFree_v2
#define cuMemcpyHtoD_v2 kerf_cuMemcpyHtoD_v2
#define cuMemcpyDtoH_v2 kerf_cuMemcpyDtoH_v2
#define cuMemcpyDtoD_v2 kerf_cuMemcpyDtoD_v2
#define cuMemsetD8_v2 kerf_cuMemsetD8_v2
#define cuMemsetD32_v2 kerf_cuMemsetD32_v2
#define cuGetErrorString kerf_cuGetErrorString
#define cuGetErrorName kerf_cuGetErrorName
#define cuProfilerStart kerf_cuProfilerStart
#define cuProfilerStop kerf_cuProfilerStop
#if defined(__cplusplus) && defined(__CUDA__)
#define KERF_HOST static inline __attribute__((host, unused))
#define KERF_EXTREMES(R, A, B) \
  KERF_HOST R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; } \
  KERF_HOST R max(A a, B b) { return (R)a > (R)b ? (R)a : (R)b; }
KERF_EXTREMES(int, int, int)
KERF_EXTREMES(unsigned int, unsigned int, unsigned int)
KERF_EXTREMES(unsigned int, int, unsigned int)
KERF_EXTREMES(unsigned int, unsigned int, int)
KERF_EXTREMES(long, long, long)
KERF_EXTREMES(unsigned long, unsigned long, unsigned long)
KERF_EXTREMES(unsigned long, long, unsigned long)
KERF_EXTREMES(unsigned long, unsigned long, long)
KERF_EXTREMES(long long, long long, long long)
KERF_EXTREMES(unsigned long long, unsigned long long, unsigned long long)
KERF_EXTREMES(unsigned long long, long long, unsigned long long)
KERF_EXTREMES(unsigned long long, unsigned long long, long long)
KERF_EXTREMES(float, float, float)
KERF_EXTREMES(double, double, double)
KERF_EXTREMES(double, float, double)
KERF_EXTREMES(double, double, float)
#undef KERF_EXTREMES
#undef __managed__
#define __managed__ _Pragma("GCC error \"kerf: __managed__ variables are not supported; use cudaMallocManaged\"")
#undef KERF_HOST
#endif

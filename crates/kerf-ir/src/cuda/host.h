// What nvcc lets host code call without an include, and clang gives to device code only.
//
// For a kernel alone only device code is compiled, but clang checks the host code beside it. In an
// application (kerf cc) host code calls them.
#pragma once
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

// What nvcc lets host code call without an include, and clang gives to device code only.
//
// For a kernel alone only device code is compiled, but clang checks the host code beside it. In an
// application (kerf cc) host code calls them.
#pragma once
#if defined(__cplusplus) && defined(__CUDA__)
// clang drops the shape of a cluster; the section tells Kerf that the kernel asked for one.
#ifdef __CUDA_ARCH__
#undef __cluster_dims__
#define __cluster_dims__(...) __attribute__((section("kerf.cluster")))
#endif
// nvcc's own headers declare printf, malloc, clock, assert and more; many programs count on it.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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
// Of CUDA's math functions these are for device code only in its headers as clang reads them.
#define KERF_MATH(T, S) \
  KERF_HOST T rhypot##S(T x, T y) { return 1 / hypot##S(x, y); } \
  KERF_HOST T norm3d##S(T x, T y, T z) { return hypot##S(hypot##S(x, y), z); } \
  KERF_HOST T rnorm3d##S(T x, T y, T z) { return 1 / norm3d##S(x, y, z); } \
  KERF_HOST T norm4d##S(T x, T y, T z, T w) { return hypot##S(norm3d##S(x, y, z), w); } \
  KERF_HOST T rnorm4d##S(T x, T y, T z, T w) { return 1 / norm4d##S(x, y, z, w); }
KERF_MATH(double, )
KERF_MATH(float, f)
#undef KERF_MATH
// Host code has a variable of its own, which the runtime keeps equal to the device's.
#undef __managed__
#define __managed__ __device__ __attribute__((annotate("kerf.managed")))
#undef KERF_HOST
#endif
// kerf cc takes nvcc's place, and programs ask for nvcc by its macro. NVIDIA's C++ headers do too, for what only nvcc's
// front end understands: they look before the macro is there.
#if defined(__KERF_NVCC__) && !defined(__NVCC__)
#ifdef __cplusplus
#if __has_include(<cuda/std/__cccl/compiler.h>)
#include <cuda/std/__cccl/compiler.h>
#endif
#if __has_include(<nv/target>)
#include <nv/target>
#endif
#endif
#define __NVCC__ 1
#endif

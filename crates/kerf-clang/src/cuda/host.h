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
// The atomic functions that nvcc knows without a header: clang's with a scope do the same. The last argument may be left away.
#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#define __NV_THREAD_SCOPE_THREAD __MEMORY_SCOPE_SINGLE
#define __NV_THREAD_SCOPE_BLOCK __MEMORY_SCOPE_WRKGRP
// A cluster has no scope of its own here: that of the device is wider.
#define __NV_THREAD_SCOPE_CLUSTER __MEMORY_SCOPE_DEVICE
#define __NV_THREAD_SCOPE_DEVICE __MEMORY_SCOPE_DEVICE
#define __NV_THREAD_SCOPE_SYSTEM __MEMORY_SCOPE_SYSTEM
#define KERF_SCOPED(...) KERF_SCOPED_(__VA_ARGS__, __NV_THREAD_SCOPE_SYSTEM, 0)
#define KERF_SCOPED_(ORDER, SCOPE, ...) ORDER, SCOPE
#define KERF_SCOPED2(...) KERF_SCOPED2_(__VA_ARGS__, __NV_THREAD_SCOPE_SYSTEM, 0)
#define KERF_SCOPED2_(SUCCESS, FAILURE, SCOPE, ...) SUCCESS, FAILURE, SCOPE
#define __nv_atomic_load_n(P, ...) __scoped_atomic_load_n(P, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_load(P, TO, ...) __scoped_atomic_load(P, TO, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_store_n(P, X, ...) __scoped_atomic_store_n(P, X, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_store(P, X, ...) __scoped_atomic_store(P, X, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_exchange_n(P, X, ...) __scoped_atomic_exchange_n(P, X, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_exchange(P, X, TO, ...) __scoped_atomic_exchange(P, X, TO, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_compare_exchange_n(P, WANTED, X, WEAK, ...) __scoped_atomic_compare_exchange_n(P, WANTED, X, WEAK, KERF_SCOPED2(__VA_ARGS__))
#define __nv_atomic_compare_exchange(P, WANTED, X, WEAK, ...) __scoped_atomic_compare_exchange(P, WANTED, X, WEAK, KERF_SCOPED2(__VA_ARGS__))
#define __nv_atomic_fetch_add(P, X, ...) __scoped_atomic_fetch_add(P, X, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_fetch_sub(P, X, ...) __scoped_atomic_fetch_sub(P, X, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_fetch_and(P, X, ...) __scoped_atomic_fetch_and(P, X, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_fetch_or(P, X, ...) __scoped_atomic_fetch_or(P, X, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_fetch_xor(P, X, ...) __scoped_atomic_fetch_xor(P, X, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_fetch_min(P, X, ...) __scoped_atomic_fetch_min(P, X, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_fetch_max(P, X, ...) __scoped_atomic_fetch_max(P, X, KERF_SCOPED(__VA_ARGS__))
#define __nv_atomic_add(...) ((void)__nv_atomic_fetch_add(__VA_ARGS__))
#define __nv_atomic_sub(...) ((void)__nv_atomic_fetch_sub(__VA_ARGS__))
#define __nv_atomic_and(...) ((void)__nv_atomic_fetch_and(__VA_ARGS__))
#define __nv_atomic_or(...) ((void)__nv_atomic_fetch_or(__VA_ARGS__))
#define __nv_atomic_xor(...) ((void)__nv_atomic_fetch_xor(__VA_ARGS__))
#define __nv_atomic_min(...) ((void)__nv_atomic_fetch_min(__VA_ARGS__))
#define __nv_atomic_max(...) ((void)__nv_atomic_fetch_max(__VA_ARGS__))
#define __nv_atomic_thread_fence(...) __scoped_atomic_thread_fence(KERF_SCOPED(__VA_ARGS__))
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

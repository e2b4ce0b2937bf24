// The OpenCL C builtin library for NVPTX.
//
// This file is force-included before an OpenCL C source (1.2, 2.0 or 3.0) and
// defines the builtin functions in terms of NVPTX intrinsics and of NVIDIA's
// libdevice (`__nv_*`, declared here and resolved later).
//
// Linkage. Every definition is `extern inline` with gnu_inline semantics, that
// is `available_externally` in LLVM: nothing is emitted for a builtin that is
// not used, and a used one disappears once it is inlined (always_inline). This
// also holds where a prior declaration without `inline` is visible (clang's
// opencl-c.h, or -fdeclare-opencl-builtins), for which neither `static` nor
// C99 `inline` works.
//
// Debug info. The definitions are `nodebug`, so an inlined builtin takes the
// line of its call in the user's file.
//
// Names. Helpers are called __kf_*. Parameters start with an underscore and
// components are spelt .s0, .s1, ..., so that a macro from the command line
// (-DN=..., -Dx=...) does not reach into this file.
//
// Precision. Functions map to libdevice's accurate versions, native_* to its
// fast ones. sqrt is llvm.sqrt (correctly rounded), for __nv_sqrtf depends on
// a reflection parameter whose default is the approximate one. The half
// versions of rounding, sign, fma, sqrt, fmin and fmax functions are LLVM
// intrinsics; the other half functions compute in float and round once.

#ifndef KERF_OPENCL_BUILTINS
#define KERF_OPENCL_BUILTINS

#pragma clang system_header

#include "opencl-c-base.h"

#if __OPENCL_C_VERSION__ < 120
#pragma OPENCL EXTENSION cl_clang_storage_class_specifiers : enable
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#ifdef cl_khr_int64_extended_atomics
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#endif

#define __KF                                                                   \
  extern inline                                                                \
      __attribute__((gnu_inline, overloadable, always_inline, nodebug))
#define __KC __attribute__((const, nothrow))

#ifdef cl_khr_fp64
#define __kf_f64(...) __VA_ARGS__
#else
#define __kf_f64(...)
#endif
#ifdef cl_khr_fp16
#define __kf_f16(...) __VA_ARGS__
#else
#define __kf_f16(...)
#endif

// A double by its bits, out of reach of -cl-single-precision-constant.
#define __kf_dbl(bits) as_double(bits##ul)

// The address spaces of a pointer that is written through. One scalar overload
// takes a private pointer and has to be there first.
#ifdef __opencl_c_generic_address_space
#define __kf_as(M, ...) M(__VA_ARGS__, __generic)
#else
#define __kf_as(M, ...)                                                        \
  M(__VA_ARGS__, __private) M(__VA_ARGS__, __global) M(__VA_ARGS__, __local)
#endif
#define __kf_as_const(M, ...) __kf_as(M, __VA_ARGS__) M(__VA_ARGS__, __constant)

// M for a scalar type and all its vectors; for the vectors alone.
#define __kf_all(M, T) M(T) __kf_vec(M, T)
#define __kf_vec(M, T) M(T##2) M(T##3) M(T##4) M(T##8) M(T##16)
#define __kf_all_fp(M)                                                         \
  __kf_all(M, float) __kf_f64(__kf_all(M, double)) __kf_f16(__kf_all(M, half))

// Vector versions of F out of the scalar one, which has 1, 2 or 3 arguments.
#define __kf_v1(F, R, A)                                                       \
  __KF R##2 F(A##2 _a) { return (R##2)(F(_a.s0), F(_a.s1)); }                  \
  __KF R##3 F(A##3 _a) { return (R##3)(F(_a.s0), F(_a.s1), F(_a.s2)); }        \
  __KF R##4 F(A##4 _a) {                                                       \
    return (R##4)(F(_a.s0), F(_a.s1), F(_a.s2), F(_a.s3));                     \
  }                                                                            \
  __kf_v1h(F, R, A, 8) __kf_v1h(F, R, A, 16)
#define __kf_v1h(F, R, A, n)                                                   \
  __KF R##n F(A##n _a) { return (R##n)(F(_a.lo), F(_a.hi)); }

#define __kf_v2(F, R, A, B)                                                    \
  __KF R##2 F(A##2 _a, B##2 _b) {                                              \
    return (R##2)(F(_a.s0, _b.s0), F(_a.s1, _b.s1));                           \
  }                                                                            \
  __KF R##3 F(A##3 _a, B##3 _b) {                                              \
    return (R##3)(F(_a.s0, _b.s0), F(_a.s1, _b.s1), F(_a.s2, _b.s2));          \
  }                                                                            \
  __KF R##4 F(A##4 _a, B##4 _b) {                                              \
    return (R##4)(F(_a.s0, _b.s0), F(_a.s1, _b.s1), F(_a.s2, _b.s2),           \
                  F(_a.s3, _b.s3));                                            \
  }                                                                            \
  __kf_v2h(F, R, A, B, 8) __kf_v2h(F, R, A, B, 16)
#define __kf_v2h(F, R, A, B, n)                                                \
  __KF R##n F(A##n _a, B##n _b) {                                              \
    return (R##n)(F(_a.lo, _b.lo), F(_a.hi, _b.hi));                           \
  }

#define __kf_v3(F, R, A, B, C)                                                 \
  __KF R##2 F(A##2 _a, B##2 _b, C##2 _c) {                                     \
    return (R##2)(F(_a.s0, _b.s0, _c.s0), F(_a.s1, _b.s1, _c.s1));             \
  }                                                                            \
  __KF R##3 F(A##3 _a, B##3 _b, C##3 _c) {                                     \
    return (R##3)(F(_a.s0, _b.s0, _c.s0), F(_a.s1, _b.s1, _c.s1),              \
                  F(_a.s2, _b.s2, _c.s2));                                     \
  }                                                                            \
  __KF R##4 F(A##4 _a, B##4 _b, C##4 _c) {                                     \
    return (R##4)(F(_a.s0, _b.s0, _c.s0), F(_a.s1, _b.s1, _c.s1),              \
                  F(_a.s2, _b.s2, _c.s2), F(_a.s3, _b.s3, _c.s3));             \
  }                                                                            \
  __kf_v3h(F, R, A, B, C, 8) __kf_v3h(F, R, A, B, C, 16)
#define __kf_v3h(F, R, A, B, C, n)                                             \
  __KF R##n F(A##n _a, B##n _b, C##n _c) {                                     \
    return (R##n)(F(_a.lo, _b.lo, _c.lo), F(_a.hi, _b.hi, _c.hi));             \
  }

// Versions whose second argument stays a scalar B.
#define __kf_vs(F, R, A, B)                                                    \
  __kf_vs1(F, R, A, B, 2) __kf_vs1(F, R, A, B, 3) __kf_vs1(F, R, A, B, 4)      \
  __kf_vs1(F, R, A, B, 8) __kf_vs1(F, R, A, B, 16)
#define __kf_vs1(F, R, A, B, n)                                                \
  __KF R##n F(A##n _a, B _b) { return F(_a, (B##n)(_b)); }

// ---------------------------------------------------------------------------
// Work-item functions
// ---------------------------------------------------------------------------

// The register R of a dimension, as 64 bits: products of two do not wrap.
#define __kf_r0(R) ((size_t)(uint)__nvvm_read_ptx_sreg_##R##_x())
#define __kf_r1(R) ((size_t)(uint)__nvvm_read_ptx_sreg_##R##_y())
#define __kf_r2(R) ((size_t)(uint)__nvvm_read_ptx_sreg_##R##_z())
#define __kf_tid(r) r(tid)
#define __kf_ntid(r) r(ntid)
#define __kf_ctaid(r) r(ctaid)
#define __kf_nctaid(r) r(nctaid)
#define __kf_gid(r) (r(ctaid) * r(ntid) + r(tid))
#define __kf_gsz(r) (r(nctaid) * r(ntid))
#define __kf_pick(E, none)                                                     \
  switch (_d) {                                                                \
  case 0: return E(__kf_r0);                                                   \
  case 1: return E(__kf_r1);                                                   \
  case 2: return E(__kf_r2);                                                   \
  default: return none;                                                        \
  }

__KF size_t get_local_id(uint _d) { __kf_pick(__kf_tid, 0) }
__KF size_t get_local_size(uint _d) { __kf_pick(__kf_ntid, 1) }
__KF size_t get_group_id(uint _d) { __kf_pick(__kf_ctaid, 0) }
__KF size_t get_num_groups(uint _d) { __kf_pick(__kf_nctaid, 1) }
__KF size_t get_global_id(uint _d) { __kf_pick(__kf_gid, 0) }
__KF size_t get_global_size(uint _d) { __kf_pick(__kf_gsz, 1) }
__KF size_t get_global_offset(uint _d) { return 0; }
// PTX does not know the dimension of the launch: the highest one that is used.
__KF uint get_work_dim(void) {
  return __kf_gsz(__kf_r2) > 1 ? 3 : __kf_gsz(__kf_r1) > 1 ? 2 : 1;
}
#define __kf_llid                                                              \
  ((__kf_r2(tid) * __kf_r1(ntid) + __kf_r1(tid)) * __kf_r0(ntid) + __kf_r0(tid))
#define __kf_lsize (__kf_r0(ntid) * __kf_r1(ntid) * __kf_r2(ntid))

#if __OPENCL_C_VERSION__ >= 200
__KF size_t get_enqueued_local_size(uint _d) { __kf_pick(__kf_ntid, 1) }
__KF size_t get_local_linear_id(void) { return __kf_llid; }
__KF size_t get_global_linear_id(void) {
  return (__kf_gid(__kf_r2) * __kf_gsz(__kf_r1) + __kf_gid(__kf_r1)) *
             __kf_gsz(__kf_r0) +
         __kf_gid(__kf_r0);
}
#endif

// ---------------------------------------------------------------------------
// Synchronization
// ---------------------------------------------------------------------------

// bar.sync orders the memory accesses of the group, shared and global.
__KF void barrier(cl_mem_fence_flags _f) { __syncthreads(); }

__KF void mem_fence(cl_mem_fence_flags _f) {
  if (_f & CLK_GLOBAL_MEM_FENCE)
    __nvvm_membar_gl();
  else
    __nvvm_membar_cta();
}
__KF void read_mem_fence(cl_mem_fence_flags _f) { mem_fence(_f); }
__KF void write_mem_fence(cl_mem_fence_flags _f) { mem_fence(_f); }

#if __OPENCL_C_VERSION__ >= 200
__KF void work_group_barrier(cl_mem_fence_flags _f, memory_scope _s) {
  if (_s != memory_scope_work_group && _s != memory_scope_work_item)
    __nvvm_membar_gl();
  __syncthreads();
}
__KF void work_group_barrier(cl_mem_fence_flags _f) { __syncthreads(); }
__KF int work_group_all(int _p) { return __nvvm_bar0_and(_p) != 0; }
__KF int work_group_any(int _p) { return __nvvm_bar0_or(_p) != 0; }
#ifdef __opencl_c_generic_address_space
__KF cl_mem_fence_flags get_fence(const void *_p) {
  return __nvvm_isspacep_shared(_p) ? CLK_LOCAL_MEM_FENCE
                                    : CLK_GLOBAL_MEM_FENCE;
}
__KF cl_mem_fence_flags get_fence(void *_p) {
  return get_fence((const void *)_p);
}
#endif
#endif

// ---------------------------------------------------------------------------
// Math functions: what libdevice provides
// ---------------------------------------------------------------------------

#define __kf_nv1(F) float __nv_##F##f(float) __KC;                             \
  __kf_f64(double __nv_##F(double) __KC;)
#define __kf_nv2(F) float __nv_##F##f(float, float) __KC;                      \
  __kf_f64(double __nv_##F(double, double) __KC;)

// float, double: libdevice; half: libdevice's float version.
#define __kf_m1(F)                                                             \
  __kf_nv1(F)                                                                  \
  __KF float F(float _a) { return __nv_##F##f(_a); }                           \
  __kf_v1(F, float, float)                                                     \
  __kf_f64(__KF double F(double _a) { return __nv_##F(_a); }                   \
           __kf_v1(F, double, double))                                         \
  __kf_f16(__KF half F(half _a) { return (half)__nv_##F##f((float)_a); }       \
           __kf_v1(F, half, half))
#define __kf_m2(F)                                                             \
  __kf_nv2(F)                                                                  \
  __KF float F(float _a, float _b) { return __nv_##F##f(_a, _b); }             \
  __kf_v2(F, float, float, float)                                              \
  __kf_f64(__KF double F(double _a, double _b) { return __nv_##F(_a, _b); }    \
           __kf_v2(F, double, double, double))                                 \
  __kf_f16(__KF half F(half _a, half _b) {                                     \
             return (half)__nv_##F##f((float)_a, (float)_b);                   \
           }                                                                   \
           __kf_v2(F, half, half, half))
// The same, but the half version (scalar and vector) is an elementwise builtin.
#define __kf_e1(F, E)                                                          \
  __kf_nv1(F)                                                                  \
  __KF float F(float _a) { return __nv_##F##f(_a); }                           \
  __kf_v1(F, float, float)                                                     \
  __kf_f64(__KF double F(double _a) { return __nv_##F(_a); }                   \
           __kf_v1(F, double, double))                                         \
  __kf_f16(__kf_e1h(F, E, half) __kf_e1h(F, E, half2) __kf_e1h(F, E, half3)    \
           __kf_e1h(F, E, half4) __kf_e1h(F, E, half8) __kf_e1h(F, E, half16))
#define __kf_e1h(F, E, T)                                                      \
  __KF T F(T _a) { return __builtin_elementwise_##E(_a); }
#define __kf_e2(F, E)                                                          \
  __kf_nv2(F)                                                                  \
  __KF float F(float _a, float _b) { return __nv_##F##f(_a, _b); }             \
  __kf_v2(F, float, float, float)                                              \
  __kf_f64(__KF double F(double _a, double _b) { return __nv_##F(_a, _b); }    \
           __kf_v2(F, double, double, double))                                 \
  __kf_f16(__kf_e2h(F, E, half) __kf_e2h(F, E, half2) __kf_e2h(F, E, half3)    \
           __kf_e2h(F, E, half4) __kf_e2h(F, E, half8) __kf_e2h(F, E, half16))
#define __kf_e2h(F, E, T)                                                      \
  __KF T F(T _a, T _b) { return __builtin_elementwise_##E(_a, _b); }

__kf_m1(acos) __kf_m1(acosh) __kf_m1(asin) __kf_m1(asinh)
__kf_m1(atan) __kf_m1(atanh) __kf_m1(cbrt) __kf_m1(cos)
__kf_m1(cosh) __kf_m1(cospi) __kf_m1(erf) __kf_m1(erfc)
__kf_m1(exp) __kf_m1(exp2) __kf_m1(exp10) __kf_m1(expm1)
__kf_m1(lgamma) __kf_m1(log) __kf_m1(log2) __kf_m1(log10)
__kf_m1(log1p) __kf_m1(logb) __kf_m1(round) __kf_m1(rsqrt)
__kf_m1(sin) __kf_m1(sinh) __kf_m1(sinpi) __kf_m1(tan)
__kf_m1(tanh) __kf_m1(tgamma)
__kf_e1(ceil, ceil) __kf_e1(fabs, abs) __kf_e1(floor, floor)
__kf_e1(rint, rint) __kf_e1(trunc, trunc)
__kf_m2(atan2) __kf_m2(fdim) __kf_m2(fmod) __kf_m2(hypot)
__kf_m2(pow) __kf_m2(remainder)
__kf_e2(copysign, copysign) __kf_e2(fmax, maxnum) __kf_e2(fmin, minnum)

__kf_vs(fmax, float, float, float) __kf_vs(fmin, float, float, float)
__kf_f64(__kf_vs(fmax, double, double, double)
         __kf_vs(fmin, double, double, double))
__kf_f16(__kf_vs(fmax, half, half, half) __kf_vs(fmin, half, half, half))

#define __kf_sqrt(T)                                                           \
  __KF T sqrt(T _a) { return __builtin_elementwise_sqrt(_a); }
__kf_all_fp(__kf_sqrt)

// powr is pow on the domain it is defined on (_a >= 0).
#define __kf_powr(T) __KF T powr(T _a, T _b) { return pow(_a, _b); }
__kf_all_fp(__kf_powr)

// mad: contracted into a fused operation under the contraction rules in force.
#define __kf_mad(T) __KF T mad(T _a, T _b, T _c) { return _a * _b + _c; }
__kf_all_fp(__kf_mad)

float __nv_fmaf(float, float, float) __KC;
__KF float fma(float _a, float _b, float _c) { return __nv_fmaf(_a, _b, _c); }
__kf_v3(fma, float, float, float, float)
#ifdef cl_khr_fp64
double __nv_fma(double, double, double) __KC;
__KF double fma(double _a, double _b, double _c) {
  return __nv_fma(_a, _b, _c);
}
__kf_v3(fma, double, double, double, double)
#endif
#ifdef cl_khr_fp16
#define __kf_fma_h(T)                                                          \
  __KF T fma(T _a, T _b, T _c) {                                               \
    return __builtin_elementwise_fma(_a, _b, _c);                              \
  }
__kf_all(__kf_fma_h, half)
#endif

float __nv_nextafterf(float, float) __KC;
__KF float nextafter(float _a, float _b) { return __nv_nextafterf(_a, _b); }
__kf_v2(nextafter, float, float, float)
#ifdef cl_khr_fp64
double __nv_nextafter(double, double) __KC;
__KF double nextafter(double _a, double _b) { return __nv_nextafter(_a, _b); }
__kf_v2(nextafter, double, double, double)
#endif
#ifdef cl_khr_fp16
__KF half nextafter(half _a, half _b) {
  if (_a != _a || _b != _b)
    return _a + _b;
  if (_a == _b)
    return _b;
  if (_a == 0)
    return as_half((ushort)((as_ushort(_b) & 0x8000) | 1));
  return as_half((ushort)(as_ushort(_a) + ((_a < _b) == (_a > 0) ? 1 : -1)));
}
__kf_v2(nextafter, half, half, half)
#endif

// The versions in units of pi.
#define __kf_pi(T, K)                                                          \
  __KF T acospi(T _a) { return acos(_a) * K; }                                 \
  __KF T asinpi(T _a) { return asin(_a) * K; }                                 \
  __KF T atanpi(T _a) { return atan(_a) * K; }                                 \
  __KF T atan2pi(T _a, T _b) { return atan2(_a, _b) * K; }                     \
  __KF T tanpi(T _a) { return sinpi(_a) / cospi(_a); }
#define __kf_pi_f(T) __kf_pi(T, M_1_PI_F)
#define __kf_pi_d(T) __kf_pi(T, __kf_dbl(0x3fd45f306dc9c883))
#define __kf_pi_h(T) __kf_pi(T, M_1_PI_H)
__kf_all(__kf_pi_f, float)
__kf_f64(__kf_all(__kf_pi_d, double))
__kf_f16(__kf_all(__kf_pi_h, half))

#define __kf_mag(T)                                                            \
  __KF T maxmag(T _a, T _b) {                                                  \
    T _u = fabs(_a), _v = fabs(_b);                                            \
    return _u > _v ? _a : _v > _u ? _b : fmax(_a, _b);                         \
  }                                                                            \
  __KF T minmag(T _a, T _b) {                                                  \
    T _u = fabs(_a), _v = fabs(_b);                                            \
    return _u < _v ? _a : _v < _u ? _b : fmin(_a, _b);                         \
  }
__kf_all_fp(__kf_mag)

// ldexp, pown, rootn: an integer second argument.
//
// pown is pow with a converted exponent (exact up to 2^24 in float), more
// accurate than the repeated products of __nv_powi. rootn is pow with 1/n
// where no direct function exists; in double, the rounding of 1/n is corrected.
#define __kf_int_arg(T, S, LDEXP, POW, CBRT, ROOT)                             \
  __KF T ldexp(T _a, int _n) { return (T)LDEXP((S)_a, _n); }                   \
  __kf_v2(ldexp, T, T, int) __kf_vs(ldexp, T, T, int)                          \
  __KF T pown(T _a, int _n) { return (T)POW((S)_a, (S)_n); }                   \
  __kf_v2(pown, T, T, int)                                                     \
  __KF T rootn(T _a, int _n) {                                                 \
    switch (_n) {                                                              \
    case 1: return _a;                                                         \
    case 2: return sqrt(_a);                                                   \
    case 3: return (T)CBRT((S)_a);                                             \
    case -1: return (T)1 / _a;                                                 \
    case -2: return rsqrt(_a);                                                 \
    case -3: return (T)((S)1 / CBRT((S)_a));                                   \
    }                                                                          \
    if (_n & 1)                                                                \
      return copysign((T)ROOT(fabs((S)_a), (S)_n), _a);                        \
    return (T)ROOT((S)_a, (S)_n);                                              \
  }                                                                            \
  __kf_v2(rootn, T, T, int)

float __nv_ldexpf(float, int) __KC;
#define __kf_rootf(v, n) __nv_powf(v, 1.0f / n)
__kf_int_arg(float, float, __nv_ldexpf, __nv_powf, __nv_cbrtf, __kf_rootf)
#ifdef cl_khr_fp64
double __nv_ldexp(double, int) __KC;
__KF double __kf_root(double _a, double _n) {
  double _y = 1.0 / _n, _p = __nv_pow(_a, _y);
  double _d = __nv_fma(-_y, _n, 1.0) / _n * __nv_log(_a);
  return __nv_fabs(_d) < 1.0 ? _p + _p * _d : _p;
}
__kf_int_arg(double, double, __nv_ldexp, __nv_pow, __nv_cbrt, __kf_root)
#endif
__kf_f16(__kf_int_arg(half, float, __nv_ldexpf, __nv_powf, __nv_cbrtf,
                      __kf_rootf))

int __nv_ilogbf(float) __KC;
__KF int ilogb(float _a) { return _a != _a ? FP_ILOGBNAN : __nv_ilogbf(_a); }
__kf_v1(ilogb, int, float)
#ifdef cl_khr_fp64
int __nv_ilogb(double) __KC;
__KF int ilogb(double _a) { return _a != _a ? FP_ILOGBNAN : __nv_ilogb(_a); }
__kf_v1(ilogb, int, double)
#endif
__kf_f16(__KF int ilogb(half _a) { return ilogb((float)_a); }
         __kf_v1(ilogb, int, half))

#define __kf_nan(F, U, n, Q)                                                   \
  __KF F##n nan(U##n _a) { return __builtin_astype((U##n)(_a | (U)Q), F##n); }
#define __kf_nan_all(F, U, Q)                                                  \
  __KF F nan(U _a) { return __builtin_astype((U)(_a | (U)Q), F); }             \
  __kf_nan(F, U, 2, Q) __kf_nan(F, U, 3, Q) __kf_nan(F, U, 4, Q)               \
  __kf_nan(F, U, 8, Q) __kf_nan(F, U, 16, Q)
__kf_nan_all(float, uint, 0x7fc00000u)
__kf_f64(__kf_nan_all(double, ulong, 0x7ff8000000000000ul))
__kf_f16(__kf_nan_all(half, ushort, 0x7e00))

// ---------------------------------------------------------------------------
// Math functions with a result through a pointer
// ---------------------------------------------------------------------------

// F(a, P *): the vectors out of the scalar version.
#define __kf_p1(F, T, P, AS)                                                   \
  __KF T##2 F(T##2 _a, AS P##2 *_p) {                                          \
    P _u, _v;                                                                  \
    T##2 _r = (T##2)(F(_a.s0, &_u), F(_a.s1, &_v));                            \
    *_p = (P##2)(_u, _v);                                                      \
    return _r;                                                                 \
  }                                                                            \
  __KF T##3 F(T##3 _a, AS P##3 *_p) {                                          \
    P _u, _v, _w;                                                              \
    T##3 _r = (T##3)(F(_a.s0, &_u), F(_a.s1, &_v), F(_a.s2, &_w));             \
    *_p = (P##3)(_u, _v, _w);                                                  \
    return _r;                                                                 \
  }                                                                            \
  __kf_p1h(F, T, P, AS, 4, 2) __kf_p1h(F, T, P, AS, 8, 4)                      \
  __kf_p1h(F, T, P, AS, 16, 8)
#define __kf_p1h(F, T, P, AS, n, h)                                            \
  __KF T##n F(T##n _a, AS P##n *_p) {                                          \
    P##h _u, _v;                                                               \
    T##n _r = (T##n)(F(_a.lo, &_u), F(_a.hi, &_v));                            \
    *_p = (P##n)(_u, _v);                                                      \
    return _r;                                                                 \
  }
// F(a, b, int *)
#define __kf_p2(F, T, AS)                                                      \
  __KF T##2 F(T##2 _a, T##2 _b, AS int2 *_p) {                                 \
    int _u, _v;                                                                \
    T##2 _r = (T##2)(F(_a.s0, _b.s0, &_u), F(_a.s1, _b.s1, &_v));              \
    *_p = (int2)(_u, _v);                                                      \
    return _r;                                                                 \
  }                                                                            \
  __KF T##3 F(T##3 _a, T##3 _b, AS int3 *_p) {                                 \
    int _u, _v, _w;                                                            \
    T##3 _r = (T##3)(F(_a.s0, _b.s0, &_u), F(_a.s1, _b.s1, &_v),               \
                     F(_a.s2, _b.s2, &_w));                                    \
    *_p = (int3)(_u, _v, _w);                                                  \
    return _r;                                                                 \
  }                                                                            \
  __kf_p2h(F, T, AS, 4, 2) __kf_p2h(F, T, AS, 8, 4) __kf_p2h(F, T, AS, 16, 8)
#define __kf_p2h(F, T, AS, n, h)                                               \
  __KF T##n F(T##n _a, T##n _b, AS int##n *_p) {                               \
    int##h _u, _v;                                                             \
    T##n _r = (T##n)(F(_a.lo, _b.lo, &_u), F(_a.hi, _b.hi, &_v));              \
    *_p = (int##n)(_u, _v);                                                    \
    return _r;                                                                 \
  }

float __nv_frexpf(float, int *);
float __nv_modff(float, float *);
void __nv_sincosf(float, float *, float *);
float __nv_remquof(float, float, int *);
#ifdef cl_khr_fp64
double __nv_frexp(double, int *);
double __nv_modf(double, double *);
void __nv_sincos(double, double *, double *);
double __nv_remquo(double, double, int *);
#endif

// T: the type; S: the type libdevice computes in; f: its suffix; ONE: the
// largest T below 1.
#define __kf_ptr(T, S, f, ONE, AS)                                             \
  __KF T frexp(T _a, AS int *_p) {                                             \
    int _e;                                                                    \
    T _r = (T)__nv_frexp##f((S)_a, &_e);                                       \
    *_p = _e;                                                                  \
    return _r;                                                                 \
  }                                                                            \
  __KF T modf(T _a, AS T *_p) {                                                \
    S _i;                                                                      \
    T _r = (T)__nv_modf##f((S)_a, &_i);                                        \
    *_p = (T)_i;                                                               \
    return _r;                                                                 \
  }                                                                            \
  __KF T fract(T _a, AS T *_p) {                                               \
    T _f = floor(_a);                                                          \
    *_p = _f;                                                                  \
    T _r = fmin(_a - _f, (T)ONE);                                              \
    _r = fabs(_a) == (T)INFINITY ? copysign((T)0, _a) : _r;                    \
    return _a != _a ? _a : _r;                                                 \
  }                                                                            \
  __KF T sincos(T _a, AS T *_p) {                                              \
    S _s, _c;                                                                  \
    __nv_sincos##f((S)_a, &_s, &_c);                                           \
    *_p = (T)_c;                                                               \
    return (T)_s;                                                              \
  }                                                                            \
  __KF T remquo(T _a, T _b, AS int *_p) {                                      \
    int _q;                                                                    \
    T _r = (T)__nv_remquo##f((S)_a, (S)_b, &_q);                               \
    *_p = _q;                                                                  \
    return _r;                                                                 \
  }                                                                            \
  __KF T lgamma_r(T _a, AS int *_p) {                                          \
    T _f = floor(_a);                                                          \
    int _pole = _a == _f && _a < 0;                                            \
    int _odd = _f - 2 * floor(_f / 2) != 0;                                    \
    *_p = _pole ? 0 : _a < 0 && _odd ? -1 : 1;                                 \
    return lgamma(_a);                                                         \
  }                                                                            \
  __kf_p1(frexp, T, int, AS) __kf_p1(modf, T, T, AS) __kf_p1(fract, T, T, AS)  \
  __kf_p1(sincos, T, T, AS) __kf_p1(lgamma_r, T, int, AS)                      \
  __kf_p2(remquo, T, AS)
__kf_as(__kf_ptr, float, float, f, 0x1.fffffep-1f)
__kf_f64(__kf_as(__kf_ptr, double, double, , __kf_dbl(0x3fefffffffffffff)))
__kf_f16(__kf_as(__kf_ptr, half, float, f, 0x1.ffcp-1f))

// ---------------------------------------------------------------------------
// native_* and half_* functions (float)
// ---------------------------------------------------------------------------

#define __kf_fast1(F, E)                                                       \
  __KF float F(float _a) { return E; }                                         \
  __kf_v1(F, float, float)
#define __kf_fast2(F, E)                                                       \
  __KF float F(float _a, float _b) { return E; }                               \
  __kf_v2(F, float, float, float)

float __nv_fast_cosf(float) __KC;
float __nv_fast_expf(float) __KC;
float __nv_fast_exp10f(float) __KC;
float __nv_fast_logf(float) __KC;
float __nv_fast_log2f(float) __KC;
float __nv_fast_log10f(float) __KC;
float __nv_fast_sinf(float) __KC;
float __nv_fast_tanf(float) __KC;
float __nv_fast_powf(float, float) __KC;
float __nv_fast_fdividef(float, float) __KC;

// __nv_exp2f and __nv_rsqrtf are the hardware approximations themselves.
__kf_fast1(native_cos, __nv_fast_cosf(_a))
__kf_fast1(native_exp, __nv_fast_expf(_a))
__kf_fast1(native_exp2, __nv_exp2f(_a))
__kf_fast1(native_exp10, __nv_fast_exp10f(_a))
__kf_fast1(native_log, __nv_fast_logf(_a))
__kf_fast1(native_log2, __nv_fast_log2f(_a))
__kf_fast1(native_log10, __nv_fast_log10f(_a))
__kf_fast1(native_recip, __nv_fast_fdividef(1.0f, _a))
__kf_fast1(native_rsqrt, __nv_rsqrtf(_a))
__kf_fast1(native_sin, __nv_fast_sinf(_a))
__kf_fast1(native_sqrt, __nvvm_sqrt_approx_f(_a))
__kf_fast1(native_tan, __nv_fast_tanf(_a))
__kf_fast2(native_divide, __nv_fast_fdividef(_a, _b))
__kf_fast2(native_powr, __nv_fast_powf(_a, _b))

// half_*: the fast version where it keeps within 8192 ulp everywhere.
__kf_fast1(half_cos, __nv_cosf(_a))
__kf_fast1(half_exp, __nv_fast_expf(_a))
__kf_fast1(half_exp2, __nv_exp2f(_a))
__kf_fast1(half_exp10, __nv_fast_exp10f(_a))
__kf_fast1(half_log, __nv_logf(_a))
__kf_fast1(half_log2, __nv_log2f(_a))
__kf_fast1(half_log10, __nv_log10f(_a))
__kf_fast1(half_recip, 1.0f / _a)
__kf_fast1(half_rsqrt, __nv_rsqrtf(_a))
__kf_fast1(half_sin, __nv_sinf(_a))
__kf_fast1(half_sqrt, __nvvm_sqrt_approx_f(_a))
__kf_fast1(half_tan, __nv_tanf(_a))
__kf_fast2(half_divide, _a / _b)
__kf_fast2(half_powr, __nv_powf(_a, _b))

// ---------------------------------------------------------------------------
// Relational functions
// ---------------------------------------------------------------------------

#define __kf_abs(v) __builtin_elementwise_abs(v)
// T: the floating type; R: the result; I: the integer of the same width;
// MIN, INF: of the scalar type, spread over a vector by the comparison.
#define __kf_rel(T, R, I, MIN, INF)                                            \
  __KF R isequal(T _a, T _b) { return _a == _b; }                              \
  __KF R isnotequal(T _a, T _b) { return _a != _b; }                           \
  __KF R isgreater(T _a, T _b) { return _a > _b; }                             \
  __KF R isgreaterequal(T _a, T _b) { return _a >= _b; }                       \
  __KF R isless(T _a, T _b) { return _a < _b; }                                \
  __KF R islessequal(T _a, T _b) { return _a <= _b; }                          \
  __KF R islessgreater(T _a, T _b) { return (_a < _b) | (_a > _b); }           \
  __KF R isfinite(T _a) { return __kf_abs(_a) < INF; }                         \
  __KF R isinf(T _a) { return __kf_abs(_a) == INF; }                           \
  __KF R isnan(T _a) { return _a != _a; }                                      \
  __KF R isnormal(T _a) {                                                      \
    return (__kf_abs(_a) >= MIN) & (__kf_abs(_a) < INF);                       \
  }                                                                            \
  __KF R isordered(T _a, T _b) { return (_a == _a) & (_b == _b); }             \
  __KF R isunordered(T _a, T _b) { return (_a != _a) | (_b != _b); }           \
  __KF R signbit(T _a) { return __builtin_astype(_a, I) < (I)0; }
#define __kf_rel_all(T, I, MIN, INF)                                           \
  __kf_rel(T, int, I, MIN, INF) __kf_rel(T##2, I##2, I##2, MIN, INF)           \
  __kf_rel(T##3, I##3, I##3, MIN, INF) __kf_rel(T##4, I##4, I##4, MIN, INF)    \
  __kf_rel(T##8, I##8, I##8, MIN, INF) __kf_rel(T##16, I##16, I##16, MIN, INF)
__kf_rel_all(float, int, FLT_MIN, INFINITY)
__kf_f64(__kf_rel_all(double, long, __kf_dbl(0x0010000000000000), HUGE_VAL))
__kf_f16(__kf_rel_all(half, short, HALF_MIN, ((half)INFINITY)))

#define __kf_any_all(T)                                                        \
  __KF int any(T _a) { return _a < 0; }                                        \
  __KF int all(T _a) { return _a < 0; }                                        \
  __kf_vec(__kf_any_allv, T)
#define __kf_any_allv(T)                                                       \
  __KF int any(T _a) { return __builtin_reduce_or(_a) < 0; }                   \
  __KF int all(T _a) { return __builtin_reduce_and(_a) < 0; }
__kf_any_all(char) __kf_any_all(short) __kf_any_all(int) __kf_any_all(long)

// T: the type; I, U: signed and unsigned integers of its width. The scalar
// select tests for non-zero, the vector one the sign bits.
#define __kf_bits(T, I, U)                                                     \
  __KF T bitselect(T _a, T _b, T _c) {                                         \
    U _x = __builtin_astype(_a, U), _y = __builtin_astype(_b, U),              \
      _z = __builtin_astype(_c, U);                                            \
    return __builtin_astype((U)((_x & ~_z) | (_y & _z)), T);                   \
  }
#define __kf_selv(T, I, U)                                                     \
  __kf_bits(T, I, U)                                                           \
  __KF T select(T _a, T _b, I _c) { return _c ? _b : _a; }                     \
  __KF T select(T _a, T _b, U _c) { return __builtin_astype(_c, I) ? _b : _a; }
#define __kf_sel(T, I, U)                                                      \
  __kf_bits(T, I, U)                                                           \
  __KF T select(T _a, T _b, I _c) { return _c ? _b : _a; }                     \
  __KF T select(T _a, T _b, U _c) { return _c ? _b : _a; }                     \
  __kf_selv(T##2, I##2, U##2) __kf_selv(T##3, I##3, U##3)                      \
  __kf_selv(T##4, I##4, U##4) __kf_selv(T##8, I##8, U##8)                      \
  __kf_selv(T##16, I##16, U##16)
__kf_sel(char, char, uchar) __kf_sel(uchar, char, uchar)
__kf_sel(short, short, ushort) __kf_sel(ushort, short, ushort)
__kf_sel(int, int, uint) __kf_sel(uint, int, uint)
__kf_sel(long, long, ulong) __kf_sel(ulong, long, ulong)
__kf_sel(float, int, uint)
__kf_f64(__kf_sel(double, long, ulong))
__kf_f16(__kf_sel(half, short, ushort))

// ---------------------------------------------------------------------------
// Common functions
// ---------------------------------------------------------------------------

// T: the type; DEG, RAD: 180/pi and pi/180.
#define __kf_common(T, DEG, RAD)                                               \
  __KF T clamp(T _a, T _b, T _c) { return fmin(fmax(_a, _b), _c); }            \
  __KF T degrees(T _a) { return DEG * _a; }                                    \
  __KF T max(T _a, T _b) { return _a < _b ? _b : _a; }                         \
  __KF T min(T _a, T _b) { return _b < _a ? _b : _a; }                         \
  __KF T mix(T _a, T _b, T _c) { return _a + (_b - _a) * _c; }                 \
  __KF T radians(T _a) { return RAD * _a; }                                    \
  __KF T step(T _a, T _b) { return _b < _a ? (T)0 : (T)1; }                    \
  __KF T smoothstep(T _a, T _b, T _c) {                                        \
    T _t = clamp((_c - _a) / (_b - _a), (T)0, (T)1);                           \
    return _t * _t * ((T)3 - (T)2 * _t);                                       \
  }                                                                            \
  __KF T sign(T _a) {                                                          \
    return _a > (T)0 ? (T)1 : _a < (T)0 ? (T)-1 : _a == (T)0 ? _a : (T)0;      \
  }
// Versions with scalars among the arguments. S: the scalar type.
#define __kf_common_s(T, S)                                                    \
  __KF T clamp(T _a, S _b, S _c) { return clamp(_a, (T)_b, (T)_c); }           \
  __KF T max(T _a, S _b) { return max(_a, (T)_b); }                            \
  __KF T min(T _a, S _b) { return min(_a, (T)_b); }                            \
  __KF T mix(T _a, T _b, S _c) { return mix(_a, _b, (T)_c); }                  \
  __KF T step(S _a, T _b) { return step((T)_a, _b); }                          \
  __KF T smoothstep(S _a, S _b, T _c) {                                        \
    return smoothstep((T)_a, (T)_b, _c);                                       \
  }
#define __kf_common_f(T)                                                       \
  __kf_common(T, 57.29577951308232f, 0.017453292519943295f)
#define __kf_common_d(T)                                                       \
  __kf_common(T, __kf_dbl(0x404ca5dc1a63c1f8), __kf_dbl(0x3f91df46a2529d39))
#define __kf_common_h(T)                                                       \
  __kf_common(T, ((half)57.29577951308232f), ((half)0.017453292519943295f))
#define __kf_common_sf(T) __kf_common_s(T, float)
#define __kf_common_sd(T) __kf_common_s(T, double)
#define __kf_common_sh(T) __kf_common_s(T, half)
__kf_all(__kf_common_f, float) __kf_vec(__kf_common_sf, float)
__kf_f64(__kf_all(__kf_common_d, double) __kf_vec(__kf_common_sd, double))
__kf_f16(__kf_all(__kf_common_h, half) __kf_vec(__kf_common_sh, half))

// ---------------------------------------------------------------------------
// Geometric functions
// ---------------------------------------------------------------------------

#define __kf_geom(T)                                                           \
  __KF T dot(T _a, T _b) { return _a * _b; }                                   \
  __KF T dot(T##2 _a, T##2 _b) { return _a.s0 * _b.s0 + _a.s1 * _b.s1; }       \
  __KF T dot(T##3 _a, T##3 _b) {                                               \
    return _a.s0 * _b.s0 + _a.s1 * _b.s1 + _a.s2 * _b.s2;                      \
  }                                                                            \
  __KF T dot(T##4 _a, T##4 _b) {                                               \
    return _a.s0 * _b.s0 + _a.s1 * _b.s1 + _a.s2 * _b.s2 + _a.s3 * _b.s3;      \
  }                                                                            \
  __KF T##3 cross(T##3 _a, T##3 _b) {                                          \
    return _a.s120 * _b.s201 - _a.s201 * _b.s120;                              \
  }                                                                            \
  __KF T##4 cross(T##4 _a, T##4 _b) {                                          \
    return (T##4)(_a.s120 * _b.s201 - _a.s201 * _b.s120, (T)0);                \
  }                                                                            \
  __KF T length(T _a) { return fabs(_a); }                                     \
  __KF T normalize(T _a) { return sign(_a); }                                  \
  __KF T distance(T _a, T _b) { return fabs(_a - _b); }                        \
  __kf_geomv(T, 2) __kf_geomv(T, 3) __kf_geomv(T, 4)
#define __kf_geomv(T, n)                                                       \
  __KF T length(T##n _a) { return sqrt(dot(_a, _a)); }                         \
  __KF T##n normalize(T##n _a) {                                               \
    T _l = dot(_a, _a);                                                        \
    return _l == (T)0 ? _a : _a / (T##n)(sqrt(_l));                            \
  }                                                                            \
  __KF T distance(T##n _a, T##n _b) { return length(_a - _b); }
__kf_geom(float) __kf_f64(__kf_geom(double)) __kf_f16(__kf_geom(half))

__KF float fast_length(float _a) { return fabs(_a); }
__KF float fast_distance(float _a, float _b) { return fabs(_a - _b); }
__KF float fast_normalize(float _a) { return sign(_a); }
#define __kf_fast_geom(n)                                                      \
  __KF float fast_length(float##n _a) { return half_sqrt(dot(_a, _a)); }       \
  __KF float fast_distance(float##n _a, float##n _b) {                         \
    return fast_length(_a - _b);                                               \
  }                                                                            \
  __KF float##n fast_normalize(float##n _a) {                                  \
    float _l = dot(_a, _a);                                                    \
    return _l == 0.0f ? _a : _a * (float##n)(half_rsqrt(_l));                  \
  }
__kf_fast_geom(2) __kf_fast_geom(3) __kf_fast_geom(4)

// ---------------------------------------------------------------------------
// Integer functions
// ---------------------------------------------------------------------------

// T: the type; U: its unsigned version; B: the bits of an element.
#define __kf_int(T, U, B)                                                      \
  __KF U abs_diff(T _a, T _b) {                                                \
    U _x = __builtin_astype(_a, U), _y = __builtin_astype(_b, U);              \
    return _a > _b ? (U)(_x - _y) : (U)(_y - _x);                              \
  }                                                                            \
  __KF T add_sat(T _a, T _b) { return __builtin_elementwise_add_sat(_a, _b); } \
  __KF T sub_sat(T _a, T _b) { return __builtin_elementwise_sub_sat(_a, _b); } \
  __KF T hadd(T _a, T _b) {                                                    \
    return (T)((_a >> (T)1) + (_b >> (T)1) + (_a & _b & (T)1));                \
  }                                                                            \
  __KF T rhadd(T _a, T _b) {                                                   \
    return (T)((_a >> (T)1) + (_b >> (T)1) + ((_a | _b) & (T)1));              \
  }                                                                            \
  __KF T max(T _a, T _b) { return __builtin_elementwise_max(_a, _b); }         \
  __KF T min(T _a, T _b) { return __builtin_elementwise_min(_a, _b); }         \
  __KF T clamp(T _a, T _b, T _c) { return min(max(_a, _b), _c); }              \
  __KF T clz(T _a) {                                                           \
    return __builtin_astype(                                                   \
        __builtin_elementwise_clzg(__builtin_astype(_a, U), (U)B), T);         \
  }                                                                            \
  __KF T popcount(T _a) {                                                      \
    return __builtin_astype(                                                   \
        __builtin_elementwise_popcount(__builtin_astype(_a, U)), T);           \
  }                                                                            \
  __KF T rotate(T _a, T _b) {                                                  \
    U _x = __builtin_astype(_a, U), _y = __builtin_astype(_b, U);              \
    return __builtin_astype(__builtin_elementwise_fshl(_x, _x, _y), T);        \
  }                                                                            \
  __KF T mad_hi(T _a, T _b, T _c) { return (T)(mul_hi(_a, _b) + _c); }         \
  __kf_ctz(T, U, B)
#if __OPENCL_C_VERSION__ >= 200
#define __kf_ctz(T, U, B)                                                      \
  __KF T ctz(T _a) {                                                           \
    return __builtin_astype(                                                   \
        __builtin_elementwise_ctzg(__builtin_astype(_a, U), (U)B), T);         \
  }
#else
#define __kf_ctz(T, U, B)
#endif
#define __kf_int_s(T, S)                                                       \
  __KF T max(T _a, S _b) { return max(_a, (T)_b); }                            \
  __KF T min(T _a, S _b) { return min(_a, (T)_b); }                            \
  __KF T clamp(T _a, S _b, S _c) { return clamp(_a, (T)_b, (T)_c); }
// The product in a wider type W; 64 bits: libdevice and two words.
#define __kf_mul_hi(T, W, B)                                                   \
  __KF T mul_hi(T _a, T _b) { return (T)(((W)_a * (W)_b) >> B); }              \
  __KF T mad_sat(T _a, T _b, T _c) {                                           \
    W _r = (W)_a * (W)_b + (W)_c;                                              \
    return (T)(_r < (W)__kf_lo_##T   ? (W)__kf_lo_##T                          \
               : _r > (W)__kf_hi_##T ? (W)__kf_hi_##T                          \
                                     : _r);                                    \
  }
#define __kf_lo_char SCHAR_MIN
#define __kf_hi_char SCHAR_MAX
#define __kf_lo_uchar 0
#define __kf_hi_uchar UCHAR_MAX
#define __kf_lo_short SHRT_MIN
#define __kf_hi_short SHRT_MAX
#define __kf_lo_ushort 0
#define __kf_hi_ushort USHRT_MAX
#define __kf_lo_int INT_MIN
#define __kf_hi_int INT_MAX
#define __kf_lo_uint 0
#define __kf_hi_uint UINT_MAX
#define __kf_lo_long LONG_MIN
#define __kf_hi_long LONG_MAX
#define __kf_lo_ulong 0
#define __kf_hi_ulong ULONG_MAX
__kf_mul_hi(char, int, 8) __kf_mul_hi(uchar, uint, 8)
__kf_mul_hi(short, int, 16) __kf_mul_hi(ushort, uint, 16)
__kf_mul_hi(int, long, 32) __kf_mul_hi(uint, ulong, 32)
long __nv_mul64hi(long, long) __KC;
ulong __nv_umul64hi(ulong, ulong) __KC;
__KF long mul_hi(long _a, long _b) { return __nv_mul64hi(_a, _b); }
__KF ulong mul_hi(ulong _a, ulong _b) { return __nv_umul64hi(_a, _b); }
__KF long mad_sat(long _a, long _b, long _c) {
  ulong _l = (ulong)_a * (ulong)_b, _s = _l + (ulong)_c;
  long _h = mul_hi(_a, _b) + (_c >> 63) + (_s < _l);
  if (_h == ((long)_s >> 63))
    return (long)_s;
  return _h < 0 ? LONG_MIN : LONG_MAX;
}
__KF ulong mad_sat(ulong _a, ulong _b, ulong _c) {
  ulong _l = _a * _b, _s = _l + _c;
  return mul_hi(_a, _b) != 0 || _s < _l ? ULONG_MAX : _s;
}
#define __kf_int_all(T, U, B)                                                  \
  __kf_v2(mul_hi, T, T, T) __kf_v3(mad_sat, T, T, T, T)                        \
  __kf_int(T, U, B) __kf_int(T##2, U##2, B) __kf_int(T##3, U##3, B)            \
  __kf_int(T##4, U##4, B) __kf_int(T##8, U##8, B) __kf_int(T##16, U##16, B)    \
  __kf_int_s(T##2, T) __kf_int_s(T##3, T) __kf_int_s(T##4, T)                  \
  __kf_int_s(T##8, T) __kf_int_s(T##16, T)
__kf_int_all(char, uchar, 8) __kf_int_all(uchar, uchar, 8)
__kf_int_all(short, ushort, 16) __kf_int_all(ushort, ushort, 16)
__kf_int_all(int, uint, 32) __kf_int_all(uint, uint, 32)
__kf_int_all(long, ulong, 64) __kf_int_all(ulong, ulong, 64)

#define __kf_abs_s(T, U)                                                       \
  __KF U abs(T _a) {                                                           \
    return __builtin_astype((T)(_a < (T)0 ? -_a : _a), U);                     \
  }
#define __kf_abs_i(T, U)                                                       \
  __kf_abs_s(T, U) __kf_abs_s(T##2, U##2) __kf_abs_s(T##3, U##3)               \
  __kf_abs_s(T##4, U##4) __kf_abs_s(T##8, U##8) __kf_abs_s(T##16, U##16)
__kf_abs_i(char, uchar) __kf_abs_i(short, ushort)
__kf_abs_i(int, uint) __kf_abs_i(long, ulong)
#define __kf_abs_u(T) __KF T abs(T _a) { return _a; }
__kf_all(__kf_abs_u, uchar) __kf_all(__kf_abs_u, ushort)
__kf_all(__kf_abs_u, uint) __kf_all(__kf_abs_u, ulong)

// H: the upper part; L: the lower part; R: the result.
#define __kf_ups(R, H, L, B, n)                                                \
  __KF R##n upsample(H##n _a, L##n _b) {                                       \
    return (__builtin_convertvector(_a, R##n) << (R##n)B) |                    \
           __builtin_convertvector(_b, R##n);                                  \
  }
#define __kf_upsample(R, H, L, B)                                              \
  __KF R upsample(H _a, L _b) { return (R)(((R)_a << B) | (R)_b); }            \
  __kf_ups(R, H, L, B, 2) __kf_ups(R, H, L, B, 3) __kf_ups(R, H, L, B, 4)      \
  __kf_ups(R, H, L, B, 8) __kf_ups(R, H, L, B, 16)
__kf_upsample(short, char, uchar, 8) __kf_upsample(ushort, uchar, uchar, 8)
__kf_upsample(int, short, ushort, 16) __kf_upsample(uint, ushort, ushort, 16)
__kf_upsample(long, int, uint, 32) __kf_upsample(ulong, uint, uint, 32)

#define __kf_24(T)                                                             \
  __KF T mul24(T _a, T _b) { return _a * _b; }                                 \
  __KF T mad24(T _a, T _b, T _c) { return _a * _b + _c; }
__kf_all(__kf_24, int) __kf_all(__kf_24, uint)

// ---------------------------------------------------------------------------
// Conversions
// ---------------------------------------------------------------------------

// convert_T without a mode, and the modes that add nothing to it, are macros
// (the table below); the rest are these functions.

// A floating value rounded to an integral one in a mode; integers are that.
#define __kf_round_i(T)                                                        \
  __KF T __kf_rte(T _a) { return _a; }                                         \
  __KF T __kf_rtp(T _a) { return _a; }                                         \
  __KF T __kf_rtn(T _a) { return _a; }
#define __kf_round_f(T)                                                        \
  __KF T __kf_rte(T _a) { return rint(_a); }                                   \
  __KF T __kf_rtp(T _a) { return ceil(_a); }                                   \
  __KF T __kf_rtn(T _a) { return floor(_a); }
__kf_all(__kf_round_i, char) __kf_all(__kf_round_i, uchar)
__kf_all(__kf_round_i, short) __kf_all(__kf_round_i, ushort)
__kf_all(__kf_round_i, int) __kf_all(__kf_round_i, uint)
__kf_all(__kf_round_i, long) __kf_all(__kf_round_i, ulong)
__kf_all_fp(__kf_round_f)

// Saturating. Between integers: clamp to the common range.
#define __kf_sat_i(D, S)                                                       \
  __KF D convert_##D##_sat(S _a) {                                             \
    const S _l = (S)((long)__kf_lo_##S > (long)__kf_lo_##D ? __kf_lo_##S       \
                                                           : __kf_lo_##D);     \
    const S _h = (S)((ulong)__kf_hi_##S < (ulong)__kf_hi_##D                   \
                         ? (ulong)__kf_hi_##S                                  \
                         : (ulong)__kf_hi_##D);                                \
    return (D)(_a < _l ? _l : _a > _h ? _h : _a);                              \
  }                                                                            \
  __kf_sat_v(D, S)
// The conversions of floating values to 32 and 64 bits saturate in hardware.
#define __kf_sat_f(D, S, E)                                                    \
  __KF D convert_##D##_sat(S _a) { return E; }                                 \
  __kf_sat_v(D, S)
#define __kf_sat_v(D, S)                                                       \
  __KF D##2 convert_##D##2_sat(S##2 _a) {                                      \
    return (D##2)(convert_##D##_sat(_a.s0), convert_##D##_sat(_a.s1));         \
  }                                                                            \
  __KF D##3 convert_##D##3_sat(S##3 _a) {                                      \
    return (D##3)(convert_##D##_sat(_a.s0), convert_##D##_sat(_a.s1),          \
                  convert_##D##_sat(_a.s2));                                   \
  }                                                                            \
  __kf_sat_h(D, S, 4, 2) __kf_sat_h(D, S, 8, 4) __kf_sat_h(D, S, 16, 8)
#define __kf_sat_h(D, S, n, h)                                                 \
  __KF D##n convert_##D##n##_sat(S##n _a) {                                    \
    return (D##n)(convert_##D##h##_sat(_a.lo), convert_##D##h##_sat(_a.hi));   \
  }
int __nv_float2int_rz(float) __KC;
uint __nv_float2uint_rz(float) __KC;
long __nv_float2ll_rz(float) __KC;
ulong __nv_float2ull_rz(float) __KC;
#ifdef cl_khr_fp64
int __nv_double2int_rz(double) __KC;
uint __nv_double2uint_rz(double) __KC;
long __nv_double2ll_rz(double) __KC;
ulong __nv_double2ull_rz(double) __KC;
#endif
#define __kf_sat_all(D)                                                        \
  __kf_sat_i(D, char) __kf_sat_i(D, uchar) __kf_sat_i(D, short)                \
  __kf_sat_i(D, ushort) __kf_sat_i(D, int) __kf_sat_i(D, uint)                 \
  __kf_sat_i(D, long) __kf_sat_i(D, ulong)
#define __kf_sat_narrow(D)                                                     \
  __kf_sat_all(D)                                                              \
  __kf_sat_f(D, float, convert_##D##_sat(__nv_float2int_rz(_a)))               \
  __kf_f64(__kf_sat_f(D, double, convert_##D##_sat(__nv_double2int_rz(_a))))   \
  __kf_f16(__kf_sat_f(D, half, convert_##D##_sat((float)_a)))
#define __kf_sat_wide(D, N)                                                    \
  __kf_sat_all(D)                                                              \
  __kf_sat_f(D, float, _a != _a ? (D)0 : __nv_float2##N##_rz(_a))              \
  __kf_f64(__kf_sat_f(D, double, _a != _a ? (D)0 : __nv_double2##N##_rz(_a)))  \
  __kf_f16(__kf_sat_f(D, half, convert_##D##_sat((float)_a)))
__kf_sat_narrow(char) __kf_sat_narrow(uchar)
__kf_sat_narrow(short) __kf_sat_narrow(ushort)
__kf_sat_wide(int, int) __kf_sat_wide(uint, uint)
__kf_sat_wide(long, ll) __kf_sat_wide(ulong, ull)

// To a floating type, with a rounding mode. m: the mode; E: the scalar result.
#define __kf_cvt(D, S, m, E)                                                   \
  __KF D convert_##D##_##m(S _a) { return E; }                                 \
  __KF D##2 convert_##D##2_##m(S##2 _a) {                                      \
    return (D##2)(convert_##D##_##m(_a.s0), convert_##D##_##m(_a.s1));         \
  }                                                                            \
  __KF D##3 convert_##D##3_##m(S##3 _a) {                                      \
    return (D##3)(convert_##D##_##m(_a.s0), convert_##D##_##m(_a.s1),          \
                  convert_##D##_##m(_a.s2));                                   \
  }                                                                            \
  __kf_cvt_h(D, S, m, 4, 2) __kf_cvt_h(D, S, m, 8, 4)                          \
  __kf_cvt_h(D, S, m, 16, 8)
#define __kf_cvt_h(D, S, m, n, h)                                              \
  __KF D##n convert_##D##n##_##m(S##n _a) {                                    \
    return (D##n)(convert_##D##h##_##m(_a.lo), convert_##D##h##_##m(_a.hi));   \
  }
#define __kf_modes(M, ...)                                                     \
  M(__VA_ARGS__, rtz, rz) M(__VA_ARGS__, rtp, ru) M(__VA_ARGS__, rtn, rd)
// Exact, whatever the mode; a libdevice function.
#define __kf_cvt_x(D, S, m, r) __kf_cvt(D, S, m, (D)_a)
#define __kf_cvt_nv(D, S, DN, SN, m, r)                                        \
  D __nv_##SN##2##DN##_##r(S) __KC;                                            \
  __kf_cvt(D, S, m, __nv_##SN##2##DN##_##r(_a))
__kf_modes(__kf_cvt_x, float, char) __kf_modes(__kf_cvt_x, float, uchar)
__kf_modes(__kf_cvt_x, float, short) __kf_modes(__kf_cvt_x, float, ushort)
__kf_modes(__kf_cvt_nv, float, int, float, int)
__kf_modes(__kf_cvt_nv, float, uint, float, uint)
__kf_modes(__kf_cvt_nv, float, long, float, ll)
__kf_modes(__kf_cvt_nv, float, ulong, float, ull)
__kf_modes(__kf_cvt_x, float, float)
#ifdef cl_khr_fp64
__kf_modes(__kf_cvt_nv, float, double, float, double)
__kf_modes(__kf_cvt_x, double, char) __kf_modes(__kf_cvt_x, double, uchar)
__kf_modes(__kf_cvt_x, double, short) __kf_modes(__kf_cvt_x, double, ushort)
__kf_modes(__kf_cvt_x, double, int) __kf_modes(__kf_cvt_x, double, uint)
__kf_modes(__kf_cvt_nv, double, long, double, ll)
__kf_modes(__kf_cvt_nv, double, ulong, double, ull)
__kf_modes(__kf_cvt_x, double, float) __kf_modes(__kf_cvt_x, double, double)
#endif
#ifdef cl_khr_fp16
// Round to nearest, then step by one unit where that went the wrong way.
#define __kf_to_half(S)                                                        \
  __KF half __kf_half_rtz(S _a) {                                              \
    half _h = (half)_a;                                                        \
    ushort _b = as_ushort(_h);                                                 \
    return __kf_abs((S)_h) > __kf_abs(_a) ? as_half((ushort)(_b - 1)) : _h;    \
  }                                                                            \
  __KF half __kf_half_rtp(S _a) {                                              \
    half _h = (half)_a;                                                        \
    ushort _b = as_ushort(_h);                                                 \
    _b = (_b & 0x8000) ? _b - 1 : _b + 1;                                      \
    return (S)_h < _a ? as_half(_b) : _h;                                      \
  }                                                                            \
  __KF half __kf_half_rtn(S _a) {                                              \
    half _h = (half)_a;                                                        \
    ushort _b = as_ushort(_h);                                                 \
    _b = (_b & 0x8000) ? _b + 1 : _b - 1;                                      \
    return (S)_h > _a ? as_half(_b) : _h;                                      \
  }
__kf_to_half(float)
#define __kf_cvt_hf(D, S, m, r) __kf_cvt(D, S, m, __kf_half_##m((float)_a))
__kf_modes(__kf_cvt_x, half, char) __kf_modes(__kf_cvt_x, half, uchar)
__kf_modes(__kf_cvt_hf, half, short) __kf_modes(__kf_cvt_hf, half, ushort)
__kf_modes(__kf_cvt_hf, half, float) __kf_modes(__kf_cvt_x, half, half)
__kf_modes(__kf_cvt_x, float, half)
// Wider integers: through the wider type in the same mode.
#ifdef cl_khr_fp64
__kf_to_half(double)
__kf_modes(__kf_cvt_x, double, half)
#define __kf_cvt_hd(D, S, m, r) __kf_cvt(D, S, m, __kf_half_##m((double)_a))
__kf_modes(__kf_cvt_hd, half, double)
#endif
#define __kf_cvt_hi(D, S, m, r)                                                \
  __kf_cvt(D, S, m, __kf_half_##m(convert_float_##m(_a)))
__kf_modes(__kf_cvt_hi, half, int) __kf_modes(__kf_cvt_hi, half, uint)
__kf_modes(__kf_cvt_hi, half, long) __kf_modes(__kf_cvt_hi, half, ulong)
#endif

// The conversions without a function of their own.
#define convert_char(v) ((char)(v))
#define convert_char_rtz(v) convert_char(v)
#define convert_char_rte(v) convert_char(__kf_rte(v))
#define convert_char_rtp(v) convert_char(__kf_rtp(v))
#define convert_char_rtn(v) convert_char(__kf_rtn(v))
#define convert_char_sat_rtz(v) convert_char_sat(v)
#define convert_char_sat_rte(v) convert_char_sat(__kf_rte(v))
#define convert_char_sat_rtp(v) convert_char_sat(__kf_rtp(v))
#define convert_char_sat_rtn(v) convert_char_sat(__kf_rtn(v))
#define convert_char2(v) __builtin_convertvector((v), char2)
#define convert_char2_rtz(v) convert_char2(v)
#define convert_char2_rte(v) convert_char2(__kf_rte(v))
#define convert_char2_rtp(v) convert_char2(__kf_rtp(v))
#define convert_char2_rtn(v) convert_char2(__kf_rtn(v))
#define convert_char2_sat_rtz(v) convert_char2_sat(v)
#define convert_char2_sat_rte(v) convert_char2_sat(__kf_rte(v))
#define convert_char2_sat_rtp(v) convert_char2_sat(__kf_rtp(v))
#define convert_char2_sat_rtn(v) convert_char2_sat(__kf_rtn(v))
#define convert_char3(v) __builtin_convertvector((v), char3)
#define convert_char3_rtz(v) convert_char3(v)
#define convert_char3_rte(v) convert_char3(__kf_rte(v))
#define convert_char3_rtp(v) convert_char3(__kf_rtp(v))
#define convert_char3_rtn(v) convert_char3(__kf_rtn(v))
#define convert_char3_sat_rtz(v) convert_char3_sat(v)
#define convert_char3_sat_rte(v) convert_char3_sat(__kf_rte(v))
#define convert_char3_sat_rtp(v) convert_char3_sat(__kf_rtp(v))
#define convert_char3_sat_rtn(v) convert_char3_sat(__kf_rtn(v))
#define convert_char4(v) __builtin_convertvector((v), char4)
#define convert_char4_rtz(v) convert_char4(v)
#define convert_char4_rte(v) convert_char4(__kf_rte(v))
#define convert_char4_rtp(v) convert_char4(__kf_rtp(v))
#define convert_char4_rtn(v) convert_char4(__kf_rtn(v))
#define convert_char4_sat_rtz(v) convert_char4_sat(v)
#define convert_char4_sat_rte(v) convert_char4_sat(__kf_rte(v))
#define convert_char4_sat_rtp(v) convert_char4_sat(__kf_rtp(v))
#define convert_char4_sat_rtn(v) convert_char4_sat(__kf_rtn(v))
#define convert_char8(v) __builtin_convertvector((v), char8)
#define convert_char8_rtz(v) convert_char8(v)
#define convert_char8_rte(v) convert_char8(__kf_rte(v))
#define convert_char8_rtp(v) convert_char8(__kf_rtp(v))
#define convert_char8_rtn(v) convert_char8(__kf_rtn(v))
#define convert_char8_sat_rtz(v) convert_char8_sat(v)
#define convert_char8_sat_rte(v) convert_char8_sat(__kf_rte(v))
#define convert_char8_sat_rtp(v) convert_char8_sat(__kf_rtp(v))
#define convert_char8_sat_rtn(v) convert_char8_sat(__kf_rtn(v))
#define convert_char16(v) __builtin_convertvector((v), char16)
#define convert_char16_rtz(v) convert_char16(v)
#define convert_char16_rte(v) convert_char16(__kf_rte(v))
#define convert_char16_rtp(v) convert_char16(__kf_rtp(v))
#define convert_char16_rtn(v) convert_char16(__kf_rtn(v))
#define convert_char16_sat_rtz(v) convert_char16_sat(v)
#define convert_char16_sat_rte(v) convert_char16_sat(__kf_rte(v))
#define convert_char16_sat_rtp(v) convert_char16_sat(__kf_rtp(v))
#define convert_char16_sat_rtn(v) convert_char16_sat(__kf_rtn(v))
#define convert_uchar(v) ((uchar)(v))
#define convert_uchar_rtz(v) convert_uchar(v)
#define convert_uchar_rte(v) convert_uchar(__kf_rte(v))
#define convert_uchar_rtp(v) convert_uchar(__kf_rtp(v))
#define convert_uchar_rtn(v) convert_uchar(__kf_rtn(v))
#define convert_uchar_sat_rtz(v) convert_uchar_sat(v)
#define convert_uchar_sat_rte(v) convert_uchar_sat(__kf_rte(v))
#define convert_uchar_sat_rtp(v) convert_uchar_sat(__kf_rtp(v))
#define convert_uchar_sat_rtn(v) convert_uchar_sat(__kf_rtn(v))
#define convert_uchar2(v) __builtin_convertvector((v), uchar2)
#define convert_uchar2_rtz(v) convert_uchar2(v)
#define convert_uchar2_rte(v) convert_uchar2(__kf_rte(v))
#define convert_uchar2_rtp(v) convert_uchar2(__kf_rtp(v))
#define convert_uchar2_rtn(v) convert_uchar2(__kf_rtn(v))
#define convert_uchar2_sat_rtz(v) convert_uchar2_sat(v)
#define convert_uchar2_sat_rte(v) convert_uchar2_sat(__kf_rte(v))
#define convert_uchar2_sat_rtp(v) convert_uchar2_sat(__kf_rtp(v))
#define convert_uchar2_sat_rtn(v) convert_uchar2_sat(__kf_rtn(v))
#define convert_uchar3(v) __builtin_convertvector((v), uchar3)
#define convert_uchar3_rtz(v) convert_uchar3(v)
#define convert_uchar3_rte(v) convert_uchar3(__kf_rte(v))
#define convert_uchar3_rtp(v) convert_uchar3(__kf_rtp(v))
#define convert_uchar3_rtn(v) convert_uchar3(__kf_rtn(v))
#define convert_uchar3_sat_rtz(v) convert_uchar3_sat(v)
#define convert_uchar3_sat_rte(v) convert_uchar3_sat(__kf_rte(v))
#define convert_uchar3_sat_rtp(v) convert_uchar3_sat(__kf_rtp(v))
#define convert_uchar3_sat_rtn(v) convert_uchar3_sat(__kf_rtn(v))
#define convert_uchar4(v) __builtin_convertvector((v), uchar4)
#define convert_uchar4_rtz(v) convert_uchar4(v)
#define convert_uchar4_rte(v) convert_uchar4(__kf_rte(v))
#define convert_uchar4_rtp(v) convert_uchar4(__kf_rtp(v))
#define convert_uchar4_rtn(v) convert_uchar4(__kf_rtn(v))
#define convert_uchar4_sat_rtz(v) convert_uchar4_sat(v)
#define convert_uchar4_sat_rte(v) convert_uchar4_sat(__kf_rte(v))
#define convert_uchar4_sat_rtp(v) convert_uchar4_sat(__kf_rtp(v))
#define convert_uchar4_sat_rtn(v) convert_uchar4_sat(__kf_rtn(v))
#define convert_uchar8(v) __builtin_convertvector((v), uchar8)
#define convert_uchar8_rtz(v) convert_uchar8(v)
#define convert_uchar8_rte(v) convert_uchar8(__kf_rte(v))
#define convert_uchar8_rtp(v) convert_uchar8(__kf_rtp(v))
#define convert_uchar8_rtn(v) convert_uchar8(__kf_rtn(v))
#define convert_uchar8_sat_rtz(v) convert_uchar8_sat(v)
#define convert_uchar8_sat_rte(v) convert_uchar8_sat(__kf_rte(v))
#define convert_uchar8_sat_rtp(v) convert_uchar8_sat(__kf_rtp(v))
#define convert_uchar8_sat_rtn(v) convert_uchar8_sat(__kf_rtn(v))
#define convert_uchar16(v) __builtin_convertvector((v), uchar16)
#define convert_uchar16_rtz(v) convert_uchar16(v)
#define convert_uchar16_rte(v) convert_uchar16(__kf_rte(v))
#define convert_uchar16_rtp(v) convert_uchar16(__kf_rtp(v))
#define convert_uchar16_rtn(v) convert_uchar16(__kf_rtn(v))
#define convert_uchar16_sat_rtz(v) convert_uchar16_sat(v)
#define convert_uchar16_sat_rte(v) convert_uchar16_sat(__kf_rte(v))
#define convert_uchar16_sat_rtp(v) convert_uchar16_sat(__kf_rtp(v))
#define convert_uchar16_sat_rtn(v) convert_uchar16_sat(__kf_rtn(v))
#define convert_short(v) ((short)(v))
#define convert_short_rtz(v) convert_short(v)
#define convert_short_rte(v) convert_short(__kf_rte(v))
#define convert_short_rtp(v) convert_short(__kf_rtp(v))
#define convert_short_rtn(v) convert_short(__kf_rtn(v))
#define convert_short_sat_rtz(v) convert_short_sat(v)
#define convert_short_sat_rte(v) convert_short_sat(__kf_rte(v))
#define convert_short_sat_rtp(v) convert_short_sat(__kf_rtp(v))
#define convert_short_sat_rtn(v) convert_short_sat(__kf_rtn(v))
#define convert_short2(v) __builtin_convertvector((v), short2)
#define convert_short2_rtz(v) convert_short2(v)
#define convert_short2_rte(v) convert_short2(__kf_rte(v))
#define convert_short2_rtp(v) convert_short2(__kf_rtp(v))
#define convert_short2_rtn(v) convert_short2(__kf_rtn(v))
#define convert_short2_sat_rtz(v) convert_short2_sat(v)
#define convert_short2_sat_rte(v) convert_short2_sat(__kf_rte(v))
#define convert_short2_sat_rtp(v) convert_short2_sat(__kf_rtp(v))
#define convert_short2_sat_rtn(v) convert_short2_sat(__kf_rtn(v))
#define convert_short3(v) __builtin_convertvector((v), short3)
#define convert_short3_rtz(v) convert_short3(v)
#define convert_short3_rte(v) convert_short3(__kf_rte(v))
#define convert_short3_rtp(v) convert_short3(__kf_rtp(v))
#define convert_short3_rtn(v) convert_short3(__kf_rtn(v))
#define convert_short3_sat_rtz(v) convert_short3_sat(v)
#define convert_short3_sat_rte(v) convert_short3_sat(__kf_rte(v))
#define convert_short3_sat_rtp(v) convert_short3_sat(__kf_rtp(v))
#define convert_short3_sat_rtn(v) convert_short3_sat(__kf_rtn(v))
#define convert_short4(v) __builtin_convertvector((v), short4)
#define convert_short4_rtz(v) convert_short4(v)
#define convert_short4_rte(v) convert_short4(__kf_rte(v))
#define convert_short4_rtp(v) convert_short4(__kf_rtp(v))
#define convert_short4_rtn(v) convert_short4(__kf_rtn(v))
#define convert_short4_sat_rtz(v) convert_short4_sat(v)
#define convert_short4_sat_rte(v) convert_short4_sat(__kf_rte(v))
#define convert_short4_sat_rtp(v) convert_short4_sat(__kf_rtp(v))
#define convert_short4_sat_rtn(v) convert_short4_sat(__kf_rtn(v))
#define convert_short8(v) __builtin_convertvector((v), short8)
#define convert_short8_rtz(v) convert_short8(v)
#define convert_short8_rte(v) convert_short8(__kf_rte(v))
#define convert_short8_rtp(v) convert_short8(__kf_rtp(v))
#define convert_short8_rtn(v) convert_short8(__kf_rtn(v))
#define convert_short8_sat_rtz(v) convert_short8_sat(v)
#define convert_short8_sat_rte(v) convert_short8_sat(__kf_rte(v))
#define convert_short8_sat_rtp(v) convert_short8_sat(__kf_rtp(v))
#define convert_short8_sat_rtn(v) convert_short8_sat(__kf_rtn(v))
#define convert_short16(v) __builtin_convertvector((v), short16)
#define convert_short16_rtz(v) convert_short16(v)
#define convert_short16_rte(v) convert_short16(__kf_rte(v))
#define convert_short16_rtp(v) convert_short16(__kf_rtp(v))
#define convert_short16_rtn(v) convert_short16(__kf_rtn(v))
#define convert_short16_sat_rtz(v) convert_short16_sat(v)
#define convert_short16_sat_rte(v) convert_short16_sat(__kf_rte(v))
#define convert_short16_sat_rtp(v) convert_short16_sat(__kf_rtp(v))
#define convert_short16_sat_rtn(v) convert_short16_sat(__kf_rtn(v))
#define convert_ushort(v) ((ushort)(v))
#define convert_ushort_rtz(v) convert_ushort(v)
#define convert_ushort_rte(v) convert_ushort(__kf_rte(v))
#define convert_ushort_rtp(v) convert_ushort(__kf_rtp(v))
#define convert_ushort_rtn(v) convert_ushort(__kf_rtn(v))
#define convert_ushort_sat_rtz(v) convert_ushort_sat(v)
#define convert_ushort_sat_rte(v) convert_ushort_sat(__kf_rte(v))
#define convert_ushort_sat_rtp(v) convert_ushort_sat(__kf_rtp(v))
#define convert_ushort_sat_rtn(v) convert_ushort_sat(__kf_rtn(v))
#define convert_ushort2(v) __builtin_convertvector((v), ushort2)
#define convert_ushort2_rtz(v) convert_ushort2(v)
#define convert_ushort2_rte(v) convert_ushort2(__kf_rte(v))
#define convert_ushort2_rtp(v) convert_ushort2(__kf_rtp(v))
#define convert_ushort2_rtn(v) convert_ushort2(__kf_rtn(v))
#define convert_ushort2_sat_rtz(v) convert_ushort2_sat(v)
#define convert_ushort2_sat_rte(v) convert_ushort2_sat(__kf_rte(v))
#define convert_ushort2_sat_rtp(v) convert_ushort2_sat(__kf_rtp(v))
#define convert_ushort2_sat_rtn(v) convert_ushort2_sat(__kf_rtn(v))
#define convert_ushort3(v) __builtin_convertvector((v), ushort3)
#define convert_ushort3_rtz(v) convert_ushort3(v)
#define convert_ushort3_rte(v) convert_ushort3(__kf_rte(v))
#define convert_ushort3_rtp(v) convert_ushort3(__kf_rtp(v))
#define convert_ushort3_rtn(v) convert_ushort3(__kf_rtn(v))
#define convert_ushort3_sat_rtz(v) convert_ushort3_sat(v)
#define convert_ushort3_sat_rte(v) convert_ushort3_sat(__kf_rte(v))
#define convert_ushort3_sat_rtp(v) convert_ushort3_sat(__kf_rtp(v))
#define convert_ushort3_sat_rtn(v) convert_ushort3_sat(__kf_rtn(v))
#define convert_ushort4(v) __builtin_convertvector((v), ushort4)
#define convert_ushort4_rtz(v) convert_ushort4(v)
#define convert_ushort4_rte(v) convert_ushort4(__kf_rte(v))
#define convert_ushort4_rtp(v) convert_ushort4(__kf_rtp(v))
#define convert_ushort4_rtn(v) convert_ushort4(__kf_rtn(v))
#define convert_ushort4_sat_rtz(v) convert_ushort4_sat(v)
#define convert_ushort4_sat_rte(v) convert_ushort4_sat(__kf_rte(v))
#define convert_ushort4_sat_rtp(v) convert_ushort4_sat(__kf_rtp(v))
#define convert_ushort4_sat_rtn(v) convert_ushort4_sat(__kf_rtn(v))
#define convert_ushort8(v) __builtin_convertvector((v), ushort8)
#define convert_ushort8_rtz(v) convert_ushort8(v)
#define convert_ushort8_rte(v) convert_ushort8(__kf_rte(v))
#define convert_ushort8_rtp(v) convert_ushort8(__kf_rtp(v))
#define convert_ushort8_rtn(v) convert_ushort8(__kf_rtn(v))
#define convert_ushort8_sat_rtz(v) convert_ushort8_sat(v)
#define convert_ushort8_sat_rte(v) convert_ushort8_sat(__kf_rte(v))
#define convert_ushort8_sat_rtp(v) convert_ushort8_sat(__kf_rtp(v))
#define convert_ushort8_sat_rtn(v) convert_ushort8_sat(__kf_rtn(v))
#define convert_ushort16(v) __builtin_convertvector((v), ushort16)
#define convert_ushort16_rtz(v) convert_ushort16(v)
#define convert_ushort16_rte(v) convert_ushort16(__kf_rte(v))
#define convert_ushort16_rtp(v) convert_ushort16(__kf_rtp(v))
#define convert_ushort16_rtn(v) convert_ushort16(__kf_rtn(v))
#define convert_ushort16_sat_rtz(v) convert_ushort16_sat(v)
#define convert_ushort16_sat_rte(v) convert_ushort16_sat(__kf_rte(v))
#define convert_ushort16_sat_rtp(v) convert_ushort16_sat(__kf_rtp(v))
#define convert_ushort16_sat_rtn(v) convert_ushort16_sat(__kf_rtn(v))
#define convert_int(v) ((int)(v))
#define convert_int_rtz(v) convert_int(v)
#define convert_int_rte(v) convert_int(__kf_rte(v))
#define convert_int_rtp(v) convert_int(__kf_rtp(v))
#define convert_int_rtn(v) convert_int(__kf_rtn(v))
#define convert_int_sat_rtz(v) convert_int_sat(v)
#define convert_int_sat_rte(v) convert_int_sat(__kf_rte(v))
#define convert_int_sat_rtp(v) convert_int_sat(__kf_rtp(v))
#define convert_int_sat_rtn(v) convert_int_sat(__kf_rtn(v))
#define convert_int2(v) __builtin_convertvector((v), int2)
#define convert_int2_rtz(v) convert_int2(v)
#define convert_int2_rte(v) convert_int2(__kf_rte(v))
#define convert_int2_rtp(v) convert_int2(__kf_rtp(v))
#define convert_int2_rtn(v) convert_int2(__kf_rtn(v))
#define convert_int2_sat_rtz(v) convert_int2_sat(v)
#define convert_int2_sat_rte(v) convert_int2_sat(__kf_rte(v))
#define convert_int2_sat_rtp(v) convert_int2_sat(__kf_rtp(v))
#define convert_int2_sat_rtn(v) convert_int2_sat(__kf_rtn(v))
#define convert_int3(v) __builtin_convertvector((v), int3)
#define convert_int3_rtz(v) convert_int3(v)
#define convert_int3_rte(v) convert_int3(__kf_rte(v))
#define convert_int3_rtp(v) convert_int3(__kf_rtp(v))
#define convert_int3_rtn(v) convert_int3(__kf_rtn(v))
#define convert_int3_sat_rtz(v) convert_int3_sat(v)
#define convert_int3_sat_rte(v) convert_int3_sat(__kf_rte(v))
#define convert_int3_sat_rtp(v) convert_int3_sat(__kf_rtp(v))
#define convert_int3_sat_rtn(v) convert_int3_sat(__kf_rtn(v))
#define convert_int4(v) __builtin_convertvector((v), int4)
#define convert_int4_rtz(v) convert_int4(v)
#define convert_int4_rte(v) convert_int4(__kf_rte(v))
#define convert_int4_rtp(v) convert_int4(__kf_rtp(v))
#define convert_int4_rtn(v) convert_int4(__kf_rtn(v))
#define convert_int4_sat_rtz(v) convert_int4_sat(v)
#define convert_int4_sat_rte(v) convert_int4_sat(__kf_rte(v))
#define convert_int4_sat_rtp(v) convert_int4_sat(__kf_rtp(v))
#define convert_int4_sat_rtn(v) convert_int4_sat(__kf_rtn(v))
#define convert_int8(v) __builtin_convertvector((v), int8)
#define convert_int8_rtz(v) convert_int8(v)
#define convert_int8_rte(v) convert_int8(__kf_rte(v))
#define convert_int8_rtp(v) convert_int8(__kf_rtp(v))
#define convert_int8_rtn(v) convert_int8(__kf_rtn(v))
#define convert_int8_sat_rtz(v) convert_int8_sat(v)
#define convert_int8_sat_rte(v) convert_int8_sat(__kf_rte(v))
#define convert_int8_sat_rtp(v) convert_int8_sat(__kf_rtp(v))
#define convert_int8_sat_rtn(v) convert_int8_sat(__kf_rtn(v))
#define convert_int16(v) __builtin_convertvector((v), int16)
#define convert_int16_rtz(v) convert_int16(v)
#define convert_int16_rte(v) convert_int16(__kf_rte(v))
#define convert_int16_rtp(v) convert_int16(__kf_rtp(v))
#define convert_int16_rtn(v) convert_int16(__kf_rtn(v))
#define convert_int16_sat_rtz(v) convert_int16_sat(v)
#define convert_int16_sat_rte(v) convert_int16_sat(__kf_rte(v))
#define convert_int16_sat_rtp(v) convert_int16_sat(__kf_rtp(v))
#define convert_int16_sat_rtn(v) convert_int16_sat(__kf_rtn(v))
#define convert_uint(v) ((uint)(v))
#define convert_uint_rtz(v) convert_uint(v)
#define convert_uint_rte(v) convert_uint(__kf_rte(v))
#define convert_uint_rtp(v) convert_uint(__kf_rtp(v))
#define convert_uint_rtn(v) convert_uint(__kf_rtn(v))
#define convert_uint_sat_rtz(v) convert_uint_sat(v)
#define convert_uint_sat_rte(v) convert_uint_sat(__kf_rte(v))
#define convert_uint_sat_rtp(v) convert_uint_sat(__kf_rtp(v))
#define convert_uint_sat_rtn(v) convert_uint_sat(__kf_rtn(v))
#define convert_uint2(v) __builtin_convertvector((v), uint2)
#define convert_uint2_rtz(v) convert_uint2(v)
#define convert_uint2_rte(v) convert_uint2(__kf_rte(v))
#define convert_uint2_rtp(v) convert_uint2(__kf_rtp(v))
#define convert_uint2_rtn(v) convert_uint2(__kf_rtn(v))
#define convert_uint2_sat_rtz(v) convert_uint2_sat(v)
#define convert_uint2_sat_rte(v) convert_uint2_sat(__kf_rte(v))
#define convert_uint2_sat_rtp(v) convert_uint2_sat(__kf_rtp(v))
#define convert_uint2_sat_rtn(v) convert_uint2_sat(__kf_rtn(v))
#define convert_uint3(v) __builtin_convertvector((v), uint3)
#define convert_uint3_rtz(v) convert_uint3(v)
#define convert_uint3_rte(v) convert_uint3(__kf_rte(v))
#define convert_uint3_rtp(v) convert_uint3(__kf_rtp(v))
#define convert_uint3_rtn(v) convert_uint3(__kf_rtn(v))
#define convert_uint3_sat_rtz(v) convert_uint3_sat(v)
#define convert_uint3_sat_rte(v) convert_uint3_sat(__kf_rte(v))
#define convert_uint3_sat_rtp(v) convert_uint3_sat(__kf_rtp(v))
#define convert_uint3_sat_rtn(v) convert_uint3_sat(__kf_rtn(v))
#define convert_uint4(v) __builtin_convertvector((v), uint4)
#define convert_uint4_rtz(v) convert_uint4(v)
#define convert_uint4_rte(v) convert_uint4(__kf_rte(v))
#define convert_uint4_rtp(v) convert_uint4(__kf_rtp(v))
#define convert_uint4_rtn(v) convert_uint4(__kf_rtn(v))
#define convert_uint4_sat_rtz(v) convert_uint4_sat(v)
#define convert_uint4_sat_rte(v) convert_uint4_sat(__kf_rte(v))
#define convert_uint4_sat_rtp(v) convert_uint4_sat(__kf_rtp(v))
#define convert_uint4_sat_rtn(v) convert_uint4_sat(__kf_rtn(v))
#define convert_uint8(v) __builtin_convertvector((v), uint8)
#define convert_uint8_rtz(v) convert_uint8(v)
#define convert_uint8_rte(v) convert_uint8(__kf_rte(v))
#define convert_uint8_rtp(v) convert_uint8(__kf_rtp(v))
#define convert_uint8_rtn(v) convert_uint8(__kf_rtn(v))
#define convert_uint8_sat_rtz(v) convert_uint8_sat(v)
#define convert_uint8_sat_rte(v) convert_uint8_sat(__kf_rte(v))
#define convert_uint8_sat_rtp(v) convert_uint8_sat(__kf_rtp(v))
#define convert_uint8_sat_rtn(v) convert_uint8_sat(__kf_rtn(v))
#define convert_uint16(v) __builtin_convertvector((v), uint16)
#define convert_uint16_rtz(v) convert_uint16(v)
#define convert_uint16_rte(v) convert_uint16(__kf_rte(v))
#define convert_uint16_rtp(v) convert_uint16(__kf_rtp(v))
#define convert_uint16_rtn(v) convert_uint16(__kf_rtn(v))
#define convert_uint16_sat_rtz(v) convert_uint16_sat(v)
#define convert_uint16_sat_rte(v) convert_uint16_sat(__kf_rte(v))
#define convert_uint16_sat_rtp(v) convert_uint16_sat(__kf_rtp(v))
#define convert_uint16_sat_rtn(v) convert_uint16_sat(__kf_rtn(v))
#define convert_long(v) ((long)(v))
#define convert_long_rtz(v) convert_long(v)
#define convert_long_rte(v) convert_long(__kf_rte(v))
#define convert_long_rtp(v) convert_long(__kf_rtp(v))
#define convert_long_rtn(v) convert_long(__kf_rtn(v))
#define convert_long_sat_rtz(v) convert_long_sat(v)
#define convert_long_sat_rte(v) convert_long_sat(__kf_rte(v))
#define convert_long_sat_rtp(v) convert_long_sat(__kf_rtp(v))
#define convert_long_sat_rtn(v) convert_long_sat(__kf_rtn(v))
#define convert_long2(v) __builtin_convertvector((v), long2)
#define convert_long2_rtz(v) convert_long2(v)
#define convert_long2_rte(v) convert_long2(__kf_rte(v))
#define convert_long2_rtp(v) convert_long2(__kf_rtp(v))
#define convert_long2_rtn(v) convert_long2(__kf_rtn(v))
#define convert_long2_sat_rtz(v) convert_long2_sat(v)
#define convert_long2_sat_rte(v) convert_long2_sat(__kf_rte(v))
#define convert_long2_sat_rtp(v) convert_long2_sat(__kf_rtp(v))
#define convert_long2_sat_rtn(v) convert_long2_sat(__kf_rtn(v))
#define convert_long3(v) __builtin_convertvector((v), long3)
#define convert_long3_rtz(v) convert_long3(v)
#define convert_long3_rte(v) convert_long3(__kf_rte(v))
#define convert_long3_rtp(v) convert_long3(__kf_rtp(v))
#define convert_long3_rtn(v) convert_long3(__kf_rtn(v))
#define convert_long3_sat_rtz(v) convert_long3_sat(v)
#define convert_long3_sat_rte(v) convert_long3_sat(__kf_rte(v))
#define convert_long3_sat_rtp(v) convert_long3_sat(__kf_rtp(v))
#define convert_long3_sat_rtn(v) convert_long3_sat(__kf_rtn(v))
#define convert_long4(v) __builtin_convertvector((v), long4)
#define convert_long4_rtz(v) convert_long4(v)
#define convert_long4_rte(v) convert_long4(__kf_rte(v))
#define convert_long4_rtp(v) convert_long4(__kf_rtp(v))
#define convert_long4_rtn(v) convert_long4(__kf_rtn(v))
#define convert_long4_sat_rtz(v) convert_long4_sat(v)
#define convert_long4_sat_rte(v) convert_long4_sat(__kf_rte(v))
#define convert_long4_sat_rtp(v) convert_long4_sat(__kf_rtp(v))
#define convert_long4_sat_rtn(v) convert_long4_sat(__kf_rtn(v))
#define convert_long8(v) __builtin_convertvector((v), long8)
#define convert_long8_rtz(v) convert_long8(v)
#define convert_long8_rte(v) convert_long8(__kf_rte(v))
#define convert_long8_rtp(v) convert_long8(__kf_rtp(v))
#define convert_long8_rtn(v) convert_long8(__kf_rtn(v))
#define convert_long8_sat_rtz(v) convert_long8_sat(v)
#define convert_long8_sat_rte(v) convert_long8_sat(__kf_rte(v))
#define convert_long8_sat_rtp(v) convert_long8_sat(__kf_rtp(v))
#define convert_long8_sat_rtn(v) convert_long8_sat(__kf_rtn(v))
#define convert_long16(v) __builtin_convertvector((v), long16)
#define convert_long16_rtz(v) convert_long16(v)
#define convert_long16_rte(v) convert_long16(__kf_rte(v))
#define convert_long16_rtp(v) convert_long16(__kf_rtp(v))
#define convert_long16_rtn(v) convert_long16(__kf_rtn(v))
#define convert_long16_sat_rtz(v) convert_long16_sat(v)
#define convert_long16_sat_rte(v) convert_long16_sat(__kf_rte(v))
#define convert_long16_sat_rtp(v) convert_long16_sat(__kf_rtp(v))
#define convert_long16_sat_rtn(v) convert_long16_sat(__kf_rtn(v))
#define convert_ulong(v) ((ulong)(v))
#define convert_ulong_rtz(v) convert_ulong(v)
#define convert_ulong_rte(v) convert_ulong(__kf_rte(v))
#define convert_ulong_rtp(v) convert_ulong(__kf_rtp(v))
#define convert_ulong_rtn(v) convert_ulong(__kf_rtn(v))
#define convert_ulong_sat_rtz(v) convert_ulong_sat(v)
#define convert_ulong_sat_rte(v) convert_ulong_sat(__kf_rte(v))
#define convert_ulong_sat_rtp(v) convert_ulong_sat(__kf_rtp(v))
#define convert_ulong_sat_rtn(v) convert_ulong_sat(__kf_rtn(v))
#define convert_ulong2(v) __builtin_convertvector((v), ulong2)
#define convert_ulong2_rtz(v) convert_ulong2(v)
#define convert_ulong2_rte(v) convert_ulong2(__kf_rte(v))
#define convert_ulong2_rtp(v) convert_ulong2(__kf_rtp(v))
#define convert_ulong2_rtn(v) convert_ulong2(__kf_rtn(v))
#define convert_ulong2_sat_rtz(v) convert_ulong2_sat(v)
#define convert_ulong2_sat_rte(v) convert_ulong2_sat(__kf_rte(v))
#define convert_ulong2_sat_rtp(v) convert_ulong2_sat(__kf_rtp(v))
#define convert_ulong2_sat_rtn(v) convert_ulong2_sat(__kf_rtn(v))
#define convert_ulong3(v) __builtin_convertvector((v), ulong3)
#define convert_ulong3_rtz(v) convert_ulong3(v)
#define convert_ulong3_rte(v) convert_ulong3(__kf_rte(v))
#define convert_ulong3_rtp(v) convert_ulong3(__kf_rtp(v))
#define convert_ulong3_rtn(v) convert_ulong3(__kf_rtn(v))
#define convert_ulong3_sat_rtz(v) convert_ulong3_sat(v)
#define convert_ulong3_sat_rte(v) convert_ulong3_sat(__kf_rte(v))
#define convert_ulong3_sat_rtp(v) convert_ulong3_sat(__kf_rtp(v))
#define convert_ulong3_sat_rtn(v) convert_ulong3_sat(__kf_rtn(v))
#define convert_ulong4(v) __builtin_convertvector((v), ulong4)
#define convert_ulong4_rtz(v) convert_ulong4(v)
#define convert_ulong4_rte(v) convert_ulong4(__kf_rte(v))
#define convert_ulong4_rtp(v) convert_ulong4(__kf_rtp(v))
#define convert_ulong4_rtn(v) convert_ulong4(__kf_rtn(v))
#define convert_ulong4_sat_rtz(v) convert_ulong4_sat(v)
#define convert_ulong4_sat_rte(v) convert_ulong4_sat(__kf_rte(v))
#define convert_ulong4_sat_rtp(v) convert_ulong4_sat(__kf_rtp(v))
#define convert_ulong4_sat_rtn(v) convert_ulong4_sat(__kf_rtn(v))
#define convert_ulong8(v) __builtin_convertvector((v), ulong8)
#define convert_ulong8_rtz(v) convert_ulong8(v)
#define convert_ulong8_rte(v) convert_ulong8(__kf_rte(v))
#define convert_ulong8_rtp(v) convert_ulong8(__kf_rtp(v))
#define convert_ulong8_rtn(v) convert_ulong8(__kf_rtn(v))
#define convert_ulong8_sat_rtz(v) convert_ulong8_sat(v)
#define convert_ulong8_sat_rte(v) convert_ulong8_sat(__kf_rte(v))
#define convert_ulong8_sat_rtp(v) convert_ulong8_sat(__kf_rtp(v))
#define convert_ulong8_sat_rtn(v) convert_ulong8_sat(__kf_rtn(v))
#define convert_ulong16(v) __builtin_convertvector((v), ulong16)
#define convert_ulong16_rtz(v) convert_ulong16(v)
#define convert_ulong16_rte(v) convert_ulong16(__kf_rte(v))
#define convert_ulong16_rtp(v) convert_ulong16(__kf_rtp(v))
#define convert_ulong16_rtn(v) convert_ulong16(__kf_rtn(v))
#define convert_ulong16_sat_rtz(v) convert_ulong16_sat(v)
#define convert_ulong16_sat_rte(v) convert_ulong16_sat(__kf_rte(v))
#define convert_ulong16_sat_rtp(v) convert_ulong16_sat(__kf_rtp(v))
#define convert_ulong16_sat_rtn(v) convert_ulong16_sat(__kf_rtn(v))
#define convert_float(v) ((float)(v))
#define convert_float_rte(v) convert_float(v)
#define convert_float2(v) __builtin_convertvector((v), float2)
#define convert_float2_rte(v) convert_float2(v)
#define convert_float3(v) __builtin_convertvector((v), float3)
#define convert_float3_rte(v) convert_float3(v)
#define convert_float4(v) __builtin_convertvector((v), float4)
#define convert_float4_rte(v) convert_float4(v)
#define convert_float8(v) __builtin_convertvector((v), float8)
#define convert_float8_rte(v) convert_float8(v)
#define convert_float16(v) __builtin_convertvector((v), float16)
#define convert_float16_rte(v) convert_float16(v)
#ifdef cl_khr_fp64
#define convert_double(v) ((double)(v))
#define convert_double_rte(v) convert_double(v)
#define convert_double2(v) __builtin_convertvector((v), double2)
#define convert_double2_rte(v) convert_double2(v)
#define convert_double3(v) __builtin_convertvector((v), double3)
#define convert_double3_rte(v) convert_double3(v)
#define convert_double4(v) __builtin_convertvector((v), double4)
#define convert_double4_rte(v) convert_double4(v)
#define convert_double8(v) __builtin_convertvector((v), double8)
#define convert_double8_rte(v) convert_double8(v)
#define convert_double16(v) __builtin_convertvector((v), double16)
#define convert_double16_rte(v) convert_double16(v)
#endif
#ifdef cl_khr_fp16
#define convert_half(v) ((half)(v))
#define convert_half_rte(v) convert_half(v)
#define convert_half2(v) __builtin_convertvector((v), half2)
#define convert_half2_rte(v) convert_half2(v)
#define convert_half3(v) __builtin_convertvector((v), half3)
#define convert_half3_rte(v) convert_half3(v)
#define convert_half4(v) __builtin_convertvector((v), half4)
#define convert_half4_rte(v) convert_half4(v)
#define convert_half8(v) __builtin_convertvector((v), half8)
#define convert_half8_rte(v) convert_half8(v)
#define convert_half16(v) __builtin_convertvector((v), half16)
#define convert_half16_rte(v) convert_half16(v)
#endif

// ---------------------------------------------------------------------------
// Vector loads and stores
// ---------------------------------------------------------------------------

// A vector with the alignment of its element.
#define __kf_unaligned(T, n, A)                                                \
  typedef T##n __kf_u_##T##n __attribute__((aligned(A)));
#define __kf_vld(T, n, AS)                                                     \
  __KF T##n vload##n(size_t _o, const AS T *_p) {                              \
    return *(const AS __kf_u_##T##n *)(_p + _o * n);                           \
  }
#define __kf_vst(T, n, AS)                                                     \
  __KF void vstore##n(T##n _a, size_t _o, AS T *_p) {                          \
    *(AS __kf_u_##T##n *)(_p + _o * n) = _a;                                   \
  }
#define __kf_vld_all(T, AS)                                                    \
  __kf_vld(T, 2, AS) __kf_vld(T, 4, AS) __kf_vld(T, 8, AS) __kf_vld(T, 16, AS) \
  __KF T##3 vload3(size_t _o, const AS T *_p) {                                \
    _p += _o * 3;                                                              \
    return (T##3)(_p[0], _p[1], _p[2]);                                        \
  }
#define __kf_vst_all(T, AS)                                                    \
  __kf_vst(T, 2, AS) __kf_vst(T, 4, AS) __kf_vst(T, 8, AS) __kf_vst(T, 16, AS) \
  __KF void vstore3(T##3 _a, size_t _o, AS T *_p) {                            \
    _p += _o * 3;                                                              \
    _p[0] = _a.s0;                                                             \
    _p[1] = _a.s1;                                                             \
    _p[2] = _a.s2;                                                             \
  }
#define __kf_vldst(T, A)                                                       \
  __kf_unaligned(T, 2, A) __kf_unaligned(T, 4, A) __kf_unaligned(T, 8, A)      \
  __kf_unaligned(T, 16, A)                                                     \
  __kf_as_const(__kf_vld_all, T) __kf_as(__kf_vst_all, T)
__kf_vldst(char, 1) __kf_vldst(uchar, 1) __kf_vldst(short, 2)
__kf_vldst(ushort, 2) __kf_vldst(int, 4) __kf_vldst(uint, 4)
__kf_vldst(long, 8) __kf_vldst(ulong, 8) __kf_vldst(float, 4)
__kf_f64(__kf_vldst(double, 8))
__kf_f16(__kf_vldst(half, 2))

#ifdef cl_khr_fp16
// float in registers, half in memory. The aligned versions hold three elements
// in the space of four.
#define __kf_vlh(n, AS)                                                        \
  __KF float##n vload_half##n(size_t _o, const AS half *_p) {                  \
    return __builtin_convertvector(vload##n(_o, _p), float##n);                \
  }
#define __kf_vlha(n, AS)                                                       \
  __kf_vlh(n, AS)                                                              \
  __KF float##n vloada_half##n(size_t _o, const AS half *_p) {                 \
    return __builtin_convertvector(((const AS half##n *)_p)[_o], float##n);    \
  }
#define __kf_vlh_all(_, AS)                                                    \
  __KF float vload_half(size_t _o, const AS half *_p) {                        \
    return (float)_p[_o];                                                      \
  }                                                                            \
  __kf_vlha(2, AS) __kf_vlh(3, AS) __kf_vlha(4, AS) __kf_vlha(8, AS)           \
  __kf_vlha(16, AS)                                                            \
  __KF float3 vloada_half3(size_t _o, const AS half *_p) {                     \
    _p += _o * 4;                                                              \
    return (float3)((float)_p[0], (float)_p[1], (float)_p[2]);                 \
  }
__kf_as_const(__kf_vlh_all, _)

// T: float or double; m: the suffix; r: that of the conversion.
#define __kf_vsh(T, m, r, n, AS)                                               \
  __KF void vstore_half##n##m(T##n _a, size_t _o, AS half *_p) {               \
    vstore##n(convert_half##n##r(_a), _o, _p);                                 \
  }
#define __kf_vsha(T, m, r, n, AS)                                              \
  __kf_vsh(T, m, r, n, AS)                                                     \
  __KF void vstorea_half##n##m(T##n _a, size_t _o, AS half *_p) {              \
    ((AS half##n *)_p)[_o] = convert_half##n##r(_a);                           \
  }
#define __kf_vsh_all(T, m, r, AS)                                              \
  __KF void vstore_half##m(T _a, size_t _o, AS half *_p) {                     \
    _p[_o] = convert_half##r(_a);                                              \
  }                                                                            \
  __kf_vsha(T, m, r, 2, AS) __kf_vsh(T, m, r, 3, AS)                           \
  __kf_vsha(T, m, r, 4, AS) __kf_vsha(T, m, r, 8, AS)                          \
  __kf_vsha(T, m, r, 16, AS)                                                   \
  __KF void vstorea_half3##m(T##3 _a, size_t _o, AS half *_p) {                \
    half3 _h = convert_half3##r(_a);                                           \
    _p += _o * 4;                                                              \
    _p[0] = _h.s0;                                                             \
    _p[1] = _h.s1;                                                             \
    _p[2] = _h.s2;                                                             \
  }
#define __kf_vsh_modes(T)                                                      \
  __kf_as(__kf_vsh_all, T, , ) __kf_as(__kf_vsh_all, T, _rte, _rte)            \
  __kf_as(__kf_vsh_all, T, _rtz, _rtz) __kf_as(__kf_vsh_all, T, _rtp, _rtp)    \
  __kf_as(__kf_vsh_all, T, _rtn, _rtn)
__kf_vsh_modes(float)
__kf_f64(__kf_vsh_modes(double))
#endif

// ---------------------------------------------------------------------------
// shuffle, shuffle2
// ---------------------------------------------------------------------------

// T: elements; U: mask elements; m: elements of the source (K = m - 1).
#define __kf_shuf(T, U, m, K)                                                  \
  __KF T##2 shuffle(T##m _a, U##2 _i) {                                        \
    return (T##2)(_a[_i.s0 & K], _a[_i.s1 & K]);                               \
  }                                                                            \
  __kf_shuf_h(T, U, m, 4) __kf_shuf_h(T, U, m, 8) __kf_shuf_h(T, U, m, 16)
#define __kf_shuf_h(T, U, m, n)                                                \
  __KF T##n shuffle(T##m _a, U##n _i) {                                        \
    return (T##n)(shuffle(_a, _i.lo), shuffle(_a, _i.hi));                     \
  }
#define __kf_shuf2(T, U, m, w)                                                 \
  __kf_shuf2_n(T, U, m, w, 2) __kf_shuf2_n(T, U, m, w, 4)                      \
  __kf_shuf2_n(T, U, m, w, 8) __kf_shuf2_n(T, U, m, w, 16)
#define __kf_shuf2_n(T, U, m, w, n)                                            \
  __KF T##n shuffle2(T##m _a, T##m _b, U##n _i) {                              \
    return shuffle((T##w)(_a, _b), _i);                                        \
  }
#define __kf_pick16(j) ((j) & 16 ? _b[(j) & 15] : _a[(j) & 15])
#define __kf_shuf2_h(T, U, n)                                                  \
  __KF T##n shuffle2(T##16 _a, T##16 _b, U##n _i) {                            \
    return (T##n)(shuffle2(_a, _b, _i.lo), shuffle2(_a, _b, _i.hi));           \
  }
#define __kf_shuffle(T, U)                                                     \
  __kf_shuf(T, U, 2, 1) __kf_shuf(T, U, 4, 3) __kf_shuf(T, U, 8, 7)            \
  __kf_shuf(T, U, 16, 15)                                                      \
  __kf_shuf2(T, U, 2, 4) __kf_shuf2(T, U, 4, 8) __kf_shuf2(T, U, 8, 16)        \
  __KF T##2 shuffle2(T##16 _a, T##16 _b, U##2 _i) {                            \
    return (T##2)(__kf_pick16(_i.s0), __kf_pick16(_i.s1));                     \
  }                                                                            \
  __kf_shuf2_h(T, U, 4) __kf_shuf2_h(T, U, 8) __kf_shuf2_h(T, U, 16)
__kf_shuffle(char, uchar) __kf_shuffle(uchar, uchar)
__kf_shuffle(short, ushort) __kf_shuffle(ushort, ushort)
__kf_shuffle(int, uint) __kf_shuffle(uint, uint)
__kf_shuffle(long, ulong) __kf_shuffle(ulong, ulong)
__kf_shuffle(float, uint)
__kf_f64(__kf_shuffle(double, ulong))
__kf_f16(__kf_shuffle(half, ushort))

// ---------------------------------------------------------------------------
// Copies between global and local memory, prefetch
// ---------------------------------------------------------------------------

// The work-items share the elements; wait_group_events is a barrier. Macros:
// the functions would be hundreds, one for each type and direction.
#define __kf_async(d, s, n, e, DI, SI)                                         \
  __extension__({                                                              \
    __typeof__(&(d)[0]) __kf_d = (d);                                          \
    __typeof__(&(s)[0]) __kf_s = (s);                                          \
    size_t __kf_n = (n), __kf_z = __kf_lsize;                                  \
    event_t __kf_e = (e);                                                      \
    for (size_t __kf_i = __kf_llid; __kf_i < __kf_n; __kf_i += __kf_z)         \
      __kf_d[DI] = __kf_s[SI];                                                 \
    __kf_e;                                                                    \
  })
#define async_work_group_copy(d, s, n, e)                                      \
  __kf_async(d, s, n, e, __kf_i, __kf_i)
// The stride is on the global side.
#define async_work_group_strided_copy(d, s, n, t, e)                           \
  __extension__({                                                              \
    size_t __kf_t = (t), __kf_u = __kf_is_local(&(d)[0]) ? 1 : __kf_t,         \
           __kf_v = __kf_is_local(&(d)[0]) ? __kf_t : 1;                       \
    __kf_async(d, s, n, e, __kf_i * __kf_u, __kf_i * __kf_v);                  \
  })
__KF bool __kf_is_local(const volatile __local void *_p) { return true; }
__KF bool __kf_is_local(const volatile __global void *_p) { return false; }
#define prefetch(p, n) ((void)(p), (void)(n))
__KF void wait_group_events(int _n, event_t *_e) { __syncthreads(); }

// ---------------------------------------------------------------------------
// Atomics
// ---------------------------------------------------------------------------

// OpenCL 1.2: relaxed. P: the prefix of the name.
#define __kf_atomic(P, T, AS, SC)                                              \
  __kf_rmw(P, T, AS, SC, add, add) __kf_rmw(P, T, AS, SC, sub, sub)            \
  __kf_rmw(P, T, AS, SC, min, min) __kf_rmw(P, T, AS, SC, max, max)            \
  __kf_rmw(P, T, AS, SC, and, and) __kf_rmw(P, T, AS, SC, or, or)              \
  __kf_rmw(P, T, AS, SC, xor, xor)                                             \
  __KF T P##_xchg(volatile AS T *_p, T _a) {                                   \
    return __scoped_atomic_exchange_n(_p, _a, __ATOMIC_RELAXED, SC);           \
  }                                                                            \
  __KF T P##_inc(volatile AS T *_p) {                                          \
    return __scoped_atomic_fetch_add(_p, (T)1, __ATOMIC_RELAXED, SC);          \
  }                                                                            \
  __KF T P##_dec(volatile AS T *_p) {                                          \
    return __scoped_atomic_fetch_sub(_p, (T)1, __ATOMIC_RELAXED, SC);          \
  }                                                                            \
  __KF T P##_cmpxchg(volatile AS T *_p, T _a, T _b) {                          \
    __scoped_atomic_compare_exchange_n(_p, &_a, _b, false, __ATOMIC_RELAXED,   \
                                       __ATOMIC_RELAXED, SC);                  \
    return _a;                                                                 \
  }
#define __kf_rmw(P, T, AS, SC, F, O)                                           \
  __KF T P##_##F(volatile AS T *_p, T _a) {                                    \
    return __scoped_atomic_fetch_##O(_p, _a, __ATOMIC_RELAXED, SC);            \
  }
#define __kf_atomic_as(P, T)                                                   \
  __kf_atomic(P, T, __global, __MEMORY_SCOPE_DEVICE)                           \
  __kf_atomic(P, T, __local, __MEMORY_SCOPE_WRKGRP)
__kf_atomic_as(atomic, int) __kf_atomic_as(atomic, uint)
__kf_atomic_as(atom, int) __kf_atomic_as(atom, uint)
__kf_atomic_as(atom, long) __kf_atomic_as(atom, ulong)

#define __kf_xchg_f(AS, SC)                                                    \
  __KF float atomic_xchg(volatile AS float *_p, float _a) {                    \
    return as_float(__scoped_atomic_exchange_n(                                \
        (volatile AS int *)_p, as_int(_a), __ATOMIC_RELAXED, SC));             \
  }
__kf_xchg_f(__global, __MEMORY_SCOPE_DEVICE)
__kf_xchg_f(__local, __MEMORY_SCOPE_WRKGRP)

// OpenCL 2.0: macros over clang's builtins, which are generic in the type.
#if __OPENCL_C_VERSION__ >= 200
#ifndef __opencl_c_atomic_order_seq_cst
#define memory_order_seq_cst ((memory_order)__ATOMIC_SEQ_CST)
#endif
#ifndef __opencl_c_atomic_scope_all_devices
#define memory_scope_all_svm_devices                                           \
  ((memory_scope)__OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES)
#define memory_scope_all_devices memory_scope_all_svm_devices
#endif

// Order and scope, the latter possibly left out.
#define __kf_os(o, ...) o, __kf_first(__VA_ARGS__, 0)
#define __kf_first(s, ...) s
#define __kf_sc memory_order_seq_cst, memory_scope_device
#define __kf_os2(...) __kf_os(__VA_ARGS__, memory_scope_device)

#define atomic_init(p, v) __opencl_atomic_init(p, v)
#define atomic_load(p) __opencl_atomic_load(p, __kf_sc)
#define atomic_load_explicit(p, ...)                                           \
  __opencl_atomic_load(p, __kf_os2(__VA_ARGS__))
#define atomic_store(p, v) __opencl_atomic_store(p, v, __kf_sc)
#define atomic_store_explicit(p, v, ...)                                       \
  __opencl_atomic_store(p, v, __kf_os2(__VA_ARGS__))
#define atomic_exchange(p, v) __opencl_atomic_exchange(p, v, __kf_sc)
#define atomic_exchange_explicit(p, v, ...)                                    \
  __opencl_atomic_exchange(p, v, __kf_os2(__VA_ARGS__))
#define atomic_compare_exchange_strong(p, e, v)                                \
  __opencl_atomic_compare_exchange_strong(p, e, v, memory_order_seq_cst,       \
                                          __kf_sc)
#define atomic_compare_exchange_weak(p, e, v)                                  \
  __opencl_atomic_compare_exchange_weak(p, e, v, memory_order_seq_cst, __kf_sc)
#define atomic_compare_exchange_strong_explicit(p, e, v, s, ...)               \
  __opencl_atomic_compare_exchange_strong(p, e, v, s, __kf_os2(__VA_ARGS__))
#define atomic_compare_exchange_weak_explicit(p, e, v, s, ...)                 \
  __opencl_atomic_compare_exchange_weak(p, e, v, s, __kf_os2(__VA_ARGS__))
#define atomic_fetch_add(p, v) __opencl_atomic_fetch_add(p, v, __kf_sc)
#define atomic_fetch_sub(p, v) __opencl_atomic_fetch_sub(p, v, __kf_sc)
#define atomic_fetch_min(p, v) __opencl_atomic_fetch_min(p, v, __kf_sc)
#define atomic_fetch_max(p, v) __opencl_atomic_fetch_max(p, v, __kf_sc)
#define atomic_fetch_and(p, v) __opencl_atomic_fetch_and(p, v, __kf_sc)
#define atomic_fetch_or(p, v) __opencl_atomic_fetch_or(p, v, __kf_sc)
#define atomic_fetch_xor(p, v) __opencl_atomic_fetch_xor(p, v, __kf_sc)
#define atomic_fetch_add_explicit(p, v, ...)                                   \
  __opencl_atomic_fetch_add(p, v, __kf_os2(__VA_ARGS__))
#define atomic_fetch_sub_explicit(p, v, ...)                                   \
  __opencl_atomic_fetch_sub(p, v, __kf_os2(__VA_ARGS__))
#define atomic_fetch_min_explicit(p, v, ...)                                   \
  __opencl_atomic_fetch_min(p, v, __kf_os2(__VA_ARGS__))
#define atomic_fetch_max_explicit(p, v, ...)                                   \
  __opencl_atomic_fetch_max(p, v, __kf_os2(__VA_ARGS__))
#define atomic_fetch_and_explicit(p, v, ...)                                   \
  __opencl_atomic_fetch_and(p, v, __kf_os2(__VA_ARGS__))
#define atomic_fetch_or_explicit(p, v, ...)                                    \
  __opencl_atomic_fetch_or(p, v, __kf_os2(__VA_ARGS__))
#define atomic_fetch_xor_explicit(p, v, ...)                                   \
  __opencl_atomic_fetch_xor(p, v, __kf_os2(__VA_ARGS__))
#define atomic_flag_test_and_set(p)                                            \
  ((bool)__opencl_atomic_exchange(p, 1, __kf_sc))
#define atomic_flag_test_and_set_explicit(p, ...)                              \
  ((bool)__opencl_atomic_exchange(p, 1, __kf_os2(__VA_ARGS__)))
#define atomic_flag_clear(p) __opencl_atomic_store(p, 0, __kf_sc)
#define atomic_flag_clear_explicit(p, ...)                                     \
  __opencl_atomic_store(p, 0, __kf_os2(__VA_ARGS__))

__KF void atomic_work_item_fence(cl_mem_fence_flags _f, memory_order _o,
                                 memory_scope _s) {
  if (_o == memory_order_relaxed || _s == memory_scope_work_item)
    return;
  if (_s == memory_scope_work_group)
    __nvvm_membar_cta();
  else
    __nvvm_membar_gl();
}
#endif

#endif // KERF_OPENCL_BUILTINS

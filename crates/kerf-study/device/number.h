// The number types of the studies, with one set of operators: float, double, and double words in two
// variants. Kernels are templates over these.
#pragma once
#include "doubleword_cmp.h"
#include "doubleword_functions.h"

#define DEVICE __attribute__((device)) inline
#define SHARED __attribute__((shared))
#define KERNEL extern "C" __attribute__((global))

DEVICE int thread_x() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE int thread_y() { return __nvvm_read_ptx_sreg_tid_y(); }
DEVICE int block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE int block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE int threads_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE int threads_y() { return __nvvm_read_ptx_sreg_ntid_y(); }
DEVICE int blocks_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE int global_x() { return block_x() * threads_x() + thread_x(); }
DEVICE int global_y() { return block_y() * threads_y() + thread_y(); }

// Proven algorithms (no suffix) and the publication's formulas (cmp). The proven ones are the bare
// published sequences, without provisions for infinities.
#define DOUBLE_WORD(NAME, T, VARIANT)                                                              \
  struct alignas(2 * sizeof(T)) NAME {                                                             \
    typedef T word;                                                                                \
    kerf::dw<T> v;                                                                                 \
  };                                                                                               \
  DEVICE NAME operator-(NAME a) { return {kerf::neg(a.v)}; }                                       \
  DEVICE NAME operator+(NAME a, NAME b) { return {kerf::VARIANT::add(a.v, b.v)}; }                 \
  DEVICE NAME operator-(NAME a, NAME b) { return {kerf::VARIANT::add(a.v, kerf::neg(b.v))}; }      \
  DEVICE NAME operator*(NAME a, NAME b) { return {kerf::VARIANT::mul(a.v, b.v)}; }                 \
  DEVICE NAME operator/(NAME a, NAME b) { return {kerf::VARIANT::div(a.v, b.v)}; }                 \
  DEVICE T high(NAME a) { return a.v.hi; }

DOUBLE_WORD(float2, float, bare)
DOUBLE_WORD(double2, double, bare)
DOUBLE_WORD(float2_cmp, float, cmp)
DOUBLE_WORD(double2_cmp, double, cmp)

DEVICE float high(float a) { return a; }
DEVICE double high(double a) { return a; }

template <class N> struct traits {
  typedef typename N::word word;
  static DEVICE N of(word w) { return {{w, word(0)}}; }
};
template <> struct traits<float> {
  typedef float word;
  static DEVICE float of(float w) { return w; }
};
template <> struct traits<double> {
  typedef double word;
  static DEVICE double of(double w) { return w; }
};

// A small constant or count, exact in every type.
template <class N> DEVICE N number(int n) { return traits<N>::of(typename traits<N>::word(n)); }

// The exponential by its Taylor series. The powers and the factorials are formed apart, as Surineni 2017
// describes it (both "diverge for large n"), and the sum ends when a term is no longer greater than
// 1e-20 times the built-in exponential of the high word, or is not a number.
template <class N> DEVICE N taylor_exp(N x, int *terms) {
  typedef typename traits<N>::word W;
  N sum = number<N>(1), power = number<N>(1), factorial = number<N>(1);
  W bound = W(1e-20) * kerf::cmp::builtin_exp(high(x));
  int n = 0;
  W size;
  do {
    ++n;
    power = power * x;
    factorial = factorial * number<N>(n);
    N term = power / factorial;
    sum = sum + term;
    size = high(term) < W(0) ? -high(term) : high(term);
  } while (size > bound && n < 1000);
  *terms = n;
  return sum;
}

// How a type computes the exponential: built in, or by the series.
template <class N> struct built_in;
template <> struct built_in<float> {
  static DEVICE float exp(float x, int *) { return kerf::cmp::builtin_exp(x); }
};
template <> struct built_in<double> {
  static DEVICE double exp(double x, int *) { return kerf::cmp::builtin_exp(x); }
};
template <> struct built_in<float2> {
  static DEVICE float2 exp(float2 x, int *) { return {kerf::exp(x.v)}; }
};
template <> struct built_in<double2> {
  static DEVICE double2 exp(double2 x, int *) { return {kerf::exp(x.v)}; }
};
template <> struct built_in<float2_cmp> {
  static DEVICE float2_cmp exp(float2_cmp x, int *) { return {kerf::cmp::exp_bf(x.v)}; }
};
template <> struct built_in<double2_cmp> {
  static DEVICE double2_cmp exp(double2_cmp x, int *) { return {kerf::cmp::exp_bf(x.v)}; }
};
template <class N> struct series {
  static DEVICE N exp(N x, int *terms) { return taylor_exp(x, terms); }
};

// One kernel for each type; NAME(SYMBOL_SUFFIX, TYPE).
#define FOR_EACH_NUMBER(NAME)                                                                      \
  NAME(float, float) NAME(double, double) NAME(float2, float2) NAME(double2, double2)              \
  NAME(float2_cmp, float2_cmp) NAME(double2_cmp, double2_cmp)

// One kernel for each type and exponential; NAME(SYMBOL_SUFFIX, TYPE, EXPONENTIAL).
#define FOR_EACH_EXPONENTIAL(NAME)                                                                 \
  NAME(float, float, built_in<float>) NAME(double, double, built_in<double>)                       \
  NAME(float2, float2, built_in<float2>) NAME(double2, double2, built_in<double2>)                 \
  NAME(float2_ts, float2, series<float2>) NAME(double2_ts, double2, series<double2>)               \
  NAME(float2_cmp_bf, float2_cmp, built_in<float2_cmp>)                                            \
  NAME(double2_cmp_bf, double2_cmp, built_in<double2_cmp>)                                         \
  NAME(float2_cmp_ts, float2_cmp, series<float2_cmp>)                                              \
  NAME(double2_cmp_ts, double2_cmp, series<double2_cmp>)

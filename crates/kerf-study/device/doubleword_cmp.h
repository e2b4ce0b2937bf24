// "Composite precision" as figures 2 and 3 and equation 5 of Surineni 2017 have it: no renormalisation,
// the product's rounding error dropped, the divisor's low word ignored. To be measured, not to be used.
//
// STAND-IN for kerf-pass/device/doubleword_cmp.h, with its names; see doubleword_functions.h.
#pragma once
#include "doubleword_functions.h"

extern "C" __attribute__((device)) float __nv_expf(float);
extern "C" __attribute__((device)) double __nv_exp(double);

namespace kerf {
namespace cmp {

KERF_DEVICE float builtin_exp(float x) { return __nv_expf(x); }
KERF_DEVICE double builtin_exp(double x) { return __nv_exp(x); }

template <class T> KERF_DEVICE dw<T> add(dw<T> x, dw<T> y) {
  T z = x.hi + y.hi, t = z - x.hi;
  return {z, x.hi - (z - t) + (y.hi - t) + x.lo + y.lo};
}
template <class T> KERF_DEVICE dw<T> mul(dw<T> x, dw<T> y) {
  return {x.hi * y.hi, x.hi * y.lo + x.lo * y.hi + x.lo * y.lo};
}
template <class T> KERF_DEVICE dw<T> div(dw<T> x, dw<T> y) {
  T t = T(1) / y.hi, s = t * x.hi, diff = x.hi - s * y.hi;
  return {s + t * diff, t * diff};
}

// A word as two of half its length, after Dekker; figure 2 misprints the constant for double.
template <class T> KERF_DEVICE dw<T> split(T x) {
  T p = x * T((1ull << (sizeof(T) == 4 ? 12 : 27)) + 1);
  T high = p - (p - x);
  return {high, x - high};
}

// exp(hi + lo) = exp(hi) exp(lo), both by the built-in function.
template <class T> KERF_DEVICE dw<T> exp_bf(dw<T> x) {
  return cmp::mul(split(builtin_exp(x.hi)), split(builtin_exp(x.lo)));
}

} // namespace cmp
} // namespace kerf

// Double-word numbers on the device: the proven operations that the studies need.
//
// STAND-IN for kerf-pass/device/doubleword_functions.h, with its names. When that is there, delete this
// file and doubleword_cmp.h, and give build.rs its folder with -I.
//
// The algorithms are those of Joldes, Muller and Popescu (ACM TOMS 44(2), 2017) and an exponential after
// crates/kerf-num/src/doubleword/explog.rs. Nothing here may be contracted or reassociated; fused
// multiply-adds are written out.
#pragma once

extern "C" __attribute__((device)) float __nv_rintf(float);
extern "C" __attribute__((device)) double __nv_rint(double);

#define KERF_DEVICE __attribute__((device)) inline

namespace kerf {

template <class T> struct dw {
  T hi, lo;
};

template <class T> KERF_DEVICE T fma(T a, T b, T c) { return __builtin_elementwise_fma(a, b, c); }

template <class T> KERF_DEVICE dw<T> two_sum(T a, T b) {
  T hi = a + b, ap = hi - b, bp = hi - ap;
  return {hi, (a - ap) + (b - bp)};
}
template <class T> KERF_DEVICE dw<T> fast_two_sum(T a, T b) {
  T hi = a + b;
  return {hi, b - (hi - a)};
}
template <class T> KERF_DEVICE dw<T> two_prod(T a, T b) {
  T hi = a * b;
  return {hi, fma(a, b, -hi)};
}

template <class T> KERF_DEVICE dw<T> neg(dw<T> x) { return {-x.hi, -x.lo}; }

namespace bare {

// AccurateDWPlusDW
template <class T> KERF_DEVICE dw<T> add(dw<T> x, dw<T> y) {
  dw<T> s = two_sum(x.hi, y.hi), t = two_sum(x.lo, y.lo);
  dw<T> v = fast_two_sum(s.hi, s.lo + t.hi);
  return fast_two_sum(v.hi, t.lo + v.lo);
}
// DWPlusFP
template <class T> KERF_DEVICE dw<T> add(dw<T> x, T y) {
  dw<T> s = two_sum(x.hi, y);
  return fast_two_sum(s.hi, x.lo + s.lo);
}
// DWTimesDW3
template <class T> KERF_DEVICE dw<T> mul(dw<T> x, dw<T> y) {
  dw<T> c = two_prod(x.hi, y.hi);
  T l = fma(x.lo, y.hi, fma(x.hi, y.lo, x.lo * y.lo));
  return fast_two_sum(c.hi, c.lo + l);
}
// DWTimesFP1, which the proof of the division rests on
template <class T> KERF_DEVICE dw<T> mul_fp1(dw<T> x, T y) {
  dw<T> c = two_prod(x.hi, y);
  dw<T> t = fast_two_sum(c.hi, x.lo * y);
  return fast_two_sum(t.hi, t.lo + c.lo);
}
// DWDivDW2
template <class T> KERF_DEVICE dw<T> div(dw<T> x, dw<T> y) {
  T th = x.hi / y.hi;
  dw<T> r = mul_fp1(y, th);
  T delta = (x.hi - r.hi) + (x.lo - r.lo);
  return fast_two_sum(th, delta / y.hi);
}

} // namespace bare

// What differs between the words.
template <class T> struct word;
template <> struct word<float> {
  static constexpr float exp_max = 88.73f, exp_min = -103.98f, inv_ln2 = 1.44269504088896340736f;
  static constexpr float ln2[3] = {0.69314575f, 1.4285906e-6f, 1.619851e-11f};
  static constexpr int head = 7, tail = 5;
  static KERF_DEVICE float rint(float x) { return __nv_rintf(x); }
  static KERF_DEVICE float power_of_two(int n) { return __builtin_bit_cast(float, (n + 127) << 23); }
};
template <> struct word<double> {
  static constexpr double exp_max = 709.79, exp_min = -745.14, inv_ln2 = 1.44269504088896340736;
  static constexpr double ln2[3] = {0.6931471805598903, 5.49792301870721e-14, 1.1612227229362532e-26};
  static constexpr int head = 13, tail = 8;
  static KERF_DEVICE double rint(double x) { return __nv_rint(x); }
  static KERF_DEVICE double power_of_two(int n) {
    return __builtin_bit_cast(double, (long long)(n + 1023) << 52);
  }
};

// 1/k! from k = 2, as pairs of doubles (computed with 400 bits).
struct inverse_factorials {
  double hi[21] = {0.5, 0.16666666666666666, 0.041666666666666664, 0.008333333333333333,
                   0.001388888888888889, 0.0001984126984126984, 2.48015873015873e-05,
                   2.7557319223985893e-06, 2.755731922398589e-07, 2.505210838544172e-08,
                   2.08767569878681e-09, 1.6059043836821613e-10, 1.1470745597729725e-11,
                   7.647163731819816e-13, 4.779477332387385e-14, 2.8114572543455206e-15,
                   1.5619206968586225e-16, 8.22063524662433e-18, 4.110317623312165e-19,
                   1.9572941063391263e-20, 8.896791392450574e-22};
  double lo[21] = {0.0, 9.25185853854297e-18, 2.3129646346357427e-18, 1.1564823173178714e-19,
                   -5.300543954373577e-20, 1.7209558293420705e-22, 2.1511947866775882e-23,
                   -1.858393274046472e-22, 2.3767714622250297e-23, -1.448814070935912e-24,
                   -1.20734505911326e-25, 1.2585294588752098e-26, 2.0655512752830745e-28,
                   7.03872877733453e-30, 4.399205485834081e-31, 1.6508842730861433e-31,
                   1.1910679660273754e-32, 2.2141894119604265e-34, 1.4412973378659527e-36,
                   -1.3643503830087908e-36, -7.911402614872376e-38};
};

template <class T, int K> KERF_DEVICE dw<T> inverse_factorial() {
  constexpr inverse_factorials all;
  constexpr T hi = T(all.hi[K]);
  constexpr T lo = sizeof(T) == 8 ? T(all.lo[K]) : T(all.hi[K] - double(hi));
  return {hi, lo};
}

template <class T, int K> KERF_DEVICE T horner_tail(T x) {
  constexpr inverse_factorials all;
  constexpr T c = T(all.hi[K]);
  if constexpr (K + 1 < word<T>::head + word<T>::tail)
    return fma(horner_tail<T, K + 1>(x), x, c);
  else
    return c;
}

template <class T, int K> KERF_DEVICE dw<T> horner(dw<T> x) {
  if constexpr (K < word<T>::head)
    return bare::add(inverse_factorial<T, K>(), bare::mul(horner<T, K + 1>(x), x));
  else
    return {horner_tail<T, K>(x.hi), T(0)};
}

// m = round(x / ln 2), r = x - m ln 2, then 1 + (r + r^2 p(r)) scaled by 2^m.
template <class T> KERF_DEVICE dw<T> exp(dw<T> x) {
  typedef word<T> w;
  if (x.hi > w::exp_max)
    return {T(1) / T(0), T(0)};
  if (x.hi < w::exp_min)
    return {T(0), T(0)};
  if (!(x.hi - x.hi == T(0)))
    return {x.hi, T(0)};
  T m = w::rint(x.hi * w::inv_ln2);
  dw<T> r = bare::add(bare::add(bare::add(x, -(m * w::ln2[0])), -(m * w::ln2[1])), -(m * w::ln2[2]));
  dw<T> e = bare::add(bare::add(r, bare::mul(bare::mul(r, r), horner<T, 0>(r))), T(1));
  int n = int(m), half = n / 2;
  T a = w::power_of_two(half), b = w::power_of_two(n - half);
  T hi = e.hi * a * b;
  return {hi, hi - hi == T(0) ? e.lo * a * b : T(0)};
}

} // namespace kerf

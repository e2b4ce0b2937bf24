// Conversions between double words, words and integers, each rounded once.
#pragma once
#include "doubleword.h"

namespace kerf {

KERF_DEVICE dw<float> dw32_from_f64(double x)
{
    const float hi = float(x);
    return settle(dw<float>{hi, float(x - double(hi))}, hi);
}

KERF_DEVICE double dw32_to_f64(dw<float> x) { return double(x.hi) + double(x.lo); }

// Exact.
KERF_DEVICE dw<double> dw64_from_dw32(dw<float> x)
{
    return settle(fast_two_sum(double(x.hi), double(x.lo)), double(x.hi));
}

KERF_DEVICE dw<float> dw32_from_dw64(dw<double> x)
{
    const float hi = float(x.hi);
    const double rest = (x.hi - double(hi)) + x.lo;
    return settle(fast_two_sum(hi, float(rest)), hi);
}

// To float with one rounding: where lo is not zero, hi is made odd, so that the last rounding sees on
// which side of a tie the number lies.
KERF_DEVICE float dw64_to_f32(dw<double> x)
{
    const unsigned long long bits = __builtin_bit_cast(unsigned long long, x.hi);
    const bool outward = (x.lo > 0.0) == (x.hi > 0.0);
    const bool nudge = x.lo != 0.0 && (bits & 1) == 0 && x.hi != 0.0;
    return float(__builtin_bit_cast(double, nudge ? (outward ? bits + 1 : bits - 1) : bits));
}

// Integers of 64 bits as two halves, each of them exact in a double.
KERF_DEVICE dw<double> dw64_from_i64(long long n)
{
    return fast_two_sum(double(n >> 32) * 4294967296.0, double((unsigned int)(n)));
}

KERF_DEVICE dw<double> dw64_from_u64(unsigned long long n)
{
    return fast_two_sum(double(n >> 32) * 4294967296.0, double((unsigned int)(n)));
}

KERF_DEVICE dw<float> dw32_from_i32(int n)
{
    return fast_two_sum(float(n >> 16) * 65536.0f, float(n & 0xffff));
}

KERF_DEVICE dw<float> dw32_from_u32(unsigned int n)
{
    return fast_two_sum(float(n >> 16) * 65536.0f, float(n & 0xffff));
}

// The largest integer not above the number in magnitude, as a double word.
template <class T> KERF_DEVICE dw<T> trunc(dw<T> x)
{
    const bool negative = x.hi < T(0);
    const dw<T> a = negative ? neg(x) : x;
    const T hi = word<T>::floor(a.hi);
    // A fraction in the high word means that the low word cannot reach the next integer.
    const dw<T> t = hi == a.hi ? fast_two_sum(hi, word<T>::floor(a.lo)) : from_word(hi);
    return negative ? neg(t) : t;
}

// Towards zero; beyond the range the nearest end, and for NaN what the word gives.
template <class T> KERF_DEVICE long long to_i64(dw<T> x)
{
    const dw<T> t = trunc(x);
    const T end = T(4611686018427387904.0); // 2^62
    if (word<T>::abs(t.hi) < end)
        return (long long)(t.hi) + (long long)(t.lo);
    if (t.hi == T(2) * end && t.lo < T(0))
        return 0x7fffffffffffffffll + (long long)(t.lo) + 1;
    if (word<T>::abs(t.hi) < T(2) * end || (t.hi == T(-2) * end && t.lo > T(0)))
        return (long long)(t.hi) + (long long)(t.lo);
    return (long long)(t.hi);
}

template <class T> KERF_DEVICE unsigned long long to_u64(dw<T> x)
{
    const dw<T> t = trunc(x);
    const T half = T(9223372036854775808.0); // 2^63
    if (t.hi == T(2) * half && t.lo < T(0))
        return 0ull - (unsigned long long)(-t.lo);
    if (!(t.hi > T(0)) || !(t.hi < T(2) * half))
        return (unsigned long long)(t.hi);
    const unsigned long long high = (unsigned long long)(t.hi);
    return t.lo < T(0) ? high - (unsigned long long)(-t.lo) : high + (unsigned long long)(t.lo);
}

} // namespace kerf

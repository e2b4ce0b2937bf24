// "Composite precision" (CMP) as Taufer et al. define it, in the form of figure 3 and equations 3 to 5
// of Surineni's thesis on floating-point trade-offs on GPUs. Here for comparison only: products keep no
// rounding error and quotients ignore the error parts, so that both are no better than the plain word,
// and results are not normalised. The high word is the thesis's `value`, the low word its `error`.
#pragma once
#include "doubleword.h"

extern "C" __attribute__((device)) float __nv_expf(float);
extern "C" __attribute__((device)) double __nv_exp(double);

namespace kerf {
namespace cmp {

KERF_DEVICE float builtin_exp(float x) { return __nv_expf(x); }
KERF_DEVICE double builtin_exp(double x) { return __nv_exp(x); }

template <class T> KERF_DEVICE dw<T> add(dw<T> x, dw<T> y)
{
    const T value = x.hi + y.hi;
    const T t = value - x.hi;
    return dw<T>{value, x.hi - (value - t) + (y.hi - t) + x.lo + y.lo};
}

template <class T> KERF_DEVICE dw<T> sub(dw<T> x, dw<T> y) { return cmp::add(x, neg(y)); }

template <class T> KERF_DEVICE dw<T> mul(dw<T> x, dw<T> y)
{
    return dw<T>{x.hi * y.hi, x.hi * y.lo + x.lo * y.hi + x.lo * y.lo};
}

template <class T> KERF_DEVICE dw<T> div(dw<T> x, dw<T> y)
{
    const T t = T(1) / y.hi;
    const T s = t * x.hi;
    const T diff = x.hi - s * y.hi;
    return dw<T>{s + t * diff, t * diff};
}

template <class T> KERF_DEVICE dw<T> fma(dw<T> x, dw<T> y, dw<T> z) { return cmp::add(cmp::mul(x, y), z); }

// Dekker's split of a word into two of half its length (figure 2, whose constant for double is misprinted).
template <class T> KERF_DEVICE dw<T> split(T x)
{
    const T c = T((1ull << (sizeof(T) == 4 ? 12 : 27)) + 1);
    const T p = x * c;
    const T high = p - (p - x);
    return dw<T>{high, x - high};
}

// exp(value) * exp(error) by the built-in function (equation 5), each split and multiplied as above.
template <class T> KERF_DEVICE dw<T> exp_bf(dw<T> x)
{
    return cmp::mul(split(builtin_exp(x.hi)), split(builtin_exp(x.lo)));
}

// The Taylor series (equation 3) until a term falls below 1e-20 exp(value) (equation 4). The powers and
// the factorial are kept apart, so that large arguments overflow, as the thesis says. `most` ends a
// series whose terms are NaN.
template <class T> KERF_DEVICE dw<T> exp_ts(dw<T> x)
{
    const int most = 400;
    const T enough = T(1e-20) * builtin_exp(x.hi);
    dw<T> sum = {T(1), T(0)}, power = {T(1), T(0)}, factorial = {T(1), T(0)};
    for (int n = 1; n <= most; ++n) {
        power = cmp::mul(power, x);
        factorial = cmp::mul(factorial, dw<T>{T(n), T(0)});
        const dw<T> term = cmp::div(power, factorial);
        sum = cmp::add(sum, term);
        if (!(word<T>::abs(term.hi) > enough))
            break;
    }
    return sum;
}

// The number in normal form, which comparisons need.
template <class T> KERF_DEVICE dw<T> normal(dw<T> x) { return settle(two_sum(x.hi, x.lo), x.hi); }

} // namespace cmp
} // namespace kerf

// exp, log, their relatives, and powers.
//
// exp: x = m ln 2 + r, |r| <= ln(2)/2, and Taylor's polynomial of e^r. log: x = 2^k m and a table of
// 1/m with few bits, so that z = m (1/m) - 1 is exact in three words and at most 2^-7; then Taylor's
// polynomial (P. T. P. Tang, ACM TOMS 16(4), 1990). The logarithm has three words and an error of
// about 2^-111, which x^y = e^(y log x) multiplies by up to 745.
#pragma once
#include "reference_arith.h"
#include "reference_tables.h"

namespace kerf {
namespace ref {

// e^r - 1 for |r| <= 0.36.
KERF_DEVICE dd expm1_reduced(dd r)
{
    const dd p = polynomial(exp_poly, 10, 12, r);
    return add_smaller(r, bare::mul(bare::mul(r, r), p));
}

// e^x = (1 + rest) 2^power, for |x| < 2^10 or so.
KERF_CORE dd exp_split(tw x, int *power)
{
    const double m = __builtin_rint(x.h * inverse_ln2[0]);
    const dd a = two_sum(x.h, -(m * ln2_parts[0]));
    const dd b = two_sum(x.m, -(m * ln2_parts[1]));
    const dd r = bare::add(bare::add(a, b), x.l - m * ln2_parts[2]);
    *power = int(m);
    return expm1_reduced(r);
}

// Overflow, or NaN.
KERF_DEVICE dd beyond(double x) { return dd{x > 0.0 ? infinity() : x, 0.0}; }

// e^x 2^n factor: the factor and the power are applied before the result is rounded to the range.
KERF_DEVICE dd exp_times(tw x, dd factor, int n)
{
    if (!(x.h < 1500.0))
        return beyond(x.h);
    if (x.h < -1500.0)
        return dd{0.0, 0.0};
    int power;
    const dd e = bare::add(exp_split(x, &power), 1.0);
    return scaled(bare::mul(e, factor), power + n);
}

KERF_DEVICE dd exp_scaled(tw x, int n)
{
    if (!(x.h < 1500.0))
        return beyond(x.h);
    if (x.h < -1500.0)
        return dd{0.0, 0.0};
    int power;
    const dd e = bare::add(exp_split(x, &power), 1.0);
    return scaled(e, power + n);
}

KERF_CORE dd exp(dd x) { return exp_scaled(triple(x), 0); }

KERF_CORE dd expm1(dd x)
{
    if (magnitude(x.hi) <= 0.35)
        return x.hi == 0.0 ? x : expm1_reduced(x);
    return add(exp(x), dd{-1.0, 0.0});
}

// 2^m e^rest, |rest| <= 0.36.
KERF_DEVICE dd exp_of_rest(dd rest, double m)
{
    return scaled(bare::add(expm1_reduced(rest), 1.0), int(m));
}

KERF_DEVICE dd exp2(dd x)
{
    if (!(magnitude(x.hi) < 1500.0))
        return x.hi < 0.0 ? dd{0.0, 0.0} : beyond(x.hi);
    const double m = __builtin_rint(x.hi);
    return exp_of_rest(bare::mul(bare::add(x, -m), pair(ln2_pair)), m);
}

KERF_DEVICE dd exp10(dd x)
{
    if (!(magnitude(x.hi) < 400.0))
        return x.hi < 0.0 ? dd{0.0, 0.0} : beyond(x.hi);
    const double m = __builtin_rint(x.hi * log2_10[0]);
    const dd a = two_sum(x.hi, -(m * lg2_parts[0]));
    const dd b = two_sum(x.lo, -(m * lg2_parts[1]));
    const dd r = bare::add(bare::add(a, b), -(m * lg2_parts[2]));
    return exp_of_rest(bare::mul(r, pair(ln10_pair)), m);
}

// log(1 + z) - log(r) + k ln 2 for |z| <= 2^-7, with r from the table.
KERF_DEVICE tw log_sum(tw z, const double *row, double k)
{
    const dd y = round_to_pair(z);
    const dd w = bare::mul(bare::mul(y, y), polynomial(log_poly, 9, 8, y));
    // The parts of ln 2 and of the table lie on one grid: the first two sums are exact.
    tw s = {k * ln2_parts[0] + row[1], 0.0, 0.0};
    accumulate(s, k * ln2_parts[1] + row[2]);
    accumulate(s, z.h);
    accumulate(s, z.m);
    accumulate(s, w.hi);
    accumulate(s, w.lo);
    accumulate(s, z.l + (k * ln2_parts[2] + row[3]));
    return s;
}

// The logarithm of 2^n x for a positive finite x = 2^k m, with sqrt(1/2) < m < sqrt(2). The power of two
// counts of_two times: once, or not at all for log2, which adds it later.
KERF_CORE tw log_split(tw x, int n, double of_two)
{
    int k = exponent(x.h);
    if (scale(x.h, -k) > 1.4142135623730951)
        k += 1;
    const tw m = scaled(x, -k);
    const double *row = log_table[int(m.h * 128.0) - 90];
    const dd p = two_prod(m.h, row[0]);
    const dd q = two_prod(m.m, row[0]);
    tw z = {p.hi - 1.0, 0.0, 0.0};
    accumulate(z, p.lo);
    accumulate(z, q.hi);
    accumulate(z, q.lo);
    accumulate(z, m.l * row[0]);
    return log_sum(z, row, of_two * double(k + n));
}

KERF_DEVICE double binary_exponent(double h)
{
    const int k = exponent(h);
    return double(scale(h, -k) > 1.4142135623730951 ? k + 1 : k);
}

// What has no finite logarithm.
KERF_DEVICE bool no_logarithm(double x) { return !(x > 0.0) || x == infinity(); }
KERF_DEVICE dd log_special(double x)
{
    return dd{x == 0.0 ? -infinity() : x < 0.0 ? nan() : x, 0.0};
}

KERF_DEVICE dd log(dd x)
{
    return no_logarithm(x.hi) ? log_special(x.hi) : round_to_pair(log_split(triple(x), 0, 1.0));
}

KERF_DEVICE dd log2(dd x)
{
    if (no_logarithm(x.hi))
        return log_special(x.hi);
    const dd y = round_to_pair(log_split(triple(x), 0, 0.0));
    return bare::add(bare::mul(y, pair(log2_e)), binary_exponent(x.hi));
}

KERF_DEVICE dd log10(dd x)
{
    return no_logarithm(x.hi) ? log_special(x.hi) : bare::mul(log(x), pair(log10_e));
}

KERF_CORE dd log1p(dd x)
{
    if (x.hi == 0.0)
        return x;
    if (magnitude(x.hi) < 0.0078125)
        return round_to_pair(log_sum(triple(x), log_table[128 - 90], 0.0));
    if (x.hi == infinity())
        return x;
    tw y = {1.0, 0.0, 0.0};
    accumulate(y, x.hi);
    accumulate(y, x.lo);
    return no_logarithm(y.h) ? log_special(y.h) : round_to_pair(log_split(y, 0, 1.0));
}

// y x in three words.
KERF_DEVICE tw product(dd y, tw x)
{
    const dd p = two_prod(y.hi, x.h), q = two_prod(y.hi, x.m), r = two_prod(y.lo, x.h);
    tw s = {p.hi, 0.0, 0.0};
    accumulate(s, p.lo);
    accumulate(s, q.hi);
    accumulate(s, r.hi);
    accumulate(s, q.lo + r.lo + __builtin_fma(y.hi, x.l, y.lo * x.m));
    return s;
}

KERF_CORE dd pow(dd x, dd y)
{
    const dd one = {1.0, 0.0};
    if (y.hi == 0.0 || equal(x, one))
        return one;
    if (x.hi != x.hi || y.hi != y.hi)
        return dd{x.hi + y.hi, 0.0};
    const dd a = fabs(x);
    if (magnitude(y.hi) == infinity()) {
        const bool grows = less(one, a) == (y.hi > 0.0);
        return dd{equal(a, one) ? 1.0 : grows ? infinity() : 0.0, 0.0};
    }
    // Whether y is an integer, and an odd one: its last word that is not zero tells.
    const double last = y.lo != 0.0 ? y.lo : y.hi;
    const bool whole = __builtin_floor(y.hi) == y.hi && __builtin_floor(y.lo) == y.lo;
    const bool odd = whole && __builtin_floor(last * 0.5) * 2.0 != last;
    dd z;
    if (a.hi == 0.0 || a.hi == infinity()) {
        z = dd{(a.hi == infinity()) == (y.hi > 0.0) ? infinity() : 0.0, 0.0};
    } else if (x.hi < 0.0 && !whole) {
        return dd{nan(), 0.0};
    } else {
        const tw l = log_split(triple(a), 0, 1.0);
        const double plain = y.hi * l.h;
        z = magnitude(plain) < 1500.0 ? exp_scaled(product(y, l), 0)
                                      : dd{plain > 0.0 ? infinity() : 0.0, 0.0};
    }
    return negative(x.hi) && odd ? neg(z) : z;
}

KERF_DEVICE dd powi(dd x, int n) { return pow(x, dd{double(n), 0.0}); }

} // namespace ref
} // namespace kerf

// Arc functions and roots.
//
// The angle of (b, a) with 0 <= a <= b comes from a table of atan(i/32) and Taylor's polynomial of the
// angle that is left, at most 1/64. atan, asin, acos are angles too, of (1, x) and of (sqrt(1 - x^2), x),
// where 1 - x^2 = (1 - x)(1 + x) keeps its relative accuracy next to 1.
#pragma once
#include "reference_arith.h"
#include "reference_tables.h"

namespace kerf {
namespace ref {

// atan(y/x) in [0, pi/2] for y, x >= 0, finite and not both zero, of magnitudes that do not overflow.
KERF_CORE dd angle(dd y, dd x)
{
    const bool steep = less(x, y);
    const dd a = steep ? x : y, b = steep ? y : x;
    const double i = __builtin_rint(a.hi / b.hi * 32.0), c = i * 0.03125;
    dd t = i == 0.0 ? div(a, b)
                    : bare::div(bare::add(a, neg(bare::mul(b, c))), bare::add(b, bare::mul(a, c)));
    const dd z = bare::mul(t, t);
    const dd p = polynomial(atan_poly, 4, 5, z);
    t = add_smaller(t, bare::mul(t, bare::mul(z, p)));
    if (i != 0.0)
        t = bare::add(pair(atan_table[int(i)]), t);
    return steep ? bare::add(pair(half_pi), neg(t)) : t;
}

KERF_DEVICE dd atan(dd x)
{
    if (x.hi == 0.0 || x.hi != x.hi)
        return x;
    const dd a = fabs(x);
    // Far out the angle is pi/2 - 1/x, which needs no more than the high word of 1/x.
    const dd z = a.hi > 0x1p200 ? bare::add(pair(half_pi), -1.0 / a.hi) : angle(a, dd{1.0, 0.0});
    return copysign(z, x);
}

KERF_DEVICE dd atan2(dd y, dd x)
{
    if (x.hi != x.hi || y.hi != y.hi)
        return dd{x.hi + y.hi, 0.0};
    dd a = fabs(y), b = fabs(x);
    dd z;
    if (a.hi == 0.0 || b.hi == infinity()) {
        z = a.hi == infinity() ? half(pair(half_pi)) : dd{0.0, 0.0};
    } else if (b.hi == 0.0 || a.hi == infinity()) {
        z = pair(half_pi);
    } else {
        const int k = exponent(a.hi > b.hi ? a.hi : b.hi);
        if (a.hi < b.hi * 0x1p-200) {
            // The angle is the quotient, whose words may be subnormal although both operands are not.
            const int ka = exponent(a.hi), kb = exponent(b.hi);
            a = dd{scale(a.hi, -ka), scale(a.lo, -ka)};
            b = dd{scale(b.hi, -kb), scale(b.lo, -kb)};
            z = scaled(bare::div(a, b), ka - kb);
        } else {
            a = dd{scale(a.hi, -k), scale(a.lo, -k)};
            b = dd{scale(b.hi, -k), scale(b.lo, -k)};
            z = angle(a, b);
        }
    }
    if (negative(x.hi))
        z = bare::add(pair(pi_pair), neg(z));
    return negative(y.hi) ? neg(z) : z;
}

// sqrt(1 - x^2); NaN where |x| > 1.
KERF_DEVICE dd complement(dd x)
{
    return sqrt(mul(bare::add(neg(x), 1.0), bare::add(x, 1.0)));
}

KERF_DEVICE dd asin(dd x)
{
    if (x.hi == 0.0 || x.hi != x.hi)
        return x;
    const dd c = complement(x);
    return c.hi != c.hi ? dd{nan(), 0.0} : copysign(angle(fabs(x), c), x);
}

KERF_DEVICE dd acos(dd x)
{
    const dd c = complement(x);
    if (c.hi != c.hi)
        return dd{nan(), 0.0};
    const dd z = angle(c, fabs(x));
    return x.hi < 0.0 ? bare::add(pair(pi_pair), neg(z)) : z;
}

KERF_DEVICE dd rsqrt(dd x)
{
    if (!(x.hi > 0.0) || x.hi == infinity())
        return dd{1.0 / word<double>::sqrt(x.hi), 0.0};
    const int k = exponent(x.hi) & ~1;
    const dd m = {scale(x.hi, -k), scale(x.lo, -k)};
    return scaled(bare::div(dd{1.0, 0.0}, bare::sqrt(m)), -k / 2);
}

// The cube root of x = 2^(3k) m, m in [1, 8), as a root and k. Halley's iteration in words from a linear
// start, then a step with the residue in pairs.
KERF_DEVICE dd cube_root(dd x, int *k)
{
    const int e = exponent(x.hi);
    *k = (e + 3072) / 3 - 1024;
    const dd m = {scale(x.hi, -3 * *k), scale(x.lo, -3 * *k)};
    double r = __builtin_fma(m.hi, 0.13, 0.95);
#pragma clang loop unroll(disable)
    for (int i = 0; i < 4; ++i) {
        const double c = r * r * r;
        r = r - r * ((c - m.hi) / __builtin_fma(2.0, c, m.hi));
    }
    const dd cube = bare::mul(two_prod(r, r), r);
    const dd rest = bare::add(m, neg(cube));
    const double d = rest.hi / (3.0 * r * r);
    return fast_two_sum(r, d - d * d / r);
}

KERF_DEVICE dd cbrt(dd x)
{
    if (x.hi == 0.0 || !is_finite(x.hi))
        return x;
    int k;
    const dd r = cube_root(fabs(x), &k);
    return copysign(scaled(r, k), x);
}

KERF_DEVICE dd rcbrt(dd x)
{
    if (x.hi == 0.0 || !is_finite(x.hi))
        return dd{1.0 / x.hi, 0.0};
    int k;
    const dd r = cube_root(fabs(x), &k);
    return copysign(scaled(bare::div(dd{1.0, 0.0}, r), -k), x);
}

} // namespace ref
} // namespace kerf

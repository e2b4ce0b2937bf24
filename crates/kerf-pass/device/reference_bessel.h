// Bessel functions of both kinds and the orders 0 and 1: J. C. P. Miller's backward recurrence up to 40,
// Hankel's asymptotic series beyond, the first terms of the series below 2^-20. The second kind comes
// from Neumann's series of the first (Abramowitz and Stegun, 9.1.27, 9.1.88, 9.2.5, 9.2.6).
//
// Next to their zeros the error is small beside the envelope, about 1/sqrt(x), and not beside the result.
#pragma once
#include "reference_erf_tables.h"
#include "reference_explog.h"
#include "reference_gamma_tables.h"
#include "reference_inverse.h"
#include "reference_trig.h"

namespace kerf {
namespace ref {

// The second kind from J_0, J_1 and what Neumann's series adds to them.
KERF_CORE dd second_kind(dd x, int n, dd j0, dd j1, dd series)
{
    dd l = add(round_to_pair(log_split(triple(x), -1, 1.0)), pair(euler_gamma));
    dd y;
    if (n == 0)
        y = mul(l, j0);
    else
        y = sub(mul(add(l, dd{-1.0, 0.0}), j1), div(j0, x));
    return mul(sub(y, series), pair(inverse_half_pi));
}

KERF_DEVICE dd bessel_small(dd x, int n, bool second)
{
    // z = x^2/4 is below 2^-42, and z^3 out of sight.
    const dd h = half(x), z = mul(h, h);
    const dd z2 = dd{z.hi * z.hi * 0.25, 0.0};
    const dd j0 = add(add(dd{1.0, 0.0}, neg(z)), z2);
    const dd j1 = mul(h, add(add(dd{1.0, 0.0}, neg(half(z))), dd{z2.hi * (1.0 / 3.0), 0.0}));
    if (!second)
        return n == 0 ? j0 : j1;
    // -2 J_2 + J_4 and -3/2 J_3 to the same order.
    const dd series = n == 0 ? add(neg(z), dd{z2.hi * 1.5, 0.0}) : mul(neg(mul(h, z)), dd{0.25, 0.0});
    return second_kind(x, n, j0, j1, series);
}

KERF_CORE dd bessel_recurrence(dd x, int n, bool second)
{
    const dd r = bare::div(dd{2.0, 0.0}, x);
    dd above = {0.0, 0.0}, here = {0x1p-900, 0.0};
    dd norm = {0.0, 0.0}, series = {0.0, 0.0};
    // From where J_k(x) is below 2^-112.
    int k = 36 + 2 * int(x.hi);
#pragma clang loop unroll(disable)
    for (; k > 0; --k) {
        if ((k & 1) == 0)
            norm = bare::add(norm, twice(here));
        const int i = (k - n) >> 1;
        if (((k - n) & 1) == 0 && i > 0) {
            const dd t = bare::div(bare::mul(here, double(k)), double(i * (n + i)));
            series = bare::add(series, (i & 1) != 0 ? neg(t) : t);
        }
        const dd below = bare::add(bare::mul(bare::mul(r, double(k)), here), neg(above));
        above = here;
        here = below;
    }
    norm = bare::add(norm, here);
    const dd j0 = bare::div(here, norm), j1 = bare::div(above, norm);
    if (!second)
        return n == 0 ? j0 : j1;
    return second_kind(x, n, j0, j1, bare::div(series, norm));
}

KERF_CORE dd bessel_far(dd x, int n, bool second)
{
    const dd r = div(dd{0.125, 0.0}, x);
    dd term = {1.0, 0.0}, p = term, q = {0.0, 0.0};
#pragma clang loop unroll(disable)
    for (int k = 1; k < 80 && magnitude(term.hi) > 0x1p-112; ++k) {
        const int odd = 2 * k - 1;
        term = bare::div(bare::mul(bare::mul(term, r), double(4 * n - odd * odd)), double(k));
        const dd t = (k & 2) != 0 ? neg(term) : term;
        if ((k & 1) != 0)
            q = bare::add(q, t);
        else
            p = bare::add(p, t);
    }
    // cos and sin of x - pi/4, times sqrt(2); for order 1 a quarter turn less.
    const dd s = sin(x), c = cos(x);
    dd a = bare::add(c, s), b = bare::add(s, neg(c));
    if (n == 1) {
        const dd t = a;
        a = b;
        b = neg(t);
    }
    const dd wave = second ? bare::add(bare::mul(p, b), bare::mul(q, a))
                           : bare::add(bare::mul(p, a), neg(bare::mul(q, b)));
    return mul(wave, mul(rsqrt(x), pair(inverse_sqrt_pi)));
}

KERF_CORE dd bessel(dd x, int n, bool second)
{
    if (x.hi != x.hi)
        return x;
    if (second && !(x.hi > 0.0))
        return dd{x.hi == 0.0 ? -infinity() : nan(), 0.0};
    const dd a = fabs(x);
    if (a.hi == infinity())
        return dd{0.0, 0.0};
    dd z;
    if (a.hi < 0x1p-20)
        z = bessel_small(a, n, second);
    else
        z = a.hi < 40.0 ? bessel_recurrence(a, n, second) : bessel_far(a, n, second);
    return n == 1 && negative(x.hi) ? neg(z) : z;
}

KERF_DEVICE dd j0(dd x) { return bessel(x, 0, false); }
KERF_DEVICE dd j1(dd x) { return bessel(x, 1, false); }
KERF_DEVICE dd y0(dd x) { return bessel(x, 0, true); }
KERF_DEVICE dd y1(dd x) { return bessel(x, 1, true); }

} // namespace ref
} // namespace kerf

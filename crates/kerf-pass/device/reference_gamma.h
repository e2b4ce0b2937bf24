// Gamma functions: a table of log(Gamma(2 + t))/t for |t| <= 1/2, the recurrence from there up to 16, and
// Stirling's series beyond, with its leading terms in three words. Arguments below -1/2 are reflected.
//
// lgamma of those is a difference: next to its zeros below -2 the error is small beside the terms of
// that difference, about |x log |x||, and not beside the result.
#pragma once
#include "reference_explog.h"
#include "reference_gamma_tables.h"
#include "reference_trig.h"

namespace kerf {
namespace ref {

// log(Gamma(2 + t)) for |t| <= 1/2.
KERF_CORE dd lgamma_near_two(dd t)
{
    const int i = int(t.hi * 4.0 + 2.0), row = i > 3 ? 3 : i;
    const dd s = bare::add(t, 0.375 - 0.25 * double(row));
    return mul(t, polynomial(lgamma_table[row], 9, 14, s));
}

// log(Gamma(z)) - log(2 pi)/2 for z >= 16.
KERF_CORE tw stirling(tw z)
{
    tw a = z;
    accumulate(a, -0.5);
    const tw l = log_split(z, 0, 1.0);
    tw s = product(dd{a.h, a.m}, l);
    accumulate(s, -z.h);
    accumulate(s, __builtin_fma(a.l, l.h, -z.m));
    const dd r = bare::div(dd{1.0, 0.0}, dd{z.h, z.m});
    const dd tail = bare::mul(r, polynomial(stirling_poly, 14, 6, bare::mul(r, r)));
    accumulate(s, tail.hi);
    accumulate(s, tail.lo - z.l);
    return s;
}

// For 1/2 <= x < 16: t and a product such that Gamma(x) is product Gamma(2 + t), or Gamma(2 + t)/product
// where `below` says so.
KERF_CORE dd recurrence(tw x, dd *t, bool *below)
{
    tw y = x;
    accumulate(y, -2.0);
    dd p = {1.0, 0.0};
    *below = x.h < 1.5;
    if (*below) {
        accumulate(y, 1.0);
        *t = round_to_pair(y);
        return round_to_pair(x);
    }
#pragma clang loop unroll(disable)
    while (y.h > 0.5) {
        // Gamma(x) = (x - 1) Gamma(x - 1)
        tw factor = y;
        accumulate(factor, 1.0);
        p = bare::mul(p, round_to_pair(factor));
        accumulate(y, -1.0);
    }
    *t = round_to_pair(y);
    return p;
}

// log(Gamma(x)) for x >= 1/2.
KERF_DEVICE dd lgamma_positive(tw x)
{
    if (x.h >= 16.0) {
        tw s = stirling(x);
        accumulate(s, log_sqrt_two_pi[0]);
        accumulate(s, log_sqrt_two_pi[1]);
        return is_finite(s.h) ? round_to_pair(s) : dd{infinity(), 0.0};
    }
    dd t;
    bool below;
    const dd p = recurrence(x, &t, &below);
    const dd g = lgamma_near_two(t);
    // Below 3/2 the product is 1 + t, whose logarithm and the rest have their zero in common.
    if (below)
        return add(g, neg(log1p(t)));
    return equal(p, dd{1.0, 0.0}) ? g : add(g, log(p));
}

KERF_DEVICE tw one_minus(dd x)
{
    tw z = {1.0, 0.0, 0.0};
    accumulate(z, -x.hi);
    accumulate(z, -x.lo);
    return z;
}

KERF_CORE dd lgamma(dd x)
{
    if (!is_finite(x.hi))
        return dd{x.hi * x.hi, 0.0};
    if (x.hi == 0.0)
        return dd{infinity(), 0.0};
    if (x.hi >= 0.5)
        return lgamma_positive(triple(x));
    if (x.hi > -0.5)
        // Gamma(2 + x) = x (1 + x) Gamma(x)
        return add(neg(log(fabs(x))), add(lgamma_near_two(x), neg(log1p(x))));
    const dd s = fabs(sinpi(x));
    if (s.hi == 0.0)
        return dd{infinity(), 0.0};
    return sub(log(div(pair(pi_pair), s)), lgamma_positive(one_minus(x)));
}

// Gamma(x) times a factor, for x >= 1/2, or the inverse of Gamma(x) times it.
KERF_CORE dd gamma_times(tw x, dd factor, bool inverse)
{
    tw e;
    dd f;
    if (x.h >= 16.0) {
        e = stirling(x);
        f = pair(sqrt_two_pi);
    } else {
        dd t;
        bool below;
        const dd p = recurrence(x, &t, &below);
        e = triple(lgamma_near_two(t));
        f = below ? bare::div(dd{1.0, 0.0}, p) : p;
    }
    if (inverse)
        return exp_times(tw{-e.h, -e.m, -e.l}, bare::div(factor, f), 0);
    return exp_times(e, bare::mul(factor, f), 0);
}

KERF_DEVICE dd tgamma(dd x)
{
    if (x.hi != x.hi || x.hi == infinity())
        return x;
    // 1/x - 0.577...
    if (magnitude(x.hi) < 0x1p-120)
        return rcp(x);
    if (x.hi >= 0.5)
        return x.hi > 200.0 ? dd{infinity(), 0.0} : gamma_times(triple(x), dd{1.0, 0.0}, false);
    const dd s = sinpi(x);
    if (!(magnitude(s.hi) > 0.0))
        return dd{nan(), 0.0};
    // pi/(sin(pi x) Gamma(1 - x))
    if (x.hi < -200.0)
        return dd{s.hi < 0.0 ? -0.0 : 0.0, 0.0};
    return gamma_times(one_minus(x), bare::div(pair(pi_pair), s), true);
}

} // namespace ref
} // namespace kerf

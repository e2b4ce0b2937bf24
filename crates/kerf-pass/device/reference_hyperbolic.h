// Hyperbolic functions and their inverses, through expm1 and log1p, which lose nothing near zero.
#pragma once
#include "reference_explog.h"

namespace kerf {
namespace ref {

// e^|x|/2 where e^-|x| is below the last bit, also just below overflow.
KERF_DEVICE dd half_exp(dd a) { return exp_scaled(triple(a), -1); }

KERF_DEVICE dd sinh(dd x)
{
    if (x.hi == 0.0 || x.hi != x.hi)
        return x;
    const dd a = fabs(x);
    dd z;
    if (a.hi > 40.0) {
        z = half_exp(a);
    } else {
        const dd e = expm1(a);
        z = half(bare::add(e, bare::div(e, bare::add(e, 1.0))));
    }
    return copysign(z, x);
}

KERF_DEVICE dd cosh(dd x)
{
    if (x.hi != x.hi)
        return x;
    const dd a = fabs(x);
    if (a.hi > 40.0)
        return half_exp(a);
    const dd e = exp(a);
    return half(bare::add(e, bare::div(dd{1.0, 0.0}, e)));
}

KERF_DEVICE dd tanh(dd x)
{
    if (x.hi == 0.0 || x.hi != x.hi)
        return x;
    const dd a = twice(fabs(x));
    dd z;
    if (a.hi < 0.35) {
        const dd e = expm1(a);
        z = bare::div(e, bare::add(e, 2.0));
    } else {
        // 1 - 2/(e^2a + 1), with the difference in the low word where it is small.
        const dd e = exp(a);
        z = add(dd{1.0, 0.0}, div(dd{-2.0, 0.0}, add(e, dd{1.0, 0.0})));
    }
    return copysign(z, x);
}

KERF_DEVICE dd asinh(dd x)
{
    if (x.hi == 0.0 || !is_finite(x.hi))
        return x;
    const dd a = fabs(x);
    dd z;
    if (a.hi > 0x1p60) {
        z = round_to_pair(log_split(triple(a), 1, 1.0));
    } else {
        // log(1 + a + a^2/(1 + sqrt(1 + a^2)))
        const dd s = bare::mul(a, a);
        const dd root = bare::sqrt(bare::add(s, 1.0));
        z = log1p(bare::add(a, bare::div(s, bare::add(root, 1.0))));
    }
    return copysign(z, x);
}

KERF_DEVICE dd acosh(dd x)
{
    if (!is_finite(x.hi))
        return dd{x.hi < 0.0 ? nan() : x.hi, 0.0};
    if (x.hi > 0x1p60)
        return round_to_pair(log_split(triple(x), 1, 1.0));
    // t = x - 1: log(1 + t + sqrt(t (t + 2)))
    const dd t = bare::add(x, -1.0);
    if (t.hi < 0.0)
        return dd{nan(), 0.0};
    return log1p(bare::add(t, bare::sqrt(bare::mul(t, bare::add(t, 2.0)))));
}

KERF_DEVICE dd atanh(dd x)
{
    if (x.hi == 0.0 || x.hi != x.hi)
        return x;
    const dd a = fabs(x);
    const dd rest = bare::add(neg(a), 1.0);
    if (!(rest.hi > 0.0))
        return dd{rest.hi == 0.0 ? copysign(dd{infinity(), 0.0}, x).hi : nan(), 0.0};
    // log(1 + 2a/(1 - a))/2
    return copysign(half(log1p(div(twice(a), rest))), x);
}

} // namespace ref
} // namespace kerf

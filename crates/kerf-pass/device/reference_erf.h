// Error functions: Taylor's polynomial of erf up to 1/2, beyond it e^(-x^2) times the scaled function
// e^(x^2) erfc(x), for which there is a table. x^2 is carried in three words, since its error counts as
// it stands in the result, down to where that underflows.
#pragma once
#include "reference_erf_tables.h"
#include "reference_explog.h"

namespace kerf {
namespace ref {

// erf x for |x| <= 1/2.
KERF_CORE dd erf_small(dd x) { return mul(x, polynomial(erf_poly, 10, 12, bare::mul(x, x))); }

// e^(x^2) erfc(x) for x >= 0.43.
KERF_CORE dd erfcx_large(dd x)
{
    if (x.hi > 0x1p60)
        return mul(rcp(x), pair(inverse_sqrt_pi));
    const dd t = bare::div(bare::add(x, -3.0), bare::add(x, 3.0));
    const int i = int((t.hi + 0.75) * (32.0 / 7.0));
    const int row = i < 0 ? 0 : i > 7 ? 7 : i;
    const dd s = bare::add(t, 0.75 - 0.109375 * double(2 * row + 1));
    const dd p = polynomial_uneven(erfcx_table[row], 8, 13, s);
    return bare::div(p, bare::add(twice(x), 1.0));
}

KERF_DEVICE tw square(dd x) { return product(x, triple(x)); }
KERF_DEVICE tw negated(tw x) { return tw{-x.h, -x.m, -x.l}; }

// erfc x for x >= 1/2.
KERF_CORE dd erfc_tail(dd x)
{
    if (x.hi > 28.0)
        return dd{0.0, 0.0};
    return exp_times(negated(square(x)), erfcx_large(x), 0);
}

KERF_DEVICE dd erf(dd x)
{
    if (x.hi == 0.0 || x.hi != x.hi)
        return x;
    const dd a = fabs(x);
    const dd z = a.hi < 0.5 ? erf_small(a) : add(dd{1.0, 0.0}, neg(erfc_tail(a)));
    return copysign(z, x);
}

KERF_DEVICE dd erfc(dd x)
{
    if (x.hi != x.hi)
        return x;
    if (magnitude(x.hi) < 0.5)
        return add(dd{1.0, 0.0}, neg(erf_small(x)));
    const dd z = erfc_tail(fabs(x));
    return x.hi < 0.0 ? add(dd{2.0, 0.0}, neg(z)) : z;
}

KERF_DEVICE dd erfcx(dd x)
{
    if (x.hi != x.hi)
        return x;
    if (x.hi >= 0.5)
        return erfcx_large(x);
    if (x.hi < -27.0)
        return dd{infinity(), 0.0};
    const tw s = square(x);
    if (x.hi > -0.5)
        return exp_times(s, add(dd{1.0, 0.0}, neg(erf_small(x))), 0);
    return add(exp_scaled(s, 1), neg(erfcx_large(neg(x))));
}

// erfc(-x/sqrt(2))/2, with the square of x itself.
KERF_DEVICE dd normcdf(dd x)
{
    if (x.hi != x.hi)
        return x;
    const dd y = mul(x, pair(sqrt_half));
    if (magnitude(x.hi) < 0.7)
        return half(add(dd{1.0, 0.0}, erf_small(y)));
    dd z = {0.0, 0.0};
    if (magnitude(x.hi) < 40.0) {
        const tw s = square(x);
        z = exp_times(tw{-0.5 * s.h, -0.5 * s.m, -0.5 * s.l}, erfcx_large(fabs(y)), -1);
    }
    return x.hi < 0.0 ? z : add(dd{1.0, 0.0}, neg(z));
}

} // namespace ref
} // namespace kerf

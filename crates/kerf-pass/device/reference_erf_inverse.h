// Inverses of the error functions by Halley's iteration, which converges with the third power: of erf up
// to 1/2, and of the logarithm of erfc in the tail, where that is nearly a parabola.
#pragma once
#include "reference_erf.h"

namespace kerf {
namespace ref {

// erf(y) = a for 0 < a <= 1/2.
KERF_CORE dd erfinv_small(dd a)
{
    const double root = 0.88622692545275805; // sqrt(pi)/2
    dd y = {a.hi * root * (1.0 + 0.2618 * a.hi * a.hi), 0.0};
    if (a.hi < 0x1p-60) {
        // y^3 is out of sight.
        return div(a, pair(erf_poly + 32));
    }
#pragma clang loop unroll(disable)
    for (int i = 0; i < 4; ++i) {
        const dd rest = bare::add(erf_small(y), neg(a));
        const double step = rest.hi * root * exp(dd{y.hi * y.hi, 0.0}).hi;
        y = bare::add(y, -(step / (1.0 + y.hi * step)));
    }
    return y;
}

// erfc(y) = c for 0 < c <= 0.51, by log erfc(y) = -y^2 + log(e^(y^2) erfc(y)).
KERF_CORE dd erfcinv_tail(dd c)
{
    const double root = 0.88622692545275805;
    const dd target = log(c);
    const double l = -target.hi;
    const double guess = l - 0.5 * log(dd{l * 3.14159265, 0.0}).hi;
    dd y = {word<double>::sqrt(guess), 0.0};
#pragma clang loop unroll(disable)
    for (int i = 0; i < 4; ++i) {
        const dd e = erfcx_large(y);
        const dd rest = bare::add(bare::add(log(e), neg(bare::mul(y, y))), neg(target));
        // Newton's step, and the second derivative times that over twice the first.
        const double bend = rest.hi * (y.hi * e.hi * root - 0.5);
        const double step = -rest.hi * root * e.hi;
        y = bare::add(y, -(step / (1.0 - bend)));
    }
    return y;
}

KERF_DEVICE dd erfinv(dd x)
{
    if (x.hi == 0.0 || x.hi != x.hi)
        return x;
    const dd a = fabs(x), c = bare::add(neg(a), 1.0);
    if (!(c.hi > 0.0))
        return dd{c.hi == 0.0 ? copysign(dd{infinity(), 0.0}, x).hi : nan(), 0.0};
    return copysign(a.hi <= 0.5 ? erfinv_small(a) : erfcinv_tail(c), x);
}

// y for erfc(y) = x, given 1 - x and 2 - x.
KERF_DEVICE dd erfcinv_of(dd x, dd from_one, dd from_two)
{
    if (x.hi < 0.5)
        return erfcinv_tail(x);
    if (x.hi > 1.5)
        return neg(erfcinv_tail(from_two));
    if (from_one.hi == 0.0)
        return dd{0.0, 0.0};
    return copysign(erfinv_small(fabs(from_one)), from_one);
}

KERF_DEVICE dd erfcinv(dd x)
{
    if (x.hi != x.hi)
        return x;
    const dd rest = bare::add(neg(x), 2.0);
    if (!(x.hi > 0.0))
        return dd{x.hi == 0.0 ? infinity() : nan(), 0.0};
    if (!(rest.hi > 0.0))
        return dd{rest.hi == 0.0 ? -infinity() : nan(), 0.0};
    return erfcinv_of(x, bare::add(neg(x), 1.0), rest);
}

// -sqrt(2) erfcinv(2x)
KERF_DEVICE dd normcdfinv(dd x)
{
    if (x.hi != x.hi)
        return x;
    const dd rest = bare::add(neg(x), 1.0);
    if (!(x.hi > 0.0))
        return dd{x.hi == 0.0 ? -infinity() : nan(), 0.0};
    if (!(rest.hi > 0.0))
        return dd{rest.hi == 0.0 ? infinity() : nan(), 0.0};
    const dd y = erfcinv_of(twice(x), bare::add(neg(twice(x)), 1.0), twice(rest));
    return y.hi == 0.0 ? dd{0.0, 0.0} : neg(twice(mul(y, pair(sqrt_half))));
}

} // namespace ref
} // namespace kerf

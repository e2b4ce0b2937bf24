// sin, cos, tan for every finite argument.
//
// The argument is multiplied by 2/pi in integers (Payne and Hanek, SIGNUM Newsletter 18, 1983): each of
// its words contributes 53 bits times a window of 320 bits of 2/pi, modulo 4. The fraction is known to
// 2^-264, and the number of pairs of doubles makes one within 2^-130 of a multiple of pi/2 unlikely to
// exist, so that the reduced argument has its 106 bits.
#pragma once
#include "reference_arith.h"
#include "reference_tables.h"

namespace kerf {
namespace ref {

// A fraction of 320 bits, the highest limb first; its unit is 2^-318 quarter turns.
struct turn {
    limb w[5];
};

// Adds the multiple of 2/pi that a word is, modulo 4.
KERF_DEVICE void add_quarters(turn &s, double x)
{
    const limb bits = bits_of(x);
    const int field = int(bits >> 52) & 0x7ff;
    const limb fraction = bits & 0xfffffffffffffull;
    const limb mantissa = field != 0 ? fraction | 0x10000000000000ull : fraction;
    // |x| = mantissa 2^e; bits of 2/pi above 2^(2 - e) give multiples of 4.
    const int e = (field != 0 ? field : 1) - 1075;
    const int start = e - 2 + 6 * 64;
    if (start < 0)
        return;
    const int shift = start & 63;
    const limb *p = two_over_pi + (start >> 6);
    const limb flip = negative(x) ? ~0ull : 0ull;
    limb carry_product = 0, carry_sum = flip & 1;
#pragma unroll
    for (int i = 4; i >= 0; --i) {
        // Two shifts, since one by 64 is not defined.
        const limb window = (p[i] << shift) | (p[i + 1] >> 1 >> (63 - shift));
        const unsigned __int128 product = (unsigned __int128)(mantissa)*window + carry_product;
        carry_product = limb(product >> 64);
        const unsigned __int128 sum = (unsigned __int128)(limb(product) ^ flip) + s.w[i] + carry_sum;
        s.w[i] = limb(sum);
        carry_sum = limb(sum >> 64);
    }
}

// x - n pi/2 with |result| <= pi/4 and n modulo 4, for a finite x.
KERF_CORE dd reduce_quarters(dd x, int *n)
{
    turn s = {{0, 0, 0, 0, 0}};
    double next = x.hi;
#pragma clang loop unroll(disable)
    for (int i = 0; i < 2; ++i) {
        add_quarters(s, next);
        next = x.lo;
    }
    const limb q = (s.w[0] + (1ull << 61)) >> 62;
    *n = int(q & 3);
    s.w[0] -= q << 62;
    const limb flip = s.w[0] >> 63 != 0 ? ~0ull : 0ull;
    limb carry = flip & 1;
#pragma unroll
    for (int i = 4; i >= 0; --i) {
        const unsigned __int128 sum = (unsigned __int128)(s.w[i] ^ flip) + carry;
        s.w[i] = limb(sum);
        carry = limb(sum >> 64);
    }
    int zeros = 0;
#pragma clang loop unroll(disable)
    while (s.w[0] == 0 && zeros < 4 * 64) {
        s.w[0] = s.w[1];
        s.w[1] = s.w[2];
        s.w[2] = s.w[3];
        s.w[3] = s.w[4];
        s.w[4] = 0;
        zeros += 64;
    }
    if (s.w[0] == 0)
        return dd{0.0, 0.0};
    const int shift = __builtin_clzll(s.w[0]);
    zeros += shift;
    const limb a = (s.w[0] << shift) | (s.w[1] >> 1 >> (63 - shift));
    const limb b = (s.w[1] << shift) | (s.w[2] >> 1 >> (63 - shift));
    const limb c = (s.w[2] << shift) | (s.w[3] >> 1 >> (63 - shift));
    // Three times 53 bits.
    const double unit = pow2<double>(2 - zeros - 53);
    const double f1 = double(a >> 11) * unit;
    const double f2 = double(((a & 0x7ff) << 42) | (b >> 22)) * (unit * 0x1p-53);
    const double f3 = double(((b & 0x3fffff) << 31) | (c >> 33)) * (unit * 0x1p-106);
    const dd r = bare::mul(bare::add(fast_two_sum(f1, f2), f3), pair(half_pi));
    return flip != 0 ? neg(r) : r;
}

// sin r and cos r for |r| <= pi/4.
KERF_CORE dd sin_reduced(dd r)
{
    const dd z = bare::mul(r, r);
    const dd p = polynomial(sin_poly, 7, 7, z);
    return add_smaller(r, bare::mul(r, bare::mul(z, p)));
}

KERF_CORE dd cos_reduced(dd r)
{
    const dd z = bare::mul(r, r);
    const dd p = polynomial(cos_poly, 7, 6, z);
    const dd h = half(z);
    return bare::add(add_smaller(neg(h), bare::mul(bare::mul(z, z), p)), 1.0);
}

KERF_DEVICE dd wave(dd r, int quarter)
{
    const dd z = (quarter & 1) != 0 ? cos_reduced(r) : sin_reduced(r);
    return (quarter & 2) != 0 ? neg(z) : z;
}

KERF_DEVICE dd reduced(dd x, int *n)
{
    *n = 0;
    return magnitude(x.hi) < 0.785 ? x : reduce_quarters(x, n);
}

KERF_DEVICE dd sin(dd x)
{
    if (!is_finite(x.hi))
        return dd{x.hi - x.hi, 0.0};
    if (x.hi == 0.0)
        return x;
    int n;
    const dd r = reduced(x, &n);
    return wave(r, n);
}

KERF_DEVICE dd cos(dd x)
{
    if (!is_finite(x.hi))
        return dd{x.hi - x.hi, 0.0};
    int n;
    const dd r = reduced(x, &n);
    return wave(r, n + 1);
}

KERF_DEVICE dd tan(dd x)
{
    if (!is_finite(x.hi))
        return dd{x.hi - x.hi, 0.0};
    if (x.hi == 0.0)
        return x;
    int n;
    const dd r = reduced(x, &n);
    const dd s = sin_reduced(r), c = cos_reduced(r);
    return (n & 1) != 0 ? bare::div(neg(c), s) : bare::div(s, c);
}

// x modulo 2 and the nearest multiple n of 1/2: x - n/2, exactly.
KERF_DEVICE dd reduce_halves(dd x, int *n)
{
    const double a = x.hi - 2.0 * __builtin_rint(x.hi * 0.5);
    const double b = x.lo - 2.0 * __builtin_rint(x.lo * 0.5);
    const dd s = two_sum(a, b);
    const double q = __builtin_rint(2.0 * s.hi);
    *n = int(q);
    return two_sum(s.hi - 0.5 * q, s.lo);
}

// sin(pi x) is zero at the integers, with the sign of x; cos(pi x) is +0 halfway between them.
KERF_DEVICE dd sinpi(dd x)
{
    if (!is_finite(x.hi))
        return dd{x.hi - x.hi, 0.0};
    int n;
    const dd r = reduce_halves(x, &n);
    if (r.hi == 0.0 && (n & 1) == 0)
        return dd{negative(x.hi) ? -0.0 : 0.0, 0.0};
    return wave(mul(r, pair(pi_pair)), n);
}

KERF_DEVICE dd cospi(dd x)
{
    if (!is_finite(x.hi))
        return dd{x.hi - x.hi, 0.0};
    int n;
    const dd r = reduce_halves(x, &n);
    if (r.hi == 0.0 && (n & 1) != 0)
        return dd{0.0, 0.0};
    return wave(mul(r, pair(pi_pair)), n + 1);
}

} // namespace ref
} // namespace kerf

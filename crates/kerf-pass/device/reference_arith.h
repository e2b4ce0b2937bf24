// Arithmetic of the reference, bit for bit that of kerf_num::Dd.
//
// Results are settled as there: where a word of the result is not finite, or a zero comes out, the
// result is that of the operation on the high words, with a zero low word.
#pragma once
#include "reference_words.h"

namespace kerf {
namespace ref {

KERF_DEVICE dd settle(dd result, double plain)
{
    const bool sound = is_finite(result.hi) && is_finite(result.lo);
    return sound && (result.hi != 0.0 || plain != 0.0) ? result : dd{plain, 0.0};
}

KERF_DEVICE dd add(dd a, dd b) { return settle(bare::add(a, b), a.hi + b.hi); }
KERF_DEVICE dd sub(dd a, dd b) { return add(a, neg(b)); }
KERF_DEVICE dd mul(dd a, dd b) { return settle(bare::mul(a, b), a.hi * b.hi); }
KERF_DEVICE dd div(dd a, dd b) { return settle(bare::div(a, b), a.hi / b.hi); }
KERF_DEVICE dd fma(dd a, dd b, dd c) { return add(mul(a, b), c); }
KERF_DEVICE dd rcp(dd a) { return div(dd{1.0, 0.0}, a); }
KERF_DEVICE dd sqrt(dd a) { return settle(bare::sqrt(a), word<double>::sqrt(a.hi)); }
KERF_DEVICE dd fabs(dd a) { return negative(a.hi) ? neg(a) : a; }
KERF_DEVICE dd copysign(dd a, dd sign) { return negative(a.hi) == negative(sign.hi) ? a : neg(a); }

// The words one after the other: where hi is no integer, none lies between hi and hi + lo.
KERF_DEVICE dd by_words(dd a, double hi, double lo)
{
    if (hi != a.hi || a.lo == 0.0)
        return dd{hi, 0.0};
    const dd sum = fast_two_sum(hi, lo);
    return sum.hi == 0.0 ? copysign(sum, a) : sum;
}

KERF_DEVICE dd floor(dd a) { return by_words(a, __builtin_floor(a.hi), __builtin_floor(a.lo)); }
KERF_DEVICE dd ceil(dd a) { return by_words(a, __builtin_ceil(a.hi), __builtin_ceil(a.lo)); }
KERF_DEVICE dd trunc(dd a) { return negative(a.hi) ? ceil(a) : floor(a); }

KERF_DEVICE dd rint(dd a)
{
    if (magnitude(a.hi - __builtin_trunc(a.hi)) == 0.5 && a.lo != 0.0) {
        // Not a tie: the low word says which side.
        const double toward = a.lo > 0.0 ? __builtin_ceil(a.hi) : __builtin_floor(a.hi);
        return copysign(dd{toward, 0.0}, a);
    }
    return by_words(a, __builtin_rint(a.hi), __builtin_rint(a.lo));
}

// Half away from zero.
KERF_DEVICE dd round(dd a) { return copysign(floor(add(fabs(a), dd{0.5, 0.0})), a); }

// 1 equal, 2 greater, 4 less, 8 unordered.
KERF_DEVICE int compare_words(double a, double b) { return a == b ? 1 : a > b ? 2 : a < b ? 4 : 8; }

KERF_DEVICE int compare(dd a, dd b)
{
    const int c = compare_words(a.hi, b.hi);
    return c == 1 ? compare_words(a.lo, b.lo) : c;
}

// minNum and maxNum: a NaN loses against a number, and -0 is below +0.
KERF_DEVICE dd fmin(dd a, dd b)
{
    const int c = compare(a, b);
    return a.hi != a.hi || c == 2 || (c == 1 && negative(b.hi)) ? b : a;
}

KERF_DEVICE dd fmax(dd a, dd b)
{
    const int c = compare(a, b);
    return a.hi != a.hi || c == 4 || (c == 1 && !negative(b.hi)) ? b : a;
}

KERF_DEVICE dd fdim(dd a, dd b) { return fmax(sub(a, b), dd{0.0, 0.0}); }
KERF_DEVICE dd saturate(dd a) { return fmin(fmax(a, dd{0.0, 0.0}), dd{1.0, 0.0}); }
KERF_DEVICE dd norm3d(dd a, dd b, dd c) { return sqrt(add(add(mul(a, a), mul(b, b)), mul(c, c))); }
KERF_DEVICE dd rnorm3d(dd a, dd b, dd c) { return rcp(norm3d(a, b, c)); }

KERF_DEVICE dd from_i64(long long n)
{
    const double hi = double(n);
    // The difference has at most 11 bits. Rounding up to 2^63 leaves the range: there it wraps back.
    const limb back = hi == 0x1p63 ? 1ull << 63 : limb((long long)(hi));
    return dd{hi, double((long long)(limb(n) - back))};
}

KERF_DEVICE dd from_u64(unsigned long long n)
{
    const double hi = double(n);
    const limb back = hi == 0x1p64 ? 0 : limb(hi);
    return dd{hi, double((long long)(n - back))};
}

KERF_DEVICE dd ldexp(dd a, int n)
{
    const double hi = scale(a.hi, n), lo = scale(a.lo, n);
    return settle(two_sum(hi, lo), hi);
}

// sqrt(a^2 + b^2) without overflow or underflow of the squares.
KERF_DEVICE dd hypot(dd a, dd b)
{
    const double x = magnitude(a.hi), y = magnitude(b.hi);
    const double big = x > y ? x : y;
    if (x == infinity() || y == infinity())
        return dd{infinity(), 0.0};
    if (x != x || y != y || big == 0.0)
        return dd{x + y, 0.0};
    const int k = exponent(big);
    const dd p = {scale(a.hi, -k), scale(a.lo, -k)}, q = {scale(b.hi, -k), scale(b.lo, -k)};
    return scaled(bare::sqrt(bare::add(bare::mul(p, p), bare::mul(q, q))), k);
}

// 1/hypot, also where that overflows or is subnormal.
KERF_DEVICE dd rhypot(dd a, dd b)
{
    const double x = magnitude(a.hi), y = magnitude(b.hi);
    const double big = x > y ? x : y;
    if (x == infinity() || y == infinity())
        return dd{0.0, 0.0};
    if (x != x || y != y || big == 0.0)
        return dd{1.0 / (x + y), 0.0};
    const int k = exponent(big);
    const dd p = {scale(a.hi, -k), scale(a.lo, -k)}, q = {scale(b.hi, -k), scale(b.lo, -k)};
    const dd root = bare::sqrt(bare::add(bare::mul(p, p), bare::mul(q, q)));
    return scaled(bare::div(dd{1.0, 0.0}, root), -k);
}

} // namespace ref
} // namespace kerf

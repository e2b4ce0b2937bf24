// 128-bit integers and exact conversions, in operations that every device has: no calls of a compiler's runtime.
#pragma once
#include "values.h"

typedef __int128 s128;
typedef unsigned __int128 u128;

DEVICE u64 high_product(u64 a, u64 b) { return u64((u128(a) * b) >> 64); }
DEVICE bool fits_64_bits(s128 v) { return v == s128(s64(v)); }
DEVICE u128 magnitude(s128 v) { return v < 0 ? -u128(v) : u128(v); }
DEVICE s128 least_s128() { return s128(u128(1) << 127); }

// Bits of a number other than zero.
DEVICE u32 bit_length(u128 m)
{
    const u64 high = u64(m >> 64);
    return high != 0 ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll(u64(m));
}

// The upper `bits` bits of a magnitude that has more; the lowest is set if one below it is, which keeps a later rounding
// to fewer bits correct.
DEVICE u64 upper_bits(u128 m, u32 bits, int &dropped)
{
    dropped = int(bit_length(m)) - int(bits);
    const u64 lost = (m & ((u128(1) << dropped) - 1)) != 0;
    return u64(m >> dropped) | lost;
}

// The nearest double, ties to even.
DEVICE double nearest_double(s128 v)
{
    if (fits_64_bits(v))
        return double(s64(v));
    int dropped;
    const double m = double(upper_bits(magnitude(v), 63, dropped)) * kerf::pow2<double>(dropped);
    return v < 0 ? -m : m;
}

// The nearest float, ties to even.
DEVICE float nearest_float(s128 v)
{
    if (fits_64_bits(v))
        return float(s64(v));
    int dropped;
    const float m = float(upper_bits(magnitude(v), 63, dropped)) * kerf::pow2<float>(dropped);
    return v < 0 ? -m : m;
}

// A double that rounds to a narrower format as the integer would.
DEVICE double odd_double(s128 v)
{
    const u128 m = magnitude(v);
    double size;
    if (m >> 53 == 0) {
        size = double(s64(m));
    } else {
        int dropped;
        size = double(s64(upper_bits(m, 53, dropped)));
        size *= kerf::pow2<double>(dropped);
    }
    return v < 0 ? -size : size;
}

// The integer that x is, for an integral x below 2^126 in magnitude.
DEVICE s128 integer_from(double x)
{
    const u64 bits = bits_of(x);
    const int exponent = int(bits >> 52 & 2047) - 1075;
    if (exponent <= 10)
        return s64(x);
    const u64 digits = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    const u128 m = u128(digits) << exponent;
    return bits >> 63 ? -s128(m) : s128(m);
}

// Quotient and remainder of magnitudes, bit by bit.
DEVICE u128 divide(u128 a, u128 b, u128 &rest)
{
    if ((a >> 64) == 0 && (b >> 64) == 0) {
        rest = u64(a) % u64(b);
        return u64(a) / u64(b);
    }
    u128 quotient = 0, r = 0;
    for (int k = int(bit_length(a)) - 1; k >= 0; --k) {
        const bool carry = (r >> 127) != 0;
        r = r << 1 | ((a >> k) & 1);
        quotient <<= 1;
        if (carry || r >= b) {
            r -= b;
            quotient |= 1;
        }
    }
    rest = r;
    return quotient;
}

// Towards zero, with the remainder of the sign of a.
DEVICE s128 divide_signed(s128 a, s128 b, s128 &rest)
{
    u128 r;
    const u128 q = divide(magnitude(a), magnitude(b), r);
    rest = a < 0 ? -s128(r) : s128(r);
    return (a < 0) != (b < 0) ? -s128(q) : s128(q);
}

// Whether the product fits.
DEVICE bool multiply(s128 a, s128 b, s128 &product)
{
    if (fits_64_bits(a) && fits_64_bits(b)) {
        product = a * b;
        return true;
    }
    const u128 x = magnitude(a), y = magnitude(b);
    const u64 xh = u64(x >> 64), yh = u64(y >> 64);
    if (xh != 0 && yh != 0)
        return false;
    const u128 crossed = xh != 0 ? u128(xh) * u64(y) : u128(yh) * u64(x);
    if (crossed >> 64 != 0)
        return false;
    const u128 low = u128(u64(x)) * u64(y);
    const u128 m = low + (crossed << 64);
    const bool negative = (a < 0) != (b < 0);
    const u128 most = u128(1) << 127;
    product = s128(negative ? -m : m);
    return m >= low && (negative ? m <= most : m < most);
}

// The remainder of x / y with the sign of x, exactly: fmod of the C library.
DEVICE double remainder_of(double x, double y)
{
    const u64 a = bits_of(__builtin_fabs(x)), b = bits_of(__builtin_fabs(y));
    const u64 infinity = 2047ull << 52, fraction = (1ull << 52) - 1;
    if (a >= infinity || b > infinity || b == 0)
        return __builtin_nan("");
    if (a < b)
        return x;
    // Digits and the exponent of the last of them.
    u64 rest = (a >> 52) != 0 ? (a & fraction) | 1ull << 52 : a;
    const u64 divisor = (b >> 52) != 0 ? (b & fraction) | 1ull << 52 : b;
    const int from = a >> 52 != 0 ? int(a >> 52) - 1075 : -1074;
    const int to = b >> 52 != 0 ? int(b >> 52) - 1075 : -1074;
    rest %= divisor;
    for (int left = from - to; left > 0; left -= 11)
        rest = (rest << (left < 11 ? left : 11)) % divisor;
    const double digits = double(s64(rest));
    const double size = to < -500 ? digits * kerf::pow2<double>(to + 1000) * kerf::pow2<double>(-1000)
                                  : digits * kerf::pow2<double>(to);
    return __builtin_copysign(size, x);
}

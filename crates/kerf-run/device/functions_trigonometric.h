// Sine and cosine: portable/trigonometric.rs of kerf-num.
#pragma once
#include "functions.h"

namespace portable {

constexpr double HALF_PI = 1.57079632679489661923, HALF_PI_REST = 6.123233995736766e-17;

// Bits of 2/pi behind 64 zeros. TWO_OVER_PI of portable/tables.rs is the same.
static __attribute__((device)) const u64 two_over_pi[] = {
    0ull, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull,
    0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull,
    0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull,
    0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull,
};

// x - n pi/2, and n modulo 4 with higher bits that mean nothing.
struct Reduced {
    dd r;
    u64 n;
};

// size 2^-126 pi/2.
DEVICE dd quarters_to_radians(u128 size, bool negative)
{
    const int zeros = 128 - int(bit_length(size));
    const u128 normal = size << zeros;
    const double unit = negative ? -power_of_two(-51 - zeros) : power_of_two(-51 - zeros);
    const double high = double(s64(normal >> 75)) * unit;
    const double low = double(s64(u64(normal >> 22) & ((1ull << 53) - 1))) * (unit * 0x1p-53);
    const dd p = product(high, HALF_PI);
    return kerf::fast_two_sum(p.hi, p.lo + (high * HALF_PI_REST + low * HALF_PI));
}

// Bits of 2/pi from a place of the table on, 64 of them for each k.
DEVICE u128 window(u32 start, u32 k)
{
    const u64 *p = two_over_pi + (start >> 6) + k;
    const u32 shift = start & 63;
    return p[0] << shift | p[1] >> 1 >> (63 - shift);
}

DEVICE Reduced reduced_in_integers(double x)
{
    const u64 bits = bits_of(__builtin_fabs(x));
    if (bits >= 2047ull << 52)
        return Reduced{dd{__builtin_nan(""), 0.0}, 0};
    const u32 start = u32(bits >> 52) + 62 - 1075;
    const u64 digits = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    const u128 turn = (digits * window(start, 0) << 64) + digits * window(start, 1)
        + (digits * window(start, 2) >> 64);
    const u128 n = ((turn >> 125) + 1) >> 1;
    const s128 rest = s128(turn - (n << 126));
    const bool negative = x < 0.0;
    const dd r = quarters_to_radians(magnitude(rest), (rest < 0) != negative);
    return Reduced{r, negative ? -u64(n) : u64(n)};
}

DEVICE Reduced reduced(double x)
{
    const double size = __builtin_fabs(x);
    if (size <= 0.78539816339744830962)
        return Reduced{dd{x, 0.0}, 0};
    if (size < 1048576.0) {
        const double shifted = x * 0.63661977236758134308 + ROUNDING_SHIFT;
        const double n = shifted - ROUNDING_SHIFT;
        const dd partly = kerf::two_sum(x - n * 1.5707963267341256, -(n * 6.077100506303966e-11));
        const dd r = kerf::fast_two_sum(partly.hi, partly.lo - n * 2.0222662487959506e-21);
        if (__builtin_fabs(r.hi) > 0x1p-28)
            return Reduced{r, bits_of(shifted)};
    }
    return reduced_in_integers(x);
}

DEVICE double sin_reduced(dd r)
{
    const double x = r.hi, z = x * x;
    const double p = -1.6666666666666632e-1
        + z * (8.33333333332249e-3
               + z * (-1.984126982985795e-4
                      + z * (2.7557313707070068e-6
                             + z * (-2.5050760253406863e-8 + z * 1.58969099521155e-10))));
    return x + (x * z * p + (r.lo - 0.5 * z * r.lo));
}

DEVICE double cos_reduced(dd r)
{
    const double z = r.hi * r.hi;
    const double p = 4.16666666666666e-2
        + z * (-1.388888888887411e-3
               + z * (2.480158728947673e-5
                      + z * (-2.7557314351390663e-7
                             + z * (2.087572321298175e-9 - z * 1.1359647557788195e-11))));
    const double half = 0.5 * z;
    const double w = 1.0 - half;
    return w + ((1.0 - w - half) + (z * z * p - r.hi * r.lo));
}

DEVICE double sin_or_cos(double x, bool cosine)
{
    if (!cosine && __builtin_fabs(x) < 0x1p-27)
        return x;
    const Reduced a = reduced(x);
    const u64 n = a.n + cosine;
    const double value = n & 1 ? cos_reduced(a.r) : sin_reduced(a.r);
    return from_bits(bits_of(value) ^ (n & 2) << 62);
}

} // namespace portable

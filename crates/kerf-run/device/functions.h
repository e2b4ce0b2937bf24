// Elementary functions: step by step what portable.rs of kerf-num does, so that both give the same bits. Powers and sines
// have headers of their own.
#pragma once
#include "wide.h"

namespace portable {

constexpr double LN2_HIGH = 0.6931471803691238, LN2_LOW = 1.9082149292705877e-10;
constexpr double LOG2_E = 1.44269504088896340736, LOG2_E_REST = 2.0355273740931033e-17;
constexpr double ROUNDING_SHIFT = 6755399441055744.0;

DEVICE double nearest(double x) { return (x + ROUNDING_SHIFT) - ROUNDING_SHIFT; }

DEVICE double power_of_two(int k)
{
    const int field = k + 1023;
    return from_bits(u64(field < 0 ? 0 : field > 2047 ? 2047 : field) << 52);
}

DEVICE double scaled(double y, double k)
{
    const int n = int(k);
    return y * power_of_two(n / 2) * power_of_two(n - n / 2);
}

// e^r - 1 - r for |r| <= 0.35.
DEVICE double exp_rest(double r)
{
    const double z = r * r;
    const double c = r
        - z
            * (1.6666666666666602e-1
               + z * (-2.7777777777015593e-3
                      + z * (6.613756321437934e-5
                             + z * (-1.6533902205465252e-6 + z * 4.1381367970572384e-8))));
    return r * c / (2.0 - c);
}

DEVICE double exp(double x)
{
    if (!(__builtin_fabs(x) < 800.0))
        return x < 0.0 ? 0.0 : x * __builtin_inf();
    const double k = nearest(x * LOG2_E);
    const double high = x - k * LN2_HIGH;
    const double low = k * LN2_LOW;
    return scaled(1.0 + (exp_rest(high - low) - low + high), k);
}

// x = 2^k m with m between sqrt(1/2) and sqrt(2).
struct Parts {
    double k, m;
};

// Of a positive normal number.
DEVICE Parts normal_parts(double x)
{
    const u64 sqrt_half = 0x3fe6a09e00000000ull, one = 0x3ff0000000000000ull;
    const u64 shifted = bits_of(x) + (one - sqrt_half);
    return Parts{double(int(shifted >> 52) - 1023),
                 from_bits((shifted & ((1ull << 52) - 1)) + sqrt_half)};
}

// False where the logarithm of x is not finite.
DEVICE bool binary_parts(double x, Parts &parts)
{
    const bool subnormal = x < 0x1p-1022;
    parts = normal_parts(subnormal ? x * 0x1p54 : x);
    parts.k -= subnormal ? 54.0 : 0.0;
    return x > 0.0 && x < __builtin_inf();
}

DEVICE double log_special(double x)
{
    return x == 0.0 ? -__builtin_inf() : x < 0.0 ? __builtin_nan("") : x;
}

// ln m + k ln 2.
DEVICE double log_sum(Parts parts)
{
    const double k = parts.k, f = parts.m - 1.0;
    const double half_square = 0.5 * f * f;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double w = z * z;
    const double even =
        w * (0.3999999999940942 + w * (0.22222198432149784 + w * 0.15313837699209373));
    const double odd = z
        * (0.6666666666666735
           + w * (0.2857142874366239 + w * (0.1818357216161805 + w * 0.14798198605116586)));
    return s * (half_square + odd + even) + k * LN2_LOW - half_square + f + k * LN2_HIGH;
}

// Of a positive normal number.
DEVICE double log_normal(double x) { return log_sum(normal_parts(x)); }

DEVICE double log(double x)
{
    Parts parts;
    return binary_parts(x, parts) ? log_sum(parts) : log_special(x);
}

DEVICE double upper_half(double x) { return from_bits(bits_of(x) & ~((1ull << 27) - 1)); }

// a b and its rounding error.
DEVICE dd product(double a, double b)
{
    const double hi = a * b;
    const double a_upper = upper_half(a), a_lower = a - a_upper;
    const double b_upper = upper_half(b), b_lower = b - b_upper;
    const double rest = ((hi - a_upper * b_upper) - a_lower * b_upper) - a_upper * b_lower;
    return dd{hi, a_lower * b_lower - rest};
}

} // namespace portable

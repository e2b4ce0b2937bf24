// Random numbers and the functions that shape them: step by step what generate/philox.rs, permute.rs and real.rs of
// kerf-workload do, so that both give the same bits.
#pragma once
#include "wide.h"

struct Words {
    u64 first, second;
};

// Philox2x64-10.
struct Stream {
    u64 key;
    u32 branch, unused;

    METHOD Words bits(u64 i, u32 draw) const
    {
        u64 a = i, b = u64(branch) << 32 | draw, k = key;
        for (int round = 0; round < 10; ++round) {
            const u64 multiplier = 0xd2b74407b1ce6e93ull;
            const u64 low = multiplier * a;
            a = high_product(multiplier, a) ^ k ^ b;
            b = low;
            k += 0x9e3779b97f4a7c15ull;
        }
        return Words{a, b};
    }

    // In [0, 1).
    METHOD double unit(u64 i, u32 draw) const;
};

// The upper 53 bits as a number in [0, 1).
DEVICE double unit_of(u64 bits) { return double(s64(bits >> 11)) * 0x1p-53; }

METHOD double Stream::unit(u64 i, u32 draw) const { return unit_of(bits(i, draw).first); }

#define LN2_HIGH 6.931471803691238e-1
#define LN2_LOW 1.9082149292705877e-10

// Natural logarithm of a positive normal number.
DEVICE double ln_normal(double x)
{
    const u64 sqrt_half = 0x3fe6a09e00000000ull, one = 0x3ff0000000000000ull;
    const u64 shifted = bits_of(x) + (one - sqrt_half);
    const double k = double(int(shifted >> 52) - 1023);
    const double f = from_bits((shifted & ((1ull << 52) - 1)) + sqrt_half) - 1.0;
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

DEVICE double power_of_two(int k)
{
    const int field = k + 1023;
    return from_bits(u64(field < 0 ? 0 : field > 2047 ? 2047 : field) << 52);
}

DEVICE double exponential(double x)
{
    const double shift = 6755399441055744.0, log2_e = 1.44269504088896340736;
    const double k = (x * log2_e + shift) - shift;
    const double high = x - k * LN2_HIGH;
    const double low = k * LN2_LOW;
    const double r = high - low;
    const double z = r * r;
    const double c = r
        - z
            * (1.6666666666666602e-1
               + z * (-2.7777777777015593e-3
                      + z * (6.613756321437934e-5
                             + z * (-1.6533902205465252e-6 + z * 4.1381367970572384e-8))));
    const double y = 1.0 + (r * c / (2.0 - c) - low + high);
    const int n = int(k < -2000.0 ? -2000.0 : k > 2000.0 ? 2000.0 : k);
    return y * power_of_two(n / 2) * power_of_two(n - n / 2);
}

struct Pair {
    double first, second;
};

DEVICE double flipped(double v, bool negative) { return from_bits(bits_of(v) ^ u64(negative) << 63); }

// Cosine and sine of so many whole turns, from 0 to below 1.
DEVICE Pair cos_sin_turns(double turns)
{
    const double quarters = turns * 4.0;
    const u32 nearest = u32(quarters + 0.5);
    const double x = (quarters - double(nearest)) * 1.57079632679489661923;
    const double z = x * x;
    const double sine = x
        + x * z
            * (-1.6666666666666632e-1
               + z * (8.33333333332249e-3
                      + z * (-1.984126982985795e-4
                             + z * (2.7557313707070068e-6
                                    + z * (-2.5050760253406863e-8 + z * 1.58969099521155e-10)))));
    const double cosine = 1.0
        - (0.5 * z
           - z * z
               * (4.16666666666666e-2
                  + z * (-1.388888888887411e-3
                         + z * (2.480158728947673e-5
                                + z * (-2.7557314351390663e-7
                                       + z * (2.087572321298175e-9
                                              - z * 1.1359647557788195e-11))))));
    const bool odd = nearest & 1;
    const double c = odd ? sine : cosine, s = odd ? cosine : sine;
    return Pair{flipped(c, (nearest + 1) & 2), flipped(s, nearest & 2)};
}

// Two independent standard normal numbers.
DEVICE Pair normals(Words bits)
{
    const double uniform = unit_of(bits.first) + 0x1p-53;
    const double radius = kerf::word<double>::sqrt(-2.0 * ln_normal(uniform));
    const Pair turned = cos_sin_turns(unit_of(bits.second));
    return Pair{radius * turned.first, radius * turned.second};
}

// A permutation of the numbers below the count.
struct Permutation {
    u64 count, mask, key0, key1;
    u32 shift, unused;

    METHOD u64 mix(u64 x) const
    {
        u64 key = key0;
        for (int round = 0; round < 6; ++round) {
            key = key * 0x9e3779b97f4a7c15ull + key1;
            x = (x + (key >> 7)) & mask;
            x ^= x >> shift;
            x = (x * ((key << 29 | key >> 35) | 1)) & mask;
            x ^= x >> shift;
        }
        return x;
    }

    METHOD u64 at(u64 i) const
    {
        do
            i = mix(i);
        while (i >= count);
        return i;
    }
};

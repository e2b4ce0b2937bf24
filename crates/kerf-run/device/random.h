// Random numbers and what shapes them: step by step what generate/philox.rs, permute.rs and real.rs of kerf-workload do,
// so that both give the same bits.
#pragma once
#include "functions.h"

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
    const double radius = kerf::word<double>::sqrt(-2.0 * portable::log_normal(uniform));
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

// Formats whose results are judged on the device: every value of theirs is exactly a double.
#pragma once
#include "device.h"

// What all formats share, from precision and range of exponents alone.
template <int P, int EMIN> struct Ieee {
    static const int EMAX = 1 - EMIN;

    static DEVICE double smallest_normal() { return power_of_two(EMIN); }

    // Exponent of the unit in the last place at a finite v (Goldberg's ulp, as kerf-num has it).
    static DEVICE int unit(double v) {
        int e = (int)(bits_as<u64>(v) >> 52 & 0x7ff) - 1023;
        e = e < EMIN ? EMIN : e > EMAX ? EMAX : e;
        return e - (P - 1);
    }

    // Rounds to nearest even, in double arithmetic alone: conversions are themselves under test.
    // `doubt`: v is so near to the middle between two neighbours that a reference wrong by four
    // units in its last place could fall on the other side.
    static DEVICE double round(double v, bool *doubt) {
        *doubt = false;
        double size = __builtin_fabs(v);
        if (size >= power_of_two(EMAX + 1)) return __builtin_copysign(__builtin_inf(), v);
        int q = unit(v);
        double t = size * power_of_two(-q);
        double whole = (t + 0x1p52) - 0x1p52;
        double off = __builtin_fabs(__builtin_fabs(t - whole) - 0.5);
        *doubt = off <= t * 0x1p-50;
        double r = whole * power_of_two(q);
        if (r >= power_of_two(EMAX + 1)) r = __builtin_inf();
        return __builtin_copysign(r, v);
    }

    // Position of a value of the format among all of them; zeros coincide.
    static DEVICE i64 ordinal(double v) {
        u64 b = bits_as<u64>(__builtin_fabs(v));
        i64 n;
        if (is_infinite(v))
            n = (i64)(EMAX - EMIN + 2) << (P - 1);
        else if (__builtin_fabs(v) < smallest_normal())
            n = (i64)(__builtin_fabs(v) * power_of_two(P - 1 - EMIN));
        else
            n = (i64)(b >> (53 - P)) - ((i64)(1023 + EMIN - 1) << (P - 1));
        return v < 0 ? -n : n;
    }

    static DEVICE bool subnormal(double v) { return v != 0 && __builtin_fabs(v) < smallest_normal(); }
};

struct F32 : Ieee<24, -126> {
    typedef float T;
    static DEVICE T from_bits(u32 b) { return bits_as<float>(b); }
    static DEVICE u32 to_bits(T v) { return bits_as<u32>(v); }
    static DEVICE double widen(T v) { return v; }
};

struct F16 : Ieee<11, -14> {
    typedef _Float16 T;
    static DEVICE T from_bits(u32 b) { return bits_as<_Float16>((u16)b); }
    static DEVICE u32 to_bits(T v) { return bits_as<u16>(v); }
    static DEVICE double widen(T v) { return v; }
};

struct BF16 : Ieee<8, -126> {
    typedef __bf16 T;
    static DEVICE T from_bits(u32 b) { return bits_as<__bf16>((u16)b); }
    static DEVICE u32 to_bits(T v) { return bits_as<u16>(v); }
    // A bfloat is the upper half of a float.
    static DEVICE double widen(T v) { return bits_as<float>((u32)bits_as<u16>(v) << 16); }
};

// Scalars of a buffer and how numbers become their bytes: what bits.rs of kerf-workload does.
#pragma once
#include "wide.h"

DEVICE void store_bits(u8 *at, u64 bits, u32 bytes)
{
    if ((u64(at) & (bytes - 1)) == 0) {
        if (bytes == 8)
            *(u64 *)at = bits;
        else if (bytes == 4)
            *(u32 *)at = u32(bits);
        else if (bytes == 2)
            *(unsigned short *)at = (unsigned short)bits;
        else
            *at = u8(bits);
        return;
    }
    for (u32 k = 0; k < bytes; ++k)
        at[k] = u8(bits >> 8 * k);
}

// Bits of x rounded to a format of 16 bits that has so many of fraction.
DEVICE u64 narrow_bits(double x, int fraction_bits)
{
    const u64 bits = bits_of(x);
    const u64 sign = bits >> 48 & 0x8000;
    const int exponent = int(bits >> 52 & 0x7ff) - 1023;
    const u64 fraction = bits & ((1ull << 52) - 1);
    const u64 infinity = 0x7fff & ~((1ull << fraction_bits) - 1);
    if (exponent == 1024)
        return sign | infinity | u64(fraction != 0) << (fraction_bits - 1);
    const int least = 2 - (1 << (14 - fraction_bits));
    const int below = least - exponent;
    const int shift = 52 - fraction_bits + (below > 0 ? below : 0);
    if (exponent == -1023 || shift >= 54)
        return sign;
    const u64 significand = 1ull << 52 | fraction;
    const u64 kept = significand >> shift;
    const u64 lost = significand & ((1ull << shift) - 1);
    const u64 half = 1ull << (shift - 1);
    const u64 rounded = kept + (lost > half || (lost == half && (kept & 1)));
    const u64 packed = (u64(below < 0 ? -below : 0) << fraction_bits) + rounded;
    return sign | (packed < infinity ? packed : infinity);
}

// A type by number, in the order of `Scalar::ALL` of kerf-npy.
struct Scalar {
    enum { F64, F32, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64 };
    u32 number;

    METHOD bool is_float() const { return number <= BF16; }
    METHOD bool is_signed() const { return !(number & 1); }
    METHOD u32 bytes() const
    {
        if (number == F64 || number >= I64)
            return 8;
        if (number == F32 || number >= I32)
            return 4;
        return number == I8 || number == U8 ? 1 : 2;
    }
    METHOD s128 least() const { return is_signed() ? -(s128(1) << (8 * bytes() - 1)) : 0; }
    METHOD s128 most() const { return (s128(1) << (8 * bytes() - is_signed())) - 1; }

    // Bits of the value of the type that is nearest x, a float type; all NaNs are one.
    METHOD u64 float_bits(double x) const
    {
        x = x == x ? x : __builtin_nan("");
        if (number == F64)
            return bits_of(x);
        if (number == F32)
            return x == x ? __builtin_bit_cast(u32, float(x)) : 0x7fc00000u;
        return narrow_bits(x, number == F16 ? 10 : 7);
    }

    // Bits of x truncated and saturated to an integer type.
    METHOD u64 saturated_bits(double x) const
    {
        const u32 bits = 8 * bytes();
        if (is_signed()) {
            const s64 most = s64(~0ull >> (65 - bits));
            const double bound = kerf::pow2<double>(bits - 1);
            return u64(x != x ? 0 : x >= bound ? most : x <= -bound ? -most - 1 : s64(x));
        }
        return x > 0.0 ? (x >= kerf::pow2<double>(bits) ? ~0ull : u64(x)) : 0;
    }

    METHOD u64 bits_from(double x) const { return is_float() ? float_bits(x) : saturated_bits(x); }

    // Bits of an integer rounded to a float type.
    METHOD u64 float_bits(s128 v) const
    {
        if (number == F64)
            return bits_of(nearest_double(v));
        if (number == F32)
            return __builtin_bit_cast(u32, nearest_float(v));
        return narrow_bits(odd_double(v), number == F16 ? 10 : 7);
    }
};

// The scalars of one field of every element. `device_inputs/encode.rs` has the same order of fields, here and in the
// structs of generate.cu.
struct Place {
    u8 *field; // of the first element
    u64 stride; // bytes of an element
    u64 count; // scalars of all elements
    u32 width; // scalars of an element
    Scalar scalar;

    METHOD u8 *at(u64 i) const
    {
        const u32 bytes = scalar.bytes();
        if (stride == u64(width) * bytes)
            return field + i * bytes;
        if (width == 1)
            return field + i * stride;
        if (i >> 32 == 0)
            return field + u64(u32(i) / width) * stride + u32(i) % width * bytes;
        return field + i / width * stride + i % width * bytes;
    }
    METHOD void store(u64 i, u64 bits) const { store_bits(at(i), bits, scalar.bytes()); }
    // Of a float type.
    METHOD double load(u64 i) const
    {
        return Format{scalar.number}.decode(load_bits(at(i), scalar.bytes()));
    }
};

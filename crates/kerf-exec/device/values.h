// Values of an output as they lie in memory, their references, and the errors of one value: step by step what the crate
// kerf-num does (format/rounding.rs, format/encoding.rs, ulp.rs, metrics.rs), so that both give the same bits.
#pragma once
#include "doubleword.h"

#define DEVICE KERF_DEVICE
#define METHOD __attribute__((device, always_inline))
#define KERNEL extern "C" __attribute__((global))
#define SHARED __attribute__((shared))

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;
typedef kerf::dw<double> dd;

DEVICE u32 thread() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 blocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }

DEVICE u64 bits_of(double x) { return __builtin_bit_cast(u64, x); }
DEVICE double from_bits(u64 x) { return __builtin_bit_cast(double, x); }

// A format by number, in the order of `kerf_num::Format::ALL`.
struct Format {
    enum { F64, F32, F16, BF16 };
    u32 number;

    METHOD u32 bytes() const { return number == F64 ? 8 : number == F32 ? 4 : 2; }
    METHOD int mantissa_bits() const
    {
        return number == F64 ? 53 : number == F32 ? 24 : number == F16 ? 11 : 8;
    }
    METHOD int max_exponent() const { return number == F64 ? 1023 : number == F16 ? 15 : 127; }
    METHOD int min_exponent() const { return 1 - max_exponent(); }

    METHOD double decode(u64 bits) const
    {
        if (number == F64)
            return from_bits(bits);
        if (number != F16)
            return __builtin_bit_cast(float, number == F32 ? u32(bits) : u32(bits) << 16);
        const u64 sign = (bits & 0x8000) << 48, field = bits >> 10 & 31, fraction = bits & 0x3ff;
        if (field == 0) {
            const double magnitude = double(fraction) * 0x1p-24;
            return sign ? -magnitude : magnitude;
        }
        return from_bits(sign | (field == 31 ? 2047 : field + 1008) << 52 | fraction << 42);
    }

    // Writes x, a value of the format or NaN.
    METHOD void store(u8 *at, double x) const
    {
        if (number == F64)
            *(double *)at = x;
        else if (number == F32)
            *(float *)at = float(x);
        else if (number == BF16)
            *(unsigned short *)at = __builtin_bit_cast(u32, float(x)) >> 16;
        else
            *(unsigned short *)at = half_bits(x);
    }

    // Bits of an f16 of value x.
    static METHOD u32 half_bits(double x)
    {
        const u32 sign = u32(bits_of(x) >> 48) & 0x8000;
        const double size = __builtin_fabs(x);
        if (size != size)
            return sign | 0x7e00;
        if (size >= 65536.0)
            return sign | 0x7c00;
        if (size < 0x1p-14)
            return sign | u32(size * 0x1p24);
        return sign | (u32(bits_of(size) >> 42) - (1008u << 10));
    }

    // x rounded to the format.
    METHOD double round(double x) const
    {
        if (number == F64)
            return x;
        if (number == F32)
            return double(float(x));
        if (x == 0.0 || !kerf::is_finite(x))
            return x;
        const int e = kerf::exponent(x);
        const int spacing = (e > min_exponent() ? e : min_exponent()) - (mantissa_bits() - 1);
        const double steps = __builtin_rint(x * kerf::pow2<double>(-spacing));
        const double rounded = steps * kerf::pow2<double>(spacing);
        const double two_minus_ulp = 2.0 - kerf::pow2<double>(1 - mantissa_bits());
        if (__builtin_fabs(rounded) > two_minus_ulp * kerf::pow2<double>(max_exponent()))
            return __builtin_copysign(__builtin_inf(), x);
        return rounded;
    }

    // hi + lo rounded to the format, once: through the neighbour of hi whose last bit is set.
    METHOD double round(dd x) const
    {
        if (x.lo == 0.0 || !kerf::is_finite(x.hi))
            return round(x.hi);
        x = kerf::add_words(x.hi, x.lo);
        if (number == F64)
            return x.hi;
        const u64 bits = bits_of(x.hi);
        if ((bits & 1) || !kerf::is_finite(x.hi))
            return round(x.hi);
        const bool outwards = (x.lo > 0.0) == (x.hi > 0.0);
        const u64 least = x.lo > 0.0 ? 1 : 0x8000000000000001ull;
        return round(from_bits(x.hi == 0.0 ? least : outwards ? bits + 1 : bits - 1));
    }

    // Position of x, a value of the format, among its values in order. Zero has 0; NaN has none.
    METHOD s64 ordinal(double x) const
    {
        const double size = __builtin_fabs(x);
        const int fraction = mantissa_bits() - 1, least = min_exponent();
        u64 magnitude;
        if (number == F64)
            magnitude = bits_of(size);
        else if (size >= kerf::pow2<double>(max_exponent() + 1))
            magnitude = u64(2 * max_exponent() + 1) << fraction;
        else if (size < kerf::pow2<double>(least))
            magnitude = u64(size * kerf::pow2<double>(fraction - least));
        else
            magnitude = (bits_of(size) >> (52 - fraction)) - (u64(1022 + least) << fraction);
        return x < 0.0 ? -s64(magnitude) : s64(magnitude);
    }

    // Spacing of the format's values in the binade of x.
    METHOD double ulp(dd x) const
    {
        int binade = min_exponent();
        if (x.hi != 0.0) {
            const int e = kerf::exponent(x.hi);
            const bool towards_zero = x.lo != 0.0 && (x.lo < 0.0) == (x.hi > 0.0);
            const bool power = __builtin_fabs(x.hi) == kerf::scale(1.0, e);
            binade = towards_zero && power ? e - 1 : e;
        }
        binade = binade < min_exponent() ? min_exponent() : binade;
        binade = binade > max_exponent() ? max_exponent() : binade;
        return kerf::scale(1.0, binade - (mantissa_bits() - 1));
    }
};

// The number of so many bytes at an address, which need not be a multiple of the size.
DEVICE u64 load_bits(const u8 *at, u32 bytes)
{
    if ((u64(at) & (bytes - 1)) == 0) {
        if (bytes == 8)
            return *(const u64 *)at;
        if (bytes == 4)
            return *(const u32 *)at;
        if (bytes == 2)
            return *(const unsigned short *)at;
    }
    u64 bits = 0;
    for (u32 k = 0; k < bytes; ++k)
        bits |= u64(at[k]) << 8 * k;
    return bits;
}

// Where scalars lie: at the same offsets in each element of a buffer.
struct Layout {
    const u32 *offsets;
    u64 element;
    u32 scalars;
    Format format; // of values; unused for integers

    METHOD u64 place(u64 index) const
    {
        if (scalars == 1)
            return index * element + offsets[0];
        return index / scalars * element + offsets[index % scalars];
    }
};

// Values of one format, in the order of elements and, within one, of the offsets. compare/records.rs has the same order
// of fields, here and below.
struct Values {
    Layout layout;
    const u8 *candidate;
    const kerf_dw64 *references;
    u64 count;
    double floor;
    Format stored; // what the candidate has them in: a plan may hold a buffer in a narrower format
    u32 unused;

    METHOD double got(u64 index) const
    {
        const u8 *at = candidate + layout.place(index);
        return stored.decode(load_bits(at, stored.bytes()));
    }
    METHOD dd reference(u64 index) const
    {
        const kerf_dw64 r = references[index];
        return dd{r.x, r.y};
    }
};

DEVICE double to_double(dd x) { return x.lo == 0.0 ? x.hi : x.hi + x.lo; }

// Errors of a finite value against a finite reference.
struct Errors {
    double abs, size, rel;
};

DEVICE Errors errors_of(double got, dd reference, double floor)
{
    Errors e;
    e.abs = to_double(kerf::abs(kerf::sub(kerf::from_word(got), reference)));
    e.size = __builtin_fabs(to_double(reference));
    e.rel = e.abs == 0.0 ? 0.0 : e.abs / (e.size < floor ? floor : e.size);
    return e;
}

DEVICE bool is_nan(double x) { return x != x; }
DEVICE bool same(double a, double b) { return a == b || (is_nan(a) && is_nan(b)); }

// Elements of an array as they lie in memory: numbers of a floating-point format, or codes with a scale, step by step as
// scaled.rs of the crate kerf-num encodes and decodes them, so that both give the same bits.
#pragma once
#include "values.h"

// What a number lost beyond its rounding, by the index of its counter.
enum { SATURATED, NOT_HELD, NO_LOSS };

struct StorageFormat {
    // Codes come after the numbers of `Format`, in the order of `kerf_num::scaled::ElementCode::ALL`.
    enum { I16 = 4, I8, E4M3, E5M2 };
    u32 number;
    int exponent; // of the scale

    METHOD bool is_scaled() const { return number >= I16; }
    METHOD bool is_integer() const { return number == I16 || number == I8; }
    METHOD u32 bytes() const
    {
        return is_scaled() ? number == I16 ? 2 : 1 : Format{number}.bytes();
    }
    METHOD int fraction_bits() const { return number == E4M3 ? 3 : 2; }
    METHOD int min_exponent() const { return number == E4M3 ? -6 : -14; }
    METHOD double least() const { return kerf::pow2<double>(min_exponent() - fraction_bits()); }
    METHOD u32 largest_code() const { return number == E4M3 ? 0x7E : 0x7B; }
    METHOD double largest() const
    {
        return number == I16 ? 32767.0 : number == I8 ? 127.0 : number == E4M3 ? 448.0 : 57344.0;
    }

    // The number of a small floating-point code, before its scale.
    METHOD double small(u32 bits) const
    {
        const u32 magnitude = bits & 0x7F;
        const double sign = bits & 0x80 ? -1.0 : 1.0;
        if (magnitude > largest_code())
            return number == E5M2 && magnitude == 0x7C ? sign * __builtin_inf() : __builtin_nan("");
        const u32 fraction = magnitude & ((1u << fraction_bits()) - 1), field = magnitude >> fraction_bits();
        const u32 hidden = field == 0 ? 0 : 1u << fraction_bits();
        return sign * double(hidden + fraction) * least() * kerf::pow2<double>(field == 0 ? 0 : field - 1);
    }

    METHOD double decode(u64 bits) const
    {
        if (!is_scaled())
            return Format{number}.decode(bits);
        const double unscaled = number == I16  ? double(short(bits))
                                : number == I8 ? double((signed char)(bits))
                                               : small(u32(bits));
        return unscaled * kerf::pow2<double>(exponent);
    }

    // Position of y >= 0 among the numbers of a small floating-point code, as if its exponents had no end.
    METHOD u32 small_magnitude(double y) const
    {
        if (y >= 4.0 * largest())
            return 0xFF;
        if (y == 0.0)
            return 0;
        const int above = kerf::exponent(y) - min_exponent(), at = above > 0 ? above : 0;
        return (u32(at) << fraction_bits()) + u32(__builtin_rint(y / (least() * kerf::pow2<double>(at))));
    }

    // The code of x, rounded once, and what is lost.
    METHOD u32 encode(double x, u32 &loss) const
    {
        loss = NO_LOSS;
        if (x != x) {
            loss = is_integer() ? NOT_HELD : NO_LOSS;
            return is_integer() ? 0 : 0x7F;
        }
        const bool negative = bits_of(x) >> 63, infinite = __builtin_fabs(x) == __builtin_inf();
        const double y = kerf::scale(__builtin_fabs(x), -exponent);
        if (is_integer()) {
            // Two's complement reaches one further down.
            const double most = largest() + (negative ? 1.0 : 0.0), steps = __builtin_rint(y);
            if (steps > most)
                loss = infinite ? NOT_HELD : SATURATED;
            const int magnitude = int(steps < most ? steps : most);
            return u32(negative ? -magnitude : magnitude);
        }
        const u32 sign = negative ? 0x80 : 0;
        if (infinite && number == E5M2)
            return sign | 0x7C;
        const u32 magnitude = small_magnitude(y);
        if (magnitude > largest_code()) {
            loss = infinite ? NOT_HELD : SATURATED;
            return sign | largest_code();
        }
        return sign | magnitude;
    }

    // Writes x, rounded once; gives what is lost.
    METHOD u32 store(u8 *at, double x) const
    {
        if (!is_scaled()) {
            const Format f{number};
            f.store(at, f.round(x));
            return NO_LOSS;
        }
        u32 loss;
        const u32 code = encode(x, loss);
        if (number == I16)
            *(unsigned short *)at = code;
        else
            *at = code;
        return loss;
    }
};

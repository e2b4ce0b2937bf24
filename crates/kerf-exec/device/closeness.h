// Whether numbers are close to expected ones, as metrics/closeness.rs of kerf-num has it, operation by operation.
#pragma once
#include "values.h"

// The type of a number: a format by its number, or an integer of so many bytes.
struct NumberType {
    enum { FORMATS = 4, SIGNED = 64 };
    u32 number; // of a format; of integers FORMATS + bytes, and SIGNED for signed ones

    METHOD u32 bytes() const
    {
        return number < FORMATS ? Format{number}.bytes() : number % SIGNED - FORMATS;
    }
    METHOD double decode(u64 bits) const
    {
        if (number < FORMATS)
            return Format{number}.decode(bits);
        const u32 unused = 64 - 8 * bytes();
        return number >= SIGNED ? double(s64(bits << unused) >> unused) : double(bits);
    }
};

// compare/closeness.rs has the same order of fields.
struct Closeness {
    const u8 *expected, *got;
    u64 count;
    NumberType expected_type, got_type;
    Format difference_format, bound_format;
    double rtol, atol;

    METHOD double difference(double x, double y) const
    {
        if (difference_format.number == Format::F32)
            return __builtin_fabsf(float(x) - float(y));
        return __builtin_fabs(difference_format.round(x - y));
    }
    METHOD double bound(double y) const
    {
        const double size = __builtin_fabs(y);
        if (bound_format.number == Format::F32)
            return float(atol) + float(rtol) * float(size);
        return bound_format.round(atol + bound_format.round(rtol * size));
    }

    // Adds the pair at an index to the counts of a thread.
    METHOD void take(u64 index, u64 *found) const
    {
        const u32 a = expected_type.bytes(), b = got_type.bytes();
        const double x = expected_type.decode(load_bits(expected + index * a, a));
        const double y = got_type.decode(load_bits(got + index * b, b));
        const bool finite = kerf::is_finite(x) && kerf::is_finite(y);
        const double size = difference(x, y);
        if (finite && bits_of(size) > found[2])
            found[2] = bits_of(size);
        if ((size <= bound(y) && kerf::is_finite(y)) || x == y)
            return;
        found[0] += 1;
        found[1] += !finite;
        if (count - index > found[3])
            found[3] = count - index;
    }
};

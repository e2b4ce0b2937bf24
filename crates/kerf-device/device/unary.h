// Functions of one argument, over all patterns of a format.
#pragma once
#include "formats.h"
#include "functions.h"
#include "tally.h"

template <class F> struct Every {
    typedef F Result;
    static DEVICE void arguments(const Segment &, u64 index, u32 *a) { a[0] = (u32)index; }
    static DEVICE double first(const u32 *a) { return F::widen(F::from_bits(a[0])); }
    static DEVICE bool subnormal(const u32 *a) { return F::subnormal(first(a)); }
    static DEVICE void flush(u32 *a) { a[0] &= 1u << (sizeof(typename F::T) * 8 - 1); }
};

#define UNARY(NAME, FORMAT, FLUSHES, DECIDES, GOT, EXACT)                                           \
    struct op_##NAME : Every<FORMAT> {                                                              \
        static const bool FTZ = FLUSHES, SURE = DECIDES;                                            \
        static DEVICE u64 run(const u32 *a) {                                                       \
            FORMAT::T x = FORMAT::from_bits(a[0]);                                                  \
            return FORMAT::to_bits(GOT);                                                            \
        }                                                                                           \
        static DEVICE double exact(const u32 *a) {                                                  \
            double x = first(a);                                                                    \
            return EXACT;                                                                           \
        }                                                                                           \
    };                                                                                              \
    MEASURE(NAME)

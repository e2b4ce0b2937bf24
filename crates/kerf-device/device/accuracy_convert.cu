// Accuracy of conversions out of types of at most 32 bits, over all their values.
#include "formats.h"
#include "small.h"
#include "tally.h"

// Holds every argument exactly: nothing is rounded.
struct F64 {
    typedef double T;
    static DEVICE T from_bits(u64 b) { return bits_as<double>(b); }
    static DEVICE u64 to_bits(T v) { return bits_as<u64>(v); }
    static DEVICE double widen(T v) { return v; }
    static DEVICE double smallest_normal() { return 0x1p-1022; }
    static DEVICE int unit(double v) { return (int)(bits_as<u64>(v) >> 52 & 0x7ff) - 1075; }
    static DEVICE double round(double v, bool *doubt) {
        *doubt = false;
        return v;
    }
    static DEVICE i64 ordinal(double v) {
        i64 n = bits_as<i64>(__builtin_fabs(v));
        return v < 0 ? -n : n;
    }
    static DEVICE bool subnormal(double) { return false; }
};

// Integers: to be given exactly.
template <class I> struct Whole {
    typedef I T;
    static DEVICE T from_bits(u64 b) { return (I)b; }
    static DEVICE u64 to_bits(T v) { return (u64)v; }
    // The largest integer stands for 2^63 or so; any other that is no double cannot be right.
    static DEVICE double widen(T v) {
        double d = (double)v;
        bool largest = v == (I)(~0ull >> (65 - 8 * sizeof(I)));
        return largest || (I)d == v ? d : __builtin_nan("");
    }
    static DEVICE double smallest_normal() { return 1; }
    static DEVICE int unit(double) { return 0; }
    static DEVICE double round(double v, bool *doubt) {
        *doubt = false;
        return v;
    }
    static DEVICE i64 ordinal(double v) { return v >= 0x1p63 ? (i64)(~0ull >> 1) : (i64)v; }
    static DEVICE bool subnormal(double) { return false; }
};

typedef Whole<i32> I32;
typedef Whole<i64> I64;

// The value that a conversion has to give.
template <class To> struct Wanted {
    static DEVICE double of(double x) { return x; }
};
template <class I> struct Wanted<Whole<I>> {
    // Cut off, and held within the range. PTX has 0 for NaN, and 100...0 where 64 bits are involved.
    static DEVICE double of(double x) {
        const double top = power_of_two(8 * sizeof(I) - 1);
        if (is_nan(x)) return sizeof(I) == 8 ? -top : 0.0;
        const double most = sizeof(I) == 8 ? top : top - 1;
        // No integer is -0.
        x = __builtin_trunc(x) + 0.0;
        return x < -top ? -top : x > most ? most : x;
    }
};

template <class From, class To> struct Convert {
    typedef To Result;
    static const bool FTZ = false, SURE = true;
    static DEVICE void arguments(const Segment &, u64 index, u32 *a) { a[0] = (u32)index; }
    static DEVICE typename From::T value(const u32 *a) { return From::from_bits(a[0]); }
    static DEVICE double first(const u32 *a) { return From::widen(value(a)); }
    static DEVICE double exact(const u32 *a) { return Wanted<To>::of(first(a)); }
    static DEVICE bool subnormal(const u32 *) { return false; }
    static DEVICE void flush(u32 *) {}
};

#define CONVERT(NAME, FROM, TO, GOT)                                                                \
    struct op_convert_##NAME : Convert<FROM, TO> {                                                  \
        static DEVICE u64 run(const u32 *a) {                                                       \
            FROM::T x = value(a);                                                                   \
            return TO::to_bits(GOT);                                                                \
        }                                                                                           \
    };                                                                                              \
    MEASURE(convert_##NAME)

// C++ has no conversion between f16 and bf16; by way of float only the second step rounds.
CONVERT(f16_bf16, F16, BF16, (__bf16)(float)x)
CONVERT(f16_f32, F16, F32, (float)x)
CONVERT(f16_f64, F16, F64, (double)x)
CONVERT(f16_i32, F16, I32, (i32)x)
CONVERT(f16_i64, F16, I64, (i64)x)
CONVERT(bf16_f16, BF16, F16, (_Float16)(float)x)
CONVERT(bf16_f32, BF16, F32, (float)x)
CONVERT(bf16_f64, BF16, F64, (double)x)
CONVERT(bf16_i32, BF16, I32, (i32)x)
CONVERT(bf16_i64, BF16, I64, (i64)x)
CONVERT(f32_f16, F32, F16, (_Float16)x)
CONVERT(f32_bf16, F32, BF16, (__bf16)x)
CONVERT(f32_f64, F32, F64, (double)x)
CONVERT(f32_i32, F32, I32, (i32)x)
CONVERT(f32_i64, F32, I64, (i64)x)
CONVERT(i32_f16, I32, F16, (_Float16)x)
CONVERT(i32_bf16, I32, BF16, (__bf16)x)
CONVERT(i32_f32, I32, F32, (float)x)
CONVERT(i32_f64, I32, F64, (double)x)

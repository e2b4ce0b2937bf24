// Accuracy of operations on two and three small arguments.
#include "functions.h"
#include "generate.h"
#include "small.h"

#define TUPLE(NAME, BASE, FORMAT, FLUSHES, DECIDES, GOT, EXACT)                                     \
    struct op_##NAME : BASE {                                                                       \
        static const bool FTZ = FLUSHES, SURE = DECIDES;                                            \
        static DEVICE u64 run(const u32 *a) {                                                       \
            FORMAT::T x = FORMAT::from_bits(a[0]), y = FORMAT::from_bits(a[1]),                     \
                      z = FORMAT::from_bits(a[2]);                                                  \
            (void)z;                                                                                \
            return FORMAT::to_bits(GOT);                                                            \
        }                                                                                           \
        static DEVICE double exact(const u32 *a) {                                                  \
            double x = value(a[0]), y = value(a[1]), z = value(a[2]);                               \
            (void)z;                                                                                \
            return EXACT;                                                                           \
        }                                                                                           \
    };                                                                                              \
    MEASURE(NAME)

// x*y + z rounded to odd in double: rounding that to a format with two bits less is right. The
// product of two floats is exact, and so is the error of the sum (Knuth's TwoSum).
DEVICE double fused(double x, double y, double z) {
    double p = x * y, s = p + z;
    double t = s - p;
    double e = (p - (s - t)) + (z - t);
    if (e == 0 || is_nan(e) || is_infinite(s)) return s;
    i64 b = bits_as<i64>(s);
    if (b & 1) return s;
    return bits_as<double>((e > 0) == (s > 0) ? b + 1 : b - 1);
}

// Why these references decide: sums and products of two floats fit double or are rounded there to
// more than twice the bits and two (Figueroa); a quotient of p-bit numbers that is not the middle of
// two neighbours is away from it by 2^-2p of its size at least.
TUPLE(div_f32, PairF32, F32, false, true, x / y, x / y)
TUPLE(div_f32_sfu, PairF32, F32, true, true, sfu_div(x, y), x / y)
TUPLE(pow_f32, PairF32, F32, false, false, __nv_powf(x, y), __nv_pow(x, y))
TUPLE(pow_f32_sfu, PairF32, F32, true, false, sfu_pow(x, y), __nv_pow(x, y))
TUPLE(add_f32, PairF32, F32, false, true, x + y, x + y)
TUPLE(mul_f32, PairF32, F32, false, true, x *y, x *y)
TUPLE(fma_f32, TripleF32, F32, false, true, __builtin_fmaf(x, y, z), fused(x, y, z))

TUPLE(div_f16, PairF16, F16, false, true, x / y, x / y)
TUPLE(add_f16, PairF16, F16, false, true, sum(x, y), x + y)
TUPLE(mul_f16, PairF16, F16, false, true, product(x, y), x *y)
TUPLE(fma_f16, TripleF16, F16, false, true, multiply_add(x, y, z), fused(x, y, z))

TUPLE(div_bf16, PairBF16, BF16, false, true, x / y, x / y)
TUPLE(add_bf16, PairBF16, BF16, false, true, sum(x, y), x + y)
TUPLE(mul_bf16, PairBF16, BF16, false, true, product(x, y), x *y)
TUPLE(fma_bf16, TripleBF16, BF16, false, true, multiply_add(x, y, z), fused(x, y, z))

// Two at once: the arguments lie in one of the lanes, other numbers in the other one.
template <class V, class T> struct Lanes {
    bool second;
    DEVICE V put(T mine, T other) const { return second ? V{other, mine} : V{mine, other}; }
    DEVICE T take(V v) const { return second ? v.y : v.x; }
};
template <class V, class T> DEVICE Lanes<V, T> lanes(T x, T y) {
    return {((bits_as<u16>(x) ^ bits_as<u16>(y)) & 1) != 0};
}
template <class V, class T> DEVICE T sum_in(T x, T y) {
    Lanes<V, T> in = lanes<V>(x, y);
    return in.take(sum(in.put(x, y), in.put(y, y)));
}
template <class V, class T> DEVICE T product_in(T x, T y) {
    Lanes<V, T> in = lanes<V>(x, y);
    return in.take(product(in.put(x, y), in.put(y, y)));
}
template <class V, class T> DEVICE T multiply_add_in(T x, T y, T z) {
    Lanes<V, T> in = lanes<V>(x, y);
    return in.take(multiply_add(in.put(x, y), in.put(y, z), in.put(z, x)));
}

TUPLE(add_f16x2, PairF16, F16, false, true, sum_in<f16x2>(x, y), x + y)
TUPLE(mul_f16x2, PairF16, F16, false, true, product_in<f16x2>(x, y), x *y)
TUPLE(fma_f16x2, TripleF16, F16, false, true, multiply_add_in<f16x2>(x, y, z), fused(x, y, z))
TUPLE(add_bf16x2, PairBF16, BF16, false, true, sum_in<bf16x2>(x, y), x + y)
TUPLE(mul_bf16x2, PairBF16, BF16, false, true, product_in<bf16x2>(x, y), x *y)
TUPLE(fma_bf16x2, TripleBF16, BF16, false, true, multiply_add_in<bf16x2>(x, y, z), fused(x, y, z))

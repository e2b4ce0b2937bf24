// The double-word library that the composite pass links into kernels: one plain function for each
// operation, on pairs <2 x float> and <2 x double> whose element 0 is the high word.
#include "doubleword_cmp.h"
#include "doubleword_convert.h"
#include "doubleword_functions.h"

#define API extern "C" __attribute__((device))

KERF_DEVICE kerf::dw<float> of(kerf_dw32 x) { return {x.x, x.y}; }
KERF_DEVICE kerf::dw<double> of(kerf_dw64 x) { return {x.x, x.y}; }
KERF_DEVICE kerf_dw32 pack(kerf::dw<float> x) { return kerf_dw32{x.hi, x.lo}; }
KERF_DEVICE kerf_dw64 pack(kerf::dw<double> x) { return kerf_dw64{x.hi, x.lo}; }

#define UNARY(P, name, f)                                                                  \
    API P P##_##name(P a) { return pack(f(of(a))); }
#define BINARY(P, name, f)                                                                 \
    API P P##_##name(P a, P b) { return pack(f(of(a), of(b))); }
#define TERNARY(P, name, f)                                                                \
    API P P##_##name(P a, P b, P c) { return pack(f(of(a), of(b), of(c))); }
#define RELATION(P, name, f)                                                               \
    API int P##_##name(P a, P b) { return f(of(a), of(b)); }                               \
    API int P##_##name##_cmp(P a, P b)                                                     \
    {                                                                                      \
        return f(kerf::cmp::normal(of(a)), kerf::cmp::normal(of(b)));                      \
    }

#define LIBRARY(P)                                                                         \
    BINARY(P, add, kerf::add)                                                              \
    BINARY(P, sub, kerf::sub)                                                              \
    BINARY(P, mul, kerf::mul)                                                              \
    BINARY(P, div, kerf::div)                                                              \
    TERNARY(P, fma, kerf::fma)                                                             \
    BINARY(P, min, kerf::min)                                                              \
    BINARY(P, max, kerf::max)                                                              \
    UNARY(P, neg, kerf::neg)                                                               \
    UNARY(P, abs, kerf::abs)                                                               \
    UNARY(P, sqrt, kerf::sqrt)                                                             \
    UNARY(P, rsqrt, kerf::rsqrt)                                                           \
    UNARY(P, exp, kerf::exp)                                                               \
    UNARY(P, exp2, kerf::exp2)                                                             \
    UNARY(P, exp10, kerf::exp10)                                                           \
    UNARY(P, log, kerf::log)                                                               \
    UNARY(P, log2, kerf::log2)                                                             \
    UNARY(P, log10, kerf::log10)                                                           \
    UNARY(P, sin, kerf::sin)                                                               \
    UNARY(P, cos, kerf::cos)                                                               \
    UNARY(P, tan, kerf::tan)                                                               \
    BINARY(P, pow, kerf::pow)                                                              \
    UNARY(P, trunc, kerf::trunc)                                                           \
    RELATION(P, less, kerf::less)                                                          \
    RELATION(P, less_equal, kerf::less_equal)                                              \
    RELATION(P, equal, kerf::equal)                                                        \
    BINARY(P, add_cmp, kerf::cmp::add)                                                     \
    BINARY(P, sub_cmp, kerf::cmp::sub)                                                     \
    BINARY(P, mul_cmp, kerf::cmp::mul)                                                     \
    BINARY(P, div_cmp, kerf::cmp::div)                                                     \
    TERNARY(P, fma_cmp, kerf::cmp::fma)                                                    \
    UNARY(P, exp_cmp_bf, kerf::cmp::exp_bf)                                                \
    UNARY(P, exp_cmp_ts, kerf::cmp::exp_ts)                                                \
    UNARY(P, normal_cmp, kerf::cmp::normal)                                                \
    API long long P##_to_i64(P a) { return kerf::to_i64(of(a)); }                          \
    API unsigned long long P##_to_u64(P a) { return kerf::to_u64(of(a)); }

LIBRARY(kerf_dw32)
LIBRARY(kerf_dw64)

// Operations with words among the operands.
#define WORDS(P, T)                                                                        \
    API P P##_add_fp(P a, T b) { return pack(kerf::add_fp(of(a), b)); }                    \
    API P P##_mul_fp(P a, T b) { return pack(kerf::mul_fp(of(a), b)); }                    \
    API P P##_div_fp(P a, T b) { return pack(kerf::div_fp(of(a), b)); }                    \
    API P P##_add_words(T a, T b) { return pack(kerf::add_words(a, b)); }                  \
    API P P##_mul_words(T a, T b) { return pack(kerf::mul_words(a, b)); }                  \
    API P P##_div_words(T a, T b) { return pack(kerf::div_words(a, b)); }                  \
    API P P##_fma_words(T a, T b, P c) { return pack(kerf::fma_words(a, b, of(c))); }

WORDS(kerf_dw32, float)
WORDS(kerf_dw64, double)

// Integers of 32 bits: as of 64, cut off at the ends of the range.
template <class T> KERF_DEVICE int to_i32(kerf::dw<T> x)
{
    if (x.hi != x.hi)
        return int(x.hi);
    const long long n = kerf::to_i64(x);
    return n > 2147483647ll ? 2147483647 : n < -2147483648ll ? int(-2147483648ll) : int(n);
}
template <class T> KERF_DEVICE unsigned int to_u32(kerf::dw<T> x)
{
    const unsigned long long n = x.hi > T(0) ? kerf::to_u64(x) : 0;
    return n > 4294967295ull ? 4294967295u : (unsigned int)(n);
}
API int kerf_dw32_to_i32(kerf_dw32 a) { return to_i32(of(a)); }
API int kerf_dw64_to_i32(kerf_dw64 a) { return to_i32(of(a)); }
API unsigned int kerf_dw32_to_u32(kerf_dw32 a) { return to_u32(of(a)); }
API unsigned int kerf_dw64_to_u32(kerf_dw64 a) { return to_u32(of(a)); }

API kerf_dw32 kerf_dw32_split_cmp(float a) { return pack(kerf::cmp::split(a)); }
API kerf_dw64 kerf_dw64_split_cmp(double a) { return pack(kerf::cmp::split(a)); }

API kerf_dw32 kerf_dw32_from_f32(float a) { return kerf_dw32{a, 0.0f}; }
API kerf_dw32 kerf_dw32_from_f64(double a) { return pack(kerf::dw32_from_f64(a)); }
API kerf_dw32 kerf_dw32_from_dw64(kerf_dw64 a) { return pack(kerf::dw32_from_dw64(of(a))); }
API kerf_dw32 kerf_dw32_from_i32(int a) { return pack(kerf::dw32_from_i32(a)); }
API kerf_dw32 kerf_dw32_from_u32(unsigned int a) { return pack(kerf::dw32_from_u32(a)); }
// Through a double word of double: 64 bits do not fit a pair of floats, and are rounded once.
API kerf_dw32 kerf_dw32_from_i64(long long a)
{
    return pack(kerf::dw32_from_dw64(kerf::dw64_from_i64(a)));
}
API kerf_dw32 kerf_dw32_from_u64(unsigned long long a)
{
    return pack(kerf::dw32_from_dw64(kerf::dw64_from_u64(a)));
}
API float kerf_dw32_to_f32(kerf_dw32 a) { return a.x; }
API double kerf_dw32_to_f64(kerf_dw32 a) { return kerf::dw32_to_f64(of(a)); }

API kerf_dw64 kerf_dw64_from_f32(float a) { return kerf_dw64{double(a), 0.0}; }
API kerf_dw64 kerf_dw64_from_f64(double a) { return kerf_dw64{a, 0.0}; }
API kerf_dw64 kerf_dw64_from_dw32(kerf_dw32 a) { return pack(kerf::dw64_from_dw32(of(a))); }
API kerf_dw64 kerf_dw64_from_i32(int a) { return kerf_dw64{double(a), 0.0}; }
API kerf_dw64 kerf_dw64_from_u32(unsigned int a) { return kerf_dw64{double(a), 0.0}; }
API kerf_dw64 kerf_dw64_from_i64(long long a) { return pack(kerf::dw64_from_i64(a)); }
API kerf_dw64 kerf_dw64_from_u64(unsigned long long a) { return pack(kerf::dw64_from_u64(a)); }
API float kerf_dw64_to_f32(kerf_dw64 a) { return kerf::dw64_to_f32(of(a)); }
API double kerf_dw64_to_f64(kerf_dw64 a) { return a.x; }

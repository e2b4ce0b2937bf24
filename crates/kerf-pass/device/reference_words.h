// What the reference functions are made of: pairs and triples of words, and polynomials.
//
// The reference of a kernel carries each value as a pair of doubles. These functions are linked into
// the instrumented kernel and run on the CPU and on the GPU; they use only operations that IEEE 754
// defines to the last bit (+, -, *, /, fma, square root, integers), so both give the same bits.
#pragma once
#include "doubleword.h"

// Functions that stay functions: the instrumented module has each once.
#define KERF_CORE static __attribute__((device, noinline))
#define KERF_TABLE_OF(T) static __attribute__((device)) const T
#define KERF_TABLE KERF_TABLE_OF(double)

namespace kerf {
namespace ref {

typedef dw<double> dd;
typedef unsigned long long limb;

// The unevaluated sum h + m + l, each word at most about an ulp of the one before it.
struct tw {
    double h, m, l;
};

KERF_DEVICE dd pair(const double *c) { return dd{c[0], c[1]}; }
KERF_DEVICE tw triple(dd x) { return tw{x.hi, x.lo, 0.0}; }
KERF_DEVICE dd half(dd x) { return dd{x.hi * 0.5, x.lo * 0.5}; }
KERF_DEVICE dd twice(dd x) { return dd{x.hi * 2.0, x.lo * 2.0}; }
KERF_DEVICE double magnitude(double x) { return __builtin_fabs(x); }
KERF_DEVICE double infinity() { return __builtin_inf(); }
KERF_DEVICE double nan() { return __builtin_nan(""); }

KERF_DEVICE limb bits_of(double x) { return __builtin_bit_cast(limb, x); }
KERF_DEVICE bool negative(double x) { return bits_of(x) >> 63 != 0; }

// Adds a word to a triple and leaves it normalised; the rounding error is one of the last word.
KERF_DEVICE void accumulate(tw &x, double w)
{
    const dd s = two_sum(x.h, w);
    const dd t = two_sum(x.m, s.lo);
    const double l = x.l + t.lo;
    const dd v = two_sum(s.hi, t.hi);
    const dd r = two_sum(v.lo, l);
    x = tw{v.hi, r.hi, r.lo};
}

KERF_DEVICE dd round_to_pair(tw x) { return two_sum(x.h, x.m + x.l); }

// x + y for |y| <= |x|/2 or so: 3u^2, since the high words cannot cancel. SloppyDWPlusDW with Fast2Sum.
KERF_DEVICE dd add_smaller(dd x, dd y)
{
    const dd s = fast_two_sum(x.hi, y.hi);
    return fast_two_sum(s.hi, s.lo + (x.lo + y.lo));
}

// Horner's rule: `words` coefficients that one word suffices for, then `pairs` pairs, from the highest
// degree down. Each coefficient outweighs what comes from above it.
KERF_CORE dd polynomial(const double *c, int words, int pairs, dd x)
{
    double top = 0.0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < words; ++i)
        top = __builtin_fma(top, x.hi, c[i]);
    dd sum = {top, 0.0};
    c += words;
#pragma clang loop unroll(disable)
    for (int i = 0; i < pairs; ++i)
        sum = add_smaller(pair(c + 2 * i), bare::mul(sum, x));
    return sum;
}

// The same where a coefficient may be smaller than what comes from above it.
KERF_CORE dd polynomial_uneven(const double *c, int words, int pairs, dd x)
{
    double top = 0.0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < words; ++i)
        top = __builtin_fma(top, x.hi, c[i]);
    dd sum = {top, 0.0};
    c += words;
#pragma clang loop unroll(disable)
    for (int i = 0; i < pairs; ++i)
        sum = bare::add(pair(c + 2 * i), bare::mul(sum, x));
    return sum;
}

// x 2^n. Rounding in the subnormal range can leave the words unnormalised: two_sum mends that.
KERF_DEVICE dd scaled(dd x, int n)
{
    const double hi = scale(x.hi, n);
    if (!is_finite(hi) || hi == 0.0)
        return dd{hi, 0.0};
    return two_sum(hi, scale(x.lo, n));
}

// The same for words that stay normal, or lose nothing that matters when they do not.
KERF_DEVICE tw scaled(tw x, int n) { return tw{scale(x.h, n), scale(x.m, n), scale(x.l, n)}; }

} // namespace ref
} // namespace kerf

// The bounds campaign: double-word operations on random and adversarial operands, their error measured
// in the kernel and its maximum kept.
//
// Operands come from a counter, so that a pair is found again by its number. An error is the sum of the
// exact terms of a residual (x y - r; r y - x for a quotient; r r - x for a root), in four-fold f64
// precision: good to many digits at the errors that matter. The host settles the worst pairs with MPFR. Exponents stay where the theorems hold: nothing overflows, no error term
// underflows.
#include "doubleword_cmp.h"
#include "doubleword_convert.h"

using kerf::dw;
using kerf::from_word;
using kerf::neg;
using kerf::two_prod;
using kerf::two_sum;
using kerf::word;

typedef unsigned long long u64;

enum Op { ADD, MUL, DIV, SQRT, FMA, ADD_FP, MUL_FP, DIV_FP, FROM_F64, TO_F64, FROM_DW64, FROM_DW32, TO_F32 };

// A stream of random words for one pair.
struct Stream {
    u64 state;
    __attribute__((device)) u64 next()
    {
        state += 0x9e3779b97f4a7c15ull;
        u64 z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
};

KERF_DEVICE Stream stream(u64 seed, u64 index)
{
    Stream s = {seed * 0xd1342543de82ef95ull ^ index * 0xaf251af3b0f025b5ull};
    s.next();
    return s;
}

// Exponents that operands are drawn from.
template <class T> struct range;
template <> struct range<float> {
    static constexpr int add_low = -100, add_high = 100, mul_low = -38, mul_high = 60;
    static constexpr int div_low = -38, div_high = 38, sqrt_low = -74, sqrt_high = 120, gap = 54;
};
template <> struct range<double> {
    static constexpr int add_low = -900, add_high = 900, mul_low = -400, mul_high = 500;
    static constexpr int div_low = -400, div_high = 400, sqrt_low = -800, sqrt_high = 1000, gap = 112;
};

KERF_DEVICE int between(u64 r, int low, int high) { return low + int(r % u64(high - low + 1)); }

// A high word with a given exponent: any mantissa, a few units above or below a power of two, short, or
// ones up to some place.
template <class T> KERF_DEVICE T high_word(u64 r, int exponent)
{
    typedef typename word<T>::bits bits;
    const int width = word<T>::mantissa - 1;
    const u64 all = (1ull << width) - 1;
    const u64 any = r >> (64 - width);
    u64 mantissa = any;
    switch ((r >> 2) & 7) {
    case 0: mantissa = any & 7; break;
    case 1: mantissa = all - (any & 7); break;
    case 2: mantissa = any & ~(all >> 6); break;
    case 3: mantissa = all & ~((1ull << (any % width)) - 1); break;
    default: break;
    }
    const bits b = (bits(exponent + word<T>::bias) << width) | bits(mantissa);
    const T x = __builtin_bit_cast(T, b);
    return (r & 1) != 0 ? -x : x;
}

// A low word for a high one: any up to half a unit in its last place, close to that, a power of two, far
// below, or zero.
template <class T> KERF_DEVICE T low_word(u64 r, int exponent)
{
    const int width = word<T>::mantissa;
    const T half = kerf::pow2<T>(exponent - width);
    const T any = T(int(r >> 40)) * T(0x1p-24);
    T part = any;
    int down = 0;
    switch ((r >> 2) & 7) {
    case 0: part = T(1) - T(int((r >> 8) & 7)) * kerf::pow2<T>(-width); break;
    case 1: part = T(1) - any * T(0x1p-10); break;
    case 2: part = T(1); down = int((r >> 8) % 24); break;
    case 3: down = int((r >> 8) % 24); break;
    case 4: part = (r >> 8) % 4 == 0 ? T(0) : any; break;
    default: break;
    }
    // More bits than the 24 above.
    part = (part < T(1) && part > T(0)) ? part + part * T(int((r >> 16) & 0xffffff)) * T(0x1p-48) : part;
    part = part > T(1) ? T(1) : part;
    const T x = half * part * kerf::pow2<T>(-down);
    return (r & 1) != 0 ? -x : x;
}

template <class T> KERF_DEVICE dw<T> pair(Stream &s, int exponent)
{
    const T hi = high_word<T>(s.next(), exponent);
    return kerf::fast_two_sum(hi, low_word<T>(s.next(), exponent));
}

template <class T> struct Operands {
    dw<T> x, y, z;
};

// The second operand of a sum: cancelling exactly or nearly, a given number of binades away, or any.
template <class T> KERF_DEVICE dw<T> partner(Stream &s, dw<T> x, int low, int high)
{
    const u64 r = s.next();
    const int e = kerf::exponent(x.hi);
    switch (r & 7) {
    case 0: return kerf::fast_two_sum(-x.hi, low_word<T>(s.next(), e));
    case 1: {
        const T near = -x.hi * (T(1) + T(int((r >> 8) % 9) - 4) * kerf::pow2<T>(1 - word<T>::mantissa));
        return kerf::fast_two_sum(near, low_word<T>(s.next(), kerf::exponent(near)));
    }
    case 2: {
        // Half of one, minus the other: the sum loses all but the low words.
        const dw<T> y = {x.hi * T(-0.5), x.lo * T(-0.5)};
        return kerf::fast_two_sum(y.hi, low_word<T>(s.next(), e - 1));
    }
    case 3: return pair<T>(s, e);
    case 4:
    case 5: {
        int to = e - int((r >> 8) % u64(range<T>::gap));
        return pair<T>(s, to < low ? low : to);
    }
    default: return pair<T>(s, between(r >> 8, low, high));
    }
}

template <class T, int op> KERF_DEVICE Operands<T> draw(u64 seed, u64 index)
{
    typedef range<T> q;
    Stream s = stream(seed, index);
    const u64 r = s.next();
    Operands<T> o = {from_word(T(0)), from_word(T(0)), from_word(T(0))};
    if (op == ADD || op == ADD_FP) {
        o.x = pair<T>(s, between(r, q::add_low, q::add_high));
        o.y = partner(s, o.x, q::add_low, q::add_high);
    } else if (op == MUL || op == MUL_FP || op == FMA) {
        o.x = pair<T>(s, between(r, q::mul_low, q::mul_high));
        o.y = pair<T>(s, between(r >> 32, q::mul_low, q::mul_high));
        if (op == FMA)
            o.z = partner(s, kerf::bare::mul(o.x, o.y), 2 * q::mul_low, 2 * q::mul_high);
    } else if (op == DIV || op == DIV_FP) {
        o.x = pair<T>(s, between(r, q::div_low, q::div_high));
        o.y = pair<T>(s, between(r >> 32, q::div_low, q::div_high));
    } else if (op == SQRT) {
        o.x = kerf::abs(pair<T>(s, between(r, q::sqrt_low, q::sqrt_high)));
    } else {
        o.x = pair<T>(s, between(r, -60, 60));
    }
    if (op == ADD_FP || op == MUL_FP || op == DIV_FP)
        o.y = from_word(o.y.hi);
    return o;
}

// The sum of n words as if in four-fold precision (SumK of Ogita, Rump and Oishi, K = 4).
template <int n> KERF_DEVICE double exact_sum(double (&p)[n])
{
#pragma unroll
    for (int pass = 0; pass < 3; ++pass) {
#pragma unroll
        for (int i = 1; i < n; ++i) {
            const dw<double> s = two_sum(p[i - 1], p[i]);
            p[i] = s.hi;
            p[i - 1] = s.lo;
        }
    }
    double sum = 0.0;
#pragma unroll
    for (int i = 0; i < n; ++i)
        sum += p[i];
    return sum;
}

KERF_DEVICE void product_terms(double *p, double a, double b)
{
    const dw<double> t = two_prod(a, b);
    p[0] = t.hi;
    p[1] = t.lo;
}

// x*y + z - r, in which all but r may be words of zero.
KERF_DEVICE double residual(dw<double> x, dw<double> y, dw<double> z, dw<double> r)
{
    double p[12] = {0, 0, 0, 0, 0, 0, 0, 0, z.hi, z.lo, -r.hi, -r.lo};
    product_terms(p, x.hi, y.hi);
    product_terms(p + 2, x.hi, y.lo);
    product_terms(p + 4, x.lo, y.hi);
    product_terms(p + 6, x.lo, y.lo);
    return exact_sum(p);
}

KERF_DEVICE double sum_residual(dw<double> x, dw<double> y, dw<double> r)
{
    double p[6] = {x.hi, y.hi, x.lo, y.lo, -r.hi, -r.lo};
    return exact_sum(p);
}

KERF_DEVICE dw<double> widen(dw<double> x) { return x; }
// Exact: both words of the result are what they were.
KERF_DEVICE dw<double> widen(dw<float> x) { return dw<double>{double(x.hi), double(x.lo)}; }

KERF_DEVICE double ratio(double error, double size)
{
    return error == 0.0 ? 0.0 : __builtin_fabs(error) / __builtin_fabs(size);
}

template <class T, int op, bool cmp> KERF_DEVICE dw<T> compute(Operands<T> o)
{
    if (op == ADD)
        return cmp ? kerf::cmp::add(o.x, o.y) : kerf::add(o.x, o.y);
    if (op == MUL)
        return cmp ? kerf::cmp::mul(o.x, o.y) : kerf::mul(o.x, o.y);
    if (op == DIV)
        return cmp ? kerf::cmp::div(o.x, o.y) : kerf::div(o.x, o.y);
    if (op == FMA)
        return cmp ? kerf::cmp::fma(o.x, o.y, o.z) : kerf::fma(o.x, o.y, o.z);
    if (op == ADD_FP)
        return kerf::add_fp(o.x, o.y.hi);
    if (op == MUL_FP)
        return kerf::mul_fp(o.x, o.y.hi);
    if (op == DIV_FP)
        return kerf::div_fp(o.x, o.y.hi);
    return kerf::sqrt(o.x);
}

// The error of an arithmetic operation, relative to the result, or for fma to what its bound is made of.
template <int op> KERF_DEVICE double relative(dw<double> x, dw<double> y, dw<double> z, dw<double> r)
{
    const dw<double> zero = from_word(0.0);
    if (op == ADD || op == ADD_FP) {
        const double e = sum_residual(x, y, r);
        return ratio(e, (r.hi + r.lo) + e);
    }
    if (op == MUL || op == MUL_FP)
        return ratio(residual(x, y, zero, r), x.hi * y.hi);
    if (op == DIV || op == DIV_FP)
        return ratio(residual(r, y, zero, x), x.hi);
    if (op == SQRT)
        return ratio(residual(r, r, zero, x), 2.0 * x.hi);
    const double e = residual(x, y, z, r);
    return ratio(e, 5.0 * __builtin_fabs(x.hi * y.hi) + 3.0 * __builtin_fabs((r.hi + r.lo) + e));
}

// Operation `op` on pair `index`: its error, and the operands and result for the host.
template <class T, int op, bool cmp> struct Case {
    static constexpr double unit = sizeof(T) == 4 ? 0x1p48 : 0x1p106;
    __attribute__((device)) static double error(u64 seed, u64 index, double *shown)
    {
        const Operands<T> o = draw<T, op>(seed, index);
        const dw<double> r = widen(compute<T, op, cmp>(o));
        const dw<double> x = widen(o.x), y = widen(o.y), z = widen(o.z);
        if (shown) {
            const double all[8] = {x.hi, x.lo, y.hi, y.lo, z.hi, z.lo, r.hi, r.lo};
            for (int i = 0; i < 8; ++i)
                shown[i] = all[i];
        }
        return relative<op>(x, y, z, r) * unit;
    }
};

// Conversions: x goes in as pair or word, r comes out.
template <class T, int op> struct Conversion {
    __attribute__((device)) static double error(u64 seed, u64 index, double *shown)
    {
        const bool from_pair = op == FROM_DW64 || op == TO_F32;
        dw<double> x, r;
        if (op == FROM_F64) {
            x = from_word(draw<double, op>(seed, index).x.hi);
            r = widen(kerf::dw32_from_f64(x.hi));
        } else if (from_pair) {
            x = draw<double, op>(seed, index).x;
            r = op == TO_F32 ? from_word(double(kerf::dw64_to_f32(x))) : widen(kerf::dw32_from_dw64(x));
        } else {
            const dw<float> p = draw<float, op>(seed, index).x;
            x = widen(p);
            r = op == TO_F64 ? from_word(kerf::dw32_to_f64(p)) : kerf::dw64_from_dw32(p);
        }
        if (shown) {
            const double all[8] = {x.hi, x.lo, 0, 0, 0, 0, r.hi, r.lo};
            for (int i = 0; i < 8; ++i)
                shown[i] = all[i];
        }
        const double unit = op == TO_F32 ? 0x1p24 : sizeof(T) == 4 ? 0x1p48 : 0x1p106;
        return ratio(sum_residual(x, from_word(0.0), r), x.hi) * unit;
    }
};

// Each thread's largest error and the number of its pair.
template <class C> KERF_DEVICE void search(u64 seed, u64 pairs, double *errors, u64 *indices)
{
    const u64 thread = u64(__nvvm_read_ptx_sreg_ctaid_x()) * __nvvm_read_ptx_sreg_ntid_x() +
                       __nvvm_read_ptx_sreg_tid_x();
    const u64 threads = u64(__nvvm_read_ptx_sreg_nctaid_x()) * __nvvm_read_ptx_sreg_ntid_x();
    double worst = -1.0;
    u64 at = 0;
    for (u64 i = thread; i < pairs; i += threads) {
        double e = C::error(seed, i, nullptr);
        e = e != e ? __builtin_inf() : e; // a NaN is no small error
        if (e > worst) {
            worst = e;
            at = i;
        }
    }
    errors[thread] = worst;
    indices[thread] = at;
}

#define KERNELS(name, ...)                                                                 \
    extern "C" __attribute__((global)) void bounds_##name(u64 seed, u64 pairs, double *errors, \
                                                          u64 *indices)                    \
    {                                                                                      \
        search<__VA_ARGS__>(seed, pairs, errors, indices);                                 \
    }                                                                                      \
    extern "C" __attribute__((global)) void show_##name(u64 seed, u64 index, double *shown) \
    {                                                                                      \
        shown[8] = __VA_ARGS__::error(seed, index, shown);                                 \
    }
#define ARITHMETIC(name, T)                                                                \
    KERNELS(add_##name, Case<T, ADD, false>)                                               \
    KERNELS(mul_##name, Case<T, MUL, false>)                                               \
    KERNELS(div_##name, Case<T, DIV, false>)                                               \
    KERNELS(sqrt_##name, Case<T, SQRT, false>)                                             \
    KERNELS(fma_##name, Case<T, FMA, false>)                                               \
    KERNELS(add_fp_##name, Case<T, ADD_FP, false>)                                         \
    KERNELS(mul_fp_##name, Case<T, MUL_FP, false>)                                         \
    KERNELS(div_fp_##name, Case<T, DIV_FP, false>)                                         \
    KERNELS(add_##name##_cmp, Case<T, ADD, true>)                                          \
    KERNELS(mul_##name##_cmp, Case<T, MUL, true>)                                          \
    KERNELS(div_##name##_cmp, Case<T, DIV, true>)                                          \
    KERNELS(fma_##name##_cmp, Case<T, FMA, true>)

ARITHMETIC(dw32, float)
ARITHMETIC(dw64, double)
KERNELS(convert_f64_dw32, Conversion<float, FROM_F64>)
KERNELS(convert_dw32_f64, Conversion<float, TO_F64>)
KERNELS(convert_dw64_dw32, Conversion<float, FROM_DW64>)
KERNELS(convert_dw32_dw64, Conversion<double, FROM_DW32>)
KERNELS(convert_dw64_f32, Conversion<double, TO_F32>)

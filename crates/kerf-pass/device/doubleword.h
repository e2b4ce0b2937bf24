// Double-word arithmetic for device code: a number held as the unevaluated sum hi + lo of two words.
//
// The algorithms are those of Joldes, Muller and Popescu, "Tight and rigorous error bounds for basic
// building blocks of double-word arithmetic", ACM TOMS 44(2), 2017, and the square root of Lefevre,
// Louvet, Muller, Picot and Rideau, ACM TOMS 49(1), 2023, step by step as in the Rust crate kerf-num,
// so that finite results have the same bits on every machine. u is the unit roundoff of the word:
// 2^-24 for float, 2^-53 for double. Bounds hold while nothing overflows and no error term
// underflows; for float that needs about 2^-102 <= |x|.
//
// The functions in `bare` are the published sequences and nothing else. An infinity makes their low
// word NaN. Those in `kerf` itself answer infinities, NaN and overflow as the word would, with a zero
// low word. The sign of a zero result is lost in sums and products.
//
// Compile with -ffp-contract=off and without fast math: the error-free transforms depend on it.
#pragma once

#define KERF_DEVICE static inline __attribute__((device, always_inline))

typedef float kerf_dw32 __attribute__((ext_vector_type(2)));
typedef double kerf_dw64 __attribute__((ext_vector_type(2)));

namespace kerf {

template <class T> struct dw {
    T hi, lo;
};

// What differs between the words.
template <class T> struct word;

template <> struct word<float> {
    typedef unsigned int bits;
    enum { mantissa = 24, bias = 127 };
    KERF_DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
    KERF_DEVICE float sqrt(float a) { return __nvvm_sqrt_rn_f(a); }
    KERF_DEVICE float abs(float a) { return __builtin_fabsf(a); }
    KERF_DEVICE float round(float a) { return __builtin_rintf(a); }
    KERF_DEVICE float floor(float a) { return __builtin_floorf(a); }
    KERF_DEVICE float infinity() { return __builtin_inff(); }
    KERF_DEVICE float nan() { return __builtin_nanf(""); }
};

template <> struct word<double> {
    typedef unsigned long long bits;
    enum { mantissa = 53, bias = 1023 };
    KERF_DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
    KERF_DEVICE double sqrt(double a) { return __nvvm_sqrt_rn_d(a); }
    KERF_DEVICE double abs(double a) { return __builtin_fabs(a); }
    KERF_DEVICE double round(double a) { return __builtin_rint(a); }
    KERF_DEVICE double floor(double a) { return __builtin_floor(a); }
    KERF_DEVICE double infinity() { return __builtin_inf(); }
    KERF_DEVICE double nan() { return __builtin_nan(""); }
};

template <class T> KERF_DEVICE dw<T> from_word(T x) { return dw<T>{x, T(0)}; }

template <class T> KERF_DEVICE bool is_finite(T x) { return word<T>::abs(x) < word<T>::infinity(); }

// 2^n for n in the normal range of the word.
template <class T> KERF_DEVICE T pow2(int n)
{
    typedef typename word<T>::bits bits;
    return __builtin_bit_cast(T, bits(n + word<T>::bias) << (word<T>::mantissa - 1));
}

// x * 2^n, rounded once.
template <class T> KERF_DEVICE T scale(T x, int n)
{
    const int top = word<T>::bias, bottom = 1 - word<T>::bias;
    // Down by less than the whole range: a step that leaves the normal range then still has so much
    // to go that its rounding cannot be seen.
    const int down = bottom + word<T>::mantissa;
#pragma unroll
    for (int step = 0; step < 2; ++step) {
        if (n > top) {
            x *= pow2<T>(top);
            n -= top;
        } else if (n < bottom) {
            x *= pow2<T>(down);
            n -= down;
        }
    }
    n = n > top ? top : n < bottom ? bottom : n;
    return x * pow2<T>(n);
}

// floor(log2 |x|) for a finite x other than zero.
template <class T> KERF_DEVICE int exponent(T x)
{
    typedef typename word<T>::bits bits;
    const int m = word<T>::mantissa;
    const T least = pow2<T>(1 - word<T>::bias);
    const bool subnormal = word<T>::abs(x) < least;
    const T y = word<T>::abs(subnormal ? x * pow2<T>(m) : x);
    return int(__builtin_bit_cast(bits, y) >> (m - 1)) - word<T>::bias - (subnormal ? m : 0);
}

// a + b and its rounding error, for any a and b. TwoSum.
template <class T> KERF_DEVICE dw<T> two_sum(T a, T b)
{
    const T hi = a + b;
    const T a_part = hi - b;
    const T b_part = hi - a_part;
    const T a_error = a - a_part;
    const T b_error = b - b_part;
    return dw<T>{hi, a_error + b_error};
}

// The same where the exponent of a is not below that of b, or a is zero. Fast2Sum.
template <class T> KERF_DEVICE dw<T> fast_two_sum(T a, T b)
{
    const T hi = a + b;
    const T b_part = hi - a;
    return dw<T>{hi, b - b_part};
}

// a * b and its rounding error. TwoProd.
template <class T> KERF_DEVICE dw<T> two_prod(T a, T b)
{
    const T hi = a * b;
    return dw<T>{hi, word<T>::fma(a, b, -hi)};
}

template <class T> KERF_DEVICE dw<T> neg(dw<T> x) { return dw<T>{-x.hi, -x.lo}; }

template <class T> KERF_DEVICE dw<T> ldexp(dw<T> x, int n)
{
    return dw<T>{scale(x.hi, n), scale(x.lo, n)};
}

namespace bare {

// AccurateDWPlusDW: 3u^2 + 13u^3, also under cancellation.
template <class T> KERF_DEVICE dw<T> add(dw<T> x, dw<T> y)
{
    const dw<T> s = two_sum(x.hi, y.hi);
    const dw<T> t = two_sum(x.lo, y.lo);
    const T c = s.lo + t.hi;
    const dw<T> v = fast_two_sum(s.hi, c);
    const T w = t.lo + v.lo;
    return fast_two_sum(v.hi, w);
}

// DWPlusFP: 2u^2.
template <class T> KERF_DEVICE dw<T> add(dw<T> x, T y)
{
    const dw<T> s = two_sum(x.hi, y);
    const T v = x.lo + s.lo;
    return fast_two_sum(s.hi, v);
}

// DWTimesDW3: 5u^2.
template <class T> KERF_DEVICE dw<T> mul(dw<T> x, dw<T> y)
{
    const dw<T> c = two_prod(x.hi, y.hi);
    const T tl0 = x.lo * y.lo;
    const T tl1 = word<T>::fma(x.hi, y.lo, tl0);
    const T cl2 = word<T>::fma(x.lo, y.hi, tl1);
    const T cl3 = c.lo + cl2;
    return fast_two_sum(c.hi, cl3);
}

// DWTimesDW2: 6u^2, one operation less.
template <class T> KERF_DEVICE dw<T> mul2(dw<T> x, dw<T> y)
{
    const dw<T> c = two_prod(x.hi, y.hi);
    const T t = x.hi * y.lo;
    const T cl2 = word<T>::fma(x.lo, y.hi, t);
    const T cl3 = c.lo + cl2;
    return fast_two_sum(c.hi, cl3);
}

// DWTimesFP1: (3/2)u^2 + 4u^3; the proof of DWDivDW2 rests on it.
template <class T> KERF_DEVICE dw<T> mul_fp1(dw<T> x, T y)
{
    const dw<T> c = two_prod(x.hi, y);
    const T cl2 = x.lo * y;
    const dw<T> t = fast_two_sum(c.hi, cl2);
    const T tl2 = t.lo + c.lo;
    return fast_two_sum(t.hi, tl2);
}

// DWTimesFP3: 2u^2.
template <class T> KERF_DEVICE dw<T> mul(dw<T> x, T y)
{
    const dw<T> c = two_prod(x.hi, y);
    const T cl3 = word<T>::fma(x.lo, y, c.lo);
    return fast_two_sum(c.hi, cl3);
}

// DWDivDW2: 15u^2 + 56u^3. A quotient that is a word comes out exactly.
template <class T> KERF_DEVICE dw<T> div(dw<T> x, dw<T> y)
{
    const T th = x.hi / y.hi;
    const dw<T> r = mul_fp1(y, th);
    const T pi = x.hi - r.hi;
    const T delta_l = x.lo - r.lo;
    const T delta = pi + delta_l;
    const T tl = delta / y.hi;
    return fast_two_sum(th, tl);
}

// DWDivDW3: 9.8u^2, one division of words, but exact quotients need not come out exactly.
template <class T> KERF_DEVICE dw<T> div3(dw<T> x, dw<T> y)
{
    const T th = T(1) / y.hi;
    const T rh = word<T>::fma(-y.hi, th, T(1));
    const T rl = -(y.lo * th);
    const dw<T> e = fast_two_sum(rh, rl);
    const dw<T> delta = mul(e, th);
    const dw<T> m = add(delta, th);
    return mul2(x, m);
}

// DWDivFP3: 3u^2.
template <class T> KERF_DEVICE dw<T> div(dw<T> x, T y)
{
    const T th = x.hi / y;
    const dw<T> pi = two_prod(th, y);
    const T delta_h = x.hi - pi.hi;
    const T delta_t = delta_h - pi.lo;
    const T delta = delta_t + x.lo;
    const T tl = delta / y;
    return fast_two_sum(th, tl);
}

// SQRTDWtoDW: (25/8)u^2.
template <class T> KERF_DEVICE dw<T> sqrt(dw<T> x)
{
    const T sh = word<T>::sqrt(x.hi);
    const T rho1 = word<T>::fma(-sh, sh, x.hi);
    const T rho2 = x.lo + rho1;
    const T sl = rho2 / (T(2) * sh);
    return x.hi == T(0) ? x : fast_two_sum(sh, sl);
}

} // namespace bare

// The result of a bare algorithm, or what the word alone gives where that met an infinity or NaN.
template <class T> KERF_DEVICE dw<T> settle(dw<T> z, T plain)
{
    const bool good = is_finite(z.lo);
    return dw<T>{good ? z.hi : plain, good ? z.lo : T(0)};
}

template <class T> KERF_DEVICE dw<T> add(dw<T> x, dw<T> y)
{
    return settle(bare::add(x, y), x.hi + y.hi);
}

template <class T> KERF_DEVICE dw<T> sub(dw<T> x, dw<T> y) { return add(x, neg(y)); }

template <class T> KERF_DEVICE dw<T> mul(dw<T> x, dw<T> y)
{
    return settle(bare::mul(x, y), x.hi * y.hi);
}

// Product, then sum: the error is at most 5u^2 |xy| + 3u^2 |xy + z|, up to terms in u^3. Where xy and z
// cancel it is small beside them, not beside the result.
template <class T> KERF_DEVICE dw<T> fma(dw<T> x, dw<T> y, dw<T> z)
{
    const dw<T> p = bare::mul(x, y);
    return settle(bare::add(p, z), word<T>::fma(x.hi, y.hi, z.hi));
}

template <class T> KERF_DEVICE dw<T> div(dw<T> x, dw<T> y)
{
    return settle(bare::div(x, y), x.hi / y.hi);
}

// The same with words among the operands: 2u^2, 2u^2 and 3u^2; sums and products of two words are exact.
template <class T> KERF_DEVICE dw<T> add_fp(dw<T> x, T y) { return settle(bare::add(x, y), x.hi + y); }

template <class T> KERF_DEVICE dw<T> add_words(T x, T y) { return settle(two_sum(x, y), x + y); }

template <class T> KERF_DEVICE dw<T> mul_fp(dw<T> x, T y) { return settle(bare::mul(x, y), x.hi * y); }

template <class T> KERF_DEVICE dw<T> mul_words(T x, T y) { return settle(two_prod(x, y), x * y); }

template <class T> KERF_DEVICE dw<T> div_fp(dw<T> x, T y) { return settle(bare::div(x, y), x.hi / y); }

template <class T> KERF_DEVICE dw<T> div_words(T x, T y) { return div_fp(from_word(x), y); }

// An exact product and a sum: 3u^2 + 13u^3, also under cancellation.
template <class T> KERF_DEVICE dw<T> fma_words(T x, T y, dw<T> z)
{
    return settle(bare::add(two_prod(x, y), z), word<T>::fma(x, y, z.hi));
}

template <class T> KERF_DEVICE dw<T> sqrt(dw<T> x)
{
    return settle(bare::sqrt(x), word<T>::sqrt(x.hi));
}

// 1/sqrt(x): a root and a quotient, 15u^2 + (25/8)u^2 up to terms in u^3.
template <class T> KERF_DEVICE dw<T> rsqrt(dw<T> x) { return div(from_word(T(1)), sqrt(x)); }

template <class T> KERF_DEVICE bool less(dw<T> x, dw<T> y)
{
    return x.hi < y.hi || (x.hi == y.hi && x.lo < y.lo);
}

template <class T> KERF_DEVICE bool less_equal(dw<T> x, dw<T> y)
{
    return x.hi < y.hi || (x.hi == y.hi && x.lo <= y.lo);
}

template <class T> KERF_DEVICE bool equal(dw<T> x, dw<T> y) { return x.hi == y.hi && x.lo == y.lo; }

// A NaN loses against a number, as in the PTX instruction.
template <class T> KERF_DEVICE dw<T> min(dw<T> x, dw<T> y)
{
    return less(y, x) || x.hi != x.hi ? y : x;
}

template <class T> KERF_DEVICE dw<T> max(dw<T> x, dw<T> y)
{
    return less(x, y) || x.hi != x.hi ? y : x;
}

template <class T> KERF_DEVICE dw<T> abs(dw<T> x)
{
    const bool negative = x.hi < T(0);
    return dw<T>{word<T>::abs(x.hi), negative ? -x.lo : x.lo};
}

} // namespace kerf

// Elementary functions of double words.
//
// exp, log: as in kerf-num, step by step. exp2, exp10, log2, log10 share their kernels. sin, cos: the
// argument is reduced by multiples of pi/2 in three words, exactly enough for every double word up to
// the limit (2^30 for pairs of double, 2^20 for pairs of float); beyond it they give NaN.
// Errors have no proof from end to end; the tests of kerf-pass measure them against MPFR.
#pragma once
#include "doubleword_constants.h"

namespace kerf {

// The polynomial whose coefficients are pair(coefficient(0)), ...: the first `head` in double words,
// `tail` more, too small to matter beyond one word, in words.
template <class T, int head, int tail, class C> KERF_DEVICE dw<T> horner(dw<T> x, C coefficient)
{
    T word_sum = T(0);
#pragma unroll
    for (int i = tail - 1; i >= 0; --i)
        word_sum = word<T>::fma(word_sum, x.hi, T(coefficient(head + i).hi));
    dw<T> sum = from_word(word_sum);
#pragma unroll
    for (int i = head - 1; i >= 0; --i)
        sum = bare::add(constant<T>::pair(coefficient(i)), bare::mul(sum, x));
    return sum;
}

// Coefficients from the lowest degree up: 1/2!, 1/3!, ...; 1/3, 1/5, ...; -1/3!, 1/5!, ...; 1/4!, -1/6!, ...
struct exp_coefficients {
    __attribute__((device)) dw<double> operator()(int i) const { return inverse_factorial(i + 2); }
};
struct log_coefficients {
    __attribute__((device)) dw<double> operator()(int i) const { return inverse_odd(i + 1); }
};
struct sin_coefficients {
    __attribute__((device)) dw<double> operator()(int i) const
    {
        const dw<double> f = inverse_factorial(2 * i + 3);
        return i % 2 == 0 ? neg(f) : f;
    }
};
struct cos_coefficients {
    __attribute__((device)) dw<double> operator()(int i) const
    {
        const dw<double> f = inverse_factorial(2 * i + 4);
        return i % 2 == 0 ? f : neg(f);
    }
};

// e^r 2^m for |r| <= ln(2)/2.
template <class T> KERF_DEVICE dw<T> exp_reduced(dw<T> r, T m)
{
    typedef constant<T> c;
    const dw<T> p = horner<T, c::exp_head, c::exp_tail>(r, exp_coefficients{});
    const dw<T> square = bare::mul(r, r);
    const dw<T> expm1 = bare::add(r, bare::mul(square, p));
    const dw<T> z = ldexp(bare::add(expm1, T(1)), int(m));
    return is_finite(z.hi) ? z : from_word(z.hi);
}

// Answers an argument outside (low, high), or NaN.
template <class T> KERF_DEVICE bool beyond(T x, T low, T high, dw<T> *answer)
{
    if (x > high)
        *answer = from_word(word<T>::infinity());
    else if (x < low)
        *answer = from_word(T(0));
    else if (x != x)
        *answer = from_word(x);
    else
        return false;
    return true;
}

template <class T> KERF_DEVICE dw<T> exp(dw<T> x)
{
    typedef constant<T> c;
    dw<T> answer;
    if (beyond(x.hi, c::exp_min, c::exp_max, &answer))
        return answer;
    const T m = word<T>::round(x.hi * c::inverse_ln2);
    dw<T> r = bare::add(x, -(m * c::ln2_1));
    r = bare::add(r, -(m * c::ln2_2));
    r = bare::add(r, -(m * c::ln2_3));
    return exp_reduced(r, m);
}

template <class T> KERF_DEVICE dw<T> exp2(dw<T> x)
{
    typedef constant<T> c;
    dw<T> answer;
    if (beyond(x.hi, c::exp2_min, c::exp2_max, &answer))
        return answer;
    const T m = word<T>::round(x.hi);
    return exp_reduced(bare::mul(bare::add(x, -m), dw<T>{c::ln2[0], c::ln2[1]}), m);
}

template <class T> KERF_DEVICE dw<T> exp10(dw<T> x)
{
    typedef constant<T> c;
    dw<T> answer;
    if (beyond(x.hi, c::exp10_min, c::exp10_max, &answer))
        return answer;
    const T m = word<T>::round(x.hi * c::log2_10);
    dw<T> r = bare::add(x, -(m * c::lg2_1));
    r = bare::add(r, -(m * c::lg2_2));
    r = bare::add(r, -(m * c::lg2_3));
    return exp_reduced(bare::mul(r, dw<T>{c::ln10[0], c::ln10[1]}), m);
}

// x = 2^k m with m in [sqrt(1/2), sqrt(2)]: gives ln m. Answers what has no logarithm.
template <class T> KERF_DEVICE bool log_reduced(dw<T> x, dw<T> *log_m, int *power)
{
    typedef constant<T> c;
    if (!(x.hi > T(0)) || !is_finite(x.hi)) {
        const T inf = word<T>::infinity();
        *log_m = from_word(x.hi == T(0) ? -inf : x.hi < T(0) ? word<T>::nan() : x.hi);
        return false;
    }
    int k = exponent(x.hi);
    if (scale(x.hi, -k) > c::sqrt2)
        k += 1;
    const dw<T> m = ldexp(x, -k);
    const dw<T> s = bare::div3(bare::add(m, T(-1)), bare::add(m, T(1)));
    const dw<T> z = bare::mul(s, s);
    const dw<T> p = horner<T, c::log_head, c::log_tail>(z, log_coefficients{});
    // 2s is exact and carries nearly all of the result.
    const dw<T> twice = {s.hi * T(2), s.lo * T(2)};
    *log_m = bare::add(twice, bare::mul(twice, bare::mul(z, p)));
    *power = k;
    return true;
}

template <class T> KERF_DEVICE dw<T> log(dw<T> x)
{
    typedef constant<T> c;
    dw<T> log_m;
    int k;
    if (!log_reduced(x, &log_m, &k) || k == 0)
        return log_m;
    const T n = T(k);
    const dw<T> whole = bare::add(two_sum(n * c::ln2_1, n * c::ln2_2), n * c::ln2_3);
    return bare::add(whole, log_m);
}

template <class T> KERF_DEVICE dw<T> log2(dw<T> x)
{
    typedef constant<T> c;
    dw<T> log_m;
    int k;
    if (!log_reduced(x, &log_m, &k))
        return log_m;
    return bare::add(bare::mul(log_m, dw<T>{c::log2_e[0], c::log2_e[1]}), T(k));
}

template <class T> KERF_DEVICE dw<T> log10(dw<T> x)
{
    return mul(log(x), dw<T>{constant<T>::log10_e[0], constant<T>::log10_e[1]});
}

// x^y as exp(y ln x): the error of the logarithm counts |y ln x| times.
template <class T> KERF_DEVICE dw<T> pow(dw<T> x, dw<T> y)
{
    const T inf = word<T>::infinity();
    if (y.hi == T(0) || equal(x, from_word(T(1))))
        return from_word(T(1));
    if (x.hi != x.hi || y.hi != y.hi)
        return from_word(x.hi + y.hi);
    // Whether y is an integer, and an odd one: in its last word that is not zero.
    const T last = y.lo != T(0) ? y.lo : y.hi;
    const bool whole = word<T>::floor(y.hi) == y.hi && word<T>::floor(y.lo) == y.lo;
    const bool odd = whole && word<T>::floor(last * T(0.5)) * T(2) != last;
    const dw<T> a = abs(x);
    dw<T> z;
    if (word<T>::abs(y.hi) == inf) {
        const bool grows = less(from_word(T(1)), a) == (y.hi > T(0));
        return from_word(equal(a, from_word(T(1))) ? T(1) : grows ? inf : T(0));
    }
    if (a.hi == T(0) || a.hi == inf)
        z = from_word((a.hi == inf) == (y.hi > T(0)) ? inf : T(0));
    else if (x.hi < T(0) && !whole)
        return from_word(word<T>::nan());
    else
        z = exp(mul(y, log(a)));
    return x.hi < T(0) && odd ? neg(z) : z;
}

// Adds a word to a number of three words.
template <class T> KERF_DEVICE void accumulate(T &a, T &b, T &c, T w)
{
    const dw<T> s = two_sum(a, w);
    const dw<T> t = two_sum(b, s.lo);
    c += t.lo;
    const dw<T> v = two_sum(s.hi, t.hi);
    const dw<T> r = two_sum(v.lo, c);
    a = v.hi;
    b = r.hi;
    c = r.lo;
}

// x - n pi/2, and n modulo 4.
template <class T> KERF_DEVICE dw<T> reduce_trig(dw<T> x, int *quadrant)
{
    typedef constant<T> k;
    const T n = word<T>::round(x.hi * k::two_over_pi);
    *quadrant = int(n) & 3;
    T a = x.hi, b = x.lo, c = T(0);
#pragma unroll
    for (int i = 0; i < k::quick; ++i) {
        const dw<T> p = two_prod(n, k::half_pi[i]);
        accumulate(a, b, c, -p.hi);
        accumulate(a, b, c, -p.lo);
    }
    if (!(word<T>::abs(a) > pow2<T>(-20))) {
#pragma unroll
        for (int i = k::quick; i < k::parts; ++i) {
            const dw<T> p = two_prod(n, k::half_pi[i]);
            accumulate(a, b, c, -p.hi);
            accumulate(a, b, c, -p.lo);
        }
    }
    return fast_two_sum(a, b + c);
}

// sin r for |r| <= pi/4.
template <class T> KERF_DEVICE dw<T> sin_reduced(dw<T> r)
{
    typedef constant<T> c;
    const dw<T> z = bare::mul(r, r);
    const dw<T> p = horner<T, c::trig_head, c::sin_tail>(z, sin_coefficients{});
    return bare::add(r, bare::mul(r, bare::mul(z, p)));
}

// cos r for |r| <= pi/4.
template <class T> KERF_DEVICE dw<T> cos_reduced(dw<T> r)
{
    typedef constant<T> c;
    const dw<T> z = bare::mul(r, r);
    const dw<T> p = horner<T, c::trig_head, c::cos_tail>(z, cos_coefficients{});
    const dw<T> half = {z.hi * T(-0.5), z.lo * T(-0.5)};
    return bare::add(bare::add(half, bare::mul(bare::mul(z, z), p)), T(1));
}

// sin(x + quarter pi/2).
template <class T> KERF_DEVICE dw<T> wave(dw<T> x, int quarter)
{
    if (!(word<T>::abs(x.hi) <= constant<T>::trig_limit))
        return from_word(word<T>::nan());
    int q = 0;
    dw<T> r = x;
    if (word<T>::abs(x.hi) > T(0.785))
        r = reduce_trig(x, &q);
    q += quarter;
    const dw<T> z = (q & 1) != 0 ? cos_reduced(r) : sin_reduced(r);
    return (q & 2) != 0 ? neg(z) : z;
}

template <class T> KERF_DEVICE dw<T> sin(dw<T> x) { return x.hi == T(0) ? x : wave(x, 0); }

template <class T> KERF_DEVICE dw<T> cos(dw<T> x) { return wave(x, 1); }

template <class T> KERF_DEVICE dw<T> tan(dw<T> x) { return div(sin(x), cos(x)); }

} // namespace kerf

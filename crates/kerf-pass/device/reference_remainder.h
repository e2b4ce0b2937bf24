// fmod and remainder, exactly, rounded once to a pair: long division in integers as wide as the operands
// are far apart. The words of a pair may leave any number of zeros between them, so that no fixed number
// of words would do.
#pragma once
#include "reference_arith.h"

namespace kerf {
namespace ref {

// 2099 bits hold every sum of two doubles; a limb more keeps shifts inside.
struct integer {
    limb w[34];
};

// |x| = mantissa 2^exponent.
KERF_DEVICE limb mantissa_of(double x, int *exponent)
{
    const limb bits = bits_of(x);
    const int field = int(bits >> 52) & 0x7ff;
    const limb fraction = bits & 0xfffffffffffffull;
    *exponent = (field != 0 ? field : 1) - 1075;
    return field != 0 ? fraction | 0x10000000000000ull : fraction;
}

// The exponent of the last bit, or a large number for zero.
KERF_DEVICE int last_exponent(double x)
{
    int e;
    const limb m = mantissa_of(x, &e);
    return m == 0 ? 4096 : e + __builtin_ctzll(m);
}

// a += x in units of 2^unit, or a -= x. The lowest bit of x is not below the unit.
KERF_DEVICE void add_word(integer &a, double x, bool minus, int unit)
{
    int e;
    limb m = mantissa_of(x, &e);
    if (m == 0)
        return;
    int shift = e - unit;
    if (shift < 0) {
        m >>= -shift;
        shift = 0;
    }
    const int low = shift & 63;
    limb carry = 0;
#pragma clang loop unroll(disable)
    for (int i = shift >> 6, k = 0; i < 34; ++i, ++k) {
        const limb part = k == 0 ? m << low : k == 1 ? m >> 1 >> (63 - low) : 0;
        if (k > 1 && carry == 0)
            break;
        const limb old = a.w[i];
        a.w[i] = minus ? old - part - carry : old + part + carry;
        carry = minus ? old < part || (old == part && carry != 0)
                      : a.w[i] < old || (a.w[i] == old && carry != 0);
    }
}

KERF_DEVICE int bit_length(const integer &a, int limbs)
{
#pragma clang loop unroll(disable)
    for (int i = limbs - 1; i >= 0; --i)
        if (a.w[i] != 0)
            return 64 * i + 64 - __builtin_clzll(a.w[i]);
    return 0;
}

// a -= b where a >= b; false, and nothing done, otherwise.
KERF_CORE bool take(integer &a, const integer &b, int limbs)
{
#pragma clang loop unroll(disable)
    for (int i = limbs - 1; i >= 0; --i) {
        if (a.w[i] > b.w[i])
            break;
        if (a.w[i] < b.w[i])
            return false;
    }
    limb borrow = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < limbs; ++i) {
        const limb x = a.w[i], y = b.w[i];
        a.w[i] = x - y - borrow;
        borrow = x < y || (x == y && borrow != 0);
    }
    return true;
}

// The nearest double to a in units of 2^unit; a becomes what is left, and its sign.
KERF_CORE double take_word(integer &a, int limbs, int unit, bool *minus)
{
    *minus = false;
    const int length = bit_length(a, limbs);
    if (length <= 53) {
        const double x = scale(double(a.w[0]), unit);
        a.w[0] = 0;
        return x;
    }
    const int k = length - 53, at = k >> 6, low = k & 63;
    const limb mantissa = ((a.w[at] >> low) | (a.w[at + 1] << 1 << (63 - low))) & 0x1fffffffffffffull;
    // What is left below bit k, and whether it is half of a unit there or more.
    a.w[at] &= (1ull << low) - 1;
#pragma clang loop unroll(disable)
    for (int i = at + 1; i < limbs; ++i)
        a.w[i] = 0;
    const int half_at = (k - 1) >> 6;
    const limb half_bit = 1ull << ((k - 1) & 63);
    bool up = (a.w[half_at] & half_bit) != 0;
    if (up && (mantissa & 1) == 0) {
        limb below = a.w[half_at] & (half_bit - 1);
#pragma clang loop unroll(disable)
        for (int i = 0; i < half_at; ++i)
            below |= a.w[i];
        up = below != 0;
    }
    if (up) {
        // 2^k - a
        limb carry = 1;
#pragma clang loop unroll(disable)
        for (int i = 0; i <= at; ++i) {
            a.w[i] = ~a.w[i] + carry;
            carry = carry != 0 && a.w[i] == 0;
        }
        a.w[at] &= (1ull << low) - 1;
        *minus = true;
    }
    return scale(double(mantissa + (up ? 1 : 0)), unit + k);
}

// |a| modulo |b| as fmod has it, or the difference to the nearest multiple, with the sign of a.
KERF_CORE dd divide(dd a, dd b, bool nearest)
{
    if (!is_finite(a.hi) || b.hi != b.hi || b.hi == 0.0)
        return dd{nan(), 0.0};
    if (!is_finite(b.hi))
        return a;
    const dd p = fabs(a), q = fabs(b);
    if (nearest ? less(twice(p), q) : less(p, q))
        return a;
    int unit = last_exponent(p.hi);
    const double words[3] = {p.lo, q.hi, q.lo};
#pragma clang loop unroll(disable)
    for (int i = 0; i < 3; ++i) {
        const int e = last_exponent(words[i]);
        unit = e < unit ? e : unit;
    }
    integer x, y;
#pragma clang loop unroll(disable)
    for (int i = 0; i < 34; ++i)
        x.w[i] = y.w[i] = 0;
    add_word(x, p.hi, false, unit);
    add_word(x, p.lo, p.lo < 0.0, unit);
    add_word(y, q.hi, false, unit);
    add_word(y, q.lo, q.lo < 0.0, unit);
    const int of_x = bit_length(x, 34), of_y = bit_length(y, 34);
    const int steps = of_x < of_y ? 0 : of_x - of_y;
    const int limbs = ((of_x < of_y ? of_y : of_x) >> 6) + 1;
    // y 2^steps
    const int up = steps >> 6, low = steps & 63;
#pragma clang loop unroll(disable)
    for (int i = limbs - 1; i >= 0; --i) {
        const limb here = i >= up ? y.w[i - up] : 0, below = i > up ? y.w[i - up - 1] : 0;
        y.w[i] = (here << low) | (below >> 1 >> (63 - low));
    }
    bool odd = false;
#pragma clang loop unroll(disable)
    for (int s = steps;; --s) {
        odd = take(x, y, limbs);
        if (s == 0)
            break;
#pragma clang loop unroll(disable)
        for (int i = 0; i < limbs; ++i)
            y.w[i] = (y.w[i] >> 1) | (i + 1 < limbs ? y.w[i + 1] << 63 : 0);
    }
    bool flip = false;
    if (nearest) {
        // y becomes the distance to the next multiple.
        take(y, x, limbs);
        integer rest = y;
        const bool above = take(rest, x, limbs);
        const bool tie = above && bit_length(rest, limbs) == 0;
        if (!above || (tie && odd)) {
            x = y;
            flip = true;
        }
    }
    bool minus, ignored;
    const double hi = take_word(x, limbs, unit, &minus);
    const double rest = take_word(x, limbs, unit, &ignored);
    const dd z = {hi, minus ? -rest : rest};
    const bool single = a.lo == 0.0 && b.lo == 0.0;
    const dd signed_z = negative(a.hi) != (flip && hi != 0.0) ? neg(z) : z;
    return single ? dd{signed_z.hi, 0.0} : signed_z;
}

KERF_DEVICE dd fmod(dd a, dd b) { return divide(a, b, false); }
KERF_DEVICE dd remainder(dd a, dd b) { return divide(a, b, true); }

} // namespace ref
} // namespace kerf

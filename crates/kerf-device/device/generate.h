// Tuples of arguments made from their number, so that nothing but a number has to be remembered.
#pragma once
#include "formats.h"
#include "tally.h"

// How the arguments of a segment are made; src/accuracy/strata.rs chooses.
enum Mode {
    PAIRS = 0,     // all pairs of 16-bit patterns: the number is both
    EXPONENTS = 1, // sign and exponent of the first and the second given, the rest drawn
    EDGES = 2,     // the same, with mantissas of few bits, or of few bits missing
    SUM = 3,       // the last argument's exponent is p1 - 64 beside that of the product or first
    CANCEL = 4,    // the last argument all but cancels the product or first
    POWER = 5,     // 2^t for t across the range of results: y = t / log2(x)
    NEAR_ONE = 6,  // the same with x within 2^p1 steps of 1
    WHOLE = 7,     // small multiples of one half as exponents of a power
    SPECIAL = 8,   // tuples of special values
};

// The finaliser of SplitMix64.
DEVICE u64 mix(u64 n) {
    u64 z = n + 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

// A format's fields, from its precision and size.
template <class F, int P, int WIDTH> struct Fields {
    static const u32 FRACTION = P - 1;
    static const u32 ONES = (1u << FRACTION) - 1;
    static const u32 TOP = (1u << (WIDTH - P)) - 1; // exponent field of infinity
    static const u32 SIGN = 1u << (WIDTH - 1);

    static DEVICE u32 join(u32 sign_and_exponent, u32 fraction) {
        return sign_and_exponent << FRACTION | (fraction & ONES);
    }
    static DEVICE u32 edge(u32 random) {
        u32 bit = 1u << random % FRACTION, few = random >> 8 & 3;
        switch (random >> 16 & 3) {
        case 0: return few;
        case 1: return ONES - few;
        case 2: return bit + few;
        default: return ONES - bit + few;
        }
    }
    // Zeros, ends of the subnormal and normal ranges, around 1, infinity, NaN; of both signs.
    static DEVICE u32 special(u32 n) {
        const u32 one = (TOP >> 1) << FRACTION;
        u32 v = 0;
        switch (n >> 1 & 15) {
        case 0: v = 0; break;
        case 1: v = 1; break;
        case 2: v = 2; break;
        case 3: v = ONES; break;
        case 4: v = ONES + 1; break;
        case 5: v = ONES + 2; break;
        case 6: v = one - 1; break;
        case 7: v = one; break;
        case 8: v = one + 1; break;
        case 9: v = one + (1u << FRACTION); break;
        case 10: v = one - (1u << FRACTION); break;
        case 11: v = (TOP << FRACTION) - 1; break;
        case 12: v = (TOP - 1) << FRACTION; break;
        case 13: v = TOP << FRACTION; break;
        case 14: v = (TOP << FRACTION) + (1u << (FRACTION - 1)); break;
        default: v = one + (3u << (FRACTION - 1)); break;
        }
        return v | (n & 1 ? SIGN : 0);
    }
};

template <class F, int P, int WIDTH, int ARITY> struct Tuples {
    typedef F Result;
    typedef Fields<F, P, WIDTH> B;

    static DEVICE double value(u32 bits) { return F::widen(F::from_bits(bits)); }
    static DEVICE double first(const u32 *a) { return value(a[0]); }
    static DEVICE bool subnormal(const u32 *a) {
        bool any = false;
        for (int i = 0; i < ARITY; i++) any |= F::subnormal(value(a[i]));
        return any;
    }
    static DEVICE void flush(u32 *a) {
        for (int i = 0; i < ARITY; i++)
            if (F::subnormal(value(a[i]))) a[i] &= B::SIGN;
    }

    // Rounded here, and only to make an argument: how is of no matter.
    static DEVICE u32 nearest(double v) {
        bool doubt;
        double r = F::round(v, &doubt);
        i64 n = F::ordinal(r);
        return n < 0 ? (u32)-n | B::SIGN : (u32)n;
    }

    static DEVICE void arguments(const Segment &s, u64 index, u32 *a) {
        if (s.mode == PAIRS) {
            a[0] = (u32)(index >> 16);
            a[1] = (u32)index & 0xffff;
            return;
        }
        u64 draw = mix(index), more = mix(draw);
        if (s.mode == SPECIAL) {
            for (int i = 0; i < ARITY; i++) a[i] = B::special((u32)(index >> (5 * i)) & 31);
            return;
        }
        bool edges = s.mode == EDGES;
        u32 fx = (u32)draw, fy = (u32)(draw >> 32), fz = (u32)more;
        a[0] = B::join(s.p0, edges ? B::edge(fx) : fx);
        u32 random_sign = (u32)(more >> 63) * (B::TOP + 1);
        a[1] = B::join(s.p1 | random_sign, edges ? B::edge(fy) : fy);
        if (ARITY == 3) a[2] = B::join(s.p2 | (u32)(more >> 62 & 1) * (B::TOP + 1), edges ? B::edge(fz) : fz);
        double x = value(a[0]);
        switch (s.mode) {
        case SUM:
        case CANCEL: {
            double p = x;
            if (ARITY == 3) {
                // A second factor of moderate size, so that the product has room on both sides.
                a[1] = B::join(random_sign | (B::TOP / 4 + (u32)(more >> 40) % (B::TOP / 2)), fy);
                p = x * value(a[1]);
            }
            double z;
            if (s.mode == CANCEL) {
                z = -value(nearest(p));
                u32 bits = nearest(z);
                // A step or two away from cancelling.
                u32 step = fz % 5;
                bits = (bits & ~B::SIGN) > 2 && (bits & ~B::SIGN) + 2 < B::TOP << B::FRACTION
                           ? bits + step - 2
                           : bits;
                a[ARITY - 1] = bits;
            } else {
                int e = (int)s.p1 - 64;
                z = p * power_of_two(e) * (1.0 + (double)(fz & 0xfffff) * 0x1p-20);
                a[ARITY - 1] = nearest(more >> 62 & 1 ? z : -z);
            }
            break;
        }
        case NEAR_ONE:
            a[0] = B::join(B::TOP >> 1, 0) + (fx & ((2u << s.p1) - 1)) - (1u << s.p1);
            x = value(a[0]);
            // fall through
        case POWER: {
            double t = (double)fy * 0x1p-32 * (2 * F::EMAX + 60) - (F::EMAX + 40);
            a[1] = nearest(t / log2_roughly(x));
            break;
        }
        case WHOLE: {
            int twice = fy >> 7 & 1 ? (int)(fy & 7) : (int)(fy & 127) - 64;
            a[1] = nearest((double)twice * 0.5);
            // Of moderate size, and often of few bits, so that powers are exact or half way between
            // two results.
            a[0] = B::join((B::TOP >> 1) + (fz >> 8) % 7 - 3, fx);
            if (fz & 1) a[0] |= B::SIGN;
            if (fz & 2) a[0] &= ~(B::ONES >> (1 + (fz >> 2 & 63) % (B::FRACTION - 2)));
            break;
        }
        default: break;
        }
    }

    // log2(|x|) to a few digits, without any function under test.
    static DEVICE double log2_roughly(double x) {
        u64 b = bits_as<u64>(__builtin_fabs(x));
        int e = (int)(b >> 52) - 1023;
        double m = bits_as<double>((b & 0xfffffffffffffull) | 0x3ff0000000000000ull);
        if (m > 1.4142135) {
            m *= 0.5;
            e++;
        }
        double s = (m - 1) / (m + 1), q = s * s;
        return e + s * (2.8853900817779268 + q * (0.9617966939 + q * (0.5770780164 + q * 0.4121985831)));
    }
};

typedef Tuples<F32, 24, 32, 2> PairF32;
typedef Tuples<F32, 24, 32, 3> TripleF32;
typedef Tuples<F16, 11, 16, 2> PairF16;
typedef Tuples<F16, 11, 16, 3> TripleF16;
typedef Tuples<BF16, 8, 16, 2> PairBF16;
typedef Tuples<BF16, 8, 16, 3> TripleBF16;

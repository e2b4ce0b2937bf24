// All points of a line that are close to the integers, by a reduced basis.
//
// The pairs (j, b + a j + k) with integers j and k are a lattice of determinant 1, moved by b. With vectors (u, x) and
// (v, y) of it for which u y - v x = 1, the pair (j, w) that has the coordinates m and n has
//     y j - v w = m - v b,    u w - x j = n + u b.
// For 0 <= j < N and 0 <= w < d the left sides lie in two short ranges, in which the right sides, known modulo 1, have
// few values or none: nearly always none or one, if the vectors are short. Each gives j. Any vectors with that
// determinant will do: how they were found, in single precision, decides the speed only.
//
// From one interval to the next the slope changes little, and so do the vectors: a step or two shorten them again.

// What is looked for, the same for all lines of a sub-block.
struct Window {
    u64 below;            // values below this, as a fraction in 64 bits
    s64 high;             // the same in units of 2^-60, rounded up
    int log;              // N is two to this
    double n, d;          // N, and d or what lets u and v have 32 bits
    float width, height;  // N 2^-64, d
    float unit;           // 1 / (N d)

    METHOD Window(u64 limit, u64 log2)
    {
        below = limit;
        high = (s64)(limit >> 4) + 1;
        log = (int)log2;
        n = (double)(1ull << log);
        d = (double)limit * 0x1p-64;
        d = d > 0x1p-5 / n ? d : 0x1p-5 / n;
        width = (float)n * 0x1p-64f;
        height = (float)d;
        unit = (float)(1.0 / (n * d));
    }
};

// A value times a fraction, modulo 1 and signed.
DEVICE s64 multiple(int u, u64 a) { return (s64)((u64)(s64)u * a); }

DEVICE s64 lesser(s64 a, s64 b) { return a < b ? a : b; }
DEVICE s64 greater(s64 a, s64 b) { return a > b ? a : b; }
DEVICE float magnitude(float x) { return __builtin_fabsf(x); }

// Takes the nearest multiple of one vector from another; gives the factor.
DEVICE u32 shorten(float u, float x, float &v, float &y)
{
    const float shift = 12582912.0f; // 1.5 * 2^23
    float q = __builtin_fmaf(u, v, x * y) * __nvvm_rcp_approx_ftz_f(__builtin_fmaf(u, u, x * x));
    float near = q + shift;
    q = near - shift;
    v = __builtin_fmaf(-q, u, v);
    y = __builtin_fmaf(-q, x, y);
    return __builtin_bit_cast(u32, near) - 0x4b400000u;
}

struct Basis {
    int u, v;

    // From (1, a) and (0, 1), as far as numbers have 32 bits.
    METHOD void begin(u64 a, const Window &w)
    {
        double U = w.d, X = (double)(s64)a * 0x1p-64 * w.n, V = 0.0, Y = w.n;
        double p = 1.0, q = 0.0;
        for (int round = 0; round < 40; ++round) {
            double f = __builtin_rint((U * V + X * Y) * reciprocal(U * U + X * X));
            double next = q - f * p;
            if (!(__builtin_fabs(next) < 0x1p31))
                break;
            V -= f * U;
            Y -= f * X;
            q = next;
            double g = __builtin_rint((U * V + X * Y) * reciprocal(V * V + Y * Y));
            next = p - g * q;
            if (!(__builtin_fabs(next) < 0x1p31))
                break;
            U -= g * V;
            X -= g * Y;
            p = next;
            if (f == 0.0 && g == 0.0)
                break;
        }
        u = (int)p;
        v = (int)q;
    }

    METHOD void reduce(u64 a, const Window &w, u32 rounds)
    {
        float X = (float)multiple(u, a) * w.width, Y = (float)multiple(v, a) * w.width;
        float U = (float)u * w.height, V = (float)v * w.height;
        for (u32 round = 0; round < rounds; ++round) {
            v = (int)((u32)v - shorten(U, X, V, Y) * (u32)u);
            u = (int)((u32)u - shorten(V, Y, U, X) * (u32)v);
        }
    }

    // Whether the determinant is 1 and sums of magnitudes are below 4, rounding included.
    METHOD bool serves(s64 x, s64 y, const Window &w) const
    {
        float X = (float)x * w.width, Y = (float)y * w.width;
        float U = (float)u * w.height, V = (float)v * w.height;
        float determinant = (U * Y - V * X) * w.unit;
        return magnitude(determinant - 1.0f) < 0.25f && magnitude(U) + magnitude(X) < 3.5f &&
               magnitude(V) + magnitude(Y) < 3.5f;
    }
};

// The numbers in a range that are congruent to `c` (in 64 bits) modulo 1, in units of 2^-60.
struct Values {
    s64 first, last;

    // The sums of something between 0 and p and something between 0 and q.
    METHOD Values(s64 p, s64 q, u64 c)
    {
        s64 low = lesser(p, 0) + lesser(q, 0);
        last = greater(p, 0) + greater(q, 0);
        first = low + (s64)((c - ((u64)low << 4)) >> 4);
    }
    METHOD bool none() const { return first > last; }
};

// Whether one vector of the lattice tells that there is no point; any does for which sums stay below 4.
DEVICE bool excludes(int u, s64 x, u64 b, const Window &w)
{
    float sum = magnitude((float)u * w.height) + magnitude((float)x * w.width);
    return sum < 3.5f && Values(u * w.high, -x * (1ll << (w.log - 4)), (u64)multiple(u, b)).none();
}

// Calls `each` for the arguments j of a line with {b + a j} below the limit; whether that could be done.
template <class Each>
DEVICE bool points(Basis &s, u64 a, u64 b, const Window &w, u32 rounds, Each each)
{
    const s64 one = 1ll << 60;
    const double shift = 6755399441055744.0; // 1.5 * 2^52
    s.reduce(a, w, rounds);
    s64 x = multiple(s.u, a), y = multiple(s.v, a);
    if (!s.serves(x, y, w)) {
        s.begin(a, w);
        x = multiple(s.u, a);
        y = multiple(s.v, a);
        // Where a slope is near a simple fraction one vector is long, and the other tells nearly all.
        if (!s.serves(x, y, w))
            return excludes(s.u, x, b, w) || excludes(s.v, y, b, w);
    }
    Values n(s.u * w.high, -x * (1ll << (w.log - 4)), (u64)multiple(s.u, b));
    Values m(-s.v * w.high, y * (1ll << (w.log - 4)), 0 - (u64)multiple(s.v, b));
    if (n.none() || m.none())
        return true;
    for (s64 i = n.first; i <= n.last; i += one)
        for (s64 k = m.first; k <= m.last; k += one) {
            double j = __builtin_fma((double)k * 0x1p-60, (double)s.u, (double)i * 0x1p-60 * (double)s.v);
            u64 at = __builtin_bit_cast(u64, j + shift) - __builtin_bit_cast(u64, shift);
            if (at < (1ull << w.log) && b + a * at < w.below)
                each(at);
        }
    return true;
}

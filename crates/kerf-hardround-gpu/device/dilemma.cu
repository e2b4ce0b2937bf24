// The search as Fortin, Gouicem and Graillat deployed it on a GPU (2011), for the study of that publication:
// exhaustive, in one kernel and in three, with the test in three forms.
//
// Intervals of 2^15 arguments; what fails is divided in 8, and what fails again is walked. The bounds are those of
// the crate kerf-hardround.
#include "lines.h"

enum { PARTS = 8, RUNS = 256 };
struct Block {
    u64 tables[STARTS][DEGREES][2];
    u64 degree;
    double n[2];
    u64 offset[2];
    double d[2];
    u64 parts[PARTS][2];
    u64 limit[2]; // thresholds of the walk over an interval and over a part
    u64 near[2];
    double half_second;
};

DEVICE double least(double a, double b) { return a < b ? a : b; }
DEVICE double most(double a, double b) { return a > b ? a : b; }

// Points that are still needed, in steps that add v each, rounded up.
DEVICE double needed(double n, double u, double v)
{
    return most(quotient(n - 0.5 - u - v, reciprocal(v)) + 1.0, 1.0);
}

enum Form { BRANCH, SWAP, REGULAR };

// Lefevre's test with a branch for each kind of step: threads of a warp that take different ones wait.
DEVICE bool fails_branch(u64 a, u64 b, double n, double d, u32 &rounds)
{
    double x = fraction(a), y = 1.0 - x, z = fraction(b), u = 1.0, v = 1.0;
    bool inx = z >= y;
    if (inx)
        z -= y;
    while (u + v < n && x > 0.0 && y > 0.0) {
        ++rounds;
        if (x < y) {
            double inverse = reciprocal(x);
            double q = least(most(quotient(y, inverse), 1.0), needed(n, u, v));
            double r = __builtin_fma(-q, x, y);
            if (!inx && z >= r) {
                double rest = z - r;
                z = __builtin_fma(-quotient(rest, inverse), x, rest);
                if (z >= x)
                    z -= x;
                inx = true;
            }
            y = r;
            u = __builtin_fma(q, v, u);
        } else {
            double inverse = reciprocal(y);
            double q = least(most(quotient(x, inverse), 1.0), needed(n, v, u));
            if (inx) {
                double t = least(quotient(z, inverse), q);
                z = __builtin_fma(-t, y, z);
                if (z >= y && t < q) {
                    z -= y;
                    t += 1.0;
                }
                inx = t >= q;
            }
            x = __builtin_fma(-q, y, x);
            v = __builtin_fma(q, u, v);
        }
    }
    return !(z >= d && u + v >= n);
}

// The same with lengths exchanged, so that the longer is always divided by the shorter: one kind of step.
DEVICE bool fails_swap(u64 a, u64 b, double n, double d, u32 &rounds)
{
    double x = fraction(a), y = 1.0 - x, z = fraction(b);
    bool inx = z >= y;
    z = inx ? z - y : z;
    bool swapped = !(x < y);
    double large = swapped ? x : y, small = swapped ? y : x, ul = 1.0, us = 1.0;
    while (ul + us < n && large > 0.0 && small > 0.0) {
        ++rounds;
        double inverse = reciprocal(small);
        double q = least(most(quotient(large, inverse), 1.0), needed(n, ul, us));
        double r = __builtin_fma(-q, small, large);
        double base = swapped ? z : z - r;
        double t = quotient(base, inverse);
        t = swapped ? least(t, q) : t;
        double w = __builtin_fma(-t, small, base);
        bool again = w >= small && (!swapped || t < q);
        w = again ? w - small : w;
        t = again ? t + 1.0 : t;
        bool moved = swapped ? inx : !inx && z >= r;
        z = moved ? w : z;
        inx = swapped ? inx && t >= q : inx || moved;
        ul = __builtin_fma(q, us, ul);
        // A quotient that was one too small leaves the longer one longer.
        bool turn = r < small;
        large = turn ? small : r;
        small = turn ? r : small;
        double other = ul;
        ul = turn ? us : ul;
        us = turn ? other : us;
        swapped = swapped != turn;
    }
    return !(z >= d && ul + us >= n);
}

// Kerf's: both kinds of step in each round, those that change nothing included.
DEVICE bool fails_regular(u64 a, u64 b, double n, double d, u32 &rounds)
{
    double x = fraction(a), y = 1.0 - x, z = fraction(b), u = 1.0, v = 1.0;
    bool inx = z >= y;
    z = inx ? z - y : z;
    bool last = false;
    for (int round = 0; round < 42; ++round) {
        ++rounds;
        double inverse = reciprocal(x);
        double q = quotient(y, inverse);
        bool fits = __builtin_fma(q, v, u) + v < n;
        double part = most(quotient(n - 0.5 - u - v, reciprocal(v)) + 1.0, 0.0);
        q = fits ? q : last ? least(q, part) : 0.0;
        double r = __builtin_fma(-q, x, y), rest = z - r;
        bool moved = !inx && rest >= 0.0;
        double w = __builtin_fma(-quotient(rest, inverse), x, rest);
        w = w >= x ? w - x : w;
        z = moved ? w : z;
        inx = inx || moved;
        y = r;
        u = __builtin_fma(q, v, u);
        inverse = reciprocal(y);
        q = quotient(x, inverse);
        bool fits_too = __builtin_fma(q, u, v) + u < n;
        part = most(quotient(n - 0.5 - u - v, reciprocal(u)) + 1.0, 0.0);
        q = fits_too ? q : last ? least(q, part) : 0.0;
        double t = least(quotient(z, inverse), q);
        w = __builtin_fma(-t, y, z);
        bool again = w >= y && t < q;
        w = again ? w - y : w;
        bool all = again ? t + 1.0 >= q : t >= q;
        z = inx ? w : z;
        inx = inx && all;
        x = __builtin_fma(-q, y, x);
        v = __builtin_fma(q, u, v);
        if (last)
            break;
        last = !(fits && fits_too);
    }
    return !(z >= d && u + v >= n);
}

template <int FORM> DEVICE bool fails(u64 a, u64 b, double n, double d, u32 &rounds)
{
    if (FORM == BRANCH)
        return fails_branch(a, b, n, d, rounds);
    if (FORM == SWAP)
        return fails_swap(a, b, n, d, rounds);
    return fails_regular(a, b, n, d, rounds);
}

// Arguments of an interval, the same in all sub-blocks.
DEVICE u64 length(const Block *all) { return (u64)all[0].n[0]; }

// Arguments of a line from `from` to `to`, of which `n` belong to it; candidates are those near by the curve.
DEVICE void walk(const Block &s, int level, u64 b, u64 a, u64 from, u64 to, u64 place, u64 *found, u32 *count,
                 u32 capacity)
{
    u64 z = b + s.offset[level] + a * from;
    const u64 limit = s.limit[level], near = s.near[level];
    for (u64 j = from; j < to; ++j, z += a) {
        if (z >= limit)
            continue;
        if (curved(b, a, j, s.n[level], s.half_second, near))
            found_one(place + j, found, count, capacity);
    }
}

// Every argument.
KERNEL void exhaustive(const Block *all, u64 *found, u32 *counts, u32 capacity)
{
    Run<Block, RUNS> r(all, length(all));
    for (int k = 0; k < RUN; ++k, r.next())
        walk(*r.s, 0, r.start(), r.slope(), 0, (u64)r.s->n[0], r.place, found, &counts[2], capacity);
}

// All phases by the thread that meets them.
template <int FORM> DEVICE void one(const Block *all, u64 *found, u32 *counts, u32 capacity)
{
    Run<Block, RUNS> r(all, length(all));
    const Block &s = *r.s;
    u32 rounds = 0, failed = 0, failed_again = 0;
    u64 m = (u64)s.n[1];
    for (int k = 0; k < RUN; ++k, r.next()) {
        if (!fails<FORM>(r.slope(), r.start() + s.offset[0], s.n[0], s.d[0], rounds))
            continue;
        ++failed;
        for (u32 part = 0; part < PARTS; ++part) {
            u64 b = r.start() + r.slope() * (part * m) + s.parts[part][0], a = r.slope() + s.parts[part][1];
            if (!fails<FORM>(a, b + s.offset[1], s.n[1], s.d[1], rounds))
                continue;
            ++failed_again;
            walk(s, 1, b, a, 0, m, r.place + part * m, found, &counts[2], capacity);
        }
    }
    if (failed)
        __atomic_fetch_add(&counts[0], failed, __ATOMIC_RELAXED);
    if (failed_again)
        __atomic_fetch_add(&counts[1], failed_again, __ATOMIC_RELAXED);
}

// The first of three kernels.
template <int FORM> DEVICE void phase1(const Block *all, Lines out, u32 *counts, u32 capacity)
{
    Run<Block, RUNS> r(all, length(all));
    u32 rounds = 0;
    for (int k = 0; k < RUN; ++k, r.next()) {
        bool bad = fails<FORM>(r.slope(), r.start() + r.s->offset[0], r.s->n[0], r.s->d[0], rounds);
        append(bad, r.start(), r.slope(), r.place, out, &counts[0], capacity);
    }
}

template <int FORM>
DEVICE void phase2(const Block *all, Lines in, Lines out, u32 *counts, u32 capacity)
{
    u32 lines = counts[0] < capacity ? counts[0] : capacity, rounds = 0;
    u64 total = (u64)lines * PARTS;
    for (u64 base = (u64)block() * threads(); base < total; base += (u64)blocks() * threads()) {
        u64 i = base + thread();
        bool there = i < total;
        u64 line = there ? i / PARTS : 0;
        u32 part = i % PARTS;
        u64 place = in.id[line];
        const Block &s = all[place >> 40];
        u64 m = (u64)s.n[1];
        u64 a = in.a[line] + s.parts[part][1];
        u64 b = in.b[line] + in.a[line] * (part * m) + s.parts[part][0];
        bool bad = there && fails<FORM>(a, b + s.offset[1], s.n[1], s.d[1], rounds);
        append(bad, b, a, place + part * m, out, &counts[1], capacity);
    }
}

// Rounds of the test: their sum over all intervals, 32 times the greatest of each warp, and the mean deviation to
// the maximum in units of 2^-32.
template <int FORM> DEVICE void rounds(const Block *all, u64 *sums)
{
    Run<Block, RUNS> r(all, length(all));
    u64 mean = 0, greatest = 0, deviation = 0;
    for (int k = 0; k < RUN; ++k, r.next()) {
        u32 mine = 0;
        fails<FORM>(r.slope(), r.start() + r.s->offset[0], r.s->n[0], r.s->d[0], mine);
        u32 sum = mine, max = mine;
        for (int step = 16; step > 0; step /= 2) {
            sum += __nvvm_shfl_sync_bfly_i32(~0u, sum, step, 31);
            u32 o = __nvvm_shfl_sync_bfly_i32(~0u, max, step, 31);
            max = o > max ? o : max;
        }
        mean += sum;
        greatest += 32 * max;
        deviation += (u64)((1.0 - (double)sum / (32.0 * max)) * 4294967296.0);
    }
    if (thread() % 32 == 0) {
        __atomic_fetch_add(&sums[0], mean, __ATOMIC_RELAXED);
        __atomic_fetch_add(&sums[1], greatest, __ATOMIC_RELAXED);
        __atomic_fetch_add(&sums[2], deviation, __ATOMIC_RELAXED);
    }
}

#define FORMS(NAME, FORM)                                                                          \
    KERNEL void one_##NAME(const Block *all, u64 *found, u32 *counts, u32 capacity)                \
    {                                                                                              \
        one<FORM>(all, found, counts, capacity);                                                   \
    }                                                                                              \
    KERNEL void phase1_##NAME(const Block *all, u64 *b, u64 *a, u64 *id, u32 *counts, u32 capacity) \
    {                                                                                              \
        phase1<FORM>(all, {b, a, id}, counts, capacity);                                           \
    }                                                                                              \
    KERNEL void phase2_##NAME(const Block *all, u64 *b, u64 *a, u64 *id, u64 *ob, u64 *oa,         \
                              u64 *oid, u32 *counts, u32 capacity)                                 \
    {                                                                                              \
        phase2<FORM>(all, {b, a, id}, {ob, oa, oid}, counts, capacity);                            \
    }                                                                                              \
    KERNEL void rounds_##NAME(const Block *all, u64 *sums) { rounds<FORM>(all, sums); }

FORMS(branch, BRANCH)
FORMS(swap, SWAP)
FORMS(regular, REGULAR)

// The third kernel, the same for all forms: eight threads a part.
KERNEL void phase3(const Block *all, u64 *b, u64 *a, u64 *id, u64 *found, u32 *counts, u32 capacity,
                   u32 room)
{
    u32 lines = counts[1] < capacity ? counts[1] : capacity;
    u64 total = (u64)lines * 8;
    for (u64 i = (u64)block() * threads() + thread(); i < total; i += (u64)blocks() * threads()) {
        u64 line = i / 8, place = id[line];
        const Block &s = all[place >> 40];
        u64 share = (u64)s.n[1] / 8;
        walk(s, 1, b[line], a[line], i % 8 * share, (i % 8 + 1) * share, place, found, &counts[2], room);
    }
}

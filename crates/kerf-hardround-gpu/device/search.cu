// The search for hard-to-round cases as five kernels: the points of every interval of many sub-blocks that are close to
// the integers, by a lattice (lattice.h); for intervals where that gives up, Lefevre's test on parts, twice more on
// parts of those that fail, and a walk over what still fails.
//
// The algorithm and its bounds are those of the crate kerf-hardround: lsg.rs (the test), tables.rs (lines from
// differences), plan.rs (thresholds). A thread has one run of intervals in the first kernel.
#include "lines.h"
#include "lattice.h"

// A sub-block as the host writes it; stage.rs has the same order.
enum { LEVELS = 4, RUNS = 1024 };
struct SubBlock {
    u64 tables[STARTS][DEGREES][2];
    u64 degree;
    double n[LEVELS];
    u64 offset[LEVELS];
    double d[LEVELS];
    u64 parts[LEVELS - 1][4][2];
    u64 limit[2], near[2]; // of the first level and of the last
    double half_second;
    u64 log; // of the first level's length
};

struct State {
    double x, y, z, u, v;
    bool inx;

    METHOD void shorten_y(double q, double inverse)
    {
        double r = __builtin_fma(-q, x, y);
        double rest = z - r;
        bool moved = !inx && rest >= 0.0;
        double t = quotient(rest, inverse);
        double w = __builtin_fma(-t, x, rest);
        w = w >= x ? w - x : w;
        z = moved ? w : z;
        inx = inx || moved;
        y = r;
        u = __builtin_fma(q, v, u);
    }

    METHOD void shorten_x(double q, double inverse)
    {
        double t = quotient(z, inverse);
        t = t < q ? t : q;
        double w = __builtin_fma(-t, y, z);
        bool again = w >= y && t < q;
        w = again ? w - y : w;
        bool all = again ? t + 1.0 >= q : t >= q;
        z = inx ? w : z;
        inx = inx && all;
        x = __builtin_fma(-q, y, x);
        v = __builtin_fma(q, u, v);
    }
};

// Whether {b + a j} < d for some 0 <= j < n cannot be excluded.
DEVICE bool fails(u64 a, u64 b, double n, double d)
{
    State s;
    s.x = fraction(a);
    s.y = 1.0 - s.x;
    s.z = fraction(b);
    s.inx = s.z >= s.y;
    s.z = s.inx ? s.z - s.y : s.z;
    s.u = s.v = 1.0;
    for (int round = 0; round < 40; ++round) {
        double inverse = reciprocal(s.x);
        double q = quotient(s.y, inverse);
        bool fits = __builtin_fma(q, s.v, s.u) + s.v < n;
        s.shorten_y(fits ? q : 0.0, inverse);
        inverse = reciprocal(s.y);
        q = quotient(s.x, inverse);
        bool fits_too = __builtin_fma(q, s.u, s.v) + s.u < n;
        s.shorten_x(fits_too ? q : 0.0, inverse);
        if (!(fits && fits_too))
            break;
    }
    // Less by a half, the quotient's floor plus one is the ceiling, and never near an integer.
    double inverse = reciprocal(s.x);
    double q = quotient(s.y, inverse);
    double part = quotient(n - 0.5 - s.u - s.v, reciprocal(s.v)) + 1.0;
    part = part > 0.0 ? part : 0.0;
    s.shorten_y(q < part ? q : part, inverse);
    inverse = reciprocal(s.y);
    q = quotient(s.x, inverse);
    part = quotient(n - 0.5 - s.u - s.v, reciprocal(s.u)) + 1.0;
    part = part > 0.0 ? part : 0.0;
    s.shorten_x(q < part ? q : part, inverse);
    return !(s.z >= d && s.u + s.v >= n);
}

// One thread a run; blocks of 128 threads, eight of them a sub-block.
KERNEL void first_level(const SubBlock *subs, u64 *b, u64 *a, u64 *id, u64 *found, u32 *counts, u32 *failed,
                        u32 capacity, u32 room, u32 rounds)
{
    const SubBlock &s = subs[(block() * threads() + thread()) / RUNS];
    Run<SubBlock, RUNS> r(subs, 1ull << s.log);
    const Window w(s.limit[0], s.log);
    const u64 offset = s.offset[0], near = s.near[0];
    const double half_second = s.half_second;
    u32 mine = 0;
    Lines out = {b, a, id};
    Basis basis = {0, 0};
    for (int k = 0; k < RUN; ++k, r.next()) {
        u64 start = r.start(), slope = r.slope();
        bool done = points(basis, slope, start + offset, w, rounds, [&](u64 j) {
            if (curved(start, slope, j, w.n, half_second, near))
                found_one(r.place + j, found, &counts[LEVELS], room);
        });
        append(!done, start, slope, r.place, out, &counts[0], capacity);
        mine += !done;
    }
    if (mine)
        __atomic_fetch_add(&failed[(r.place >> 40) * LEVELS], mine, __ATOMIC_RELAXED);
}

template <int LEVEL, int PARTS>
DEVICE void later(const SubBlock *subs, const u64 *b, const u64 *a, const u64 *id, Lines out,
                  u32 *counts, u32 *failed, u32 room, u32 capacity)
{
    u32 lines = counts[LEVEL - 1];
    lines = lines < room ? lines : room;
    u64 all = (u64)lines * PARTS;
    for (u64 base = (u64)block() * threads(); base < all; base += (u64)blocks() * threads()) {
        u64 i = base + thread();
        bool there = i < all;
        u64 line = there ? i / PARTS : 0;
        u32 part = i % PARTS;
        u64 place = id[line];
        u32 sub = place >> 40;
        const SubBlock &s = subs[sub];
        u64 m = (u64)s.n[LEVEL];
        const u64 *move = s.parts[LEVEL - 1][part];
        u64 slope = a[line];
        u64 begin = b[line] + slope * (part * m) + move[0];
        slope += move[1];
        bool bad = there && fails(slope, begin + s.offset[LEVEL], s.n[LEVEL], s.d[LEVEL]);
        append(bad, begin, slope, place + part * m, out, &counts[LEVEL], capacity);
        if (bad)
            __atomic_fetch_add(&failed[sub * LEVELS + LEVEL], 1u, __ATOMIC_RELAXED);
    }
}

#define LATER(name, level, parts)                                                                  \
    KERNEL void name(const SubBlock *subs, const u64 *b, const u64 *a, const u64 *id, u64 *ob,     \
                     u64 *oa, u64 *oid, u32 *counts, u32 *failed, u32 room, u32 capacity)          \
    {                                                                                              \
        later<level, parts>(subs, b, a, id, {ob, oa, oid}, counts, failed, room, capacity);        \
    }

LATER(second_level, 1, 2)
LATER(third_level, 2, 4)
LATER(fourth_level, 3, 4)

// Every argument of the lines that are left, eight threads a line.
KERNEL void walk(const SubBlock *subs, const u64 *b, const u64 *a, const u64 *id, u64 *found, u32 *counts,
                 u32 room, u32 capacity)
{
    u32 lines = counts[LEVELS - 1];
    lines = lines < room ? lines : room;
    u64 all = (u64)lines * 8;
    for (u64 i = (u64)block() * threads() + thread(); i < all; i += (u64)blocks() * threads()) {
        u64 line = i / 8;
        u64 place = id[line];
        const SubBlock &s = subs[place >> 40];
        u64 n = (u64)s.n[LEVELS - 1];
        u64 from = n / 8 * (i % 8), to = from + n / 8;
        u64 begin = b[line], slope = a[line];
        u64 z = begin + s.offset[LEVELS - 1] + slope * from;
        for (u64 j = from; j < to; ++j, z += slope) {
            if (z >= s.limit[1])
                continue;
            if (curved(begin, slope, j, s.n[LEVELS - 1], s.half_second, s.near[1]))
                found_one(place + j, found, &counts[LEVELS], capacity);
        }
    }
}

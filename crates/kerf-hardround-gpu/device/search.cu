// The search for hard-to-round cases as five kernels: the test on every interval of many sub-blocks, the
// test on parts of the intervals that failed, twice more on parts of those, and a walk over what still fails.
//
// The algorithm and its bounds are those of the crate kerf-hardround: lsg.rs (the test), tables.rs (lines from
// differences), plan.rs (thresholds). A thread has one run of intervals in the first kernel.
#define DEVICE static __attribute__((device, always_inline)) inline
#define KERNEL extern "C" __attribute__((global))

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned __int128 u128;

// A sub-block as the host writes it; lib.rs has the same order.
enum { STARTS = 7, DEGREES = 8, RUN = 64, RUNS = 256, LEVELS = 4 };
struct SubBlock {
    u64 tables[STARTS][DEGREES][2];
    u64 degree;
    double n[LEVELS];
    u64 offset[LEVELS];
    double d[LEVELS];
    u64 parts[LEVELS - 1][4][2];
    u64 limit, near;
    double half_second;
    u64 length;
};

// Lines that wait for the next level: start, slope, and sub-block << 40 | distance of the first argument.
struct Lines {
    u64 *b, *a, *id;
};

DEVICE u32 thread() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE u32 block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE u32 threads() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE u32 blocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }

// The first 52 bits of a fraction, in [0, 1).
DEVICE double fraction(u64 u)
{
    return __builtin_bit_cast(double, (u >> 12) | 0x3ff0000000000000ull) - 1.0;
}

// 1/x, too small by 2^-41 or somewhat more, relatively: quotients are never too large.
DEVICE double reciprocal(double x)
{
    const double bias = 1.0 - 1.0 / (1ull << 40);
    double r = __nvvm_rcp_approx_ftz_d(x);
    double e = __builtin_fma(-x, r, bias);
    return __builtin_fma(r, e, r);
}

// The floor of x y, or one less where that is an integer. Conversions are slow, sums are not.
DEVICE double quotient(double x, double y)
{
    const double shift = 6755399441055744.0; // 1.5 * 2^52
    return (__builtin_fma(x, y, -0.5) + shift) - shift;
}

struct State {
    double x, y, z, u, v;
    bool inx;

    __attribute__((device, always_inline)) void shorten_y(double q, double inverse)
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

    __attribute__((device, always_inline)) void shorten_x(double q, double inverse)
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

// Appends a line of every thread of the warp that has `keep`; all threads have to come here.
DEVICE void append(bool keep, u64 b, u64 a, u64 id, Lines out, u32 *count, u32 capacity)
{
    u32 votes = __nvvm_vote_ballot_sync(~0u, keep);
    if (votes == 0)
        return;
    u32 lane = thread() & 31;
    u32 first = 0;
    if (lane == 0)
        first = __atomic_fetch_add(count, (u32)__builtin_popcount(votes), __ATOMIC_RELAXED);
    first = __nvvm_shfl_sync_idx_i32(~0u, first, 0, 31);
    u32 at = first + __builtin_popcount(votes & ((1u << lane) - 1));
    if (keep && at < capacity) {
        out.b[at] = b;
        out.a[at] = a;
        out.id[at] = id;
    }
}

// Sum of C(run, m) times the m-th difference: a starting value of a run.
DEVICE u64 start(const SubBlock &s, int value, u32 run)
{
    u128 sum = 0;
    u64 binomial = 1;
    for (u32 m = 0; m <= s.degree; ++m) {
        u128 d = (u128)s.tables[value][m][1] << 64 | s.tables[value][m][0];
        sum += d * binomial;
        binomial = run > m ? binomial * (run - m) / (m + 1) : 0;
    }
    return (u64)(sum >> 64);
}

// One thread a run; blocks of 128 threads, two of them a sub-block.
KERNEL void first_level(const SubBlock *subs, u64 *b, u64 *a, u64 *id, u32 *counts, u32 *failed,
                        u32 capacity)
{
    u32 t = block() * threads() + thread();
    u32 sub = t / RUNS, run = t % RUNS;
    const SubBlock &s = subs[sub];
    u64 v[STARTS];
#pragma unroll
    for (int i = 0; i < STARTS; ++i)
        v[i] = start(s, i, run);
    const double n = s.n[0], d = s.d[0];
    const u64 offset = s.offset[0];
    const u64 length = s.length;
    u64 place = (u64)sub << 40 | run * RUN * length;
    u32 mine = 0;
    Lines out = {b, a, id};
    for (int k = 0; k < RUN; ++k) {
        bool bad = fails(v[4], v[0] + offset, n, d);
        append(bad, v[0], v[4], place, out, &counts[0], capacity);
        mine += bad;
        v[0] += v[1];
        v[1] += v[2];
        v[2] += v[3];
        v[4] += v[5];
        v[5] += v[6];
        place += length;
    }
    if (mine)
        __atomic_fetch_add(&failed[sub * LEVELS], mine, __ATOMIC_RELAXED);
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
            if (z >= s.limit)
                continue;
            double t = (double)j - s.n[LEVELS - 1] * 0.5;
            u64 curve = (u64)(long long)(s.half_second * t * t * 18446744073709551616.0);
            u64 value = begin + slope * j + curve;
            if (value < s.near || 0 - value < s.near) {
                u32 at = __atomic_fetch_add(&counts[LEVELS], 1u, __ATOMIC_RELAXED);
                if (at < capacity)
                    found[at] = place + j;
            }
        }
    }
}

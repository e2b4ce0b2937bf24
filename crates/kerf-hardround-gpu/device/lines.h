// What the kernels of the search and of the study share: threads, fractions, quotients, and lists of lines.
#define DEVICE static __attribute__((device, always_inline)) inline
#define METHOD __attribute__((device, always_inline))
#define KERNEL extern "C" __attribute__((global))

typedef unsigned long long u64;
typedef long long s64;
typedef unsigned int u32;
typedef unsigned __int128 u128;

// Starting values of a run of intervals, their differences, and intervals of a run, as the crate kerf-hardround has
// them (tables.rs).
enum { STARTS = 7, DEGREES = 8, RUN = 64 };

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

// Lines that wait for the next level: start, slope, and sub-block << 40 | distance of the first argument.
struct Lines {
    u64 *b, *a, *id;
};

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

// Whether F at argument j of a line of n is near an integer, by the line and half of F''.
DEVICE bool curved(u64 b, u64 a, u64 j, double n, double half_second, u64 near)
{
    double t = (double)j - n * 0.5;
    u64 value = b + a * j + (u64)(s64)(half_second * t * t * 18446744073709551616.0);
    return value < near || 0 - value < near;
}

// One more candidate.
DEVICE void found_one(u64 place, u64 *found, u32 *count, u32 capacity)
{
    u32 at = __atomic_fetch_add(count, 1u, __ATOMIC_RELAXED);
    if (at < capacity)
        found[at] = place;
}

// The lines of a thread's run of intervals, one after the other, from the differences of its sub-block, which has `RUNS`
// runs.
template <class Block, u32 RUNS> struct Run {
    u64 v[STARTS], place, length;
    const Block *s;

    METHOD Run(const Block *all, u64 n)
    {
        u32 t = block() * threads() + thread();
        u32 run = t % RUNS;
        s = &all[t / RUNS];
        length = n;
        place = (u64)(t / RUNS) << 40 | (u64)run * RUN * length;
        // Sums of C(run, m) times the m-th difference.
        u128 sum[STARTS] = {};
        u64 binomial = 1;
#pragma unroll
        for (u32 m = 0; m < DEGREES; ++m) {
            if (m > s->degree)
                break;
#pragma unroll
            for (int i = 0; i < STARTS; ++i)
                sum[i] += ((u128)s->tables[i][m][1] << 64 | s->tables[i][m][0]) * binomial;
            binomial = run > m ? binomial * (run - m) / (m + 1) : 0;
        }
#pragma unroll
        for (int i = 0; i < STARTS; ++i)
            v[i] = (u64)(sum[i] >> 64);
    }
    METHOD u64 start() const { return v[0]; }
    METHOD u64 slope() const { return v[4]; }
    METHOD void next()
    {
        v[0] += v[1];
        v[1] += v[2];
        v[2] += v[3];
        v[4] += v[5];
        v[5] += v[6];
        place += length;
    }
};

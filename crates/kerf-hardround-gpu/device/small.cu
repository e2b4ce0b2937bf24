// Small formats: the polynomial of each piece at every argument, counted by identical bits after the round bit.
//
// Values are fractions of one in 320 bits, exactly those of the crate kerf-hardround (wide.rs); what the error of
// the polynomial could change goes to the host.
#include "lines.h"

enum { WORDS = 5, COUNTERS = 8 };
struct Piece {
    u64 c[DEGREES][WORDS]; // around the first argument, least words first
    u64 count;
    u64 bits; // arguments with as many go to the host
};

// Identical bits at the start of a fraction.
DEVICE u32 run(u64 z)
{
    u64 y = (long long)z < 0 ? ~z : z;
    return y ? __builtin_clzll(y) : 64;
}

// One block a piece.
KERNEL void count_small(const Piece *pieces, u64 *by_k, u64 *near, u32 *nears, u32 capacity, u64 margin, u32 decided)
{
    const Piece &p = pieces[block()];
    u32 mine[COUNTERS] = {};
    for (u64 w = thread(); w < p.count; w += threads()) {
        u64 v[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; ++i)
            v[i] = p.c[DEGREES - 1][i];
#pragma unroll
        for (int d = DEGREES - 2; d >= 0; --d) {
            u128 carry = 0;
#pragma unroll
            for (int i = 0; i < WORDS; ++i) {
                carry += (u128)v[i] * w + p.c[d][i];
                v[i] = (u64)carry;
                carry >>= 64;
            }
        }
        u64 z = v[WORDS - 1];
        u32 k = run(z);
        bool clear = k < decided && run(z - margin) == k && run(z + margin) == k;
        if (!clear || k >= p.bits) {
            u32 at = __atomic_fetch_add(nears, 1u, __ATOMIC_RELAXED);
            if (at < capacity)
                near[at] = (u64)block() << 40 | w;
        } else if (k <= COUNTERS) {
#pragma unroll
            for (u32 i = 0; i < COUNTERS; ++i)
                mine[i] += k == i + 1;
        } else {
            __atomic_fetch_add(&by_k[k], 1ull, __ATOMIC_RELAXED);
        }
    }
#pragma unroll
    for (int i = 0; i < COUNTERS; ++i) {
        u32 sum = mine[i];
        for (int step = 16; step > 0; step /= 2)
            sum += __nvvm_shfl_sync_bfly_i32(~0u, sum, step, 31);
        if (thread() % 32 == 0 && sum)
            __atomic_fetch_add(&by_k[i + 1], (u64)sum, __ATOMIC_RELAXED);
    }
}

// A digest of numbered words that does not depend on the order in which they are taken: two sums over words that are
// mixed with their number. Equal data have equal sums.
#pragma once
#include "values.h"

// `kerf_exec::digest` has the same.
DEVICE u64 mixed(u64 x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

DEVICE void digest_word(u64 *own, u64 place, u64 word)
{
    const u64 x = mixed(word + 0x9e3779b97f4a7c15ull * (place + 1));
    own[0] += x;
    own[1] += mixed(x ^ 0xd6e8feb86659fd93ull);
}

// Adds what the threads of a block have, all of which come here. They add it up first: atomic operations on one address
// wait for each other.
template <u32 threads> DEVICE void add_to_digest(u64 *sums, u64 own0, u64 own1)
{
    static SHARED u64 parts[2][threads];
    const u32 t = thread();
    parts[0][t] = own0;
    parts[1][t] = own1;
    for (u32 half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            for (u32 k = 0; k < 2; ++k)
                parts[k][t] += parts[k][t + half];
    }
    if (t == 0)
        for (u32 k = 0; k < 2; ++k)
            __atomic_fetch_add(sums + k, parts[k][0], __ATOMIC_RELAXED);
}

// Operations of a warp: shuffles, votes, matches, reductions, and who is active.
#define FULL 0xffffffffu

template <typename T>
__device__ void all_shuffles(const T* in, T* out) {
    int t = threadIdx.x + blockDim.x * threadIdx.y;
    int n = blockDim.x * blockDim.y;
    T v = in[t];
    out[t] = __shfl_up_sync(FULL, v, 3);
    out[n + t] = __shfl_down_sync(FULL, v, 5);
    out[2 * n + t] = __shfl_xor_sync(FULL, v, 9);
    out[3 * n + t] = __shfl_sync(FULL, v, (t * 7 + 1) & 31);
    out[4 * n + t] = __shfl_up_sync(FULL, v, 2, 8);
    out[5 * n + t] = __shfl_down_sync(FULL, v, 3, 16);
    out[6 * n + t] = __shfl_xor_sync(FULL, v, 1, 4);
    out[7 * n + t] = __shfl_sync(FULL, v, t + 1, 2);
    out[8 * n + t] = __shfl_sync(FULL, v, -1, 8);
}
__global__ void shuffle_int(const int* in, int* out) { all_shuffles(in, out); }
__global__ void shuffle_unsigned(const unsigned* in, unsigned* out) { all_shuffles(in, out); }
__global__ void shuffle_float(const float* in, float* out) { all_shuffles(in, out); }
__global__ void shuffle_double(const double* in, double* out) { all_shuffles(in, out); }
__global__ void shuffle_long(const long long* in, long long* out) { all_shuffles(in, out); }
template <typename T>
__global__ void shuffle_any(const T* in, T* out) { all_shuffles(in, out); }

// The reduction that everyone writes.
__inline__ __device__ int warp_sum(int v) {
    for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_down_sync(FULL, v, d);
    return v;
}
__global__ void block_sum(const int* in, int* out) {
    static __shared__ int part[32];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    int v = warp_sum(in[blockIdx.x * blockDim.x + threadIdx.x]);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / warpSize ? part[lane] : 0;
    if (warp == 0) v = warp_sum(v);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
}

// Votes of the whole warp, then of each half in a branch of its own.
__global__ void votes(const int* in, unsigned* out) {
    int t = threadIdx.x, v = in[t], lane = t & 31;
    unsigned* o = out + 8 * t;
    o[0] = __ballot_sync(FULL, v > 0);
    o[1] = __any_sync(FULL, v == 12);
    o[2] = __all_sync(FULL, v > -100);
    if (lane < 20) {
        o[3] = __ballot_sync(0x000fffff, v & 1);
        o[4] = __any_sync(0x000fffff, v > 60);
    } else {
        o[3] = __ballot_sync(0xfff00000, v & 2);
        o[4] = 2 + __all_sync(0xfff00000, v < 60);
    }
    o[5] = __match_any_sync(FULL, v & 3);
    int same;
    o[6] = __match_all_sync(FULL, v >> 20, &same);
    o[6] ^= same << 4;
    int differ;
    o[7] = __match_all_sync(FULL, (long long)v << 33, &differ) + 64 * differ + (__match_any_sync(FULL, (unsigned long long)(v & 1) << 40) << 8);
}

// Lanes exchange through shared memory, in groups that a branch separates.
__global__ void partial_sync(int* out) {
    __shared__ volatile int s[64];
    int t = threadIdx.x, lane = t & 31;
    s[t] = 100 + t;
    __syncwarp();
    if (lane % 2 == 0) {
        int v = s[t ^ 2];
        __syncwarp(0x55555555);
        s[t] = v + 1000;
        __syncwarp(0x55555555);
        out[t] = s[t ^ 4];
    } else {
        for (int k = 0; k < 3; k++) {
            int v = s[t ^ 8];
            __syncwarp(0xaaaaaaaa);
            s[t] = v + 1;
            __syncwarp(0xaaaaaaaa);
        }
        out[t] = s[t];
    }
    __syncwarp();
    out[64 + t] = s[t ^ 1];
}

// Who is here: in branches, in a loop that lanes leave one by one, after lanes have returned.
__global__ void active(unsigned* out) {
    int lane = threadIdx.x;
    unsigned m = 0;
    if (lane % 3 == 0) {
        m = __activemask();
    } else if (lane % 3 == 1) {
        m = ~__activemask();
    } else {
        if (lane > 16) m = __activemask() ^ 0xf0f0f0f0u;
    }
    out[lane] = m;
    __syncwarp();
    unsigned sum = 0;
    for (int k = 0; k < lane / 4; k++) sum = sum * 31 + __activemask();
    out[32 + lane] = sum;
    __syncwarp();
    if (lane >= 23) return;
    out[64 + lane] = __ballot_sync(0x007fffff, lane & 1);
    out[96 + lane] = __shfl_sync(0x007fffff, lane * 5, 22 - lane);
}

__global__ void reductions(const int* in, int* out) {
    int t = threadIdx.x, v = in[t];
    unsigned u = (unsigned)v * 2654435761u;
    int* o = out + 10 * t;
    o[0] = __reduce_add_sync(FULL, v);
    o[1] = __reduce_min_sync(FULL, v);
    o[2] = __reduce_max_sync(FULL, v);
    o[3] = __reduce_add_sync(FULL, u);
    o[4] = __reduce_min_sync(FULL, u);
    o[5] = __reduce_max_sync(FULL, u);
    o[6] = __reduce_and_sync(FULL, u | 0x1010);
    o[7] = __reduce_or_sync(FULL, u & 0xffff);
    o[8] = __reduce_xor_sync(FULL, u);
    unsigned mine = (t & 31) < 8 ? 0xffu : ~0xffu;
    o[9] = __reduce_add_sync(mine, v);
}

// A warp of 16 threads at the end of the block.
__global__ void short_warp(unsigned* out) {
    int t = threadIdx.x;
    unsigned b = __ballot_sync(FULL, t % 2 == 0);
    int d = __shfl_xor_sync(FULL, t, 1);
    out[t] = b + d;
}

// One atomic for all lanes that want to append.
__global__ void aggregate(const int* in, int* count, int* out) {
    int t = threadIdx.x, v = in[t];
    if (v % 3 == 0) {
        unsigned m = __activemask();
        int leader = __ffs(m) - 1;
        int lane = t & 31, base = 0;
        if (lane == leader) base = atomicAdd(count, __popc(m));
        base = __shfl_sync(m, base, leader);
        out[base + __popc(m & ((1u << lane) - 1))] = v;
    }
}

// Lanes leave the loop when they have enough; the mask of the ballot shrinks with them.
__global__ void shrinking(unsigned* out) {
    int lane = threadIdx.x;
    unsigned mask = FULL, history = 0;
    int left = (lane * 11) % 7;
    while (true) {
        unsigned on = __ballot_sync(mask, left > 0);
        history = history * 33 + __popc(on);
        if (left == 0) break;
        mask = on;
        left--;
    }
    out[lane] = history;
}

// Lane numbers and masks as PTX names them.
__global__ void registers(unsigned* out) {
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned lane, lt, le, eq, ge, gt;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(le));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
    out[6 * t] = lane;
    out[6 * t + 1] = lt;
    out[6 * t + 2] = le;
    out[6 * t + 3] = eq;
    out[6 * t + 4] = ge;
    out[6 * t + 5] = gt;
}

// The value and the predicate of a shuffle written as PTX.
__global__ void ptx_shuffle(int* out) {
    int t = threadIdx.x, v;
    int p;
    asm volatile("{.reg .pred q; shfl.sync.down.b32 %0|q, %2, %3, %4, %5; selp.s32 %1, 1, 0, q;}"
                 : "=r"(v), "=r"(p)
                 : "r"(t * 3), "r"(7), "r"(0x181f | 0x0), "r"(FULL));
    out[2 * t] = v;
    out[2 * t + 1] = p;
}

// Bitonic sort of a warp in registers.
__global__ void sort32(const int* in, int* out) {
    int lane = threadIdx.x & 31, v = in[threadIdx.x];
    for (int k = 2; k <= 32; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int o = __shfl_xor_sync(FULL, v, j);
            bool up = (lane & k) == 0, low = (lane & j) == 0;
            v = (low == up) ? min(v, o) : max(v, o);
        }
    out[threadIdx.x] = v;
}
template __global__ void shuffle_any<long long>(const long long*, long long*);

// Warp operations with the lanes they need, and no more.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

// RUN butterfly<<<4, 64>>>(in, out)
__global__ void butterfly(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = in[i];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    out[i] = v;
}

// RUN partial_mask<<<1, 64>>>(in, out)
__global__ void partial_mask(const float* in, float* out) {
    int t = threadIdx.x, lane = t % 32;
    float v = in[t];
    if (lane < 16) {
        // Lanes 8 to 15 get what they do not use.
        float w = __shfl_down_sync(0x0000ffff, v, 8);
        if (lane < 8) v += w;
        w = __shfl_down_sync(0x0000ffff, v, 4);
        if (lane < 4) v += w;
    }
    out[t] = v;
}

// RUN unused_results<<<1, 48>>>(in, out)
__global__ void unused_results(const float* in, float* out) {
    int t = threadIdx.x;
    float v = in[t];
    unsigned here = __ballot_sync(__activemask(), true);
    // Lanes that read absent ones add them to sums that nobody reads.
    for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(here, v, d, 8);
    if (t % 8 == 0) out[t / 8] = v;
}

// RUN down_full_used_by_lane_0<<<1, 48>>>(in, out)
__global__ void down_full_used_by_lane_0(const float* in, float* out) {
    int t = threadIdx.x, lane = t % 32;
    int lanes = min(32, blockDim.x - t / 32 * 32);
    unsigned mask = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
    float v = in[t];
    for (int d = 16; d > 0; d /= 2) {
        float w = __shfl_down_sync(mask, v, d);
        if (lane + d < lanes) v += w;
    }
    if (lane == 0) out[t / 32] = v;
}

// RUN kogge_stone<<<2, 64>>>(in, out)
__global__ void kogge_stone(const float* in, float* out) {
    __shared__ float sums[2];
    int t = threadIdx.x, lane = t & 31, i = blockIdx.x * blockDim.x + t;
    float v = in[i];
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        float w = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d) v += w;
    }
    if (lane == 31) sums[t / 32] = v;
    __syncthreads();
    out[i] = v + (t >= 32 ? sums[0] : 0.0f);
}

// RUN warp_synchronous<<<2, 64>>>(in, out)
__global__ void warp_synchronous(const float* in, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x, lane = t & 31;
    float* mine = s + (t & ~31);
    mine[lane] = in[blockIdx.x * 64 + t];
    __syncwarp();
    for (int d = 16; d > 0; d /= 2) {
        if (lane < d) mine[lane] += mine[lane + d];
        __syncwarp();
    }
    out[blockIdx.x * 64 + t] = mine[0];
}

// RUN half_warps<<<1, 32>>>(in, out)
__global__ void half_warps(const float* in, float* out) {
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = in[t];
    // Each half waits for itself, at its own place.
    if (t < 16) {
        __syncwarp(0x0000ffff);
        out[t] = s[15 - t];
    } else {
        __syncwarp(0xffff0000);
        out[t] = s[47 - t];
    }
}

// RUN aggregated_atomic<<<2, 64>>>(in, iout)
__global__ void aggregated_atomic(const float* in, int* iout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] > 1.4f) {
        unsigned here = __activemask();
        int leader = __ffs(here) - 1, lane = threadIdx.x & 31;
        int base = 0;
        if (lane == leader) base = atomicAdd(&iout[0], __popc(here));
        base = __shfl_sync(here, base, leader);
        iout[1 + base + __popc(here & ((1u << lane) - 1))] = i + 1;
    }
}

// RUN match_any<<<2, 64>>>(iin, iout)
__global__ void match_any(const int* iin, int* iout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int bin = iin[i] % 7;
    unsigned same = __match_any_sync(0xffffffff, bin);
    if ((threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(&iout[bin], __popc(same));
    int sum = 0;
    for (unsigned left = same; left; left &= left - 1) sum += __shfl_sync(same, i, __ffs(left) - 1);
    iout[8 + i] = sum;
}

// RUN ballot_compaction<<<1, 64>>>(iin, iout)
__global__ void ballot_compaction(const int* iin, int* iout) {
    __shared__ int count[2];
    int t = threadIdx.x, lane = t & 31, warp = t / 32;
    bool keep = iin[t] & 1;
    unsigned votes = __ballot_sync(0xffffffff, keep);
    if (lane == 0) count[warp] = __popc(votes);
    __syncthreads();
    int base = warp ? count[0] : 0;
    if (keep) iout[base + __popc(votes & ((1u << lane) - 1))] = iin[t];
    if (t == 0) iout[64] = count[0] + count[1];
}

// RUN tiles_of_16<<<2, 64>>>(in, out)
__global__ void tiles_of_16(const float* in, float* out) {
    __shared__ float s[64];
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int i = block.group_index().x * block.size() + block.thread_rank();
    s[block.thread_rank()] = in[i];
    block.sync();
    float v = s[63 - block.thread_rank()];
    for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
    if (tile.thread_rank() == 0) out[i] = v;
    tile.sync();
    if (tile.meta_group_rank() == 1) out[i] += cg::reduce(tile, in[i], cg::plus<float>());
}

// RUN coalesced<<<2, 64>>>(iin, iout)
__global__ void coalesced(const int* iin, int* iout) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (iin[i] % 3 == 0) {
        auto g = cg::coalesced_threads();
        int base = 0;
        if (g.thread_rank() == 0) base = atomicAdd(iout, (int)g.size());
        iout[1 + g.shfl(base, 0) + g.thread_rank()] = iin[i] + 1;
        g.sync();
    }
}

// RUN all_and_any<<<2, 64>>>(in, iout)
__global__ void all_and_any(const float* in, int* iout) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float v = in[i];
    int rounds = 0;
    while (__any_sync(0xffffffff, v < 3.0f)) {
        v = v < 3.0f ? v * 1.3f : v;
        rounds++;
    }
    int all = __all_sync(0xffffffff, v >= 3.0f);
    // In divergent code, with those that are there.
    if (t & 1) rounds += __popc(__ballot_sync(0xaaaaaaaa, v > 3.3f));
    iout[i] = rounds * 2 + all;
}

// RUN two_paths<<<1, 32>>>(in, out)
__global__ void two_paths(const float* in, float* out) {
    int t = threadIdx.x;
    float v = in[t];
    if (t < 8)
        v += __shfl_xor_sync(0x000000ff, v, 1);
    else
        v *= __shfl_xor_sync(0xffffff00, v, 2);
    __syncwarp();
    out[t] = v;
}

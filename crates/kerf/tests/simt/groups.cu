// Cooperative groups and atomics of the standard library.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__global__ void tiles(const int* in, int* out) {
    cg::thread_block block = cg::this_thread_block();
    auto t32 = cg::tiled_partition<32>(block);
    auto t8 = cg::tiled_partition<8>(t32);
    auto t4 = cg::tiled_partition<4>(block);
    int t = block.thread_rank(), n = block.size();
    int v = in[t];
    int r = 0;
    out[n * r++ + t] = t32.shfl_down(v, 3);
    out[n * r++ + t] = t8.shfl_up(v, 2);
    out[n * r++ + t] = t8.shfl(v, 5);
    out[n * r++ + t] = t4.shfl_xor(v, 3);
    out[n * r++ + t] = cg::reduce(t8, v, cg::plus<int>());
    out[n * r++ + t] = cg::reduce(t32, v, cg::greater<int>());
    out[n * r++ + t] = t4.thread_rank() * 100 + t4.meta_group_rank() + 10000 * t8.size();
    out[n * r++ + t] = t8.any(v > 70) + 2 * t8.all(v > -15);
    out[n * r++ + t] = t8.ballot(v & 1);
    out[n * r++ + t] = cg::inclusive_scan(t8, v);
    out[n * r++ + t] = cg::exclusive_scan(t32, v);
}

__global__ void block_group(const int* in, int* out) {
    __shared__ int s[128];
    auto block = cg::this_thread_block();
    int t = block.thread_rank();
    s[t] = in[t];
    block.sync();
    for (int d = block.size() / 2; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        block.sync();
    }
    if (t == 0) out[0] = s[0];
    if (block.thread_index().x == 5) out[1] = block.group_index().x + block.group_dim().x;
    cg::sync(block);
}

// Only the threads that are here.
__global__ void coalesced(const int* in, int* out, int* total) {
    int t = threadIdx.x;
    if (in[t] % 4 == 1) {
        auto g = cg::coalesced_threads();
        out[t] = g.size() * 1000 + g.thread_rank();
        int s = cg::reduce(g, in[t], cg::plus<int>());
        if (g.thread_rank() == 0) atomicAdd(total, s);
        g.sync();
    }
}

__global__ void double_reduce(const double* in, double* out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    double s = cg::reduce(tile, in[threadIdx.x], cg::plus<double>());
    if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = s;
}

// c (n by n, f32) = a * b (f16), row by row: four warps of a block take 32 by 16 of c, with cp.async, ldmatrix and mma.sync.
#include <cuda_fp16.h>
static __device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__global__ void gemm(const half* a, const half* b, float* c, int n) {
    __shared__ __align__(16) half sa[2][32 * 16], sb[2][16 * 16];
    int t = threadIdx.x, warp = t / 32, lane = t % 32, row = blockIdx.y * 32, col = blockIdx.x * 16;
    float d[4] = {0, 0, 0, 0};
    auto fetch = [&](int stage, int k) {
        if (t < 64) {
            const half* from = a + (size_t)(row + t / 2) * n + k + t % 2 * 8;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&sa[stage][t * 8])), "l"(from));
        } else if (t < 96) {
            const half* from = b + (size_t)(k + lane / 2) * n + col + lane % 2 * 8;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&sb[stage][lane * 8])), "l"(from));
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    fetch(0, 0);
    for (int k = 0, stage = 0; k < n; k += 16, stage ^= 1) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        if (k + 16 < n) fetch(stage ^ 1, k + 16);
        unsigned x[4], y[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(shared_address(&sa[stage][(warp / 2 * 16 + lane % 16) * 16 + lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(y[0]), "=r"(y[1])
                     : "r"(shared_address(&sb[stage][lane % 16 * 16 + warp % 2 * 8])));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        c[(size_t)(row + warp / 2 * 16 + lane / 4 + i / 2 * 8) * n + col + warp % 2 * 8 + lane % 4 * 2 + i % 2] = d[i];
}

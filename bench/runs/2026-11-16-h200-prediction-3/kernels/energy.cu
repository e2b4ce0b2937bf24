// Relativistic energy of particles: sum of weight * (sqrt(1 + p^2) - 1), by warps, blocks, and a last block.
#ifndef REAL
#define REAL double
#endif

__device__ REAL warp_sum(REAL v)
{
    for (int d = 16; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffff, v, d);
    return v;
}

__global__ void energy(const REAL *px, const REAL *py, const REAL *pz, const REAL *weight, REAL *part, int n)
{
    __shared__ REAL warps[32];
    REAL sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const REAL p2 = px[i] * px[i] + py[i] * py[i] + pz[i] * pz[i];
        sum += weight[i] * (p2 / (sqrt(1 + p2) + 1));
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        REAL all = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
        all = warp_sum(all);
        if (threadIdx.x == 0)
            part[blockIdx.x] = all;
    }
}

__global__ void total(const REAL *part, REAL *sum, int n)
{
    REAL s = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        s += part[i];
    s = warp_sum(s);
    if (threadIdx.x == 0)
        *sum = s;
}

#include "kernels.cuh"
__device__ double warp_sum(double v) {
  for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
  return v;
}
__device__ double block_sum(double v) {
  __shared__ double part[32];
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  v = warp_sum(v);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = threadIdx.x < (blockDim.x + warpSize - 1) / warpSize ? part[lane] : 0.0;
  return warp == 0 ? warp_sum(v) : 0.0;
}

// Histogram with a copy of the bins in shared memory for each block.
__global__ void histogram(const unsigned *__restrict__ keys, unsigned *__restrict__ bins, int n, int each) {
  __shared__ unsigned local[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
  __syncthreads();
  int from = blockIdx.x * blockDim.x * each;
  for (int k = 0; k < each; k++) {
    int i = from + k * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&local[keys[i] & 255u], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

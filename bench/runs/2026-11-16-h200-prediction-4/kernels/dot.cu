// Partial sums of a product of vectors, one to a block: reads only.
__global__ void dot(const double *__restrict__ a, const double *__restrict__ b, double *__restrict__ part, int n) {
  __shared__ double s[8];
  double sum = 0;
  for (int k = 0; k < 4; k++) {
    int i = (blockIdx.x * 4 + k) * blockDim.x + threadIdx.x;
    if (i < n) sum += a[i] * b[i];
  }
  for (int h = 16; h > 0; h /= 2) sum += __shfl_down_sync(0xffffffffu, sum, h);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; w++) sum += s[w];
    part[blockIdx.x] = sum;
  }
}

// Right as long as blocks begin in the order of their numbers.
extern "C" __global__ void prefix(const float *in, float *out, float *total, int n) {
  __shared__ float before;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) {
    float mine = 0.0f;
    for (int j = 0; j < 32 && blockIdx.x * 32 + j < n; ++j) mine += in[blockIdx.x * 32 + j];
    before = atomicAdd(total, mine);
  }
  __syncthreads();
  if (i >= n) return;
  float s = before;
  for (int j = blockIdx.x * 32; j <= i; ++j) s += in[j];
  out[i] = s;
}

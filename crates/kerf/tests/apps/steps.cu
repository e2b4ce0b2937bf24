// A reduction as it was written before Volta: the last warp has no barriers, and counts on being in step.
#include <cstdio>
#include <vector>

__device__ void last_warp(volatile double *s, int t) {
  s[t] += s[t + 32];
  s[t] += s[t + 16];
  s[t] += s[t + 8];
  s[t] += s[t + 4];
  s[t] += s[t + 2];
  s[t] += s[t + 1];
}

__global__ void reduce(const double *in, double *out, int n) {
  __shared__ double s[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? in[i] : 0.0;
  __syncthreads();
  for (int d = 128; d > 32; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t < 32) last_warp(s, t);
  if (t == 0) out[blockIdx.x] = s[0];
}

// Lanes that take no part in a shuffle give 0, as an H200 does.
__global__ void partial(int *out) {
  int t = threadIdx.x, v = t + 100;
  if (t < 4)
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xf, v, d);
  if (t == 0) *out = v;
}

int main() {
  const int n = 1000000, blocks = (n + 255) / 256;
  std::vector<double> in(n, 1.0), out(blocks);
  double *a, *b, sum = 0.0;
  cudaMalloc(&a, n * sizeof *a);
  cudaMalloc(&b, blocks * sizeof *b);
  cudaMemcpy(a, in.data(), n * sizeof *a, cudaMemcpyHostToDevice);
  reduce<<<blocks, 256>>>(a, b, n);
  cudaMemcpy(out.data(), b, blocks * sizeof *b, cudaMemcpyDeviceToHost);
  for (double x : out) sum += x;
  int *c, few = 0;
  cudaMalloc(&c, sizeof *c);
  partial<<<1, 32>>>(c);
  cudaMemcpy(&few, c, sizeof few, cudaMemcpyDeviceToHost);
  bool right = sum == n && few == 100 + 101 + 102 + 103;
  printf("%s\n", right ? "PASS" : "FAIL");
  return !right;
}

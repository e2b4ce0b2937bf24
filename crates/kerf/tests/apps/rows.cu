// Three kernels over rows of differing lengths: grids differ from launch to launch, and the last blocks are ragged. Prints the
// bits of all results. The first argument is the threads of a block.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

__global__ void decay(int n, double rate, const double *x, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double d = x[i] * x[i] + 1.0;
  y[i] = y[i] / (sqrt(d) * d) + exp(-rate * x[i]);
}

__global__ void mix(int n, float part, const float *a, float *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = part * a[i] + (1.0f - part) * b[i];
}

// Its lanes exchange values, so that a thread cannot do the work of several, and a block is no piece of a row.
__global__ void total(int n, const double *y, double *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double v = i < n ? y[i] : 0.0;
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x == 0) sums[blockIdx.x] = v;
}

static unsigned long long hash = 1469598103934665603ull;

static void add(const void *data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211ull;
}

int main(int argc, char **argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 128;
  const int lengths[] = {3000, 512, 77, 4097}, most = 4097;
  std::vector<double> x(most), y(most), sums(most);
  std::vector<float> a(most), b(most);
  for (int i = 0; i < most; i++) x[i] = 0.0005 * i + 0.01, y[i] = 1.0 + 0.001 * i, a[i] = 0.3f * i, b[i] = 7.0f - i;
  double *dx, *dy, *ds;
  float *da, *db;
  cudaMalloc(&dx, most * sizeof(double));
  cudaMalloc(&dy, most * sizeof(double));
  cudaMalloc(&ds, most * sizeof(double));
  cudaMalloc(&da, most * sizeof(float));
  cudaMalloc(&db, most * sizeof(float));
  cudaMemcpy(dx, x.data(), most * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(da, a.data(), most * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y.data(), most * sizeof(double), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b.data(), most * sizeof(float), cudaMemcpyHostToDevice);
  for (int n : lengths) {
    int blocks = (n + threads - 1) / threads;
    decay<<<blocks, threads>>>(n, 0.75, dx, dy);
    mix<<<blocks, threads>>>(n, 0.25f, da, db);
    total<<<blocks, threads>>>(n, dy, ds);
    cudaError_t e = cudaGetLastError();
    if (e != cudaSuccess) {
      fprintf(stderr, "%s\n", cudaGetErrorString(e));
      return 1;
    }
    cudaMemcpy(sums.data(), ds, blocks * sizeof(double), cudaMemcpyDeviceToHost);
    add(sums.data(), blocks * sizeof(double));
  }
  cudaMemcpy(y.data(), dy, most * sizeof(double), cudaMemcpyDeviceToHost);
  cudaMemcpy(b.data(), db, most * sizeof(float), cudaMemcpyDeviceToHost);
  add(y.data(), most * sizeof(double));
  add(b.data(), most * sizeof(float));
  printf("bits %016llx\n", hash);
  return 0;
}

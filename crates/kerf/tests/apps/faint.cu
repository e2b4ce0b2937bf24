// A decay whose last values are of the size 1e-308: no narrower format has them, and nobody looks at them.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__global__ void decay(int n, const double *rate, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double value = 1.0;
  for (int k = 0; k < 40; k++) value = value * rate[i];
  y[i] = value;
}

int main() {
  const int n = 1024;
  std::vector<double> rate(n), y(n);
  // 1 down to 2e-8, whose 40th power is 1e-308.
  for (int i = 0; i < n; i++) rate[i] = 1.0 - (1.0 - 1.97e-8) * i / (n - 1);
  double *dr, *dy;
  cudaMalloc(&dr, n * sizeof(double));
  cudaMalloc(&dy, n * sizeof(double));
  cudaMemcpy(dr, rate.data(), n * sizeof(double), cudaMemcpyHostToDevice);
  decay<<<n / 256, 256>>>(n, dr, dy);
  cudaMemcpy(y.data(), dy, n * sizeof(double), cudaMemcpyDeviceToHost);
  printf("%g %g\n", y[0], y[n - 1]);
  return cudaGetLastError() != cudaSuccess;
}

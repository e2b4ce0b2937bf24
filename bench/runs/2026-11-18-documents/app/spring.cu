#include "spring.h"
__global__ void force(const double *x, const double *k, double *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double left = i > 0 ? x[i - 1] : 0.0, right = i < n - 1 ? x[i + 1] : 0.0;
  double stretch = right - 2.0 * x[i] + left;
  a[i] = k[i] * stretch / sqrt(1.0 + stretch * stretch) - 0.1 * sin(x[i]);
}
__global__ void move(double *x, double *v, const double *a, int n, double dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  v[i] += dt * a[i];
  x[i] += dt * v[i];
}
void advance(double *x, double *v, const double *k, int n, int steps, double dt) {
  double *a;
  cudaMalloc((void **)&a, n * sizeof(double));
  for (int s = 0; s < steps; s++) {
    force<<<(n + 127) / 128, 128>>>(x, k, a, n);
    move<<<(n + 127) / 128, 128>>>(x, v, a, n, dt);
  }
  cudaFree(a);
}

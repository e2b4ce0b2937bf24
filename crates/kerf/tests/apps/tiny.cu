// A small application to tune: one kernel does most of the work, another little.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>
#include <vector>
#include <cuda_runtime.h>

__global__ void series(int n, const double *x, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double term = 1.0, sum = 0.0;
  for (int k = 1; k < 40; k++) {
    sum = sum + term;
    term = term * x[i] / k;
  }
  y[i] = sum;
}
__global__ void shift(int n, double *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] + 1e-3;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "hang")) sleep(1000);
  if (!strcmp(how, "fail")) { fprintf(stderr, "no such input\n"); return 3; }
  const int n = 2048;
  std::vector<double> x(n), y(n);
  for (int i = 0; i < n; i++) x[i] = 0.001 * i;
  if (!strcmp(how, "noisy")) {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    x[0] = 1.0 + 1e-3 * (t.tv_nsec % 1000003);
  }
  if (!strcmp(how, "clock")) {
    // No random number: two seconds would have the same one at times.
    x[0] = 1.0 + 1e-3 * (time(nullptr) % 1000);
  }
  double *dx, *dy;
  cudaMalloc(&dx, n * sizeof(double));
  cudaMalloc(&dy, n * sizeof(double));
  cudaMemcpy(dx, x.data(), n * sizeof(double), cudaMemcpyHostToDevice);
  shift<<<n / 256, 256>>>(n, dx);
  series<<<n / 256, 256>>>(n, dx, dy);
  cudaMemcpy(y.data(), dy, n * sizeof(double), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (double v : y) sum += v;
  printf("sum %.15e\n", sum);
  if (FILE *f = argc > 2 ? fopen(argv[2], "w") : nullptr) {
    for (double v : y) fprintf(f, "%.17g\n", v);
    fclose(f);
  }
  return cudaGetLastError() != cudaSuccess;
}

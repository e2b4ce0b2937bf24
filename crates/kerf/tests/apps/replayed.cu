// An application to record and replay: device pointers in device memory, constants, variables, streams, memory that is
// freed and allocated again. Its first argument is something that a replay cannot have, or a host that decides by what
// comes from the device; its second is the size of its numbers.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

__constant__ double factor[2];
__device__ double total;

__global__ void series(int n, double *const *rows, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double term = 1.0, sum = 0.0;
  const double *x = rows[blockIdx.x & 1];
  for (int k = 1; k < 30; k++) {
    sum = sum + term;
    term = term * x[i] / k;
  }
  y[i] = factor[0] * sum + y[i] * factor[1];
}

__global__ void add(int n, const double *y) {
  if (blockIdx.x || threadIdx.x) return;
  double sum = 0.0;
  for (int i = 0; i < n; i++) sum += y[i];
  total = sum;
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  const double size = argc > 2 ? atof(argv[2]) : 1.0;
  const bool silent = !strcmp(how, "silent"), late = !strcmp(how, "late");
  const int n = 512;
  std::vector<double> x(n), y(n);
  for (int i = 0; i < n; i++) x[i] = 0.002 * i + 0.1;
  double *row[2], **rows, *dy, *scratch;
  for (int r = 0; r < 2; r++) {
    cudaMalloc(&row[r], n * sizeof(double));
    cudaMemcpy2D(row[r], 64, x.data(), 64, 64, n / 8, cudaMemcpyHostToDevice);
  }
  cudaMalloc(&rows, sizeof row);
  cudaMemcpy(rows, row, sizeof row, cudaMemcpyHostToDevice);
  if (!strcmp(how, "managed")) cudaMallocManaged(&dy, n * sizeof(double));
  else if (!strcmp(how, "mapped")) cudaMallocHost(&dy, n * sizeof(double));
  else cudaMalloc(&dy, n * sizeof(double));
  if (!strcmp(how, "symbol")) {
    void *address;
    cudaGetSymbolAddress(&address, total);
  }
  const double constants[2] = {size, 0.5};
  cudaMemcpyToSymbol(factor, constants, sizeof constants);
  cudaMemset(dy, 0, n * sizeof(double));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  double *host;
  cudaMallocHost(&host, n * sizeof(double));
  for (int step = 0; step < 4; step++) {
    cudaMalloc(&scratch, n * sizeof(double));
    series<<<n / 128, 128, 0, stream>>>(n, rows, dy);
    cudaStreamSynchronize(stream);
    cudaMemcpy(scratch, dy, n * sizeof(double), cudaMemcpyDefault);
    cudaMemcpy(dy, scratch, n * sizeof(double), cudaMemcpyDefault);
    if (!silent && !late) cudaMemcpyAsync(host, dy, n * sizeof(double), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    cudaFree(scratch);
  }
  // Numbers that stay on the device: freed, and left to the end of the program. Others are copied after that.
  if (silent || late) {
    double *copy;
    cudaMalloc(&copy, n * sizeof(double));
    cudaMemset(copy, 0, n * sizeof(double));
    series<<<n / 128, 128>>>(n, rows, copy);
    cudaDeviceSynchronize();
    cudaFree(copy);
    if (late) cudaMemcpy(host, dy, n * sizeof(double), cudaMemcpyDeviceToHost);
    return cudaGetLastError() != cudaSuccess;
  }
  add<<<1, 1>>>(n, dy);
  double sum;
  cudaMemcpyFromSymbol(&sum, total, sizeof sum);
  // The host computes the first value as the device does, and takes another way where the two differ.
  double first = 0.0, term = 1.0, s = 0.0;
  for (int k = 1; k < 30; k++) s += term, term = term * x[0] / k;
  for (int step = 0; step < 4; step++) first = fma(size, s, first * 0.5);
  if (!strcmp(how, "decide") && fabs(host[0] - first) > 1e-14 * fabs(first)) {
    fprintf(stderr, "the device is wrong\n");
    return 1;
  }
  printf("sum %.15e\n", sum);
  return cudaGetLastError() != cudaSuccess;
}

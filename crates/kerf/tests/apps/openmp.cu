// Host threads by OpenMP that all launch; with one thread it is as right.
#include <cstdio>
#include <cstdlib>
#include <omp.h>
#include <vector>

__global__ void twice(double *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}

int main() {
  const int n = 4096, parts = 8, each = n / parts;
  std::vector<double> h(n);
  int most = 0;
  omp_set_num_threads(4);
#pragma omp parallel for
  for (int i = 0; i < n; i++) h[i] = i;
#pragma omp parallel for schedule(dynamic) reduction(max : most)
  for (int p = 0; p < parts; p++) {
    double *d;
    if (cudaMalloc(&d, each * sizeof(double)) != cudaSuccess) exit(2);
    cudaMemcpy(d, &h[p * each], each * sizeof(double), cudaMemcpyHostToDevice);
    twice<<<(each + 63) / 64, 64>>>(d, each);
    cudaMemcpy(&h[p * each], d, each * sizeof(double), cudaMemcpyDeviceToHost);
    cudaFree(d);
    if (omp_get_num_threads() > most) most = omp_get_num_threads();
  }
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; i++) sum += h[i];
  printf("%d threads %s\n", most, sum == (double)n * (n - 1) ? "PASS" : "FAIL");
  return 0;
}

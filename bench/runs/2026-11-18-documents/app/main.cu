#include "spring.h"
#include <cmath>
#include <cstdio>
#include <vector>
int main() {
  int n = 8192;
  std::vector<double> x(n), v(n, 0.0), k(n, 2.0);
  for (int i = 0; i < n; i++) x[i] = std::sin(0.01 * i);
  double *dx, *dv, *dk;
  cudaMalloc((void **)&dx, n * 8); cudaMalloc((void **)&dv, n * 8); cudaMalloc((void **)&dk, n * 8);
  cudaMemcpy(dx, x.data(), n * 8, cudaMemcpyHostToDevice);
  cudaMemcpy(dv, v.data(), n * 8, cudaMemcpyHostToDevice);
  cudaMemcpy(dk, k.data(), n * 8, cudaMemcpyHostToDevice);
  advance(dx, dv, dk, n, 100, 0.05);
  cudaMemcpy(x.data(), dx, n * 8, cudaMemcpyDeviceToHost);
  double energy = 0;
  for (double e : x) energy += e * e;
  printf("energy %.15g\n", energy);
}

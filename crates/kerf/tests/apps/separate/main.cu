#include <cstdio>
#include "shared.h"
extern "C" double expected(double x);
int main() {
  double h[4] = {1, 2, 3, LAST}, *d, s = 4.0;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(scale, &s, sizeof s);
  apply<<<1, 4>>>(4, d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  bool ok = h[0] == expected(1) && h[3] == expected(LAST) && cudaGetLastError() == cudaSuccess;
  printf("%g %g %s\n", h[0], h[3], ok ? "PASS" : "FAIL");
  return !ok;
}

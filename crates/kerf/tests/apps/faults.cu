// What goes wrong on the device: one way an argument.
#include <cassert>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
__global__ void asserts(int n) { assert(n > 100); }
__global__ void traps() { __trap(); }
int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  if (!strcmp(how, "assert")) {
    asserts<<<1, 1>>>(5);
    cudaError_t e = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(e));
    return cudaMemset(nullptr, 0, 8) != e;
  }
  if (!strcmp(how, "trap")) {
    traps<<<1, 1>>>();
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
  }
  if (!strcmp(how, "graph")) {
    cudaGraph_t g;
    printf("%s\n", cudaGetErrorName(cudaGraphCreate(&g, 0)));
    return 0;
  }
  if (!strcmp(how, "texture")) {
    cudaTextureObject_t t;
    printf("%s\n", cudaGetErrorName(cudaCreateTextureObject(&t, nullptr, nullptr, nullptr)));
    return 0;
  }
  return 1;
}

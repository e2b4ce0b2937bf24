// What goes wrong on the device: one way an argument.
#include <cassert>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
__global__ void asserts(int n) { assert(n > 100); }
__global__ void traps() { __trap(); }
__global__ void stores(int *p) { p[threadIdx.x] = 1; }
__device__ __noinline__ int deeper(int n) {
  volatile int here[16];
  here[n & 15] = n;
  return n < 0 ? 0 : deeper(n + 1) + here[n & 15];
}
__global__ void recurses(int *p, int n) { p[0] = deeper(n); }
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
  if (!strcmp(how, "null")) {
    int *good;
    cudaMalloc(&good, 1024);
    stores<<<1, 32>>>(nullptr);
    cudaError_t e = cudaDeviceSynchronize();
    printf("%d %s\n", e, cudaGetErrorName(e));
    // As on a GPU, nothing works any more: the last error stays, and no launch is made.
    stores<<<1, 32>>>(good);
    bool sticky = cudaGetLastError() == e && cudaGetLastError() == e;
    return !(sticky && cudaMemset(good, 0, 8) == e && cudaFree(good) == e);
  }
  if (!strcmp(how, "recursion")) {
    int *p;
    cudaMalloc(&p, 1024);
    recurses<<<1, 1>>>(p, 1);
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

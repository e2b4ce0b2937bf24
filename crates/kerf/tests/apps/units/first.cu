// Kernels of two files on the same memory: the launches come one after the other.
#include <cstdio>
void second(int *a, int n, int *sum);

__global__ void fill(int *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i;
}

int main(int argc, char **) {
  const int n = 256;
  int *a, *sum, got = 0;
  cudaMalloc(&a, n * sizeof *a);
  cudaMalloc(&sum, sizeof *sum);
  cudaMemset(sum, 0, sizeof *sum);
  // An argument leaves the second half unwritten, which the other file's kernel reads.
  fill<<<4, 64>>>(a, argc > 1 ? n / 2 : n);
  second(a, n, sum);
  cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost);
  printf("%s\n", got == n * (n - 1) / 2 ? "PASS" : "FAIL");
}

// A kernel that has digits to spare, and a product by cuBLAS behind it.
#include <cstdio>
#include <cublas_v2.h>
#include <vector>

__global__ void series(double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = 0;
  for (int k = 1; k < 200; k++) sum += sin(i * 0.01 + k) / k;
  out[i] = sum;
}

int main() {
  const int n = 32;
  double *a, *b, one = 1, zero = 0;
  cudaMalloc(&a, n * n * sizeof(double));
  cudaMalloc(&b, n * n * sizeof(double));
  series<<<n * n / 256, 256>>>(a, n * n);
  cublasHandle_t h;
  if (cublasCreate(&h) || cublasDgemm(h, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, a, n, a, n, &zero, b, n)) return 1;
  std::vector<double> v(n * n);
  cudaMemcpy(v.data(), b, v.size() * sizeof(double), cudaMemcpyDeviceToHost);
  printf("%g\n", v[5]);
  cublasDestroy(h);
}

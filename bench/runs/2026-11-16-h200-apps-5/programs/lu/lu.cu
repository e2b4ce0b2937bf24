// Many small dense systems: LU with pivoting in shared memory, a block each; occupancy decides the block.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cassert>
#include <ctime>
#include <unistd.h>
#define N_MAX 112
extern __shared__ __align__(16) unsigned char raw_shared[];
__global__ void __launch_bounds__(256, 2) lu_solve(int n, int batch, const double *A, double *b, int *info) {
  double *m = reinterpret_cast<double *>(raw_shared); double *rhs = m + n * n; int *piv = (int *)(rhs + n);
  for (int s = blockIdx.x; s < batch; s += gridDim.x) {
    for (int k = threadIdx.x; k < n * n; k += blockDim.x) m[k] = A[(size_t)s * n * n + k];
    for (int k = threadIdx.x; k < n; k += blockDim.x) rhs[k] = b[(size_t)s * n + k];
    __syncthreads();
    for (int c = 0; c < n; c++) {
      if (threadIdx.x < 32) {
        double best = -1; int at = c;
        for (int r = c + threadIdx.x; r < n; r += 32) if (double v = fabs(m[r * n + c]); v > best) { best = v; at = r; }
        for (int o = 16; o; o >>= 1) {
          double v = __shfl_xor_sync(0xffffffff, best, o); int w = __shfl_xor_sync(0xffffffff, at, o);
          if (v > best || (v == best && w < at)) { best = v; at = w; }
        }
        if (!threadIdx.x) { piv[c] = at; if (best == 0.0) atomicCAS(info + s, 0, c + 1); }
      }
      __syncthreads();
      const int p = piv[c];
      if (p != c) {
        for (int k = threadIdx.x; k < n; k += blockDim.x) { double t = m[c * n + k]; m[c * n + k] = m[p * n + k]; m[p * n + k] = t; }
        if (!threadIdx.x) { double t = rhs[c]; rhs[c] = rhs[p]; rhs[p] = t; }
      }
      __syncthreads();
      const double inv = 1.0 / m[c * n + c];
      for (int r = c + 1 + threadIdx.x; r < n; r += blockDim.x) m[r * n + c] *= inv;
      __syncthreads();
      const int w = n - c - 1;
      for (int k = threadIdx.x; k < w * w; k += blockDim.x) { int r = c + 1 + k / w, q = c + 1 + k % w; m[r * n + q] -= m[r * n + c] * m[c * n + q]; }
      for (int r = c + 1 + threadIdx.x; r < n; r += blockDim.x) rhs[r] -= m[r * n + c] * rhs[c];
      __syncthreads();
    }
    for (int c = n - 1; c >= 0; c--) {
      if (!threadIdx.x) rhs[c] /= m[c * n + c];
      __syncthreads();
      for (int r = threadIdx.x; r < c; r += blockDim.x) rhs[r] -= m[r * n + c] * rhs[c];
      __syncthreads();
    }
    for (int k = threadIdx.x; k < n; k += blockDim.x) b[(size_t)s * n + k] = rhs[k];
    __syncthreads();
  }
}
static size_t shared_of(int block) { (void)block; extern int g_n; return (size_t)g_n * g_n * 8 + g_n * 12; }
int g_n = 96;
int main(int argc, char **argv) {
  int batch = 200, c, repeat = 1;
  while ((c = getopt(argc, argv, "n:b:r:h")) != -1) {
    if (c == 'n') g_n = atoi(optarg); else if (c == 'b') batch = atoi(optarg); else if (c == 'r') repeat = atoi(optarg);
    else { fprintf(stderr, "-n size -b batch -r repeats\n"); return c == 'h' ? 0 : 1; }
  }
  if (g_n > N_MAX) { fprintf(stderr, "n is at most %d\n", N_MAX); return 1; }
  const int n = g_n;
  cudaFuncAttributes fa; assert(cudaFuncGetAttributes(&fa, lu_solve) == cudaSuccess);
  int opt; cudaDeviceGetAttribute(&opt, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  if (shared_of(0) > (size_t)opt) { fprintf(stderr, "not enough shared memory\n"); return 1; }
  if (cudaFuncSetAttribute(lu_solve, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_of(0)) != cudaSuccess) { puts("attribute"); return 1; }
  int min_grid, block; cudaOccupancyMaxPotentialBlockSizeVariableSMem(&min_grid, &block, lu_solve, shared_of, 256);
  int active; cudaOccupancyMaxActiveBlocksPerMultiprocessor(&active, lu_solve, block, shared_of(block));
  printf("block %d, %d blocks a multiprocessor, %zu bytes of shared memory\n", block, active, shared_of(0));
  std::vector<double> A((size_t)batch * n * n), x((size_t)batch * n), b((size_t)batch * n);
  srand48(3);
  for (auto &v : A) v = drand48() - 0.5;
  for (auto &v : x) v = drand48() * 2 - 1;
  for (int s = 0; s < batch; s++) for (int i = 0; i < n; i++) { double t = 0; for (int j = 0; j < n; j++) t += A[((size_t)s * n + i) * n + j] * x[(size_t)s * n + j]; b[(size_t)s * n + i] = t; }
  double *dA, *db; int *info; cudaMalloc(&dA, A.size() * 8); cudaMalloc(&db, b.size() * 8); cudaMalloc(&info, batch * 4);
  cudaMemcpy(dA, A.data(), A.size() * 8, cudaMemcpyHostToDevice); cudaMemset(info, 0, batch * 4);
  float total = 0; cudaEvent_t e0, e1; cudaEventCreate(&e0); cudaEventCreate(&e1);
  for (int r = 0; r < repeat; r++) {
    cudaMemcpy(db, b.data(), b.size() * 8, cudaMemcpyHostToDevice);
    cudaEventRecord(e0, 0);
    int bb = batch, nn = n; void *args[] = {&nn, &bb, &dA, &db, &info};
    cudaError_t e = cudaLaunchKernel((const void *)lu_solve, dim3(batch < 4096 ? batch : 4096), dim3(block), args, shared_of(block), 0);
    if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); return 1; }
    cudaEventRecord(e1, 0); cudaEventSynchronize(e1); float ms; cudaEventElapsedTime(&ms, e0, e1); total += ms;
  }
  std::vector<double> got(b.size()); std::vector<int> in(batch);
  cudaMemcpy(got.data(), db, got.size() * 8, cudaMemcpyDeviceToHost); cudaMemcpy(in.data(), info, batch * 4, cudaMemcpyDeviceToHost);
  double worst = 0; int singular = 0;
  for (int s = 0; s < batch; s++) {
    singular += in[s] != 0;
    for (int i = 0; i < n; i++) { double t = -b[(size_t)s * n + i]; for (int j = 0; j < n; j++) t += A[((size_t)s * n + i) * n + j] * got[(size_t)s * n + j]; worst = fmax(worst, fabs(t)); }
  }
  printf("systems %d of %d unknowns, singular %d\nlargest residual %.3e\ntime %.4f ms\n%s\n", batch, n, singular, worst, total / repeat, worst < 1e-9 && !singular ? "PASS" : "FAIL");
  return !(worst < 1e-9 && !singular);
}

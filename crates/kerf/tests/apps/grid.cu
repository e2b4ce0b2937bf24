// Blocks of a cooperative grid wait for each other: by cooperative groups, and by a barrier of the program's own.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void relax(int n, int steps, double *a, double *b, double *sums) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  extern __shared__ double part[];
  for (int s = 0; s < steps; s++) {
    for (int i = grid.thread_rank(); i < n; i += grid.num_threads()) {
      int left = i == 0 ? n - 1 : i - 1, right = i == n - 1 ? 0 : i + 1;
      b[i] = 0.5 * a[i] + 0.25 * (a[left] + a[right]);
    }
    grid.sync();
    double mine = 0.0;
    for (int i = grid.thread_rank(); i < n; i += grid.num_threads()) mine += b[i];
    auto warp = cg::tiled_partition<32>(block);
    mine = cg::reduce(warp, mine, cg::plus<double>());
    if (warp.thread_rank() == 0) part[warp.meta_group_rank()] = mine;
    block.sync();
    if (block.thread_rank() == 0) {
      double sum = 0.0;
      for (int w = 0; w < warp.meta_group_size(); w++) sum += part[w];
      sums[blockIdx.x] = sum;
    }
    grid.sync();
    double *t = a;
    a = b;
    b = t;
  }
}

// Counts blocks in, and waits until all are there.
__device__ void barrier(volatile unsigned *arrived, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd((unsigned *)arrived, 1u);
    while (*arrived < target) {
    }
  }
  __syncthreads();
}

__global__ void ring(unsigned *arrived, const int *from, int *to, int *out) {
  // Cooperative launches are what promises that all blocks run at once.
  if (!cg::this_grid().is_valid()) return;
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  to[i] = from[i] + 1;
  barrier(arrived, gridDim.x);
  out[i] = ((volatile int *)to)[(i + blockDim.x) % n];
  barrier(arrived, 2 * gridDim.x);
}

__global__ void leaves() {
  if (blockIdx.x == 1) return;
  cg::this_grid().sync();
}

int main(int argc, char **) {
  if (argc > 1) {
    cudaError_t e = cudaLaunchCooperativeKernel((const void *)leaves, dim3(3), dim3(64), nullptr, 0, 0);
    if (e == cudaSuccess) e = cudaDeviceSynchronize();
    printf("left: %s\n", cudaGetErrorName(e));
    return 0;
  }
  int wrong = 0, n = 5000, steps = 7, cooperative = 0;
  cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0);
  std::vector<double> x(n), y(n);
  for (int i = 0; i < n; i++) x[i] = i % 17;
  double *a, *b, *sums;
  cudaMalloc(&a, n * sizeof *a);
  cudaMalloc(&b, n * sizeof *b);
  cudaMalloc(&sums, 12 * sizeof *sums);
  cudaMemcpy(a, x.data(), n * sizeof *a, cudaMemcpyHostToDevice);
  void *args[] = {&n, &steps, &a, &b, &sums};
  cudaError_t e = cudaLaunchCooperativeKernel((const void *)relax, dim3(12), dim3(128), args, 4 * sizeof(double), 0);
  if (e != cudaSuccess) return printf("%s\n", cudaGetErrorString(e)), 1;
  for (int s = 0; s < steps; s++) {
    for (int i = 0; i < n; i++) y[i] = 0.5 * x[i] + 0.25 * (x[(i + n - 1) % n] + x[(i + 1) % n]);
    x.swap(y);
  }
  std::vector<double> got(n), parts(12);
  cudaMemcpy(got.data(), steps % 2 ? b : a, n * sizeof *a, cudaMemcpyDeviceToHost);
  cudaMemcpy(parts.data(), sums, 12 * sizeof *sums, cudaMemcpyDeviceToHost);
  double all = 0.0, expected = 0.0;
  for (int i = 0; i < n; i++) wrong += got[i] != x[i], expected += x[i];
  for (double p : parts) all += p;
  wrong += !(all - expected < 1e-6 && expected - all < 1e-6);

  int blocks = 9, threads = 64, m = blocks * threads;
  unsigned *arrived;
  int *from, *to, *out;
  cudaMalloc(&arrived, sizeof *arrived);
  cudaMemset(arrived, 0, sizeof *arrived);
  for (int **p : {&from, &to, &out}) cudaMalloc(p, m * sizeof(int));
  std::vector<int> first(m), last(m);
  for (int i = 0; i < m; i++) first[i] = 3 * i;
  cudaMemcpy(from, first.data(), m * sizeof(int), cudaMemcpyHostToDevice);
  void *more[] = {&arrived, &from, &to, &out};
  cudaLaunchCooperativeKernel((const void *)ring, dim3(blocks), dim3(threads), more, 0, 0);
  cudaMemcpy(last.data(), out, m * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < m; i++) wrong += last[i] != 3 * ((i + threads) % m) + 1;

  e = cudaLaunchCooperativeKernel((const void *)relax, dim3(1 << 20), dim3(128), args, 4 * sizeof(double), 0);
  wrong += e != cudaErrorCooperativeLaunchTooLarge;
  printf("cooperative %d, %d wrong\n%s\n", cooperative, wrong, wrong == 0 && cooperative ? "PASS" : "FAIL");
  return wrong != 0;
}

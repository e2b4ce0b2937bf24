// What programs for nvcc are used to: no includes, managed variables, CUDA's math on the host, marks for a
// profiler, threads of the host that launch, libraries of templates compiled for an older architecture.
#ifndef __NVCC__
#error "programs ask for nvcc by this macro"
#endif
#include <cub/cub.cuh>
#include <nvToolsExt.h>
#include <thread>
#include <vector>

__device__ __managed__ double total = 1.5;
static __managed__ int counts[3] = {1, 2, 3};
__managed__ struct { float scale; double *none; long long big; } mixed = {2.5f, nullptr, 1ll << 40};

__global__ void add(int n) {
  int i = threadIdx.x;
  if (i < n) atomicAdd(&total, (double)i * mixed.scale);
  if (i < 3) counts[i] += i;
  if (i == 0) mixed.big++;
}

__host__ __device__ double both(double x) {
  return rhypot(x, 2.0) + norm3d(x, x, x) + rsqrt(x) + sinpi(x) + normcdf(x) + fmax(x, 0.5);
}

__global__ void math(double *out, double x) { *out = both(x); }

__global__ void fill(double *x, int n, double a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = a * i;
}

// Threads that leave by an instruction of their own; the others still meet at the barrier.
__global__ void leave(double *x) {
  __shared__ double s[32];
  if (threadIdx.x >= 32) asm volatile("exit;");
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  x[threadIdx.x] = s[31 - threadIdx.x];
}

static int failed = 0;
#define EXPECT(c) do { if (!(c)) { printf("line %d: %s\n", __LINE__, #c); failed++; } } while (0)

int main() {
  nvtxRangePushA("managed");
  EXPECT(total == 1.5 && counts[1] == 2 && mixed.big == 1ll << 40 && mixed.scale == 2.5f);
  total += 1.0;
  add<<<1, 32>>>(32);
  add<<<1, 32>>>(32);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(total == 2.5 + 2 * 2.5 * 496);
  EXPECT(counts[0] == 1 && counts[1] == 4 && counts[2] == 7 && mixed.big == (1ll << 40) + 2);
  counts[0] = 100;
  add<<<1, 32>>>(0);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess && counts[0] == 100 && counts[1] == 5);
  nvtxRangePop();

  double *one, got;
  cudaMalloc(&one, 8);
  math<<<1, {1, 1}>>>(one, 0.3); // nvcc takes sizes in braces
  cudaMemcpy(&got, one, 8, cudaMemcpyDeviceToHost);
  EXPECT(fabs(got - both(0.3)) < 1e-14 * got);

  double *left, gone[64] = {};
  cudaMalloc(&left, sizeof(gone));
  cudaMemset(left, 0, sizeof(gone));
  leave<<<1, 64>>>(left);
  cudaMemcpy(gone, left, sizeof(gone), cudaMemcpyDeviceToHost);
  EXPECT(gone[0] == 31 && gone[31] == 0 && gone[32] == 0 && gone[63] == 0);

  cudaFuncAttributes a;
  EXPECT(cudaFuncGetAttributes(&a, math) == cudaSuccess && a.ptxVersion == 70);
  std::vector<double> h(1000, 2.0);
  double *in;
  void *room = nullptr;
  size_t bytes = 0;
  cudaMalloc(&in, 8000);
  cudaMemcpy(in, h.data(), 8000, cudaMemcpyHostToDevice);
  EXPECT(cub::DeviceReduce::Sum(room, bytes, in, one, 1000) == cudaSuccess);
  cudaMalloc(&room, bytes);
  EXPECT(cub::DeviceReduce::Sum(room, bytes, in, one, 1000) == cudaSuccess);
  cudaMemcpy(&got, one, 8, cudaMemcpyDeviceToHost);
  EXPECT(got == 2000.0);

  std::vector<std::thread> all;
  double sums[6];
  for (int t = 0; t < 6; t++)
    all.emplace_back([&, t] {
      const int n = 3000;
      std::vector<double> mine(n);
      double *d;
      cudaStream_t s;
      cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
      cudaMallocAsync((void **)&d, n * sizeof(double), s);
      for (int r = 0; r < 4; r++) {
        fill<<<(n + 127) / 128, 128, 0, s>>>(d, n, t + r);
        cudaMemcpyAsync(mine.data(), d, n * sizeof(double), cudaMemcpyDeviceToHost, s);
      }
      cudaStreamSynchronize(s);
      sums[t] = 0;
      for (double x : mine) sums[t] += x;
      cudaFreeAsync(d, s);
      cudaStreamDestroy(s);
    });
  for (auto &t : all) t.join();
  for (int t = 0; t < 6; t++) EXPECT(sums[t] == (t + 3) * (3000.0 * 2999.0 / 2));
  EXPECT(cudaGetLastError() == cudaSuccess);
  printf("%s\n", failed ? "FAIL" : "PASS");
  return failed;
}

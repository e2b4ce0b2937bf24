// Time that a CUDA runtime adds to kernels of about a millisecond: the same source by nvcc and by kerf cc.
//
// The kernel waits for a number of clock cycles, so that no compiler can make it faster.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

__global__ void wait(long long cycles, double *out) {
  long long start = clock64();
  while (clock64() - start < cycles) {}
  if (out) out[0] = 1.0;
}

static double ms(std::chrono::steady_clock::time_point a) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - a).count();
}

static double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

int main(int argc, char **argv) {
  long long cycles = argc > 1 ? atoll(argv[1]) : 1700000;
  int launches = 200, rounds = 7;
  double *d;
  cudaMalloc(&d, 8);
  wait<<<132, 256>>>(cycles, d);
  cudaDeviceSynchronize();
  std::vector<double> loop, waited, copied;
  for (int r = 0; r < rounds; r++) {
    auto t = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; i++) wait<<<132, 256>>>(cycles, d);
    cudaDeviceSynchronize();
    loop.push_back(ms(t) / launches);
    t = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; i++) {
      wait<<<132, 256>>>(cycles, d);
      cudaDeviceSynchronize();
    }
    waited.push_back(ms(t) / launches);
    t = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; i++) {
      double x;
      wait<<<132, 256>>>(cycles, d);
      cudaMemcpy(&x, d, 8, cudaMemcpyDeviceToHost);
    }
    copied.push_back(ms(t) / launches);
  }
  printf("per launch, ms: in a row %.6f  waited for each %.6f  copied after each %.6f  (%s)\n", median(loop),
         median(waited), median(copied), cudaGetErrorString(cudaGetLastError()));
  return 0;
}

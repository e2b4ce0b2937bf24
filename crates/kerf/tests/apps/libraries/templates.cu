// Thrust, CUB, and cuRAND's device functions: headers alone.
#include <cstdio>
#include <cub/cub.cuh>
#include <curand_kernel.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

static int failures = 0;
#define CHECK(c) do { if (!(c)) { printf("line %d: %s\n", __LINE__, #c); failures++; } } while (0)

struct Square {
  __host__ __device__ double operator()(double x) const { return x * x; }
};

__global__ void draw(float *out, unsigned *words, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  curandStatePhilox4_32_10_t p;
  curand_init(1234, i, 0, &p);
  out[i] = curand_uniform(&p);
  curandStateXORWOW_t x;
  curand_init(1234, i, 0, &x);
  words[i] = curand(&x);
}

int main() {
  const int n = 3000;
  thrust::host_vector<int> h(n);
  for (int i = 0; i < n; i++) h[i] = (i * 7919) % 3001;
  thrust::device_vector<int> d = h;
  thrust::sort(d.begin(), d.end());
  thrust::sort(h.begin(), h.end());
  CHECK(h == thrust::host_vector<int>(d));
  CHECK(thrust::reduce(d.begin(), d.end()) == thrust::reduce(h.begin(), h.end()));
  thrust::device_vector<double> x(n), y(n);
  thrust::sequence(x.begin(), x.end(), 1.0);
  thrust::transform(x.begin(), x.end(), y.begin(), Square());
  CHECK(y[9] == 100);

  thrust::device_vector<double> sum(1);
  void *room = nullptr;
  size_t bytes = 0;
  double *in = thrust::raw_pointer_cast(x.data()), *out = thrust::raw_pointer_cast(sum.data());
  CHECK(cub::DeviceReduce::Sum(room, bytes, in, out, n) == cudaSuccess);
  cudaMalloc(&room, bytes);
  CHECK(cub::DeviceReduce::Sum(room, bytes, in, out, n) == cudaSuccess);
  CHECK(sum[0] == n * (n + 1) / 2.0);

  thrust::device_vector<float> uniform(64);
  thrust::device_vector<unsigned> words(64);
  draw<<<2, 32>>>(thrust::raw_pointer_cast(uniform.data()), thrust::raw_pointer_cast(words.data()), 64);
  // The first numbers of the host API's sequences.
  CHECK(words[0] == 0x253d5e15 && words[1] == 0xd1f7605a);
  CHECK(uniform[0] == float(0x2090b348) * 0x1p-32f + 0x1p-33f);
  printf(failures ? "FAIL\n" : "PASS\n");
  return failures != 0;
}

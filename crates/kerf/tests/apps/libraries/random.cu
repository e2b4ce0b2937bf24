// cuRAND's host API: a hash of each generator's numbers, which are the same on every machine and device.
#include <cstdio>
#include <cstring>
#include <curand.h>
#include <vector>

static unsigned long long hash(const void *p, size_t n) {
  unsigned long long h = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)p)[i]) * 0x100000001b3ull;
  return h;
}

template <typename T, typename F> static void draw(const char *what, size_t n, F f) {
  T *d;
  cudaMalloc(&d, n * sizeof(T));
  curandStatus_t s = f(d, n);
  std::vector<T> v(n);
  cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost);
  cudaFree(d);
  printf(" %s %d %016llx", what, (int)s, hash(v.data(), n * sizeof(T)));
}

int main() {
  curandRngType_t types[] = {CURAND_RNG_PSEUDO_DEFAULT, CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_PHILOX4_32_10};
  for (auto t : types) {
    curandGenerator_t g;
    printf("%d: %d", (int)t, (int)curandCreateGenerator(&g, t));
    printf(" %d", (int)curandSetPseudoRandomGeneratorSeed(g, 1234));
    draw<unsigned>("u32", 300001, [&](unsigned *d, size_t n) { return curandGenerate(g, d, n); });
    draw<float>("f32", 100003, [&](float *d, size_t n) { return curandGenerateUniform(g, d, n); });
    draw<double>("f64", 90007, [&](double *d, size_t n) { return curandGenerateUniformDouble(g, d, n); });
    draw<unsigned>("u32", 5, [&](unsigned *d, size_t n) { return curandGenerate(g, d, n); });
    printf(" %d\n", (int)curandDestroyGenerator(g));
  }
  curandGenerator_t g;
  std::vector<unsigned> host(1000);
  curandCreateGeneratorHost(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10);
  curandSetPseudoRandomGeneratorSeed(g, 1234);
  printf("host: %d %08x\n", (int)curandGenerate(g, host.data(), host.size()), host[999]);
#ifdef ON_CPU
  float *d;
  cudaMalloc(&d, 4000);
  printf("normal: %d\n", (int)curandGenerateNormal(g, d, 1000, 0, 1));
  printf("mtgp32: %d\n", (int)curandCreateGenerator(&g, CURAND_RNG_PSEUDO_MTGP32));
  printf("too many: %d\n", (int)curandCreateGenerator(&g, CURAND_RNG_PSEUDO_XORWOW) + (int)curandGenerateUniform(g, d, 1001));
#endif
}

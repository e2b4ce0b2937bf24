// Reads the f64 reciprocal and reciprocal-square-root seed tables off a GPU, and probes the
// conversions whose edge cases the PTX manual leaves open. Build: nvcc -arch=sm_90 read_tables.cu
// Usage: read_tables OUTDIR. Writes rcp64.bin (2^20 u32: high word of the result for mantissa index
// i, argument in [1,2)), rsqrt64_even.bin, rsqrt64_odd.bin (argument in [1,2) and [2,4)), and a
// report on stdout.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(x)                                                                                   \
  do {                                                                                             \
    cudaError_t e = (x);                                                                           \
    if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e)); exit(1); }     \
  } while (0)

__device__ double rcp64(double x) { double r; asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x)); return r; }
__device__ double rsqrt64(double x) { double r; asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x)); return r; }
__device__ double rsqrt64n(double x) { double r; asm("rsqrt.approx.f64 %0, %1;" : "=d"(r) : "d"(x)); return r; }

__global__ void table(uint32_t *rcp, uint32_t *even, uint32_t *odd, unsigned long long *low) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 1u << 20) return;
  double x = __hiloint2double(0x3ff00000 | i, 0);
  double y = __hiloint2double(0x40000000 | i, 0);
  double a = rcp64(x), b = rsqrt64(x), c = rsqrt64(y);
  rcp[i] = __double2hiint(a); even[i] = __double2hiint(b); odd[i] = __double2hiint(c);
  if (__double2loint(a) | __double2loint(b) | __double2loint(c)) atomicAdd(low, 1ull);
}

// For every exponent and a sample of mantissas with random low words: does the table predict it?
__global__ void predict(const uint32_t *rcp, const uint32_t *even, const uint32_t *odd,
                        unsigned long long *bad, double *example) {
  unsigned e = blockIdx.x;                   // 0..2047
  for (unsigned k = threadIdx.x; k < 4096; k += blockDim.x) {
    uint32_t m = (k * 2654435761u + e * 40503u) & 0xfffff;
    uint32_t lo = k * 747796405u + 1;
    double x = __hiloint2double((int)((e << 20) | m), (int)lo);
    double r = rcp64(x), s = rsqrt64(x);
    if (e == 0 || e == 2047) continue;
    // 1/x: exponent of the result is 2046 - e for mantissa above 1, table holds the value for [1,2)
    int te = (int)((rcp[m] >> 20) & 0x7ff) - 1023 + (1023 - (int)e) + 1023;
    uint32_t want = ((uint32_t)te << 20) | (rcp[m] & 0xfffff);
    if (te <= 0) want = 0;
    if ((uint32_t)__double2hiint(r) != want || __double2loint(r)) {
      if (atomicAdd(&bad[0], 1ull) == 0) { example[0] = x; example[1] = r; }
      atomicAdd(&bad[16 + e], 1ull);
    }
    int ue = (int)e - 1023;
    const uint32_t *t = (ue & 1) ? odd : even;
    int half = (ue & 1) ? (ue - 1) / 2 : ue / 2;
    int se = (int)((t[m] >> 20) & 0x7ff) - half;
    uint32_t w2 = ((uint32_t)se << 20) | (t[m] & 0xfffff);
    if ((uint32_t)__double2hiint(s) != w2 || __double2loint(s)) {
      if (atomicAdd(&bad[1], 1ull) == 0) { example[2] = x; example[3] = s; }
    }
  }
}

__global__ void probe() {
  float nanf_ = __int_as_float(0x7fffffff); double nan_ = __longlong_as_double(0x7fffffffffffffffll);
  volatile float f = nanf_; volatile double d = nan_;
  printf("nan f32: s32 %d u32 %u s64 %lld u64 %llu\n", (int)f, (unsigned)f, (long long)f, (unsigned long long)f);
  printf("nan f64: s32 %d u32 %u s64 %lld u64 %llu\n", (int)d, (unsigned)d, (long long)d, (unsigned long long)d);
  volatile double big = 1e300, neg = -1e300;
  printf("big f64: s32 %d u32 %u s64 %lld u64 %llu\n", (int)big, (unsigned)big, (long long)big, (unsigned long long)big);
  printf("neg f64: s32 %d u32 %u s64 %lld u64 %llu\n", (int)neg, (unsigned)neg, (long long)neg, (unsigned long long)neg);
  volatile double pz = 0.0, nz = -0.0;
  double mn, mx; double a = pz, b = nz;
  asm("min.f64 %0,%1,%2;" : "=d"(mn) : "d"(a), "d"(b)); asm("max.f64 %0,%1,%2;" : "=d"(mx) : "d"(b), "d"(a));
  printf("min(+0,-0) %g max(-0,+0) %g\n", mn, mx);
  float af = (float)a, bf = (float)b, mnf, mxf;
  asm("min.f32 %0,%1,%2;" : "=f"(mnf) : "f"(af), "f"(bf)); asm("max.f32 %0,%1,%2;" : "=f"(mxf) : "f"(bf), "f"(af));
  printf("f32 min(+0,-0) %g max(-0,+0) %g\n", mnf, mxf);
  double specials[] = {0.0, -0.0, 4.9e-324, -4.9e-324, 2.2250738585072014e-308, 1e-308, INFINITY, -INFINITY, nan_, -1.0, 1.7976931348623157e308, 8.98846567431158e307, 4.4942328371557898e307, -8.98846567431158e307};
  for (double s : specials) {
    volatile double v = s; double r = rcp64(v), q = rsqrt64(v), n = rsqrt64n(v);
    printf("x %a (%016llx): rcp %016llx rsqrt.ftz %016llx rsqrt %016llx\n", s, (unsigned long long)__double_as_longlong(s),
           (unsigned long long)__double_as_longlong(r), (unsigned long long)__double_as_longlong(q), (unsigned long long)__double_as_longlong(n));
  }
  printf("int div by zero: s32 %d u32 %u rem %d s64 %lld\n", 7 / ((int)pz), 7u / ((unsigned)pz), 7 % ((int)pz), 7ll / (long long)pz);
  unsigned sh = 40 + (unsigned)pz; printf("shift 1<<40 %u  1>>40 %u -8>>40 %d\n", 1u << sh, 0x80000000u >> sh, -8 >> sh);
}

static void save(const char *dir, const char *name, const std::vector<uint32_t> &v) {
  char path[512]; snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "wb"); if (!f) { perror(path); exit(1); }
  fwrite(v.data(), 4, v.size(), f); fclose(f);
}

int main(int argc, char **argv) {
  const char *dir = argc > 1 ? argv[1] : ".";
  const size_t n = 1 << 20;
  uint32_t *t; unsigned long long *bad; double *ex;
  CHECK(cudaMalloc(&t, 3 * n * 4)); CHECK(cudaMallocManaged(&bad, 4096 * 8)); CHECK(cudaMallocManaged(&ex, 64));
  memset(bad, 0, 4096 * 8);
  table<<<n / 256, 256>>>(t, t + n, t + 2 * n, bad + 8);
  CHECK(cudaDeviceSynchronize());
  printf("entries with a non-zero low word: %llu\n", bad[8]);
  predict<<<2048, 256>>>(t, t + n, t + 2 * n, bad, ex);
  CHECK(cudaDeviceSynchronize());
  printf("rcp mismatches %llu (x %a -> %a), rsqrt mismatches %llu (x %a -> %a)\n", bad[0], ex[0], ex[1], bad[1], ex[2], ex[3]);
  for (int e = 0; e < 2048; e++) if (bad[16 + e]) printf("  rcp exponent field %d: %llu of 4096\n", e, bad[16 + e]);
  std::vector<uint32_t> h(n);
  const char *names[] = {"rcp64.bin", "rsqrt64_even.bin", "rsqrt64_odd.bin"};
  for (int i = 0; i < 3; i++) { CHECK(cudaMemcpy(h.data(), t + i * n, n * 4, cudaMemcpyDeviceToHost)); save(dir, names[i], h); }
  probe<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
}
